"""Imitates how the data were read: raw numbers, codes in the order of sorted text with ``?`` among them, swapped axes.

Classes are numbered by first appearance. Series are passed as (channels, steps) instead of (steps, channels).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm_paper.as_coded.distances import Distance, RawSoftDTW, SigmoidOfCodes, SumOfSquares
from softecm_paper.as_coded.labels import Labels, by_appearance
from softecm_paper.rows import Row

DISTANCES: dict[str, type[Distance]] = {
    "sqeuclidean": SumOfSquares,
    "series-euclidean": SumOfSquares,
    "hamming": SigmoidOfCodes,
    "softdtw": RawSoftDTW,
}


@dataclass(frozen=True, eq=False)
class Prepared:
    """A row's objects: categories as text and as codes, or numbers, and their classes."""

    X: NDArray[Any]  # (n, columns), text for categories; (n, channels, steps) for series
    numbers: NDArray[np.float64]  # the same, codes for categories
    y: Labels


def prepare(row: Row, *, swapped: bool = True) -> Prepared:
    """Return a row's data; the error for a missing data set says how to get it."""
    bunch = row.loader()
    y = by_appearance(np.asarray(bunch.target))
    if row.kind == "categorical":
        cells = bunch.data.astype(object)
        text = cells.where(cells.notna(), "?").to_numpy(dtype=str)
        return Prepared(text, codes(text), y)
    numbers = np.asarray(bunch.data, dtype=np.float64)
    if row.kind == "series" and swapped:
        numbers = np.ascontiguousarray(numbers.transpose(0, 2, 1))
    return Prepared(numbers, numbers, y)


def codes(text: NDArray[np.str_]) -> NDArray[np.float64]:
    """Return each value's index among the sorted values of its column."""
    return np.column_stack([np.unique(column, return_inverse=True)[1] for column in text.T]).astype(np.float64)


def distance_to(row: Row, data: Prepared, dtype: torch.dtype = torch.float32) -> Distance:
    """Return the distance used for a row, from its objects."""
    return DISTANCES[row.metric](as_objects(data.numbers, dtype))


def as_objects(numbers: NDArray[np.float64], dtype: torch.dtype = torch.float32) -> Tensor:
    """Return objects (n, steps, channels); the columns of a table are its steps."""
    x = torch.tensor(numbers, dtype=dtype)
    return x[:, :, None] if x.ndim == 2 else x
