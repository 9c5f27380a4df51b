"""Numbers that stand for a missing cell: -9999, 999, 99 … far outside of what their column holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softecm._text import column_label

LEAST = 10  # cells of a column that are no code
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
