"""Soft-ECM on a matrix of dissimilarities: prototypes are objects, and nothing is differentiated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm.algorithms.solution import Progress, Solution
from softecm.belief.focal import FocalSets
from softecm.distances.base import SemiMetric
from softecm.kernels.medoids import barycenters, exact_choice, gap_choice
from softecm.objective import MassCost, mass_cost, share

Floats = NDArray[np.floating[Any]]
Indices = NDArray[np.int64]

STILL = 1e-12  # a medoid moves only for a gain of more than this part of its cost
SWEEPS = 100  # no end in practice: each sweep lowers the cost, most often two are enough


def soft_ecm_precomputed(
    x: Tensor,
    metric: SemiMetric | None,
    focal: FocalSets,
    init: Tensor,
    *,
    alpha: Any = 1.0,
    beta: Any = 1.2,
    delta: Any = None,
    lam: Any = 1.0,
    relaxation: str = "penalty",
    solver: Any = None,
    weights: Tensor | None = None,
    links: Any = None,
    max_iter: int = 200,
    tol: float = 1e-4,
    callback: Callable[[Progress], Any] | None = None,
    race: bool = False,
) -> Solution:
    r"""Soft-ECM with prototypes restricted to objects, from each of several starts at once.

    Alternates the masses (eq. 7) with medoids: with the weights :math:`w_{iA} = |A|^\alpha m_i(A)^\beta` given, each
    prototype in turn goes to the object that minimises :math:`\sum_i w_{iA} D_{iz}` plus what ``relaxation`` asks for
    the tie between sets and clusters, all others fixed. No choice raises the objective, so neither does a round.

    Parameters
    ----------
    x : Tensor (n, n)
        Dissimilarities.
    metric, solver : ignored
        For the signature of ``soft_ecm``: dissimilarities are looked up.
    init : Tensor (runs, c) or (runs, f)
        Numbers of the objects to start from, for the clusters or for all sets.
    relaxation : {"penalty", "gap", "exact"}
        "exact": a set's medoid is the object nearest to its clusters' medoids (least sum of dissimilarities, among equals
        least sum of squares, then the most central), and the clusters' medoids are chosen with what that means for the sets.

    Returns
    -------
    solution : Solution
        Its prototypes (runs, f) are numbers of objects.

    Examples
    --------
    >>> import torch
    >>> points = torch.tensor([0.0, 1.0, 2.0, 5.0, 8.0, 9.0, 10.0])
    >>> squared = (points[:, None] - points).square().double()
    >>> ends = torch.tensor([[0, 6]])
    >>> soft_ecm_precomputed(squared, None, FocalSets.full(2), ends, relaxation="exact").prototypes.tolist()
    [[1.0, 5.0, 3.0]]
    """
    if links is not None:
        raise ValueError(
            "must_link and cannot_link must be left out with metric='precomputed'; got some. Fit the objects themselves "
            "with a metric, or use CECM on vectors."
        )
    # Between equally good objects the first is taken: put the most central first, so that the order of rows plays no role.
    order = _most_central_first(x.cpu().numpy(), None if weights is None else weights.cpu().numpy())
    d = x.cpu().numpy()[np.ix_(order, order)]
    runs = len(init)
    medoids = np.argsort(order)[init.cpu().numpy().astype(np.int64)]
    if medoids.shape[1] < len(focal):
        medoids = np.concatenate([medoids, barycenters(d, _larger(focal), medoids)], 1)
    like = torch.from_numpy(d)
    counts = None if weights is None else weights.cpu()[torch.as_tensor(order)]
    cost = mass_cost(focal, alpha, beta, delta, like=like, runs=runs, weights=counts)
    strength = np.broadcast_to(np.asarray(lam, dtype=np.float64), (runs,)).copy()
    problem = _Problem(d, cost, RELAXATIONS[relaxation](d, focal, strength))
    solution = _iterate(problem, medoids, max_iter, tol, callback)
    found = torch.as_tensor(order[solution.prototypes.long().numpy()], dtype=x.dtype)
    return replace(solution, prototypes=found)


def _most_central_first(d: Floats, counts: Floats | None) -> Indices:
    """Objects by their sum of dissimilarities to all, rounded so that the order of summation does not show."""
    total = d.sum(1, dtype=np.float64) if counts is None else d @ counts.astype(d.dtype)
    return np.argsort(np.round(total / (float(total.max()) or 1.0), 9), kind="stable")


def _larger(focal: FocalSets) -> list[tuple[int, ...]]:
    """The sets of more than one cluster."""
    return list(focal.sets[focal.n_clusters :])


@dataclass(frozen=True)
class _State:
    """Medoids of a batch of runs with the masses that go with them."""

    medoids: Indices  # (runs, f)
    masses: Tensor  # (n, runs, f + 1)
    weights: Tensor  # (n, runs, f)
    tie: NDArray[np.float64]  # (runs,)
    objective: NDArray[np.float64]  # (runs,)

    def select(self, runs: NDArray[Any]) -> _State:
        return _State(
            self.medoids[runs], self.masses[:, runs], self.weights[:, runs], self.tie[runs], self.objective[runs]
        )


@dataclass(frozen=True)
class _Problem:
    d: Floats
    cost: MassCost
    relaxation: DiscreteRelaxation

    def at(self, medoids: Indices) -> _State:
        """Masses (eq. 7) and objective for given medoids."""
        distances = torch.from_numpy(self.d[medoids].transpose(2, 0, 1))  # D is symmetric: rows, not columns
        shares = share(distances, self.cost.factors, self.cost.beta, self.cost.delta2)
        counts = self.cost.weights
        paid = (shares.cost if counts is None else shares.cost * counts[:, None]).sum(0).double().numpy()
        weights = shares.weights if counts is None else shares.weights * counts[:, None, None]
        tie = self.relaxation.tie(medoids)
        return _State(medoids, shares.masses, weights, tie, paid + tie)

    def step(self, state: _State) -> _State:
        """New medoids for the state's masses (eq. 8), then their masses."""
        runs, f = state.medoids.shape
        prices = state.weights.reshape(-1, runs * f).T @ torch.from_numpy(self.d)  # sum_i w_iA D_iz: (runs f, n)
        return self.at(self.relaxation.improve(state.medoids, prices.reshape(runs, f, -1).numpy()))

    def select(self, runs: NDArray[Any]) -> _Problem:
        return replace(self, cost=self.cost.select(torch.as_tensor(runs)), relaxation=self.relaxation.select(runs))


