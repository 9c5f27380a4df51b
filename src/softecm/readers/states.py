"""Sequences of states from a table: a row a sequence, or a row a step of one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from softecm._text import some_of
from softecm.readers.base import Column, Loaded, Names, ReadError, ReadOptions, Sheet, existing
from softecm.readers.columns import stripped, words
from softecm.readers.long import checked_long, cut, in_order

if TYPE_CHECKING:
    import pandas as pd


def read_states(path: Path, sheet: Sheet, options: ReadOptions) -> Loaded:
    """What each object went through: in the rows of its id by time where these are said, else in its own row."""
    return _long(path, sheet, options) if options.long else _wide(path, sheet, options)


def _long(path: Path, sheet: Sheet, options: ReadOptions) -> Loaded:
    frame = sheet.frame
    options = checked_long(path, frame, options)
    if len(options.value) != 1:
        raise ReadError(f"a sequence has one state a step: give --value one column of {path}.")
    cells = stripped(frame[options.value[0]]).to_numpy(dtype=object)[:, None]
    found, names = cut(frame[options.series_id].tolist(), in_order(path, frame, options), cells)
    rows = [one[:, 0].tolist() for one in found]
    labels = None
    if options.label_column:
        labels = words(frame.groupby(options.series_id, sort=False)[options.label_column].first())
    picked = f"part.sort_values({options.time!r})[{options.value[0]!r}].tolist()"
    code = f"X = [{picked} for _, part in table.groupby({options.series_id!r}, sort=False)]"
    return _loaded(rows, np.array([str(name) for name in names], dtype=object), labels, sheet, code)


def _wide(path: Path, sheet: Sheet, options: ReadOptions) -> Loaded:
    frame, columns = sheet.frame, list(sheet.frame.columns)
    key = existing(path, columns, options.id_column) if options.id_column else _naming(frame)
    label = existing(path, columns, options.label_column) if options.label_column else None
    away = {key, label, *(existing(path, columns, name) for name in options.drop)}
    steps = [name for name in columns if name not in away]
    if len(steps) < 2:
        raise ReadError(
            f"{path} must have a column for every step of the sequences, or a row for every step: then say --id, --time and "
            "--value."
        )
    cells = np.column_stack([stripped(frame[name]).to_numpy(dtype=object) for name in steps])
    ids = None if key is None else words(frame[key])
    labels = None if label is None else words(frame[label])
    loaded = _loaded(cells.tolist(), ids, labels, sheet, f"X = table[{steps!r}]")
    note = f"{key} names the sequences; --id-column says otherwise."
    return loaded if key is None or options.id_column else replace(loaded, notes=(*loaded.notes, note))


def _naming(frame: pd.DataFrame) -> str | None:
    """The first column where it is another in every row."""
    first = frame.columns[0]
    return str(first) if len(frame) > 1 and frame[first].notna().all() and frame[first].is_unique else None


def _loaded(rows: list[list[Any]], ids: Names | None, labels: Names | None, sheet: Sheet, code: str) -> Loaded:
    states = sorted({state for row in rows for state in row if state is not None})
    shown = some_of(states)
    gaps = sum(state is None for row in rows for state in row)
    column = Column("states", "category", f"{len(rows)} sequences of up to {max(map(len, rows))} steps: {shown}", gaps)
    return Loaded(rows, "series", ids, labels, (column,), sheet.how, sheet.notes, (*sheet.code, code))
