"""Objects known only by their dissimilarities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm._checks import aligned
from softecm.files.expected import Misfit, count, listed, numeric_type, rules, text
from softecm.spaces import base
from softecm.spaces.raw import raw_data

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

HASHES = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93)


def _as_in_fit(X: Any, names: Sequence[str]) -> Any:
    """Order a data frame's columns like the objects of the fit, if it names these and no others."""
    columns = list(getattr(X, "columns", ()))
    return X[list(names)] if columns != list(names) and sorted(map(str, columns)) == sorted(names) else X


@dataclass(frozen=True)
class Dissimilarities(base.Space):
    """Objects described by their dissimilarities to n training objects.

    A prototype is one of these objects (a tensor ``(k,)`` of indices), or a weighted mean of them (``(k, n + 1)``: the
    weights, then half the weighted mean of the dissimilarities among them, as used by ``AffineDistance``).
    """

    n_objects: int = 0
    names: tuple[str, ...] = ()
    dtype: torch.dtype = field(default=torch.float64)
    SAVED = rules(n_objects=count(size="p"), names=listed(text()), dtype=numeric_type)

    def check_prototypes(self, prototypes: Tensor) -> None:
        """Check weights of all objects and a constant, or object indices."""
        base.refuse_odd_numbers(prototypes)
        if prototypes.ndim == 1:
            sound = (prototypes == prototypes.round()) & (prototypes >= 0) & (prototypes < self.n_objects)
            if not bool(sound.all()):
                raise Misfit("model_.prototypes should be numbers of objects")
        elif tuple(prototypes.shape[1:]) != (self.n_objects + 1,):
            raise Misfit("model_.prototypes should have a weight for every object")

    def check(self, estimator: BaseEstimator, X: object, *, reset: bool) -> NDArray[np.floating]:
        """Return a square matrix of dissimilarities in a fit; afterwards one column per training object."""
        from sklearn.utils.validation import check_array, validate_data

        raw = raw_data(X)
        raw.refuse_no_table()
        X = aligned(raw.value) if reset else _as_in_fit(raw.value, getattr(estimator, "feature_names_in_", ()))
        if not reset:
            base.refuse_other_width(estimator, X)
        kinds: dict[str, Any] = {"dtype": [np.float64, np.float32], "accept_sparse": False, "ensure_all_finite": False}
        if reset or hasattr(X, "columns"):
            d = raw.checked_by(validate_data, estimator, X, reset=reset, **kinds)
        else:  # columns are the training objects in order, and need no names
            d = raw.checked_by(check_array, X, estimator=estimator, **kinds)
            base.refuse_other_width(estimator, d)
        if reset:
            base.refuse_not_square(d)
        base.refuse_not_finite(d)
        base.refuse_negative(d)
        return base.symmetric(d, raw.ids()) if reset else d

    def fit(self, X: NDArray[np.floating], *, dtype: torch.dtype) -> Dissimilarities:
        """Store the number of objects."""
        return replace(self, n_objects=len(X), dtype=dtype)

    def named(self, names: Sequence[str]) -> Self:
        """Return a copy with the names of the columns."""
        return replace(self, names=tuple(map(str, names)))

    def encode(self, X: NDArray[np.floating]) -> Tensor:
        """Return dissimilarities as a tensor; shares memory with ``X`` if the type allows."""
        rows = np.ascontiguousarray(X, dtype=np.float32 if self.dtype == torch.float32 else np.float64)
        return torch.from_numpy(rows if rows.flags.writeable else rows.copy())

    def decode(self, prototypes: Tensor) -> NDArray[np.int64] | NDArray[np.floating]:
        """Return indices (k,) of the training objects that are prototypes, or weights (k, n) of all of them."""
        if prototypes.ndim == 1:
            return prototypes.cpu().numpy().astype(np.int64)
        return prototypes[:, :-1].cpu().numpy()

    def encode_prototypes(self, prototypes: object) -> Tensor:
        """Return prototypes from indices of training objects."""
        return torch.as_tensor(base.check_indices("init", prototypes, self.n_objects), dtype=self.dtype)

    def starts(self, x: Tensor, rows: Tensor) -> Tensor:
        """Return the indices."""
        return rows.to(self.dtype)

    @property
    def attributes(self) -> Sequence[str]:
        """Empty: dissimilarities are not sums over attributes."""
        return []

    def prototype_shape(self, prototypes: Tensor) -> tuple[int, ...]:
        """Return the number of training objects."""
        return (self.n_objects,)

    def keys(self, x: Tensor) -> NDArray[np.uint64]:
        """Return a hash of the dissimilarities in each row, whatever their order and multiplicity."""
        rows = np.asarray(x)
        keys = np.zeros(len(rows), dtype=np.uint64)
        for start in range(0, len(rows), base.BLOCK_ROWS):
            block = np.ascontiguousarray(rows[start : start + base.BLOCK_ROWS], dtype=np.float64)
            bits = (block + 0.0).view(np.uint64)
            hashed = (bits ^ (bits >> np.uint64(31))) * np.uint64(HASHES[0])
            for factor in HASHES:  # the largest of several hashes: the same for any order and multiplicity
                hashed = (hashed ^ (hashed >> np.uint64(29))) * np.uint64(factor)
                keys[start : start + base.BLOCK_ROWS] ^= hashed.max(1)
        return keys

    @classmethod
    def samples(cls, generator: torch.Generator, n: int) -> Tensor:
        """Return distances between Gaussian points in the plane."""
        points = torch.randn((n, 2), generator=generator, dtype=torch.float64)
        return torch.cdist(points, points, compute_mode="donot_use_mm_for_euclid_dist")
