"""A way out of poor local minima: move the cluster that is missed least to where one is missed most.

Two clusters that share a group while another cluster holds two is where starts get stuck, the more so the more clusters
there are. A few such moves are tried at once for a few rounds each; the best is followed where it pays.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from softecm.fit import pipeline
from softecm.fit.algorithm import Algorithm
from softecm.fit.loop import Callback
from softecm.fit.outcome import MERGED
from softecm.fit.pipeline import Outcome
from softecm.fit.prepare import Objects
from softecm.fit.settings import Settings

MOVES = 50  # at most
FEW = 3  # clusters to move, and places to move them to
PLACES = 20  # objects looked at for the latter
ROUNDS = 8  # of a trial
WORTH, BETTER = 1e-3, 1e-6  # parts of the objective that a trial must save to be followed, and its end to be taken


def swapped(
    algorithm: Algorithm[Any], objects: Objects[Any], alone: Settings, best: Outcome, callback: Callback | None
) -> Outcome:
    """Single clusters with moves tried until none pays; ``alone`` has the delta they are fitted with."""
    for _ in range(MOVES):
        moved = _moved(algorithm, objects, alone, best, callback)
        if moved is None:
            break
        best = moved
    return best


def _moved(
    algorithm: Algorithm[Any], objects: Objects[Any], alone: Settings, best: Outcome, callback: Callback | None
) -> Outcome | None:
    clusters = algorithm.from_clusters(objects, alone, best.solution, best.best)[0]
    distances = pipeline.model_of(algorithm, objects, best).distances(objects.x.cpu()).astype(np.float64)
    cap = np.inf if alone.delta is None else float(alone.delta) * float(alone.delta)
    spare, wanted = _least_missed(distances, objects.counts, cap), _most_wanted(objects, distances.min(1), cap)
    if not wanted:
        return None
    trials = clusters.expand(len(spare) * len(wanted), *clusters.shape).clone()
    places = objects.space.starts(objects.x, torch.as_tensor(wanted, device=objects.device))
    for number, (k, place) in enumerate((k, place) for k in spare for place in places):
        trials[number, k] = place
    (tried,) = pipeline.solve(algorithm, objects, [replace(alone, max_iter=ROUNDS)], [trials], callback=callback)
    now = float(best.solution.objective[best.best])
    if not pays(float(tried.solution.objective[tried.best]), now, WORTH):
        return None
    start = algorithm.from_clusters(objects, alone, tried.solution, tried.best)
    (found,) = pipeline.solve(algorithm, objects, [alone], [start], callback=callback)
    better = pays(float(found.solution.objective[0]), now, BETTER) and found.apart[0] >= MERGED
    return found if better else None


def pays(objective: float, now: float, part: float) -> bool:
    """Whether an objective is lower than now by more than this part; with weights of views it may be negative.

    Examples
    --------
    >>> pays(0.9, 1.0, 1e-3), pays(-1.0, -1.0, 1e-3), pays(-1.1, -1.0, 1e-3)
    (True, False, True)
    """
    return objective < now - part * abs(now)


def _least_missed(distances: NDArray[np.float64], counts: NDArray[np.float64], cap: float) -> list[int]:
    """The clusters without which their objects would have least further to go."""
    nearest = np.argpartition(distances, 1, axis=1)[:, :2]
    rows = np.arange(len(distances))
    two = np.minimum(np.sort(distances[rows[:, None], nearest], axis=1), cap)
    loss = np.bincount(distances.argmin(1), counts * (two[:, 1] - two[:, 0]), distances.shape[1])
    return [int(k) for k in np.argsort(loss, kind="stable")[:FEW]]


def _most_wanted(objects: Objects[Any], nearest: NDArray[np.float64], cap: float) -> list[int]:
    """Objects at which one more cluster would bring all objects nearest, of a few that lie far from theirs."""
    near = np.minimum(nearest, cap)
    order = np.argsort(objects.space.keys(objects.x.cpu()), kind="stable")
    steps = np.cumsum((objects.counts * near)[order])
    if not steps[-1] > 0:
        return []
    places = np.searchsorted(steps, (np.arange(PLACES) + 0.5) / PLACES * steps[-1])
    rows = np.unique(order[np.minimum(places, len(order) - 1)])
    starts = objects.space.starts(objects.x, torch.as_tensor(rows, device=objects.device))
    with torch.no_grad():
        d = objects.metric.pairwise(objects.x, starts).clamp_min(0.0).double().cpu().numpy()
    gain = objects.counts @ np.maximum(near[:, None] - d, 0.0)
    return [int(i) for i in rows[np.argsort(-gain, kind="stable")[:FEW]]]
