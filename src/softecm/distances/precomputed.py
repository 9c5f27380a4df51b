"""Dissimilarities given as a matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from softecm.distances.base import SemiMetric, distances_of
from softecm.spaces.base import Encoded, Space
from softecm.spaces.dissimilarities import Dissimilarities

COMPARED = 50  # objects in the sample
BROKEN = 0.01  # tolerated share of pairs that violate the triangle inequality
ROUNDING = 1e-6
MANY = 0.05  # share of the pairs


@dataclass(frozen=True)
class Precomputed(SemiMetric):
    """The dissimilarity of an object to the training object that is the prototype, taken from a matrix."""

    name = "precomputed"
    space = Dissimilarities
    degree = 1.0  # a matrix usually holds distances, not their squares
    discrete = True

    def pairwise(self, x: Tensor, v: Tensor) -> Tensor:
        """Return columns of the dissimilarities: (n, n_objects), (k,) -> (n, k)."""
        return x[:, v.long()]

    def scale_power(self, x: Tensor) -> float:
        """Return 1 if the dissimilarities satisfy the triangle inequality, as lengths do, else 0.5, as for squares."""
        return 1.0 if x.shape[0] == x.shape[1] and keeps_triangles(x) else 0.5

    def unrelated(self, x: Tensor) -> float:
        """Return the largest dissimilarity, if many pairs have it: words without a common letter, for instance."""
        largest = x.max()
        return float(largest) if float((x >= (1.0 - ROUNDING) * largest).double().mean()) >= MANY else math.inf


def keeps_triangles(d: Tensor) -> bool:
    """Whether the triangle inequality holds in almost all triples of a sample of a matrix (n, n).

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
    """Return the object with the smallest sum of dissimilarities to all, as a prototype (1,)."""
    return (d.sum(0) if weights is None else weights.to(d.dtype) @ d).argmin()[None].to(d.dtype)


def all_pairs(metric: SemiMetric, space: Space, x: Encoded) -> Tensor:
    """Return the dissimilarities (n, n) of all encoded objects, each as a prototype."""
    return distances_of(metric, x, space.starts(x, torch.arange(len(x)))).double()
