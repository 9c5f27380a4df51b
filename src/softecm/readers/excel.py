"""Workbooks: one sheet of an Excel or OpenDocument file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from softecm._text import some_of
from softecm.readers.base import ReadError, ReadOptions, Sheet, check_unpacked, own_names, short
from softecm.readers.frames import sheet
from softecm.readers.sniff import MOST_ABOVE

if TYPE_CHECKING:
    import pandas as pd

ENGINE: Literal["calamine"] = "calamine"  # reads .xlsx, .xls and .ods alike


def read_excel(path: Path, options: ReadOptions) -> Sheet:
    """The first sheet, or the one that was asked for."""
    notes: list[str] = []
    code = (f"table = pd.read_excel({str(path)!r}, engine={ENGINE!r})",)
    found = sheet(path, options, lambda: _frame(path, options, notes), code)
    return replace(found, text=True, notes=tuple(notes))


def _frame(path: Path, options: ReadOptions, notes: list[str]) -> pd.DataFrame:
    import pandas as pd

    check_unpacked(path)
    wanted: str | int = 0 if options.sheet is None else options.sheet
    with pd.ExcelFile(path, engine=ENGINE) as book:
        names = [short(str(name)) for name in book.sheet_names]
        if options.sheet is None and len(names) > 1:
            notes.append(f"the workbook's first sheet, {names[0]}, is read; for {some_of(names[1:])} give --sheet.")
        if options.sheet is not None and options.sheet not in book.sheet_names:
            raise ReadError(f"{path} has no sheet {options.sheet!r}: give one of {some_of(names)} with --sheet.")
        if options.header is False:
            return book.parse(wanted, header=None, na_values=["?"])
        first = book.parse(wanted, header=None, nrows=MOST_ABOVE)
        above = _rows_above(first)
        frame = book.parse(wanted, header=above, na_values=["?"])
        if options.sheet is None and not len(frame) and len(names) > 1:
            raise ReadError(f"{path}: the first sheet, {names[0]}, is empty: give --sheet with {some_of(names[1:])}.")
    if len(first):
        named = [str(name) if name == name else f"Unnamed: {j}" for j, name in enumerate(first.iloc[above])]
        frame.columns, told = own_names(named)
        notes += told
        notes += [f"the first {above} rows are above the table and left out."] if above else []
    return frame


def _rows_above(first: pd.DataFrame) -> int:
    """How many rows stand above the names of the columns: with few cells, such as a title."""
    filled = first.notna().sum(axis=1).to_numpy()
    width = first.shape[1]
    table = (filled > max(1, width // 2)).nonzero()[0] if width > 2 else []
    if not len(table):
        return 0
    names = [cell for cell in first.iloc[table[0]] if cell == cell]
    return int(table[0]) if all(isinstance(name, str) for name in names) else 0
