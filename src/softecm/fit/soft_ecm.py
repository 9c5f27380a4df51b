"""Soft-ECM: evidential c-means with free prototypes for the sets (the paper's Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm.belief.focal import FocalSets
from softecm.distances.base import SemiMetric
from softecm.distances.views import Combined
from softecm.fit.loop import LoopOptions, Problem, Solution, iterate
from softecm.objective import MassCost, mass_cost
from softecm.objective.linked import LinkedProblem
from softecm.objective.links import Links
from softecm.objective.problem import RELAXATIONS, SOLVERS, SoftECMProblem, constraint_residual
from softecm.objective.pull import Pull
from softecm.objective.relaxations import Exact, Gap, Relaxation, has_barycenters
from softecm.objective.views import ViewsProblem
from softecm.optim import Closed, Descent, Solver
from softecm.spaces.base import Encoded
from softecm.spaces.scattered import Scattered
from softecm.spaces.views import EncodedViews

Numbers = float | NDArray[np.float64]  # one for all runs, or one a run
TOLERANCE = (
    1e-3  # of the constraint where it is approached: the part of the sets' inertia that better places would save
)
RAISES = 8  # times lambda is multiplied by ten on the way


def soft_ecm_problem(
    x: Encoded | Scattered,
    metric: SemiMetric,
    focal: FocalSets,
    cost: MassCost,
    *,
    lam: Numbers,
    relaxation: type[Relaxation],
    solver: Solver | None = None,
    links: Links | None = None,
    pull: Pull | None = None,
    tol: float = 1e-4,
) -> SoftECMProblem | LinkedProblem | ViewsProblem:
    """The relaxed problem of eq. 6 for the runs of ``cost``, on its device."""
    beta = cost.beta
    strength = torch.as_tensor(np.asarray(lam, dtype=np.float64)).to(beta).expand(len(beta)).contiguous()
    if not torch.isfinite(strength).all():
        raise ValueError(
            f"lam must be a number within the range of {str(strength.dtype).removeprefix('torch.')}; got "
            f"{np.asarray(lam).max():g}. Give a smaller one: beyond 1e6 it changes nothing."
        )
    relaxed = relaxation(metric, focal, strength)
    if metric.weighing is not None and len(focal) > 1:
        if links is not None or pull is not None:
            raise ValueError(
                "weights must be known before where links, a prior or earlier batches count; got weights that are found "
                "with the clusters. Use weights='equal' or 'agreement', or numbers such as those that an earlier fit found."
            )
        assert isinstance(metric, Combined) and isinstance(x, EncodedViews)  # noqa: PT018 -- no others
        return ViewsProblem(metric, metric.weighing, x, cost, relaxed, tol, beta.new_ones(len(metric.parts)))
    by = solver or (Closed() if metric.is_quadratic else Descent())
    alone = len(focal) == focal.n_clusters and links is None and pull is None
    alone = alone and metric.is_quadratic and not by.descends
    problem = SoftECMProblem(metric, x, cost, relaxed, by, tol, None if pull is None else pull.to(beta), alone)
    return problem if links is None else LinkedProblem.of(problem, links)


def is_approached(relaxation: type[Relaxation], metric: SemiMetric, focal: FocalSets, like: Tensor) -> bool:
    """Whether the hard constraint is asked for and has no closed form: then it is approached, with a growing lambda."""
    return relaxation is Exact and len(focal) > focal.n_clusters and not has_barycenters(metric, like)


def soft_ecm(
    x: Encoded | Scattered,
    metric: SemiMetric,
    focal: FocalSets,
    init: Tensor,
    *,
    alpha: Numbers = 1.0,
    beta: Numbers = 1.2,
    delta: Numbers | None = None,
    lam: Numbers = 1.0,
    relaxation: str = "penalty",
    solver: str | Solver = "auto",
    weights: Tensor | None = None,
    links: Links | None = None,
    pull: Pull | None = None,
    tol: float = 1e-4,
    max_iter: int = 200,
    **how: Unpack[LoopOptions],
) -> Solution:
    """Cluster encoded objects from each of several starts at once.

    Parameters
    ----------
    x : encoded objects
    init : Tensor (runs, c, *shape) or (runs, f, *shape)
        The clusters' starting prototypes, or all of them.
    alpha, beta, delta, lam : float, or one number a run
    relaxation : {"penalty", "gap", "exact"}
    solver : {"auto", "gradient", "descent"} or a solver
    weights : Tensor (n,), optional
        How much each object counts.
    links : Links, optional
        Must-links and cannot-links between objects.
    pull : Pull, optional
        Prototypes known before.
    callback, groups, checkpointer, gain : as for :func:`softecm.fit.loop.iterate`
    """
    kind, by = RELAXATIONS[relaxation], SOLVERS[solver] if isinstance(solver, str) else solver
    cost = mass_cost(focal, alpha, beta, delta, like=init, runs=len(init), weights=weights)

    def problem(kind: type[Relaxation], lam: Numbers) -> Problem[Any]:
        return soft_ecm_problem(
            x, metric, focal, cost, lam=lam, relaxation=kind, solver=by, links=links, pull=pull, tol=tol
        )

    if not is_approached(kind, metric, focal, init[0, :1]):
        return iterate(problem(kind, lam), init, max_iter, **how)
    prices = np.broadcast_to(np.asarray(lam, dtype=np.float64), len(init))
    return approach(metric, focal, init, prices, lambda price: problem(Gap, price), max_iter, how)


def approach(
    metric: SemiMetric,
    focal: FocalSets,
    start: Tensor,
    lam: NDArray[np.float64],
    problem: Callable[[NDArray[np.float64]], Problem[Any]],
    max_iter: int,
    how: LoopOptions,
) -> Solution:
    """The hard constraint where barycentres have no closed form: the gap with lambda raised until it holds.

    ``problem`` is that of the gap for a lambda a run.
    """
    if how.get("checkpointer") is not None:
        raise ValueError(
            "checkpoint can't be used with relaxation='exact' and a metric whose barycentres have no closed form: the "
            "fit is a chain of fits with a growing lam. Use relaxation='gap' with a large lam."
        )
    strength = np.where(lam > 0, lam, 1.0)
    n_iter = np.zeros(len(start), dtype=np.int64)
    for _ in range(RAISES):
        solution = iterate(problem(strength), start, max_iter, **how)
        n_iter += solution.n_iter
        residual = constraint_residual(metric, focal, solution.prototypes).cpu().numpy()
        if (residual <= TOLERANCE).all():
            break
        start = solution.prototypes
        strength = np.where(residual > TOLERANCE, strength * 10.0, strength)
    return replace(
        solution,
        objective=solution.objective - solution.constraint,
        n_iter=n_iter,
        residual=residual,
        converged=solution.converged & (residual <= TOLERANCE),
    )
