r"""The first stage of a fit by default: single clusters and the empty set, found robustly, and what follows from them.

Fitting all sets at once from a random start lets pairs take objects from the clusters, and far objects decide where the
runs start. So the clusters come first:

1. :math:`\delta_0^2`, a quantile of the distances to the barycentre of all objects; starts by k-means++ with distances
   capped there, the best of a few candidates for each cluster; single clusters and the empty set are fitted.
2. :math:`\delta`: median plus seven deviations (1.4826 MAD) of :math:`\sqrt d` to the nearest cluster. While it shrinks,
   the starts are drawn and fitted once more with it, the last answer among them.
3. Clusters are moved to where one is missed most, as long as that pays (:mod:`softecm.fit.swaps`).
4. The best is fitted to all objects with a closer delta (three deviations), so that what lies between clusters and beyond
   them does not pull at them; delta is measured again (five deviations, in tables at least one category that differs).
   Where most objects are equally far from their clusters there are no deviations: each of these deltas is twice the median.
5. Sets: pairs of clusters whose middle is nearer to them than to any other cluster (Gabriel neighbours) and which are the
   two nearest clusters of some object, those of most objects first, at most three for each cluster.

Many objects are represented by a sample in the first three steps. Long series are shortened for the first two, to means over
as many steps as leave most of their variance: the two best starts are then fitted to the series in full. Where a metric has
no exact step, starts are halved as they go, and a run ends when its rounds gain next to nothing; where a metric allows it,
all but the last rounds are in single precision.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from torch import Tensor

from softecm._warnings import BetaWarning, warn
from softecm.belief import FocalSets
from softecm.distances.base import SemiMetric
from softecm.distances.blocks import nearest_of
from softecm.fit import pipeline
from softecm.fit.algorithm import Algorithm
from softecm.fit.checkpoints import Checkpoints
from softecm.fit.loop import Callback, Checkpointer, stopped
from softecm.fit.model import PrototypeModel
from softecm.fit.outcome import MERGED, Runs, Solution, runs_table
from softecm.fit.pipeline import Outcome
from softecm.fit.prepare import InMemory, Objects, coarsened, in_single, shortened
from softecm.fit.seeding import Draw
from softecm.fit.settings import GAIN, Settings
from softecm.fit.swaps import swapped
from softecm.optim import Accelerated, Descent, Solver
from softecm.spaces import Space

BETA = 1.2  # of the first stage, whatever the last run's: delta and sets are then the same for a whole grid
SOFTER = (1.05, 1.02, 1.01)  # tried where that pulls clusters together
WIDER = 2.0  # times the first delta, then
HARDLY = 0.05  # of its share of the objects: a cluster that holds less is none
NEAR = 0.95  # this part of the objects lies nearer to the barycentre of all than the first delta
GREEDY = 3  # candidates for each cluster of a start
MAD = 1.4826  # of a normal distribution, in deviations: its median absolute deviation is one over this
# Deviations beyond the median: of outliers, of what starts are compared by, and of what decides where the clusters are.
OUTLYING, COMPARED, CLOSE = 5.0, 7.0, 3.0
ENDING = 2.0  # the same: nearly all objects of a cluster lie nearer
SHRINKS, PASSES = 0.9, 5  # starts are drawn again while delta shrinks below this part of itself, at most so often
ENOUGH = 20  # weight for each cluster from which the closer delta is to be trusted
LEAST = 0.02  # of the first delta: a smaller one comes from objects that sit on their clusters' centres
TIED = 1e-9  # of the median: smaller deviations are rounding, and most objects are equally far from their clusters
FINALISTS = 2  # starts that were best with coarser objects and are fitted to them in full
FIRST_COORDINATES = 64  # that are looked at to put clusters in order
PAIRS = 3  # sets of two clusters considered, for each cluster
SAMPLE, SAMPLE_EACH = 2000, 100  # objects that decide between starts: at least, and for each cluster
ROUGH = 1e-3  # how far masses may still move while starts are compared

logger = logging.getLogger("softecm")


@dataclass(frozen=True)
class Stage:
    """What the first stage finds."""

    single: Outcome  # single clusters, fitted to all objects
    runs: Runs | None  # the starts that were compared first
    delta: float | None  # of outliers
    focal: FocalSets
    cut: int  # pairs of neighbours that were left out for being too many


def discover(
    algorithm: Algorithm[Any],
    objects: Objects[Any],
    chosen: Settings,
    random_state: object,
    *,
    callback: Callback | None = None,
    checkpoints: Checkpoints | None = None,
) -> Stage:
    """Single clusters, delta and sets; where checkpoints are written, single clusters are the fit's last loop."""
    alone = replace(
        chosen, focal=FocalSets.up_to(chosen.n_clusters, 1), beta=BETA, lam=0.0, relaxation="exact", pairs=None
    )
    if chosen.staged and not objects.metric.is_quadratic:
        alone = replace(alone, gain=GAIN * chosen.tol)
        alone = replace(alone, solver=quicker(objects, alone))
    first = _first(objects)
    if checkpoints is not None and checkpoints.reached == "clusters":
        close, start = checkpoints.facts["close"], checkpoints.start
        runs: Runs = {name: np.asarray(column) for name, column in checkpoints.facts["runs"].items()}
        alone = replace(alone, beta=checkpoints.facts.get("beta", BETA))
    else:
        starts, close, start, beta = _apart(algorithm, objects, alone, first, random_state, callback, checkpoints)
        runs = runs_table(starts.solution, starts.best, starts.apart)
        alone = replace(alone, beta=beta)
    if alone.beta < BETA <= chosen.beta:
        warn(
            f"beta={chosen.beta:g} pulls clusters of these objects together, as it does in many columns of noise, so they "
            f"were looked for with beta={alone.beta:g}. Give beta={alone.beta:g} for masses that leave less open.",
            BetaWarning,
        )
    if stopped(callback):
        checkpoints = None  # its file says how to go on from where the fit was stopped
    if checkpoints is not None:
        table = {name: column.tolist() for name, column in runs.items()}
        checkpoints.enter("clusters", close=close, runs=table, beta=alone.beta)
    alone = replace(alone, delta=close, solver=quicker(objects, alone))
    (single,) = pipeline.solve(algorithm, objects, [alone], [start], callback=callback, checkpointer=checkpoints)
    delta = close
    if isinstance(chosen.delta, str):
        delta = robust_delta(algorithm, objects, objects, single, first, OUTLYING)
    focal, cut = neighbours(algorithm, objects, single)
    return Stage(single, runs, delta, focal, cut)


