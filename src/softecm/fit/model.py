"""A fitted prototype model: what prediction needs, and nothing of how it was found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm.belief import CredalPartition, FocalSets
from softecm.belief.checks import sound
from softecm.distances.base import SemiMetric
from softecm.objective import MassCost, blocks, check_distances, mass_cost, masses_of, share
from softecm.spaces.base import Space


@dataclass(frozen=True)
class PrototypeModel:
    """Prototypes in a space, the metric that measures there, and the prices of a mass (CPU tensors)."""

    metric: SemiMetric
    space: Space
    focal: FocalSets
    prototypes: Tensor  # (f, *shape)
    alpha: float
    beta: float
    delta: float | None
    tie: float  # the price of the constraint on the sets' prototypes, per training object
    close: float | None = None  # the delta the clusters were found with, where it is not that of the masses

    def cost(self) -> MassCost:
        """Prices of a batch of one run."""
        return mass_cost(self.focal, self.alpha, self.beta, self.delta, like=self.prototypes)

    def masses(self, x: Any) -> NDArray[np.float64]:
        """Masses (n, f + 1) of encoded objects: one mass update (eq. 7)."""
        if not torch.isfinite(self.prototypes).all():
            raise ValueError("the model's prototypes must be finite numbers; some are not. Fit it again.")
        with torch.no_grad():
            return masses_of(self.metric, x, self.prototypes, self.cost()).double().numpy()

    def to(self, device: torch.device) -> PrototypeModel:
        """The same with its prototypes on a device; its metric is taken to follow them."""
        return replace(self, prototypes=self.prototypes.to(device))

    def measured(self, x: Any) -> tuple[CredalPartition, NDArray[np.float64]]:
        """The partition of encoded objects and their distances (n, f), from one pass where the prototypes are."""
        cost, parts, masses = self.cost(), [], []
        with torch.no_grad():
            for rows in blocks(len(x), self.prototypes):
                d = self.metric.pairwise(x[rows], self.prototypes).clamp_min(0.0)
                parts.append(d.double().cpu())
                masses.append(share(d, cost.factors[0], cost.beta[0], cost.delta2[0]).masses.double().cpu())
        return CredalPartition._trusted(sound(torch.cat(masses).numpy()), self.focal), torch.cat(parts).numpy()

    def partition(self, x: Any) -> CredalPartition:
        """The credal partition of encoded objects."""
        return CredalPartition._trusted(sound(self.masses(x)), self.focal)  # ours to keep: no copy

    def distances(self, x: Any) -> NDArray[np.floating[Any]]:
        """Distances (n, f) of encoded objects to the prototypes."""
        parts = []
        with torch.no_grad():
            for rows in blocks(len(x), self.prototypes):
                block = x[rows]
                d = self.metric.pairwise(block, self.prototypes)
                check_distances(self.metric, d, len(block), len(self.prototypes), rows.start)
                parts.append(d.clamp_min(0.0))
        return torch.cat(parts).numpy()

    def mean_cost(self, x: Any, weights: NDArray[np.float64] | None) -> float:
        """The objective per object at these prototypes."""
        cost = self.cost()
        d = torch.from_numpy(np.asarray(self.distances(x), dtype=np.float64))
        values = share(d, cost.factors[0].double(), cost.beta[0].double(), cost.delta2[0].double()).cost.numpy()
        return float(np.average(values, weights=weights)) + self.tie

    def terms(self, x: Any) -> NDArray[np.floating[Any]]:
        """What each attribute adds to each distance: (n, f, attributes)."""
        with torch.no_grad():
            terms = self.metric.terms(x, self.prototypes)
        if terms is None:
            name = self.metric.name or type(self.metric).__name__
            raise ValueError(
                f"metric must add up over attributes for explain; got {name}, which does not. Use transform for its "
                "distances, or a metric such as 'sqeuclidean', 'manhattan', 'hamming', 'mixed' or 'softdtw'."
            )
        return terms.numpy()
