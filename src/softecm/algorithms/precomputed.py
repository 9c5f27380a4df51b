"""Soft-ECM on a matrix of dissimilarities: prototypes are objects, so nothing is differentiated."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm.belief.focal import FocalSets
from softecm.distances.base import SemiMetric, distances_of
from softecm.distances.estimator_metrics import MedoidMiddles
from softecm.distances.precomputed import medoid
from softecm.fit.algorithm import Algorithm, RunBatch
from softecm.fit.loop import Solution, extended
from softecm.fit.prepare import Objects
from softecm.fit.settings import Settings
from softecm.kernels.medoids import barycenters, exact_choice, gap_choice
from softecm.objective.equations import MassCost
from softecm.objective.problem import Penalty
from softecm.optim import Batch, PlainProblem

Floats = NDArray[np.floating]
Indices = NDArray[np.int64]

STILL = 1e-12  # minimum gain, relative to its cost, for which a medoid changes
SWEEPS = 100  # never reached in practice: each sweep lowers the cost, and two usually suffice


def discrete_problem(
    x: Tensor,
    focal: FocalSets,
    cost: MassCost,
    lam: NDArray[np.float64],
    relaxation: str = "penalty",
    tol: float = 1e-4,
) -> DiscreteProblem:
    r"""Return the problem of Soft-ECM with prototypes restricted to objects, for several initializations at once.

    Alternates masses (eq. 7) and medoids: given the weights :math:`w_{iA} = |A|^\alpha m_i(A)^\beta`, each prototype in
    turn becomes the object that minimizes :math:`\sum_i w_{iA} D_{iz}` plus the cost of the constraint between sets and
    clusters under ``relaxation``, all others fixed. No step raises the objective.

    Parameters
    ----------
    x : Tensor (n, n)
        Dissimilarities.
    relaxation : {"penalty", "gap", "exact"}
        "exact": a set's medoid is the object nearest to its clusters' medoids (smallest sum of dissimilarities; ties
        by sum of squares, then centrality), and choosing the clusters' medoids accounts for the effect on the sets.

    Examples
    --------
    >>> import torch
    >>> from softecm.fit.loop import iterate
    >>> from softecm.objective.equations import mass_cost
    >>> points = torch.tensor([0.0, 1.0, 2.0, 5.0, 8.0, 9.0, 10.0])
    >>> squared = (points[:, None] - points).square().double()
    >>> cost = mass_cost(FocalSets.full(2), 1.0, 1.2, None, like=squared)
    >>> problem = discrete_problem(squared, FocalSets.full(2), cost, np.ones(1), "exact")
    >>> iterate(problem, torch.tensor([[0, 6]]), 200).prototypes.tolist()
    [[1.0, 5.0, 3.0]]
    """
    # Ties go to the first object: sorting by centrality makes the result independent of the order of rows.
    weights = cost.weights
    order = _most_central_first(x.numpy(), None if weights is None else weights.numpy())
    d = x.numpy()[np.ix_(order, order)]
    cost = replace(cost, weights=None if weights is None else weights[torch.as_tensor(order)])
    return DiscreteProblem(d, order, cost, RELAXATIONS[relaxation](d, focal, lam), focal, tol)


@dataclass(frozen=True)
class DiscreteState(Batch):
    """Medoids of a batch of runs with their masses."""

    medoids: Tensor  # (runs, f), positions among the objects, most central first
    prototypes: Tensor  # (runs, f), the same as indices of objects
    masses: Tensor  # (runs, n, f + 1)
    weights: Tensor  # (runs, n, f)
    objective: Tensor  # (runs,)
    constraint: Tensor  # (runs,)
    change: Tensor  # (runs,)
    extras: ClassVar[Mapping[str, Tensor]] = {}
    SUFFICIENT: ClassVar[tuple[str, ...]] = ("medoids",)


@dataclass(frozen=True)
class DiscreteProblem(PlainProblem):
    """Eq. 6 for a batch of runs with objects as prototypes."""

    d: Floats  # (n, n), most central object first
    order: Indices  # (n,), indices of the objects
    cost: MassCost
    relaxation: DiscreteRelaxation
    focal: FocalSets
    tol: float
    state_type: ClassVar[type[Batch]] = DiscreteState

    def begin(self, start: Tensor) -> DiscreteState:
        """Initialize from indices of objects (runs, c) for the clusters, or (runs, f) for all sets."""
        medoids = self._places(start)
        if medoids.shape[1] < len(self.focal):
            medoids = np.concatenate([medoids, barycenters(self.d, _larger(self.focal), medoids)], 1)
        return self.at(torch.from_numpy(medoids), None)

    def with_middles(self, start: Tensor) -> DiscreteState:
        """Initialize clusters (runs, c) and place sets at the middle of theirs; the nearest object is a set's medoid."""
        clusters, d = self._places(start), torch.from_numpy(self.d)
        to = [
            torch.cat([d[:, z], MedoidMiddles.of(d, self.focal, z).to_sets(d[:, z])], 1)
            for z in torch.from_numpy(clusters)
        ]
        distances = torch.stack(to)  # (runs, n, f)
        sets = distances[..., self.focal.n_clusters :].argmin(1).numpy()
        return self._shared(np.concatenate([clusters, sets], 1), distances, None)

    def _places(self, start: Tensor) -> Indices:
        """Convert indices of objects to positions, most central first."""
        return np.argsort(self.order)[start.cpu().numpy().astype(np.int64)]

    def at(self, medoids: Tensor, before: DiscreteState | None) -> DiscreteState:
        """Return masses (eq. 7) and objective for given medoids."""
        places = medoids.numpy()
        distances = torch.from_numpy(self.d[places]).transpose(1, 2)  # D is symmetric: rows, not columns; (runs, n, f)
        return self._shared(places, distances, before)

    def _shared(self, medoids: Indices, distances: Tensor, before: DiscreteState | None) -> DiscreteState:
        """Return masses and objective for given distances (runs, n, f)."""
        masses_step = self.cost.step(distances, None if before is None else before.masses)
        constraint = torch.from_numpy(self.relaxation.constraint(medoids))
        numbers = torch.as_tensor(self.order[medoids], dtype=masses_step.masses.dtype)
        objective, change = masses_step.objective.double() + constraint, masses_step.change.double()
        places = torch.from_numpy(medoids)
        return DiscreteState(places, numbers, masses_step.masses, masses_step.weights, objective, constraint, change)

    def step(self, state: DiscreteState) -> DiscreteState:
        """Update the medoids for the state's masses (eq. 8), then the masses."""
        runs, f = state.medoids.shape
        flat = state.weights.transpose(1, 2).reshape(runs * f, -1)
        prices = flat @ torch.from_numpy(self.d)  # sum_i w_iA D_iz: (runs f, n)
        moved = self.relaxation.improve(state.medoids.numpy(), prices.reshape(runs, f, -1).numpy())
        new = self.at(torch.from_numpy(moved), state)
        # Ties that differ by rounding could cycle: a run without gain has converged.
        gained = new.objective < state.objective
        return replace(new.merged(state, ~gained), change=torch.where(gained, new.change, 0.0))

    def select(self, runs: Tensor) -> DiscreteProblem:
        """Select some of the runs."""
        return replace(self, cost=self.cost.select(runs), relaxation=self.relaxation.select(runs.numpy()))


