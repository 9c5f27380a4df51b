"""Interpretation of one column: numbers, categories, dates, names of the rows, or nothing to cluster by."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softecm._precision import Precision, span_of
from softecm._text import listed, number_of, some_of
from softecm._wording import option
from softecm.readers.answers import (
    EXACT,
    in_order,
    known_order,
    levels_by_column,
    merged_spellings,
    missing_remark,
    most_frequent_spellings,
    no_answers,
    spelled_alike,
    stripped,
    without_gaps,
)
from softecm.readers.base import Column, Kind, Names, ReadError, ReadOptions, Sheet, Written, as_names, short
from softecm.readers.clock import WRITTEN, read_times
from softecm.readers.dates import (
    ISO,
    DateFormats,
    Dates,
    TwoOrders,
    in_words,
    look_like_dates,
    no_dates,
    order_of,
    read_dates,
    whole_numbers_as_dates,
)
from softecm.readers.numbers import (
    Ambiguous,
    MixedUnits,
    ParsedNumbers,
    are_codes,
    are_few,
    are_few_of,
    cells_remark,
    how_written,
    read_numbers,
    signs,
    values_among,
)
from softecm.readers.units import UnitChoice, unit_choices, unit_remark

if TYPE_CHECKING:
    import pandas as pd

    from softecm.spaces.base import ColumnKind


@dataclass(frozen=True)
class Understood:
    """Values to cluster by (None: excluded), the column in words, remarks."""

    values: pd.Series | None
    column: Column
    remarks: tuple[str, ...] = ()


@dataclass
class FileContext:
    """What is known about the file when a column is interpreted."""

    path: Path
    options: ReadOptions  # with every column by its name
    text: bool  # whether cells are raw text
    first: str = ""  # the name of the first column
    decimal: str = ""  # the decimal sign shown by the file or given by the user
    dates: DateFormats = field(default_factory=lambda: DateFormats({}))
    order: str = ""  # of day and month, as proved by another column
    #: Of columns declared ordered; empty: a known scale.
    levels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    units: dict[str, UnitChoice] = field(default_factory=dict)  # the user's choice, by column
    frame: pd.DataFrame | None = None

    @cached_property
    def copies(self) -> pd.Series | None:
        """Which rows repeat an earlier one exactly; None if unknown."""
        try:
            return None if self.frame is None else self.frame.duplicated()
        except TypeError:  # cells that can't be compared
            return None

    def without_copies(self, column: pd.Series) -> pd.Series:
        """Return a column without the rows that repeat earlier ones exactly, if these are few and all that repeats in it."""
        repeated = column.duplicated() & column.notna()
        if not repeated.any() or not are_few_of(int(repeated.sum()), len(column)) or self.copies is None:
            return column
        return column if (repeated & ~self.copies).any() else column[~self.copies]

    @staticmethod
    def of(path: Path, sheet: Sheet, options: ReadOptions) -> FileContext:
        """Return the context of a table."""
        columns = [str(name) for name in sheet.frame.columns]
        decimal = signs(options.decimal, options.thousands)[0] or sheet.decimal
        formats = DateFormats.of(options.dates, columns)
        levels = levels_by_column(path, columns, options.ordinal)
        units = unit_choices(path, columns, options.unit)
        if options.expected is not None and not units:  # this file may lack columns of the first
            units = unit_choices(path, options.expected.known or columns, options.expected.unit)
        context = FileContext(path, options, sheet.text, columns[0], decimal, formats, "", levels, units, sheet.frame)
        if sheet.text and not formats.off:
            context.order = context._proved_order(sheet.frame)
        return context

    def _proved_order(self, frame: pd.DataFrame) -> str:
        """Return the order of day and month, if a column is unambiguous and no other contradicts it."""
        orders = set()
        for name in frame.columns:
            if is_text(frame[name]) and look_like_dates(frame[name]):
                try:
                    dates = read_dates(frame[name])
                except TwoOrders:
                    continue
                orders |= {order_of(dates.format)} - {""} if dates is not None else set()
        return orders.pop() if len(orders) == 1 else ""

    def dates_of(self, name: str, column: pd.Series) -> Dates | None:
        """Return a column as dates, None if it holds none; raise an error that asks for the format if two fit."""
        is_date_column = name in self.dates.formats
        if not is_date_column and (self.dates.off or not self.text):
            return None
        digits = whole_numbers_as_dates(column, explicit=is_date_column)
        if digits is not None:
            return read_dates(digits, "%Y%m%d")
        if not is_date_column and not (is_text(column) and look_like_dates(column)):
            return None
        try:
            dates = read_dates(column, self.dates.formats.get(name) or self.dates.order, hint=self.order)
        except TwoOrders as two:
            first, second = (in_words(form) for form in two.formats)
            options = " or ".join(option("dates", f"{name}={form}") for form in two.formats)
            raise ReadError(
                f"column {short(name)} of {self.path} holds dates such as {two.example}, which may be {first} or {second}: "
                f"choose with {options}."
            ) from None
        if dates is None and is_date_column:
            cells = column.dropna()
            raise ReadError(
                f"column {short(name)} of {self.path} must hold dates, as {option('dates')} says; got "
                f"{short(cells.iloc[0])} in row {int(cells.index[0]) + 1}: give the format, such as "
                f"{option('dates', f'{name}=%d.%m.%Y')}."
            )
        return dates

    def numbers_of(self, name: str, column: pd.Series, known: Written | None = None) -> ParsedNumbers | None:
        """Return a text column as numbers; raise an error that asks for the signs if two readings are possible."""
        if (times := read_times(column, known=known is not None and known.dates == WRITTEN.dates)) is not None:
            return times
        try:
            numbers = read_numbers(column, self.decimal, known, choice := self.units.get(name))
        except MixedUnits as mixed:
            raise ReadError(_mixture(self.path, name, mixed.counts)) from None
        except Ambiguous as cell:
            raise ReadError(
                f"column {short(name)} of {self.path} holds {cell}, whose comma may separate thousands or decimals: "
                f"choose with {option('thousands', ',')} or {option('decimal', ',')}"
            ) from None
        if numbers is not None and choice is not None and numbers.values.isna().all() and numbers.foreign:
            raise ReadError(
                f"no cell of column {short(name)} of {self.path} is in {choice.unit}; cells are in "
                f"{some_of(list(numbers.foreign))}: choose one of these with {option('unit')}."
            )
        return numbers


def _mixture(path: Path, name: str, counts: Mapping[str, int]) -> str:
    """Return how to handle a column in several units."""
    cells = [f"{f'in {unit}' if unit else 'without a unit'} ({number_of(n, 'cell')})" for unit, n in counts.items()]
    first, *others = sorted((unit for unit in counts if unit), key=counts.__getitem__, reverse=True)
    keeps = "reads all of them so" if not others else "keeps that unit, and cells in others are missing"
    converts = (
        ""
        if not others
        else f"; {option('unit', f'{name}={first}=N {others[0]}')} converts, where N {others[0]} are 1 {first}"
    )
    return (
        f"column {short(name)} of {path} holds numbers {' and '.join(cells)}: {option('unit', f'{name}={first}')} {keeps}"
        f"{converts}; {option('categorical', name)} takes them as words."
    )


def understood_column(column: pd.Series, context: FileContext, *, may_be_id: bool) -> Understood:
    """Interpret a column.

    Parameters
    ----------
    column : pandas Series
    context : FileContext
    may_be_id : bool
        Whether it may name the rows.
    """
    from pandas.api import types

    options = context.options
    name, gaps, n = str(column.name), missing_in(column), len(column)
    if name in options.drop:
        return Understood(None, Column(name, "left out", "as specified", gaps))
    if name in options.numeric or "all" in options.numeric:
        numbers, remarks = as_numbers(context, name, column)
        described = Column(name, "number", shown(numbers), missing_in(numbers), "as specified")
        return Understood(numbers, described, remarks)
    if gaps == n:
        return Understood(None, Column(name, "left out", "empty", gaps))
    if name in context.levels or (
        "all" in options.ordinal and is_text(column) and known_order(_answered(column, 2)[0].dropna().unique())
    ):
        return _ordered(context, name, column)
    is_category = name in options.categorical or "all" in options.categorical
    if not is_category:
        recognised = _recognised(name, _typed_dates(column), context, may_be_id=may_be_id)
        if recognised is not None:
            return recognised
    as_number = types.is_numeric_dtype(column.dtype) and not types.is_bool_dtype(column.dtype)
    if _binary(column):
        return Understood(None, Column(name, "left out", "binary data", gaps))
    if is_category or not as_number:
        return _category(context, name, column, may_be_id=may_be_id)
    if types.is_complex_dtype(column.dtype):
        return Understood(None, Column(name, "left out", "complex numbers", gaps))
    return _number(context, column, Column(name, "number", "", gaps, "numbers"), may_be_id=may_be_id)


def _recognised(name: str, column: pd.Series, context: FileContext, *, may_be_id: bool) -> Understood | None:
    """Interpret a column of dates, or of text that means dates or numbers; None for any other."""
    if column.dtype.kind in "mM":
        return Understood(column, Column(name, "date", shown(column), missing_in(column), "dates"))
    dates = context.dates_of(name, column)
    if dates is not None:
        return _date(name, dates)
    if not (is_text(column) and (context.text or len(values_among(column, dt.time)))):
        return None
    numbers = context.numbers_of(name, column)
    if numbers is None:
        return None
    gaps = missing_in(numbers.values)
    described = Column(name, "number", "", gaps, how_written(numbers), numbers.written)
    understood = _number(context, numbers.values, described, may_be_id=may_be_id)
    remarks = (*numbers.remarks(name), *understood.remarks) if understood.values is not None else ()
    return replace(understood, remarks=remarks)


def _number(context: FileContext, column: pd.Series, described: Column, *, may_be_id: bool) -> Understood:
    """Interpret a numeric column, unless it is constant or names the rows."""
    from softecm.spaces.column_roles import BY_NAME, is_dense, is_id_name, number_names_rows

    name, values, gaps = described.name, column.to_numpy(), described.gaps
    if len(column) > 1 and gaps == 0 and (values == column.iloc[0]).all():
        return Understood(None, Column(name, "left out", f"always {short(column.iloc[0])}"))
    may_repeat = may_be_id and values.dtype.kind in "iu" and is_id_name(name, first=True)
    single = context.without_copies(column).to_numpy() if may_repeat else values
    reason = number_names_rows(name, _whole_numbers(values) if gaps else single, first=name == context.first)
    if reason and (reason == BY_NAME or (may_be_id and not gaps)):
        kind: Kind = "id" if may_be_id and are_few_of(gaps, len(values)) else "left out"
        many = ", but too many rows have none" if may_be_id and kind != "id" else ""
        return Understood(None, Column(name, kind, f"{reason}{many}", gaps))
    check_finite(context.path, name, column)
    understood = Understood(column, replace(described, detail=shown(column)))
    if not (may_be_id and is_dense(values)):
        return understood
    remark = (
        f"column {short(name)} may be an id: its whole numbers are all different and nearly consecutive. It is used as a "
        f"number; {option('id_column', name)} makes it the id, {option('numeric', name)} confirms it."
    )
    return replace(understood, remarks=(remark,))


def _whole_numbers(values: NDArray[Any]) -> NDArray[Any]:
    """Return the numbers of a column with missing cells, if all are integers; else none."""
    numbers = values[~np.isnan(values)] if values.dtype.kind == "f" else values[:0]
    return numbers.astype(np.int64) if (np.abs(numbers) < EXACT).all() and (numbers % 1 == 0).all() else values[:0]


def _date(name: str, dates: Dates) -> Understood:
    gaps = missing_in(dates.values)
    written, why = Written(dates=dates.format), in_words(dates.format)
    if dates.values.nunique() == 1 and not gaps and len(dates.values) > 1:
        return Understood(None, Column(name, "left out", f"always {short(dates.values.iloc[0])}"))
    described = Column(name, "date", shown(dates.values), gaps, why, written)
    return Understood(dates.values, described, _no_times(name, dates.odd, "date"))


def _no_times(name: str, odd: pd.Series, kind: str) -> tuple[str, ...]:
    """Return a remark about cells that are no dates, or no durations."""
    return (cells_remark(name, odd, f"is not a {kind} and counts", f"are not {kind}s and count"),) if len(odd) else ()


def is_text(column: pd.Series) -> bool:
    """Whether a column holds text, perhaps among other values."""
    from pandas.api import types

    return bool(types.is_object_dtype(column.dtype) or types.is_string_dtype(column.dtype)) and not _binary(column)


def is_plain(column: pd.Series, kinds: str) -> bool:
    """Whether a column is a NumPy array of one of these kinds, by their letters."""
    return isinstance(column.dtype, np.dtype) and column.dtype.kind in kinds


def missing_in(column: pd.Series) -> int:
    """Return the number of missing cells; fast for plain numbers, of which a table may have thousands of columns."""
    if is_plain(column, "f"):
        return int(np.isnan(column.to_numpy()).sum())
    return int(column.isna().sum())


def _binary(column: pd.Series) -> bool:
    import pandas as pd

    return bool(column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) == "bytes")


def expected_column(context: FileContext, column: pd.Series, kind: ColumnKind, written: Written) -> Understood:
    """Read a column as a fitted model requires, whatever its content; ``written`` is the notation in the fit's file."""
    name, remarks = str(column.name), tuple[str, ...]()
    if kind == "category":
        if _binary(column):
            raise ReadError(
                f"column {short(name)} of {context.path} must hold categories, as in the fit; got binary data."
            )
        values = stripped(column)
        values = spelled_alike(values.mask(values.isin(written.no_answer), None), written.words)
    elif kind == "number":
        values, remarks = as_numbers(context, name, column, written)
    else:
        values, remarks = _as_times(context, name, _typed_dates(column), kind, written)
    shown_as: Kind = "date" if kind == "duration" else kind
    gaps = int(values.isna().sum())
    return Understood(values, Column(name, shown_as, shown(values), gaps, "as in the fit", written), remarks)


