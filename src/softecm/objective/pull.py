r"""Prior knowledge: earlier prototypes that attract those of a fit.

.. math:: \sum_A w_A\, d(s_A, v_A)

is the contribution to the prototype step of a pseudo-object at :math:`s_A` with weight :math:`w_A` that belongs to A
alone. If barycentres are means, this summarizes objects seen before exactly: :math:`w_A` is the sum of their weights
:math:`|A|^\alpha m^\beta`, :math:`s_A` their mean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from softecm.distances.base import SemiMetric
from softecm.optim import Evaluation, along


@dataclass(frozen=True)
class PrototypePull:
    """Points that attract the prototypes of the first k sets."""

    points: Tensor  # (k, *shape)
    weights: Tensor  # (k,), or any shape that broadcasts to (k, *shape) if barycentres are means

    def to(self, like: Tensor) -> PrototypePull:
        """Return a copy with the device and dtype of ``like``."""
        return PrototypePull(self.points.to(like), self.weights.to(like))

    def cost(self, metric: SemiMetric, prototypes: Tensor) -> tuple[Tensor, Tensor]:
        """Return the cost (runs,) and its derivative (runs, k, *shape) at prototypes (runs, f, *shape)."""
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
        """Return an evaluation of the objects with these points added."""
        cost, slope = self.cost(metric, prototypes)
        k = len(self.points)
        gradient = evaluation.gradient.clone()
        gradient[:, :k] += slope
        total = replace(evaluation, cost=evaluation.cost + cost, gradient=gradient)
        if not metric.closed_form.quadratic or evaluation.curvature is None or evaluation.moment is None:
            return total
        weights = self._along(self.points)
        moment = evaluation.moment.clone()
        curvature = evaluation.curvature + torch.zeros_like(weights[:1])  # the wider shape of both
        curvature[:, :k] += weights
        moment[:, :k] += weights * self.points
        return replace(total, curvature=curvature, moment=moment)

    def _along(self, points: Tensor) -> Tensor:
        """Return the weights, shaped to multiply points (..., k, *shape)."""
        if self.weights.ndim > 1:
            return self.weights
        return along(self.weights, points if points.ndim == self.points.ndim else points[0])