def _most_central_first(d: Floats, counts: Floats | None) -> Indices:
    """Sort objects by their sum of dissimilarities to all, rounded so that the order of summation doesn't matter."""
    total = d.sum(1, dtype=np.float64) if counts is None else d @ counts.astype(d.dtype)
    return np.argsort(np.round(total / (float(total.max()) or 1.0), 9), kind="stable")


def _larger(focal: FocalSets) -> list[tuple[int, ...]]:
    """Return the sets of more than one cluster."""
    return list(focal.sets[focal.n_clusters :])


@dataclass(frozen=True)
class SoftECMdd(Algorithm[Tensor]):
    """Soft-ECM on dissimilarities, with objects as prototypes."""

    samples: ClassVar[bool] = False
    adds_sets: ClassVar[bool] = True

    def with_sets(self, batch: RunBatch[Tensor], singles: Solution) -> Solution:
        """Add sets at the middle of their clusters' medoids, whether or not an object is there."""
        state = self._problem(batch, "exact").with_middles(batch.start)
        return extended(singles, state.prototypes, state.objective)

    def metric_of(self, objects: Objects[Tensor], chosen: Settings, solution: Solution, run: int) -> SemiMetric:
        """Return distances to the sets' middles if sets were added to clusters, or to their medoids if fitted together."""
        c = chosen.n_clusters
        if chosen.relaxation is not None or len(chosen.focal) == c:
            return objects.metric
        return MedoidMiddles.of(objects.x.cpu(), chosen.focal, solution.prototypes[run, :c].long().cpu())

    def problem(self, batch: RunBatch[Tensor]) -> DiscreteProblem:
        """Return eq. 6 for a batch of runs."""
        if batch.links is not None:
            raise ValueError(
                "must_link and cannot_link must be left out with metric='precomputed'; got some. CEVCLUS takes them "
                "with dissimilarities; SoftECM takes them with a metric, on the objects themselves."
            )
        return self._problem(batch, (batch.settings.relaxation or Penalty).name)

    @staticmethod
    def _problem(batch: RunBatch[Tensor], relaxation: str) -> DiscreteProblem:
        x, weights, settings = batch.objects.x.cpu(), batch.objects.weights, batch.settings
        cost = batch.cost(x, None if weights is None else weights.cpu())
        return discrete_problem(x, settings.focal, cost, batch.lam, relaxation, settings.tol)

    def from_center(self, objects: Objects[Tensor]) -> NDArray[np.float64]:
        """Return dissimilarities (n,) to the medoid of all objects."""
        center = medoid(objects.x, objects.weights)
        return distances_of(objects.metric, objects.x, center)[:, 0].double().cpu().numpy()

    def between(self, objects: Objects[Tensor], solution: Solution, n_clusters: int) -> list[NDArray[np.float64]]:
        """Return the dissimilarities between medoids."""
        return [objects.x[z][:, z].double().cpu().numpy() for z in solution.prototypes[:, :n_clusters].long()]


