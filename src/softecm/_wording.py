"""The form of parameters and values in messages: that of Python, or of the front end that runs the library."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from enum import Enum
from typing import NamedTuple


class Unset(Enum):
    """No value, since None is one."""

    UNSET = 0


UNSET = Unset.UNSET


class Wording(NamedTuple):
    """How a front end writes a parameter, with or without a value, and a value."""

    option: Callable[[str, object], str]
    literal: Callable[[object], str]
    in_python: bool = False
    again: Callable[[Sequence[str]], str] = lambda options: f"add {' '.join(options)}."


def _keyword(name: str, value: object) -> str:
    return name if value is UNSET else f"{name}={value!r}"


def _arguments(options: Sequence[str]) -> str:
    return f"pass {', '.join(options)} to read_table."


#: Depends on the reader of the messages.
WORDING: ContextVar[Wording] = ContextVar("wording", default=Wording(_keyword, repr, True, _arguments))  # noqa: B039  (frozen)


def option(name: str, value: object = UNSET) -> str:
    """Return a parameter for a message, in the reader's form.

    Examples
    --------
    >>> option("tol"), option("relaxation", "gap"), option("delta", None)
    ('tol', "relaxation='gap'", 'delta=None')
    """
    return WORDING.get().option(name, value)


def again(options: Sequence[str]) -> str:
    """Return how to repeat the call with more options, each as ``option`` writes it; a front end may give the command."""
    return WORDING.get().again(options)


LONG = 100  # digits above which integers are abbreviated


def literal(value: object) -> str:
    """Return a value for a message, in the reader's form."""
    if isinstance(value, int) and (digits := value.bit_length() * math.log10(2)) > LONG:
        return f"a number of about {digits:.0f} digits"
    return WORDING.get().literal(value)


def worded(python: str, front_end: str = "") -> str:
    """Return the text for Python, or for a front end that has no Python objects."""
    return python if WORDING.get().in_python else front_end
