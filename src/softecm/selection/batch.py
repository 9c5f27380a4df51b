"""Solve the cells of a task: as one batch if the estimator allows it, otherwise one after another."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeGuard

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import get_tags

from softecm._engine import threads
from softecm.belief import CredalPartition
from softecm.distances.auto import MetricChoice, choose_for, resolve_metric
from softecm.distances.base import SemiMetric
from softecm.distances.estimator_metrics import SetQuadratic
from softecm.fit.algorithm import Algorithm, Fit, Outcome
from softecm.fit.fitting import fit_cells
from softecm.fit.group_shapes import Fitted
from softecm.fit.loop import MERGED, Callback
from softecm.fit.prepare import InMemory, in_memory
from softecm.fit.settings import PrototypeModel, Settings
from softecm.scores.valleys import Geometry
from softecm.selection.grid import Cell
from softecm.selection.measures import Value, against_labels, measures
from softecm.spaces.base import Encoded
from softecm.spaces.raw import raw_data

if TYPE_CHECKING:
    from softecm.algorithms.base import EvidentialClusterer
    from softecm.algorithms.family import PrototypeFamily

CPU_WORK, GPU_WORK = 3e9, 1e12  # multiplications of a batch per iteration: lost by a kill, or filling a device
KEPT = 4  # prepared data sets cached by a process


@dataclass(frozen=True)
class Data:
    """One data set of a sweep; ``token`` identifies it."""

    X: object
    y: ArrayLike | None
    sample_weight: ArrayLike | None
    token: str


@dataclass(frozen=True)
class PreparedRuns:
    """A data set prepared for the cells of a batch."""

    choice: MetricChoice
    algorithm: Algorithm[object]
    objects: InMemory[Encoded]


_prepared: dict[str, PreparedRuns] = {}


def is_batchable(model: EvidentialClusterer) -> TypeGuard[PrototypeFamily]:
    """Whether cells of this estimator can be solved together."""
    return bool(getattr(model, "batches", False)) and not getattr(model, "warm_start", False)


def prepared(cell: Cell, data: Data) -> PreparedRuns:
    """Return the data encoded for this cell's estimator, cached for the next task."""
    key, model = f"{data.token}\n{cell.key}", cell.model
    if key not in _prepared:
        while len(_prepared) >= KEPT:
            del _prepared[next(iter(_prepared))]
        chosen = model._settings()
        data_raw = raw_data(data.X)
        choice = choose_for(chosen.metric, data_raw, chosen.n_clusters)
        metric, raw = resolve_metric(choice.metric, None), data_raw.without(choice.left_out)
        algorithm = model._algorithm(metric)
        objects = in_memory(algorithm, chosen, metric, model, raw, data.sample_weight, runs=100 * chosen.n_init)
        _prepared[key] = PreparedRuns(choice, algorithm, objects)
    return _prepared[key]


def batch_size(cell: Cell, data: Data) -> int:
    """Return the number of cells of one task."""
    if not is_batchable(cell.model):
        return 1
    chosen, objects = cell.model._settings(), prepared(cell, data).objects
    shape = objects.space.starts(objects.x, torch.zeros(1, dtype=torch.int64)).shape[1:]
    work = float(len(objects)) * chosen.n_sets * objects.metric.cost_of_distance(shape) * chosen.n_init
    return int(np.clip((GPU_WORK if objects.device.type == "cuda" else CPU_WORK) / work, 1, 1000))


def partitions(ready: PreparedRuns, outcomes: Sequence[Outcome], x: object) -> list[tuple[CredalPartition, Geometry]]:
    """Return the credal partition of ``x`` for each cell's best run, with the distances behind it."""
    results: list[tuple[CredalPartition, Geometry]] = []
    for outcome in outcomes:
        c, best = outcome.chosen.n_clusters, outcome.solution.part(slice(outcome.best, outcome.best + 1))
        model = Fit(ready.algorithm, ready.objects, outcome.chosen).model_of(outcome)
        partition, far = model.to(ready.objects.device).measured(x)
        between = ready.algorithm.between(ready.objects, best, c)[0]
        results.append((partition, _geometry(model.metric, far[:, :c], between)))
    return results


def run_cells(cells: Sequence[Cell], data: Data, report: Callback | None = None) -> list[dict[str, Value]]:
    """Return one row per cell, equal to what the cell's estimator finds when fitted alone."""
    if not is_batchable(cells[0].model):
        return [fit_alone(cell.model, data) for cell in cells]
    began = time.perf_counter()
    settings = [cell.model._settings() for cell in cells]
    with threads(settings[0].n_jobs), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # merged and unfinished runs are columns here
        ready = prepared(cells[0], data)
        outcomes = fit_cells(Fit(ready.algorithm, ready.objects, settings[0], report), settings)
        results = partitions(ready, outcomes, ready.objects.x)
        measured = [_measured(ready, data, *cell) for cell in zip(cells, settings, outcomes, results, strict=True)]
    seconds = (time.perf_counter() - began) / len(cells)
    return [{**row, "seconds": seconds} for row in measured]


