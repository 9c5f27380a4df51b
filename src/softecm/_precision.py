"""Readable numbers and dates, with the digits of their column."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

LOOKED_AT = 2000  # cells that determine a column's digits
ODD = 0.02  # share of the cells whose further decimals are not shown
DIGITS = 12  # further digits are floating-point noise
CELL, BETWEEN = 7, 3  # maximum significant digits over a column's range, for cells and for means
COMPUTED = 9  # cells with more digits over their range are computed, not entered: they are shown like means
FAR = 3.0  # interquartile ranges from the quartiles: more extreme cells don't reduce a column's precision
MOST_DECIMALS = 9  # above, and for numbers of more than 15 digits, powers of ten are easier to read
UNITS = (("D", 10), ("m", 16), ("s", 19))  # of moments, and the length of their part of 2024-12-31 08:30:00


@dataclass(frozen=True)
class Precision:
    """The display format of one column, used everywhere.

    Attributes
    ----------
    decimals : int
        Of a cell: as many as the column's own cells have, except a few.
    between : int
        Of a mean, a median or a prototype: three digits of the column's range.
    moment : int
        For dates: number of displayed characters of a moment; 0 for numbers.

    Examples
    --------
    >>> income = Precision.of([22680.0, 41590.0, 18100.0])
    >>> income.cell(22680.0), income.mean(30123.4567)
    ('22680', '30123')
    >>> rooms = Precision.of([1, 2, 5])
    >>> rooms.cell(2.0), rooms.mean(2.3333)
    ('2', '2.33')
    >>> Precision.of(np.array(["2024-01-05", "2024-03-01"], dtype="M8[s]")).mean(np.datetime64("2024-02-01T13:22:11"))
    '2024-02-01'
    """

    decimals: int = 2
    between: int = 2
    moment: int = 0

    @staticmethod
    def of(values: object) -> Precision:
        """Return the precision of a column of numbers (NaN: missing) or dates."""
        column = np.asarray(values)
        if column.dtype.kind == "M":
            return Precision(moment=_moment(column))
        numbers = column.astype(np.float64)
        numbers = numbers[np.isfinite(numbers)]
        if not len(numbers):
            return Precision()
        size = _size(numbers)
        own, between = _decimals(numbers), max(BETWEEN - 1 - size, 0)
        if own > COMPUTED - 1 - size:
            return Precision(between + 1, between)
        return Precision(min(own, max(CELL - 1 - size, 0)), between)

    def cell(self, value: Any) -> str:
        """Return a value of the column as text."""
        return self._moment(value) if self.moment else _number(float(value), self.decimals)

    def mean(self, value: Any) -> str:
        """Return a value between those of the column as text."""
        return self._moment(value) if self.moment else _number(float(value), self.between)

    def median(self, value: Any) -> str:
        """Return a value of a cell or midway between two as text; integers stay integers."""
        whole = not self.moment and self.decimals <= self.between and round(float(value), self.decimals) == value
        return spaced(self.cell(value) if whole else self.mean(value))

    def _moment(self, value: object) -> str:
        return str(moment(value).astype("M8[s]")).replace("T", " ")[: self.moment]


def spaced(number: str) -> str:
    """Group the digits before the decimal sign by three, from 10 000 on: 2024 may be a year.

    Examples
    --------
    >>> spaced("1234.5"), spaced("-1234567.25"), spaced("2024-12-31")
    ('1234.5', '-1\u202f234\u202f567.25', '2024-12-31')
    """
    whole = re.fullmatch(r"(-?)(\d{5,})(\.\d+)?", number)
    if whole is None:
        return number
    return f"{whole[1]}{int(whole[2]):,}{whole[3] or ''}".replace(",", "\u202f")


def with_unit(number: str, unit: str) -> str:
    """Return a number and its unit: "12 kg", "12%"; or the number without a unit.

    Examples
    --------
    >>> with_unit("12", "kg"), with_unit("12", "%"), with_unit("12", "")
    ('12 kg', '12%', '12')
    """
    return f"{number}{'' if unit in ('', '%') else ' '}{unit}"


def criterion(value: float) -> str:
    """Return a value by which numbers of groups are compared: shares in three decimals, criteria of mixtures in one.

    Examples
    --------
    >>> criterion(0.51234), criterion(5456.24)
    ('0.512', '5456.2')
    """
    return f"{value:.3f}" if abs(value) < 10 else spaced(f"{value:.1f}")


def moment(value: Any) -> np.datetime64:
    """Return a date or a moment as NumPy's, which has no time zone."""
    return np.datetime64(value if getattr(value, "tzinfo", None) is None else value.replace(tzinfo=None), "us")


def _moment(column: NDArray[Any]) -> int:
    """Return the required length of a column's moments: days, minutes or seconds."""
    moments = column[~np.isnat(column)]
    return next((shown for unit, shown in UNITS if (moments == moments.astype(f"M8[{unit}]")).all()), UNITS[-1][1])


def _size(numbers: NDArray[np.float64]) -> int:
    """Return the power of ten of a column's range, without a few extreme cells."""
    low, high = np.quantile(numbers, (0.25, 0.75))
    reach = FAR * float(high - low)
    near = numbers[(numbers >= low - reach) & (numbers <= high + reach)] if 0 < reach < math.inf else numbers
    span = float(near.max() - near.min()) or abs(float(numbers[0])) or 1.0
    return math.floor(math.log10(span)) if math.isfinite(span) else 0


def _decimals(numbers: NDArray[np.float64]) -> int:
    """Return the maximum number of decimals of cells, except a few with more than all others."""
    step = max(1, len(numbers) // LOOKED_AT)
    each = sorted(_decimals_of(value) for value in numbers[::step].tolist())
    return each[-1 - int(ODD * len(each))]


def _decimals_of(value: float) -> int:
    digits, _, power = f"{value:.{DIGITS}g}".partition("e")
    decimals = len(digits.partition(".")[2].rstrip("0"))
    return max(decimals - int(power or 0), 0)


def _number(value: float, decimals: int) -> str:
    if not math.isfinite(value) or abs(value) >= 1e15 or decimals > MOST_DECIMALS:
        return f"{value:.{CELL}g}"
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if not any(sign in "123456789" for sign in text) else text


def span_of(values: Iterable[float]) -> str:
    """Return the range of a numeric column as text, in its own precision without trailing zeros.

    Examples
    --------
    >>> span_of([2680.0, 9590.5])
    '2680 to 9590.5'
    """
    column = np.asarray(list(values) if not isinstance(values, np.ndarray) else values, dtype=np.float64)
    precision = Precision.of(column)
    ends = (precision.cell(end) for end in (np.nanmin(column), np.nanmax(column)))
    return " to ".join(spaced(end.rstrip("0").rstrip(".") if "." in end and "e" not in end else end) for end in ends)
