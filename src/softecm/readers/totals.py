"""The last row of a table that adds up the others, or has their means: no object."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from softecm.readers.base import Sheet, short
from softecm.readers.numbers import Ambiguous, read_numbers
from softecm.readers.rows import numbers_again

if TYPE_CHECKING:
    import pandas as pd

TOTAL = re.compile(
    r"(?:grand |sub)?total[e]?s?:?|sum(?:me|ma)?:?|gesamt(?:summe)?:?|insgesamt:?|somme:?", re.IGNORECASE
)
MEAN = re.compile(
    r"(?:mean|average|avg\.?|median|mittelwert|mittel|durchschnitt|schnitt|moyenne|media|promedio):?", re.IGNORECASE
)
ALIKE = 1e-4  # sums of rounded numbers differ from a rounded sum


def without_total(sheet: Sheet) -> Sheet:
    """The table without a last row that is called a total and adds up a column; one that may be is pointed out."""
    frame = sheet.frame
    if not sheet.text or len(frame) < 4:
        return sheet
    words = [cell.strip() for cell in frame.iloc[-1] if isinstance(cell, str)]
    called = next((word for word in words if TOTAL.fullmatch(word) or MEAN.fullmatch(word)), None)
    if called is None:
        return sheet
    number = int(frame.index[-1]) + 1
    row = f"the last row (row {number}) is called {short(called)}"
    if TOTAL.fullmatch(called) and any(_adds_up(frame[name], sheet.decimal) for name in frame.columns):
        note = f"{row} and adds up the others: it is left out."
        return replace(sheet, frame=numbers_again(frame.iloc[:-1]), notes=(*sheet.notes, note))
    return replace(sheet, notes=(*sheet.notes, f"{row}: if it is no object, give --drop-rows {number}."))


def _adds_up(column: pd.Series, decimal: str) -> bool:
    """Whether the last number of a column is the sum of the others."""
    try:
        found = read_numbers(column, decimal)
    except Ambiguous:
        found = read_numbers(column, ".")
    if found is None or not np.isfinite(last := float(found.values.iloc[-1])):
        return False
    return last != 0 and abs(float(found.values.iloc[:-1].sum()) - last) <= ALIKE * abs(last)
