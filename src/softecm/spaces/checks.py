"""Checks of numbers and of matrices of dissimilarities, each with its remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from softecm._text import place
from softecm.files.expected import Range

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


LARGEST = 1e150  # squares of larger numbers, and sums of them, leave the range of float64
SQUARABLE = Range(-LARGEST, LARGEST)
_LARGEST = {torch.float64: LARGEST, torch.float32: 1e18}
_SMALLEST = {
    torch.float64: 1e-140,
    torch.float32: 1e-15,
}  # squares of smaller differences lose their digits, then vanish


def refuse_range(low: float, high: float, dtype: torch.dtype = torch.float64, what: str = "X") -> None:
    """ValueError where numbers from ``low`` to ``high`` are too large to be squared, or differ too little."""
    refuse_large(max(-low, high), dtype, what)
    if 0.0 < high - low < _SMALLEST[dtype]:
        raise ValueError(
            f"{what} must hold numbers that differ by {_SMALLEST[dtype]:g} at least; the largest difference is "
            f"{high - low:g}. Squares of smaller ones vanish: multiply by a constant first{_wider(dtype)}."
        )


def refuse_large(largest: float, dtype: torch.dtype = torch.float64, what: str = "X") -> None:
    """ValueError where the square of the largest number overflows."""
    if largest > _LARGEST[dtype]:
        raise ValueError(
            f"{what} must hold numbers of at most {_LARGEST[dtype]:g} in size; got {largest:g}. "
            f"Squares of larger ones overflow: divide by a constant first{_wider(dtype)}."
        )


def _wider(dtype: torch.dtype) -> str:
    return "" if dtype == torch.float64 else ", or use dtype='float64'"


ROUNDING = 1e-8  # differences of D and its transpose below this part of the largest dissimilarity are rounding
BLOCK_ROWS = 256


def refuse_not_square(d: NDArray[np.floating]) -> None:
    """Vectors given where dissimilarities are due."""
    if d.shape[0] != d.shape[1]:
        raise ValueError(
            f"X must be a square matrix of dissimilarities; got shape {d.shape}. Compute one with "
            "sklearn.metrics.pairwise_distances, or use SoftECM, which takes the objects themselves."
        )


def refuse_dissimilarities(rows: object) -> None:
    """The reverse: dissimilarities given where objects are due, as far as that can be seen."""
    if not isinstance(rows, np.ndarray) or rows.ndim != 2 or len(rows) < 3 or rows.shape[0] != rows.shape[1]:
        return
    largest = float(rows.max())
    alike = not np.diagonal(rows).any() and rows.min() >= 0 < largest
    if alike and np.abs(rows - rows.T).max() <= ROUNDING * largest:
        raise ValueError(
            f"X must hold one object a row; got a symmetric {rows.shape} matrix with zeros on its diagonal, which looks "
            "like dissimilarities. Use SoftECM(metric='precomputed'), RECM, ECMdd or EVCLUS for these; if columns really "
            "are attributes, standardise them first."
        )


def refuse_other_width(estimator: BaseEstimator, X: object) -> None:
    """New objects must be compared to all training objects."""
    shape, n = tuple(getattr(X, "shape", ())), estimator.n_features_in_
    if len(shape) == 2 and shape[1] != n:
        raise ValueError(
            f"X has {shape[1]} features, but {type(estimator).__name__} is expecting {n} features as input: the "
            f"dissimilarities of the new objects to the {n} training objects, in their order. Compute them with "
            "sklearn.metrics.pairwise_distances(X_new, X_train)."
        )


def refuse_not_finite(d: NDArray[np.floating]) -> None:
    """NaN and infinity, with the place."""
    if np.isfinite(d.sum()) and np.isfinite(d.max()):
        return
    bad = ~np.isfinite(d)
    if bad.any():
        i, j = np.argwhere(bad)[0]
        what = "NaN" if np.isnan(d[i, j]) else "infinity"
        raise ValueError(
            f"Input X contains {what}: the dissimilarity of objects {i + 1} and {j + 1} (X[{i}, {j}]). Every pair "
            "needs a finite number: leave "
            "out objects that can't be compared, or fill in an estimate."
        )


def refuse_negative(d: NDArray[np.floating]) -> None:
    """A dissimilarity below zero, or too large or too small to be squared."""
    if d.min() < 0:
        i, j = np.unravel_index(int(d.argmin()), d.shape)
        raise ValueError(
            f"X must not hold a negative dissimilarity; got {d[i, j]:g} for objects {i + 1} and {j + 1} (X[{i}, "
            f"{j}]). Turn similarities s into "
            "dissimilarities, such as max(s) - s, or subtract what an object differs from itself."
        )
    refuse_range(0.0, float(d.max()))


def symmetric(d: NDArray[np.floating]) -> NDArray[np.floating]:
    """The matrix with rounding differences between its triangles removed; refused where they are more than that."""
    largest = float(d.max())
    diagonal = np.abs(np.diagonal(d))
    if diagonal.max() > ROUNDING * largest:
        i = int(diagonal.argmax())
        raise ValueError(
            f"X must be zero on its diagonal: an object does not differ from itself; got {diagonal[i]:g} for "
            f"{place('object', i)}. "
            "Turn similarities s into dissimilarities, such as max(s) - s, or subtract what an object differs from itself."
        )
    worst, where, exact = 0.0, (0, 0), not diagonal.any()
    for start in range(0, len(d), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        gap = np.abs(d[rows, start:] - d[start:, rows].T)
        if gap.max() > worst:
            row, column = np.unravel_index(int(gap.argmax()), gap.shape)
            worst, where = float(gap.max()), (start + int(row), start + int(column))
    if worst > ROUNDING * largest:
        i, j = where
        raise ValueError(
            f"X must be symmetric; got {d[i, j]:g} from object {i + 1} to {j + 1} (X[{i}, {j}]) and {d[j, i]:g} "
            "back. Use (X + X.T) / 2, or the "
            "larger of the two."
        )
    if worst == 0.0 and exact:
        return d
    even = (d + d.T) / 2
    np.fill_diagonal(even, 0.0)
    return even


def check_indices(name: str, given: ArrayLike, n: int, count: int | None = None) -> NDArray[np.int64]:
    """Different numbers of training objects, ``count`` of them where given."""
    rows = np.asarray(given)
    whole = rows.ndim == 1 and len(rows) > 0 and rows.dtype.kind in "iuf" and bool((rows == np.round(rows)).all())
    right = whole and len(np.unique(rows)) == len(rows) and 0 <= rows.min() <= rows.max() < n
    if not right or (count is not None and len(rows) != count):
        many = "one a cluster" if count is None else f"{count} of them, one a cluster"
        raise ValueError(
            f"{name} must hold different numbers of objects, from 0 to {n - 1}, {many}; got {given!r}. "
            "'k-means++' chooses objects far from each other."
        )
    return rows.astype(np.int64)


def check_enough(n_clusters: int, n: int) -> None:
    """At least one object a cluster."""
    if n < n_clusters:
        raise ValueError(
            f"n_clusters must be at most the number of objects; got n_clusters={n_clusters} for n_samples={n}. "
            "Ask for fewer clusters or give more objects."
        )
