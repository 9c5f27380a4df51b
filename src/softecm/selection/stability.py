"""Stability: whether parameters give the same groups if some of the objects are left out."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from softecm._checks import aligned
from softecm._engine import threads
from softecm.belief import CredalPartition
from softecm.fit.algorithm import Fit
from softecm.fit.fitting import fit_cells
from softecm.fit.group_shapes import may_be_shaped
from softecm.fit.loop import MERGED, Callback
from softecm.scores import credal_rand_index
from softecm.selection.batch import Data, is_batchable, partitions, prepared, takes_dissimilarities
from softecm.selection.grid import Cell
from softecm.spaces.raw import is_views, raw_data
from softecm.spaces.views import n_objects

SHARE = 0.8  # of the objects in a resample
COMPARED = 300  # objects on which partitions are compared: 45 000 pairs


def agreement(p: CredalPartition, q: CredalPartition, rng: np.random.RandomState) -> float:
    """Return the credal Rand index of two partitions, corrected for chance: 1 equal, 0 no better than shuffled objects.

    The correction is what makes it a rule: two partitions that leave everything open are as like each other shuffled as
    not, and get 0.
    """
    together = credal_rand_index(p, q, kind="belief")
    shuffled = CredalPartition._trusted(q.masses[rng.permutation(len(q))], q.focal_sets)
    by_chance = credal_rand_index(p, shuffled, kind="belief")
    return (together - by_chance) / (1.0 - by_chance) if by_chance < 1.0 - 1e-12 else 0.0


class Stability(NamedTuple):
    """The stability of a combination of parameters, and its cost."""

    stability: float
    stability_seconds: float


def run_stability(cells: Sequence[Cell], data: Data, resamples: int, report: Callback | None = None) -> list[Stability]:
    """Return the stability of each cell's parameters: mean agreement of successive resamples, the last with the first.

    Every resample holds four fifths of the objects, lambda is scaled with their number, and the partitions are compared
    on the same objects, in or out of the resample. A refit whose clusters merge agrees with nothing.
    """
    began = time.perf_counter()
    n = n_objects(data.X)
    rng = np.random.RandomState(0)
    compared = np.sort(rng.permutation(n)[:COMPARED])
    per_cell: list[list[CredalPartition | None]] = [[] for _ in cells]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(resamples):
            rows = np.sort(np.random.RandomState(number + 1).permutation(n)[: max(2, round(SHARE * n))])
            refit = _refit_together if _are_alike(cells[0], data) else _refit_alone
            for partitions_of_cell, partition in zip(
                per_cell, refit(cells, data, rows, compared, number, report), strict=True
            ):
                partitions_of_cell.append(partition)
    seconds = (time.perf_counter() - began) / len(cells)
    return [Stability(ring(partitions_of_cell), seconds) for partitions_of_cell in per_cell]


def _are_alike(cell: Cell, data: Data) -> bool:
    """Whether refits of a cell are runs of one batch: not if each may have units of its own groups."""
    if not is_batchable(cell.model) or takes_dissimilarities(cell.model):
        return False
    return not may_be_shaped(cell.model._settings(), prepared(cell, data).choice)


def ring(partitions: Sequence[CredalPartition | None]) -> float:
    """Return the mean agreement of neighbours, the last with the first; None agrees with nothing."""
    pairs = enumerate(zip(partitions, [*partitions[1:], *partitions[:1]], strict=True))
    values = [0.0 if p is None or q is None else agreement(p, q, np.random.RandomState(k)) for k, (p, q) in pairs]
    return float(np.mean(values))


def _refit_together(
    cells: Sequence[Cell],
    data: Data,
    rows: NDArray[np.int64],
    compared: NDArray[np.int64],
    number: int,
    report: Callback | None,
) -> list[CredalPartition | None]:
    settings = [cell.model._settings() for cell in cells]
    with threads(settings[0].n_jobs):
        ready = prepared(cells[0], data)
        objects = ready.objects.part(torch.as_tensor(rows, device=ready.objects.device))
        share = objects.weight / ready.objects.weight  # including the cost of the constraint, unless automatic
        scaled = [s if s.lam is None else replace(s, lam=s.lam * share) for s in settings]
        seeded = [replace(s, random_state=number) for s in scaled]
        outcomes = fit_cells(Fit(ready.algorithm, objects, seeded[0], report), seeded)
        seen = ready.objects.x[torch.as_tensor(compared, device=ready.objects.device)]
        results = partitions(replace(ready, objects=objects), outcomes, seen)
    merged = [outcome.separation[outcome.best] < MERGED for outcome in outcomes]
    return [None if alike else p for (p, _), alike in zip(results, merged, strict=True)]


def _refit_alone(
    cells: Sequence[Cell],
    data: Data,
    rows: NDArray[np.int64],
    compared: NDArray[np.int64],
    number: int,
    report: Callback | None,
) -> list[CredalPartition | None]:
    results: list[CredalPartition | None] = []
    for cell in cells:
        model = clone(cell.model)
        own = model.get_params(deep=False)
        changed: dict[str, object] = {}
        if "random_state" in own:
            changed["random_state"] = number
        if own.get("lam", "auto") != "auto":  # "auto" scales with the number of objects by itself
            changed["lam"] = own["lam"] * len(rows) / n_objects(data.X)
        weights = {} if data.sample_weight is None else {"sample_weight": np.asarray(data.sample_weight)[rows]}
        known = rows if takes_dissimilarities(model) else None
        model.set_params(**changed).fit(part_of(data.X, rows, known), **weights)
        merged = getattr(model, "collapsed_", False)
        results.append(None if merged else model.predict_partition(part_of(data.X, compared, known)))
    return results


def part_of(X: object, rows: NDArray[np.int64], columns: NDArray[np.int64] | None) -> object:
    """Return some of the objects; of a matrix of dissimilarities, those to some of the objects."""
    if is_views(X):
        return {name: part_of(part, rows, columns) for name, part in X.items()}
    X = raw.value if (raw := raw_data(X)).is_sparse else X
    return _safe_indexing(X, rows) if columns is None else np.asarray(aligned(X))[np.ix_(rows, columns)]