def refined(
    algorithm: Algorithm[Any],
    objects: Objects[Any],
    chosen: Settings,
    last: PrototypeModel,
    callback: Callback | None,
) -> Stage:
    """Single clusters from where an earlier fit left them; its sets are kept."""
    c = chosen.n_clusters
    simple = FocalSets.up_to(c, 1)
    before = replace(last, focal=simple, prototypes=last.prototypes[:c])
    close, auto = chosen.delta, isinstance(chosen.delta, str)
    if auto:
        close = last.close
        if close is None:
            median, mad = objects.nearest_spread(before)
            close = beyond(median, mad, CLOSE, before.metric.scale_power(objects.x)) or last.delta
    alone = replace(chosen, focal=simple, beta=BETA, lam=0.0, relaxation="exact", pairs=None, delta=close)
    start = before.prototypes.to(chosen.dtype)[None]
    (single,) = pipeline.solve(algorithm, objects, [alone], [start], callback=callback)
    return Stage(single, None, last.delta if auto else chosen.delta, last.focal, 0)  # type: ignore[arg-type]


def renewed(
    algorithm: Algorithm[Any],
    objects: Objects[Any],
    chosen: Settings,
    last: PrototypeModel,
    callback: Callback | None,
) -> Stage:
    """Single clusters from where an earlier fit left them; delta and sets are measured anew."""
    stage = refined(algorithm, objects, chosen, last, callback)
    focal, cut = neighbours(algorithm, objects, stage.single)
    delta = stage.delta
    if isinstance(chosen.delta, str):
        delta = robust_delta(algorithm, objects, objects, stage.single, _first(objects), OUTLYING)
    return replace(stage, delta=delta, focal=focal, cut=cut)


