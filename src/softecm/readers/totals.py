"""The last row of a table that adds up the others: no object."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from softecm.readers.base import Sheet, short
from softecm.readers.numbers import Ambiguous, read_numbers

if TYPE_CHECKING:
    import pandas as pd

TOTAL = re.compile(
    r"(?:grand |sub)?total[e]?s?:?|sum(?:me|ma)?:?|gesamt(?:summe)?:?|insgesamt:?|somme:?", re.IGNORECASE
)
ALIKE = 1e-4  # sums of rounded numbers differ from a rounded sum


def without_total(sheet: Sheet) -> Sheet:
    """The table without a last row that is called a total and adds up a column; one that may be is pointed out."""
    frame = sheet.frame
    if not sheet.text or len(frame) < 4:
        return sheet
    last = frame.iloc[-1]
    called = next((str(cell).strip() for cell in last if isinstance(cell, str) and TOTAL.fullmatch(cell.strip())), None)
    if called is None:
        return sheet
    row = f"the last row (row {len(frame)}) is called {short(called)}"
    if any(_adds_up(frame[name], sheet.decimal) for name in frame.columns):
        note = f"{row} and adds up the others: it is left out."
        rest = frame.iloc[:-1]
        typed = {name: _numbers_again(rest[name]) for name in frame.columns}
        return replace(sheet, frame=type(frame)(typed, index=rest.index), notes=(*sheet.notes, note))
    return replace(sheet, notes=(*sheet.notes, f"{row}: if it is no object, leave it out of the file."))


def _adds_up(column: pd.Series, decimal: str) -> bool:
    """Whether the last number of a column is the sum of the others."""
    try:
        found = read_numbers(column, decimal)
    except Ambiguous:
        found = read_numbers(column, ".")
    if found is None or not np.isfinite(last := float(found.values.iloc[-1])):
        return False
    return last != 0 and abs(float(found.values.iloc[:-1].sum()) - last) <= ALIKE * abs(last)


def _numbers_again(column: pd.Series) -> pd.Series:
    """Numbers that a word in the last row had made objects, whole ones that a gap had made decimal."""
    column = column.infer_objects()
    numbers = column.to_numpy()
    if numbers.dtype.kind == "f" and np.isfinite(numbers).all() and (numbers % 1 == 0).all():
        return column.astype("int64")
    return column
