"""Declarations of the estimators' parameters: default, valid values and a hint for each.

An estimator is a class decorated with ``@parameters``. Its annotated attributes are its parameters, like the fields of
a dataclass; ``__init__``, ``get_params`` and the checks before a fit follow from them. It inherits the parameters of
its bases, changes a default by declaring it again (``beta: float = 2.0``), and removes a parameter by fixing it
(``alpha: float = field(default=0.0, init=False)``).
"""

from __future__ import annotations

import inspect
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
Check: TypeAlias = Callable[[str, object, object], object]  # of name, value and default, which the hint shows


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
def parameters(cls: type[T]) -> type[T]:
    """Turn the annotated attributes of a class into parameters of its ``__init__``, which only stores them."""
    return dataclass(eq=False, repr=False, match_args=False, kw_only=True)(cls)


def checked(estimator: object) -> dict[str, Any]:
    """Return all parameters of an estimator by name, each validated; defaults are not checked."""
    kind: type = type(estimator)
    values = {}
    for name, check, usual in _declared(kind):
        value = getattr(estimator, name)
        values[name] = value if check is None or value is usual else check(name, value, usual)
    return values


@cache
def _declared(cls: type) -> tuple[tuple[str, Check | None, object], ...]:
    """Return name, check and default of each parameter; a redeclared default keeps its original check."""
    declared = []
    for name, own in cls.__dataclass_fields__.items():  # type: ignore[attr-defined]
        bases = (vars(base).get("__dataclass_fields__", {}).get(name) for base in cls.__mro__)
        rules = [one.metadata["check"] for one in bases if one is not None and "check" in one.metadata]
        declared.append((name, rules[0] if rules and own.init else None, own.default))
    return tuple(declared)


def rule(check: Check) -> dict[str, Check]:
    """Wrap a check as field metadata."""
    return {"check": check}


def number(default: T, hint: str, *, auto: str = "", optional: bool = False, **bounds: float) -> T:
    """Declare a number within bounds (``above``, ``least``, ``below``, ``most``), or "auto", with ``auto`` as its hint."""
    return field(default=default, metadata=rule(partial(_checked, check_number, hint, auto, optional, bounds)))


def count(default: T, hint: str, *, least: int = 1, most: int = MOST, optional: bool = False) -> T:
    """Declare an integer of at least ``least``."""
    return field(default=default, metadata=rule(counting(hint, least=least, most=most, optional=optional)))


def counting(hint: str, *, least: int = 1, most: int = MOST, auto: str = "", optional: bool = False) -> Check:
    """Return the check for an integer."""
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
    """Return a value within bounds, None if ``optional``, or "auto" if valid."""
    if value is None and optional:
        return None
    if auto and isinstance(value, str):
        return check_choice(name, value, ("auto",), _filled(auto, usual))
    return check(name, value, hint=_filled(hint, usual) if "{" in hint else hint, **bounds)


def _filled(hint: str, usual: object) -> str:
    """Fill in the default, and "auto" and None as the reader writes them."""
    return hint.format(usual=usual, auto=literal("auto"), none=literal(None))


def choice(default: T, words: Collection[str], hint: str = "", *, or_other: bool = False) -> T:
    """Declare one of several strings; with ``or_other`` also any non-string, which the fit validates."""

    def check(name: str, value: object, usual: object) -> object:
        if or_other and not isinstance(value, str):
            return value
        remedy = _filled(hint, usual)
        return check_choice(name, value, words, worded(remedy) if or_other else remedy)

    return field(default=default, metadata=rule(check))


def check_callback(name: str, value: object, usual: object) -> object:
    """Check a callable or None."""
    if value is not None and not callable(value):
        raise ValueError(f"{name} must be a function of one argument or None; got {value!r}.")
    return value


def check_seed(name: str, value: object, usual: object) -> object:
    """Check a random seed, a NumPy ``RandomState`` or None."""
    if value is None or value is np.random or isinstance(value, np.random.RandomState):
        return value
    if not is_whole(value) or not 0 <= value < 2**32:
        raise ValueError(
            f"{option(name)} must be a whole number from 0 to {2**32 - 1}, a numpy.random.RandomState or None; got "
            f"{literal(value)}. A number gives the same answer every time."
        )
    return int(value)


