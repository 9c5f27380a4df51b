"""What is learned from a table's columns: all rows at once, or blocks that are merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from softecm._text import column_label
from softecm.spaces.base import refuse_range
from softecm.spaces.columns import (
    DAY,
    NORMAL_IQR,
    TEMPORAL,
    CategoryColumn,
    Cell,
    Cells,
    Name,
    NumberColumn,
    category_kind,
    codes,
    distinct,
    ranks,
)
from softecm.spaces.magnitudes import Magnitude


def learn_number(
    cells: Cells,
    weight: float,
    scaling: str,
    sample_weight: NDArray[np.float64] | None,
    levels: Sequence[Cell] | None = None,
    log: bool = False,
) -> NumberColumn:
    """Learn centre and scale, of logarithms on request; ``levels`` makes the column ordinal."""
    kind = cells.kind
    numbers = cells.numbers(kind) if levels is None else ranks(cells, levels)
    observed = ~np.isnan(numbers)
    if sample_weight is not None:
        observed &= sample_weight > 0
    if not observed.any():
        raise_empty(cells.name, len(cells))
    values = numbers[observed]
    refuse_range(float(values.min()), float(values.max()), what=cells.label)
    size = Magnitude.of(values) if levels is None and kind == "number" else None
    values = logarithms(values, cells) if log else values
    weights = np.ones(len(values)) if sample_weight is None else sample_weight[observed]
    center = float(np.average(values, weights=weights))
    return NumberColumn(
        cells.name,
        kind if levels is None else "ordinal",
        weight,
        center,
        spread(values - center, weights, scaling, kind),
        () if levels is None else tuple(levels),
        cells.zone() if kind == "datetime" else None,
        cells.style,
        size,
        log,
    )


def logarithms(values: NDArray[np.float64], cells: Cells) -> NDArray[np.float64]:
    """Return the logarithms of a column's numbers; raise an error for others than positive ones."""
    if cells.kind != "number" or values.min(initial=1.0) <= 0:
        raise not_positive(cells)
    return np.log(values)


def not_positive(cells: Cells) -> ValueError:
    """Return the error about a column that has no logarithms."""
    return ValueError(
        f"log_features must be columns of positive numbers; got {cells.label}. Leave it out, or add a constant to it."
    )


def plain_unit(kind: str) -> float:
    """Return the unit of an unscaled column: 1 for numbers, days for dates and durations."""
    return DAY if kind in TEMPORAL else 1.0


def spread(values: NDArray[np.float64], weights: NDArray[np.float64], scaling: str, kind: str = "number") -> float:
    """Return standard deviation, range or interquartile range (relative to a normal variable); 1 for a constant column."""
    if scaling == "none":
        return plain_unit(kind)
    if scaling == "range":
        scale = float(values.max() - values.min())
    else:
        scale = float(np.sqrt(np.average(values**2, weights=weights)))
        if scaling == "robust":
            order = np.argsort(values, kind="stable")
            steps = np.cumsum(weights[order])
            low, high = (values[order[np.searchsorted(steps, q * steps[-1])]] for q in (0.25, 0.75))
            # More than half of the cells are equal: no robust spread.
            scale = float(high - low) / NORMAL_IQR if high > low else scale
    largest = float(np.abs(values).max(initial=0.0))
    return scale if scale > 1e-12 * largest else 1.0


def raise_empty(name: Name, rows: int) -> None:
    """Raise an error for a column without a value."""
    raise ValueError(f"{column_label(name)} must hold at least one value; got {rows} missing cells. Leave it out.")


@dataclass(frozen=True)
class Traits:
    """Properties of a column that must be equal in every block."""

    name: str | int
    kind: str
    style: str = "plain"
    zone: str | None = None
    observed: bool = True  # a block without a value in the column is ignored

    def merge(self, other: Traits) -> Traits:
        """Merge two blocks' columns; raise an error if the kind changes."""
        if not (self.observed and other.observed):
            return self if self.observed else other
        if (self.kind, self.zone is None) != (other.kind, other.zone is None):
            raise ValueError(
                f"{column_label(self.name)} must hold one kind of value in all blocks; got {self.kind} and {other.kind}. "
                "Convert it to one type."
            )
        return self


