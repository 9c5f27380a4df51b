"""The parameters of estimators: each is declared once, with its default, the values it may have and a hint.

An estimator is a class under ``@parameters`` whose annotated attributes are its parameters, like the fields of a dataclass;
``__init__``, ``get_params`` and the checks before a fit follow from them. It takes over the parameters of its bases,
changes a default by naming it again (``beta: float = 2.0``), and has one the less by fixing it
(``alpha: float = field(default=0.0, init=False)``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, ClassVar, TypeAlias, TypeVar, dataclass_transform

import numpy as np
from torch import Tensor

from softecm._checks import HOW_MANY, MOST, check_choice, check_count, check_flag, check_number, is_whole
from softecm._warnings import warn
from softecm._wording import literal, option, worded
from softecm.belief import FocalSets
from softecm.distances.base import SemiMetric
from softecm.fit.loop import Callback
from softecm.fit.settings import INITS

T = TypeVar("T")
RandomState: TypeAlias = int | np.random.RandomState | None
Metric: TypeAlias = str | SemiMetric | Callable[[Tensor, Tensor], Tensor]
FilePath: TypeAlias = str | os.PathLike[str]
Sets: TypeAlias = str | Sequence[tuple[int, ...]] | FocalSets | None
Check: TypeAlias = Callable[[str, object, object], object]  # of name, value and the usual value, for the hint


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
def parameters(cls: type[T]) -> type[T]:
    """Make the annotated attributes of a class the parameters of its ``__init__``, which only stores them."""
    return dataclass(eq=False, repr=False, match_args=False, kw_only=True)(cls)


def checked(estimator: object) -> dict[str, Any]:
    """All parameters of an estimator by name, each checked by its rule; a default needs no check."""
    kind: type = type(estimator)
    values = {}
    for name, check, usual in _declared(kind):
        value = getattr(estimator, name)
        values[name] = value if check is None or value is usual else check(name, value, usual)
    return values


@cache
def _declared(cls: type) -> tuple[tuple[str, Check | None, object], ...]:
    """The parameters of a class: name, check and default; a default that is named again has the check it had."""
    declared = []
    for name, own in cls.__dataclass_fields__.items():  # type: ignore[attr-defined]
        bases = (vars(base).get("__dataclass_fields__", {}).get(name) for base in cls.__mro__)
        rules = [one.metadata["check"] for one in bases if one is not None and "check" in one.metadata]
        declared.append((name, rules[0] if rules and own.init else None, own.default))
    return tuple(declared)


def rule(check: Check) -> dict[str, Check]:
    """A check as the metadata of a field."""
    return {"check": check}


def number(default: T, hint: str, *, auto: str = "", optional: bool = False, **bounds: float) -> T:
    """A number within bounds (``above``, ``least``, ``below``, ``most``); ``auto`` is the hint where "auto" is one, too."""
    return field(default=default, metadata=rule(partial(_checked, check_number, hint, auto, optional, bounds)))


def count(default: T, hint: str, *, least: int = 1, most: int = MOST, optional: bool = False) -> T:
    """A whole number of at least ``least``."""
    return field(default=default, metadata=rule(counting(hint, least=least, most=most, optional=optional)))


def counting(hint: str, *, least: int = 1, most: int = MOST, auto: str = "", optional: bool = False) -> Check:
    """The check of a whole number."""
    return partial(_checked, check_count, hint, auto, optional, {"least": least, "most": most})


def _checked(
    check: Callable[..., object],
    hint: str,
    auto: str,
    optional: bool,
    bounds: Mapping[str, float],
    name: str,
    value: object,
    usual: object,
) -> object:
    """A value within bounds; None where that may be, or a word where "auto" is one."""
    if value is None and optional:
        return None
    if auto and isinstance(value, str):
        return check_choice(name, value, ("auto",), _filled(auto, usual))
    return check(name, value, hint=_filled(hint, usual) if "{" in hint else hint, **bounds)


def _filled(hint: str, usual: object) -> str:
    """A hint with the usual value, and with "auto" and None as its reader writes them."""
    return hint.format(usual=usual, auto=literal("auto"), none=literal(None))


def choice(default: T, words: Collection[str], hint: str = "", *, or_other: bool = False) -> T:
    """One of some words; with ``or_other`` also anything that is no word, which the fit then looks at."""

    def check(name: str, value: object, usual: object) -> object:
        if or_other and not isinstance(value, str):
            return value
        remedy = _filled(hint, usual)
        return check_choice(name, value, words, worded(remedy) if or_other else remedy)

    return field(default=default, metadata=rule(check))


def check_callback(name: str, value: object, usual: object) -> object:
    """A function, or None."""
    if value is not None and not callable(value):
        raise ValueError(f"{name} must be a function of one argument or None; got {value!r}.")
    return value


def check_seed(name: str, value: object, usual: object) -> object:
    """A random seed, a generator of NumPy's, or None."""
    if value is None or value is np.random or isinstance(value, np.random.RandomState):
        return value
    if not is_whole(value) or not 0 <= value < 2**32:
        raise ValueError(
            f"{option(name)} must be a whole number from 0 to {2**32 - 1}, a numpy.random.RandomState or None; got "
            f"{literal(value)}. A number gives the same answer every time."
        )
    return int(value)


