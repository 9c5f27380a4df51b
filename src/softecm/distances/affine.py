"""Squared distance to a weighted mean of objects, from dissimilarities alone."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from softecm.distances.base import SemiMetric
from softecm.spaces.dissimilarities import Dissimilarities


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