def check_switch(name: str, value: object, usual: object) -> object:
    """Check a boolean or an integer, as scikit-learn accepts both."""
    if not isinstance(value, bool | np.bool_) and not is_whole(value):
        raise ValueError(f"{option(name)} must be True or False; got {literal(value)}. False is usual.")
    return value


def check_dtype(name: str, value: object, usual: object) -> str:
    """Return the name of a dtype, which may also be given as a NumPy or torch dtype."""
    hint = "float64 is exact to the last digits, float32 needs half the memory."
    return check_choice(name, str(value).rsplit(".", 1)[-1], ("float64", "float32"), hint)


def flag(default: bool, hint: str) -> bool:
    """Declare a boolean."""
    return field(default=default, metadata=rule(lambda name, value, usual: check_flag(name, value, hint)))


def is_given(value: object) -> bool:
    """Whether ``init``, or ``focal_sets``, holds values rather than the name of a way to find them."""
    return not isinstance(value, str)


@parameters
class Clusters:
    """The number of clusters, the only parameter that may be positional."""

    n_clusters: int = field(default=2, kw_only=False, metadata=rule(counting(HOW_MANY)))


class OwnParameters:
    """Descriptor that makes ``inspect.signature`` of a class return its ``__init__`` parameters, inherited ones included."""

    def __get__(self, instance: object, owner: type) -> inspect.Signature:
        own = inspect.signature(owner.__init__)  # type: ignore[misc]
        return own.replace(parameters=list(own.parameters.values())[1:])


class EstimatorFacts:
    """Class attributes that describe an estimator."""

    #: Its use, shown by ``softecm algorithms``.
    suits: ClassVar[str]
    #: Whether ``X`` always holds dissimilarities.
    of_dissimilarities: ClassVar[bool] = False
    #: Whether ``X`` may be a sparse matrix if the metric supports it.
    takes_sparse: ClassVar[bool] = False
    #: Whether ``X`` may have missing values if the metric skips them.
    takes_gaps: ClassVar[bool] = False
    #: Parameters that make it find the number of clusters; None if ``n_clusters`` must be given.
    finds_clusters: ClassVar[Mapping[str, object] | None] = None


@parameters
class Masses:
    """Parameters of the cost of mass."""

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
    """The sets that may hold mass."""

    max_cardinality: int | None = 2
    focal_sets: Sets = None


@parameters
class Iteration:
    """Stopping criteria and threads."""

    max_iter: int = count(200, "{usual} is usual.")
    tol: float = number(1e-4, "{usual:g} is usual: smaller changes count as converged.", least=0)
    n_jobs: int | None = None


@parameters
class Restarts(Iteration):
    """Restarts, callback and random seed."""

    n_init: int = count(10, "{usual} is usual: the best of several restarts is kept.", most=10**6)
    callback: Callback | None = field(default=None, metadata=rule(check_callback))
    random_state: RandomState = field(default=None, metadata=rule(check_seed))
    verbose: int = field(default=0, metadata=rule(check_switch))


@parameters
class FamilyParameters(Restarts, FocalParameters, Masses, Clusters):
    """Parameters of Soft-ECM and its relatives."""

    max_cardinality: int | None = None
    focal_sets: Sets = "auto"
    init: Any = choice("auto", INITS, "Or give the starting prototypes, one row per cluster.", or_other=True)
    device: str = "auto"
    dtype: str = field(default="float64", metadata=rule(check_dtype))
    warm_start: bool = field(default=False, metadata=rule(check_switch))
    #: Constraint between a set's prototype and the prototypes of its clusters.
    relaxation: str = field(default="exact", init=False)


MANY_SETS = 500  # exceeded by all sets of nine clusters


def sets_asked_for(c: int, max_cardinality: Any, focal_sets: Any) -> FocalSets:
    """Return the focal sets; ``max_cardinality=None`` means all sets, and warns if that is too many."""
    focal = FocalSets.make(c, max_cardinality, focal_sets)
    if focal_sets is None and max_cardinality is None and len(focal) > MANY_SETS:
        warn(
            f"{option('max_cardinality', None)} makes all {len(focal)} sets of {c} clusters; {option('max_cardinality', 2)} "
            f"would make {c * (c + 1) // 2}. Use {option('focal_sets', 'full')} if you want all of them.",
            UserWarning,
        )
    return focal