def _iterate(
    problem: _Problem, start: Indices, max_iter: int, tol: float, callback: Callable[[Progress], Any] | None
) -> Solution:
    """Alternate masses and medoids until the masses stand still; runs leave the batch as they finish."""
    runs = len(start)
    state = problem.at(start)
    medoids, objective, tie = start.copy(), state.objective.copy(), state.tie.copy()
    history = [[float(v)] for v in objective]
    n_iter, converged = np.zeros(runs, dtype=np.int64), np.zeros(runs, dtype=bool)
    active = np.arange(runs)
    for iteration in range(1, max_iter + 1):
        moved = problem.step(state)
        change = (moved.masses - state.masses).abs().amax((0, 2)).double().numpy()
        # Equal choices that differ by rounding could go round in circles: a run that gains nothing has arrived.
        gained = moved.objective < state.objective
        done = (change <= tol) | ~gained
        better = active[gained]
        medoids[better], objective[better], tie[better] = (
            moved.medoids[gained],
            moved.objective[gained],
            moved.tie[gained],
        )
        n_iter[active], converged[active] = iteration, done
        for run in active:
            history[run].append(float(objective[run]))
        progress = Progress(iteration, max_iter, objective.copy(), int((~done).sum()), float(change.max()))
        if (callback is not None and callback(progress)) or done.all():
            break
        going = np.flatnonzero(~done)
        active, state, problem = active[going], moved.select(going), problem.select(going)
    found = torch.as_tensor(medoids, dtype=state.masses.dtype)
    return Solution(found, objective, tie, tuple(np.asarray(h) for h in history), n_iter, converged)


