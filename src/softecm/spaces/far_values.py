"""Values far outside of what their column holds: codes for missing cells, and those that make a column's spread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softecm._text import column_label
from softecm.spaces.columns import TEMPORAL, Cell, Cells
from softecm.spaces.raw import read_table

LEAST = 10  # cells of a column that are no code, and of which one can stretch it
#: 99, 98, 97, 88, 77, 999 … with either sign, and the ends of 16 bits.
NUMBERS = [10**d - k for d in range(2, 10) for k in (1, 2, 3)] + [10**d // 9 * k for d in range(2, 10) for k in (7, 8)]
USUAL = np.array(sorted({sign * v for v in NUMBERS for sign in (-1, 1)} | {-32768, 32767}), dtype=np.float64)


@dataclass(frozen=True)
class Code:
    """A number that may stand for a missing cell, in how many cells, and of which columns."""

    value: float
    cells: int
    columns: tuple[str | int, ...]

    def told(self) -> str:
        """What to ask, and what to do."""
        where = column_label(self.columns[0]) if len(self.columns) == 1 else f"{len(self.columns)} columns"
        return (
            f"{self.value:.0f} stands in {self.cells} cells of {where}, far from all other numbers: is it a code for "
            f"missing cells? softecm.read_table(X, missing='{self.value:.0f}') takes it as such."
        )


def codes_in(table: Mapping[str | int, NDArray[Any]]) -> list[Code]:
    """The numbers that look like codes for missing cells, the most frequent first, in columns of numbers by name.

    They are usual ones, come more than once in all, and are further from the other numbers of their column than these
    from each other.

    Examples
    --------
    >>> codes_in({"size": np.array([*range(20), -99, -99]), "age": np.array([*range(30, 50), -99, 99])})
    [Code(value=-99.0, cells=3, columns=('size', 'age'))]
    """
    counts: Counter[float] = Counter()
    columns: dict[float, list[str | int]] = {}
    for name, numbers in table.items():
        for value, count in _codes(numbers).items():
            counts[value] += count
            columns.setdefault(value, []).append(name)
    return [Code(value, count, tuple(columns[value])) for value, count in counts.most_common() if count > 1]


def _codes(numbers: NDArray[Any]) -> dict[float, int]:
    """The codes of a column, each with how often it comes."""
    values = numbers[~np.isnan(numbers)]
    if len(values) < LEAST or not np.isin([values.min(), values.max()], USUAL).any():
        return {}
    usual = np.isin(values, USUAL)
    others = values[~usual]
    if len(others) < max(LEAST, len(values) / 2):
        return {}
    found, counts = np.unique(values[usual], return_counts=True)
    return {float(v): int(count) for v, count in zip(found, counts, strict=True) if _is_far(v, others)}


def _is_far(value: float, others: NDArray[Any]) -> bool:
    low, high = others.min(), others.max()
    return bool(max(low - value, value - high) > high - low > 0)


FEW = 100  # one cell in so many is a few
MOST = 0.75  # of a column's variance in a few cells: without them its standard deviation would be half as large
SCALED = ("number", *TEMPORAL)

ROBUST = "Mixed(scaling='robust')"


@dataclass(frozen=True)
class Stretched:
    """The value furthest from the median of a column that a few values stretch."""

    column: str | int
    row: int
    value: Cell
    times: float  # how far out it is, the quartiles being 1 from their middle
    view: str = ""  # the column's, where objects have several


def stretched(X: object) -> list[Stretched]:
    """The columns of a table that a few values stretch, the most stretched first.

    A few are one cell in a hundred, one at least. They stretch a column when more than three quarters of its variance is
    theirs and its quartiles differ, so that scaling by them would help.

    Examples
    --------
    >>> found = stretched([[float(i % 7), float(i % 5)] for i in range(40)] + [[700.0, 3.0]])
    >>> [(one.column, one.row, one.value) for one in found]
    [(0, 40, 700.0)]
    """
    found = [one for cells in read_table(X).columns if (one := _furthest(cells)) is not None]
    return sorted(found, key=lambda one: -one.times)


def told(found: list[Stretched], who: Callable[[int], str]) -> str:
    """What to mind about such columns, and what to do; ``who`` says what a row is called."""
    first = found[0]
    value = f"{first.value:g}" if isinstance(first.value, float) else str(first.value)
    more = f" (and {len(found) - 1} more such column{'s' if len(found) > 2 else ''})" if len(found) > 1 else ""
    where = column_label(first.column) + (f" of {first.view!r}" if first.view else "")
    remedy = f"{ROBUST} for that view" if first.view else f"metric={ROBUST}"
    return (
        f"{who(first.row)} has {value} in {where}{more}, {first.times:.0f} times as far out as usual: scaled to unit "
        f"spread, the other rows hardly differ there. If it is a slip, mend it; {remedy} scales by quartiles."
    )


def _furthest(cells: Cells) -> Stretched | None:
    if cells.kind not in SCALED:
        return None
    numbers = cells.numbers(cells.kind)
    rows = np.flatnonzero(~np.isnan(numbers))
    if len(rows) < LEAST:
        return None
    values = numbers[rows]
    low, middle, high = _quartiles(values)
    off = np.abs(values - middle)
    few = max(1, len(off) // FEW)
    largest = float(off.max())
    if high <= low:
        return None
    share = np.square(off / largest)
    if np.partition(share, len(share) - few)[-few:].sum() <= MOST * share.sum():
        return None
    row = int(rows[off.argmax()])
    return Stretched(cells.name, row, _cell(cells, row), 2.0 * largest / (high - low))


def _quartiles(values: NDArray[np.float64]) -> tuple[float, float, float]:
    places = [len(values) // 4, len(values) // 2, 3 * len(values) // 4]
    low, middle, high = np.partition(values, places)[places]
    return float(low), float(middle), float(high)


def _cell(cells: Cells, row: int) -> Cell:
    _, (value,) = next(Cells(cells.name, cells.values[row : row + 1]).chunks())
    return float(value) if cells.kind == "number" else value