def _apart(
    algorithm: Algorithm[Any],
    objects: Objects[Any],
    alone: Settings,
    first: float,
    random_state: object,
    callback: Callback | None,
    checkpoints: Checkpoints | None,
) -> tuple[Outcome, float | None, Tensor, float]:
    """The best of the starts, with a beta so near to 1 that clusters stay apart.

    In many columns of noise all clusters merge, or most of them hold next to nothing. Then a few smaller betas are tried,
    and that is taken whose clusters leave the objects least far from the nearest of them.
    """
    found = _started(algorithm, objects, alone, first, random_state, callback, checkpoints)
    points = algorithm.adds_sets and objects.metric.is_quadratic  # whatever else prototypes are, it is as it was
    if not isinstance(objects, InMemory) or alone.n_clusters < 2 or not points:
        return *found[:-1], alone.beta
    wide = WIDER * first  # noise puts any two objects further apart than either from the barycentre of all
    left, lost = _left(objects, found[2], wide)
    if not (found[-1] or lost) or objects.distinct(alone.n_clusters) is not None:
        return *found[:-1], alone.beta
    best, chosen = found, alone.beta
    for beta in SOFTER:
        tried = _started(algorithm, objects, replace(alone, beta=beta), wide, random_state, callback, None)
        far, lost = _left(objects, tried[2], wide)
        if far < left and not tried[-1]:
            best, chosen, left = tried, beta, far
            if not lost:
                break
    return *best[:-1], chosen


def _left(objects: InMemory[Any], start: Tensor, cap: float) -> tuple[float, bool]:
    """How far all objects are from the nearest cluster, capped; whether most clusters are nearest to hardly any."""
    d, which = nearest_of(objects.metric, objects.x.cpu(), start[0].cpu())
    held = np.bincount(which.numpy(), objects.counts, len(start[0]))
    few = held < HARDLY * objects.weight / len(held)
    return float(objects.counts @ np.minimum(d.numpy(), cap**2)), bool(2 * few.sum() > len(held))


def _started(
    algorithm: Algorithm[Any],
    objects: Objects[Any],
    alone: Settings,
    first: float,
    random_state: object,
    callback: Callback | None,
    checkpoints: Checkpoints | None,
) -> tuple[Outcome, float | None, Tensor, bool]:
    """The best of the starts, found on a sample of many objects; the delta to fit it to all of them; where to begin.

    And whether it has merged.
    """
    few, rng = _sampled(algorithm, objects, alone.n_clusters), check_random_state(random_state)
    slow = algorithm.samples and not objects.metric.is_quadratic and isinstance(alone.init, str)
    coarse = coarsened(algorithm, few) if slow else None
    light = in_single(algorithm, few if coarse is None else objects) if slow and alone.gain > 0.0 else None
    among, unit = (light or few, first) if coarse is None else (coarse, _first(coarse))
    short = shortened(few) if isinstance(alone.init, str) else None
    rough, auto = replace(alone, tol=max(alone.tol, ROUGH), gain=3.0 * alone.gain), isinstance(alone.delta, str)
    if not auto and alone.delta is not None:
        rough = replace(rough, delta=float(alone.delta) * (unit / first))
    starts, best, close = _compared(algorithm, short or among, rough, unit, rng, callback, checkpoints)
    if short is not None:
        best = _written_out(short, best)
    runs = [best.best]
    if coarse is not None or light is not None:
        finer = few.space.finer(best.solution.prototypes)
        best = replace(best, solution=replace(best.solution, prototypes=finer))
    if coarse is not None:  # the best of them as the objects in full see them, and these have the last word
        others = [run for run in np.argsort(best.solution.objective, kind="stable").tolist() if run != best.best]
        runs = [best.best, *others][:FINALISTS]
        close = robust_delta(algorithm, few, few, best, first, COMPARED) if auto else alone.delta
    if auto and objects.weight >= ENOUGH * alone.n_clusters:
        close = min(close, robust_delta(algorithm, objects, few, best, first, CLOSE))
    settled = replace(alone, delta=close)
    solutions = {run: in_order(best.solution, run) if isinstance(alone.init, str) else best.solution for run in runs}
    start = torch.cat([algorithm.from_clusters(few, settled, solutions[run], run) for run in runs])
    merged = bool(best.apart[best.best] < MERGED)
    if coarse is not None and light is not None:  # most of the way
        (best,) = pipeline.solve(algorithm, light, [settled], [start.float()], callback=callback)
        start = few.space.finer(algorithm.from_clusters(light, settled, best.solution, best.best))
    return starts, close, start, merged


