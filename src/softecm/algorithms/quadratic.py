r"""ECM's iteration with extra terms: cluster centres in a vector space, sets at the mean of their clusters' centres.

CCM, BCM and TECM minimize :math:`\sum_i \sum_A m_i(A)^\beta \sigma_A \big(\|x_i - \bar v_A\|^2 + o_{iA}\big)` and, in
TECM, a term in the centres. The cost besides the distance, :math:`o_{iA}`, becomes a squared difference in additional
coordinates of objects and sets, so that ECM's compiled iteration applies; the centres then solve a linear system.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm.belief.focal import FocalSets
from softecm.distances.base import SemiMetric
from softecm.distances.estimator_metrics import SetQuadratic
from softecm.distances.squared_euclidean import SquaredEuclidean
from softecm.fit.algorithm import Algorithm, RunBatch
from softecm.fit.loop import Solution
from softecm.fit.prepare import Objects
from softecm.fit.settings import Settings
from softecm.objective.equations import MassCost, Previous, evaluate
from softecm.objective.problem import stationary
from softecm.optim import Batch, Evaluation, PlainProblem, State


@dataclass(frozen=True)
class VectorAlgorithm(Algorithm[Tensor]):
    """Clusters with centres in a vector space, optionally with a matrix per cluster."""

    def unit(self, x: Tensor, weights: Tensor | None) -> Tensor | None:
        """Return the matrix (p, p) in whose metric the whole data are measured; None for the unit matrix."""
        return None

    def from_center(self, objects: Objects[Tensor]) -> NDArray[np.float64]:
        """Return squared distances (n,) to the mean of all objects, in the metric of ``unit``."""
        weights, rows = objects.weights, objects.x.cpu()
        counts = None if weights is None else weights.double().cpu().numpy()
        mean = torch.as_tensor(np.average(rows.numpy(), axis=0, weights=counts))
        difference = rows.double() - mean
        return (difference * _turned(difference, self.unit(objects.x, weights))).sum(1).clamp_min(0.0).numpy()

    def between(self, objects: Objects[Tensor], solution: Solution, n_clusters: int) -> list[NDArray[np.float64]]:
        """Return squared distances between centres in the metric of ``unit``, plus the difference of their shapes."""
        unit = self.unit(objects.x, objects.weights)
        matrices = solution.extras.get("matrices")
        tables = []
        for run in range(len(solution.objective)):
            centers = self.prototypes_of(objects, solution, run)[:n_clusters]
            difference = (centers[:, None] - centers).double()
            distances = (difference * _turned(difference, unit)).sum(-1)
            if matrices is not None:
                distances = distances + objects.spread * _unlikeness(matrices[run].double().cpu())
            tables.append(distances.numpy())
        return tables


def _turned(difference: Tensor, unit: Tensor | None) -> Tensor:
    return difference if unit is None else difference @ unit


def _unlikeness(matrices: Tensor) -> Tensor:
    """Return how different the shapes of clusters are; 0 if their matrices (c, p, p), of determinant 1, are equal."""
    # tr(S_k S_l^-1) / p is at least 1 for matrices of determinant 1, with equality only for equal matrices.
    ratio = (matrices[:, None] @ torch.linalg.inv(matrices)).diagonal(dim1=-2, dim2=-1).mean(-1)
    unlike: Tensor = (ratio - 1.0).clamp_min(0.0)
    return unlike


def means_of(focal: FocalSets, like: Tensor) -> Tensor:
    """Return the matrix (f, c) whose row A averages the clusters of A."""
    return torch.tensor(focal.shares).to(like)


@dataclass(frozen=True)
class CentersProblem(PlainProblem):
    """The clustering problem of a batch of runs; the clusters' centres (runs, c, p) are free."""

    x: Tensor  # (n, p), with more columns if sets are lifted
    cost: MassCost
    mean: Tensor  # (f, c), row A averages the clusters of A
    tol: float
    metric: ClassVar[SemiMetric] = SquaredEuclidean()
    state_type: ClassVar[type[Batch]] = State

    def lifted(self, free: Tensor, middle: Tensor) -> Tensor:
        """Return the sets' prototypes (runs, f, p) with the additional coordinates of ``x``."""
        return middle

    def pulled(self, middle: Tensor, evaluation: Evaluation) -> tuple[Evaluation, Tensor]:
        """Return the sums with any terms in the sets' prototypes, and their cost (runs,)."""
        return evaluation, torch.zeros_like(evaluation.cost)

    def tie(self, weight: Tensor) -> Tensor | None:
        """Return the quadratic cost (runs, c, c) of differences between centres, for the sets' sums of weights (runs, f)."""
        return None

    def begin(self, start: Tensor) -> State:
        """Initialize from the clusters' centres (runs, c, p)."""
        return self.at(start[:, : self.mean.shape[1]])

    def step(self, state: State) -> State:
        """Update the centres to minimize the objective for the state's masses, then the masses."""
        curvature, moment = state.evaluation.sums
        mean, w = self.mean.double(), curvature[..., 0].double()
        moved = stationary((mean.T * w[:, None]) @ mean, mean.T @ moment.double(), state.free.double(), self.tie(w))
        return self.at(moved.to(state.free.dtype), state)

    def at(self, free: Tensor, before: State | None = None) -> State:
        """Compute masses and objective at the given centres."""
        middle = self.mean @ free
        places = self.lifted(free, middle)
        previous = None if before is None else Previous(before.prototypes, before.evaluation.masses)
        evaluation = evaluate(self.metric, self.x, places, self.cost, previous=previous, tol=self.tol)
        moment = evaluation.sums[1][..., : free.shape[-1]]
        evaluation, price = self.pulled(middle, replace(evaluation, moment=moment))
        return State(free, places, evaluation, evaluation.cost + price, torch.zeros_like(free), None, None)