def _typed_dates(column: pd.Series) -> pd.Series:
    """Convert Python's own dates, as from Parquet."""
    import pandas as pd

    if column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) in ("date", "datetime"):
        return pd.to_datetime(column, errors="coerce")
    return column


def _as_times(
    context: FileContext, name: str, column: pd.Series, kind: ColumnKind, written: Written
) -> tuple[pd.Series, tuple[str, ...]]:
    """Convert a column that must hold dates or durations; a few invalid cells are missing, with a remark."""
    import pandas as pd

    if column.dtype.kind == {"date": "M", "duration": "m"}[kind]:
        return column, ()
    if kind == "date":
        text = column if is_text(column) or written.dates == "%Y%m%d" else column.where(column.isna())
        known = context.dates.formats.get(name) or context.dates.order or written.dates
        parsed = read_dates(text, known) if known else context.dates_of(name, text)
        like_iso = written.dates in ("", ISO)
        example = "2020-12-31 or 2020-12-31 08:30" if like_iso else in_words(written.dates)
    else:
        text = column.where(column.map(lambda v: isinstance(v, str)))  # the meaning of numbers would be unknown
        parsed, example = _durations(text), "2 days 03:00:00"
    if parsed is not None and not (column.notna() & text.isna()).any():
        return parsed.values, _no_times(name, parsed.odd, kind)
    if column.isna().all():
        return pd.to_datetime(column, errors="coerce"), ()
    odd = column[column.notna() & text.isna()] if parsed is not None else column[column.notna()]
    if parsed is None and kind == "date" and len(strange := no_dates(text, written.dates)):
        odd = strange
    raise ReadError(
        f"column {short(name)} of {context.path} must hold {kind}s, as in the fit; got {short(odd.iloc[0])} in row "
        f"{int(odd.index[0]) + 1}: write them like {example}."
    )