@dataclass(frozen=True)
class DiscreteRelaxation(ABC):
    """The cost of the constraint between a set's medoid and its clusters' medoids, and their update."""

    d: Floats  # (n, n)
    focal: FocalSets
    lam: NDArray[np.float64]  # (runs,)

    @property
    def member(self) -> Floats:
        """Membership of clusters in sets of more than one cluster: (sets, c)."""
        return self.focal.membership[self.focal.n_clusters :].astype(self.d.dtype)

    @abstractmethod
    def constraint(self, medoids: Indices) -> NDArray[np.float64]:
        """Return the cost of the constraint in each run."""

    @abstractmethod
    def improve(self, medoids: Indices, prices: Floats) -> Indices:
        """Return medoids at least as good as the given ones; ``prices`` (runs, f, n) is the cost of objects as medoids."""

    def select(self, runs: Indices) -> Self:
        """Select some of the runs."""
        return replace(self, lam=self.lam[runs])


def until_still(sweep: Callable[[Indices], Indices], medoids: Indices) -> Indices:
    """Sweep over the medoids until none changes."""
    for _ in range(SWEEPS):
        moved = sweep(medoids.copy())
        if np.array_equal(moved, medoids):
            break
        medoids = moved
    return medoids


@dataclass(frozen=True)
class MedoidPenalty(DiscreteRelaxation):
    """The paper's eq. 6: lambda times the dissimilarities between sets and their clusters."""

    def constraint(self, medoids: Indices) -> NDArray[np.float64]:
        """Return lambda times the inertia."""
        return self.lam * _inertia(self.d, self.focal, medoids)

    def improve(self, medoids: Indices, prices: Floats) -> Indices:
        """Alternate all sets given the clusters and all clusters given the sets, until neither changes."""
        c, lam = self.focal.n_clusters, self.lam[:, None, None].astype(self.d.dtype)

        def sweep(now: Indices) -> Indices:
            sets = lower(prices[:, c:] + lam * (self.member @ self.d[now[:, :c]]), now[:, c:])
            clusters = lower(prices[:, :c] + lam * (self.member.T @ self.d[sets]), now[:, :c])
            return np.concatenate([clusters, sets], 1)

        return until_still(sweep, medoids)


@dataclass(frozen=True)
class MedoidGap(DiscreteRelaxation):
    """Lambda times the excess of the inertia over its minimum among all objects, so that merging gains nothing."""

    def constraint(self, medoids: Indices) -> NDArray[np.float64]:
        """Return lambda times the gap."""
        c = self.focal.n_clusters
        clusters = medoids[:, :c]
        best = np.concatenate([clusters, barycenters(self.d, _larger(self.focal), clusters)], 1)
        gap = _inertia(self.d, self.focal, medoids) - _inertia(self.d, self.focal, best)
        cost: NDArray[np.float64] = self.lam * np.maximum(gap, 0.0)
        return cost

    def improve(self, medoids: Indices, prices: Floats) -> Indices:
        """Update sets as for the penalty, as the minimum doesn't depend on them; then cluster by cluster."""
        runs = zip(medoids, prices, self.lam, strict=True)
        return np.stack([until_still(partial(self._swept, price, float(lam)), z) for z, price, lam in runs])

    def _swept(self, price: Floats, lam: float, z: Indices) -> Indices:
        c = self.focal.n_clusters
        z[c:] = lower((price[c:] + lam * (self.member @ self.d[z[:c]]))[None], z[None, c:])[0]
        for k in range(c):
            self._place_cluster(k, z, price, lam)
        return z

    def _place_cluster(self, k: int, z: Indices, price: Floats, lam: float) -> None:
        around = _around(self.d, self.focal, k, z)
        pulled = self.d[z[around.sets]]  # to each set's medoid: (sets, n)
        whole = pulled + around.inertia[np.arange(len(around.sets)), z[around.sets]][:, None]
        base = price[k] + lam * whole.sum(0)
        # The minimum over objects is at most its value at any of them: the candidate itself, the set's medoid, the
        # other clusters' medoids and the present minimizer.
        least = np.minimum(around.inertia, whole)
        for a, others in enumerate(around.others):
            now = int((self.d[z[k]] + around.inertia[a]).argmin())
            for anchor in (*z[others], now):
                np.minimum(least[a], around.inertia[a, anchor] + self.d[anchor], out=least[a])
        bound = base - lam * least.sum(0)
        incumbent = float(base[z[k]] - lam * (self.d[z[k]] + around.inertia).min(1).sum())
        target = incumbent - STILL * abs(incumbent)
        candidates = _worth_trying(bound, target)
        chosen, _ = gap_choice(self.d, candidates, bound[candidates], base, lam, around.inertia, target)
        if chosen >= 0:
            z[k] = chosen


