"""Euclidean distance between real vectors, smoothed at zero."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from softecm.distances.base import ClosedForm, SemiMetric, Sums
from softecm.distances.squared_euclidean import squared_differences, weighted_means
from softecm.files.expected import POSITIVE, number, rules

STEPS = 60  # iterations of reweighted means for a barycentre of a few points


@dataclass(frozen=True)
class Euclidean(SemiMetric):
    r"""Length of the difference, :math:`d(x, y) = \sqrt{\|x - y\|^2 + \epsilon^2} - \epsilon`.

    Less sensitive to outliers than its square: a barycentre is a geometric median. The small :math:`\epsilon` makes it
    differentiable at coinciding points, where it is still zero.

    Parameters
    ----------
    epsilon : float, default=1e-6
        Rounds the tip of the cone, in the unit of the data.

    Examples
    --------
    >>> import torch
    >>> Euclidean().pairwise(torch.zeros(1, 2), torch.tensor([[3.0, 4.0]])).round(decimals=4)
    tensor([[5.]])
    """

    epsilon: float = 1e-6
    SAVED = rules(epsilon=number(POSITIVE))
    name = "euclidean"
    degree = 1.0

    @property
    def closed_form(self) -> GeometricMedians:
        """A bound and geometric medians."""
        return GeometricMedians(self)

    def pairwise(self, x: Tensor, v: Tensor) -> Tensor:
        """Return the smoothed lengths of all differences."""
        return smoothed_root(squared_differences(x, v), self.epsilon)

    def paired(self, a: Tensor, b: Tensor) -> Tensor:
        """Return distances of rows of the same index."""
        return smoothed_root((a - b).square().sum(-1), self.epsilon)


@dataclass(frozen=True)
class GeometricMedians(ClosedForm):
    """Weiszfeld's bound, and barycentres by iterating its step."""

    metric: Euclidean

    def sums(self, x: Tensor, v: Tensor, weights: Tensor) -> Sums:
        """Return Weiszfeld's bound: a root is at most its tangent in the square."""
        w = weights / (2.0 * (squared_differences(x, v) + self.metric.epsilon**2).sqrt())
        return Sums(w.sum(0)[:, None], w.T @ x)

    def barycenters(self, x: Tensor, weights: Tensor) -> Tensor:
        """Return geometric medians by iteratively reweighted means; the midpoint for two points."""
        u = weighted_means(x, weights)
        if are_even_pairs(weights):
            return u  # every point between two is a minimizer: take the one of least squares
        for _ in range(STEPS):
            squares = (u[..., :, None, :] - x[..., None, :, :]).square().sum(-1)  # (..., k, n)
            w = weights / (squares + self.metric.epsilon**2).sqrt()
            u = w @ x / w.sum(-1, keepdim=True)
        return u


def smoothed_root(squares: Tensor, epsilon: float) -> Tensor:
    """Return (q + e^2)^(1/2) - e of squares q, without cancellation near zero."""
    return squares / ((squares + epsilon**2).sqrt() + epsilon)


def are_even_pairs(weights: Tensor) -> bool:
    """Whether each row weights at most two points, and equally."""
    heavy = weights > 0
    least = torch.where(heavy, weights, torch.inf).amin(-1)
    return bool(heavy.sum(-1).le(2).all()) and bool((weights.amax(-1) == least).all())
