r"""What was known before: prototypes that pull at those of a fit.

.. math:: \sum_A w_A\, d(s_A, v_A)

is what a pseudo-object at :math:`s_A` adds to the prototype step if it counts :math:`w_A` times and belongs to A alone.
Where barycentres are means, objects that were seen before and are gone leave exactly that: :math:`w_A` is the sum of their
weights :math:`|A|^\alpha m^\beta`, :math:`s_A` their mean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from softecm.distances.base import SemiMetric
from softecm.optim import Evaluation, along


@dataclass(frozen=True)
class PrototypePull:
    """Points that pull at the prototypes of the first k sets."""

    points: Tensor  # (k, *shape)
    weights: Tensor  # (k,), or anything that broadcasts to (k, *shape) where barycentres are means

    def to(self, like: Tensor) -> PrototypePull:
        """The same on another device, as numbers of another kind."""
        return PrototypePull(self.points.to(like), self.weights.to(like))

    def cost(self, metric: SemiMetric, prototypes: Tensor) -> tuple[Tensor, Tensor]:
        """The price (runs,) and its derivative (runs, k, *shape) at prototypes (runs, f, *shape)."""
        own = prototypes[:, : len(self.points)].detach()
        if metric.closed_form.quadratic:
            differences = own - self.points
            pull = metric.closed_form.tensor(self._along(differences) * differences)
            return (pull * differences).flatten(1).sum(1), 2.0 * pull
        leaf = own.requires_grad_()
        with torch.enable_grad():
            ends = self.points.expand_as(leaf).flatten(0, 1), leaf.flatten(0, 1)
            cost = (metric.paired(*ends).reshape(len(leaf), -1) * self.weights).sum(1)
        return cost.detach(), torch.autograd.grad(cost.sum(), leaf)[0]

    def added(self, metric: SemiMetric, evaluation: Evaluation, prototypes: Tensor) -> Evaluation:
        """An evaluation of the objects, and of these."""
        cost, slope = self.cost(metric, prototypes)
        k = len(self.points)
        gradient = evaluation.gradient.clone()
        gradient[:, :k] += slope
        total = replace(evaluation, cost=evaluation.cost + cost, gradient=gradient)
        if not metric.closed_form.quadratic or evaluation.curvature is None or evaluation.moment is None:
            return total
        weights = self._along(self.points)
        moment = evaluation.moment.clone()
        curvature = evaluation.curvature + torch.zeros_like(weights[:1])  # as wide as the wider of both
        curvature[:, :k] += weights
        moment[:, :k] += weights * self.points
        return replace(total, curvature=curvature, moment=moment)

    def _along(self, points: Tensor) -> Tensor:
        """The weights, shaped to multiply points (..., k, *shape)."""
        if self.weights.ndim > 1:
            return self.weights
        return along(self.weights, points if points.ndim == self.points.ndim else points[0])