def _written_out(short: InMemory[Any], best: Outcome) -> Outcome:
    """The best run, its combinations of objects written out."""
    run = slice(best.best, best.best + 1)
    one = best.solution.part(run)
    solution = replace(one, prototypes=short.space.finer(one.prototypes[0])[None])
    return replace(best, solution=solution, apart=best.apart[run], best=0)


def _compared(
    algorithm: Algorithm[Any],
    objects: Objects[Any],
    rough: Settings,
    first: float,
    rng: np.random.RandomState,
    callback: Callback | None,
    checkpoints: Checkpoints | None,
) -> tuple[Outcome, Outcome, Any]:
    """All starts, the best of them once delta has been found and clusters have been moved, and that delta."""
    auto = isinstance(rough.delta, str)
    if checkpoints is not None:
        checkpoints.enter("starts")
    fitted = partial(_fitted, algorithm, objects, rng=rng, callback=callback)
    close: Any = first if auto else rough.delta
    starts = best = fitted(replace(rough, delta=close), first, None, checkpointer=checkpoints)
    for _ in range(PASSES - 1 if auto else 0):
        shrunk = robust_delta(algorithm, objects, objects, best, first, COMPARED)
        if shrunk >= SHRINKS * close:
            break
        close = shrunk
        best = fitted(replace(rough, delta=close), close, best)
    if rough.n_clusters > 2 and algorithm.samples and objects.metric.is_quadratic and isinstance(objects, InMemory):
        best = swapped(algorithm, objects, replace(rough, delta=close), best, callback)
    return starts, best, close


def _first(objects: Objects[Any]) -> float:
    """The delta before any cluster is known."""
    near = objects.from_center(NEAR)
    return float(np.sqrt(near)) if near > 0 else 1.0  # all objects equal: any distance will do


def quicker(objects: Objects[Any], alone: Settings) -> str | Solver:
    """Exact steps near the end of a fit can be extrapolated; where they are not exact, curvature saves rounds."""
    solver: str | Solver = alone.solver
    if not (isinstance(solver, str) and solver == "auto"):
        return solver
    if objects.metric.is_quadratic:
        return solver if objects.space.wide else Accelerated()  # wide rounds are not remembered
    return Descent(stiff=True, least=alone.gain) if alone.gain > 0.0 else solver


def in_order(solution: Solution, run: int) -> Solution:
    """Single clusters numbered by where they are, the first coordinate first: the same whatever start found them."""
    if solution.prototypes.ndim < 3:  # numbers of objects say nothing about where they are
        return solution
    order = torch.as_tensor(_by_place(solution.prototypes[run].flatten(1)), device=solution.prototypes.device)
    found = {name: part[:, order] for name, part in solution.found.items()}
    return replace(solution, prototypes=solution.prototypes[:, order], found=found)


def _by_place(places: Tensor) -> NDArray[np.int64]:
    """Rows (c, p) in the order of their first coordinate, then of the next; no more of them is looked at than tells."""
    width = FIRST_COORDINATES
    while width < places.shape[1] and len(torch.unique(places[:, :width], dim=0)) < len(places):
        width *= 8
    found: NDArray[np.int64] = np.lexsort(places[:, :width].double().cpu().numpy().T[::-1])
    return found


def sample_size(n_clusters: int) -> int:
    """How many objects stand for many."""
    return max(SAMPLE, SAMPLE_EACH * n_clusters)


def _sampled(algorithm: Algorithm[Any], objects: Objects[Any], c: int) -> Objects[Any]:
    size = sample_size(c)
    return objects.sample(size) if algorithm.samples and len(objects) > 2 * size else objects


def _fitted(
    algorithm: Algorithm[Any],
    objects: Objects[Any],
    alone: Settings,
    cap: float,
    before: Outcome | None,
    *,
    rng: np.random.RandomState,
    callback: Callback | None,
    checkpointer: Checkpointer | None = None,
) -> Outcome:
    """The best of several starts, an earlier answer among them."""
    if isinstance(alone.init, str) or algorithm.starts_at_masses:
        draw = Draw("k-means++", alone.n_init, cap**2, GREEDY)
        start = algorithm.seeded(objects, alone, draw, rng)
    else:
        start = algorithm.given(objects, alone)
    if before is not None:
        start = torch.cat([algorithm.from_clusters(objects, alone, before.solution, before.best).to(start), start])
    return pipeline.solve(algorithm, objects, [alone], [start], callback=callback, checkpointer=checkpointer)[0]


