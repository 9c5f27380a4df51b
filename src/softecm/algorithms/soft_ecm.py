"""Soft-ECM: evidential c-means with free prototypes for the sets (the paper's Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from softecm.algorithms.solution import Progress, Solution
from softecm.belief.focal import FocalSets
from softecm.distances.base import SemiMetric
from softecm.objective import MassCost, Previous, blocks, evaluate, inertia, links, mass_cost, share
from softecm.optim import Closed, Descent, GradientDescent, Solver, State
from softecm.relaxations import Exact, Gap, Penalty, Relaxation, has_barycenters, set_barycenters

RELAXATIONS: dict[str, type[Relaxation]] = {"penalty": Penalty, "gap": Gap, "exact": Exact}
RISE = 1e-9  # an objective may not rise by more than this part of itself


@dataclass(frozen=True)
class SoftECMProblem:
    """The relaxed problem of eq. 6 for a batch of runs, as solvers see it."""

    metric: SemiMetric
    x: Any
    cost: MassCost
    relaxation: Relaxation
    tol: float

    def at(self, free: Tensor, before: State | None = None) -> State:
        """Masses (eq. 7) and objective at the given prototypes."""
        leaf = free.detach().requires_grad_()
        with torch.enable_grad():
            expanded = self.relaxation.expand(leaf)
        prototypes = expanded.detach()
        previous = None if before is None else Previous(before.prototypes, before.evaluation.masses)
        evaluation = evaluate(self.metric, self.x, prototypes, self.cost, previous=previous, tol=self.tol)
        tie = self.relaxation.tie(prototypes, None if before is None else before.inner)
        gradient = self._pull_back(evaluation.gradient + tie.gradient, leaf, expanded)
        return State(
            free.detach(),
            prototypes,
            evaluation,
            evaluation.cost + tie.cost,
            gradient,
            self._scale(evaluation.curvature, prototypes),
            tie.inner,
        )

    @staticmethod
    def _pull_back(gradient: Tensor, leaf: Tensor, expanded: Tensor) -> Tensor:
        """Derivative in the free prototypes from the one in all of them."""
        if expanded is leaf:
            return gradient
        (pulled,) = torch.autograd.grad(expanded, leaf, gradient)
        return pulled

    def _scale(self, curvature: Tensor | None, prototypes: Tensor) -> Tensor | None:
        """Inverse curvature of a bound of the objective, coordinate by coordinate: the barycentre step's length."""
        if curvature is None:
            return None
        clusters, sets = links(self.relaxation.focal)
        c = self.relaxation.focal.n_clusters
        if self.relaxation.n_free < len(self.relaxation.focal):
            folded = curvature[:, :c].clone()
            shares = self.relaxation.means()[c:]  # |mean of steps|^2 <= mean of |step|^2
            folded += torch.einsum("ac,ra...->rc...", shares, curvature[:, c:])
        else:
            ties = torch.zeros(len(self.relaxation.focal), dtype=curvature.dtype, device=curvature.device)
            ones = torch.ones(len(sets), dtype=curvature.dtype, device=curvature.device)
            ties.index_add_(0, sets.to(ties.device), ones).index_add_(0, clusters.to(ties.device), ones)
            # |a - b|^2 <= 2 |a|^2 + 2 |b|^2: both ends of a tie move at once.
            per_unit = curvature / self._total_weights(curvature)
            tail = (1,) * (curvature.ndim - 2)
            folded = curvature + 2.0 * (self.relaxation.lam[:, None] * ties).reshape(-1, len(ties), *tail) * per_unit
        smallest = folded.amax(dim=tuple(range(1, folded.ndim)), keepdim=True) * 1e-9
        return 0.5 / torch.maximum(folded, smallest).clamp_min(torch.finfo(folded.dtype).tiny).expand(
            *folded.shape[:2], *prototypes.shape[2:]
        )

    def _total_weights(self, curvature: Tensor) -> float:
        """Scale of the objects' weights, to turn a sum of curvatures into that of one object."""
        n = float(len(self.x)) if self.cost.weights is None else float(self.cost.weights.sum())
        return max(1.0, n / curvature.shape[1])

    def solve(self, state: State) -> Tensor:
        """Eq. 8 for metrics whose barycentres are means: one symmetric system of the size of the free prototypes."""
        curvature, moment = state.evaluation.curvature, state.evaluation.moment
        assert curvature is not None and moment is not None  # noqa: S101, PT018 -- Closed goes with quadratic metrics
        runs, f = moment.shape[:2]
        w = curvature.reshape(runs, f, -1).transpose(1, 2).double()  # (runs, 1 or q, f)
        y = moment.reshape(runs, f, -1).transpose(1, 2).double()[..., None]  # (runs, q, f, 1)
        old = state.free.reshape(runs, state.free.shape[1], -1).transpose(1, 2).double()[..., None]
        matrix = torch.diag_embed(w) + self.relaxation.matrix().double()[:, None]
        if self.relaxation.n_free < f:
            p = self.relaxation.means().double()
            matrix, y = p.T @ matrix @ p, p.T @ y
        # A proximal ridge: a cluster without mass stays where it is, and a fixed point stays fixed.
        ridge = 1e-13 * w.mean(-1)[..., None, None] + 1e-280
        matrix = matrix + ridge * torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
        rhs = y + ridge * old
        if matrix.shape[1] == 1:  # one matrix for all coordinates
            solved = torch.linalg.solve(matrix[:, 0], rhs[..., 0].transpose(1, 2))
        else:
            solved = torch.linalg.solve(matrix, rhs)[..., 0].transpose(1, 2)
        return solved.reshape(state.free.shape).to(state.free.dtype)

    def fixed(self, state: State) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
        """Eq. 8 as a function of the free prototypes: the masses are the state's."""
        data = self._quadratic(state) if self.metric.quadratic else self._weighted(state)

        def cost(free: Tensor) -> tuple[Tensor, Tensor]:
            leaf = free.detach().requires_grad_()
            with torch.enable_grad():
                expanded = self.relaxation.expand(leaf)
            value, gradient = data(expanded.detach())
            tie = self.relaxation.tie(expanded.detach(), state.inner)
            return value + tie.cost, self._pull_back(gradient + tie.gradient, leaf, expanded)

        return cost

    @staticmethod
    def _quadratic(state: State) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
        curvature, moment = state.evaluation.curvature, state.evaluation.moment
        assert curvature is not None and moment is not None  # noqa: S101, PT018 -- as in solve

        def cost(v: Tensor) -> tuple[Tensor, Tensor]:
            shift = v - state.prototypes  # relative to the start, so that no large constant hides a small decrease
            slope = curvature * state.prototypes - moment
            return ((curvature * shift + 2.0 * slope) * shift).flatten(1).sum(1), 2.0 * (curvature * shift + slope)

        return cost

    def _weighted(self, state: State) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
        runs, f = state.prototypes.shape[:2]
        flat = state.prototypes.flatten(0, 1)
        weights = []
        for rows in blocks(len(self.x), flat):
            d = self.metric.pairwise(self.x[rows], flat).detach().clamp_min(0.0).reshape(-1, runs, f)
            w = share(d, self.cost.factors, self.cost.beta, self.cost.delta2).weights
            if self.cost.weights is not None:
                w = w * self.cost.weights[rows, None, None]
            weights.append(w.reshape(-1, runs * f))

        def cost(v: Tensor) -> tuple[Tensor, Tensor]:
            leaf = v.detach().flatten(0, 1).requires_grad_()
            value = v.new_zeros(runs)
            gradient = torch.zeros_like(leaf)
            for rows, w in zip(blocks(len(self.x), leaf), weights, strict=True):
                with torch.enable_grad():
                    d = self.metric.pairwise(self.x[rows], leaf)
                    terms = d * w
                value += terms.detach().reshape(-1, runs, f).sum((0, 2))
                gradient += torch.autograd.grad(terms.sum(), leaf)[0]
            return value, gradient.reshape(v.shape)

        return cost

    def select(self, runs: Tensor) -> SoftECMProblem:
        """The same for some of the runs."""
        return replace(self, cost=self.cost.select(runs), relaxation=self.relaxation.select(runs))


