"""Solve the cells of a task: as one batch where the estimator allows it, else one after the other."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import check_random_state, get_tags
from torch import Tensor

from softecm._engine import threads
from softecm.algorithms.base import MERGED
from softecm.algorithms.fitting import Prepared, Settings, SoftECMFamily, check_init, choose, prepare
from softecm.algorithms.model import PrototypeModel
from softecm.algorithms.seeding import seed
from softecm.algorithms.soft_ecm_core import soft_ecm
from softecm.algorithms.solution import Progress
from softecm.belief import CredalPartition
from softecm.distances.registry import resolve_metric
from softecm.objective import mass_cost, share
from softecm.selection.grid import Cell
from softecm.selection.measures import Geometry, measures

MEASURED_CELLS = 1 << 22  # masses held at once while partitions are measured
CPU_WORK, GPU_WORK = 3e9, 1e12  # multiplications of a batch in a round: what a kill may cost, and what fills a device
KEPT = 4  # prepared data sets held by a process

Report = Callable[[Progress], Any]


@dataclass(frozen=True)
class Data:
    """One data set as a sweep gets it; ``token`` tells it from others."""

    X: Any
    y: Any
    sample_weight: Any
    token: str


@dataclass(frozen=True)
class Outcome:
    """The winning run of each cell."""

    prototypes: Tensor  # (cells, f, *shape), on the device
    objective: NDArray[np.float64]
    separation: NDArray[np.float64]
    n_iter: NDArray[np.int64]
    converged: NDArray[np.bool_]


_prepared: dict[str, Prepared] = {}


def is_batchable(model: Any) -> bool:
    """Whether cells of this estimator go through the batched solver."""
    plain = isinstance(model, SoftECMFamily) and type(model)._fit is SoftECMFamily._fit
    return plain and not getattr(model, "warm_start", False) and getattr(model, "metric", "") != "precomputed"


def prepared(cell: Cell, data: Data) -> Prepared:
    """The data encoded for this cell's estimator; kept for the next task on it."""
    key, model = f"{data.token}\n{cell.key}", cell.model
    if key not in _prepared:
        while len(_prepared) >= KEPT:
            del _prepared[next(iter(_prepared))]
        chosen = model._settings()
        metric = resolve_metric(chosen.metric, data.X)
        space = metric.make_space()
        raw = space.check(model, data.X, reset=True)
        names = getattr(model, "feature_names_in_", None)
        _prepared[key] = prepare(chosen, metric, space, raw, data.sample_weight, names, runs=100 * chosen.n_init)
    return _prepared[key]


def batch_size(cell: Cell, data: Data) -> int:
    """How many cells make one task."""
    if not is_batchable(cell.model):
        return 1
    chosen, ready = cell.model._settings(), prepared(cell, data)
    shape = starts(ready, chosen, 0, 1).shape[2:]
    work = float(len(ready.x)) * len(chosen.focal) * ready.metric.cost_of_distance(shape) * chosen.n_init
    return int(np.clip((GPU_WORK if ready.device.type == "cuda" else CPU_WORK) / work, 1, 1000))


def starts(ready: Prepared, chosen: Settings, random_state: Any, n_init: int) -> Tensor:
    """Starting prototypes (n_init, c, *shape) of one cell: those of the estimator's own fit."""
    if not isinstance(chosen.init, str):
        return check_init(chosen, ready.space)
    rng = check_random_state(random_state)
    return seed(chosen.init, ready.metric, ready.space, ready.x.cpu(), ready.counts, chosen.n_clusters, n_init, rng)


def solve(
    ready: Prepared,
    settings: Sequence[Settings],
    init: Sequence[Tensor],
    *,
    x: Any = None,
    weights: Tensor | None = None,
    scale: float = 1.0,
    report: Report | None = None,
) -> Outcome:
    """All cells of a batch at once, each from its own starts; ``x`` in place of all objects, lambda times ``scale``."""
    chosen = settings[0]
    sizes = [len(part) for part in init]
    cell = np.repeat(np.arange(len(settings)), sizes)

    def per_run(values: Sequence[float]) -> NDArray[np.float64]:
        return np.asarray(values, dtype=np.float64)[cell]

    deltas = [ready.delta(s.delta) for s in settings]
    solution = soft_ecm(
        ready.x if x is None else x,
        ready.metric,
        chosen.focal,
        torch.cat(list(init)).to(ready.device),
        alpha=per_run([s.alpha for s in settings]),
        beta=per_run([s.beta for s in settings]),
        delta=per_run([np.inf if d is None else d for d in deltas]),
        lam=per_run([s.lam * scale for s in settings]),
        relaxation=chosen.relaxation,
        solver=chosen.solver,
        weights=weights,
        max_iter=chosen.max_iter,
        tol=chosen.tol,
        callback=report,
        race=cell,
    )
    apart = ready.separations(solution.prototypes[:, : chosen.n_clusters])
    first = np.concatenate([[0], np.cumsum(sizes)])
    best = np.array([a + choose(solution.objective[a:b], apart[a:b]) for a, b in pairwise(first)])
    return Outcome(
        solution.prototypes[torch.as_tensor(best, device=solution.prototypes.device)],
        solution.objective[best],
        apart[best],
        solution.n_iter[best],
        solution.converged[best],
    )


