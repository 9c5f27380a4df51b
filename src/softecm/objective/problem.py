"""The relaxed problem of eq. 6 for a batch of runs, as seen by solvers, with the relaxations of eq. 4.

A relaxation of "a set's prototype is the barycentre of its clusters' prototypes" defines which prototypes are free and
the cost of the constraint; if barycentres are means, this is a matrix, and the prototype step is one linear system.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import ClassVar, NamedTuple, Self

import torch
from torch import Tensor

from softecm.belief.focal import FocalSets
from softecm.distances.base import SemiMetric, distances_of
from softecm.kernels.descent import factors
from softecm.objective.equations import MassCost, Previous, evaluate, inertia, set_members, set_starts, with_masses
from softecm.objective.pull import PrototypePull
from softecm.optim import (
    Descent,
    Evaluation,
    GradientDescent,
    Solver,
    State,
    differentiated,
    from_tensors,
    minimise_small,
)
from softecm.spaces.base import Encoded
from softecm.spaces.scattered import Block, Scattered


class ConstraintCost(NamedTuple):
    """The cost of the constraint at given prototypes, and its derivative."""

    cost: Tensor  # (runs,)
    gradient: Tensor  # (runs, f, *shape)
    inner: Tensor | None  # (runs, sets, *shape): barycentres, to start from in the next iteration


@dataclass(frozen=True)
class Relaxation(ABC):
    """A way to enforce the constraint. ``lam`` is (runs,)."""

    metric: SemiMetric
    focal: FocalSets
    lam: Tensor
    name: ClassVar[str]

    @property
    def n_free(self) -> int:
        """Number of free prototypes: all of them, or only the clusters'."""
        return len(self.focal)

    @property
    def has_sets(self) -> bool:
        """Whether there are sets of several clusters; without them there is nothing to expand or penalize."""
        return len(self.focal) > self.focal.n_clusters

    def expand(self, free: Tensor) -> Tensor:
        """Return all prototypes (runs, f, *shape) from the free ones."""
        return free

    def constraint(self, prototypes: Tensor, inner: Tensor | None = None) -> ConstraintCost:
        """Return cost and derivative of the constraint."""
        return self._quadratic(prototypes) if self.metric.closed_form.quadratic else self._general(prototypes, inner)

    @abstractmethod
    def _general(self, prototypes: Tensor, inner: Tensor | None) -> ConstraintCost:
        """Return cost and derivative from the metric's values alone."""

    def _quadratic(self, prototypes: Tensor) -> ConstraintCost:
        """The same for metrics whose barycentres are means, from differences to avoid cancellation."""
        arms, prices = arms_of(type(self), self.focal, self.lam.dtype, self.lam.device)
        differences = torch.einsum("af,rf...->ra...", arms, prototypes)
        tail = (1,) * (prototypes.ndim - 2)
        pull = self.metric.closed_form.tensor(
            differences * (self.lam[:, None] * prices).reshape(len(self.lam), -1, *tail)
        )
        cost = (pull * differences).flatten(1).sum(1)
        return ConstraintCost(cost, 2.0 * torch.einsum("af,ra...->rf...", arms, pull), None)

    def matrix(self) -> Tensor:
        """Return the cost of the constraint as a quadratic form (runs, f, f), for metrics whose barycentres are means."""
        arms, prices = arms_of(type(self), self.focal, self.lam.dtype, self.lam.device)
        return self.lam[:, None, None] * (arms.T * prices @ arms)

    @staticmethod
    @abstractmethod
    def arms(focal: FocalSets) -> tuple[Tensor, Tensor]:
        """Return, for those metrics, the differences (rows over all prototypes) with penalized squares, and their costs."""

    def means(self) -> Tensor:
        """Return the matrix (f, c) whose row A averages the clusters of A."""
        return torch.tensor(self.focal.shares, dtype=self.lam.dtype, device=self.lam.device)