class SetPrices(NamedTuple):
    r"""Scale :math:`\sigma_A` and price of spread :math:`\rho_A` of each set, (f,) each; CCM and BCM differ only in these.

    Both define the distance of an object to a set A by sums of squared distances to the clusters' centres, to their
    mean, or among the centres. With :math:`\sum_{k \in A} \|x - v_k\|^2 = |A| \|x - \bar v_A\|^2 + s_A` and :math:`s_A
    = \sum_{k \in A} \|v_k - \bar v_A\|^2` this becomes

    .. math:: D_{iA} = \sigma_A \big( \|x_i - \bar v_A\|^2 + \rho_A s_A \big).
    """

    scale: Tensor
    spread: Tensor


@dataclass(frozen=True)
class SpreadProblem(CentersProblem):
    r"""Sets cost their clusters' spread: one more coordinate, 0 for objects and :math:`\sqrt{\rho_A s_A}` for sets."""

    spread: Tensor  # (f,)

    def lifted(self, free: Tensor, middle: Tensor) -> Tensor:
        """Append the root of the cost of a set's spread."""
        _, spread = spreads(free, self.mean)
        return torch.cat([middle, (self.spread * spread.sum(-1)).sqrt()[..., None]], -1)

    def tie(self, weight: Tensor) -> Tensor:
        """Return the spread of a set's clusters as a quadratic form."""
        mean = self.mean.double()
        member = (mean > 0).to(mean)
        within = torch.diag_embed(member) - member[:, :, None] * mean[:, None, :]  # s_A: (f, c, c)
        return torch.einsum("ra,akl->rkl", weight * self.spread.double(), within)


def spreads(centers: Tensor, mean: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean of each set's clusters (..., f, p) and the sum of squared deviations from it, by coordinate."""
    middle = mean @ centers
    squares = (centers[..., None, :, :] - middle[..., :, None, :]).square()  # (..., f, c, p)
    return middle, ((mean > 0)[:, :, None] * squares).sum(-2)


@dataclass(frozen=True)
class SpreadMeans(VectorAlgorithm):
    """CCM or BCM; a subclass defines the prices of its sets."""

    gamma: float = 1.0

    @abstractmethod
    def set_prices(self, focal: FocalSets) -> SetPrices:
        """Return scale and price of spread of each set."""

    def problem(self, batch: RunBatch[Tensor]) -> SpreadProblem:
        """Return the problem for objects in memory."""
        focal = batch.settings.focal
        return spread_problem(batch.objects.x, focal, batch.cost(), self.set_prices(focal), batch.settings.tol)

    def prototypes_of(self, objects: Objects[Tensor], solution: Solution, run: int) -> Tensor:
        """Return the prototypes without the coordinate of the spread."""
        return solution.prototypes[run, :, :-1].cpu()

    def metric_of(self, objects: Objects[Tensor], chosen: Settings, solution: Solution, run: int) -> SemiMetric:
        """Return a metric whose distances include the cost of a set's spread."""
        prototypes = self.prototypes_of(objects, solution, run)
        scale, price = (value.to(prototypes) for value in self.set_prices(chosen.focal))
        _, spread = spreads(prototypes[: chosen.n_clusters], means_of(chosen.focal, prototypes))
        return SetQuadratic(scale, (scale * price)[:, None] * spread)


def spread_problem(x: Tensor, focal: FocalSets, cost: MassCost, of_sets: SetPrices, tol: float = 1e-4) -> SpreadProblem:
    """Return the problem of clustering vectors x (n, p), with the ``cost`` of ECM."""
    scale, spread = (price.to(cost.factors) for price in of_sets)
    lifted = torch.cat([x, x.new_zeros(len(x), 1)], 1)
    mean = means_of(focal, cost.factors)
    return SpreadProblem(lifted, replace(cost, factors=cost.factors * scale), mean, tol, spread)
