"""Squared Euclidean distance to combinations of sparse rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from softecm.distances.base import ClosedForm, SemiMetric, Sums
from softecm.spaces.combinations import Combinations, Whole
from softecm.spaces.sparse import SparseRows

TOGETHER = 16  # combinations that are written out at once
ROUNDING = 1e-14  # of the squared lengths: what is less than this is 0


@dataclass(frozen=True, eq=False)
class CombinedMeans(ClosedForm):
    """Means of combinations are combinations, with the objects' own weights."""

    metric: CombinedSquares
    quadratic = True

    def with_sums(self, x: Whole, v: Tensor) -> tuple[Tensor, Callable[[Tensor], Sums]]:
        """Weights are the sums."""
        return self.metric.pairwise(x, v), partial(self.sums, x, v)

    def sums(self, x: Whole, v: Tensor, weights: Tensor) -> Sums:
        """Weights are the sums."""
        return Sums(weights.sum(0)[:, None], weights.T)

    def barycenters(self, x: Tensor, weights: Tensor) -> Tensor:
        """Weighted means."""
        return weights @ x / weights.sum(1, keepdim=True)


@dataclass(frozen=True, eq=False)
class CombinedSquares(SemiMetric):
    r"""What ``sqeuclidean`` is to :math:`\sum_j a_j x_j`, given the weights :math:`a` of all rows.

    Starts of wide sparse rows are compared with it on a sample: a prototype is then as many numbers as the sample has rows.
    """

    rows: SparseRows
    name = "sqeuclidean"

    @property
    def closed_form(self) -> CombinedMeans:
        """Barycentres are means."""
        return CombinedMeans(self)

    def make_space(self) -> Combinations:
        """The rows' combinations."""
        return Combinations(self.rows)

    def pairwise(self, x: Whole | Tensor, v: Tensor) -> Tensor:
        """Of the rows, or of combinations, to combinations (k, n); a few of these are written out at a time."""
        if isinstance(x, Tensor):
            x = Whole(SparseRows.of_dense(self.rows.sums(x.T)))
        out = v.new_empty(len(x), len(v))
        for first in range(0, len(v), TOGETHER):
            part = slice(first, first + TOGETHER)
            points = self.rows.sums(v[part].T)
            lengths = x.rows.squares.to(v.dtype)[:, None] + torch.einsum("kp,kp->k", points, points)
            apart = lengths - 2.0 * x.rows.products(points)
            out[:, part] = torch.where(apart > ROUNDING * lengths, apart, 0.0)
        return out
