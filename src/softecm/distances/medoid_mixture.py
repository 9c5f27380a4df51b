"""Dissimilarity to a set of clusters that have medoids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from softecm.belief.focal import FocalSets
from softecm.distances.base import SemiMetric
from softecm.spaces.base import Space


@dataclass(frozen=True)
class MedoidMixture(SemiMetric):
    r"""ECMdd's dissimilarity: to a set, that to its own medoid mixed with those to its clusters' medoids.

    .. math:: d_{iA} = \frac{\tau(i, \nu_A) + \frac{\gamma}{|A|} \sum_{k \in A} \tau(i, \nu_k)}{1 + \gamma}
    """

    base: SemiMetric
    focal: FocalSets
    gamma: float
    name = "ecmdd"

    @property
    def degree(self) -> float:  # type: ignore[override]
        """That of the dissimilarity it mixes."""
        return self.base.degree

    @property
    def discrete(self) -> bool:  # type: ignore[override]
        """As the dissimilarity it mixes."""
        return self.base.discrete

    def scale_power(self, x: Any) -> float:
        """That of the dissimilarity it mixes."""
        return self.base.scale_power(x)

    def make_space(self) -> Space:
        """The space of the dissimilarity it mixes."""
        return self.base.make_space()

    def pairwise(self, x: Tensor, v: Tensor) -> Tensor:
        """From each object to each set, ``v`` being the medoids of all sets: (n), (f, *shape) -> (n, f)."""
        return mixed_with_clusters(self.base.pairwise(x, v), self.focal, self.gamma)


def mixed_with_clusters(to_medoids: Tensor, focal: FocalSets, gamma: float) -> Tensor:
    """Dissimilarities to sets from those to their medoids, (..., f) -> (..., f)."""
    c = focal.n_clusters
    share_of = torch.tensor(focal.shares[c:], dtype=to_medoids.dtype)
    clusters, sets = to_medoids[..., :c], to_medoids[..., c:]
    return torch.cat([clusters, (sets + gamma * clusters @ share_of.T) / (1.0 + gamma)], -1)
