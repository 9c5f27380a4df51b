"""Rows that the user wants left out, by number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softecm.readers.base import ReadError, Sheet

if TYPE_CHECKING:
    import pandas as pd


def without_rows(path: Path, sheet: Sheet, asked: Sequence[str]) -> Sheet:
    """A table without some rows: 352, 1-3, or -1 for the last; the others keep their numbers."""
    if not asked:
        return sheet
    n = len(sheet.frame)
    away = {row for entry in asked for row in _rows(path, entry, n)}
    if len(away) == n:
        raise ReadError(f"--drop-rows {','.join(asked)} leaves no row of {path}: leave out fewer.")
    count = "1 row is" if len(away) == 1 else f"{len(away)} rows are"
    kept = sheet.frame.iloc[[row for row in range(n) if row not in away]]
    return replace(sheet, frame=numbers_again(kept), notes=(*sheet.notes, f"{count} left out, as asked."))


def _rows(path: Path, entry: str, n: int) -> range:
    """The rows that an entry names, counted from 0."""
    found = re.fullmatch(r"(-?\d+)(?:-(\d+))?", entry)
    if found is None or (found[2] and found[1].startswith("-")):
        raise ReadError(f"--drop-rows must be numbers of rows such as 352, 1-3, or -1 for the last; got {entry}.")
    first = int(found[1])
    first = n + 1 + first if first < 0 else first
    last = int(found[2] or first)
    if not 1 <= first <= last <= n:
        raise ReadError(
            f"--drop-rows {entry} is no row of {path}: its {n} rows are counted from 1, the first row below the names being "
            "row 1."
        )
    return range(first - 1, last)


def numbers_again(frame: pd.DataFrame) -> pd.DataFrame:
    """Numbers that a word in a row that is gone had made objects, whole ones that a gap had made decimal."""
    return type(frame)({name: _whole(frame[name].infer_objects()) for name in frame.columns}, index=frame.index)


def _whole(column: pd.Series) -> pd.Series:
    numbers = column.to_numpy()
    whole = numbers.dtype.kind == "f" and np.isfinite(numbers).all() and (numbers % 1 == 0).all()
    return column.astype("int64") if whole else column