def _durations(text: pd.Series) -> Dates | None:
    """Return text as durations; None if too few cells are."""
    import pandas as pd

    times = pd.to_timedelta(text, errors="coerce")
    odd = text[times.isna() & text.notna()]
    return Dates(times, "", odd) if are_few(odd, int(text.notna().sum())) else None


def _category(context: FileContext, name: str, column: pd.Series, *, may_be_id: bool) -> Understood:
    from softecm.spaces.column_roles import FREE, is_free_text, is_id_name, names_rows

    explicit, fold = name in context.options.categorical, context.text
    words, empty = _answered(column, 2 if fold and not explicit else None)
    gaps, distinct, n = int(words.isna().sum()), int(words.nunique()), len(words)
    # Ids may be missing in some rows, such as that of a mean.
    may_lack = are_few_of(gaps, n) and is_id_name(name, first=name == context.first)
    if not explicit and may_be_id:
        single = context.without_copies(words)
        if names_rows(distinct, int(single.notna().sum()) if may_lack else len(single)):
            detail = "different in every row" if len(single) == n else "different in every row, copies aside"
            return Understood(None, Column(name, "id", detail, gaps))
    if not explicit and is_free_text(distinct, n):
        remark = repeated_ids(words) if may_be_id and distinct < n - gaps and is_id_name(name, first=True) else ""
        described = Column(name, "left out", f"{FREE}: {distinct} different values", gaps)
        return Understood(None, described, (remark,) if remark else ())
    if not explicit and n > 1 and distinct <= 1 and gaps == 0:
        return Understood(None, Column(name, "left out", f"always {short(words.iloc[0])}", gaps))
    return Understood(*_as_category(context, name, words, empty, fold=fold))


