"""The columns that explain groups: numbers and categories of a table, or segments of series."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from softecm._checks import check_list
from softecm._precision import Precision, with_unit
from softecm.explain.effects import FloatArray
from softecm.spaces.columns import Cells
from softecm.spaces.raw import raw_data

IntArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]
STRETCHES = 8  # segments per series
DATES = ("date", "datetime")
NUMBERS = ("number", "duration", *DATES)
UNIT = re.compile(r"(.*\S)\s*[(\[](?!\d+[)\]])([^()\[\]]{1,12})[)\]]")  # "x (2)" is the second column called x


Sums = Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]


class Cuts(NamedTuple):
    """All ways to split a node's objects by one column."""

    thresholds: FloatArray
    left_sets: BoolArray  # (cuts, sets): whether each set goes left
    most_left: BoolArray  # (cuts,): whether most objects, and so those without a value, go left
    missing: IntArray  # the objects without a value
    sums: Sums  # of values (objects, sets) and of weights (objects,), sums (cuts, sets) and (cuts,) over the left part


@dataclass(frozen=True)
class Numbers:
    """A numeric column; NaN is missing. A cut sends values up to a threshold left."""

    name: str
    values: FloatArray
    precision: Precision
    n_tests = 3  # comparisons of a group with the others: of values, and of two distances

    def __len__(self) -> int:
        return len(self.values)

    def of_rows(self, rows: IntArray) -> Numbers:
        """Return the column of some of the objects."""
        return replace(self, values=self.values[rows])

    def goes_left(self, threshold: float, missing_left: bool) -> BoolArray:
        """Return which numbers are at most the threshold."""
        return np.where(np.isfinite(self.values), self.values <= threshold, missing_left)

    def places(self, masses: FloatArray) -> FloatArray:
        """Return means; NaN for sets without mass."""
        known = np.isfinite(self.values)
        held = masses[known].sum(0)
        means: FloatArray = np.full(len(held), np.nan)
        np.divide(self.values[known] @ masses[known], held, out=means, where=held > 0)
        return means

    def cuts(self, rows: IntArray, places: FloatArray, weights: FloatArray) -> Cuts | None:
        """Return cuts between neighbouring numbers."""
        values = self.values[rows]
        known = np.isfinite(values)
        order = np.flatnonzero(known)[np.argsort(values[known], kind="stable")]
        ordered = values[order]
        ends = np.flatnonzero(ordered[1:] > ordered[:-1])  # the last object on the left
        middle = ordered[ends] / 2 + ordered[ends + 1] / 2
        thresholds = np.where(middle < ordered[ends + 1], middle, ordered[ends])  # neighbouring floats have no middle
        if not len(thresholds) or not np.isfinite(places).any():
            return None

        def sums(gains: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
            return gains[order].cumsum(0)[ends], weights[order].cumsum()[ends]

        left_sets = places <= thresholds[:, None]  # a set without a place goes right
        return Cuts(thresholds, left_sets, 2 * (ends + 1) >= len(order), np.flatnonzero(~known), sums)

    def sides(self, threshold: float) -> tuple[str, str]:
        """Return the conditions on both sides: up to a number, or above it."""
        name, unit = split_unit(self.name)
        at = with_unit(readable(threshold, self.precision), unit)
        return f"{name} ≤ {at}", f"{name} > {at}"

    def condition(self, low: Sequence[float], high: Sequence[float]) -> str:
        """Return the condition between two numbers."""
        if not low or not high:
            return self.sides(max(low))[1] if low else self.sides(min(high))[0]
        return f"{readable(max(low), self.precision)} < {self.sides(min(high))[0]}"

    def cut_value(self, threshold: float) -> dict[str, object]:
        """Return the threshold."""
        return {"threshold": threshold}

    def recode(self, column: Column) -> Column:
        """Return the column: numbers have no codes."""
        return column.as_numbers(self.precision)

    def as_numbers(self, precision: Precision) -> Numbers:
        """Return the column."""
        return self

    def as_words(self) -> Words:
        """Return each number as its own category."""
        words = [None if math.isnan(v) else v for v in self.values.tolist()]
        return Words(self.name, np.array([-1 if w is None else k for k, w in enumerate(words)]), tuple(words))


@dataclass(frozen=True)
class Words:
    """A categorical column, as codes; -1 is missing. A cut sends one category, by its code, left."""

    name: str
    codes: NDArray[np.int64]
    categories: tuple[object, ...]

    @property
    def n_tests(self) -> int:
        """Comparisons of a group with the others: one per category."""
        return len(self.categories)

    def __len__(self) -> int:
        return len(self.codes)

    def of_rows(self, rows: IntArray) -> Words:
        """Return the column of some of the objects."""
        return replace(self, codes=self.codes[rows])

    def goes_left(self, threshold: float, missing_left: bool) -> BoolArray:
        """Return which objects have the category of this code."""
        return np.where(self.codes >= 0, self.codes == threshold, missing_left)

    def places(self, masses: FloatArray) -> FloatArray:
        """Return shares; 0 for sets without mass."""
        shares = np.stack([masses[self.codes == code].sum(0) for code in range(len(self.categories))], axis=1)
        held = shares.sum(1, keepdims=True)
        parts: FloatArray = np.divide(shares, held, out=np.zeros_like(shares), where=held > 0)
        return parts

    def cuts(self, rows: IntArray, places: FloatArray, weights: FloatArray) -> Cuts | None:
        """Return cuts of one category against all others."""
        codes = self.codes[rows]
        known = codes >= 0
        weight: FloatArray = np.bincount(codes[known], weights[known], len(self.categories)).astype(np.float64)
        counts = np.bincount(codes[known], minlength=len(self.categories))
        there = np.flatnonzero((counts > 0) & (counts < known.sum()))
        if not len(there):
            return None

        def sums(gains: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
            return np.stack([gains[codes == code].sum(0) for code in there]), weight[there]

        left_sets = (places[:, there] > weight[there] / max(weight.sum(), 1e-300)).T
        most_left = 2 * counts[there] >= known.sum()
        return Cuts(there.astype(np.float64), left_sets, most_left, np.flatnonzero(~known), sums)

    def sides(self, threshold: float) -> tuple[str, str]:
        """Return the conditions on both sides: a category, or another one."""
        word = self.categories[int(threshold)]
        return f"{self.name} is {word}", f"{self.name} is not {word}"

    def condition(self, low: Sequence[float], high: Sequence[float]) -> str:
        """Return the condition: a category, or none of some."""
        if high:
            return self.sides(high[0])[0]
        return f"{self.name} is not {' or '.join(str(self.categories[int(at)]) for at in low)}"

    def cut_value(self, threshold: float) -> dict[str, object]:
        """Return the category."""
        return {"category": str(self.categories[int(threshold)])}

    def recode(self, column: Column) -> Column:
        """Recode by the codes of this column; unknown categories share one of their own."""
        words = column.as_words()
        known = {str(word): code for code, word in enumerate(self.categories)}
        into = np.array([*(known.get(str(word), len(known)) for word in words.categories), -1], dtype=np.int64)
        return Words(words.name, into[words.codes], self.categories)

    def as_numbers(self, precision: Precision) -> Numbers:
        """Return numbers, if all values are missing."""
        if (self.codes >= 0).any():
            raise ValueError(f"column {self.name!r} must hold numbers, as in the fit; got categories.")
        return Numbers(self.name, np.full(len(self), np.nan), precision)

    def as_words(self) -> Words:
        """Return the column."""
        return self


Column: TypeAlias = Numbers | Words


def split_unit(column: str) -> tuple[str, str]:
    """Split a column's name from a unit in brackets at its end, if any.

    Examples
    --------
    >>> split_unit("wind (m/s)"), split_unit("size (2)")
    (('wind', 'm/s'), ('size (2)', ''))
    """
    match = UNIT.fullmatch(column)
    return (column, "") if match is None else (match[1], match[2])


def readable(value: float, precision: Precision) -> str:
    """Return a readable number; dates are microseconds since 1970."""
    return precision.median(np.datetime64(round(value), "us") if precision.moment else value)


def measured(X: object, names: Sequence[str] | None, count: int | None = None, what: str = "X") -> list[Column]:
    """Return the columns of a table or of series, with this number of objects if ``count`` is given."""
    columns = _measured(X, names)
    if count is not None and columns and len(columns[0]) != count:
        raise ValueError(
            f"{what} must hold the partition's {count} objects, in their order; got {len(columns[0])} rows. Pass the rows "
            "that were clustered, or those that the partition was predicted for."
        )
    return columns


def _measured(X: object, names: Sequence[str] | None) -> list[Column]:
    raw = raw_data(X)
    series = raw.series()
    if series is not None:
        return _stretches(series, names)
    if raw.is_sparse:
        raise TypeError(
            "X must be a table or series; got a sparse matrix. Pass a few columns, X[:, columns].toarray()."
        )
    table = raw.table()
    own = [cells.name for cells in table.columns]
    labels = list(map(str, own if names is None else check_list("columns", names, "names")))
    if len(labels) != len(table.columns):
        raise ValueError(f"columns must have one name per column, {len(table.columns)}; got {len(labels)}.")
    return [_column(name, cells) for name, cells in zip(labels, table.columns, strict=True)]


def _column(name: str, cells: Cells) -> Column:
    if cells.kind in NUMBERS:
        numbers = cells.numbers(cells.kind)
        return Numbers(name, numbers, Precision.of(_moments(numbers) if cells.kind in DATES else numbers))
    codes: dict[object, int] = {}
    words = [word for _, part in cells.chunks() for word in part]
    coded = [-1 if word is None else codes.setdefault(word, len(codes)) for word in words]
    return Words(name, np.array(coded, dtype=np.int64), tuple(codes))


def _moments(values: FloatArray) -> NDArray[np.datetime64]:
    """Return microseconds since 1970 as dates."""
    return np.where(np.isnan(values), np.iinfo(np.int64).min, np.nan_to_num(values)).astype(np.int64).view("M8[us]")


def _stretches(series: Sequence[FloatArray], names: Sequence[str] | None) -> list[Column]:
    """Return means of each channel over equal segments: of the steps, or of each length where lengths differ."""
    channels = series[0].shape[1]
    if any(one.shape[1] != channels for one in series):
        raise ValueError("series must all have the same number of channels; some have more than others.")
    if names is not None and len(names) != channels:
        raise ValueError(f"columns must have one name per channel, {channels}; got {len(names)}.")
    called = (
        [""] * channels if names is None and channels == 1 else names or [f"channel {c + 1}" for c in range(channels)]
    )
    filled = [_filled(np.asarray(one, dtype=np.float64)) for one in series]
    lengths = {len(steps) for steps in filled}
    parts = max(1, min(STRETCHES, *lengths)) if len(lengths) == 1 else STRETCHES
    means = np.full((len(series), parts, channels), np.nan)
    for i, steps in enumerate(filled):
        for part, (begin, end) in enumerate(_spans(len(steps), parts)):
            piece = steps[begin : max(end, begin + 1)]
            known = np.isfinite(piece)
            count = known.sum(0)
            means[i, part] = np.where(count > 0, np.where(known, piece, 0.0).sum(0) / np.maximum(count, 1), np.nan)
    precisions = [Precision.of(means[..., c].ravel()) for c in range(channels)]
    if len(lengths) == 1:
        spans = _spans(len(filled[0]), parts)
        where = [f"at step {end}" if end == begin + 1 else f"in steps {begin + 1}–{end}" for begin, end in spans]
    else:
        where = [f"at {100 * part / parts:.0f}–{(part + 1) / parts:.0%} of the length" for part in range(parts)]
    return [
        Numbers(f"{called[c]} {place}" if called[c] else place.partition(" ")[2], means[:, part, c], precisions[c])
        for c in range(channels)
        for part, place in enumerate(where)
    ]


def _filled(steps: FloatArray) -> FloatArray:
    """Return a series without the missing steps at its end; unchanged if it has no value."""
    known = np.flatnonzero(np.isfinite(steps).any(1))
    return steps[: known[-1] + 1] if len(known) else steps


def _spans(length: int, parts: int) -> list[tuple[int, int]]:
    """Return the bounds of ``parts`` equal parts: first step, and one after the last."""
    return list(pairwise(np.linspace(0, length, parts + 1).round().astype(int).tolist()))
