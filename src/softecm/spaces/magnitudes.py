"""The magnitudes of a column's numbers, which reveal codes for missing cells, and new numbers in another unit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softecm._checks import Array
from softecm._text import column_label
from softecm._warnings import ReadingWarning, warn
from softecm._wording import option, worded
from softecm.files.expected import Range, count, listed, number, rules
from softecm.files.values import Savable

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
NORMAL_RANGE = 2.5631031310892007  # between the outer quantiles of a standard normal variable
FEWEST = 10  # minimum number of nonzero numbers, and of cells beside codes
FACTOR = 1.8  # seasons change less, pounds to kilograms more
ERRORS = 1.5  # standard errors by which a change must exceed that factor
SEVERAL = 3  # minimum number of columns for estimating the usual change
ALIKE = 0.5  # share of the mean change that every quantile must reach: changed shares of groups affect only some
ROWS = 5000  # maximum number of rows used
WIDE = 256  # maximum number of columns: more don't differ in units
LARGEST = 300.0  # logarithm
SHOWN = 3  # maximum number of columns listed
NEAR_POWER = 0.25  # relative distance of a ratio from a power of ten


@dataclass(frozen=True)
class Magnitude(Savable):
    """The magnitude of a column's numbers: quantiles of the logarithm (base 10) of absolute values, without zeros.

    They are rounded, so that a model file contains no cell.
    """

    size: int
    logarithms: tuple[float, ...]
    SAVED = rules(
        size=count(least=FEWEST),
        logarithms=listed(number(Range(-324, LARGEST)), least=len(QUANTILES), most=len(QUANTILES)),
    )

    @staticmethod
    def of(numbers: NDArray[np.floating]) -> Magnitude | None:
        """Return the magnitude of a column, NaN if missing; None for too few numbers."""
        sizes = np.abs(numbers[:: 1 + len(numbers) // ROWS].astype(np.float64))
        sizes = sizes[sizes > 0]
        if len(sizes) < FEWEST:
            return None
        return Magnitude(len(sizes), tuple(np.quantile(np.log10(sizes), QUANTILES).round(2).tolist()))


@dataclass(frozen=True)
class SizeChange:
    """The change in magnitude of a column's numbers since the fit."""

    mean: float  # of the quantiles' logarithms
    least: float  # the smallest of these changes, in the direction of the mean
    error: float  # standard error

    @staticmethod
    def of(fitted: Magnitude | None, numbers: NDArray[np.floating]) -> SizeChange | None:
        """Return the change for new numbers; None for too few."""
        new = Magnitude.of(numbers)
        if fitted is None or new is None:
            return None
        changes = np.subtract(new.logarithms, fitted.logarithms)
        spread = (fitted.logarithms[-1] - fitted.logarithms[0]) / NORMAL_RANGE
        error = spread * float(np.sqrt(1 / fitted.size + 1 / new.size))
        mean = float(changes.mean().clip(-LARGEST, LARGEST))
        return SizeChange(mean, float((changes * np.sign(mean)).min()), error)

    def exceeds(self, usual: float) -> bool:
        """Whether all numbers seem to be multiplied by a factor, more than usual in the table."""
        away = min(abs(self.mean), abs(self.mean - usual))
        return away > np.log10(FACTOR) + ERRORS * self.error and self.least >= ALIKE * abs(self.mean)


def ratios(changes: Mapping[str, SizeChange | None]) -> dict[str, float]:
    """Return columns with a possible change of unit, and the ratio of their numbers to those of the fit.

    If most columns change alike, it may be the season: up to a factor, such a change is ignored.

    Examples
    --------
    >>> speeds = np.linspace(20.0, 60.0, 50)
    >>> before = Magnitude.of(speeds)
    >>> changes = {"speed": SizeChange.of(before, speeds / 25.4), "other": SizeChange.of(before, 1.5 * speeds)}
    >>> {name: round(ratio, 3) for name, ratio in ratios(changes).items()}
    {'speed': 0.039}
    """
    known = {name: change for name, change in changes.items() if change is not None}
    common = float(np.median([change.mean for change in known.values()])) if len(known) >= SEVERAL else 0.0
    usual = float(np.clip(common, -np.log10(FACTOR), np.log10(FACTOR)))
    return {name: 10**change.mean for name, change in known.items() if change.exceeds(usual)}


