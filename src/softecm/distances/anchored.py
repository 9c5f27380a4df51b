"""Distances to prototypes that also count how far an object is from earlier ones."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from softecm.distances.base import CompiledPasses, SemiMetric
from softecm.distances.squared_euclidean import fused_vector_masses


@dataclass(frozen=True)
class Anchored(SemiMetric):
    r"""Distances to a fixed list of prototypes: :math:`d_A(x) = \|x - v_A\|^2 + w \|x - s_A\|^2`.

    What TECM with matched clusters comes down to once fitted. Not a semi-metric between any two points: the number of a
    prototype decides which anchor goes with it.

    Attributes
    ----------
    anchors : (f, p), the points :math:`s_A`
    weight : float, at least 0
    """

    anchors: Tensor
    weight: float

    name = "anchored"

    @property
    def compiled(self) -> AnchoredPasses:
        """Masses: rows are written twice, the second time scaled."""
        return AnchoredPasses(self)

    def pairwise(self, x: Tensor, v: Tensor) -> Tensor:
        """Distances (n, f) to all prototypes, in their order."""
        return self.terms(x, v).sum(-1)

    def terms(self, x: Tensor, v: Tensor) -> Tensor:
        """What each attribute adds."""
        found: Tensor = (x[:, None] - v).square() + self.weight * (x[:, None] - self.anchors.to(v)).square()
        return found


@dataclass(frozen=True)
class AnchoredPasses(CompiledPasses):
    """The vectors' passes over rows twice as long."""

    metric: Anchored

    def masses(self, x: Tensor, v: Tensor, *, factors: Tensor, beta: float, delta2: float) -> Tensor | None:
        """On the CPU."""
        if x.is_cuda:
            return None
        weight = self.metric.weight
        rows = (twice(x, x, weight), twice(v, self.metric.anchors.to(v), weight))
        return fused_vector_masses(*rows, factors=factors, beta=beta, delta2=delta2)


def twice(rows: Tensor, others: Tensor, weight: float) -> Tensor:
    """Rows (..., p) beside others, whose squared differences then count ``weight`` times: (..., 2p)."""
    return torch.cat([rows, weight**0.5 * others], -1).contiguous()
