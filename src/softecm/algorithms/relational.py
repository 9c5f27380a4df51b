"""Objects known only by how much they differ: the checks, the space and the metrics of algorithms on dissimilarities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data
from torch import Tensor

from softecm.distances.base import SemiMetric
from softecm.objective import blocks, check_distances
from softecm.spaces.base import Space
from softecm.spaces.real import LARGEST

ROUNDING = 1e-8  # differences of D and its transpose below this part of the largest dissimilarity are rounding
HASHES = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93)
BLOCK_ROWS = 256
#: Settings of Soft-ECM that algorithms on dissimilarities have no use for.
RELATIONAL: dict[str, Any] = {"device": "cpu", "dtype": "float64", "warm_start": False, "callback": None}


@dataclass(frozen=True)
class Dissimilarities(Space):
    """Objects described by their dissimilarities to n training objects.

    A prototype is one of these objects (a tensor ``(k,)`` of indices), or a weighted mean of them (``(k, n + 1)``: the
    weights, then half the weighted mean of the dissimilarities among them, as :class:`AffineDistance` reads it).
    """

    n_objects: int = 0
    names: tuple[str, ...] = ()
    dtype: torch.dtype = field(default=torch.float64)

    def check(self, estimator: Any, X: Any, *, reset: bool) -> NDArray[np.floating[Any]]:
        """A square matrix of dissimilarities to fit; afterwards one column for each training object."""
        if not reset:
            refuse_other_width(estimator, X)
        d: NDArray[np.floating[Any]] = validate_data(
            estimator, X, reset=reset, dtype=[np.float64, np.float32], accept_sparse=False, ensure_all_finite=False
        )
        if reset:
            refuse_not_square(d)
        refuse_not_finite(d)
        refuse_negative(d)
        return symmetric(d) if reset else d

    def fit(self, X: NDArray[np.floating[Any]], *, dtype: torch.dtype) -> Dissimilarities:
        """Remember the number of objects."""
        return replace(self, n_objects=len(X), dtype=dtype)

    def encode(self, X: NDArray[np.floating[Any]]) -> Tensor:
        """Dissimilarities as a tensor; shares memory with ``X`` where the type allows."""
        rows = np.ascontiguousarray(X, dtype=np.float32 if self.dtype == torch.float32 else np.float64)
        return torch.from_numpy(rows if rows.flags.writeable else rows.copy())

    def decode(self, prototypes: Tensor) -> NDArray[Any]:
        """Indices (k,) of the training objects that are prototypes, or weights (k, n) of all of them."""
        if prototypes.ndim == 1:
            return prototypes.cpu().numpy().astype(np.int64)
        return prototypes[:, :-1].cpu().numpy()

    def encode_prototypes(self, prototypes: Any) -> Tensor:
        """Prototypes given as indices of training objects."""
        return torch.as_tensor(check_indices("init", prototypes, self.n_objects), dtype=self.dtype)

    def starts(self, x: Tensor, rows: Tensor) -> Tensor:
        """The indices themselves."""
        return rows.to(self.dtype)

    @property
    def attributes(self) -> Sequence[str]:
        """Dissimilarities don't add up over attributes."""
        return []

    def keys(self, x: Tensor) -> NDArray[np.uint64]:
        """A number per object from the dissimilarities in its row, whatever their order and however often each occurs."""
        rows = np.asarray(x)
        keys = np.zeros(len(rows), dtype=np.uint64)
        for start in range(0, len(rows), BLOCK_ROWS):
            block = np.ascontiguousarray(rows[start : start + BLOCK_ROWS], dtype=np.float64)
            bits = (block + 0.0).view(np.uint64)
            mixed = (bits ^ (bits >> np.uint64(31))) * np.uint64(HASHES[0])
            for factor in HASHES:  # the largest of several hashes: the same for any order and multiplicity
                mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(factor)
                keys[start : start + BLOCK_ROWS] ^= mixed.max(1)
        return keys

    @classmethod
    def samples(cls, generator: torch.Generator, n: int) -> Tensor:
        """Distances between Gaussian points in the plane."""
        points = torch.randn((n, 2), generator=generator, dtype=torch.float64)
        return torch.cdist(points, points, compute_mode="donot_use_mm_for_euclid_dist")


@dataclass(frozen=True)
class Precomputed(SemiMetric):
    """The dissimilarity of an object to the training object that is the prototype: looked up, not computed."""

    name = "precomputed"
    space = Dissimilarities
    discrete = True

    def pairwise(self, x: Tensor, v: Tensor) -> Tensor:
        """Columns of the dissimilarities: (n, n_objects), (k,) -> (n, k)."""
        return x[:, v.long()]


