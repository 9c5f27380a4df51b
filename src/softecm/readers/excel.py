"""Excel: one sheet of a workbook."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from softecm.readers.base import ReadError, ReadOptions, Sheet
from softecm.readers.frames import pandas, sheet


def read_excel(path: Path, options: ReadOptions) -> Sheet:
    """The first sheet, or the one that was asked for."""
    pd = pandas()
    needs = "xlrd" if path.suffix.lower() == ".xls" else "openpyxl"
    code = (f"table = pd.read_excel({str(path)!r})",)
    return sheet(path, options, lambda: _frame(pd, path, options), code, needs=needs)


def _frame(pd: Any, path: Path, options: ReadOptions) -> Any:
    wanted: str | int = 0 if options.sheet is None else options.sheet
    header = None if options.header is False else 0
    try:
        return pd.read_excel(path, sheet_name=wanted, header=header, na_values=["?"])
    except ValueError as error:
        if "Worksheet" not in str(error):
            raise
        raise ReadError(f"{path} has no sheet {wanted!r}: give another with --sheet.") from error