def make_solver(solver: str | GradientDescent, metric: SemiMetric) -> Solver:
    """The solver a name stands for: the exact step where the metric has one, else the descent."""
    if isinstance(solver, GradientDescent | Descent | Closed):
        return solver
    if solver == "gradient":
        return GradientDescent()
    if solver == "descent":
        return Descent()
    return Closed() if metric.quadratic else Descent()


def soft_ecm(
    x: Any,
    metric: SemiMetric,
    focal: FocalSets,
    init: Tensor,
    *,
    alpha: Any = 1.0,
    beta: Any = 1.2,
    delta: Any = None,
    lam: Any = 1.0,
    relaxation: str = "penalty",
    solver: str | GradientDescent = "auto",
    weights: Tensor | None = None,
    max_iter: int = 200,
    tol: float = 1e-4,
    callback: Callable[[Progress], Any] | None = None,
) -> Solution:
    """Cluster encoded objects from each of several starts at once.

    Parameters
    ----------
    x : encoded objects
    init : Tensor (runs, c, *shape) or (runs, f, *shape)
        The clusters' starting prototypes, or all of them.
    alpha, beta, delta, lam : float, or one number a run
    relaxation : {"penalty", "gap", "exact"}
    weights : Tensor (n,), optional
        How much each object counts.
    callback : callable, optional
        Called with a ``Progress`` after each round; a true answer ends all runs where they are.
    """
    runs = len(init)
    options: dict[str, Any] = {"dtype": init.dtype, "device": init.device}
    strength = torch.as_tensor(np.asarray(lam, dtype=np.float64), **options).expand(runs).contiguous()
    kind = RELAXATIONS[relaxation]
    if kind is Exact and len(focal) > focal.n_clusters and not has_barycenters(metric, init[0, :1]):
        return _raise_lambda(
            x, metric, focal, init, alpha=alpha, beta=beta, delta=delta, lam=strength, solver=solver,
            weights=weights, max_iter=max_iter, tol=tol, callback=callback,
        )  # fmt: skip
    cost = mass_cost(focal, alpha, beta, delta, like=init, runs=runs, weights=weights)
    problem = SoftECMProblem(metric, x, cost, kind(metric, focal, strength), tol)
    return _iterate(problem, _with_sets(metric, focal, init, problem.relaxation.n_free), solver, max_iter, callback)


