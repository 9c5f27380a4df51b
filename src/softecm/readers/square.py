"""A matrix with the names of its rows in the first column, which repeats those of its columns."""

from __future__ import annotations

from dataclasses import replace

from softecm.readers.base import Sheet, own_names


def named_as_columns(sheet: Sheet) -> Sheet:
    """The table with the rows of a matrix called as its columns are, so that a name that comes twice still names one."""
    frame = sheet.frame
    if frame.shape[1] != len(frame) + 1:
        return sheet
    first, *others = (str(name) for name in frame.columns)
    names = own_names([str(cell) for cell in frame.iloc[:, 0]])[0]
    return replace(sheet, frame=frame.assign(**{first: names})) if names == others else sheet