def _measured(
    ready: PreparedRuns,
    data: Data,
    cell: Cell,
    chosen: Settings,
    outcome: Outcome,
    result: tuple[CredalPartition, Geometry],
) -> dict[str, Value]:
    """Return the result of a cell, measured in units of its groups if requested, and its quality."""
    partition, geometry = result
    model = Fit(ready.algorithm, ready.objects, outcome.chosen).model_of(outcome)
    spheres = Fitted(ready.choice, ready.objects, outcome, model, partition)
    fitted = cell.model.in_shape(spheres, chosen, raw_data(data.X), data.sample_weight)
    if fitted is not spheres:
        far = fitted.model.distances(fitted.objects.x.cpu()).numpy()
        partition, geometry = fitted.partition, _prototype_geometry(fitted.model, np.asarray(far, dtype=np.float64))
    weighted = None if ready.objects.weights is None else ready.objects.counts
    ended, worth = fitted.outcome, measures(partition, geometry, weighted)
    run, solution = ended.best, ended.solution
    return {
        "objective": float(solution.objective[run]),
        **_separation(float(ended.separation[run])),
        **worth.row(),
        **against_labels(partition, data.y),
        "delta_found": _or_nan(ended.chosen.delta),
        "n_iter": int(solution.n_iter[run]),
        "converged": bool(solution.converged[run]),
    }


def fit_alone(model: EvidentialClusterer, data: Data) -> dict[str, Value]:
    """Return the row of a cell whose estimator has its own way to fit."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {} if data.sample_weight is None else {"sample_weight": data.sample_weight}
        model.fit(data.X, **options)
    weights = None if data.sample_weight is None else np.asarray(data.sample_weight, dtype=np.float64)
    return {
        "objective": float(model.objective_),
        **_separation(float(getattr(model, "separation_", np.nan))),
        **measures(model.partition_, geometry_of(model, data.X), weights).row(),
        **against_labels(model.partition_, data.y),
        "delta_found": _or_nan(getattr(model, "delta_", None)),
        "n_iter": int(model.n_iter_),
        "converged": bool(model.converged_),
        "seconds": time.perf_counter() - began,
    }


def _separation(value: float) -> dict[str, Value]:
    return {"separation": value, "collapsed": value < MERGED}


def _or_nan(delta: float | None) -> float:
    return float("nan") if delta is None else float(delta)


def geometry_of(model: EvidentialClusterer, X: object) -> Geometry | None:
    """Return distances to and between a fitted estimator's clusters, if it has prototypes of its own."""
    fitted = prototypes_of(model)
    if fitted is None:
        return None
    own = fitted.prototypes[: fitted.focal.n_clusters]
    far = np.asarray(model.transform(X), dtype=np.float64)
    if takes_dissimilarities(model):
        far = far[:, : len(own)]
        if own.ndim != 1:  # medoids are objects, weights are not
            return None
        return Geometry.of_prototypes(far, far[own.long().numpy()], 0.0, are_means=False)
    return _prototype_geometry(fitted, far)


def prototypes_of(model: object) -> PrototypeModel | None:
    """Return a fitted estimator's prototypes, if any."""
    fitted = getattr(model, "model_", None)
    return fitted if isinstance(fitted, PrototypeModel) else None


def _prototype_geometry(fitted: PrototypeModel, far: NDArray[np.float64]) -> Geometry:
    """The same from distances (n, f) of all objects to all prototypes."""
    own = fitted.prototypes[: fitted.focal.n_clusters]
    with torch.no_grad():
        # Each set may have its own metric: compute all of them, then select the clusters'.
        between = fitted.metric.pairwise(own, fitted.prototypes).clamp_min(0.0)[:, : len(own)].double().numpy()
    return _geometry(fitted.metric, far[:, : len(own)], between)


def _geometry(metric: SemiMetric, far: NDArray[np.float64], between: NDArray[np.float64]) -> Geometry:
    """Return the geometry of clusters at these distances from all objects and each other."""
    are_means = metric.closed_form.quadratic or isinstance(metric, SetQuadratic)
    return Geometry.of_prototypes(far, between, metric.degree, are_means=are_means)


def takes_dissimilarities(model: object) -> bool:
    """Whether an estimator takes a square matrix of dissimilarities."""
    return bool(get_tags(model).input_tags.pairwise)