def _with_sets(metric: SemiMetric, focal: FocalSets, init: Tensor, n_free: int) -> Tensor:
    """Complete the clusters' starts with the sets': barycentres where cheap, else means (Algorithm 1)."""
    if init.shape[1] >= n_free:
        return init[:, :n_free]
    if has_barycenters(metric, init[0, :1]):
        return torch.cat([init, set_barycenters(metric, focal, init, None)], 1)
    means = torch.as_tensor(focal.membership[focal.n_clusters :].copy(), dtype=init.dtype, device=init.device)
    means = means / means.sum(1, keepdim=True)
    return torch.cat([init, torch.einsum("ac,rc...->ra...", means, init)], 1)


def _iterate(
    problem: SoftECMProblem,
    start: Tensor,
    solver: str | GradientDescent,
    max_iter: int,
    callback: Callable[[Progress], Any] | None,
) -> Solution:
    """Alternate masses and prototypes until the masses stand still; runs leave the batch as they finish."""
    step = make_solver(solver, problem.metric)
    runs = len(start)
    state = problem.at(start)
    active = torch.arange(runs)
    prototypes = state.prototypes.clone()
    objective = state.objective.double().cpu().numpy().copy()
    tie = (state.objective - state.evaluation.cost).double().cpu().numpy().copy()
    history: list[list[float]] = [[float(v)] for v in objective]
    n_iter = np.zeros(runs, dtype=np.int64)
    converged = np.zeros(runs, dtype=bool)
    still = torch.zeros(runs, dtype=torch.int64)
    for iteration in range(1, max_iter + 1):
        moved = step.step(problem, state)
        # Descent is checked, not hoped for: a step that would raise the objective beyond rounding is not taken.
        rose = ~(moved.objective <= state.objective + RISE * state.objective.abs())
        if bool(rose.any()):
            stuck = state.evaluation.change.clone()
            moved = moved.merged(state, rose)
            stuck = torch.where(rose, torch.zeros_like(stuck), moved.evaluation.change)
            moved = replace(moved, evaluation=replace(moved.evaluation, change=stuck))
        state = moved
        change = state.evaluation.change.cpu()
        index = active.numpy()
        prototypes[active] = state.prototypes
        objective[index] = state.objective.double().cpu().numpy()
        tie[index] = (state.objective - state.evaluation.cost).double().cpu().numpy()
        n_iter[index] = iteration
        for run, value in zip(index, objective[index], strict=True):
            history[run].append(float(value))
        still = torch.where(change <= problem.tol, still + 1, 0)
        done = still >= step.patience
        converged[index] = done.numpy()
        stop = callback is not None and callback(
            Progress(iteration, max_iter, objective.copy(), int((~done).sum()), float(change.max()))
        )
        if stop or bool(done.all()):
            break
        if bool(done.any()):
            going = (~done).nonzero()[:, 0]
            active, still = active[going], still[going]
            going = going.to(start.device)
            state, problem = state.select(going), problem.select(going)
    return Solution(
        prototypes, objective, tie, tuple(np.asarray(h) for h in history), n_iter, converged
    )


