"""One column of a table: numbers, categories, dates, names of the rows, or nothing to cluster by."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from softecm.readers.base import Column, Names, ReadError, ReadOptions, short

if TYPE_CHECKING:
    import pandas as pd


class Understood(NamedTuple):
    """Values to cluster by (None: left out), the column in words, a remark."""

    values: pd.Series | None
    column: Column
    remark: str = ""


def understood_column(
    path: Path, column: pd.Series, options: ReadOptions, *, may_be_id: bool, forced: bool
) -> Understood:
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
    forced : bool
        A fitted model wants it: then it is not left out for being constant or free text.
    """
    from pandas.api import types

    from softecm.spaces.roles import counts_rows

    name, gaps, n = str(column.name), int(column.isna().sum()), len(column)
    if name in options.drop:
        return Understood(None, Column(name, "left out", "as asked", gaps))
    if name in options.numeric or "all" in options.numeric:
        return Understood(as_numbers(path, name, column), Column(name, "number", shown(column), gaps))
    if gaps == n:
        return Understood(None, Column(name, "left out", "empty", gaps))
    if types.is_datetime64_any_dtype(column.dtype) or types.is_timedelta64_dtype(column.dtype):
        return Understood(column, Column(name, "date", shown(column), gaps))
    as_number = types.is_numeric_dtype(column.dtype) and not types.is_bool_dtype(column.dtype)
    if name in options.categorical or "all" in options.categorical or not as_number:
        return _category(name, column, asked=forced or name in options.categorical, may_be_id=may_be_id)
    if types.is_complex_dtype(column.dtype):
        return Understood(None, Column(name, "left out", "complex numbers", gaps))
    if not forced and n > 1 and column.nunique() == 1 and gaps == 0:
        return Understood(None, Column(name, "left out", f"always {short(column.iloc[0])}", gaps))
    if may_be_id and counts_rows(column.to_numpy()):
        return Understood(None, Column(name, "id", "counts the rows"))
    return Understood(column, Column(name, "number", shown(column), gaps))


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
    if pd.api.types.is_float_dtype(column.dtype) and (column.dropna() % 1 == 0).all():
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

    numbers = pd.to_numeric(column, errors="coerce")
    odd = column[numbers.isna() & column.notna()]
    if len(odd):
        raise ReadError(
            f"column {name} of {path} must hold numbers; got {short(odd.iloc[0])} in row {int(odd.index[0]) + 1}: mend it, "
            "or name it with --missing."
        )
    return numbers.astype("float64")


def words(column: pd.Series) -> Names:
    """Names of rows or of classes as text, gaps as None."""
    values = column.astype(object).where(column.notna(), None)
    return np.array([None if v is None else str(v) for v in values], dtype=object)


def shown(column: pd.Series) -> str:
    """Range of numbers and dates, or the most frequent categories."""
    filled = column.dropna()
    if not len(filled):
        return "empty"
    if filled.dtype.kind in "iuf":
        return f"{filled.min():.6g} to {filled.max():.6g}"
    if filled.dtype.kind in "mM":
        return f"{filled.min()} to {filled.max()}"
    counts = filled.value_counts()
    shown = ", ".join(short(v) for v in counts.index[:4])
    return shown + (f" … ({len(counts)} values)" if len(counts) > 4 else "")