def partitions(
    ready: Prepared, settings: Sequence[Settings], prototypes: Tensor, x: Any
) -> list[tuple[CredalPartition, Geometry]]:
    """The credal partition of the objects ``x`` for each cell's prototypes, with the distances behind it."""
    chosen = settings[0]
    f, c = len(chosen.focal), chosen.n_clusters
    step = max(1, MEASURED_CELLS // (len(x) * f))
    found: list[tuple[CredalPartition, Geometry]] = []
    for start in range(0, len(settings), step):
        part, v = settings[start : start + step], prototypes[start : start + step]
        deltas = [ready.delta(s.delta) for s in part]
        cost = mass_cost(
            chosen.focal,
            [s.alpha for s in part],
            [s.beta for s in part],
            [np.inf if d is None else d for d in deltas],
            like=v,
            runs=len(part),
        )
        with torch.no_grad():
            d = ready.metric.pairwise(x, v.flatten(0, 1)).clamp_min(0.0).reshape(len(x), len(part), f)
            masses = share(d, cost.factors, cost.beta, cost.delta2).masses.double().cpu().numpy()
            between = [ready.metric.pairwise(u[:c], u[:c]).clamp_min(0.0).double().cpu().numpy() for u in v]
        far = d[..., :c].double().cpu().numpy()
        for run in range(len(part)):
            partition = CredalPartition._trusted(np.ascontiguousarray(masses[:, run]), chosen.focal)
            found.append((partition, Geometry(far[:, run], between[run])))
    return found


def run_cells(cells: Sequence[Cell], data: Data, report: Report | None = None) -> list[dict[str, Any]]:
    """One row a cell, equal to what the cell's estimator finds when it is fitted alone."""
    if not is_batchable(cells[0].model):
        return [fit_alone(cell.model, data) for cell in cells]
    began = time.perf_counter()
    settings = [cell.model._settings() for cell in cells]
    with threads(settings[0].n_jobs), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # merged and unfinished runs are columns here
        ready = prepared(cells[0], data)
        seeded: dict[str, Tensor] = {}
        init = []
        for s in settings:
            key = repr(s.random_state)
            if key not in seeded or not isinstance(s.random_state, int):
                seeded[key] = starts(ready, s, s.random_state, s.n_init)
            init.append(seeded[key])
        outcome = solve(ready, settings, init, weights=ready.weights, report=report)
        weighted = None if ready.weights is None else ready.counts
        found = [measures(*pair, weighted, data.y) for pair in partitions(ready, settings, outcome.prototypes, ready.x)]
    seconds = (time.perf_counter() - began) / len(cells)
    rows = []
    for at, measured in enumerate(found):
        rows.append(
            _row(
                float(outcome.objective[at]),
                float(outcome.separation[at]),
                int(outcome.n_iter[at]),
                bool(outcome.converged[at]),
                ready.delta(settings[at].delta),
                measured,
                seconds,
            )
        )
    return rows


def fit_alone(model: Any, data: Data) -> dict[str, Any]:
    """The row of a cell whose estimator is fitted in its own way."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {} if data.sample_weight is None else {"sample_weight": data.sample_weight}
        model.fit(data.X, **options)
    measured = measures(model.partition_, geometry_of(model, data.X), data.sample_weight, data.y)
    return _row(
        float(model.objective_),
        float(getattr(model, "separation_", np.nan)),
        int(model.n_iter_),
        bool(model.converged_),
        getattr(model, "delta_", None),
        measured,
        time.perf_counter() - began,
    )


def geometry_of(model: Any, X: Any) -> Geometry | None:
    """Distances to and between the clusters' prototypes of a fitted estimator, where it has prototypes of its own."""
    fitted = getattr(model, "model_", None)
    if not isinstance(fitted, PrototypeModel):
        return None
    own = fitted.prototypes[: fitted.focal.n_clusters]
    far = np.asarray(model.transform(X), dtype=np.float64)[:, : len(own)]
    if takes_dissimilarities(model):
        return Geometry(far, far[own.long().numpy()]) if own.ndim == 1 else None  # medoids are objects, weights are not
    with torch.no_grad():
        # Sets may measure each in its own way: all of them at once, then the clusters'.
        between = fitted.metric.pairwise(own, fitted.prototypes).clamp_min(0.0)[:, : len(own)].double().numpy()
    return Geometry(far, between)


def takes_dissimilarities(model: Any) -> bool:
    """Whether an estimator reads a square matrix of dissimilarities."""
    return bool(get_tags(model).input_tags.pairwise)


def _row(
    objective: float,
    separation: float,
    n_iter: int,
    converged: bool,
    delta: float | None,
    measured: dict[str, Any],
    seconds: float,
) -> dict[str, Any]:
    return {
        "objective": objective,
        "separation": separation,
        "collapsed": separation < MERGED,
        **measured,
        "delta_found": float("nan") if delta is None else float(delta),
        "n_iter": n_iter,
        "converged": converged,
        "seconds": seconds,
    }
