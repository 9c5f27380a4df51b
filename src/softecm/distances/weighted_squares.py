"""Squared differences of columns that count with weights of their own."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from softecm.distances.base import SemiMetric


@dataclass(frozen=True)
class WeightedSquares(SemiMetric):
    r"""Squared differences, each column's times its weight: :math:`d(x, v) = \sum_q w_q u_q (x_q - v_q)^2`.

    What WMVEC with weights of columns comes down to in one view once fitted.

    Attributes
    ----------
    weights : (p,), not negative
    units : (p,), not negative: what a squared difference of each column is multiplied by before
    """

    weights: Tensor
    units: Tensor

    name = "weighted-squares"

    def pairwise(self, x: Tensor, v: Tensor) -> Tensor:
        """All squared lengths, from differences."""
        return (x[:, None] - v).square() @ (self.weights * self.units).to(v)

    def terms(self, x: Tensor, v: Tensor) -> Tensor:
        """What each column adds."""
        found: Tensor = (x[:, None] - v).square() * (self.weights * self.units).to(v)
        return found
