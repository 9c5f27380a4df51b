"""Dissimilarity to the middle of several clusters that have medoids."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from softecm.belief.focal import FocalSets
from softecm.distances.base import SemiMetric
from softecm.spaces.dissimilarities import Dissimilarities


@dataclass(frozen=True)
class MedoidMiddles(SemiMetric):
    r"""Looked up for clusters; for a set, how far an object is from the middle of its clusters' medoids (Huygens).

    .. math:: d_{iA}^2 = \frac{1}{|A|} \sum_{k \in A} D_{ik}^2 - \frac{1}{2 |A|^2} \sum_{k, l \in A} D_{kl}^2

    No object need lie in the middle: one that stands for a set has a distance of 0 to itself, wherever it is, and would
    be "between" for that alone.

    Parameters
    ----------
    focal : the sets
    spreads : what is taken off for each set of several clusters
    """

    focal: FocalSets
    spreads: tuple[float, ...]
    name = "precomputed"
    space = Dissimilarities
    degree = 1.0
    discrete = True

    @staticmethod
    def of(d: Tensor, focal: FocalSets, clusters: Tensor) -> MedoidMiddles:
        """For dissimilarities (n, n) and the places of the clusters' medoids (c,)."""
        apart = d[clusters][:, clusters].double().square()
        shares = torch.tensor(focal.shares[focal.n_clusters :])
        return MedoidMiddles(focal, tuple((0.5 * ((shares @ apart) * shares).sum(1)).tolist()))

    def pairwise(self, x: Tensor, v: Tensor) -> Tensor:
        """From each object to each set, ``v`` being the medoids of the clusters, and of all sets or none: (n, f)."""
        c = self.focal.n_clusters
        clusters = x[:, v[:c].long()]
        return clusters if len(v) <= c else torch.cat([clusters, self.to_sets(clusters)], 1)

    def to_sets(self, clusters: Tensor) -> Tensor:
        """From the dissimilarities to the clusters' medoids (n, c)."""
        shares = torch.tensor(self.focal.shares[self.focal.n_clusters :], dtype=clusters.dtype)
        squares = clusters.square() @ shares.T - clusters.new_tensor(self.spreads)
        return squares.clamp_min(0.0).sqrt()
