"""Matrices of dissimilarities whose two directions differ."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from softecm._text import number_of
from softecm._wording import literal, option
from softecm.readers.base import Loaded, ReadError, ReadOptions, short


def symmetrized(path: Path, loaded: Loaded, options: ReadOptions) -> Loaded:
    """Return a matrix with both directions combined, if this is requested; raise an error for other objects."""
    way = options.symmetrize
    if way is None:
        return loaded
    if way not in ("mean", "max"):
        raise ReadError(f"{option('symmetrize')} must be mean or max; got {literal(way)}.")
    frame = loaded.data
    if not loaded.numeric or not hasattr(frame, "columns") or len(frame) != len(frame.columns):
        width = f" with {number_of(frame.shape[1], 'column')}" if loaded.shape == "table" else ""
        raise ReadError(
            f"{option('symmetrize')} is for a square matrix of numbers; {path} has {number_of(len(loaded), loaded.noun)}"
            f"{width} to cluster by: leave it out."
        )
    columns = [str(name) for name in frame.columns]
    for row, column in zip(loaded.names if loaded.ids is not None else columns, columns, strict=True):
        if row != column and row in columns:
            raise ReadError(
                f"{option('symmetrize')} needs the rows of {path} in the order of its columns; got row {short(row)} where "
                f"column {short(column)} is: sort one like the other."
            )
    d = frame.to_numpy(dtype=np.float64)
    even = (d + d.T) / 2 if way == "mean" else np.maximum(d, d.T)
    data = type(frame)(even, index=frame.index, columns=frame.columns)
    return replace(loaded, data=data, how=loaded.how | {"both directions": f"their {way}"})
