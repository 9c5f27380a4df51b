"""Soft-ECM with the penalty on encoded objects, round after round: what benchmarks of a round's speed time."""

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
    """So many rounds from clusters (runs, c, p); a run ends early only where its masses stand still exactly."""
    cost = mass_cost(focal, alpha, beta, delta, like=start, runs=len(start))
    problem = soft_ecm_problem(x, SquaredEuclidean(), focal, cost, lam=1.0, relaxation=Penalty, tol=0.0)
    iterate(problem, start, max_iter, callback=callback)
