"""Dates in usual notations: ISO, day.month.year, month/day/year, names of months, with or without a time of day."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from softecm._text import some_of
from softecm._wording import option
from softecm.readers.base import ReadError
from softecm.readers.numbers import are_few, as_text, values_among

if TYPE_CHECKING:
    import pandas as pd

ISO = "ISO8601"
ORDERS = {"dmy": ("%d", "%m", "%Y"), "mdy": ("%m", "%d", "%Y"), "ymd": ("%Y", "%m", "%d")}
DAYS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d.%m.%y"),
    *("%d/%m/%Y", "%m/%d/%Y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%Y", "%m-%d-%Y", "%d-%m-%y", "%m-%d-%y"),
    *("%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%b %d %Y", "%d %B %Y", "%d. %B %Y", "%B %d, %Y"),
    *("%Y-%m", "%b %Y", "%b-%y"),
)
TIMES = (
    *("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", ", %H:%M", ", %H:%M:%S"),
    *(" %I:%M %p", " %I:%M:%S %p", "T%H:%M", "T%H:%M:%S"),
)
ISO_LIKE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?\s?(?:Z|[+-]\d{2}:?\d{2})?)?")
MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
LIKE = re.compile(
    rf"(?:\d{{1,4}}[-./]\d{{1,2}}(?:[-./]\d{{1,4}})?|\d{{1,2}}[-. ]\s?{MONTH}[-., ]\s?\d{{2,4}}|"
    rf"{MONTH}[-. ]\s?(?:\d{{1,2}},? )?\d{{2,4}})(?:,?[T ]\d{{1,2}}:\d{{2}}.*)?",
    re.IGNORECASE,
)
PARTS = {"d": "d", "m": "m", "b": "m", "B": "m", "Y": "y", "y": "y"}
SAMPLE = 200
MEANT = re.compile(r"(date|datum|day|tag|fecha|giorno|jour)", re.IGNORECASE)  # in the name of a column of 20241231
SHOWN = {"%d": "day", "%m": "month", "%b": "month", "%B": "month", "%Y": "year", "%y": "year"}


@dataclass(frozen=True)
class Dates:
    """A text column as dates."""

    values: pd.Series  # NaT if missing
    format: str
    odd: pd.Series  # invalid cells


@dataclass(frozen=True)
class DateFormats:
    """The value of ``--dates``."""

    formats: dict[str, str]  # by column; empty: to be inferred
    order: str = ""  # of all columns: dmy, mdy, ymd or a format
    off: bool = False

    @staticmethod
    def of(entries: Sequence[str], columns: Sequence[str]) -> DateFormats:
        """Parse entries such as ``when``, ``when=%d.%m.%Y``, ``dmy`` or ``none``; raise an error for others."""
        formats: dict[str, str] = {}
        order, off = "", False
        for entry in entries:
            name, equals, form = entry.partition("=")
            if entry in columns:
                formats[entry] = ""
            elif equals and name in columns:
                formats[name] = _checked(form, entry)
            elif entry.lower() in ORDERS or "%" in entry:
                order = _checked(entry, entry)
            elif entry == "none":
                off = True
            else:
                raise ReadError(
                    f"{option('dates')} must name a column ({some_of(columns)}), a format (dmy, mdy, ymd, %d.%m.%Y), both "
                    f"as column=format, or be none; got {entry}."
                )
        return DateFormats(formats, order, off)


def _checked(form: str, entry: str) -> str:
    if form.lower() in ORDERS:
        return form.lower()
    if "%" not in form or not re.search(r"%[Yyj]", form):
        raise ReadError(
            f"{option('dates', entry)} must end in dmy, mdy, ymd or a format with a year, such as %d.%m.%Y."
        )
    return form


class TwoOrders(Exception):
    """A column with ambiguous order of day and month: an example, and both formats."""

    def __init__(self, example: str, formats: tuple[str, str]) -> None:
        super().__init__(example)
        self.example, self.formats = example, formats


def look_like_dates(column: pd.Series) -> bool:
    """Whether most of the first cells look like dates; fast."""
    cells = as_text(column.dropna().iloc[:SAMPLE])
    return bool(len(cells)) and sum(LIKE.fullmatch(cell) is not None for cell in cells) >= 0.7 * len(cells)


def whole_numbers_as_dates(column: pd.Series, *, explicit: bool) -> pd.Series | None:
    """Return numbers such as 20241231 as text, if the column's name or the user declares dates, and all are."""
    import pandas as pd

    if column.dtype.kind not in "iu" or not (explicit or MEANT.search(str(column.name))):
        return None
    if not column.between(19000101, 21001231).all():
        return None
    words = column.astype("str")
    return words if pd.to_datetime(words, format="%Y%m%d", errors="coerce").notna().all() else None


