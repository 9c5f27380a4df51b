"""Series as loaded objects, and those of the UEA and UCR archives (``.ts``), read with aeon."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softecm.readers.base import Column, Loaded, Names, ReadError, ReadOptions, brief

Series = NDArray[np.float64]  # (steps, channels)


def as_data(series: Sequence[Series]) -> Series | list[Series]:
    """One array (n, steps, channels) where all series have one length, else a list."""
    return np.stack(series) if len({one.shape for one in series}) == 1 else list(series)


def loaded_series(
    series: Sequence[Series],
    ids: Names | None,
    labels: Names | None,
    how: dict[str, str],
    code: tuple[str, ...],
    channels: Sequence[str] = (),
) -> Loaded:
    """Objects that are series, in words: how many, how long, how many gaps; a column for each channel that has a name."""
    if not len(series):
        raise ReadError("the file holds no series: there is nothing to cluster.")
    lengths = sorted({len(one) for one in series})
    gaps = np.sum([np.isnan(one).sum(0) for one in series], axis=0)  # (channels,)
    span = " to ".join(str(length) for length in dict.fromkeys((lengths[0], lengths[-1])))
    if not channels:
        channels = ["channel 1" if len(gaps) == 1 else f"{len(gaps)} channels"]
        gaps = gaps.sum(keepdims=True)
    detail = f"{len(series)} series of {span} steps"
    columns = tuple(Column(name, "number", detail, int(count)) for name, count in zip(channels, gaps, strict=True))
    return Loaded(as_data(series), "series", ids, labels, columns, how, code=code)


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