def known_groups(column: pd.Series, context: FileContext) -> tuple[pd.Series, Column, tuple[str, ...]]:
    """Interpret a column with the groups of some objects, with remarks; words that mean missing are missing."""
    name = str(column.name)
    least = None if name in context.options.categorical else 1
    words, described, remarks = _as_category(context, name, *_answered(column, least), fold=True)
    return words, replace(described, kind="label", why="known groups"), remarks


def _answered(column: pd.Series, least: int | None) -> tuple[pd.Series, pd.Series]:
    """Return the words of a column, and cells read as missing if at least so many other words remain; None: never."""
    words = stripped(column)
    empty = words[:0] if least is None else no_answers(words, least)
    return (words.mask(words.isin(empty), None) if len(empty) else words), empty


def _as_category(
    context: FileContext, name: str, words: pd.Series, empty: pd.Series, *, fold: bool
) -> tuple[pd.Series, Column, tuple[str, ...]]:
    """Return a column of words as categories, with spellings merged, and remarks."""
    explicit, gaps, distinct = name in context.options.categorical, missing_in(words), words.nunique()
    remarks = [_nearly_numbers(name, words), missing_remark(name, empty) if len(empty) else ""]
    spellings = () if explicit or not fold else most_frequent_spellings(words)
    if len(spellings) and len(spellings) < distinct:
        alike = spelled_alike(words, spellings)
        remarks.append(
            f"column {short(name)}: words that differ only in case, hyphens, spaces, accents or final punctuation are "
            f"merged ({merged_spellings(words, alike)}); "
            f"{option('categorical', name)} keeps them separate."
        )
        words = alike
    origin = "codes that begin with 0" if are_codes(words.dropna()) else "text"
    why = "as specified" if explicit else f"{origin}, {words.nunique()} different"
    written = Written(words=spellings, no_answer=tuple(empty.unique()))
    described = Column(name, "category", shown(words), gaps, why, written if written != Written() else None)
    return words, described, tuple(remark for remark in remarks if remark)


