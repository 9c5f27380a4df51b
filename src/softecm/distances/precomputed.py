"""Dissimilarities given as a matrix."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from softecm.distances.base import SemiMetric, distances_of
from softecm.spaces.base import Encoded, Space
from softecm.spaces.dissimilarities import Dissimilarities

COMPARED = 50  # objects that are looked at
BROKEN = 0.01  # part of the pairs with a shorter way over a third that is overlooked
ROUNDING = 1e-6


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

    def scale_power(self, x: Tensor) -> float:
        """As they are where they are lengths, which keep the triangle inequality; else, as of squares, their roots."""
        return 1.0 if x.shape[0] == x.shape[1] and keeps_triangles(x) else 0.5


def keeps_triangles(d: Tensor) -> bool:
    """Whether a way over a third object is hardly ever shorter, among some objects of a matrix (n, n).

    Examples
    --------
    >>> points = torch.arange(4.0)
    >>> lengths = (points[:, None] - points).abs()
    >>> keeps_triangles(lengths), keeps_triangles(lengths.square())
    (True, False)
    """
    rows = torch.linspace(0, len(d) - 1, min(len(d), COMPARED), dtype=torch.float64).long()
    part = d[rows][:, rows].double()
    over = (part[:, :, None] + part).amin(1)
    return float((part > (1.0 + ROUNDING) * over).double().mean()) <= BROKEN


def medoid(d: Tensor, weights: Tensor | None = None) -> Tensor:
    """The object with the least sum of dissimilarities to all, the barycentre among objects, as a prototype (1,)."""
    return (d.sum(0) if weights is None else weights.to(d.dtype) @ d).argmin()[None].to(d.dtype)


def all_pairs(metric: SemiMetric, space: Space, x: Encoded) -> Tensor:
    """The dissimilarities (n, n) of all encoded objects, each serving as a prototype in turn."""
    prototypes = space.starts(x, torch.arange(len(x)))
    return distances_of(metric, x, prototypes).double()
