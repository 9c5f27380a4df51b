"""Soft-ECM with must-links and cannot-links, for any semi-metric: eq. 6 plus the cost of the links.

Objects without a link keep the closed form of eq. 7 (and the metric's compiled pass); linked ones are solved block by
block (``links.Links.descend``), from the previous masses. The prototype step depends only on the resulting weights, so
it is the same exact step or descent as without links.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from softecm._text import place, some_of
from softecm.belief import CredalPartition, FocalSets
from softecm.constraints import Constraints, check_constraints
from softecm.distances.base import SemiMetric, blocks, check_distances
from softecm.objective.equations import MassCost, Totals, measured
from softecm.objective.links import Links
from softecm.objective.problem import SoftECMProblem
from softecm.optim import Evaluation, State
from softecm.spaces.base import Encoded
from softecm.spaces.column_roles import names_of

logger = logging.getLogger("softecm")

BROKEN = "%d of %d pairs of %s are violated: %s. Check them for mistakes; a larger %s enforces more"
MOST_NAMED = 5  # violated pairs
ON_PROTOTYPE = 1e-12  # of an object's largest distance: replaces a distance of 0, so that shares are defined


def linked_masses(
    distances: Tensor, cost: MassCost, links: Links, last: Tensor | None, tol: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Return masses (m, runs, f + 1) of linked objects at distances (m, runs, f), weights (m, runs, f) and costs (runs,).

    ``cost.weights`` are those of the linked objects; ``last`` are the previous masses.
    """
    floor = (ON_PROTOTYPE * distances.amax(-1, keepdim=True)).clamp_min(torch.finfo(distances.dtype).tiny ** 0.5)
    priced = cost.factors * torch.maximum(distances, floor)
    empty = cost.delta2[:, None].expand(*distances.shape[:2], 1)
    a = torch.cat([empty, priced], -1)
    if cost.weights is not None:
        # Objects with weight 0 don't influence the fit but need masses, which the links alone must not decide.
        a = a * cost.weights[:, None, None].clamp_min(1e-12)
    closed = cost.shares(distances).masses
    masses = links.descend(a, cost.beta, closed, last, max(1e-3 * tol, 1e-13))
    raised = masses ** cost.beta[:, None]
    weights = cost.factors * raised[..., 1:]
    data = torch.where(masses > 0, a * raised, 0.0)  # inf * 0 without an empty set
    if cost.weights is not None:
        weights = weights * cost.weights[:, None, None]
    return masses, weights, data.sum((0, -1)) + links.cost(masses)


@dataclass(frozen=True)
class LinkedProblem(SoftECMProblem):
    """A Soft-ECM problem with some linked objects; ``x`` and ``cost`` are those of the others."""

    linked_x: Encoded = field(kw_only=True)
    linked_cost: MassCost = field(kw_only=True)  # with their weights
    links: Links = field(kw_only=True)

    @classmethod
    def of(cls, problem: SoftECMProblem, links: Links) -> LinkedProblem:
        """Return the problem with links between some of its objects."""
        n = len(problem.x)
        links = links.to(problem.cost.factors.device)
        free = torch.ones(n, dtype=torch.bool, device=links.rows.device)
        free[links.rows] = False
        others = free.nonzero()[:, 0]
        w = problem.cost.weights
        part = replace(problem.cost, weights=None if w is None else w[others])
        if len(others) == 0:  # keep one of the linked objects, without weight
            others = links.rows[:1]
            part = replace(part, weights=problem.cost.factors.new_zeros(1))
        linked = replace(problem.cost, weights=None if w is None else w[links.rows])
        x = cast(Encoded, problem.x)  # objects in blocks can't be linked: the caller has checked
        # Linked masses depend on the path: every start is followed to its end.
        changed = vars(problem) | {"x": x[others], "cost": part, "races": False}
        return cls(**changed, linked_x=x[links.rows], linked_cost=linked, links=links)

    def at(self, free: Tensor, before: State | None = None) -> State:
        """Return masses and objective at the given prototypes; linked objects start from their previous masses."""
        state = super().at(free, self._of_rest(before))
        last = None if before is None or before.own_masses is None else before.own_masses.transpose(0, 1)
        linked = self._linked(state.prototypes, last)
        own, rest = linked.masses, state.evaluation.masses
        assert own is not None  # so few are in memory
        masses = own if rest is None else torch.cat([own, rest], 1)
        evaluation = replace(state.evaluation.plus(linked), masses=masses)
        objective = state.objective + (evaluation.cost - state.evaluation.cost)
        joined = replace(state, evaluation=evaluation, objective=objective, own_masses=own)
        if not self.solver.descends:
            return replace(joined, gradient=evaluation.gradient)
        leaf = free.detach().requires_grad_()
        with torch.enable_grad():
            expanded = self.relaxation.expand(leaf)
        added = evaluation.gradient - state.evaluation.gradient
        gradient = state.gradient + self._pull_back(added, leaf, expanded)
        return replace(joined, gradient=gradient, scale=self._scale(evaluation.curvature, state.prototypes))

    def _of_rest(self, state: State | None) -> State | None:
        """Return the state of the objects without links."""
        if state is None:
            return None
        m, masses = len(self.links.rows), state.evaluation.masses
        own = None if masses is None or masses.shape[1] == m else masses[:, m:]
        return replace(state, evaluation=replace(state.evaluation, masses=own))

    def _linked(self, prototypes: Tensor, last: Tensor | None) -> Evaluation:
        """Return cost and derivative of the linked objects' part."""
        runs, f = prototypes.shape[:2]
        flat = prototypes.flatten(0, 1)
        cuts = blocks(self.linked_x, flat)
        parts = [measured(self.metric, self.linked_x[rows], flat) for rows in cuts]
        for rows, (d, _) in zip(cuts, parts, strict=True):
            check_distances(self.metric, d, rows.stop - rows.start, runs * f, rows.start)
        distances = torch.cat([d.detach() for d, _ in parts]).clamp_min(0.0).reshape(-1, runs, f)
        masses, weights, cost = linked_masses(distances, self.linked_cost, self.links, last, self.tol)
        totals = Totals.empty(prototypes, None, slopes=True)
        totals.cost, totals.masses = cost, [masses.transpose(0, 1)]
        for rows, (_, derivative) in zip(cuts, parts, strict=True):
            totals.add(derivative(weights[rows].flatten(1)))
        if last is not None:
            totals.change = (masses - last).abs().amax((0, 2))
        return totals.evaluation(self.metric, prototypes)

    def fixed(self, state: State) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
        """Return eq. 8 as a function of the free prototypes, with the state's masses."""
        if self.metric.closed_form.quadratic:
            return super().fixed(state)
        alone = self._of_rest(state)
        assert alone is not None
        others = super().fixed(alone)
        runs, f = state.prototypes.shape[:2]
        assert state.own_masses is not None
        masses = state.own_masses[..., 1:].transpose(0, 1)
        weights = self.linked_cost.factors * masses ** self.linked_cost.beta[:, None]
        if self.linked_cost.weights is not None:
            weights = weights * self.linked_cost.weights[:, None, None]

        def cost(free: Tensor) -> tuple[Tensor, Tensor]:
            value, gradient = others(free)
            leaf = free.detach().requires_grad_()
            with torch.enable_grad():
                expanded = self.relaxation.expand(leaf)
            flat = expanded.detach().flatten(0, 1)
            slope = torch.zeros_like(flat)
            for rows in blocks(self.linked_x, flat):
                terms, part = _gradient(self.metric, self.linked_x[rows], flat, weights[rows].reshape(-1, runs * f))
                value = value + terms.reshape(runs, f).sum(1)
                slope += part
            return value, gradient + self._pull_back(slope.reshape(expanded.shape), leaf, expanded)

        return cost

    def select(self, runs: Tensor) -> LinkedProblem:
        """Return some of the runs."""
        return replace(super().select(runs), linked_cost=self.linked_cost.select(runs))