@dataclass(frozen=True)
class AffineDistance(SemiMetric):
    r"""Squared distance to a weighted mean of the training objects, from dissimilarities alone (Gower's formula).

    For a point :math:`v = \sum_j a_j x_j` with weights that add up to 1,

    .. math:: \|x - v\|^2 = \sum_j a_j \|x - x_j\|^2 - \tfrac12 \sum_{jl} a_j a_l \|x_j - x_l\|^2.

    Attributes
    ----------
    squared : whether the dissimilarities are squares already
    shift : what was added to every squared dissimilarity between different objects
    floor : what a squared distance may not fall below; dissimilarities that are no distances between points can make it
    """

    squared: bool = False
    shift: float = 0.0
    floor: float = 0.0
    name = "affine"
    space = Dissimilarities

    def squares(self, x: Tensor) -> Tensor:
        """Squared dissimilarities, shifted. An object at 0 from a training object is that object: no shift there."""
        squares = x if self.squared else x.square()
        if self.shift == 0.0:
            return squares
        shifted = squares + self.shift
        first = squares.min(1)
        same = (first.values == 0).nonzero()[:, 0]
        shifted[same, first.indices[same]] = 0.0
        return shifted

    def pairwise(self, x: Tensor, v: Tensor) -> Tensor:
        """Squared distances (n, n_objects), (k, n_objects + 1) -> (n, k)."""
        return (self.squares(x) @ v[:, :-1].T - v[:, -1]).clamp_min(self.floor)


def refuse_not_square(d: NDArray[Any]) -> None:
    """Vectors given where dissimilarities are due."""
    if d.shape[0] != d.shape[1]:
        raise ValueError(
            f"X must be a square matrix of dissimilarities; got shape {d.shape}. Compute one with "
            "sklearn.metrics.pairwise_distances, or use SoftECM, which takes the objects themselves."
        )


def refuse_dissimilarities(rows: Any) -> None:
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


def refuse_other_width(estimator: Any, X: Any) -> None:
    """New objects must be compared to all training objects."""
    shape, n = tuple(getattr(X, "shape", ())), estimator.n_features_in_
    if len(shape) == 2 and shape[1] != n:
        raise ValueError(
            f"X has {shape[1]} features, but {type(estimator).__name__} is expecting {n} features as input: the "
            f"dissimilarities of the new objects to the {n} training objects, in their order. Compute them with "
            "sklearn.metrics.pairwise_distances(X_new, X_train)."
        )


def refuse_not_finite(d: NDArray[Any]) -> None:
    """NaN and infinity, with the place."""
    if np.isfinite(d.sum()) and np.isfinite(d.max()):
        return
    bad = ~np.isfinite(d)
    if bad.any():
        i, j = np.argwhere(bad)[0]
        what = "NaN" if np.isnan(d[i, j]) else "infinity"
        raise ValueError(
            f"Input X contains {what}: the dissimilarity of objects {i} and {j}. Every pair needs a finite number: leave "
            "out objects that can't be compared, or fill in an estimate."
        )


def refuse_negative(d: NDArray[Any]) -> None:
    """A dissimilarity below zero, or too large to be squared."""
    if d.min() < 0:
        i, j = np.unravel_index(int(d.argmin()), d.shape)
        raise ValueError(
            f"X must not hold a negative dissimilarity; got {d[i, j]:g} for objects {i} and {j}. Turn similarities s into "
            "dissimilarities, such as max(s) - s, or subtract what an object differs from itself."
        )
    if d.max() > LARGEST:
        raise ValueError(
            f"X must hold dissimilarities of at most {LARGEST:g}; got {d.max():g}. Divide them by a constant first."
        )


def symmetric(d: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """The matrix with rounding differences between its triangles removed; refused where they are more than that."""
    largest = float(d.max())
    diagonal = np.abs(np.diagonal(d))
    if diagonal.max() > ROUNDING * largest:
        i = int(diagonal.argmax())
        raise ValueError(
            f"X must be zero on its diagonal: an object does not differ from itself; got {diagonal[i]:g} for object {i}. "
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
            f"X must be symmetric; got {d[i, j]:g} from object {i} to {j} and {d[j, i]:g} back. Use (X + X.T) / 2, or the "
            "larger of the two."
        )
    if worst == 0.0 and exact:
        return d
    even = (d + d.T) / 2
    np.fill_diagonal(even, 0.0)
    return even


def check_indices(name: str, given: Any, n: int, count: int | None = None) -> NDArray[np.int64]:
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


def medoid(d: Tensor, weights: Tensor | None = None) -> Tensor:
    """The object with the least sum of dissimilarities to all, the barycentre among objects, as a prototype (1,)."""
    return (d.sum(0) if weights is None else weights.to(d.dtype) @ d).argmin()[None].to(d.dtype)


def all_pairs(metric: SemiMetric, space: Space, x: Any) -> Tensor:
    """The dissimilarities (n, n) of all encoded objects, each serving as a prototype in turn."""
    prototypes = space.starts(x, torch.arange(len(x)))
    parts = []
    with torch.no_grad():
        for rows in blocks(len(x), prototypes):
            d = metric.pairwise(x[rows], prototypes)
            check_distances(metric, d, len(x[rows]), len(prototypes), rows.start)
            parts.append(d.clamp_min(0.0).double())
    return torch.cat(parts)