class Penalty(Relaxation):
    """The paper's eq. 6: lambda times the inertia of the clusters' prototypes around their set's.

    It also attracts the clusters to each other: a large lambda merges all prototypes into one point.
    """

    name = "penalty"

    def _general(self, prototypes: Tensor, inner: Tensor | None) -> ConstraintCost:
        """Return inertia and its gradient."""
        direct = self._direct(prototypes.detach())
        if direct is not None:
            return direct
        leaf = prototypes.detach().requires_grad_()
        with torch.enable_grad():
            cost = self.lam * inertia(self.metric, leaf, *set_members(self.focal, leaf.device))
        return ConstraintCost(cost.detach(), _gradient(cost, leaf), None)

    def _direct(self, prototypes: Tensor) -> ConstraintCost | None:
        """The same from the metric's own derivatives, if it has them."""
        clusters, sets = set_members(self.focal, prototypes.device)
        if len(sets) == 0:
            return None
        gradients = self.metric.compiled.paired_gradients(
            prototypes[:, clusters].flatten(0, 1), prototypes[:, sets].flatten(0, 1)
        )
        if gradients is None:
            return None
        values, at_clusters, at_sets = gradients
        shape = (len(prototypes), len(sets), *prototypes.shape[2:])
        price = self.lam.reshape(-1, *(1,) * (prototypes.ndim - 1))
        gradient = torch.zeros_like(prototypes)
        gradient.index_add_(1, clusters, price * at_clusters.reshape(shape))
        gradient.index_add_(1, sets, price * at_sets.reshape(shape))
        return ConstraintCost(self.lam * values.reshape(shape[:2]).sum(1), gradient, None)

    @staticmethod
    def arms(focal: FocalSets) -> tuple[Tensor, Tensor]:
        """v_k - v_A for every cluster k of every set A."""
        clusters, sets = set_members(focal)
        arms = torch.zeros(len(clusters), len(focal), dtype=torch.float64)
        rows = torch.arange(len(clusters))
        arms[rows, clusters] = 1.0
        arms[rows, sets] = -1.0
        return arms, torch.ones(len(clusters), dtype=torch.float64)


class Gap(Relaxation):
    """Lambda times the inertia in excess of its minimum: zero exactly if the constraint holds.

    Merging clusters has no advantage, and lambda -> inf is the hard constraint.
    """

    name = "gap"

    def _general(self, prototypes: Tensor, inner: Tensor | None) -> ConstraintCost:
        """Return the gap, and its gradient with the inner minimizer fixed (envelope theorem)."""
        clusters, sets = set_members(self.focal, prototypes.device)
        if len(sets) == 0:
            return ConstraintCost(prototypes.new_zeros(len(prototypes)), torch.zeros_like(prototypes), None)
        best = self._inner(prototypes.detach(), inner)
        leaf = prototypes.detach().requires_grad_()
        with torch.enable_grad():
            arms = leaf[:, clusters].flatten(0, 1)
            least = self.metric.paired(arms, best[:, sets - self.focal.n_clusters].flatten(0, 1))
            gap = inertia(self.metric, leaf, clusters, sets) - least.reshape(len(leaf), -1).sum(1)
            cost = self.lam * gap
        return ConstraintCost(cost.detach().clamp_min(0.0), _gradient(cost, leaf), best)

    def _inner(self, prototypes: Tensor, start: Tensor | None) -> Tensor:
        """Return barycentres (runs, sets, *shape) of the clusters of each larger set."""
        return set_barycenters(self.metric, self.focal, prototypes[:, : self.focal.n_clusters], start)

    @staticmethod
    def arms(focal: FocalSets) -> tuple[Tensor, Tensor]:
        """v_A minus the mean of its clusters', |A| times."""
        c = focal.n_clusters
        members = torch.as_tensor(focal.membership[c:].copy(), dtype=torch.float64)
        sizes = members.sum(1)
        return torch.cat([-members / sizes[:, None], torch.eye(len(focal) - c, dtype=torch.float64)], 1), sizes