@dataclass(frozen=True)
class Pairs(ABC):
    """Constraints on pairs of objects, and their cost in an algorithm."""

    must_link: ArrayLike | None
    cannot_link: ArrayLike | None

    @property
    def some(self) -> bool:
        """Whether any pair is given."""
        return self.must_link is not None or self.cannot_link is not None

    @abstractmethod
    def links(self, focal: FocalSets, counts: NDArray[np.float64], spread: float, dtype: torch.dtype) -> Links | None:
        """Return validated links between objects of these weights and mean distance to their barycentre."""


@dataclass(frozen=True)
class WeightedPairs(Pairs):
    """Links that each cost ``weight`` times the objects' mean distance to the barycentre of all if violated."""

    weight: float

    @property
    def some(self) -> bool:
        """Whether any pair with a positive cost is given."""
        return super().some and self.weight != 0

    def links(self, focal: FocalSets, counts: NDArray[np.float64], spread: float, dtype: torch.dtype) -> Links | None:
        """Costs are in units of distances; mass on the empty set violates a must-link like mass on another cluster."""
        price = spread * self.weight
        constraints = check_constraints(self.must_link, self.cannot_link, len(counts))
        return Links.make(constraints, focal, price, price, empty=0.0, dtype=dtype)


def with_linked(partition: CredalPartition, links: Links, masses: Tensor, run: int) -> CredalPartition:
    """Replace the masses of the linked objects by their own (runs, m, f + 1), which prototypes alone don't determine."""
    table = partition.masses.copy()
    rows = links.rows.numpy()
    table[rows] = masses[run, : len(rows)].double().cpu().numpy()
    return CredalPartition(table, partition.focal_sets)


def say_broken(partition: CredalPartition, links: Constraints, weight: str, X: object) -> None:
    """Log a line if linked pairs violate their links; ``weight`` is the parameter to increase."""
    labels = partition.labels()
    for name, ends, wanted in zip(links._fields, links, (True, False), strict=True):
        broken = ends[(labels[ends[:, 0]] == labels[ends[:, 1]]) != wanted]
        if len(broken):
            names = names_of(X)
            shown = broken[: MOST_NAMED + 1].tolist()
            pairs = [
                " and ".join(place("object", i) if names is None else str(names[i]) for i in pair) for pair in shown
            ]
            logger.warning(BROKEN, len(broken), len(ends), name, some_of(pairs, MOST_NAMED), weight)


def _gradient(metric: SemiMetric, x: Encoded, flat: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Return weighted sums of distances (k,) and their derivative (k, *shape)."""
    leaf = flat.detach().requires_grad_()
    with torch.enable_grad():
        d = metric.pairwise(x, leaf)
    (gradient,) = torch.autograd.grad(d, leaf, weights)
    return (d.detach().clamp_min(0.0) * weights).sum(0), gradient
