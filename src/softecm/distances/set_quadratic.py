"""Distances to sets of clusters that each have a scale, a shape and a price of their own."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from softecm.distances.base import CompiledPasses, SemiMetric
from softecm.distances.squared_euclidean import fused_vector_masses


@dataclass(frozen=True)
class SetQuadratic(SemiMetric):
    r"""Distances to a fixed list of prototypes: :math:`d_A(x) = s_A (x - v_A)^\top S_A (x - v_A) + \sum_l o_{Al}`.

    What CCM, BCM, ECM+ and CECM come down to once fitted. Not a semi-metric between any two points: the number of a
    prototype decides how it measures.

    Attributes
    ----------
    scales : (f,)
    offsets : (f, p), what a set costs whatever the object, shared out over the attributes
    matrices : (f, p, p) or None for unit matrices
    """

    scales: Tensor
    offsets: Tensor
    matrices: Tensor | None = None

    name = "set-quadratic"

    @property
    def compiled(self) -> LiftedPasses | None:
        """Masses, where matrices don't matter."""
        return LiftedPasses(self) if self.matrices is None else None

    def pairwise(self, x: Tensor, v: Tensor) -> Tensor:
        """Distances (n, f) to all prototypes, in their order."""
        return self.terms(x, v).sum(-1)

    def terms(self, x: Tensor, v: Tensor) -> Tensor:
        """What each attribute adds; with matrices, a difference times what the matrix makes of all differences."""
        difference = x[:, None] - v  # (n, f, p)
        turned = difference
        if self.matrices is not None:
            turned = (difference.transpose(0, 1) @ self.matrices.to(difference)).transpose(0, 1)
        terms: Tensor = self.scales[:, None].to(difference) * difference * turned + self.offsets.to(difference)
        return terms


@dataclass(frozen=True)
class LiftedPasses(CompiledPasses):
    """The vectors' passes with one coordinate more: what a set costs is how high its prototype lies above the objects."""

    metric: SetQuadratic

    def masses(self, x: Tensor, v: Tensor, *, factors: Tensor, beta: float, delta2: float) -> Tensor | None:
        """On the CPU."""
        if x.is_cuda:
            return None
        scales, offsets = self.metric.scales, self.metric.offsets
        height = (offsets.sum(1, keepdim=True) / scales[:, None]).sqrt().to(v)
        lifted = torch.cat([x, x.new_zeros(len(x), 1)], 1)
        raised = torch.cat([v, height], 1)
        return fused_vector_masses(lifted, raised, factors=factors * scales, beta=beta, delta2=delta2)
