"""From a matrix of numbers to a fitted estimator, for algorithms whose sets measure in ways of their own."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm._engine import choose_device
from softecm.algorithms.base import check_weights, fitted_space, separation
from softecm.algorithms.constrained import with_linked
from softecm.algorithms.fitting import Settings, SoftECMFamily, choose, outlier_distance
from softecm.algorithms.links import Links
from softecm.algorithms.model import PrototypeModel
from softecm.algorithms.set_metric import SetQuadratic
from softecm.algorithms.solution import Solution
from softecm.distances.base import SemiMetric
from softecm.spaces.base import Space


class Found(NamedTuple):
    """Where the runs ended, and how the sets of each of them measure."""

    solution: Solution
    metrics: tuple[SemiMetric, ...]


class VectorFamily(SoftECMFamily):
    """Estimators on vectors whose fitted sets may measure each in its own way; a subclass says how they are found."""

    @abstractmethod
    def _solve(
        self,
        chosen: Settings,
        x: Tensor,
        start: Tensor,
        delta: float | None,
        weights: Tensor | None,
        links: Links | None,
    ) -> Found:
        """Run the algorithm from the starting centres (runs, c, p)."""

    def _unit(self, x: Tensor, counts: NDArray[np.float64]) -> Tensor | None:
        """The matrix (p, p) that measures the whole data's spread; None for the unit matrix."""
        return None

    def _fit(self, chosen: Settings, metric: SemiMetric, space: Space, raw: Any, sample_weight: Any) -> None:
        space = fitted_space(space, raw, getattr(self, "feature_names_in_", None), chosen.dtype)
        x: Tensor = space.encode(raw)
        if len(x) < chosen.n_clusters:
            raise ValueError(
                f"n_clusters must be at most the number of objects; got n_clusters={chosen.n_clusters} for "
                f"n_samples={len(x)}. Ask for fewer clusters or give more rows."
            )
        counts = np.ones(len(x)) if sample_weight is None else check_weights(sample_weight, raw)
        start = self._start(chosen, metric, space, x, counts)[:, : chosen.n_clusters]
        unit = self._unit(x, counts)
        from_center = _from_mean(x, counts, unit)
        spread = float(np.average(from_center, weights=counts))
        self.delta_ = outlier_distance(chosen.delta, from_center, counts)
        links = None if chosen.pairs is None else chosen.pairs.links(chosen.focal, counts, spread, chosen.dtype)
        device = choose_device(chosen.device, float(x.numel()) * len(chosen.focal) * chosen.n_init)
        weights = None if sample_weight is None else torch.as_tensor(counts, dtype=chosen.dtype, device=device)
        solution, metrics = self._solve(chosen, x.to(device), start.to(device), self.delta_, weights, links)
        c = chosen.n_clusters
        apart = np.array(
            [self._apart(m, v[:c].cpu(), unit, spread) for m, v in zip(metrics, solution.prototypes, strict=True)]
        )
        best = choose(solution.objective, apart)
        self.model_ = PrototypeModel(
            metrics[best],
            space,
            chosen.focal,
            solution.prototypes[best].cpu(),
            chosen.alpha,
            chosen.beta,
            self.delta_,
            0.0,
        )
        self._store(with_linked(self.model_.partition(x), links, solution.masses, best))
        self._store_runs(solution, best, apart)

    @staticmethod
    def _apart(metric: SemiMetric, centers: Tensor, unit: Tensor | None, spread: float) -> float:
        """Least distance between two clusters over the data's spread; clusters of different shape are apart too."""
        difference = (centers[:, None] - centers).double()
        turned = difference if unit is None else difference @ unit
        apart = (difference * turned).sum(-1)
        matrices = getattr(metric, "matrices", None)
        if matrices is not None:
            s = matrices[: len(centers)].double()
            # tr(S_k S_l^-1) / p is at least 1 for matrices of determinant 1, and 1 only where they are equal.
            ratio = (s[:, None] @ torch.linalg.inv(s)).diagonal(dim1=-2, dim2=-1).mean(-1)
            apart = apart + spread * (ratio - 1.0).clamp_min(0.0)
        return separation(apart.numpy(), spread)


def on_cpu(metric: SetQuadratic) -> SetQuadratic:
    """The same with its tensors on the CPU."""
    matrices = None if metric.matrices is None else metric.matrices.cpu()
    return replace(metric, scales=metric.scales.cpu(), offsets=metric.offsets.cpu(), matrices=matrices)


def _from_mean(x: Tensor, counts: NDArray[np.float64], unit: Tensor | None) -> NDArray[np.float64]:
    """Squared distances (n,) of all objects to their mean."""
    mean = torch.as_tensor(np.average(x.numpy(), axis=0, weights=counts))
    difference = x.double() - mean
    turned = difference if unit is None else difference @ unit
    squared: NDArray[np.float64] = (difference * turned).sum(1).clamp_min(0.0).numpy()
    return squared
