"""The columns that groups are explained by: numbers and categories of a table, or stretches of series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from softecm._precision import Precision
from softecm.explain.effects import FloatArray
from softecm.spaces.columns import Cells
from softecm.spaces.raw import read_table

STRETCHES = 8  # parts that a series is cut into
DATES = ("date", "datetime")
NUMBERS = ("number", "duration", *DATES)


@dataclass(frozen=True)
class Numbers:
    """A column of numbers; NaN is missing."""

    name: str
    values: FloatArray
    precision: Precision

    def __len__(self) -> int:
        return len(self.values)

    def told(self, value: float) -> str:
        """A value between those of the column, for reading; of dates, microseconds since 1970."""
        return told(value, self.precision)


@dataclass(frozen=True)
class Words:
    """A column of categories, as codes; -1 is missing."""

    name: str
    codes: NDArray[np.int64]
    categories: tuple[object, ...]

    def __len__(self) -> int:
        return len(self.codes)


Column: TypeAlias = Numbers | Words


def told(value: float, precision: Precision) -> str:
    """A number for reading; dates are microseconds since 1970."""
    return precision.mean(np.datetime64(round(value), "us") if precision.moment else value)


def taken(column: Column, rows: NDArray[np.intp]) -> Column:
    """A column of some of the objects."""
    if isinstance(column, Numbers):
        return replace(column, values=column.values[rows])
    return replace(column, codes=column.codes[rows])


def measured(X: object, names: Sequence[str] | None) -> list[Column]:
    """The columns of a table, or those made of series."""
    if isinstance(X, np.ndarray) and X.ndim == 3:
        return _stretches(list(X), names)
    if isinstance(X, list | tuple) and X and all(isinstance(one, np.ndarray) and one.ndim in (1, 2) for one in X):
        return _stretches([one.reshape(len(one), -1) for one in X], names)
    if hasattr(X, "tocsr"):
        raise TypeError(
            "X must be a table or series; got a sparse matrix. Give the columns to look at, X[:, columns].toarray()."
        )
    table = read_table(X)
    given = [str(cells.name) for cells in table.columns] if names is None else [str(name) for name in names]
    if len(given) != len(table.columns):
        raise ValueError(f"columns must have one name a column, {len(table.columns)}; got {len(given)}.")
    return [_column(name, cells) for name, cells in zip(given, table.columns, strict=True)]


def _column(name: str, cells: Cells) -> Column:
    if cells.kind in NUMBERS:
        numbers = cells.numbers(cells.kind)
        return Numbers(name, numbers, Precision.of(_moments(numbers) if cells.kind in DATES else numbers))
    codes: dict[object, int] = {}
    words = [word for _, part in cells.chunks() for word in part]
    coded = [-1 if word is None else codes.setdefault(word, len(codes)) for word in words]
    return Words(name, np.array(coded, dtype=np.int64), tuple(codes))


def _moments(values: FloatArray) -> NDArray[np.datetime64]:
    """Microseconds since 1970 as dates."""
    return np.where(np.isnan(values), np.iinfo(np.int64).min, np.nan_to_num(values)).astype(np.int64).view("M8[us]")


def _stretches(series: Sequence[FloatArray], names: Sequence[str] | None) -> list[Column]:
    """Means of each channel over equal parts of each series' own time."""
    channels = series[0].shape[1]
    if any(one.shape[1] != channels for one in series):
        raise ValueError("series must all have the same number of channels; some have more than others.")
    if names is not None and len(names) != channels:
        raise ValueError(f"columns must have one name a channel, {channels}; got {len(names)}.")
    called = (
        [""] * channels if names is None and channels == 1 else names or [f"channel {c + 1}" for c in range(channels)]
    )
    means = np.full((len(series), STRETCHES, channels), np.nan)
    for i, one in enumerate(series):
        steps = np.asarray(one, dtype=np.float64)
        steps = steps[: np.flatnonzero(np.isfinite(steps).any(1))[-1] + 1] if np.isfinite(steps).any() else steps
        edges = np.linspace(0, len(steps), STRETCHES + 1).round().astype(int)
        for part, (begin, end) in enumerate(pairwise(edges)):
            piece = steps[begin : max(end, begin + 1)]
            known = np.isfinite(piece)
            count = known.sum(0)
            means[i, part] = np.where(count > 0, np.where(known, piece, 0.0).sum(0) / np.maximum(count, 1), np.nan)
    precisions = [Precision.of(means[..., c].ravel()) for c in range(channels)]
    percent = [f"{part / STRETCHES:.0%}–{(part + 1) / STRETCHES:.0%} of the time" for part in range(STRETCHES)]
    return [
        Numbers(f"{called[c]} at {percent[part]}".removeprefix(" at "), means[:, part, c], precisions[c])
        for c in range(channels)
        for part in range(STRETCHES)
    ]