class Exact(Relaxation):
    """The hard constraint: only the clusters' prototypes are free, those of sets follow from them."""

    name = "exact"

    @property
    def n_free(self) -> int:
        """Number of clusters."""
        return self.focal.n_clusters

    def expand(self, free: Tensor) -> Tensor:
        """Append the sets' barycentres; differentiable."""
        if not self.has_sets:
            return free
        return torch.cat([free, set_barycenters(self.metric, self.focal, free, None)], 1)

    def _general(self, prototypes: Tensor, inner: Tensor | None) -> ConstraintCost:
        """No cost: the constraint holds."""
        return ConstraintCost(prototypes.new_zeros(len(prototypes)), torch.zeros_like(prototypes), None)

    @staticmethod
    def arms(focal: FocalSets) -> tuple[Tensor, Tensor]:
        """No penalized differences."""
        return torch.zeros(0, len(focal), dtype=torch.float64), torch.zeros(0, dtype=torch.float64)


@lru_cache(maxsize=128)
def arms_of(
    kind: type[Relaxation], focal: FocalSets, dtype: torch.dtype, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Return a relaxation's differences and costs as cached tensors."""
    arms, prices = kind.arms(focal)
    return arms.to(dtype=dtype, device=device), prices.to(dtype=dtype, device=device)


def _gradient(cost: Tensor, leaf: Tensor) -> Tensor:
    if not cost.requires_grad:
        return torch.zeros_like(leaf)
    (gradient,) = torch.autograd.grad(cost.sum(), leaf)
    return gradient


def has_barycenters(metric: SemiMetric, like: Tensor) -> bool:
    """Whether the metric has a closed form for barycentres, tested on prototypes of its shape (1, *shape)."""
    return metric.closed_form.barycenters(like, like.new_ones(1, len(like))) is not None


def distances_to_sets(metric: SemiMetric, focal: FocalSets, clusters: Tensor, distances: Tensor) -> Tensor:
    """Return distances (n, f) to all sets' prototypes from those (n, c) to one run's clusters (c, *shape).

    A set's prototype is the barycentre of its clusters'; it is not computed if the metric knows the distance to it.
    """
    members = torch.as_tensor(focal.membership[focal.n_clusters :].copy()).to(distances)
    if not len(members):
        return distances
    to_sets = metric.closed_form.to_means(distances, distances_of(metric, clusters, clusters).to(distances), members)
    if to_sets is None:
        name = metric.name or type(metric).__name__
        raise TypeError(f"metric {name} can't measure to sets from its clusters: its closed form needs to_means(...).")
    return torch.cat([distances, to_sets], 1)


def set_barycenters(
    metric: SemiMetric, focal: FocalSets, clusters: Tensor, start: Tensor | None, tol: float = 1e-14
) -> Tensor:
    """Return barycentres of the clusters of each larger set, (runs, c, *shape) -> (runs, f - c, *shape)."""
    runs, c = clusters.shape[:2]
    s = torch.as_tensor(focal.with_empty[1 + c :].copy(), dtype=clusters.dtype, device=clusters.device)
    closed = metric.closed_form.barycenters(clusters, s)
    if closed is not None:
        return closed
    parts = metric.separate(clusters)
    if len(parts) > 1:
        begun = [None] * len(parts) if start is None else [own for _, own in metric.separate(start)]
        each = [set_barycenters(part, focal, own, begin, tol) for (part, own), begin in zip(parts, begun, strict=True)]
        return torch.cat([one.flatten(2) for one in each], 2)
    from_clusters, sets = set_members(focal, clusters.device)
    arms = clusters[:, from_clusters].flatten(0, 1)
    if start is None:
        start = set_starts(metric, focal, clusters)

    def cost(candidates: Tensor) -> Tensor:
        ends = candidates[:, sets - c].flatten(0, 1)
        d = metric.paired(arms, ends).reshape(runs, -1)
        return d.sum(1)

    ends_of_run = torch.arange(runs, device=sets.device)[:, None] * len(s)
    which = (ends_of_run + (sets - c)).flatten()  # the set of each difference, among those of all runs

    pulls = metric.compiled.pulls(arms, which)

    def compiled(candidates: Tensor) -> tuple[Tensor, Tensor]:
        assert pulls is not None
        values, slopes = pulls(candidates.flatten(0, 1))
        return values.reshape(runs, -1).sum(1), slopes.reshape(candidates.shape)

    return minimise_small(differentiated(cost) if pulls is None else compiled, start, tol=tol)


RIDGE = 1e-13  # of the mean weight: keeps a cluster without mass, and a fixed point, in place
TINY = 1e-280  # for underflow of all weights
STIFF = 1e10  # times the weights: larger ties swamp them, and the plain solution has no digits left

RELAXATIONS: dict[str, type[Relaxation]] = {kind.name: kind for kind in (Penalty, Gap, Exact)}
#: Solvers by name; None: the exact step if the metric has one, otherwise the descent.
SOLVERS: dict[str, Solver | None] = {"auto": None, "gradient": GradientDescent(), "descent": Descent()}


@dataclass(frozen=True)
class SoftECMProblem:
    """The relaxed problem of eq. 6 for a batch of runs, as seen by solvers."""

    metric: SemiMetric
    x: Encoded | Scattered
    cost: MassCost
    relaxation: Relaxation
    solver: Solver
    tol: float
    patience: int  # the solver's
    races: bool
    pull: PrototypePull | None = None
    alone: bool = False  # single clusters by exact steps: only sums needed, no derivative
    rises: ClassVar[str] = "refused"

    def begin(self, start: Tensor) -> State:
        """Complete the clusters' starts (runs, c, *shape) with the sets', or take all of them (runs, f, *shape)."""
        free = start[:, : self.relaxation.n_free]
        if free.shape[1] < self.relaxation.n_free:
            free = completed_starts(self.metric, self.relaxation.focal, start, self.relaxation.n_free)
        return self.at(free)

    def resumed(self, tensors: Mapping[str, Tensor]) -> State:
        """Return the state of a checkpoint."""
        return from_tensors(State, tensors, "state")

    @property
    def step(self) -> Callable[[State], State]:
        """The solver's step: prototypes (eq. 8), then masses (eq. 7)."""
        return partial(self.solver.step, self)

    def at(self, free: Tensor, before: State | None = None) -> State:
        """Return masses (eq. 7) and objective at the given prototypes."""
        previous = None if before is None else Previous(before.prototypes, before.evaluation.masses)
        if self.alone:
            sums = evaluate(self.metric, self.x, free, self.cost, previous=previous, tol=self.tol, slopes=False)
            return State(free, free, sums, sums.cost, sums.gradient, None, None)
        leaf, pays = free.detach(), self.relaxation.has_sets
        expands = pays and self.solver.descends
        with torch.set_grad_enabled(expands):
            expanded = self.relaxation.expand(leaf.requires_grad_(expands))
        prototypes = expanded.detach()
        evaluation = evaluate(self.metric, self.x, prototypes, self.cost, previous=previous, tol=self.tol)
        if self.pull is not None:
            evaluation = self.pull.added(self.metric, evaluation, prototypes)
        objective, gradient, inner = evaluation.cost, evaluation.gradient, None
        if pays:
            constraint = self.relaxation.constraint(prototypes, None if before is None else before.inner)
            objective, inner = objective + constraint.cost, constraint.inner
            gradient = self._pull_back(gradient + constraint.gradient, leaf, expanded) if expands else gradient
        if not self.solver.descends:
            return State(free.detach(), prototypes, evaluation, objective, gradient, None, inner)
        factor = self._factor(evaluation, prototypes)
        scale = self._scale(evaluation.curvature, prototypes) if factor is None else None
        return State(free.detach(), prototypes, evaluation, objective, gradient, scale, inner, factor=factor)

    @staticmethod
    def _pull_back(gradient: Tensor, leaf: Tensor, expanded: Tensor) -> Tensor:
        """Return the derivative in the free prototypes from the one in all of them."""
        if expanded is leaf:
            return gradient
        return torch.autograd.grad(expanded, leaf, gradient)[0]

    def _scale(self, curvature: Tensor | None, prototypes: Tensor) -> Tensor | None:
        """Return the inverse curvature of a bound of the objective by coordinate: the length of the barycentre step."""
        if curvature is None:
            return None
        clusters, sets = set_members(self.relaxation.focal, curvature.device)
        c = self.relaxation.focal.n_clusters
        if self.relaxation.n_free < len(self.relaxation.focal):
            folded = curvature[:, :c].clone()
            shares = self.relaxation.means()[c:]  # |mean of steps|^2 <= mean of |step|^2
            folded += torch.einsum("ac,ra...->rc...", shares, curvature[:, c:])
        else:
            bound = torch.zeros(len(self.relaxation.focal), dtype=curvature.dtype, device=curvature.device)
            ones = torch.ones(len(sets), dtype=curvature.dtype, device=curvature.device)
            bound.index_add_(0, sets, ones).index_add_(0, clusters, ones)
            # |a - b|^2 <= 2 |a|^2 + 2 |b|^2: a cluster and its set move at the same time.
            per_unit = curvature / self._total_weights(curvature)
            tail = (1,) * (curvature.ndim - 2)
            folded = curvature + 2.0 * (self.relaxation.lam[:, None] * bound).reshape(-1, len(bound), *tail) * per_unit
        smallest = folded.amax(dim=tuple(range(1, folded.ndim)), keepdim=True) * 1e-9
        return 0.5 / torch.maximum(folded, smallest).clamp_min(torch.finfo(folded.dtype).tiny).expand(
            *folded.shape[:2], *prototypes.shape[2:]
        )

    def _factor(self, evaluation: Evaluation, prototypes: Tensor) -> Tensor | None:
        """Return the metric's curvature matrices (runs, c, L, L), for single clusters."""
        masses, curvature, focal = evaluation.masses, evaluation.curvature, self.relaxation.focal
        wanted = self.solver.stiff and self.cost.rule.is_power and len(focal) == focal.n_clusters
        if not wanted or masses is None or curvature is None:  # other rules have other weights
            return None
        held = masses[..., 1:] ** self.cost.beta.to(masses.device)[:, None, None]
        total = held.sum(1) if self.cost.weights is None else torch.einsum("n,rnf->rf", self.cost.weights, held)
        return stiff_factors(self.metric, prototypes, curvature, total.to(prototypes) * self.cost.factors)

    def _total_weights(self, curvature: Tensor) -> float:
        """Return the total weight of the objects, to turn a sum of curvatures into that of one object."""
        if isinstance(self.x, Scattered):
            n = self.x.weight
        else:
            n = float(len(self.x)) if self.cost.weights is None else float(self.cost.weights.sum())
        return max(1.0, n / curvature.shape[1])

    def solve(self, state: State) -> Tensor:
        """Solve eq. 8 for metrics whose barycentres are means: one symmetric system of the size of the free prototypes."""
        curvature, moment = state.evaluation.sums
        if self.alone:
            return single_means(curvature.double(), moment.double(), state.free.double()).to(state.free.dtype)
        follow = self.relaxation.n_free < moment.shape[1]  # no penalty, and no matrix of all sets
        means, tie = (self.relaxation.means(), None) if follow else (None, self.relaxation.matrix())
        free = solved(curvature.flatten(2), moment.flatten(2), state.free.flatten(2), means, tie)
        return free.reshape(state.free.shape).to(state.free.dtype)

    def fixed(self, state: State) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
        """Return eq. 8 as a function of the free prototypes, with the state's masses."""
        data = self._quadratic(state) if self.metric.closed_form.quadratic else self._weighted(state)

        def cost(free: Tensor) -> tuple[Tensor, Tensor]:
            leaf = free.detach().requires_grad_()
            with torch.enable_grad():
                expanded = self.relaxation.expand(leaf)
            value, gradient = data(expanded.detach())
            if self.pull is not None and not self.metric.closed_form.quadratic:  # whose sums hold it already
                price, slope = self.pull.cost(self.metric, expanded)
                value, gradient = value + price, gradient.clone()
                gradient[:, : slope.shape[1]] += slope
            constraint = self.relaxation.constraint(expanded.detach(), state.inner)
            return value + constraint.cost, self._pull_back(gradient + constraint.gradient, leaf, expanded)

        return cost

    def _quadratic(self, state: State) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
        curvature, moment = state.evaluation.sums

        def cost(v: Tensor) -> tuple[Tensor, Tensor]:
            shift = v - state.prototypes  # relative to the start, so that no large constant hides a small decrease
            slope = curvature * state.prototypes - moment
            value = ((curvature * shift + 2.0 * slope) * self.metric.closed_form.tensor(shift)).flatten(1).sum(1)
            return value, 2.0 * self.metric.closed_form.tensor(curvature * shift + slope)

        return cost

    def _weighted(self, state: State) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
        if isinstance(self.x, Scattered):
            scattered, metric, price = self.x, self.metric, self.cost

            def of_all(v: Tensor) -> tuple[Tensor, Tensor]:
                return scattered.total(
                    partial(_block_with_masses, metric=metric, cost=price, at=state.prototypes, v=v), _both
                )

            return of_all
        return with_masses(self.metric, self.x, self.cost, state.prototypes)

    def select(self, runs: Tensor) -> Self:
        """Return some of the runs."""
        relaxation = replace(self.relaxation, lam=self.relaxation.lam[runs])
        return replace(self, cost=self.cost.select(runs), relaxation=relaxation)


def solved(curvature: Tensor, moment: Tensor, old: Tensor, means: Tensor | None, tie: Tensor | None) -> Tensor:
    """Return the free prototypes (runs, q, p) that minimize a quadratic, coordinate by coordinate.

    Parameters
    ----------
    curvature, moment : (runs, f, 1 or p), (runs, f, p)
    old : (runs, q, p), kept in directions without cost
    means : (f, q), if the sets' prototypes are means of their clusters', the only free ones
    tie : (runs, f, f), the cost of the constraint, otherwise
    """
    w = curvature.transpose(1, 2).double()  # (runs, 1 or p, f)
    y = moment.transpose(1, 2).double()[..., None]  # (runs, p, f, 1)
    before = old.transpose(1, 2).double()[..., None]
    if means is not None:
        p = means.double()
        weight, y = (p.T * w[..., None, :]) @ p, p.T @ y
        ties = torch.zeros_like(weight)
    else:
        assert tie is not None
        weight, ties = torch.diag_embed(w), tie.double()[:, None]
    if weight.shape[1] == 1:  # one matrix for all coordinates
        return stationary(weight[:, 0], y[..., 0].transpose(1, 2), before[..., 0].transpose(1, 2), ties[:, 0])
    return stationary(weight, y, before, ties)[..., 0].transpose(1, 2)


def single_means(curvature: Tensor, moment: Tensor, old: Tensor) -> Tensor:
    """Return weighted means of single clusters; one without weight stays."""
    ridge = RIDGE * curvature.mean(1, keepdim=True) + TINY
    return (old * ridge).add_(moment).div_(curvature + ridge)


def completed_starts(metric: SemiMetric, focal: FocalSets, init: Tensor, n_free: int) -> Tensor:
    """Complete the clusters' starts with the sets': barycentres if cheap, otherwise means (Algorithm 1)."""
    if init.shape[1] >= n_free:
        return init[:, :n_free]
    if has_barycenters(metric, init[0, :1]):
        return torch.cat([init, set_barycenters(metric, focal, init, None)], 1)
    return torch.cat([init, set_starts(metric, focal, init)], 1)


def constraint_residual(metric: SemiMetric, focal: FocalSets, prototypes: Tensor) -> Tensor:
    """Return the share of the sets' inertia that the best barycentres would save, per run: 0 if eq. 4 holds."""
    clusters, sets = set_members(focal, prototypes.device)
    if len(sets) == 0:
        return prototypes.new_zeros(len(prototypes))
    c = focal.n_clusters
    with torch.no_grad():
        best = set_barycenters(metric, focal, prototypes[:, :c], None)
        now = inertia(metric, prototypes, clusters, sets)
        least = inertia(metric, torch.cat([prototypes[:, :c], best], 1), clusters, sets)
    return ((now - least) / now.clamp_min(torch.finfo(now.dtype).tiny)).clamp_min(0.0)


def _block_with_masses(
    block: Block, *, metric: SemiMetric, cost: MassCost, at: Tensor, v: Tensor
) -> tuple[Tensor, Tensor]:
    to = block.device
    value, gradient = with_masses(metric, block.objects, cost.of_block(block), at.to(to))(v.to(to))
    return value.cpu(), gradient.cpu()


def _both(a: tuple[Tensor, Tensor], b: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    return a[0] + b[0], a[1] + b[1]


def stationary(weight: Tensor, y: Tensor, old: Tensor, tie: Tensor | None = None) -> Tensor:
    """Return the solution v of ``(weight + tie) v = y``; that of ``old`` in directions without cost.

    Parameters
    ----------
    weight : (..., m, m)
        Positive semidefinite: the cost of objects. All of it may underflow.
    y, old : (..., m, k)
    tie : (..., m, m), optional
        Positive semidefinite: the cost of the constraint, of any magnitude.
    """
    scale = weight.diagonal(dim1=-2, dim2=-1).mean(-1)[..., None, None]
    ridge = RIDGE * scale + TINY
    eye = torch.eye(weight.shape[-1], dtype=weight.dtype, device=weight.device)
    whole = (weight if tie is None else weight + tie) + ridge * eye
    solved: Tensor
    solved, info = torch.linalg.solve_ex(whole, y + ridge * old)
    lost = (info != 0) | ~torch.isfinite(solved).all(-1).all(-1) | ~(scale[..., 0, 0] > 1e-200)
    if tie is not None:
        lost = lost | (tie.abs().amax((-2, -1)) > STIFF * scale[..., 0, 0])
    if not bool(lost.any()):
        return solved
    return torch.where(lost[..., None, None], _careful(weight, y, old, tie), solved)


def _careful(weight: Tensor, y: Tensor, old: Tensor, tie: Tensor | None) -> Tensor:
    """Compute a step from ``old`` in the eigenbasis of the ties, each direction in its own unit.

    The weights alone then decide directions that the ties leave free, even if they are 1e-200 times the ties.
    """
    size = weight.abs().amax((-2, -1), keepdim=True)
    unit = torch.where(size > 0, size, 1.0)
    weight, y = weight / unit, y / unit
    eye = torch.eye(weight.shape[-1], dtype=weight.dtype, device=weight.device)
    axes = eye.expand_as(weight)
    stiffness = weight.new_zeros(weight.shape[:-1])
    if tie is not None:
        top = tie.abs().amax((-2, -1), keepdim=True)
        values, axes = torch.linalg.eigh(tie / torch.where(top > 0, top, 1.0))
        values = torch.where(values > 1e-10, values, 0.0)  # the rest is rounding: a direction without cost
        # Limited to 1e100, so that nothing that follows overflows.
        stiffness = values * (top / unit).clamp_max(1e100)[..., 0]
        axes, stiffness = axes.expand_as(weight), stiffness.expand(weight.shape[:-1])
    turned = axes.mT @ weight @ axes + torch.diag_embed(stiffness)
    pull = axes.mT @ (y - weight @ old) - stiffness[..., None] * (axes.mT @ old)
    each = turned.diagonal(dim1=-2, dim2=-1)
    own = torch.where(each > 0, each, 1.0).rsqrt()
    free = (each > 0).to(own)
    balanced = own[..., None] * turned * own[..., None, :] * free[..., None] * free[..., None, :]
    step, info = torch.linalg.solve_ex(balanced + 1e-12 * eye, own[..., None] * free[..., None] * pull)
    step = torch.where((info == 0)[..., None, None] & torch.isfinite(step), step, 0.0)
    return old + axes @ (own[..., None] * step)


def stiff_factors(metric: SemiMetric, prototypes: Tensor, curvature: Tensor, weights: Tensor) -> Tensor | None:
    """Return upper Cholesky factors (runs, f, L, L) of the metric's curvature matrices, or None if it has none.

    Parameters
    ----------
    prototypes : (runs, f, L, ...)
    curvature : (runs, f, L, 1), of the quadratic bound, which replaces matrices that are not positive definite
    weights : (runs, f), the sum of each prototype's weights
    """
    runs, f = prototypes.shape[:2]
    matrices = metric.closed_form.stiffness(prototypes.flatten(0, 1), curvature.flatten(0, 1), weights.flatten())
    if matrices is None:
        return None
    smallest = 1e-9 * curvature.amax(dim=(1, 2, 3)).clamp_min(torch.finfo(matrices.dtype).tiny * 1e9)
    upper = factors(matrices, curvature.flatten(0, 1)[..., 0], smallest.repeat_interleave(f))
    return upper.reshape(runs, f, *matrices.shape[1:])
