r"""Weights of views that are found with the clusters: one closed-form step a round.

With the dispersions :math:`S_l` of the views held fixed, the objective depends on one row of weights as
:math:`\sum_l w_l^s S_l`. Three rules keep the weights from all going to zero, each with its minimiser:

- "sum": :math:`\sum_l w_l = 1` and an exponent :math:`s > 1`; :math:`w_l \propto S_l^{-1/(s-1)}`;
- "product": :math:`\prod_l w_l = 1`; :math:`w_l = (\prod_h S_h)^{1/L} / S_l`, whatever the units;
- "entropy": :math:`\sum_l w_l = 1` and :math:`T \sum_l w_l \ln w_l` in the objective; :math:`w_l \propto e^{-S_l / T}`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

SUM, PRODUCT, ENTROPY = "sum", "product", "entropy"
ALL, CLUSTER, SET = "all", "cluster", "set"


@dataclass(frozen=True)
class Weighing:
    """How views are weighed inside the loop.

    Attributes
    ----------
    rule : "sum", "product" or "entropy"
    of : "all" clusters alike, each "cluster", or each "set" for itself
    exponent : s of the rule "sum"
    temperature : T of the rule "entropy", as a part of the mean total spread of a view
    regular : this part of each view's total spread is added to its dispersion, so that a view that is fitted perfectly does
        not take all the weight
    """

    rule: str
    of: str = ALL
    exponent: float = 2.0
    temperature: float = 0.1
    regular: float = 1e-3

    def begin(self, rows: int, views: int, like: Tensor) -> Tensor:
        """Equal weights (rows, views)."""
        return like.new_full((rows, views), 1.0 if self.rule == PRODUCT else 1.0 / views)

    def best(self, dispersions: Tensor, temperature: Tensor | float) -> Tensor:
        """The weights (..., views) that minimise the objective for given dispersions (..., views).

        Examples
        --------
        >>> import torch
        >>> Weighing("product").best(torch.tensor([1.0, 4.0]), 0.0)
        tensor([2.0000, 0.5000])
        """
        if self.rule == ENTROPY:
            return torch.softmax(-dispersions / temperature, -1)
        logs = dispersions.clamp_min(torch.finfo(dispersions.dtype).tiny).log()
        if self.rule == PRODUCT:
            return (logs.mean(-1, keepdim=True) - logs).exp()
        free = dispersions == 0  # views without dispersion share all the weight
        weights = torch.softmax(-logs / (self.exponent - 1.0), -1)
        shared = free / free.sum(-1, keepdim=True).clamp_min(1)
        return torch.where(free.any(-1, keepdim=True), shared, weights)

    def effective(self, weights: Tensor) -> Tensor:
        """What distances are multiplied by."""
        raised: Tensor = weights**self.exponent
        return raised if self.rule == SUM else weights

    def price(self, weights: Tensor, temperature: Tensor | float) -> Tensor:
        """What the weights (..., rows, views) themselves cost (...)."""
        if self.rule != ENTROPY:
            return weights.new_zeros(weights.shape[:-2])
        each: Tensor = temperature * torch.special.xlogy(weights, weights)
        return each.sum((-2, -1))
