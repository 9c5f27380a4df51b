"""Soft-ECM: evidential c-means with free prototypes for the sets (the paper's Algorithm 1)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypedDict, Unpack

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm.belief.focal import FocalSets
from softecm.distances.base import SemiMetric
from softecm.distances.weighted_parts import Weighed
from softecm.fit.loop import Callback, Checkpointer, LoopOptions, Problem, iterate
from softecm.fit.outcome import Solution
from softecm.objective import POWER_MASSES, MassRule, mass_cost
from softecm.objective.linked import LinkedProblem
from softecm.objective.links import Links
from softecm.objective.problem import RELAXATIONS, SoftECMProblem, constraint_residual, make_solver
from softecm.objective.pull import Pull
from softecm.objective.relaxations import Exact, has_barycenters
from softecm.objective.views import ViewsProblem
from softecm.optim import Closed, Solver
from softecm.spaces.base import Encoded
from softecm.spaces.encoded import EncodedTable
from softecm.spaces.scattered import Scattered
from softecm.spaces.sparse import SparseRows, WholeRows
from softecm.spaces.views import EncodedViews

Numbers = float | NDArray[np.float64]  # one for all runs, or one a run
TOLERANCE = (
    1e-3  # of the constraint where it is approached: the part of the sets' inertia that better places would save
)
RAISES = 8  # times lambda is multiplied by ten on the way


class Model(TypedDict, total=False):
    """What describes the problem beside the objects, the sets and the starts."""

    alpha: Numbers
    beta: Numbers
    delta: Numbers | None
    solver: str | Solver
    weights: Tensor | None
    links: Links | None
    pull: Pull | None
    tol: float
    rule: MassRule


def soft_ecm_problem(
    x: Encoded | Scattered,
    metric: SemiMetric,
    focal: FocalSets,
    like: Tensor,
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
    rule: MassRule = POWER_MASSES,
) -> SoftECMProblem | LinkedProblem | ViewsProblem:
    """The relaxed problem of eq. 6 for as many runs as ``like`` (runs, ...) has, on its device."""
    runs = len(like)
    strength = torch.as_tensor(np.asarray(lam, dtype=np.float64)).to(like).expand(runs).contiguous()
    if not torch.isfinite(strength).all():
        raise ValueError(
            f"lam must be a number within the range of {str(strength.dtype).removeprefix('torch.')}; got "
            f"{np.asarray(lam).max():g}. Give a smaller one: beyond 1e6 it changes nothing."
        )
    cost = mass_cost(focal, alpha, beta, delta, like=like, runs=runs, weights=weights, rule=rule)
    kept = RELAXATIONS[relaxation](metric, focal, strength)
    if metric.weighing is not None and len(focal) > 1:
        if links is not None or pull is not None:
            raise ValueError(
                "weights must be known before where links, a prior or earlier batches count; got weights that are found "
                "with the clusters. Use weights='equal' or 'agreement', or numbers such as those that an earlier fit found."
            )
        assert isinstance(metric, Weighed) and isinstance(x, EncodedViews | EncodedTable)  # noqa: PT018 -- no others
        return ViewsProblem(metric, metric.weighing, x, cost, kept, tol, like.new_ones(len(metric.parts)))
    pull = None if pull is None else pull.to(like)
    by = make_solver(solver, metric)
    alone = len(focal) == focal.n_clusters and links is None and pull is None
    wide = isinstance(x, SparseRows | WholeRows) and metric.is_quadratic and isinstance(by, Closed) and alone
    problem = SoftECMProblem(metric, x, cost, kept, by, tol, pull, wide)
    return problem if links is None else LinkedProblem.of(problem, links)


def is_approached(relaxation: str, metric: SemiMetric, focal: FocalSets, like: Tensor) -> bool:
    """Whether the hard constraint is asked for and has no closed form: then it is approached, with a growing lambda."""
    several = len(focal) > focal.n_clusters
    return RELAXATIONS[relaxation] is Exact and several and not has_barycenters(metric, like)


def soft_ecm(
    x: Encoded | Scattered,
    metric: SemiMetric,
    focal: FocalSets,
    init: Tensor,
    *,
    lam: Numbers = 1.0,
    relaxation: str = "penalty",
    max_iter: int = 200,
    callback: Callback | None = None,
    groups: NDArray[np.int64] | None = None,
    checkpointer: Checkpointer | None = None,
    gain: float = 0.0,
    **model: Unpack[Model],
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
    pull : Pull, optional
        Prototypes known before.
    callback, groups, checkpointer, gain : as for :func:`softecm.fit.loop.iterate`
    """
    how: LoopOptions = {"callback": callback, "groups": groups, "checkpointer": checkpointer, "gain": gain}
    if is_approached(relaxation, metric, focal, init[0, :1]):
        if checkpointer is not None:
            raise ValueError(
                "checkpoint can't be used with relaxation='exact' and a metric whose barycentres have no closed form: the "
                "fit is a chain of fits with a growing lam. Use relaxation='gap' with a large lam."
            )
        return _approach(x, metric, focal, init, lam, model, max_iter, how)
    problem: Problem[Any] = soft_ecm_problem(x, metric, focal, init, lam=lam, relaxation=relaxation, **model)
    return iterate(problem, init, max_iter, **how)


def _approach(
    x: Encoded | Scattered,
    metric: SemiMetric,
    focal: FocalSets,
    init: Tensor,
    lam: Numbers,
    model: Model,
    max_iter: int,
    how: LoopOptions,
) -> Solution:
    """The hard constraint where barycentres have no closed form: the gap with lambda raised until it holds."""
    given = np.broadcast_to(np.asarray(lam, dtype=np.float64), len(init))
    strength = np.where(given > 0, given, 1.0)
    start = init
    histories: list[list[float]] = [[] for _ in range(len(init))]
    n_iter = np.zeros(len(init), dtype=np.int64)
    for _ in range(RAISES):
        solution = soft_ecm(x, metric, focal, start, lam=strength, relaxation="gap", max_iter=max_iter, **how, **model)
        n_iter += solution.n_iter
        for kept, new in zip(histories, solution.history, strict=True):
            kept.extend(new.tolist())
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