@dataclass(frozen=True)
class NumberSummary:
    """Weight, mean, sum of squared deviations (Chan's formulas) and range of a numeric column."""

    traits: Traits
    weight: float
    mean: float
    scatter: float
    low: float
    high: float
    log: bool = False

    @staticmethod
    def of(cells: Cells, weights: NDArray[np.float64] | None, log: bool = False) -> NumberSummary:
        """Summarize one block's column."""
        kind = cells.kind
        numbers = cells.numbers(kind)
        seen = ~np.isnan(numbers) if weights is None else ~np.isnan(numbers) & (weights > 0)
        traits = Traits(cells.name, kind, cells.style, cells.zone() if kind == "datetime" else None, bool(seen.any()))
        if not seen.any():
            return NumberSummary(traits, 0.0, 0.0, 0.0, np.inf, -np.inf, log)
        values = logarithms(numbers[seen], cells) if log else numbers[seen]
        w = np.ones(len(values)) if weights is None else weights[seen]
        mean = float(np.average(values, weights=w))
        scatter = float(np.sum(w * (values - mean) ** 2))
        return NumberSummary(traits, float(w.sum()), mean, scatter, float(values.min()), float(values.max()), log)

    def merge(self, other: NumberSummary) -> NumberSummary:
        """Merge two blocks."""
        traits = self.traits.merge(other.traits)
        weight = self.weight + other.weight
        if weight == 0:
            return replace(self, traits=traits)
        difference, share = other.mean - self.mean, other.weight / weight
        return NumberSummary(
            traits,
            weight,
            self.mean + difference * share,
            self.scatter + other.scatter + difference**2 * self.weight * share,
            min(self.low, other.low),
            max(self.high, other.high),
            self.log,
        )

    def column(self, weight: float, scaling: str, cells: int) -> NumberColumn:
        """Return the column as ``learn_number`` gives it for all rows at once."""
        if self.weight == 0:
            raise_empty(self.traits.name, cells)
        if scaling == "robust":
            raise ValueError(
                "scaling must be 'std' or 'range' for data in blocks; got 'robust', whose quartiles need all values at once."
            )
        t = self.traits
        return NumberColumn(t.name, t.kind, weight, self.mean, self._scale(scaling), (), t.zone, t.style, log=self.log)

    def _scale(self, scaling: str) -> float:
        if scaling == "none":
            return plain_unit(self.traits.kind)
        scale = self.high - self.low if scaling == "range" else float(np.sqrt(self.scatter / self.weight))
        largest = max(abs(self.low - self.mean), abs(self.high - self.mean))
        return scale if scale > 1e-12 * largest else 1.0


@dataclass(frozen=True)
class LevelSummary:
    """The weight of each level of a column: of categories, or of ordered levels."""

    traits: Traits
    counts: dict[Cell, float]
    declared: tuple[Cell, ...]  # the order of the type; levels added by blocks are appended
    most: int

    @staticmethod
    def of(
        cells: Cells, weights: NDArray[np.float64] | None, most: int, levels: Sequence[Cell] | None = None
    ) -> LevelSummary:
        """Summarize one block's column, with given ``levels`` if any."""
        kind = "ordinal" if levels is not None else category_kind(cells)
        names = list(levels) if levels else distinct(cells, most)
        places = codes(cells, names)
        seen = places >= 0
        sums = np.bincount(places[seen], weights=None if weights is None else weights[seen], minlength=len(names))
        if levels:
            ranks(cells, levels)  # raises an error for an unknown level
        traits = Traits(cells.name, kind, cells.style, None, bool(seen.any()))
        counts = dict(zip(names, map(float, sums), strict=True))
        return LevelSummary(traits, counts, tuple(levels or cells.declared()), most)

    def merge(self, other: LevelSummary) -> LevelSummary:
        """Merge two blocks."""
        traits = self.traits.merge(other.traits)
        counts = dict(self.counts)
        for level, weight in other.counts.items():
            counts[level] = counts.get(level, 0.0) + weight
        if len(counts) > self.most:
            raise ValueError(
                f"{column_label(traits.name)} must have at most {self.most} categories; got {len(counts)} in the first "
                "blocks. Leave it out if it is an identifier, put rare values together, or raise max_levels."
            )
        if traits.style == "ordered" and self.declared != other.declared:
            raise ValueError(
                f"{column_label(traits.name)} must have the same ordered levels in all blocks; got {list(self.declared)!r} "
                f"and {list(other.declared)!r}. Use the same categorical type in all blocks."
            )
        declared = (*self.declared, *(v for v in other.declared if v not in self.declared))
        return LevelSummary(traits, counts, declared, self.most)

    def levels(self) -> tuple[Cell, ...]:
        """Return all levels: in the declared order, or sorted."""
        return tuple(v for v in self.declared if v in self.counts) if self.declared else tuple(sorted(self.counts))

    def column(self, weight: float, scaling: str, cells: int) -> NumberColumn | CategoryColumn:
        """Return the column as ``learn_number`` with levels gives it, or of categories, for all rows at once."""
        levels = self.levels()
        weights = np.array([self.counts[v] for v in levels])
        t = self.traits
        if not len(levels) or not t.observed:
            raise_empty(t.name, cells)
        if t.kind != "ordinal":
            total = weights.sum()
            shares = weights / total if total > 0 else np.full(len(levels), 1 / len(levels))
            return CategoryColumn(t.name, t.kind, weight, levels, tuple(map(float, shares)), t.style)
        seen = np.flatnonzero(weights > 0)
        places = seen.astype(np.float64)
        center = float(np.average(places, weights=weights[seen]))
        scale = spread(places - center, weights[seen], scaling)
        return NumberColumn(t.name, "ordinal", weight, center, scale, levels, None, t.style)


@dataclass(frozen=True)
class TableSummary:
    """The summary of a table's blocks so far."""

    columns: tuple[NumberSummary | LevelSummary, ...]
    weights: tuple[float, ...]
    backend: str | None
    rows: int

    def merge(self, other: TableSummary) -> TableSummary:
        """Merge two blocks."""
        columns = tuple(a.merge(b) for a, b in zip(self.columns, other.columns, strict=True))  # type: ignore[arg-type]
        return replace(self, columns=columns, rows=self.rows + other.rows)
