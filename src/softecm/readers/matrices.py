"""Matrices of dissimilarities whose two directions differ."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from softecm._text import number_of
from softecm._wording import literal, option
from softecm.readers.base import Loaded, ReadError, ReadOptions


def symmetrized(path: Path, loaded: Loaded, options: ReadOptions) -> Loaded:
    """Return a matrix with both directions combined, if this is requested."""
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
            f"{width} to cluster by: leave it out, or see with {option('dry_run')} how the file is read."
        )
    if loaded.ids is not None and sorted(loaded.names) == sorted(map(str, frame.columns)):
        frame = frame[loaded.names]
    d = frame.to_numpy(dtype=np.float64)
    d = np.where(np.isnan(d), d.T, d)  # what is known of one direction only
    even = (d + d.T) / 2 if way == "mean" else np.maximum(d, d.T)
    data = type(frame)(even, index=frame.index, columns=frame.columns)
    left = dict(zip(frame.columns, np.isnan(even).sum(0).tolist(), strict=True))
    columns = tuple(replace(c, gaps=left.get(c.name, c.gaps)) for c in loaded.columns)
    return replace(loaded, data=data, columns=columns, how=loaded.how | {"both directions": f"their {way}"})
