"""Rows that are not objects: rows to drop, a final total; and rows of a matrix by name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softecm._text import counted, number_of
from softecm._wording import option
from softecm.readers.base import ReadError, ReadOptions, Sheet, own_names, short
from softecm.readers.numbers import Ambiguous, MixedUnits, read_numbers, whole_numbers

if TYPE_CHECKING:
    import pandas as pd

TOTAL = re.compile(
    r"(?:grand |sub)?total[e]?s?:?|sum(?:me|ma)?:?|gesamt(?:summe)?:?|insgesamt:?|somme:?", re.IGNORECASE
)
MEAN = re.compile(
    r"(?:mean|average|avg\.?|median|mittelwert|mittel|durchschnitt|schnitt|moyenne|media|promedio):?", re.IGNORECASE
)
MOST_FOOTNOTES = 3  # below a total
ALIKE = 1e-4  # sums of rounded numbers differ from a rounded sum


def without_rows(path: Path, sheet: Sheet, entries: Sequence[str]) -> Sheet:
    """Drop rows of a table: 352, 1-3, or -1 for the last; the others keep their numbers."""
    if not entries:
        return sheet
    n = len(sheet.frame)
    dropped = {row for entry in entries for row in _rows(path, entry, n)}
    if len(dropped) == n:
        raise ReadError(f"{option('drop_rows', ','.join(entries))} leaves no row of {path}: leave out fewer.")
    count = counted(len(dropped), "row is", "rows are")
    frame = sheet.frame.iloc[[row for row in range(n) if row not in dropped]]
    return replace(sheet, frame=typed(frame), notes=(*sheet.notes, f"{count} left out, as requested."))


def _rows(path: Path, entry: str, n: int) -> range:
    """Return the rows named by an entry, counted from 0."""
    match = re.fullmatch(r"(-?\d+)(?:-(\d+))?", entry)
    if match is None or (match[2] and match[1].startswith("-")):
        raise ReadError(
            f"{option('drop_rows')} must be numbers of rows such as 352, 1-3, or -1 for the last; got {entry}."
        )
    first = int(match[1])
    first = n + 1 + first if first < 0 else first
    last = int(match[2] or first)
    if not 1 <= first <= last <= n:
        raise ReadError(
            f"{option('drop_rows', entry)} is not a row of {path}: its {n} rows are counted from 1, the first row "
            "below the names being row 1."
        )
    return range(first - 1, last)


def without_blank(sheet: Sheet) -> Sheet:
    """Drop rows without any value, unless all are."""
    blank = np.arange(len(sheet.frame))
    for name in sheet.frame.columns:
        blank = blank[sheet.frame[name].iloc[blank].isna().to_numpy()]
        if not len(blank):
            return sheet
    if len(blank) == len(sheet.frame):
        return sheet
    first = f"row {int(sheet.frame.index[blank[0]]) + 1}"
    more = f" and {len(blank) - 1} more" if len(blank) > 1 else ""
    note = f"{counted(len(blank), 'empty row is', 'empty rows are')} skipped: {first}{more}."
    frame = sheet.frame.drop(index=sheet.frame.index[blank])
    return replace(sheet, frame=typed(frame), notes=(*sheet.notes, note))


def typed(frame: pd.DataFrame) -> pd.DataFrame:
    """Give columns of Python objects their types, and integers theirs after missing cells were dropped."""
    return type(frame)({name: whole_numbers(frame[name].infer_objects()) for name in frame.columns}, index=frame.index)


def without_total(sheet: Sheet) -> Sheet:
    """Drop a final row, except footnotes, that is called a total and sums a column.

    A remark reports a possible total.
    """
    footnotes = _footnotes(sheet.frame) if sheet.text else 0
    frame = sheet.frame.iloc[: len(sheet.frame) - footnotes]
    if not sheet.text or len(frame) < 4:
        return sheet
    words = [cell.strip() for cell in frame.iloc[-1] if isinstance(cell, str)]
    called = next((word for word in words if TOTAL.fullmatch(word) or MEAN.fullmatch(word)), None)
    if called is None:
        return sheet
    number = int(frame.index[-1]) + 1
    below = f" above {number_of(footnotes, 'footnote')}" if footnotes else ""
    row = f"the last row{below} (row {number}) is called {short(called)}"
    if TOTAL.fullmatch(called) and any(_adds_up(frame[name], sheet.decimal) for name in frame.columns):
        note = f"{row} and is the sum of the others: {'they are' if footnotes else 'it is'} skipped."
        return replace(sheet, frame=typed(frame.iloc[:-1]), notes=(*sheet.notes, note))
    note = f"{row}: if it is not an object, remove it with {option('drop_rows', number)}."
    return replace(sheet, notes=(*sheet.notes, note))


def _footnotes(frame: pd.DataFrame) -> int:
    """Return how many of the last rows hold a single text cell."""
    count = 0
    while frame.shape[1] > 2 and count < min(MOST_FOOTNOTES, len(frame)):
        row = frame.iloc[-1 - count]
        cells = row[row.notna() & (row != "")]
        if len(cells) != 1 or not isinstance(cells.iloc[0], str):
            break
        count += 1
    return count


def _adds_up(column: pd.Series, decimal: str) -> bool:
    """Whether the last number of a column is the sum of the others."""
    try:
        numbers = read_numbers(column, decimal)
    except Ambiguous:
        numbers = read_numbers(column, ".")
    except MixedUnits:
        return False
    if numbers is None or not np.isfinite(last := float(numbers.values.iloc[-1])):
        return False
    return last != 0 and abs(float(numbers.values.iloc[:-1].sum()) - last) <= ALIKE * abs(last)


def named_as_columns(sheet: Sheet, options: ReadOptions) -> tuple[Sheet, ReadOptions]:
    """Name the rows of a matrix like its columns, so that duplicate names are still unique: they are ids."""
    frame = sheet.frame
    if frame.shape[1] != len(frame) + 1:
        return sheet, options
    first, *others = (str(name) for name in frame.columns)
    names = own_names([str(cell) for cell in frame.iloc[:, 0]])[0]
    if sorted(names) != sorted(others):
        return sheet, options
    sheet = _completed(replace(sheet, frame=frame.assign(**{first: names})[[first, *names]]))
    return sheet, replace(options, id_column=options.id_column or first)


def _completed(sheet: Sheet) -> Sheet:
    """Fill the empty half of a matrix that holds each pair once, and its diagonal, with a remark."""
    frame = sheet.frame
    cells = frame.iloc[:, 1:].to_numpy(dtype=object)
    empty = frame.iloc[:, 1:].isin(["", "-"]).to_numpy() | frame.iloc[:, 1:].isna().to_numpy()
    half = np.tri(len(cells), k=-1, dtype=bool)
    is_half = any(empty[part].all() and not empty[part.T].any() for part in (half, half.T))
    own = np.diagonal(empty)
    if not (is_half or (own.all() and empty.sum() == len(cells))) or len(cells) < 3:
        return sheet
    zero = "0" if any(isinstance(cell, str) for cell in cells[~empty]) else 0.0
    cells = np.where(empty, cells.T, cells) if is_half else cells
    np.fill_diagonal(cells, np.where(own, zero, np.diagonal(cells)))
    columns = {name: cells[:, j] for j, name in enumerate(frame.columns[1:])}
    note = "only one half of the matrix is filled: the other half is taken to be the same." if is_half else ""
    note = note or "the empty diagonal of the matrix is taken to be 0."
    return replace(sheet, frame=typed(frame.assign(**columns)), notes=(*sheet.notes, note))
