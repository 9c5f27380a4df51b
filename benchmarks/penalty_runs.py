"""Iterations of Soft-ECM with the penalty on encoded objects, for benchmarks of an iteration's speed."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from softecm.belief import FocalSets
from softecm.distances import SquaredEuclidean
from softecm.fit.algorithm import soft_ecm_problem
from softecm.fit.loop import Callback, iterate
from softecm.objective.equations import mass_cost
from softecm.objective.problem import Penalty


def penalty_run(
    x: Any,
    focal: FocalSets,
    start: Tensor,
    *,
    max_iter: int,
    alpha: float = 1.0,
    beta: float = 1.2,
    delta: float | None = None,
    callback: Callback | None = None,
) -> None:
    """Run ``max_iter`` iterations from clusters (runs, c, p); a run ends early only if its masses don't change at all."""
    cost = mass_cost(focal, alpha, beta, delta, like=start, runs=len(start))
    problem = soft_ecm_problem(x, SquaredEuclidean(), focal, cost, lam=1.0, relaxation=Penalty, tol=0.0)
    iterate(problem, start, max_iter, callback=callback)
