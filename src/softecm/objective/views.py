r"""Soft-ECM over several views with weights learned with the clusters.

.. math::
    J = \sum_{iA} |A|^\alpha m_i(A)^\beta \sum_l u_{Al}\, d_l(x_i, v_A)
      + \lambda \sum_A \sum_{k \in A} \sum_l u_{Al}\, d_l(v_k, v_A)
      + \delta^2 \sum_i m_i(\emptyset)^\beta \sum_l \bar u_l + \text{cost of the weights}

where :math:`u` are the effective weights and :math:`\bar u` their mean over clusters. The cost of the empty set
includes the weights: for an object without a view both sides skip it, and every step stays exact. An iteration updates
weights, then prototypes view by view, then masses; each lowers J. Views whose barycentres are means take the exact
step; the others descend only as far as J decreases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from softecm.distances.base import SemiMetric, blocks
from softecm.distances.views import Combined
from softecm.distances.weighted_parts import CLUSTER, SET, Weighing
from softecm.objective.equations import MassCost, set_members
from softecm.objective.problem import (
    Gap,
    Relaxation,
    arms_of,
    completed_starts,
    set_barycenters,
    single_means,
    solved,
)
from softecm.optim import Batch, along
from softecm.spaces.views import EncodedViews, split_views

BACKTRACKS = 30
ROUNDING = 1e-12  # of the objective


@dataclass(frozen=True)
class ViewsState(Batch):
    """A batch of runs between two iterations."""

    free: Tensor  # (runs, q, width)
    prototypes: Tensor  # (runs, f, width)
    weights: Tensor  # (runs, rows, views)
    shares: Tensor  # (runs, f, views), factors of the distances
    dispersions: Tensor  # (runs, f, views), of objects and of prototypes around their sets'
    empty: Tensor  # (runs, views), powers of the empty set's masses, of the objects that have a view
    curvature: Tensor  # (runs, f, width)
    moment: Tensor  # (runs, f, width), the gradient if a view has no exact step
    masses: Tensor  # (runs, n, f + 1)
    objective: Tensor
    constraint: Tensor
    change: Tensor
    SUFFICIENT: ClassVar[tuple[str, ...]] = ("free", "weights")

    @property
    def extras(self) -> Mapping[str, Tensor]:
        """The weights."""
        return {"view_weights": self.shares}


@dataclass(frozen=True)
class ViewsProblem:
    """The problem of a batch of runs; ``metric`` is fitted and has the initial weights."""

    metric: Combined
    weighing: Weighing
    x: EncodedViews
    cost: MassCost
    relaxation: Relaxation
    tol: float
    #: (views,), factors of delta^2 in each view; None: delta^2 does not depend on the weights
    deltas: Tensor | None = None
    rises: ClassVar[str] = "refused"

    @property
    def exact(self) -> bool:
        """Whether all views have an exact step."""
        return all(part.closed_form.quadratic for part in self.metric.parts)

    @property
    def patience(self) -> int:
        """Inexact steps may be short by chance."""
        return 1 if self.exact else 2

    @property
    def races(self) -> bool:
        """Iterations with an exact step are cheap."""
        return not self.exact

    @property
    def rows(self) -> int:
        """Number of rows of weights."""
        focal = self.relaxation.focal
        return {CLUSTER: focal.n_clusters, SET: len(focal)}.get(self.weighing.of, 1)

    @property
    def totals(self) -> Tensor:
        """Total spread (views,) of the objects in each view, in units of distance."""
        weight = float(len(self.x)) if self.cost.weights is None else float(self.cost.weights.sum())
        each = [weight * size / unit for size, unit in zip(self.metric.spreads, self.metric.units, strict=True)]
        return self.cost.beta.new_tensor(each)

    @property
    def temperature(self) -> float:
        """Temperature of the rule "entropy"."""
        return self.weighing.temperature * float(self.totals[self.differing].mean())

    @property
    def differing(self) -> Tensor:
        """Indices of the weighted views: those in which objects differ."""
        distinct = self.totals.nonzero()[:, 0]
        return distinct if len(distinct) else torch.arange(len(self.totals), device=self.totals.device)

    def _spread_out(self, weights: Tensor) -> Tensor:
        """Return weights (..., differing) expanded to all views; the others have none."""
        every = weights.new_zeros(*weights.shape[:-1], len(self.totals))
        every[..., self.differing] = weights
        return every

    # ---------------------------------------------------------------- weights

    def effective(self, weights: Tensor) -> Tensor:
        """Return the factors of the distances (runs, f, views), from weights (runs, rows, views)."""
        raised = self.weighing.effective(weights)
        if self.weighing.of == CLUSTER:
            return torch.einsum("fc,rcl->rfl", self.relaxation.means().to(raised), raised)
        return raised.expand(-1, len(self.relaxation.focal), -1)

    def inside(self, weights: Tensor) -> Tensor:
        """Return the cost of the empty set in each view (runs, views)."""
        if self.deltas is None:
            return weights.new_zeros(len(weights), weights.shape[-1])
        mean = self.weighing.effective(weights).mean(1).clamp_min(torch.finfo(weights.dtype).tiny)
        return self.cost.delta2[:, None] * self.deltas * mean

    def weighed(self, state: ViewsState) -> Tensor:
        """Return the best weights (runs, rows, views) for a state's masses and prototypes."""
        fixed = self.weighing.regular * self.totals
        if self.deltas is not None:
            there = torch.isfinite(self.cost.delta2)
            fixed = fixed + torch.where(there, self.cost.delta2, 0.0)[:, None] * self.deltas * state.empty
        each = state.dispersions.sum(1, keepdim=True)
        if self.weighing.of == CLUSTER:
            each = torch.einsum("fc,rfl->rcl", self.relaxation.means().to(each), state.dispersions)
        elif self.weighing.of == SET:
            each = state.dispersions
        paid = (each + fixed.reshape(-1, 1, fixed.shape[-1]) / self.rows)[..., self.differing]
        return self._spread_out(self.weighing.best(paid, self.temperature))

    def at_weights(self, state: ViewsState, weights: Tensor) -> Tensor:
        """Return the objective (runs,) of a state with other weights."""
        return state.objective - self._of_weights(state, state.weights) + self._of_weights(state, weights)

    def _of_weights(self, state: ViewsState, weights: Tensor) -> Tensor:
        """Return the part of the objective that depends on the weights."""
        empty = torch.where(state.empty > 0, self.inside(weights) * state.empty, 0.0)
        return (self.effective(weights) * state.dispersions).sum((1, 2)) + empty.sum(1) + self._regular(weights)

    def _regular(self, weights: Tensor) -> Tensor:
        mean = self.weighing.effective(weights).mean(1)
        return self.weighing.regular * (mean * self.totals).sum(1) + self.weighing.price(weights, self.temperature)

    # ---------------------------------------------------------------- the loop

    def begin(self, start: Tensor) -> ViewsState:
        """Begin with the clusters' starts (runs, c, width), or all of them, and equal weights."""
        free = completed_starts(self.metric, self.relaxation.focal, start, self.relaxation.n_free)
        weights = self._spread_out(self.weighing.begin(self.rows, len(self.differing), start))
        return self.at(free, weights.expand(len(start), -1, -1).contiguous(), None)

    def resumed(self, tensors: Mapping[str, Tensor]) -> ViewsState:
        """Return the state that follows from prototypes and weights."""
        return self.at(tensors["state.free"], tensors["state.weights"], None)

    def step(self, state: ViewsState) -> ViewsState:
        """Update weights, prototypes (eq. 8) and masses (eq. 7)."""
        weights = self.weighed(state)
        moved = self._moved(state, self.effective(weights))
        new = self.at(moved, weights, state)
        if self.exact:
            return new
        most = self.at_weights(state, weights) * (1.0 + ROUNDING)
        reach = torch.ones_like(most)
        for _ in range(BACKTRACKS):
            worse = ~(new.objective <= most)
            if not bool(worse.any()):
                return new
            reach = torch.where(worse, 0.4 * reach, reach)
            nearer = state.free + along(reach, moved) * (moved - state.free)
            new = new.merged(self.at(nearer, weights, state), worse)
        return new.merged(self.at(state.free, weights, state), ~(new.objective <= most))

    def select(self, runs: Tensor) -> ViewsProblem:
        """Return some of the runs."""
        relaxation = replace(self.relaxation, lam=self.relaxation.lam[runs])
        return replace(self, cost=self.cost.select(runs), relaxation=relaxation)

    # ---------------------------------------------------------------- masses

    def at(self, free: Tensor, weights: Tensor, before: ViewsState | None) -> ViewsState:
        """Return masses and objective for given prototypes and weights."""
        with torch.no_grad():
            prototypes = self.relaxation.expand(free)
            shares = self.effective(weights)
            seen = self._seen(prototypes, shares, self.inside(weights))
            ties = self._ties(prototypes)
        constraint = (shares * ties).sum((1, 2))
        objective = seen.cost + constraint + self._regular(weights)
        change = torch.full_like(objective, torch.inf)
        if before is not None:
            change = (seen.masses - before.masses).abs().amax((1, 2))
        weighed = free, prototypes, weights, shares, seen.dispersions + ties, seen.empty
        return ViewsState(*weighed, seen.curvature, seen.moment, seen.masses, objective, constraint, change)

    def _seen(self, prototypes: Tensor, shares: Tensor, inside: Tensor) -> _Seen:
        """Run one pass over the objects, block by block."""
        flat = prototypes.flatten(0, 1)
        seen = [self._seen_block(rows, flat, prototypes, shares, inside) for rows in blocks(self.x, flat)]
        total = seen[0]
        for part in seen[1:]:
            total = total.plus(part)
        return total

    def _seen_block(self, rows: slice, flat: Tensor, prototypes: Tensor, shares: Tensor, inside: Tensor) -> _Seen:
        block, (runs, f) = self.x[rows], prototypes.shape[:2]
        counts = flat.new_ones(len(block)) if self.cost.weights is None else self.cost.weights[rows]
        each, present, sums = self.metric.part_distances(block, flat, rows.start)
        each = each.reshape(len(block), runs, f, -1)
        there = each.new_ones(len(block), each.shape[-1]) if present is None else present
        price = self.cost.delta2 if self.deltas is None else self._empty_price(there, inside)
        shared = replace(self.cost, delta2=price).shares((each * shares).sum(-1))
        held = shared.weights * counts[:, None, None]
        empty = counts[:, None] * shared.masses[..., 0] ** self.cost.beta
        curvature, moment, _ = sums(held.flatten(1))
        return _Seen(
            (shared.cost * counts[:, None]).sum(0),
            torch.einsum("nrf,nrfl->rfl", held, each),
            torch.einsum("nr,nl->rl", empty, there),
            curvature.expand_as(moment).reshape(prototypes.shape),
            moment.reshape(prototypes.shape),
            shared.masses.transpose(0, 1),
        )

    @staticmethod
    def _empty_price(there: Tensor, inside: Tensor) -> Tensor:
        """Return each object's cost (n, runs) of the empty set: in the views it has."""
        price = torch.where(there[:, None] > 0, inside, 0.0).sum(-1)
        return price.clamp_min(torch.finfo(price.dtype).tiny)

    # ---------------------------------------------------------------- prototypes

    def _moved(self, state: ViewsState, shares: Tensor) -> Tensor:
        """Return the free prototypes after one step, view by view, with new weights."""
        shapes, focal = self.metric.shapes, self.relaxation.focal
        if self.exact and len(focal) == focal.n_clusters:  # no ties, and weights don't matter
            return single_means(state.curvature, state.moment, state.free)
        views = zip(
            self.metric.parts,
            split_views(state.free, shapes),
            split_views(state.curvature, shapes),
            split_views(state.moment, shapes),
            self.metric.units,
            strict=True,
        )
        moved = []
        for view, (part, free, curvature, moment, unit) in enumerate(views):
            own = along_sets(shares[..., view], moment)
            if part.closed_form.quadratic:
                tie = self._tie_matrix(shares[..., view] / unit)
                flat = (own * curvature).flatten(2), (own * moment).flatten(2), free.flatten(2)
                means = self.relaxation.means() if self.relaxation.n_free < moment.shape[1] else None
                moved.append(solved(*flat, means, tie).reshape(free.shape))
            else:
                slope = own * moment + self._tie_slope(part, free, shares[..., view] / unit)
                moved.append(free - self._reach(slope, own * curvature, state, view) * slope)
        return torch.cat([part.flatten(2) for part in moved], 2)

    def _reach(self, slope: Tensor, curvature: Tensor, state: ViewsState, view: int) -> Tensor:
        """Return the step length against a slope: half over the curvature."""
        folded = curvature + along_sets(self._tie_bound(state.shares[..., view] / self.metric.units[view]), slope)
        least = 1e-9 * folded.flatten(1).amax(1).clamp_min(torch.finfo(slope.dtype).tiny * 1e9)
        return 0.5 / torch.maximum(folded, along(least, folded))

    def _tie_bound(self, shares: Tensor) -> Tensor:
        """Return the curvature (runs, f) added by the constraint: a cluster and its set move at the same time."""
        clusters, sets = set_members(self.relaxation.focal, shares.device)
        paid = 2.0 * self.relaxation.lam[:, None] * shares[:, sets]
        return torch.zeros_like(shares).index_add(1, sets, paid).index_add(1, clusters, paid)

    def _tie_matrix(self, shares: Tensor) -> Tensor:
        """Return the constraint as a quadratic form (runs, f, f), each set's part times its view's weight (runs, f)."""
        kind, focal = type(self.relaxation), self.relaxation.focal
        arms, prices = arms_of(kind, focal, shares.dtype, shares.device)
        if not len(arms):
            return shares.new_zeros(len(shares), len(focal), len(focal))
        paid = self.relaxation.lam[:, None] * prices * shares[:, set_of_arms(arms, focal.n_clusters)]
        return torch.einsum("af,ra,ag->rfg", arms, paid, arms)

    def _ties(self, prototypes: Tensor) -> Tensor:
        """Return the cost of the constraint before weights, per set and view (runs, f, views)."""
        places = split_views(prototypes, self.metric.shapes)
        each = [
            self._tie(part, at) / unit
            for part, at, unit in zip(self.metric.parts, places, self.metric.units, strict=True)
        ]
        return torch.stack(each, -1)

    def _tie(self, part: SemiMetric, places: Tensor) -> Tensor:
        """The same in one view (runs, f)."""
        runs, f = places.shape[:2]
        zero = places.new_zeros(runs, f)
        clusters, sets = set_members(self.relaxation.focal, places.device)
        if not len(sets) or self.relaxation.n_free < f:  # no cost
            return zero
        if part.closed_form.quadratic:  # from differences, to avoid cancellation
            arms, prices = arms_of(type(self.relaxation), self.relaxation.focal, places.dtype, places.device)
            differences = torch.einsum("af,rf...->ra...", arms, places)
            each = prices * (part.closed_form.tensor(differences) * differences).flatten(2).sum(2)
            sets = set_of_arms(arms, self.relaxation.focal.n_clusters)
        else:
            ends = places[:, clusters].flatten(0, 1), places[:, sets].flatten(0, 1)
            each = part.paired(*ends).clamp_min(0.0).reshape(runs, -1)
            if isinstance(self.relaxation, Gap):
                each = each - self._least(part, places, clusters, sets)
        cost = zero.index_add(1, sets, self.relaxation.lam[:, None] * each)
        return cost.clamp_min(0.0)

    def _least(self, part: SemiMetric, places: Tensor, clusters: Tensor, sets: Tensor) -> Tensor:
        """Return distances of clusters to the best prototypes of their sets (runs, members)."""
        c = self.relaxation.focal.n_clusters
        best = set_barycenters(part, self.relaxation.focal, places[:, :c].detach(), None).detach()
        ends = places[:, clusters].flatten(0, 1), best[:, sets - c].flatten(0, 1)
        return part.paired(*ends).reshape(len(places), -1)

    def _tie_slope(self, part: SemiMetric, places: Tensor, shares: Tensor) -> Tensor:
        """Return the derivative of the constraint's cost in one view."""
        leaf = places.detach().requires_grad_()
        with torch.enable_grad():
            cost = (shares * self._tie(part, leaf)).sum()
        if not cost.requires_grad:
            return torch.zeros_like(places)
        (slope,) = torch.autograd.grad(cost, leaf)
        return slope


@dataclass(frozen=True)
class _Seen:
    """The result of one pass over some objects."""

    cost: Tensor  # (runs,)
    dispersions: Tensor  # (runs, f, views)
    empty: Tensor  # (runs, views)
    curvature: Tensor  # (runs, f, width)
    moment: Tensor
    masses: Tensor  # (runs, n, f + 1)

    def plus(self, other: _Seen) -> _Seen:
        """Return the sum of two blocks."""
        return _Seen(
            self.cost + other.cost,
            self.dispersions + other.dispersions,
            self.empty + other.empty,
            self.curvature + other.curvature,
            self.moment + other.moment,
            torch.cat([self.masses, other.masses], 1),
        )


def along_sets(values: Tensor, like: Tensor) -> Tensor:
    """Return one value per run and set (runs, f), shaped to multiply prototypes (runs, f, *shape) of one view."""
    return values.reshape(*values.shape, *(1,) * (like.ndim - 2))


def set_of_arms(arms: Tensor, n_clusters: int) -> Tensor:
    """Return the set of each difference between prototypes."""
    return arms[:, n_clusters:].abs().argmax(1) + n_clusters
