"""What distinguishes a group, a set between groups, or the outliers from all other objects, column by column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softecm._frames import make_frame
from softecm._precision import Precision
from softecm.belief import CredalPartition
from softecm.explain.effects import Effect, FloatArray, cliffs_delta, quantile
from softecm.spaces.columns import Cells
from softecm.spaces.raw import read_table

FEWEST = 3  # objects of a group, and with a value in a column, for anything to be said
CLEARER = 0.2  # by which "around" or "far from" must beat the simpler "higher" or "lower"
STRETCHES = 8  # parts that a series is cut into
DATES = ("date", "datetime")
NUMBERS = ("number", "duration", *DATES)


@dataclass(frozen=True)
class Trait:
    """What distinguishes a group in one column.

    Attributes
    ----------
    group : str
        A cluster, a set of clusters, or the empty set, as the partition's focal sets are labelled.
    column : str
    how : {"higher", "lower", "around", "far from", "more often", "seldom"}
    effect, low, high : float
        Cliff's delta in the direction said, from 0 to 1, and its interval.
    here, elsewhere : object
        Medians of numbers, shares of a category.
    category : object
        Whose share it is; None for numbers.
    distinguishes : bool
        Whether the interval leaves out 0 and the effect is large enough.
    precision : Precision
        How ``here`` and ``elsewhere`` are shown. Those of dates are microseconds since 1970.
    """

    group: str
    column: str
    how: str
    effect: float
    low: float
    high: float
    here: float
    elsewhere: float
    category: object = None
    distinguishes: bool = True
    precision: Precision = field(default_factory=Precision)

    def __str__(self) -> str:
        if self.category is not None:
            return f"{self.column} {self.how} {self.category} ({self.here:.0%}, elsewhere {self.elsewhere:.0%})"
        here, elsewhere = self._told(self.here), self._told(self.elsewhere)
        if self.how == "around":
            return f"{self.column} around {here}"
        if self.how == "far from":
            return f"{self.column} far from {elsewhere}"
        how = in_time(self.how) if self.precision.moment else self.how
        return f"{self.column} {how} ({here}, elsewhere {elsewhere})"

    def _told(self, value: float) -> str:
        return self.precision.mean(np.datetime64(round(value), "us") if self.precision.moment else value)


def in_time(how: str) -> str:
    """How dates differ."""
    return {"higher": "later", "lower": "earlier"}.get(how, how)


@dataclass(frozen=True)
class Profiles(Sequence[Trait]):
    """Traits of all groups, for each the strongest first; made by :func:`profile`."""

    traits: tuple[Trait, ...]
    sizes: dict[str, int]  # objects of each group

    def __len__(self) -> int:
        return len(self.traits)

    def __getitem__(self, index: Any) -> Any:
        return self.traits[index]

    def __iter__(self) -> Iterator[Trait]:
        return iter(self.traits)

    def of(self, group: str, *, all: bool = False) -> tuple[Trait, ...]:
        """The traits of one group that distinguish it, or all of them."""
        if group not in self.sizes:
            raise ValueError(f"group must be one of {', '.join(map(repr, self.sizes))}; got {group!r}.")
        return tuple(trait for trait in self.traits if trait.group == group and (all or trait.distinguishes))

    def to_frame(self, backend: str | None = None) -> Any:
        """A data frame, a row a group and column."""
        names = ("group", "column", "how", "category", "effect", "low", "high", "here", "elsewhere", "distinguishes")
        columns = {name: [getattr(trait, name) for trait in self.traits] for name in names}
        columns["category"] = ["" if value is None else str(value) for value in columns["category"]]
        return make_frame(columns, backend)

    def __str__(self) -> str:
        lines = []
        for group, size in self.sizes.items():
            told = "; ".join(str(trait) for trait in self.of(group)[:5])
            if not told:
                told = f"too few to say ({FEWEST} needed)" if size < FEWEST else "nothing stands out"
            lines.append(f"{group} ({size} object{'s' if size != 1 else ''}): {told}")
        return "\n".join(lines)


def profile(
    partition: CredalPartition,
    X: Any,
    *,
    columns: Sequence[str] | None = None,
    level: float = 0.95,
    least: float = 0.3,
) -> Profiles:
    """What each group is: columns ranked by how much they tell its objects from all others.

    Groups are the sets of clusters that objects are assigned to (largest mass), ∅ for those that belong nowhere. The
    effect is Cliff's delta (:mod:`softecm.explain.effects`); of a number it is taken of the value itself ("higher",
    "lower"), of how close it is to the group's median ("around"), and of how far it is from the others' median ("far
    from"). Intervals hold together for all columns of a group. They describe: where the groups were found in these
    very columns, something had to differ.

    Parameters
    ----------
    partition : CredalPartition
    X : a table (data frame or 2-D array), or series (3-D array or list of arrays)
        Of the same objects, in the same order; need not be what was clustered. Series are told by stretches of
        their time.
    columns : sequence of str, optional
        Names for the columns of an array, or for the channels of series.
    level : float, default=0.95
        Of the intervals, together.
    least : float, default=0.3
        Effect from which a column is said to distinguish a group.

    Returns
    -------
    Profiles
        ``of(group)``, ``to_frame()``; ``print`` says it in words.

    Examples
    --------
    >>> import numpy as np
    >>> from softecm import CredalPartition
    >>> from softecm.explain import profile
    >>> X = np.column_stack([np.r_[np.arange(20), np.arange(50, 70)], np.tile([0.0, 1.0], 20)])
    >>> print(profile(CredalPartition.from_hard(np.repeat([0, 1], 20)), X, columns=["height", "noise"]))
    ω1 (20 objects): height lower (9.5, elsewhere 59.5)
    ω2 (20 objects): height higher (59.5, elsewhere 9.5)
    """
    _check("level", level)
    _check("least", least)
    measured = _measured(X, columns)
    n = len(measured[0])
    if n != len(partition):
        raise ValueError(
            f"X must hold the partition's {len(partition)} objects, in their order; got {n}. Give the rows that were "
            "clustered, or those that the partition was predicted for."
        )
    assigned = partition.masses.argmax(1)
    labels = partition.focal_sets.labels()
    traits: list[Trait] = []
    sizes: dict[str, int] = {}
    for column in [*range(1, len(labels)), 0]:
        inside = assigned == column
        if not inside.any():
            continue
        sizes[labels[column]] = int(inside.sum())
        if FEWEST <= inside.sum() <= n - FEWEST:
            traits += _traits(labels[column], inside, measured, level, least)
    return Profiles(tuple(traits), sizes)


# ---------------------------------------------------------------------------------------------------- columns


@dataclass(frozen=True)
class _Numbers:
    """A column of numbers; NaN is missing."""

    name: str
    values: FloatArray
    precision: Precision
    tests = 3

    def __len__(self) -> int:
        return len(self.values)

    def trait(self, group: str, inside: NDArray[np.bool_], errors: float) -> Trait | None:
        known = np.isfinite(self.values)
        here, others = self.values[inside & known], self.values[~inside & known]
        if min(len(here), len(others)) < FEWEST:
            return None
        middle, elsewhere = float(np.median(here)), float(np.median(others))
        level = cliffs_delta(here, others, errors)
        best, how = (level, "higher") if level.size >= 0 else (level.turned(), "lower")
        near = cliffs_delta(np.abs(here - middle), np.abs(others - middle), errors).turned()
        far = cliffs_delta(np.abs(here - elsewhere), np.abs(others - elsewhere), errors)
        for effect, name in ((near, "around"), (far, "far from")):
            if effect.size > best.size + CLEARER:
                best, how = effect, name
        return Trait(group, self.name, how, *best, middle, elsewhere, precision=self.precision)


@dataclass(frozen=True)
class _Words:
    """A column of categories, as codes; -1 is missing."""

    name: str
    codes: NDArray[np.int64]
    categories: tuple[object, ...]

    @property
    def tests(self) -> int:
        return len(self.categories)

    def __len__(self) -> int:
        return len(self.codes)

    def trait(self, group: str, inside: NDArray[np.bool_], errors: float) -> Trait | None:
        known = self.codes >= 0
        here, others = self.codes[inside & known], self.codes[~inside & known]
        if min(len(here), len(others)) < FEWEST:
            return None
        found: list[tuple[Effect, int]] = []
        for code in range(len(self.categories)):
            effect = cliffs_delta((here == code).astype(float), (others == code).astype(float), errors)
            found.append((effect if effect.size >= 0 else effect.turned(), code))
        best, code = max(found, key=lambda pair: pair[0].size)
        shares = float((here == code).mean()), float((others == code).mean())
        how = "more often" if shares[0] >= shares[1] else "seldom"
        return Trait(group, self.name, how, *best, *shares, self.categories[code])


def _traits(
    group: str, inside: NDArray[np.bool_], measured: Sequence[_Numbers | _Words], level: float, least: float
) -> list[Trait]:
    """Of one group, the strongest first."""
    errors = quantile(level, sum(column.tests for column in measured))
    found = [trait for column in measured if (trait := column.trait(group, inside, errors)) is not None]
    judged = [replace(trait, distinguishes=trait.low > 0 and trait.effect >= least) for trait in found]
    return sorted(judged, key=lambda trait: (not trait.distinguishes, -trait.effect))


def _measured(X: Any, names: Sequence[str] | None) -> list[_Numbers | _Words]:
    """The columns of a table, or those made of series."""
    if isinstance(X, np.ndarray) and X.ndim == 3:
        return _stretches(list(X), names)
    if isinstance(X, list | tuple) and X and all(isinstance(one, np.ndarray) and one.ndim in (1, 2) for one in X):
        return _stretches([one.reshape(len(one), -1) for one in X], names)
    if hasattr(X, "tocsr"):
        raise TypeError(
            "X must be a table or series; got a sparse matrix. Give the columns to look at, X[:, columns].toarray()."
        )
    table = read_table(X)
    given = [str(cells.name) for cells in table.columns] if names is None else [str(name) for name in names]
    if len(given) != len(table.columns):
        raise ValueError(f"columns must have one name a column, {len(table.columns)}; got {len(given)}.")
    return [_column(name, cells) for name, cells in zip(given, table.columns, strict=True)]


def _column(name: str, cells: Cells) -> _Numbers | _Words:
    if cells.kind in NUMBERS:
        numbers = cells.numbers(cells.kind)
        return _Numbers(name, numbers, Precision.of(_moments(numbers) if cells.kind in DATES else numbers))
    codes: dict[object, int] = {}
    words = [word for _, part in cells.chunks() for word in part]
    coded = [-1 if word is None else codes.setdefault(word, len(codes)) for word in words]
    return _Words(name, np.array(coded, dtype=np.int64), tuple(codes))


def _moments(values: FloatArray) -> NDArray[np.datetime64]:
    """Microseconds since 1970 as dates."""
    return np.where(np.isnan(values), np.iinfo(np.int64).min, np.nan_to_num(values)).astype(np.int64).view("M8[us]")


def _stretches(series: Sequence[FloatArray], names: Sequence[str] | None) -> list[_Numbers | _Words]:
    """Means of each channel over equal parts of each series' own time."""
    channels = series[0].shape[1]
    if any(one.shape[1] != channels for one in series):
        raise ValueError("series must all have the same number of channels; some have more than others.")
    if names is not None and len(names) != channels:
        raise ValueError(f"columns must have one name a channel, {channels}; got {len(names)}.")
    called = (
        [""] * channels if names is None and channels == 1 else names or [f"channel {c + 1}" for c in range(channels)]
    )
    means = np.full((len(series), STRETCHES, channels), np.nan)
    for i, one in enumerate(series):
        steps = np.asarray(one, dtype=np.float64)
        steps = steps[: np.flatnonzero(np.isfinite(steps).any(1))[-1] + 1] if np.isfinite(steps).any() else steps
        edges = np.linspace(0, len(steps), STRETCHES + 1).round().astype(int)
        for part, (begin, end) in enumerate(pairwise(edges)):
            piece = steps[begin : max(end, begin + 1)]
            known = np.isfinite(piece)
            count = known.sum(0)
            means[i, part] = np.where(count > 0, np.where(known, piece, 0.0).sum(0) / np.maximum(count, 1), np.nan)
    precisions = [Precision.of(means[..., c].ravel()) for c in range(channels)]
    percent = [f"{part / STRETCHES:.0%}–{(part + 1) / STRETCHES:.0%} of the time" for part in range(STRETCHES)]
    return [
        _Numbers(f"{called[c]} at {percent[part]}".removeprefix(" at "), means[:, part, c], precisions[c])
        for c in range(channels)
        for part in range(STRETCHES)
    ]


def _check(name: str, value: object) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < 1:
        raise ValueError(f"{name} must be a number above 0 and below 1; got {value!r}.")