def check_switch(name: str, value: object, usual: object) -> object:
    """True or False, or a whole number, as scikit-learn takes them, too."""
    if not isinstance(value, bool | np.bool_) and not is_whole(value):
        raise ValueError(f"{option(name)} must be True or False; got {literal(value)}. False is usual.")
    return value


def check_dtype(name: str, value: object, usual: object) -> str:
    """The name of a type, which may also be given as NumPy's or torch's own."""
    hint = "float64 is exact to the last digits, float32 needs half the memory."
    return check_choice(name, str(value).rsplit(".", 1)[-1], ("float64", "float32"), hint)


def flag(default: bool, hint: str) -> bool:
    """True or False."""
    return field(default=default, metadata=rule(lambda name, value, usual: check_flag(name, value, hint)))


def is_given(init: object) -> bool:
    """Whether an estimator is given its starts, rather than the name of a way to draw them."""
    return not isinstance(init, str)


@parameters
class Clusters:
    """How many clusters are looked for; the one parameter that may go without its name."""

    n_clusters: int = field(default=2, kw_only=False, metadata=rule(counting(HOW_MANY)))


class EstimatorFacts:
    """What others need to know of an estimator."""

    #: What it is for, as ``softecm algorithms`` lists it.
    suits: ClassVar[str]
    #: Whether ``X`` always holds dissimilarities.
    of_dissimilarities: ClassVar[bool] = False
    #: Whether ``X`` may be a sparse matrix, where the metric takes it.
    takes_sparse: ClassVar[bool] = False
    #: Whether ``X`` may have missing values, where the metric leaves them out.
    takes_gaps: ClassVar[bool] = False
    #: Parameters with which it finds the number of clusters; None where that must be given.
    finds_clusters: ClassVar[Mapping[str, object] | None] = None


@parameters
class Masses:
    """What a mass costs."""

    alpha: float = number(1.0, "{usual:g} is usual: larger keeps mass off large sets.", least=0, most=100)
    beta: float = number(2.0, "Values from 1.1 to 2 are usual: larger spreads mass over more sets.", above=1)
    delta: float | str | None = number(
        "auto",
        "{auto} takes it from the data; {none} switches outliers off.",
        auto="Or give a positive number, or {none} to switch outliers off.",
        optional=True,
        above=0,
    )


@parameters
class FocalParameters:
    """Which sets may hold mass."""

    max_cardinality: int | None = 2
    focal_sets: Sets = None


@parameters
class Iteration:
    """How long a run takes."""

    max_iter: int = count(200, "{usual} is usual.")
    tol: float = number(1e-4, "{usual:g} is usual: smaller changes count as converged.", least=0)
    n_jobs: int | None = None


@parameters
class Restarts(Iteration):
    """How many runs there are, from where, and who hears of them."""

    n_init: int = count(10, "{usual} is usual: the best of several restarts is kept.", most=10**6)
    callback: Callback | None = field(default=None, metadata=rule(check_callback))
    random_state: RandomState = field(default=None, metadata=rule(check_seed))
    verbose: int = field(default=0, metadata=rule(check_switch))


@parameters
class FamilyParameters(Restarts, FocalParameters, Masses, Clusters):
    """Those of Soft-ECM and its relatives."""

    max_cardinality: int | None = None
    focal_sets: Sets = "auto"
    init: Any = choice("auto", INITS, "Or give the starting prototypes, one row per cluster.", or_other=True)
    device: str = "auto"
    dtype: str = field(default="float64", metadata=rule(check_dtype))
    warm_start: bool = field(default=False, metadata=rule(check_switch))
    #: Of the constraint between a set's prototype and its clusters'.
    relaxation: str = field(default="exact", init=False)


MANY_SETS = 500  # all sets of nine clusters and more


def sets_asked_for(c: int, max_cardinality: Any, focal_sets: Any) -> FocalSets:
    """The sets where ``max_cardinality=None`` means all of them; many are warned of, for the time and memory they take."""
    focal = FocalSets.make(c, max_cardinality, focal_sets)
    if focal_sets is None and max_cardinality is None and len(focal) > MANY_SETS:
        warn(
            f"{option('max_cardinality', None)} makes all {len(focal)} sets of {c} clusters; {option('max_cardinality', 2)} "
            f"would make {c * (c + 1) // 2}. Use {option('focal_sets', 'full')} if you want all of them.",
            UserWarning,
        )
    return focal
