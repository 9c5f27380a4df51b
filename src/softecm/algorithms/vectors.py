"""What algorithms on vectors share whose sets measure in ways of their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm.distances.base import SemiMetric
from softecm.fit.algorithm import Algorithm
from softecm.fit.outcome import Solution
from softecm.fit.prepare import Objects
from softecm.spaces.base import Space


@dataclass(frozen=True)
class VectorAlgorithm(Algorithm[Tensor]):
    """Clusters with centres in a vector space, each of which may measure with a matrix of its own."""

    def unit(self, x: Tensor, weights: Tensor | None) -> Tensor | None:
        """The matrix (p, p) that measures the whole data's spread; None for the unit matrix."""
        return None

    def from_center(
        self, metric: SemiMetric, space: Space, x: Tensor, weights: Tensor | None, device: torch.device
    ) -> NDArray[np.float64]:
        """Squared distances (n,) to the mean of all objects, in the data's own unit."""
        rows = x.cpu()
        counts = None if weights is None else weights.double().cpu().numpy()
        mean = torch.as_tensor(np.average(rows.numpy(), axis=0, weights=counts))
        difference = rows.double() - mean
        return (difference * _turned(difference, self.unit(x, weights))).sum(1).clamp_min(0.0).numpy()

    def between(self, objects: Objects[Tensor], solution: Solution, n_clusters: int) -> list[NDArray[np.float64]]:
        """Squared distances of the centres in the data's own unit; clusters of different shape are apart, too."""
        unit = self.unit(objects.x, objects.weights)
        matrices = solution.found.get("matrices")
        tables = []
        for run in range(len(solution.objective)):
            centers = self.prototypes_of(objects, solution, run)[:n_clusters]
            difference = (centers[:, None] - centers).double()
            apart = (difference * _turned(difference, unit)).sum(-1)
            if matrices is not None:
                apart = apart + objects.spread * _unlikeness(matrices[run].double().cpu())
            tables.append(apart.numpy())
        return tables


def _turned(difference: Tensor, unit: Tensor | None) -> Tensor:
    return difference if unit is None else difference @ unit


def _unlikeness(matrices: Tensor) -> Tensor:
    """How different the shapes of clusters are: 0 where their matrices (c, p, p), of determinant 1, are equal."""
    # tr(S_k S_l^-1) / p is at least 1 for matrices of determinant 1, and 1 only where they are equal.
    ratio = (matrices[:, None] @ torch.linalg.inv(matrices)).diagonal(dim1=-2, dim2=-1).mean(-1)
    apart: Tensor = (ratio - 1.0).clamp_min(0.0)
    return apart