def read_dates(column: pd.Series, form: str = "", *, hint: str = "") -> Dates | None:
    """Return a text column as dates; None if too few of its cells are.

    Parameters
    ----------
    column : pandas Series
    form : a format, or an order (dmy, mdy, ymd), if known
    hint : the order proved by another column of the file

    Raises
    ------
    TwoOrders
        If all cells may be day first and month first, with different meanings.
    """
    import pandas as pd

    own = values_among(column, dt.date)
    text = as_text(column.drop(own.index))
    n = len(own) + len(text)
    chosen = _format(text.drop_duplicates(), form, hint)
    if not n or not (chosen or len(own)):
        return None
    values = _parsed(text, chosen) if chosen else text.map(lambda cell: pd.NaT)
    if len(own):
        values = pd.concat([pd.to_datetime(own, errors="coerce"), values]).sort_index()
    odd = text[values[text.index].isna()]
    if values.dtype.kind != "M" or not are_few(odd, n):
        return None
    return Dates(values.reindex(column.index), chosen or ISO, odd)


def _format(different: pd.Series, form: str, hint: str) -> str:
    """Return the most frequent format of the distinct cells; "" if too few have one."""
    counts: list[tuple[str, int]] = []
    for candidate in _candidates(different, form) if len(different) else ():
        wrong = int(_parsed(different, candidate).isna().sum())
        if are_few(range(wrong), len(different)):
            counts.append((candidate, wrong))
    if not counts:
        return ""
    best = min(wrong for _, wrong in counts)
    return _one_order(different, [candidate for candidate, wrong in counts if wrong == best], form or hint)


def no_dates(column: pd.Series, form: str) -> pd.Series:
    """Return the cells of a column without this date format; all of them if it is unknown."""
    filled = as_text(column)
    return filled[_parsed(filled, form).isna()] if "%" in form or form == ISO else filled


def _candidates(cells: pd.Series, form: str) -> list[str]:
    """Return the formats that fit most of the first cells."""
    if "%" in form or form == ISO:
        return [form]
    first = cells.iloc[:SAMPLE]
    if not form and sum(ISO_LIKE.fullmatch(cell) is not None for cell in first) > 0.5 * len(first):
        return [ISO]
    few = first.iloc[:20]
    wanted = [day for day in DAYS if not form or _order(day) == form or (form == "ymd" and day.startswith("%Y"))]
    formats = (f"{day}{time}" for time in TIMES for day in wanted)
    return [one for one in formats if _parsed(few, one).notna().sum() > 0.6 * len(few)]


def _parsed(cells: pd.Series, form: str) -> pd.Series:
    """Return dates, NaT for cells of another form; moments of the same zone or of none."""
    import warnings

    import pandas as pd

    with warnings.catch_warnings(action="ignore"):
        zoned = form == ISO and cells.str.contains(r"(?:Z|[+-]\d{2}:?\d{2})$", regex=True).any()
        return pd.to_datetime(cells, format=form, errors="coerce", utc=bool(zoned))


def _order(form: str) -> str:
    """Return the order of day, month and year in a format: dmy, mdy, ymd."""
    return "".join(PARTS.get(sign, "") for sign in re.findall("%(.)", form))


def order_of(form: str) -> str:
    """Return the order that a column proves for others; "" for unambiguous formats."""
    order = _order(form)[:3]
    return order if order in ("dmy", "mdy") and re.match("%[dm][/-]%[dm]", form) else ""


def _one_order(cells: pd.Series, formats: Sequence[str], wanted: str) -> str:
    """Return the format; the cells or the user must decide the order of day and month."""
    if len(formats) == 1:
        return formats[0]
    first, second = formats[:2]
    if {_order(first)[:3], _order(second)[:3]} != {"dmy", "mdy"}:
        return first
    for candidate in (first, second):
        if _order(candidate)[:3] == wanted:
            return candidate
    one, other = _parsed(cells, first), _parsed(cells, second)
    differ = one.notna() & other.notna() & (one != other)
    if not differ.any():
        return first
    raise TwoOrders(str(cells[differ].iloc[0]), (first, second))


def in_words(form: str) -> str:
    """Return a readable format.

    Examples
    --------
    >>> in_words("%d.%m.%Y %H:%M"), in_words("ISO8601")
    ('day.month.year with a time', 'year-month-day')
    """
    if form == ISO:
        return "year-month-day"
    day = re.sub(r"[T, ]*%[HI].*", "", form)
    words = re.sub("%[a-zA-Z]", lambda sign: SHOWN.get(sign[0], sign[0]), day)
    return words + (" with a time" if day != form else "")
