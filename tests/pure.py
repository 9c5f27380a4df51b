"""The algorithms as pure functions from tensors to a solution, for tests of their problems without an estimator."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from softecm.algorithms.adaptive import AdaptiveProblem, adaptive_metric
from softecm.algorithms.bcm import BCMAlgorithm
from softecm.algorithms.catecm import ModeProblem
from softecm.algorithms.ccm import CCMAlgorithm
from softecm.algorithms.ecmdd import MedoidProblem, Ranking
from softecm.algorithms.precomputed import discrete_problem
from softecm.algorithms.quadratic import spread_problem
from softecm.algorithms.recm import RelationalProblem
from softecm.distances.squared_euclidean import SquaredEuclidean
from softecm.fit.algorithm import approach, soft_ecm_problem
from softecm.fit.loop import Solution, iterate
from softecm.objective.equations import MassCost, mass_cost
from softecm.objective.problem import RELAXATIONS, SOLVERS, Exact, Gap, has_barycenters


def soft_ecm(
    x: Any,
    metric: Any,
    focal: Any,
    init: Tensor,
    *,
    alpha: Any = 1.0,
    beta: Any = 1.2,
    delta: Any = None,
    lam: Any = 1.0,
    relaxation: str = "penalty",
    solver: Any = "auto",
    weights: Tensor | None = None,
    tol: float = 1e-4,
    links: Any = None,
    pull: Any = None,
    max_iter: int = 200,
    **how: Any,
) -> Solution:
    """Soft-ECM from several starts at once; parameters are numbers, or one for each run."""
    kind, by = RELAXATIONS[relaxation], SOLVERS[solver] if isinstance(solver, str) else solver
    cost = mass_cost(focal, alpha, beta, delta, like=init, runs=len(init), weights=weights)

    def problem(kind: Any, lam: Any) -> Any:
        return soft_ecm_problem(
            x, metric, focal, cost, lam=lam, relaxation=kind, solver=by, links=links, pull=pull, tol=tol
        )

    hard = kind is Exact and len(focal) > focal.n_clusters
    if not hard or has_barycenters(metric, init[0, :1]):
        return iterate(problem(kind, lam), init, max_iter, **how)
    prices = np.broadcast_to(np.asarray(lam, dtype=np.float64), len(init))
    return approach(metric, focal, init, prices, lambda price: problem(Gap, price), max_iter, how)


def cost_of(focal: Any, like: Tensor, runs: int, beta: Any, options: dict[str, Any]) -> MassCost:
    """The cost of masses from options, removing the used ones."""
    alpha, beta, delta = options.pop("alpha", 1.0), options.pop("beta", beta), options.pop("delta", None)
    return mass_cost(focal, alpha, beta, delta, like=like, runs=runs, weights=options.pop("weights", None))


def _spread(of_sets: Any, x: Tensor, focal: Any, init: Tensor, beta: Any, delta: Any, **how: Any) -> Solution:
    weights, tol = how.pop("weights", None), how.pop("tol", 1e-4)
    cost = mass_cost(focal, 0.0, beta, delta, like=init, runs=len(init), weights=weights)
    problem = spread_problem(x, focal, cost, of_sets, tol)
    solution = iterate(problem, init, how.pop("max_iter", 200), **how)
    return Solution(**{**vars(solution), "prototypes": solution.prototypes[..., :-1]})


def ccm(x: Tensor, focal: Any, init: Tensor, *, gamma: float = 1.0, beta: Any, delta: Any, **how: Any) -> Solution:
    return _spread(CCMAlgorithm(gamma).set_prices(focal), x, focal, init, beta, delta, **how)


def bcm(x: Tensor, focal: Any, init: Tensor, *, gamma: float = 1.0, beta: Any, delta: Any, **how: Any) -> Solution:
    return _spread(BCMAlgorithm(gamma).set_prices(focal), x, focal, init, beta, delta, **how)


class Adapted(NamedTuple):
    solution: Solution
    matrices: Tensor


class Measured(NamedTuple):
    solution: Solution
    metrics: tuple[Any, ...]


def adaptive_ecm(
    x: Tensor,
    focal: Any,
    init: Tensor,
    *,
    alpha: Any = 1.0,
    beta: Any = 2.0,
    delta: Any = None,
    corrected: bool = True,
    adaptive: bool = True,
    weights: Tensor | None = None,
    links: Any = None,
    max_iter: int = 200,
    tol: float = 1e-4,
) -> Adapted:
    cost = mass_cost(focal, alpha, beta, delta, like=init, runs=len(init), weights=weights)
    solution = iterate(AdaptiveProblem(x, focal, cost, corrected, adaptive, links, tol), init, max_iter)
    return Adapted(solution, solution.extras["matrices"])


def cecm(x: Tensor, focal: Any, init: Tensor, links: Any, *, adaptive: bool = False, **options: Any) -> Measured:
    if adaptive:
        solution, matrices = adaptive_ecm(x, focal, init, beta=2.0, corrected=False, links=links, **options)
        return Measured(solution, tuple(adaptive_metric(m, focal) for m in matrices))
    metric = SquaredEuclidean()
    solution = soft_ecm(x, metric, focal, init, beta=2.0, lam=0.0, relaxation="exact", links=links, **options)
    return Measured(solution, (metric,) * len(init))


def recm(squared: Tensor, focal: Any, init: Tensor, **options: Any) -> Solution:
    cost = cost_of(focal, squared, len(init), 1.5, options)
    return iterate(
        RelationalProblem(squared, focal, cost, options.pop("tol", 1e-4)), init, options.pop("max_iter", 200)
    )


def ecmdd(d: Tensor, focal: Any, init: Any, *, gamma: float = 0.5, eta: float = 1.0, **options: Any) -> Solution:
    start = torch.as_tensor(np.asarray(init))
    cost = cost_of(focal, d, len(start), 1.2, options)
    return iterate(MedoidProblem(d, focal, cost, gamma, eta, Ranking(d.numpy())), start, options.pop("max_iter", 200))


def catecm(x: Any, focal: Any, init: Tensor, **options: Any) -> Solution:
    cost = cost_of(focal, init, len(init), 1.2, options)
    return iterate(ModeProblem(x, focal, cost, options.pop("tol", 1e-4)), init, options.pop("max_iter", 200))


def soft_ecm_precomputed(x: Tensor, metric: Any, focal: Any, init: Tensor, **options: Any) -> Solution:
    cost = cost_of(focal, x, len(init), 1.2, options)
    lam = np.broadcast_to(np.asarray(options.pop("lam", 1.0), dtype=np.float64), len(init)).copy()
    problem = discrete_problem(x, focal, cost, lam, options.pop("relaxation", "penalty"), options.pop("tol", 1e-4))
    return iterate(problem, init, options.pop("max_iter", 200), callback=options.pop("callback", None))
