"""Times of day, such as 7:48, as hours after midnight."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING

import numpy as np

from softecm.readers.base import Written
from softecm.readers.numbers import ParsedNumbers, are_few, as_text, values_among

if TYPE_CHECKING:
    import pandas as pd

TIME = re.compile(
    r"(?P<hour>\d{1,2}):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d(?:[.,]\d+)?))?\s*(?:(?P<half>[ap])\.?m\.?|uhr)?",
    re.IGNORECASE,
)
SAMPLE = 200
WRITTEN = Written(unit="h", dates="%H:%M")


def hours(text: str) -> float:
    """Return the hours after midnight; NaN for text that is not a time of day.

    Examples
    --------
    >>> hours("7:48"), hours("19:30:00"), hours("12:15 am"), hours("1:30 p.m."), hours("25:00"), hours("3:2")
    (7.8, 19.5, 0.25, 13.5, nan, nan)
    """
    match = TIME.fullmatch(text)
    if match is None:
        return np.nan
    hour, half = int(match["hour"]), (match["half"] or "").lower()
    if half:
        if not 1 <= hour <= 12:
            return np.nan
        hour = hour % 12 + 12 * (half == "p")
    seconds = 60 * int(match["minute"]) + float((match["second"] or "0").replace(",", "."))
    time = hour + seconds / 3600
    return time if time <= 24 else np.nan


def read_times(column: pd.Series, *, known: bool = False) -> ParsedNumbers | None:
    """Return a column of text and of Python's times as hours; None if too few of its cells are times of day.

    Unless they are ``known`` to be times, their hours must differ: 1:10, 1:20 and 1:50 are ratios.
    """
    import pandas as pd

    own = values_among(column, dt.time)
    own = own.map(lambda time: hours(time.isoformat())).astype("float64")
    text = as_text(column.drop(own.index))
    if not len(own) and not text.iloc[:SAMPLE].map(TIME.fullmatch).any():
        return None  # fast
    values = pd.Series(np.nan, column.index)
    values[own.index] = own
    values[text.index] = text.map({cell: hours(cell) for cell in text.unique()}).astype("float64")
    odd = text[values[text.index].isna()]
    differ = known or len(set(values.dropna() // 1)) > 1
    if not differ or not are_few(odd, len(own) + len(text)):
        return None
    return ParsedNumbers(values, WRITTEN, odd, text[:0], decimals=False)
