"""Squared Mahalanobis distance between real vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm.belief import FocalSets
from softecm.distances import base
from softecm.distances.squared_euclidean import RowPasses, squared_differences, weighted_means, weighted_sums
from softecm.files.expected import array, maybe, rules
from softecm.spaces.base import Space
from softecm.spaces.raw import as_numbers


@dataclass(frozen=True, eq=False)
class Mahalanobis(base.SemiMetric):
    r"""Squared length in units of the data's own spread, :math:`(x - y)^\top \Sigma^{-1} (x - y)`.

    Correlated and differently scaled columns count once. The covariance is that of all objects unless given; for one
    matrix per cluster, see :class:`softecm.ECMPlus`.

    Parameters
    ----------
    covariance : array of shape (p, p), optional
        Positive definite. By default estimated from the data given to ``fit``.

    Examples
    --------
    >>> import torch
    >>> Mahalanobis([[4.0, 0.0], [0.0, 1.0]]).pairwise(torch.zeros(1, 2), torch.tensor([[2.0, 1.0]]))
    tensor([[2.]], dtype=torch.float64)
    """

    covariance: NDArray[np.float64] | Sequence[Sequence[float]] | None = None
    name = "mahalanobis"
    SAVED = rules(covariance=maybe(array("p p")))

    def check_fitted(self, space: Space, focal: FocalSets) -> None:
        """Raise ``Misfit`` without a covariance."""
        super().check_fitted(space, focal)
        if self.covariance is None:
            raise base.not_learned(self)

    def __post_init__(self) -> None:
        if self.covariance is None:
            return
        matrix = as_numbers(self.covariance, "covariance")
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.allclose(matrix, matrix.T):
            raise ValueError(
                f"covariance must be a symmetric (p, p) matrix; got shape {matrix.shape}. np.cov(X, rowvar=False) is one."
            )
        if np.linalg.eigvalsh(matrix)[0] <= 0:
            raise ValueError(
                f"covariance must be positive definite; got the eigenvalue {np.linalg.eigvalsh(matrix)[0]:g}. Drop "
                "columns that are sums of others, or add a little to its diagonal."
            )
        object.__setattr__(self, "covariance", matrix)

    @cached_property
    def _factor(self) -> NDArray[np.float64]:
        """Cached, as every iteration needs it."""
        if self.covariance is None:
            raise ValueError("metric Mahalanobis() needs a covariance before use: fit an estimator, or give one.")
        return np.linalg.cholesky(np.linalg.inv(self.covariance))

    def whitening(self, like: Tensor) -> Tensor:
        """Return a matrix L with L L' the inverse covariance: distances are Euclidean between rows times L."""
        return torch.as_tensor(self._factor, device=like.device)

    def white(self, x: Tensor) -> Tensor:
        """Transform rows to uncorrelated columns of unit variance."""
        return x.double() @ self.whitening(x)

    @property
    def closed_form(self) -> OneMatrix:
        """Barycentres are means, in the product of the inverse covariance."""
        return OneMatrix(self)

    @property
    def compiled(self) -> WhitenedPasses:
        """Passes over vectors, applied to whitened rows."""
        return WhitenedPasses(self)

    @property
    def learner(self) -> CovarianceLearner:
        """Learn the covariance."""
        return CovarianceLearner(self)

    def pairwise(self, x: Tensor, v: Tensor) -> Tensor:
        """Return squared differences in whitened columns."""
        return squared_differences(self.white(x), self.white(v))

    def terms(self, x: Tensor, v: Tensor) -> Tensor:
        """Return each column's difference times the product of inverse covariance and differences; may be negative."""
        difference, factor = (x[:, None] - v).double(), self.whitening(x)
        return difference * (difference @ factor @ factor.T)

    def paired(self, a: Tensor, b: Tensor) -> Tensor:
        """Return the distances of rows of the same index."""
        return self.white(a - b).square().sum(-1)


LEAST = 1e-280  # variances below have no finite inverse and count as 0


@dataclass(frozen=True)
class OneMatrix(base.ClosedForm):
    """One matrix for all pairs cancels in the prototype step."""

    metric: Mahalanobis
    quadratic = True

    def sums(self, x: Tensor, v: Tensor, weights: Tensor) -> base.Sums:
        """Return unweighted sums: ``tensor`` applies the matrix."""
        return weighted_sums(x, weights.to(x.dtype))

    def tensor(self, u: Tensor) -> Tensor:
        """Apply the inverse covariance."""
        half = self.metric.whitening(u)
        return (u.double() @ half @ half.T).to(u.dtype)

    barycenters = staticmethod(weighted_means)


@dataclass(frozen=True)
class WhitenedPasses(RowPasses[Tensor]):
    """The compiled passes over whitened columns."""

    metric: Mahalanobis

    def rows(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        """Whiten."""
        return self.metric.white(x)

    def points(self, v: Tensor) -> Tensor:
        """Whiten."""
        return self.metric.white(v)

    def back(self, fused: base.FusedRound, v: Tensor) -> base.FusedRound:
        """Apply the inverse of the whitening."""
        inverse = torch.linalg.inv(self.metric.whitening(v))
        return fused._replace(moment=(fused.moment @ inverse).to(v.dtype), curvature=fused.curvature.to(v.dtype))


@dataclass(frozen=True)
class CovarianceLearner(base.Learner):
    """Estimates the covariance unless given; directions of no variance get the largest variance."""

    metric: Mahalanobis

    def fitted(self, x: Tensor, weights: Tensor | None) -> Mahalanobis:
        """Learn from all objects."""
        if self.metric.covariance is not None:
            return self._given(x.shape[1])
        rows = x.double().numpy()
        return self._learned(np.cov(rows, rowvar=False, aweights=None if weights is None else weights.numpy(), ddof=0))

    def describe(self, x: Tensor, weights: Tensor | None) -> base.Moments:
        """Return mean and scatter of a block."""
        return base.Moments.of(x.double().numpy(), None if weights is None else weights.double().numpy())

    def fitted_to(self, description: base.Moments) -> Mahalanobis:
        """Return the metric with the covariance of all blocks, unless given."""
        if self.metric.covariance is not None:
            return self._given(len(description.mean))
        return self._learned(description.scatter / description.weight)

    def _given(self, columns: int) -> Mahalanobis:
        rows = len(np.asarray(self.metric.covariance))
        if rows != columns:
            raise ValueError(
                f"covariance must have one row per column of X, {columns}; got {rows}. Pass the "
                "covariance of the same columns."
            )
        return self.metric

    def _learned(self, covariance: NDArray[np.float64]) -> Mahalanobis:
        values, vectors = np.linalg.eigh(np.atleast_2d(covariance))
        largest = float(values[-1]) if values[-1] > LEAST else 1.0
        values = np.where(values > 1e-10 * largest, values, largest)  # directions without variance
        return replace(self.metric, covariance=(vectors * values) @ vectors.T)
