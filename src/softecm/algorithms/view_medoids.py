"""The problem of evidential c-medoids over several dissimilarities: alternates medoids, masses and view weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm.algorithms.ecmdd import SAME, Ranking, best_objects, set_medoids
from softecm.belief import FocalSets
from softecm.distances.estimator_metrics import mixed_with_clusters
from softecm.distances.weighted_parts import SET, Weighing
from softecm.objective.equations import Shares, mass_cost

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
FREE, MONOTONE, PUBLISHED = "free", "monotone", "published"
FORMS = (MONOTONE, FREE, PUBLISHED)
SWEEPS = 100  # never reached in practice: each sweep lowers the cost, and two usually suffice


class ViewMedoidState(NamedTuple):
    """State of one run between two iterations."""

    medoids: Indices  # (f,)
    weights: Tensor  # (rows, views)
    masses: Tensor  # (n, f + 1)
    held: Tensor  # (n, f): |A|^alpha m^beta
    dispersions: Tensor  # (f, views)
    empty: float  # sum of the raised masses of the empty set
    objective: float


class MedoidRun(NamedTuple):
    """Result of one run: its best iteration, and the objective of all."""

    state: ViewMedoidState
    history: Floats
    converged: bool


@dataclass(frozen=True)
class ViewMedoids:
    r"""Alternate medoids, masses and view weights, each step with the others fixed.

    A set's medoid follows from its clusters' medoids. With the form "monotone", every step lowers the same objective:
    choosing a cluster's medoid accounts for the effect on the sets, the empty set costs :math:`\sum_l \bar u_l
    \delta_l^2`, and a small part of each view's total spread is added. With "published", a cluster's medoid depends on
    the masses of that cluster only, so the objective may rise, and the empty set costs :math:`\sum_l \delta_l^2`
    whatever the weights. "free" is Soft-ECM's form: every set has its own medoid, and :math:`\lambda` times the
    weighted dissimilarities between sets' and clusters' medoids is added; no step raises this either.
    """

    views: Floats  # (views, n, n)
    focal: FocalSets
    weighing: Weighing
    alpha: float
    beta: float
    delta2: Floats  # (views,), inf without an empty set
    form: str = MONOTONE
    gamma: float = 0.5
    eta: float = 1.0
    lam: float = 0.0
    counts: Floats | None = None  # (n,), weights of the objects

    @cached_property
    def ranking(self) -> Ranking:
        """Break ties, and place the sets' medoids, by the sum of the views."""
        return Ranking(self.views.sum(0) if self.form == PUBLISHED else alike(self.views), self.counts)

    @cached_property
    def spreads(self) -> Tensor:
        """The dispersion of each view (views,) about its own medoid."""
        sums = self.views.sum(1) if self.counts is None else np.einsum("n,lnm->lm", self.counts, self.views)
        return torch.from_numpy(sums.min(1))

    @property
    def regular(self) -> Tensor:
        """Regularization of each view's dispersion (views,), so that a perfectly fitted view doesn't take all weight."""
        return self.weighing.regular * self.spreads if self.form != PUBLISHED else torch.zeros_like(self.spreads)

    def shares(self, weights: Tensor) -> Tensor:
        """Return the factors of the dissimilarities to each set (f, views)."""
        return self.weighing.effective(weights).expand(len(self.focal), -1)

    def price(self, weights: Tensor) -> float:
        """Return the cost of the empty set."""
        if self.form == PUBLISHED or np.isinf(self.delta2).any():
            return float(self.delta2.sum())
        return float(self.weighing.effective(weights).mean(0) @ torch.from_numpy(self.delta2))

    def begin(self, clusters: Indices) -> ViewMedoidState:
        """Initialize from objects (c,) with equal weights, or, unless "published", weights that fit the views' spreads."""
        rows = len(self.focal) if self.weighing.of == SET else 1
        weights = self.weighing.begin(rows, len(self.views), self.spreads)
        if self.form != PUBLISHED:
            weights = self.weighing.best(self.spreads, 0.0).expand_as(weights).contiguous()
        return self.at(self._with_sets(clusters), weights)

    def at(self, medoids: Indices, weights: Tensor) -> ViewMedoidState:
        """Return the optimal masses for medoids (f,) and weights (rows, views), with the sums that follow."""
        each = mixed_with_clusters(torch.from_numpy(self.views[:, :, medoids]), self.focal, self.gamma)
        shares, price = self.shares(weights), self.price(weights)
        masses_step = shared(each, shares, self.focal, self.alpha, self.beta, price)
        held, gone = masses_step.weights, masses_step.masses[:, 0] ** self.beta
        if self.counts is not None:
            counts = torch.from_numpy(self.counts)
            held, gone = held * counts[:, None], gone * counts
        dispersions = torch.einsum("nf,lnf->fl", held, each) + self._ties(medoids)
        state = ViewMedoidState(medoids, weights, masses_step.masses, held, dispersions, float(gone.sum()), 0.0)
        return state._replace(objective=self.objective(state, weights))

    def objective(self, state: ViewMedoidState, weights: Tensor) -> float:
        """Return the objective of a state with other weights."""
        paid = self.price(weights) * state.empty if state.empty > 0 else 0.0
        regular = self.weighing.effective(weights).mean(0) @ self.regular
        return float((self.shares(weights) * state.dispersions).sum() + regular) + paid

    def step(self, state: ViewMedoidState) -> ViewMedoidState:
        """Update weights, then medoids, then masses."""
        weights = self.weighed(state)
        return self.at(self.moved(state, weights), weights)

    def weighed(self, state: ViewMedoidState) -> Tensor:
        """Return the optimal weights (rows, views)."""
        each = state.dispersions if self.weighing.of == SET else state.dispersions.sum(0, keepdim=True)
        fixed = self.regular
        if self.form != PUBLISHED and state.empty > 0:
            fixed = fixed + state.empty * torch.from_numpy(self.delta2)
        return self.weighing.best(each + fixed / len(each), 0.0)

    def moved(self, state: ViewMedoidState, weights: Tensor) -> Indices:
        """Return the new medoids (f,)."""
        c, shares = self.focal.n_clusters, self.shares(weights).numpy()
        sets = c if self.form == PUBLISHED else len(self.focal)
        held = state.held[:, :sets].numpy().T
        prices = np.zeros((sets, self.views.shape[1]))
        for j, view in enumerate(self.views):
            prices += shares[:sets, [j]] * (held @ view)
        if self.form == PUBLISHED:
            return self._with_sets(best_objects(prices, self.ranking, state.medoids[:c]))
        if self.form == FREE:
            return self._freed(state.medoids, prices, shares)
        return self._lowered(state.medoids, prices)

    def _ties(self, medoids: Indices) -> Tensor:
        """Return the unweighted cost of the constraint between sets' and clusters' medoids (f, views)."""
        paid = np.zeros((len(self.focal), len(self.views)))
        if self.form == FREE:
            for a, members in enumerate(self.focal.sets):
                if len(members) > 1:
                    paid[a] = self.lam * self.views[:, medoids[a], medoids[list(members)]].sum(1)
        return torch.from_numpy(paid)

    def _freed(self, medoids: Indices, prices: Floats, shares: Floats) -> Indices:
        """Update the sets' medoids given the clusters' and vice versa until none changes."""
        c, member = self.focal.n_clusters, self.focal.membership.astype(bool)
        medoids = medoids.copy()
        for _ in range(SWEEPS):
            before = medoids.copy()
            for a in [*range(c, len(self.focal)), *range(c)]:
                tied = np.flatnonzero(member[a]) if a >= c else c + np.flatnonzero(member[c:, a])
                costs = prices[a].copy()
                for other in tied:
                    costs += self.lam * (shares[max(a, other)] @ self.views[:, medoids[other]])
                if a < c:
                    costs[np.delete(medoids[:c], a)] = np.inf
                place = self.ranking.cheapest(costs, medoids[:c])
                if costs[place] < costs[medoids[a]] * (1.0 - SAME):
                    medoids[a] = place
            if np.array_equal(before, medoids):
                break
        return medoids

    def _with_sets(self, clusters: Indices) -> Indices:
        others = set_medoids(self.ranking, self.focal, clusters[None], self.eta)[0]
        return np.concatenate([clusters, others])

    def _lowered(self, medoids: Indices, prices: Floats) -> Indices:
        """Update each cluster's medoid to minimize its cost together with its sets; clusters keep different medoids.

        ``prices`` (f, n) is the cost of every object as the medoid of each set.
        """
        c, member = self.focal.n_clusters, self.focal.membership[self.focal.n_clusters :].astype(bool)
        sizes = self.focal.cardinalities[c:, None]
        by_set = prices[c:] / (1.0 + self.gamma)
        own = prices[:c] + self.gamma * (member / sizes).T @ by_set

        def total(medoids: Indices) -> float:
            places = medoids[c:, None]
            return float(own[np.arange(c), medoids[:c]].sum() + np.take_along_axis(by_set, places, 1).sum())

        paid = total(medoids)
        for k in range(c):
            costs = own[k].copy()
            for a in np.flatnonzero(member[:, k]):
                others = [j for j in self.focal.sets[c + a] if j != k]
                costs += by_set[a, self._followed(medoids[others])]
            costs[np.delete(medoids[:c], k)] = np.inf
            clusters = medoids[:c].copy()
            clusters[k] = self.ranking.cheapest(costs, medoids[:c])
            tried = self._with_sets(clusters)
            if total(tried) < paid * (1.0 - SAME):
                medoids, paid = tried, total(tried)
        return medoids

    def _followed(self, others: Indices) -> Indices:
        """Return the set's medoid (n,) for each object as the medoid of one more cluster besides ``others``."""
        d, many = self.ranking.dissimilarities, len(others) + 1
        rows = d[others]
        mean = (d + rows.sum(0)) / many
        spread = (np.square(d) + np.square(rows).sum(0)) / many - np.square(mean)
        places: Indices = (spread + self.eta * mean).argmin(1)
        return places


def alike(views: Floats) -> Floats:
    """Return the sum of the views (n, n), each divided by its maximum; independent of the order of rows."""
    largest = views.max((1, 2), keepdims=True)
    total: Floats = (views / np.where(largest > 0, largest, 1.0)).sum(0)
    return total


def shared(each: Tensor, shares: Tensor, focal: FocalSets, alpha: float, beta: float, price: float) -> Shares:
    """Return the masses for dissimilarities (views, n, f) weighted by ``shares`` (f, views)."""
    total = torch.einsum("lnf,fl->nf", each, shares)
    cost = mass_cost(focal, alpha, beta, np.sqrt(price), like=total)
    return replace(cost.select(0), delta2=torch.tensor(price, dtype=total.dtype)).shares(total)


def mecmdd(
    problem: ViewMedoids, start: Indices, *, max_iter: int, tol: float, stop: NDArray[np.bool_] | None = None
) -> MedoidRun:
    """Run from the objects ``start`` (c,) until medoids and objective repeat earlier ones."""
    state = best = problem.begin(start)
    history, converged = [state.objective], False
    seen = {state.medoids.tobytes(): state.objective}
    while not converged and len(history) <= max_iter and not (stop is not None and stop[0]):
        state = problem.step(state)
        before = seen.get(state.medoids.tobytes(), np.inf)
        converged = abs(before - state.objective) <= tol * abs(state.objective)
        seen[state.medoids.tobytes()] = state.objective
        history.append(state.objective)
        best = state if state.objective <= best.objective else best
    return MedoidRun(best, np.asarray(history), converged)