def robust_delta(
    algorithm: Algorithm[Any],
    objects: Objects[Any],
    among: Objects[Any],
    single: Outcome,
    first: float,
    deviations: float,
) -> float:
    """Median plus so many deviations of distances to the nearest cluster, as a root; the first where that is next to 0."""
    model = pipeline.model_of(algorithm, among, single)
    median, mad = objects.nearest_spread(model)
    power = model.metric.scale_power(objects.x)
    found = beyond(median, mad, deviations, power)
    if found < LEAST * first:
        return first
    return outlying(median, mad, model.metric, objects.space, power) if deviations == OUTLYING else found


def beyond(median: float, mad: float, deviations: float, power: float = 0.5) -> float:
    """So many deviations beyond the median; twice the median where most objects are equally far from their clusters.

    Words by edit distance, for instance, are mostly one letter from the word in their middle: then no deviation says what
    is far, and most objects would lie exactly at delta. Median and deviation are those of distances to this power, delta
    is a root of a distance.

    Examples
    --------
    >>> round(beyond(1.0, 0.2, 5.0), 4), beyond(1.0, 0.0, 5.0), beyond(1.0, 0.0, 5.0, power=1.0)
    (2.4826, 2.0, 2.0)
    """
    found = median + deviations * MAD * mad if mad > TIED * median else 4.0**power * median
    return _root(found, power)


def _root(distance: float, power: float) -> float:
    """The root of a distance that was raised to a power."""
    return distance if power == 0.5 else float(distance ** (0.5 / power))


def outlying(median: float, mad: float, metric: SemiMetric, space: Space, power: float = 0.5) -> float:
    """From where an object may as well belong nowhere: five deviations beyond the median, and no nearer than one category.

    Where most objects have all categories of their group, deviations are next to 0, and one that differs in a single
    category would be an outlier. Where objects can have nothing in common, as directions can, five deviations may lie beyond
    that: then it is midway between that and where nearly all objects end.
    """
    found = max(beyond(median, mad, OUTLYING, power), _root(median, power) + math.sqrt(metric.step(space)))
    end = _root(median + ENDING * MAD * mad, power) ** 2
    return min(found, math.sqrt((end + metric.unrelated) / 2.0)) if end < metric.unrelated else found


def neighbours(algorithm: Algorithm[Any], objects: Objects[Any], single: Outcome) -> tuple[FocalSets, int]:
    """Each cluster, and pairs of neighbouring clusters; how many such pairs were left out."""
    c = single.chosen.n_clusters
    apart = algorithm.between(objects, single.solution, c)[single.best]
    held = objects.second_nearest(pipeline.model_of(algorithm, objects, single))
    return neighbouring(apart, objects.metric.degree, held)


def neighbouring(apart: NDArray[np.float64], degree: float, held: NDArray[np.float64]) -> tuple[FocalSets, int]:
    """The same from distances between clusters (c, c) and the weight of the objects between two of them (c, c)."""
    c, near = len(apart), gabriel(apart ** (2.0 / degree))
    pairs = [(a, b) for a in range(c) for b in range(a + 1, c) if near[a, b] and held[a, b] > 0]
    kept = sorted(pairs, key=lambda pair: -held[pair])[: PAIRS * c]
    if len(kept) < len(pairs):
        logger.info(
            "%d of %d pairs of neighbouring clusters are considered, those of most objects", len(kept), len(pairs)
        )
    singles = [(k,) for k in range(c)]
    return FocalSets.of(c, [*singles, *sorted(kept)]), len(pairs) - len(kept)


def gabriel(squares: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which pairs have a middle nearer to them than to any third, from squared distances (c, c).

    Examples
    --------
    >>> points = np.array([0.0, 1.0, 3.0])
    >>> gabriel((points[:, None] - points) ** 2).astype(int)
    array([[0, 1, 0],
           [1, 0, 1],
           [0, 1, 0]])
    """
    squares = (squares + squares.T) / 2
    through = squares[:, :, None] + squares[None, :, :]  # from a over m to b: (a, m, b)
    index = np.arange(len(squares))
    through[index, index, :] = through[:, index, index] = np.inf
    least = through.min(1) if len(squares) > 2 else np.full(squares.shape, np.inf)
    near: NDArray[np.bool_] = (squares < least) & ~np.eye(len(squares), dtype=bool)
    return near
