"""Wide tables: columns or rows that may be series, and how to read them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softecm._wording import again, option, worded
from softecm.readers.base import ATTRIBUTES, Column, short
from softecm.readers.clock import WRITTEN, hours
from softecm.readers.dates import LIKE, TwoOrders, read_dates
from softecm.readers.units import unit_in_name

if TYPE_CHECKING:
    import pandas as pd

NUMBER = re.compile(r"\d+(?:\.\d+)?")
UNIT_OF_TIME = (
    "(?:t|time|(?:milli)?sec(?:ond)?s?|min(?:ute)?s?|h|hrs?|hours?|days?|weeks?|months?|quarters?|years?|steps?|zeit|"
    "sekunden?|minuten?|stunden?|tage?|wochen?|monate?|jahre?|temps|heures?|jours?|semaines?|mois|ann[ée]es?|ans?)"
)
TIME = re.compile(rf"(?:.*[^a-z])?{UNIT_OF_TIME}(?:[^a-z].*)?", re.IGNORECASE)
NUMBERED_TIME = re.compile(rf"(?:.*[^a-z])?{UNIT_OF_TIME}[\s_.-]*#|#\s*{UNIT_OF_TIME}", re.IGNORECASE)
YEARS = (1800.0, 2100.0)
FEWEST = 5  # series in columns, and steps of series in rows
MANY, MOST = 8, 1000  # columns that are not numbered, or not numbered by a time; rows that are looked at
REGULAR, EQUAL = 0.7, 0.15  # share of the steps that are equal, by a share of the usual one: working days, months
ALIKE, TIMES = 0.9, 5.0  # share of the columns whose range overlaps the usual one, at most so many times as wide
SMOOTH = 0.5  # squared difference of neighbours to that of any two cells of a row: 1 if their order means nothing


class Numbered(NamedTuple):
    """Columns in the order of the numbers or times in their names."""

    names: list[str]
    by_time: bool  # whether they are dates, years, times of day, or numbers of a unit of time
    is_regular: bool


def steps_of(names: Sequence[str]) -> Numbered:
    """Return the columns whose names count up or are times, if they are most of them; else none.

    Examples
    --------
    >>> steps_of(["age", "t1", "t10", "t2"])
    Numbered(names=['t1', 't2', 't10'], by_time=True, is_regular=False)
    """
    forms: dict[str, dict[str, float]] = {"date": _dates(names)}
    for name in names:
        if (hour := hours(name)) == hour:
            forms.setdefault("time of day", {})[name] = hour
        elif len(numbers := NUMBER.findall(name)) == 1:
            forms.setdefault(NUMBER.sub("#", name), {})[name] = float(numbers[0])
    form, places = max(forms.items(), key=lambda item: len(item[1]))
    ordered = sorted(places, key=places.__getitem__)
    if len(ordered) < 3 or 2 * len(ordered) <= len(names):
        return Numbered([], by_time=False, is_regular=False)
    values = np.array([places[name] for name in ordered])
    are_years = form == "#" and YEARS[0] <= values[0] < values[-1] <= YEARS[1]
    by_time = are_years or form in ("date", "time of day") or NUMBERED_TIME.fullmatch(form) is not None
    return Numbered(ordered, by_time=by_time, is_regular=_is_regular(values))


def _dates(names: Sequence[str]) -> dict[str, float]:
    """Return the names that are dates, in seconds."""
    import pandas as pd

    cells = pd.Series([name for name in names if LIKE.fullmatch(name)], dtype=object)
    try:
        dates = read_dates(cells)
    except TwoOrders:
        dates = None
    return {} if dates is None else {cells[i]: time.timestamp() for i, time in dates.values.dropna().items()}


def _is_regular(values: NDArray[np.float64]) -> bool:
    """Whether values increase, mostly by equal steps."""
    steps = np.diff(values)
    usual = np.median(steps) if len(steps) else 0.0
    return bool((steps > 0).all() and usual > 0 and (abs(steps - usual) <= EQUAL * usual).mean() >= REGULAR)


def wide_hint(frame: pd.DataFrame, columns: Sequence[Column], data: Mapping[str, pd.Series], *, named: bool) -> str:
    """Return how to read the columns or the rows of a table as series, if they look like that; else "".

    Columns do if another one is a time at equal steps and their numbers are alike in range; rows do if the names of most
    columns count up, by a unit of time or with smooth rows. ``named``: whether the user named the objects or their
    classes, which are then rows.
    """
    numbers = [c.name for c in columns if c.kind == "number"]
    rows = _rows_hint(numbers, data, sum(c.kind in ATTRIBUTES for c in columns))
    return rows if named else _columns_hint(frame, columns, data) or rows


def _columns_hint(frame: pd.DataFrame, columns: Sequence[Column], data: Mapping[str, pd.Series]) -> str:
    time = next((c for c in columns if _is_time(c, data.get(c.name, frame[c.name]))), None)
    series = [c.name for c in columns if c.kind == "number" and c is not time]
    others = [c for c in columns if c is not time and c.name not in series and not c.detail.startswith("always ")]
    if time is None or others or len({unit_in_name(name) for name in series}) > 1:
        return ""
    if len(series) < (FEWEST if steps_of(series).names else MANY) or not _are_alike(_cells(series, data)):
        return ""
    return (
        f"{short(time.name)} has equal steps, and the other {len(series)} columns hold numbers alike in range: if each "
        f"column is a series, {again([option('time', time.name)])}"
    )


def _is_time(column: Column, values: pd.Series) -> bool:
    """Whether a column holds dates, or numbers that are times by their name or notation, at equal steps."""
    is_clock = column.written is not None and column.written.dates == WRITTEN.dates
    if not (column.kind == "date" or is_clock or TIME.fullmatch(column.name)):
        return False
    if values.dtype.kind not in "iufmM" or len(values) < FEWEST or values.isna().any():
        return False
    return _is_regular(values.to_numpy().astype(np.float64))


def _rows_hint(numbers: Sequence[str], data: Mapping[str, pd.Series], count: int) -> str:
    if len(numbers) < FEWEST:
        return ""
    steps = steps_of(numbers)
    if len(steps.names) < (FEWEST if steps.by_time else MANY) or 2 * len(steps.names) <= count or not steps.is_regular:
        return ""
    cells = _cells(steps.names, data)
    is_matrix = cells.shape[0] == cells.shape[1] and not np.diag(cells).any()
    if is_matrix or not (steps.by_time or (_are_alike(cells) and _are_smooth(cells))):
        return ""
    first, last = short(steps.names[0]), short(steps.names[-1])
    way = worded("series=True", option("metric", "series-auto"))
    return f"{len(steps.names)} columns are numbered {first} to {last}: if each row is a series, {again([way])}"


def _cells(names: Sequence[str], data: Mapping[str, pd.Series]) -> NDArray[np.float64]:
    """Return columns of numbers, of at most so many rows."""
    return np.column_stack([data[name].iloc[:MOST].to_numpy(dtype=np.float64, na_value=np.nan) for name in names])


def _are_alike(cells: NDArray[np.float64]) -> bool:
    """Whether most columns have ranges that overlap and are about as wide; numbers at the ends don't count."""
    low, high = np.nanquantile(cells, (0.05, 0.95), axis=0)
    wide = high - low
    overlap = (low <= np.median(high)) & (high >= np.median(low))
    usual = np.median(wide)
    return bool((overlap & (wide * TIMES >= usual) & (wide <= TIMES * usual)).mean() >= ALIKE and usual > 0)


def _are_smooth(cells: NDArray[np.float64]) -> bool:
    """Whether neighbouring cells of most rows are nearer to each other than others, whatever the means of the columns."""
    centred = cells - np.nanmean(cells, axis=0)
    centred = centred[np.isfinite(np.diff(centred, axis=1)).any(axis=1)]
    steps = np.nanmean(np.diff(centred, axis=1) ** 2, axis=1)
    return bool((steps < SMOOTH * 2.0 * np.nanvar(centred, axis=1)).mean() > 0.5)
