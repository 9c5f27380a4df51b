"""A sample of a table's rows, independent of the order of rows and columns; mergeable over blocks."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from softecm.spaces.columns import Name
from softecm.spaces.encoded import EncodedTable, Layout

ROWS = 2000  # maximum number of distinct rows

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TableSample:
    """A sample of a table's distinct rows with their weights; mergeable over blocks."""

    numbers: Floats  # (n, p), NaN if missing
    codes: NDArray[np.int64]  # (n, q), -1 if missing
    counts: Floats  # (n,)
    keys: NDArray[np.uint64]  # (n,), increasing pseudo-random hashes of the rows
    layout: Layout
    seen: float  # weight of all rows seen

    @staticmethod
    def of(x: EncodedTable, weights: Tensor | None) -> TableSample:
        """Sample encoded rows."""
        layout = x.layout
        numbers = x.numbers.cpu().double().numpy()
        if x.observed is not None:
            numbers = np.where(x.observed.cpu().numpy(), numbers, np.nan)
        codes = x.codes.cpu().numpy().astype(np.int64)
        codes[codes >= np.asarray(layout.levels, dtype=np.int64)] = -1
        counts = np.ones(len(x)) if weights is None else weights.cpu().double().numpy()
        keys = row_keys(numbers, codes, names_of(layout))
        return TableSample(numbers, codes, counts, keys, layout, float(counts.sum()))._cut()

    @staticmethod
    def of_numbers(columns: Mapping[Name, Floats], counts: Floats) -> TableSample:
        """Sample rows of numeric columns (n,) in their own units."""
        p, names = len(columns), tuple(map(str, columns))
        numbers, codes = (
            np.stack(list(columns.values()), 1).astype(np.float64),
            np.empty((len(counts), 0), dtype=np.int64),
        )
        layout = Layout((1.0,) * p, (), (), (), tuple(range(p)), names)
        keys = row_keys(numbers, codes, list(names))
        return TableSample(numbers, codes, counts, keys, layout, float(counts.sum()))._cut()

    @property
    def varies(self) -> NDArray[np.bool_]:
        """Which columns hold more than one value, numbers first."""
        varying = [len(np.unique(column[~np.isnan(column)])) > 1 for column in self.numbers.T]
        varying += [len(np.unique(column[column >= 0])) > 1 for column in self.codes.T]
        return np.array(varying, dtype=bool)

    @property
    def rows(self) -> float:
        """The number of rows as evidence, including copies."""
        return max(float(self.counts.sum()), float(len(self.counts)))

    def merge(self, other: TableSample) -> TableSample:
        """Merge two samples; a row among the first of both is among the first of each."""
        both = replace(
            self,
            numbers=np.concatenate([self.numbers, other.numbers]),
            codes=np.concatenate([self.codes, other.codes]),
            counts=np.concatenate([self.counts, other.counts]),
            keys=np.concatenate([self.keys, other.keys]),
            seen=self.seen + other.seen,
        )
        return both._cut()

    def ordered(self) -> TableSample:
        """Return the rows in an order that ignores unused levels."""
        ranks = [np.unique(column, return_inverse=True)[1] - int((column < 0).any()) for column in self.codes.T]
        codes = np.stack(ranks, 1) if ranks else self.codes
        keys = row_keys(self.numbers, codes, names_of(self.layout))
        rows = np.argsort(keys, kind="stable")
        own = self.numbers[rows], self.codes[rows], self.counts[rows], keys[rows]
        return TableSample(*own, self.layout, self.seen)

    def _cut(self) -> TableSample:
        """Merge equal rows, and keep the first ``ROWS`` by key."""
        there = np.flatnonzero(self.counts > 0)
        keys, first, place = np.unique(self.keys[there], return_index=True, return_inverse=True)
        counts: Floats = np.bincount(place, self.counts[there], minlength=len(keys))[:ROWS].astype(np.float64)
        rows = there[first[:ROWS]]
        return replace(self, numbers=self.numbers[rows], codes=self.codes[rows], counts=counts, keys=keys[:ROWS])


def names_of(layout: Layout) -> list[str]:
    """Return the names of the columns, numbers first."""
    places = np.argsort(layout.order)
    return [layout.names[i] if layout.names else str(i) for i in places]


def row_keys(numbers: Floats, codes: NDArray[np.int64], names: Sequence[str]) -> NDArray[np.uint64]:
    """Return a hash of each row's cells and column names that ignores the order of columns."""
    keys = np.zeros(len(numbers), dtype=np.uint64)
    # In single precision: a mean summed in another order of rows may differ in its last bit.
    columns = [column.astype(np.float32).astype(np.float64) + 0.0 for column in numbers.T]
    columns += [column.astype(np.float64) for column in codes.T]
    for column, name in zip(columns, names, strict=True):
        filled = np.where(np.isnan(column), 1e300, column)
        keys += mixed_bits(filled.view(np.uint64) ^ np.uint64(zlib.crc32(name.encode())))
    return mixed_bits(keys)


def mixed_bits(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return pseudo-random hashes of numbers."""
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def weighted_quantile(column: Floats, counts: Floats, q: float) -> float:
    """Return the smallest number at which the share of weight reaches ``q``, ignoring missing values; 0 without any."""
    there = ~np.isnan(column)
    order = np.argsort(column[there], kind="stable")
    if not len(order):
        return 0.0
    steps = np.cumsum(counts[there][order])
    return float(column[there][order][min(int(np.searchsorted(steps, q * steps[-1])), len(order) - 1)])