def warn_of_units(changes: Mapping[str, SizeChange | None]) -> None:
    """Warn about columns of new objects that may be in another unit, each with its ratio to the fit."""
    changed = [f"column {name!r} are {_in_words(ratio)} those of the fit" for name, ratio in ratios(changes).items()]
    if changed:
        warn(
            f"the numbers of {'; of '.join(changed[:SHOWN])}{' …' if len(changed) > SHOWN else ''}. If the unit has "
            "changed, convert them first, because they are used as they are.",
            ReadingWarning,
        )


def _in_words(ratio: float) -> str:
    """Return a ratio to two digits, as text; a power of ten if it is near, because most changes of unit are.

    Examples
    --------
    >>> _in_words(1 / 25.4), _in_words(2.205), _in_words(1012.0)
    ('about 1/25 of', 'about 2.2 times', 'about 1000 times')
    >>> _in_words(112.0), _in_words(1 / 8.4), _in_words(130.0)
    ('about 100 times', 'about 1/10 of', 'about 130 times')
    """
    size = max(ratio, 1 / ratio)
    power = 10.0 ** round(np.log10(size))
    if power > 1 and abs(size / power - 1) <= NEAR_POWER:
        size = power
    rounded = f"{float(f'{size:.2g}'):.15g}"
    return f"about {rounded} times" if ratio > 1 else f"about 1/{rounded} of"


#: 99, 98, 97, 88, 77, 999 … with either sign, and the limits of 16 bits.
NUMBERS = [10**d - k for d in range(2, 10) for k in (1, 2, 3)] + [10**d // 9 * k for d in range(2, 10) for k in (7, 8)]
USUAL = np.array(sorted({sign * v for v in NUMBERS for sign in (-1, 1)} | {-32768, 32767}), dtype=np.float64)


@dataclass(frozen=True)
class Code:
    """A number that may stand for missing cells, with its count and columns."""

    value: float
    cells: int
    columns: tuple[str | int, ...]

    def message(self) -> str:
        """Return the question and the remedy."""
        where = column_label(self.columns[0]) if len(self.columns) == 1 else f"{len(self.columns)} columns"
        code = f"{self.value:.0f}"
        remedy = worded(f"softecm.read_table(X, missing={code!r})", option("missing", code))
        return (
            f"{code} appears in {self.cells} cells of {where}, far from all other numbers: does it mean missing? "
            f"If so, use {remedy}."
        )


def codes_in(table: Mapping[str | int, Array]) -> list[Code]:
    """Return the numbers that look like codes for missing cells, the most frequent first, in columns of numbers by name.

    They are usual codes, occur more than once in total, and are further from the other numbers of their column than
    these from each other, or are negative in a column of positive numbers.

    Examples
    --------
    >>> codes_in({"size": np.array([*range(20), -99, -99]), "age": np.array([*range(30, 50), -99, 99])})
    [Code(value=-99.0, cells=3, columns=('size', 'age'))]
    """
    counts: Counter[float] = Counter()
    columns: dict[float, list[str | int]] = {}
    for name, numbers in table.items():
        values = numbers[~np.isnan(numbers)]
        if len(values) < FEWEST or not np.isin([values.min(), values.max()], USUAL).any():
            continue
        usual = np.isin(values, USUAL)
        others = values[~usual]
        if len(others) < max(FEWEST, len(values) / 2):
            continue
        for value, times in zip(*np.unique(values[usual], return_counts=True), strict=True):
            if _is_far(value, others):
                counts[float(value)] += int(times)
                columns.setdefault(float(value), []).append(name)
    often = counts.most_common()
    return [Code(value, times, tuple(columns[value])) for value, times in often if times > 1] if often else []


def _is_far(value: float, others: Array) -> bool:
    low, high = others.min(), others.max()
    return bool(max(low - value, value - high) > high - low > 0 or value < 0 <= low < high)