def repeated_ids(column: pd.Series) -> str:
    """Return a remark about a column that would name the rows if few of its names did not repeat; else ""."""
    count = int((column.duplicated() & column.notna()).sum())
    remark = f"column {short(column.name)} does not name the rows, because it repeats {repetitions(column)}."
    return remark if are_few_of(count, len(column)) else ""


def repetitions(column: pd.Series) -> str:
    """Return which names repeat, in which rows; the first of them."""
    again = column[column.duplicated(keep=False) & column.notna()]
    rows = {name: [str(int(row) + 1) for row in part.index] for name, part in again.groupby(again, sort=False)}
    return some_of([f"{short(name)} (rows {listed(some, 'and')})" for name, some in rows.items()], 10)


def _ordered(context: FileContext, name: str, column: pd.Series) -> Understood:
    """Interpret a column of ordered answers."""
    words, empty = _answered(column, 2 if context.text else None)
    values = in_order(context.path, words, context.levels.get(name, ()))
    levels = tuple(values.cat.categories)
    written = Written(words=levels, no_answer=tuple(empty.unique()))
    described = Column(name, "category", " < ".join(map(short, levels)), missing_in(values), "in this order", written)
    return Understood(values, described, (missing_remark(name, empty),) if len(empty) else ())


def _nearly_numbers(name: str, words: pd.Series) -> str:
    """Return a remark if a few words keep a column from being numeric."""
    import pandas as pd

    filled = words.dropna()
    odd = filled[pd.to_numeric(filled, errors="coerce").isna()]
    if len(filled) >= 10 and 0 < len(odd) < 0.1 * len(filled):
        return (
            f"column {name} is read as categories because of {short(odd.iloc[0])} (row {int(odd.index[0]) + 1}); if that "
            f"means missing, use {option('missing', odd.iloc[0])}."
        )
    return ""