class DiscreteRelaxation(Protocol):
    """How the tie between a set's medoid and its clusters' medoids is priced, and where it sends them."""

    def __init__(self, d: Floats, focal: FocalSets, lam: NDArray[np.float64]) -> None: ...

    def tie(self, medoids: Indices) -> NDArray[np.float64]:
        """What the tie costs each run."""
        ...

    def improve(self, medoids: Indices, prices: Floats) -> Indices:
        """Medoids at least as good as the given ones: ``prices`` (runs, f, n) is what an object costs as medoid."""
        ...

    def select(self, runs: NDArray[Any]) -> DiscreteRelaxation:
        """The same for some of the runs."""
        ...


@dataclass(frozen=True)
class MedoidPenalty:
    """The paper's eq. 6: lambda times the dissimilarities between sets and their clusters."""

    d: Floats
    focal: FocalSets
    lam: NDArray[np.float64]

    @property
    def member(self) -> Floats:
        """Which cluster is in which of the larger sets: (sets, c)."""
        return self.focal.membership[self.focal.n_clusters :].astype(self.d.dtype)

    def tie(self, medoids: Indices) -> NDArray[np.float64]:
        """Lambda times the inertia."""
        return self.lam * _inertia(self.d, self.focal, medoids)

    def improve(self, medoids: Indices, prices: Floats) -> Indices:
        """All sets given the clusters, then all clusters given the sets, until neither moves."""
        c, lam = self.focal.n_clusters, self.lam[:, None, None].astype(self.d.dtype)
        for _ in range(SWEEPS):
            before = medoids
            sets = lower(prices[:, c:] + lam * (self.member @ self.d[medoids[:, :c]]), medoids[:, c:])
            clusters = lower(prices[:, :c] + lam * (self.member.T @ self.d[sets]), medoids[:, :c])
            medoids = np.concatenate([clusters, sets], 1)
            if np.array_equal(before, medoids):
                break
        return medoids

    def select(self, runs: NDArray[Any]) -> MedoidPenalty:
        """The same for some of the runs."""
        return replace(self, lam=self.lam[runs])


@dataclass(frozen=True)
class MedoidGap:
    """Lambda times what the inertia exceeds its least value by, over all objects: merging gains nothing."""

    d: Floats
    focal: FocalSets
    lam: NDArray[np.float64]

    def tie(self, medoids: Indices) -> NDArray[np.float64]:
        """Lambda times the gap."""
        c = self.focal.n_clusters
        clusters = medoids[:, :c]
        best = np.concatenate([clusters, barycenters(self.d, _larger(self.focal), clusters)], 1)
        gap = _inertia(self.d, self.focal, medoids) - _inertia(self.d, self.focal, best)
        tie: NDArray[np.float64] = self.lam * np.maximum(gap, 0.0)
        return tie

    def improve(self, medoids: Indices, prices: Floats) -> Indices:
        """Sets as for the penalty, whose minimum does not depend on them; then cluster by cluster."""
        improved = medoids.copy()
        for z, price, lam in zip(improved, prices, self.lam, strict=True):
            for _ in range(SWEEPS):
                before = z.copy()
                self._place_sets(z, price, float(lam))
                for k in range(self.focal.n_clusters):
                    self._place_cluster(k, z, price, float(lam))
                if np.array_equal(before, z):
                    break
        return improved

    def _place_sets(self, z: Indices, price: Floats, lam: float) -> None:
        c = self.focal.n_clusters
        member = self.focal.membership[c:].astype(self.d.dtype)
        z[c:] = lower((price[c:] + lam * (member @ self.d[z[:c]]))[None], z[None, c:])[0]

    def _place_cluster(self, k: int, z: Indices, price: Floats, lam: float) -> None:
        around = _around(self.d, self.focal, k, z)
        pulled = self.d[z[around.sets]]  # to each set's medoid: (sets, n)
        whole = pulled + around.inertia[np.arange(len(around.sets)), z[around.sets]][:, None]
        base = price[k] + lam * whole.sum(0)
        # The minimum over objects lies below its value at any of them: at the candidate itself, at the set's medoid, at
        # the other clusters' medoids and at the present minimiser.
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

    def select(self, runs: NDArray[Any]) -> MedoidGap:
        """The same for some of the runs."""
        return replace(self, lam=self.lam[runs])


