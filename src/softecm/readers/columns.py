"""One column of a table: numbers, categories, dates, names of the rows, or nothing to cluster by."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from softecm.readers.base import Column, Kind, Names, ReadError, ReadOptions, short

if TYPE_CHECKING:
    import pandas as pd

    from softecm.spaces.base import ColumnKind


EXACT = 2.0**53  # floats below are whole numbers to the last digit


class Understood(NamedTuple):
    """Values to cluster by (None: left out), the column in words, a remark."""

    values: pd.Series | None
    column: Column
    remark: str = ""


def understood_column(path: Path, column: pd.Series, options: ReadOptions, *, may_be_id: bool) -> Understood:
    """What a column is for.

    Parameters
    ----------
    path : Path
        For what is said about it.
    column : pandas Series
    options : ReadOptions
        With every column by its name.
    may_be_id : bool
        Whether it may name the rows.
    """
    from pandas.api import types

    from softecm.spaces.roles import counts_rows

    name, gaps, n = str(column.name), missing_in(column), len(column)
    if name in options.drop:
        return Understood(None, Column(name, "left out", "as asked", gaps))
    if name in options.numeric or "all" in options.numeric:
        return Understood(as_numbers(path, name, column), Column(name, "number", shown(column), gaps))
    if gaps == n:
        return Understood(None, Column(name, "left out", "empty", gaps))
    column = _typed_dates(column)
    if column.dtype.kind in "mM":
        return Understood(column, Column(name, "date", shown(column), gaps))
    as_number = types.is_numeric_dtype(column.dtype) and not types.is_bool_dtype(column.dtype)
    if _binary(column):
        return Understood(None, Column(name, "left out", "binary data", gaps))
    if name in options.categorical or "all" in options.categorical or not as_number:
        return _category(name, column, asked=name in options.categorical, may_be_id=may_be_id)
    if types.is_complex_dtype(column.dtype):
        return Understood(None, Column(name, "left out", "complex numbers", gaps))
    if n > 1 and gaps == 0 and (column.to_numpy() == column.iloc[0]).all():
        return Understood(None, Column(name, "left out", f"always {short(column.iloc[0])}", gaps))
    if may_be_id and counts_rows(column.to_numpy()):
        return Understood(None, Column(name, "id", "counts the rows"))
    check_finite(path, name, column)
    return Understood(column, Column(name, "number", shown(column), gaps))


def missing_in(column: pd.Series) -> int:
    """How many cells are empty; quick for plain numbers, of which a table may have thousands of columns."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind == "f":
        return int(np.isnan(column.to_numpy()).sum())
    return int(column.isna().sum())


def _binary(column: pd.Series) -> bool:
    import pandas as pd

    return bool(column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) == "bytes")


def expected_column(path: Path, column: pd.Series, kind: ColumnKind) -> tuple[pd.Series, Column]:
    """A column as what a fitted model wants it, whatever it looks like."""
    name = str(column.name)
    if kind == "category":
        if _binary(column):
            raise ReadError(f"column {short(name)} of {path} must hold categories, as in the fit; got binary data.")
        values = stripped(column)
    elif kind == "number":
        values = as_numbers(path, name, column)
    else:
        values = _as_times(path, name, _typed_dates(column), kind)
    shown_as: Kind = "date" if kind == "duration" else kind
    return values, Column(name, shown_as, shown(values), int(values.isna().sum()))


def _typed_dates(column: pd.Series) -> pd.Series:
    """Dates as such where they are Python's own, as from Parquet."""
    import pandas as pd

    if column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) == "date":
        return pd.to_datetime(column, errors="coerce")
    return column


def _as_times(path: Path, name: str, column: pd.Series, kind: ColumnKind) -> pd.Series:
    """A column that must hold dates, or durations, as such."""
    import pandas as pd

    if column.dtype.kind == {"date": "M", "duration": "m"}[kind]:
        return column
    text = column.where(column.map(lambda v: isinstance(v, str)))  # numbers count nobody knows what from when
    read = pd.to_datetime if kind == "date" else pd.to_timedelta
    times = read(text, errors="coerce", **({"format": "ISO8601"} if kind == "date" else {}))
    odd = column[times.isna() & column.notna()]
    if len(odd):
        example = "2020-12-31 or 2020-12-31 08:30" if kind == "date" else "2 days 03:00:00"
        raise ReadError(
            f"column {short(name)} of {path} must hold {kind}s, as in the fit; got {short(odd.iloc[0])} in row "
            f"{int(odd.index[0]) + 1}: write them like {example}."
        )
    return times