def as_numbers(
    context: FileContext, name: str, column: pd.Series, written: Written | None = None
) -> tuple[pd.Series, tuple[str, ...]]:
    """Read a column that must hold numbers, with remarks; with the fit's ``written``, a few other cells are missing."""
    import pandas as pd

    known = None if written == Written() or context.options.decimal is not None else written
    parsed = None
    if is_text(column) and (context.text or len(values_among(column, dt.time))):
        column = without_gaps(column)
        parsed = context.numbers_of(name, column, known)
        if parsed is None and known is not None:
            parsed = context.numbers_of(name, column)
    if parsed is not None:
        numbers, odd = parsed.values, parsed.odd
        if name not in context.units and parsed.foreign:
            odd = pd.concat([odd, *parsed.foreign.values()]).sort_index()
    elif column.dtype.kind in "mMc":  # for dates pandas would return nanoseconds
        numbers, odd = pd.Series(np.nan, column.index), column.dropna()
    else:
        numbers = pd.to_numeric(column, errors="coerce")
        odd = column[numbers.isna() & column.notna()]
    if len(odd) and (parsed is None or written is None):
        remedy = f"fix it, or list it with {option('missing')}"
        if parsed is not None and parsed.foreign and parsed.written.unit:
            remedy = f"fix it, or add {option('unit', f'{name}={parsed.written.unit}')}"
        raise ReadError(
            f"column {short(name)} of {context.path} must hold numbers; got {short(odd.iloc[0])} in row "
            f"{int(odd.index[0]) + 1}: {remedy}."
        )
    numbers = numbers.astype("float64")
    check_finite(context.path, name, numbers)
    unit = unit_remark(name, "" if parsed is None else parsed.written.unit, written.unit, numbers) if written else ""
    return numbers, (*([unit] if unit else []), *([] if parsed is None else parsed.remarks(name)))


def holds_numbers(context: FileContext, name: str, column: pd.Series) -> bool:
    """Whether the cells of a column are numbers, or all missing."""
    if not is_text(column):
        return column.dtype.kind in "iuf"
    column = without_gaps(column)
    return bool(column.isna().all()) or (context.text and context.numbers_of(name, column) is not None)


def check_finite(path: Path, name: str, column: pd.Series) -> None:
    """Raise an error for infinite numbers, with their position."""
    if not is_plain(column, "f"):
        return
    infinite = np.isinf(column.to_numpy())
    if infinite.any():
        value, row = column[infinite].iloc[0], int(column.index[infinite][0]) + 1
        raise ReadError(
            f"column {short(name)} of {path} holds {value:g} in row {row}: fix that cell, or leave it empty to mark it as "
            "missing."
        )


def words(column: pd.Series) -> Names:
    """Return names of rows or of classes as text; None if missing."""
    return as_names(column.astype(object).where(column.notna(), None))


def shown(column: pd.Series) -> str:
    """Return the range of numbers and dates, or the most frequent categories."""
    if not missing_in(column) < len(column):
        return "empty"
    filled = column.dropna()
    if filled.dtype.kind in "iuf":
        return span_of(filled.to_numpy(dtype=np.float64))
    if filled.dtype.kind == "M":
        ends = np.array([filled.min().to_datetime64(), filled.max().to_datetime64()])
        precision = Precision.of(filled.to_numpy(dtype="M8[ns]"))
        return " to ".join(precision.cell(end) for end in ends)
    if filled.dtype.kind == "m":
        return f"{filled.min()} to {filled.max()}"
    counts = filled.value_counts()
    shown = ", ".join(short(v) for v in counts.index[:4])
    return shown + (f" … ({len(counts)} values)" if len(counts) > 4 else "")
