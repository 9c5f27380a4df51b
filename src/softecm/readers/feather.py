"""Feather and Arrow files."""

from __future__ import annotations

from pathlib import Path

from softecm.readers.base import ReadOptions, Sheet
from softecm.readers.frames import pandas, sheet


def read_feather(path: Path, options: ReadOptions) -> Sheet:
    """The whole table."""
    code = (f"table = pd.read_feather({str(path)!r})",)
    return sheet(path, options, lambda: pandas().read_feather(path), code, needs="pyarrow")
