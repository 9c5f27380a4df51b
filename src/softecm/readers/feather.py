"""Feather and Arrow files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from softecm.readers.base import ReadOptions, Sheet
from softecm.readers.frames import check_text, pandas, sheet

if TYPE_CHECKING:
    import pandas as pd


def read_feather(path: Path, options: ReadOptions) -> Sheet:
    """The whole table."""
    code = (f"table = pd.read_feather({str(path)!r})",)
    return sheet(path, options, lambda: _frame(path), code, needs="pyarrow")


def _frame(path: Path) -> pd.DataFrame:
    from pyarrow import feather

    check_text(feather.read_table(path).schema, lambda columns: feather.read_table(path, columns))
    return pandas().read_feather(path)
