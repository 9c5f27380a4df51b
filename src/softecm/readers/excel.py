"""Excel: one sheet of a workbook."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from softecm.readers.base import ReadError, ReadOptions, Sheet, check_names, check_unpacked
from softecm.readers.frames import pandas, sheet

if TYPE_CHECKING:
    import pandas as pd


def read_excel(path: Path, options: ReadOptions) -> Sheet:
    """The first sheet, or the one that was asked for."""
    needs = "xlrd" if path.suffix.lower() == ".xls" else "openpyxl"
    code = (f"table = pd.read_excel({str(path)!r})",)
    return sheet(path, options, lambda: _frame(path, options), code, needs=needs)


def _frame(path: Path, options: ReadOptions) -> pd.DataFrame:
    check_unpacked(path)
    wanted: str | int = 0 if options.sheet is None else options.sheet
    header = None if options.header is False else 0
    try:
        with pandas().ExcelFile(path) as book:
            if header == 0:
                first = book.parse(wanted, header=None, nrows=1)
                check_names(path, [str(name) for name in first.to_numpy().ravel() if name == name])
            return book.parse(wanted, header=header, na_values=["?"])
    except ValueError as error:
        if "Worksheet" not in str(error):
            raise
        raise ReadError(f"{path} has no sheet {wanted!r}: give another with --sheet.") from error
