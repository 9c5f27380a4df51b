"""Dissimilarities given as a matrix."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from softecm.distances.base import SemiMetric
from softecm.distances.blocks import distances_of
from softecm.spaces.base import Encoded, Space
from softecm.spaces.dissimilarities import Dissimilarities


@dataclass(frozen=True)
class Precomputed(SemiMetric):
    """The dissimilarity of an object to the training object that is the prototype: looked up, not computed."""

    name = "precomputed"
    space = Dissimilarities
    degree = 1.0  # a matrix usually holds distances, not their squares
    discrete = True

    def pairwise(self, x: Tensor, v: Tensor) -> Tensor:
        """Columns of the dissimilarities: (n, n_objects), (k,) -> (n, k)."""
        return x[:, v.long()]


def medoid(d: Tensor, weights: Tensor | None = None) -> Tensor:
    """The object with the least sum of dissimilarities to all, the barycentre among objects, as a prototype (1,)."""
    return (d.sum(0) if weights is None else weights.to(d.dtype) @ d).argmin()[None].to(d.dtype)


def all_pairs(metric: SemiMetric, space: Space, x: Encoded) -> Tensor:
    """The dissimilarities (n, n) of all encoded objects, each serving as a prototype in turn."""
    prototypes = space.starts(x, torch.arange(len(x)))
    return distances_of(metric, x, prototypes).double()