@dataclass(frozen=True)
class MedoidExact(DiscreteRelaxation):
    """The hard constraint: a set's medoid is the barycentre, among objects, of its clusters' medoids."""

    def constraint(self, medoids: Indices) -> NDArray[np.float64]:
        """Return zeros: the constraint holds."""
        return np.zeros(len(medoids))

    def improve(self, medoids: Indices, prices: Floats) -> Indices:
        """Update cluster by cluster, with the sets that follow, until none changes."""
        improved = medoids.copy()
        c = self.focal.n_clusters
        improved[:, c:] = barycenters(self.d, _larger(self.focal), improved[:, :c])
        return np.stack(
            [until_still(partial(self._swept, price), z) for z, price in zip(improved, prices, strict=True)]
        )

    def _swept(self, price: Floats, z: Indices) -> Indices:
        for k in range(self.focal.n_clusters):
            self._place_cluster(k, z, price)
        return z

    def _place_cluster(self, k: int, z: Indices, price: Floats) -> None:
        around = _around(self.d, self.focal, k, z)
        least = price[around.sets].min(1)
        floor = float(least.sum())
        incumbent = float(price[k, z[k]] + price[around.sets, z[around.sets]].sum())
        target = incumbent - STILL * abs(incumbent)
        bound = price[k] + floor
        candidates = _worth_trying(bound, target)
        squares = (
            np.stack([np.square(self.d[z[o]]).sum(0) for o in around.others]) if len(around.sets) else around.inertia
        )
        above = price[around.sets] - least[:, None]
        chosen, _ = exact_choice(
            self.d, candidates, bound[candidates], price[k], floor, above, around.inertia, squares, target
        )
        if chosen >= 0:
            c = self.focal.n_clusters
            z[k] = chosen
            z[c:] = barycenters(self.d, _larger(self.focal), z[None, :c])[0]


RELAXATIONS: dict[str, type[DiscreteRelaxation]] = {
    "penalty": MedoidPenalty,
    "gap": MedoidGap,
    "exact": MedoidExact,
}


@dataclass(frozen=True)
class _Around:
    """The larger sets that contain a cluster, without it."""

    sets: Indices  # indices among all sets
    others: list[list[int]]
    inertia: Floats  # (sets, n): sum of dissimilarities to the other clusters' medoids


def _around(d: Floats, focal: FocalSets, k: int, z: Indices) -> _Around:
    sets = [a for a, members in enumerate(focal.sets) if len(members) > 1 and k in members]
    others = [[l for l in focal.sets[a] if l != k] for a in sets]
    inertia = np.stack([d[z[o]].sum(0) for o in others]) if sets else np.empty((0, d.shape[1]), dtype=d.dtype)
    return _Around(np.array(sets, dtype=np.int64), others, inertia)


def _worth_trying(bound: Floats, target: float) -> Indices:
    """Return candidates that may cost less than the target, most promising first."""
    candidates = np.flatnonzero(bound < target)
    return candidates[np.argsort(bound[candidates], kind="stable")]


def lower(cost: Floats, now: Indices) -> Indices:
    """Return the cheapest object of each row (runs, k, n), or the present one (runs, k) unless the gain is significant."""
    best = cost.argmin(-1)
    paid = np.take_along_axis(cost, now[..., None], -1)[..., 0]
    offered = np.take_along_axis(cost, best[..., None], -1)[..., 0]
    return np.where(offered < paid - STILL * np.abs(paid), best, now)


def _inertia(d: Floats, focal: FocalSets, medoids: Indices) -> NDArray[np.float64]:
    """Return the third term of eq. 6 before lambda, one value per run."""
    pairs = [(k, a) for a, members in enumerate(focal.sets) if len(members) > 1 for k in members]
    if not pairs:
        return np.zeros(len(medoids))
    clusters, sets = np.array(pairs).T
    inertia: NDArray[np.float64] = d[medoids[:, clusters], medoids[:, sets]].sum(1).astype(np.float64)
    return inertia