def _raise_lambda(
    x: Any, metric: SemiMetric, focal: FocalSets, init: Tensor, *, lam: Tensor, tolerance: float = 1e-3, **options: Any
) -> Solution:
    """The hard constraint where barycentres have no closed form: the gap with lambda raised until it holds."""
    strength = torch.where(lam > 0, lam, torch.ones_like(lam))
    start = init
    histories: list[list[float]] = [[] for _ in range(len(init))]
    n_iter = np.zeros(len(init), dtype=np.int64)
    for _ in range(8):
        solution = soft_ecm(x, metric, focal, start, lam=strength.cpu().numpy(), relaxation="gap", **options)
        n_iter += solution.n_iter
        for kept, new in zip(histories, solution.history, strict=True):
            kept.extend(new.tolist())
        residual = constraint_residual(metric, focal, solution.prototypes)
        if bool((residual <= tolerance).all()):
            break
        start = solution.prototypes
        strength = torch.where(residual.to(strength.device) > tolerance, strength * 10.0, strength)
    return replace(
        solution,
        objective=solution.objective - solution.tie,
        n_iter=n_iter,
        residual=residual.cpu().numpy(),
        converged=solution.converged & (residual.cpu().numpy() <= tolerance),
    )


def constraint_residual(metric: SemiMetric, focal: FocalSets, prototypes: Tensor) -> Tensor:
    """How much of the sets' inertia the best barycentres would save, run by run: 0 where eq. 4 holds."""
    clusters, sets = links(focal)
    if len(sets) == 0:
        return prototypes.new_zeros(len(prototypes))
    c = focal.n_clusters
    with torch.no_grad():
        best = set_barycenters(metric, focal, prototypes[:, :c], None)
        now = inertia(metric, prototypes, clusters, sets)
        least = inertia(metric, torch.cat([prototypes[:, :c], best], 1), clusters, sets)
    return ((now - least) / now.clamp_min(torch.finfo(now.dtype).tiny)).clamp_min(0.0)
