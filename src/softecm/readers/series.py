"""Series, once they are read, as loaded objects."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from softecm.readers.base import Column, Loaded, Names, ReadError

Series = NDArray[np.float64]  # (steps, channels)


def as_data(series: Sequence[Series]) -> Series | list[Series]:
    """One array (n, steps, channels) where all series have one length, else a list."""
    return np.stack(series) if len({one.shape for one in series}) == 1 else list(series)


def loaded_series(
    series: Sequence[Series], ids: Names | None, labels: Names | None, how: dict[str, str], code: tuple[str, ...]
) -> Loaded:
    """Objects that are series, in words: how many, how long, how many channels, how many gaps."""
    if not len(series):
        raise ReadError("the file holds no series: there is nothing to cluster.")
    lengths = sorted({len(one) for one in series})
    channels = series[0].shape[1]
    gaps = int(sum(np.isnan(one).sum() for one in series))
    span = " to ".join(str(length) for length in dict.fromkeys((lengths[0], lengths[-1])))
    column = Column(
        f"{channels} channel{'' if channels == 1 else 's'}", "number", f"{len(series)} series of {span} steps", gaps
    )
    return Loaded(as_data(series), "series", ids, labels, (column,), how, code=code)
