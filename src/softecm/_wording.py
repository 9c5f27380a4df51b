"""How messages write parameters and their values: as Python does, or as the front end that runs the library does."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextvars import ContextVar
from enum import Enum
from typing import NamedTuple


class Unset(Enum):
    """No value: None is one."""

    UNSET = 0


UNSET = Unset.UNSET


class Wording(NamedTuple):
    """How a front end writes a parameter, with a value or without one, and a value."""

    option: Callable[[str, object], str]
    literal: Callable[[object], str]
    in_python: bool = False


def _keyword(name: str, value: object) -> str:
    return name if value is UNSET else f"{name}={value!r}"


#: Of whoever reads the messages.
WORDING: ContextVar[Wording] = ContextVar("wording", default=Wording(_keyword, repr, in_python=True))  # noqa: B039  (frozen)


def option(name: str, value: object = UNSET) -> str:
    """A parameter in a message, as its reader writes it.

    Examples
    --------
    >>> option("tol"), option("relaxation", "gap"), option("delta", None)
    ('tol', "relaxation='gap'", 'delta=None')
    """
    return WORDING.get().option(name, value)


LONG = 100  # digits that are no longer written out


def literal(value: object) -> str:
    """A value in a message, as its reader writes it."""
    if isinstance(value, int) and (digits := value.bit_length() * math.log10(2)) > LONG:
        return f"a number of about {digits:.0f} digits"
    return WORDING.get().literal(value)


def worded(python: str, front_end: str = "") -> str:
    """What is said in Python, or instead of it at a front end, where Python's objects can't be given."""
    return python if WORDING.get().in_python else front_end