def _category(name: str, column: pd.Series, *, asked: bool, may_be_id: bool) -> Understood:
    from softecm.spaces.roles import is_free_text, names_rows

    words = stripped(column)
    gaps, distinct, n = int(words.isna().sum()), int(words.nunique()), len(words)
    if not asked and may_be_id and names_rows(distinct, n):
        return Understood(None, Column(name, "id", "different in every row", gaps))
    if not asked and is_free_text(distinct, n):
        return Understood(None, Column(name, "left out", f"free text: {distinct} different values", gaps))
    if not asked and n > 1 and distinct <= 1 and gaps == 0:
        return Understood(None, Column(name, "left out", f"always {short(words.iloc[0])}", gaps))
    return Understood(words, Column(name, "category", shown(words), gaps), _nearly_numbers(name, words))


def stripped(column: pd.Series) -> pd.Series:
    """Text without blanks around it; numbers and truth values as text; gaps stay gaps."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype)
    filled = column.dropna()
    if pd.api.types.is_float_dtype(column.dtype) and ((filled % 1 == 0) & (filled.abs() < EXACT)).all():
        column = column.astype("Int64")  # codes read as 1.0 because some are missing
    words = column.astype("str").str.strip().astype(object)
    return words.where(column.notna() & (words != ""), None)


def _nearly_numbers(name: str, words: pd.Series) -> str:
    """A remark where a few words keep a column from being numbers."""
    import pandas as pd

    filled = words.dropna()
    odd = filled[pd.to_numeric(filled, errors="coerce").isna()]
    if len(filled) >= 10 and 0 < len(odd) < 0.1 * len(filled):
        return (
            f"column {name} is taken as categories because of {short(odd.iloc[0])} (row {int(odd.index[0]) + 1}); if that "
            f"means missing, give --missing {short(odd.iloc[0])}."
        )
    return ""


def as_numbers(path: Path, name: str, column: pd.Series) -> pd.Series:
    """A column that must hold numbers, as such."""
    import pandas as pd

    if column.dtype.kind in "mMc":  # of dates pandas would count nanoseconds
        numbers = pd.Series(np.nan, column.index)
    else:
        numbers = pd.to_numeric(column, errors="coerce")
    odd = column[numbers.isna() & column.notna()]
    if len(odd):
        raise ReadError(
            f"column {short(name)} of {path} must hold numbers; got {short(odd.iloc[0])} in row "
            f"{int(odd.index[0]) + 1}: mend it, or name it with --missing."
        )
    numbers = numbers.astype("float64")
    check_finite(path, name, numbers)
    return numbers


def check_finite(path: Path, name: str, column: pd.Series) -> None:
    """Refuse infinite numbers, with their place."""
    if not (isinstance(column.dtype, np.dtype) and column.dtype.kind == "f"):
        return
    infinite = np.isinf(column.to_numpy())
    if infinite.any():
        row = int(infinite.argmax())
        raise ReadError(
            f"column {short(name)} of {path} holds {column.iloc[row]:g} in row {row + 1}: mend that cell, or leave it empty "
            "to mark it as missing."
        )


def words(column: pd.Series) -> Names:
    """Names of rows or of classes as text, gaps as None."""
    values = column.astype(object).where(column.notna(), None)
    return np.array([None if v is None else str(v) for v in values], dtype=object)


def shown(column: pd.Series) -> str:
    """Range of numbers and dates, or the most frequent categories."""
    if not missing_in(column) < len(column):
        return "empty"
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf":
        values = column.to_numpy()
        return f"{np.nanmin(values):.6g} to {np.nanmax(values):.6g}"
    filled = column.dropna()
    if filled.dtype.kind in "iuf":
        return f"{filled.min():.6g} to {filled.max():.6g}"
    if filled.dtype.kind in "mM":
        return f"{filled.min()} to {filled.max()}"
    counts = filled.value_counts()
    shown = ", ".join(short(v) for v in counts.index[:4])
    return shown + (f" … ({len(counts)} values)" if len(counts) > 4 else "")
