"""Typical magnitudes of a column's numbers, which reveal new ones in another unit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softecm._warnings import ReadingWarning, warn
from softecm.files.expected import Content, Misfit, Range, count, listed, number, rules
from softecm.files.values import Savable

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
NORMAL_RANGE = 2.5631031310892007  # between the outer quantiles of a standard normal variable
FEWEST = 10  # minimum number of nonzero numbers
FACTOR = 1.8  # seasons change less, pounds to kilograms more
ERRORS = 1.5  # standard errors by which a change must exceed that factor
SEVERAL = 3  # minimum number of columns for estimating the usual change
ALIKE = 0.5  # share of the mean change that every quantile must reach: changed shares of groups affect only some
ROWS = 5000  # maximum number of rows used
WIDE = 256  # maximum number of columns: more don't differ in units
LARGEST = 300.0  # logarithm
SHOWN = 3  # maximum number of columns listed
NEAR_POWER = 0.25  # relative distance of a ratio from a power of ten


def _quantiles(content: Content, node: Any, where: str) -> None:
    """Raise ``Misfit`` for another number of quantiles in a file."""
    listed(number(Range(-324, LARGEST)))(content, node, where)
    if len(node["tuple"]) != len(QUANTILES):
        raise Misfit(f"{where} has {len(node['tuple'])} entries and should have {len(QUANTILES)}")


@dataclass(frozen=True)
class Magnitude(Savable):
    """The magnitude of a column's numbers: quantiles of the logarithm (base 10) of absolute values, without zeros.

    They are rounded, so that a model file contains no cell.
    """

    size: int
    logarithms: tuple[float, ...]
    SAVED = rules(size=count(least=FEWEST), logarithms=_quantiles)

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


def magnitudes(rows: NDArray[np.floating]) -> tuple[Magnitude | None, ...]:
    """Return the magnitudes of the columns of a matrix (n, p); empty for wide ones."""
    return tuple(map(Magnitude.of, rows.T)) if rows.shape[1] <= WIDE else ()


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