@dataclass(frozen=True)
class MedoidExact:
    """The hard constraint: a set's medoid is the barycentre, among objects, of its clusters' medoids."""

    d: Floats
    focal: FocalSets
    lam: NDArray[np.float64]

    def tie(self, medoids: Indices) -> NDArray[np.float64]:
        """Nothing to pay: the constraint holds."""
        return np.zeros(len(medoids))

    def improve(self, medoids: Indices, prices: Floats) -> Indices:
        """Cluster by cluster, its sets following, until none moves."""
        improved = medoids.copy()
        c = self.focal.n_clusters
        improved[:, c:] = barycenters(self.d, _larger(self.focal), improved[:, :c])
        for z, price in zip(improved, prices, strict=True):
            for _ in range(SWEEPS):
                before = z.copy()
                for k in range(c):
                    self._place_cluster(k, z, price)
                if np.array_equal(before, z):
                    break
        return improved

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

    def select(self, runs: NDArray[Any]) -> MedoidExact:
        """The same for some of the runs."""
        return replace(self, lam=self.lam[runs])


RELAXATIONS: dict[str, type[DiscreteRelaxation]] = {
    "penalty": MedoidPenalty,
    "gap": MedoidGap,
    "exact": MedoidExact,
}


@dataclass(frozen=True)
class _Around:
    """The larger sets that contain a cluster, without it."""

    sets: Indices  # positions among all sets
    others: list[list[int]]
    inertia: Floats  # (sets, n): sum of dissimilarities to the other clusters' medoids


def _around(d: Floats, focal: FocalSets, k: int, z: Indices) -> _Around:
    sets = [a for a, members in enumerate(focal.sets) if len(members) > 1 and k in members]
    others = [[l for l in focal.sets[a] if l != k] for a in sets]
    inertia = np.stack([d[z[o]].sum(0) for o in others]) if sets else np.empty((0, d.shape[1]), dtype=d.dtype)
    return _Around(np.array(sets, dtype=np.int64), others, inertia)


def _worth_trying(bound: Floats, target: float) -> Indices:
    """Candidates that might cost less than the target, the most promising first."""
    candidates = np.flatnonzero(bound < target)
    return candidates[np.argsort(bound[candidates], kind="stable")]


def lower(cost: Floats, now: Indices) -> Indices:
    """The cheapest object of each row (runs, k, n); the present one (runs, k) stays unless another is really cheaper."""
    best = cost.argmin(-1)
    paid = np.take_along_axis(cost, now[..., None], -1)[..., 0]
    offered = np.take_along_axis(cost, best[..., None], -1)[..., 0]
    return np.where(offered < paid - STILL * np.abs(paid), best, now)


def _inertia(d: Floats, focal: FocalSets, medoids: Indices) -> NDArray[np.float64]:
    """The third term of eq. 6 before lambda, one value a run."""
    pairs = [(k, a) for a, members in enumerate(focal.sets) if len(members) > 1 for k in members]
    if not pairs:
        return np.zeros(len(medoids))
    clusters, sets = np.array(pairs).T
    inertia: NDArray[np.float64] = d[medoids[:, clusters], medoids[:, sets]].sum(1).astype(np.float64)
    return inertia
