"""Soft-ECM: evidential c-means with free prototypes for the sets (the paper's Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm.algorithms import rounds
from softecm.algorithms.constrained import LinkedProblem
from softecm.algorithms.links import Links
from softecm.algorithms.problem import SoftECMProblem
from softecm.algorithms.solution import Progress, Solution
from softecm.belief.focal import FocalSets
from softecm.distances.base import SemiMetric
from softecm.objective import inertia, mass_cost, set_members
from softecm.objective.relaxations import Exact, Gap, Penalty, Relaxation, has_barycenters, set_barycenters
from softecm.optim import Closed, Descent, GradientDescent, Solver

RELAXATIONS: dict[str, type[Relaxation]] = {"penalty": Penalty, "gap": Gap, "exact": Exact}


def make_solver(solver: str | GradientDescent | Closed, metric: SemiMetric) -> Solver:
    """The solver a name stands for: the exact step where the metric has one, else the descent."""
    if isinstance(solver, GradientDescent | Descent | Closed):
        return solver
    if solver == "gradient":
        return GradientDescent()
    if solver == "descent":
        return Descent()
    return Closed() if metric.is_quadratic else Descent()


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
    links: Links | None = None,
    max_iter: int = 200,
    tol: float = 1e-4,
    callback: Callable[[Progress], Any] | None = None,
    race: bool | NDArray[np.int64] = False,
    keeper: rounds.Keeper | None = None,
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
    links : Links, optional
        Must-links and cannot-links between objects.
    callback : callable, optional
        Called with a ``Progress`` after each round; a true answer ends all runs where they are.
    race : bool or int array (runs,)
        All runs, or those with the same number, solve the same problem: one that can't catch up with the best at its
        present pace is given up. Not done for metrics with an exact step, whose rounds cost next to nothing.
    keeper : Keeper, optional
        Writes checkpoints, and gives the one to go on from.
    """
    runs = len(init)
    options: dict[str, Any] = {"dtype": init.dtype, "device": init.device}
    strength = torch.as_tensor(np.asarray(lam, dtype=np.float64), **options).expand(runs).contiguous()
    kind = RELAXATIONS[relaxation]
    if kind is Exact and len(focal) > focal.n_clusters and not has_barycenters(metric, init[0, :1]):
        if keeper is not None:
            raise ValueError(
                "checkpoint can't be used with relaxation='exact' and a metric whose barycentres have no closed form: the "
                "fit is a chain of fits with a growing lam. Use relaxation='gap' with a large lam."
            )
        return _raise_lambda(
            x, metric, focal, init, alpha=alpha, beta=beta, delta=delta, lam=strength, solver=solver,
            weights=weights, links=links, max_iter=max_iter, tol=tol, callback=callback, race=race,
        )  # fmt: skip
    cost = mass_cost(focal, alpha, beta, delta, like=init, runs=runs, weights=weights)
    problem = SoftECMProblem(metric, x, cost, kind(metric, focal, strength), tol)
    start = with_sets(metric, focal, init, problem.relaxation.n_free)
    if links is not None:
        if keeper is not None:
            raise ValueError("checkpoint can't be used with links between objects. Leave one of them out.")
        return iterate(LinkedProblem.of(problem, links), start, solver, max_iter, callback, keep_masses=True)
    groups = np.zeros(runs, dtype=np.int64) if isinstance(race, bool) else race
    racing = groups if not metric.is_quadratic and race is not False else None
    return iterate(problem, start, solver, max_iter, callback, race=racing, keeper=keeper)


def with_sets(metric: SemiMetric, focal: FocalSets, init: Tensor, n_free: int) -> Tensor:
    """Complete the clusters' starts with the sets': barycentres where cheap, else means (Algorithm 1)."""
    if init.shape[1] >= n_free:
        return init[:, :n_free]
    if has_barycenters(metric, init[0, :1]):
        return torch.cat([init, set_barycenters(metric, focal, init, None)], 1)
    means = torch.as_tensor(focal.membership[focal.n_clusters :].copy(), dtype=init.dtype, device=init.device)
    means = means / means.sum(1, keepdim=True)
    return torch.cat([init, torch.einsum("ac,rc...->ra...", means, init)], 1)


def iterate(
    problem: Any,
    start: Tensor,
    solver: str | GradientDescent | Closed,
    max_iter: int,
    callback: Callable[[Progress], Any] | None,
    **options: Any,
) -> Solution:
    """``rounds.iterate`` with the solver a name stands for."""
    return rounds.iterate(problem, start, make_solver(solver, problem.metric), max_iter, callback, **options)


def _raise_lambda(
    x: Any,
    metric: SemiMetric,
    focal: FocalSets,
    init: Tensor,
    *,
    lam: Tensor,
    tolerance: float = 1e-3,
    **options: Any,
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
    clusters, sets = set_members(focal, prototypes.device)
    if len(sets) == 0:
        return prototypes.new_zeros(len(prototypes))
    c = focal.n_clusters
    with torch.no_grad():
        best = set_barycenters(metric, focal, prototypes[:, :c], None)
        now = inertia(metric, prototypes, clusters, sets)
        least = inertia(metric, torch.cat([prototypes[:, :c], best], 1), clusters, sets)
    return ((now - least) / now.clamp_min(torch.finfo(now.dtype).tiny)).clamp_min(0.0)
