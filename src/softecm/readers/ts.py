"""``.ts``: the series of the UEA and UCR archives, read with aeon."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from softecm.readers.base import Loaded, ReadError, ReadOptions, brief
from softecm.readers.series import Series, loaded_series


def read_ts(path: Path, options: ReadOptions) -> Loaded:
    """The series and their classes."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from aeon.datasets import load_from_ts_file
    except ImportError as error:
        raise ReadError("reading .ts files needs aeon: pip install 'softecm[series]'.") from error
    try:
        x, y = load_from_ts_file(str(path))[:2]
    except Exception as error:  # aeon raises many kinds
        raise ReadError(f"{path} can't be read as a .ts file: {brief(error)}.") from error
    series = from_aeon(x)
    if not series:
        raise ReadError(f"{path} has no series below a line @data: there is nothing to cluster.")
    labels = np.array([str(v) for v in y], dtype=object) if y is not None and len(y) == len(series) else None
    code = (
        "from aeon.datasets import load_from_ts_file",
        f"X = [series.T for series in load_from_ts_file({str(path)!r})[0]]  # (steps, channels) each",
    )
    return loaded_series(series, None, labels, {"format": "ts (UEA/UCR)"}, code)


def from_aeon(series: Iterable[ArrayLike]) -> list[Series]:
    """From aeon's (channels, steps) to ours."""
    return [np.ascontiguousarray(np.asarray(one, dtype=np.float64).T) for one in series]
