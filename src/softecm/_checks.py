"""Validation of parameters, and data frames of any library.

Every message names the parameter, the rule, the value received and a remedy.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec
from numbers import Integral, Real
from typing import Any, TypeGuard

import narwhals.stable.v1 as nw
import numpy as np

from softecm._text import meant
from softecm._wording import literal, option

#: The remedy for an invalid number of clusters.
HOW_MANY = "Pass the number of groups; softecm.choose_n_clusters(X) can find it."


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a number, including NumPy's; booleans are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: object) -> TypeGuard[int]:
    """Whether a value is an integer, including NumPy's; booleans are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def as_float(number: float) -> float:
    """Return a number as a float; infinite on overflow."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def check_number(
    name: str,
    value: object,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    most: float | None = None,
    hint: str,
) -> float:
    """Return a finite number greater than ``above`` or at least ``least``, and less than ``below`` or at most ``most``."""
    low = f"greater than {above:g}" if above is not None else f"at least {least:g}" if least is not None else ""
    high = f"less than {below:g}" if below is not None else f"at most {most:g}" if most is not None else ""
    rule = " and ".join(filter(None, (low, high)))
    number = as_float(value) if is_number(value) else math.nan
    outside = (
        (most is not None and number > most)
        or (below is not None and not number < below)
        or (above is not None and not number > above)
        or (least is not None and not number >= least)
    )
    if not math.isfinite(number) or outside:
        kind = "a finite number" if math.isinf(number) or not rule else "" if math.isfinite(number) else "a number"
        raise ValueError(f"{option(name)} must be {' '.join(filter(None, (kind, rule)))}; got {literal(value)}. {hint}")
    return number


MOST = 10**9  # of any count


def check_count(name: str, value: object, *, least: int = 1, most: int = MOST, hint: str) -> int:
    """Return an integer of at least ``least``."""
    if not is_whole(value) or value < least:
        raise ValueError(f"{option(name)} must be a whole number of at least {least}; got {literal(value)}. {hint}")
    number = int(value)
    if number > most:
        raise ValueError(f"{option(name)} must be a whole number of at most {most}; got {literal(number)}. {hint}")
    return number


def check_choice(name: str, value: object, choices: Collection[str], hint: str = "") -> str:
    """Return one of a few words."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(map(literal, choices))
        remedy = f"{meant(value, choices)}{' ' + hint if hint else ''}"
        raise ValueError(f"{option(name)} must be one of {listed}; got {literal(value)}.{remedy}")
    return value


def check_flag(name: str, value: object, hint: str) -> bool:
    """Return a boolean, also from NumPy's."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False; got {value!r}. {hint}")
    return bool(value)


def check_list(name: str, value: object, of: str) -> list[Any]:
    """Return several values as a list; raise TypeError for a single one, also for a text."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable) or getattr(value, "ndim", 1) == 0:
        raise TypeError(f"{option(name)} must be a list of {of}; got {literal(value)}. Write [..., ...].")
    return list(value)


def check_pair(name: str, value: object, of: str) -> tuple[Any, Any]:
    """Return two values."""
    pair = check_list(name, value, of)
    if len(pair) != 2:
        raise ValueError(f"{option(name)} must be a pair of {of}; got {len(pair)} values. Write (..., ...).")
    return pair[0], pair[1]


def check_function(name: str, value: object, call: str) -> None:
    """Raise TypeError for what is neither None nor callable; ``call`` shows how it is called."""
    if value is not None and not callable(value):
        raise TypeError(f"{name} must be a function, called as {call}, or None; got {literal(value)}.")


BACKENDS = ("pandas", "polars", "pyarrow")


def frame_of(X: object) -> nw.DataFrame[Any] | None:
    """Return a data frame of any library as narwhals'; None for anything else."""
    frame: object = nw.from_native(X, eager_only=True, pass_through=True)  # type: ignore[call-overload]
    return frame if isinstance(frame, nw.DataFrame) else None


def make_frame(columns: Mapping[str, object], backend: str | None = None) -> Any:
    """Return a frame of these columns; by default pandas."""
    backend = backend or "pandas"
    if backend not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(map(repr, BACKENDS))}; got {backend!r}.")
    if not find_spec(backend):
        raise ImportError(f"backend {backend!r} is not installed: pip install {backend}.")
    library = import_module(backend)
    return (library.table if backend == "pyarrow" else library.DataFrame)(dict(columns))
