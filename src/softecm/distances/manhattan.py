"""Manhattan distance between real vectors, smoothed at zero."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from softecm.distances.base import ClosedForm, SemiMetric, Sums
from softecm.distances.euclidean import STEPS, are_even_pairs, smoothed_root
from softecm.distances.squared_euclidean import weighted_means
from softecm.files.expected import POSITIVE, number, rules


@dataclass(frozen=True)
class Manhattan(SemiMetric):
    r"""Sum of absolute differences, each smoothed at zero: :math:`\sum_l \sqrt{(x_l - y_l)^2 + \epsilon^2} - \epsilon`.

    A barycentre is a columnwise median: outliers in a few columns don't move it.

    Parameters
    ----------
    epsilon : float, default=1e-6
        Smoothing of the kink at zero, in units of the data.

    Examples
    --------
    >>> import torch
    >>> Manhattan().pairwise(torch.zeros(1, 2), torch.tensor([[3.0, -4.0]])).round(decimals=4)
    tensor([[7.]])
    """

    epsilon: float = 1e-6
    SAVED = rules(epsilon=number(POSITIVE))
    name = "manhattan"
    degree = 1.0

    @property
    def closed_form(self) -> Medians:
        """A bound and medians."""
        return Medians(self)

    def pairwise(self, x: Tensor, v: Tensor) -> Tensor:
        """Return sums of absolute differences of all pairs."""
        return self.terms(x, v).sum(-1)

    def paired(self, a: Tensor, b: Tensor) -> Tensor:
        """Return sums of absolute differences of matching rows."""
        return self._absolute(a - b).sum(-1)

    def terms(self, x: Tensor, v: Tensor) -> Tensor:
        """Return absolute differences, one per column."""
        return self._absolute(x[:, None] - v)

    def _absolute(self, difference: Tensor) -> Tensor:
        return smoothed_root(difference.square(), self.epsilon)


@dataclass(frozen=True)
class Medians(ClosedForm):
    """Weiszfeld's bound by column, and barycentres by iterating its step."""

    metric: Manhattan

    def sums(self, x: Tensor, v: Tensor, weights: Tensor) -> Sums:
        """Return Weiszfeld's bound by column."""
        w = weights[..., None] / (2.0 * ((x[:, None] - v).square() + self.metric.epsilon**2).sqrt())  # (n, k, p)
        return Sums(w.sum(0), (w * x[:, None]).sum(0))

    def barycenters(self, x: Tensor, weights: Tensor) -> Tensor:
        """Return the midpoint of two equal weights, otherwise weighted medians."""
        u = weighted_means(x, weights)
        if are_even_pairs(weights):
            return u
        for _ in range(STEPS):
            distance = (u[..., :, None, :] - x[..., None, :, :]).square()  # (..., k, n, p)
            w = weights[..., None] / (distance + self.metric.epsilon**2).sqrt()
            u = (w * x[..., None, :, :]).sum(-2) / w.sum(-2)
        return u
