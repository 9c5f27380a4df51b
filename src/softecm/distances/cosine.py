"""Cosine distance between real vectors."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from softecm._text import place
from softecm.distances.base import ClosedForm, SemiMetric
from softecm.spaces.sparse import SparseRows, in_full

TINY = 1e-12  # length below which a vector has no direction
ROUNDING = 1e-15  # smaller distances are 0


def unit(x: Tensor) -> Tensor:
    """Return vectors of length 1 in the same directions."""
    length: Tensor = x.norm(dim=-1, keepdim=True)
    return x / length.clamp_min(TINY)


@dataclass(frozen=True)
class MeanDirections(ClosedForm):
    """Barycentres of directions."""

    def barycenters(self, x: Tensor, weights: Tensor) -> Tensor:
        """Return the direction of the weighted sum of directions."""
        return unit(weights @ unit(x))

    def to_means(self, distances: Tensor, between: Tensor, weights: Tensor) -> Tensor:
        """Compute from cosines: those with a sum of directions add up, divided by the length of that sum."""
        length = (((weights @ (1.0 - between)) * weights).sum(1)).clamp_min(0.0).sqrt()
        # Directions that cancel leave the zero vector, at distance 1/2.
        cosines = torch.where(length > TINY, ((1.0 - distances) @ weights.T) / length.clamp_min(TINY), 0.5)
        return (1.0 - cosines).clamp_min(0.0)


@dataclass(frozen=True)
class Cosine(SemiMetric):
    r"""Half the squared distance between directions, :math:`d(x, y) = 1 - \cos(x, y)`.

    Ignores length: suitable for texts of different length or spectra of different intensity. A row of zeros has no
    direction and raises an error.

    Examples
    --------
    >>> import torch
    >>> Cosine().pairwise(torch.tensor([[2.0, 0.0]]), torch.tensor([[1.0, 0.0], [0.0, 3.0], [-1.0, 0.0]]))
    tensor([[0., 1., 2.]])
    """

    name = "cosine"
    sparse = True
    closed_form = MeanDirections()

    def unrelated(self, x: Tensor | SparseRows) -> float:
        """Return 1, the distance of directions at a right angle."""
        return 1.0

    def pairwise(self, x: Tensor | SparseRows, v: Tensor) -> Tensor:
        """Return distances from differences of directions, exact if two directions agree."""
        if isinstance(x, SparseRows):
            self._check_lengths(x.squares.sqrt())
            towards = unit(v)
            length = 1.0 + towards.square().sum(-1)  # 2, or 1 without a direction
            d = 0.5 * length - x.products(towards) / x.squares.to(v.dtype).sqrt()[:, None]
            return torch.where(d > ROUNDING, d, 0.0)
        self._check_lengths(x.detach().norm(dim=-1))
        return 0.5 * (unit(x)[:, None] - unit(v)).square().sum(-1)

    def paired(self, a: Tensor, b: Tensor) -> Tensor:
        """Distances of matching rows."""
        return 0.5 * (unit(a) - unit(b)).square().sum(-1)

    def terms(self, x: Tensor | SparseRows, v: Tensor) -> Tensor:
        """Return each column's contribution."""
        return 0.5 * (unit(in_full(x, len(v)))[:, None] - unit(v)).square()

    @staticmethod
    def _check_lengths(lengths: Tensor) -> None:
        empty = lengths < TINY
        if bool(empty.any()):
            raise ValueError(
                "metric 'cosine' needs rows that are not zero; got zeros in "
                f"{place('row', int(empty.nonzero()[0, 0]))}. Leave such rows out, or use 'sqeuclidean'."
            )
