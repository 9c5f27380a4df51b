r"""The first stage of a fit by default: single clusters and the empty set, found robustly, and what follows from them.

Fitting all sets at once from a random start lets pairs take objects from the clusters, and far objects decide where the
runs start. So the clusters come first:

1. :math:`\delta_0^2`, a quantile of the distances to the barycentre of all objects; starts by k-means++ with distances
   capped there, the best of a few candidates for each cluster; single clusters and the empty set are fitted.
2. :math:`\delta`: median plus seven deviations (1.4826 MAD) of :math:`\sqrt d` to the nearest cluster. While it shrinks,
   the starts are drawn and fitted once more with it, the last answer among them. If one of the clusters is tiny, half of
   delta is tried as well.
3. Clusters are moved to where one is missed most, as long as that pays (:func:`moved_clusters`).
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
from itertools import product

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from torch import Tensor

from softecm._warnings import BetaWarning, warn
from softecm._wording import option
from softecm.belief import FocalSets
from softecm.distances.base import SemiMetric, nearest_of
from softecm.fit.algorithm import Fit, Outcome
from softecm.fit.loop import MERGED, Runs, Solution, runs_table, stopped
from softecm.fit.prepare import Draw, Objects, Version
from softecm.fit.settings import GAIN, PrototypeModel, Settings
from softecm.objective.problem import Exact
from softecm.optim import Accelerated, Descent, Solver
from softecm.spaces.base import Encoded, Space

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
# A cluster with less than this part of an average group may be a few outliers; if so, delta shrinks below that part of
# itself without them (a group that is split in two keeps more).
TINY, TIGHTER = 0.2, 0.6
ENOUGH = 20  # weight for each cluster from which the closer delta is to be trusted
LEAST = 0.02  # of the first delta: a smaller one comes from objects that sit on their clusters' centres
TIED = 1e-9  # of the median: smaller deviations are rounding, and most objects are equally far from their clusters
FINALISTS = 2  # starts that were best with coarser objects and are fitted to them in full
FIRST_COORDINATES = 64  # that are looked at to put clusters in order
PAIRS = 3  # sets of two clusters considered, for each cluster
SAMPLE, SAMPLE_EACH = 2000, 100  # objects that decide between starts: at least, and for each cluster
ROUGH = 1e-3  # how far masses may still move while starts are compared
MOVES = 50  # of clusters to where one is missed, at most
FEW, PLACES = 3, 20  # clusters to move, and places to move them to; objects looked at for the latter
TRIAL = 8  # iterations that say whether a move may pay
WORTH, BETTER = 1e-3, 1e-6  # parts of the objective that a trial must save to be followed, and its end to be taken

logger = logging.getLogger("softecm")


@dataclass(frozen=True)
class Stage:
    """What the first stage finds."""

    single: Outcome  # single clusters, fitted to all objects
    runs: Runs | None  # the starts that were compared first
    delta: float | None  # of outliers
    focal: FocalSets


@dataclass(frozen=True)
class BestStart:
    """The best of several starts, and how the objects are fitted from there."""

    place: Tensor  # (1, c, *shape); of coarser objects, as many as have a chance
    runs: Runs  # the starts that were compared
    delta: float | None
    beta: float
    merged: bool = False  # its clusters lie in one place


@dataclass(frozen=True)
class ComparedStarts:
    """What comparing starts has found, on a version of a few objects."""

    few: Objects[object]  # that stand for all
    version: Version  # of these, on which the starts were compared
    fit: Fit  # of that version, with the last delta
    starts: Outcome  # all of them
    best: Outcome


def first_stage(fit: Fit) -> Stage:
    """Single clusters, delta and sets; where checkpoints are written, single clusters are the fit's last loop."""
    settings, objects, checkpoints = fit.settings, fit.objects, fit.checkpoints
    gain = GAIN * settings.tol if settings.init.staged and not objects.metric.closed_form.quadratic else settings.gain
    simple = FocalSets.up_to(settings.n_clusters, 1)
    single = fit.using(focal=simple, beta=BETA, lam=0.0, relaxation=Exact, pairs=None, gain=gain)
    if settings.init.staged and not objects.metric.closed_form.quadratic:
        single = single.using(solver=quicker(objects, single.settings))
    initial_delta = first_delta(objects)
    if checkpoints is not None and checkpoints.reached == "clusters":
        facts = checkpoints.facts
        runs = {name: np.asarray(column) for name, column in facts["runs"].items()}
        start = BestStart(checkpoints.start, runs, facts["close"], facts.get("beta", BETA))
    else:
        start = _refine_on_all(single, moved_clusters(_compare_starts(single, initial_delta)), initial_delta)
        if _pulled_together(single, start, initial_delta):
            start = _with_softer_masses(single, start, initial_delta)
    if start.beta < BETA <= settings.beta:
        warn(
            f"{option('beta', settings.beta)} pulls the clusters together, as happens with many noisy columns, so they "
            f"were found with beta {start.beta:g}. Set {option('beta', start.beta)} for more decisive masses.",
            BetaWarning,
        )
    if stopped(fit.callback):
        single = replace(single, checkpoints=None)  # its file says how to go on from where the fit was stopped
    elif checkpoints is not None:
        table = {name: column.tolist() for name, column in start.runs.items()}
        checkpoints.enter("clusters", close=start.delta, runs=table, beta=start.beta)
    last = replace(single.settings, beta=start.beta, delta=start.delta, finds_delta=False)
    last = replace(last, solver=quicker(objects, last))
    (outcome,) = single.solve((last, start.place), checkpointed=True)
    delta = robust_delta(single, objects, outcome, initial_delta, OUTLYING) if settings.finds_delta else start.delta
    return Stage(outcome, start.runs, delta, neighbours(single, outcome))


def known_stage(fit: Fit, last: PrototypeModel, *, anew: bool = False) -> Stage:
    """Single clusters from where an earlier fit left them; its sets and its delta are kept, or measured ``anew``."""
    settings, objects, c = fit.settings, fit.objects, fit.settings.n_clusters
    before = replace(last, focal=FocalSets.up_to(c, 1), prototypes=last.prototypes[:c])
    close = last.close if settings.finds_delta else settings.delta
    if settings.finds_delta and close is None:
        median, mad = objects.nearest_spread(before)
        close = beyond(median, mad, CLOSE, before.metric.scale_power(objects.x)) or last.delta
    single = clusters_alone(fit.using(beta=BETA), before.prototypes, close)
    delta = last.delta if settings.finds_delta else settings.delta
    if not anew:
        return Stage(single, None, delta, last.focal)
    if settings.finds_delta:
        delta = robust_delta(fit, objects, single, first_delta(objects), OUTLYING)
    return Stage(single, None, delta, neighbours(fit, single))


def clusters_alone(fit: Fit, clusters: Tensor, close: float | None) -> Outcome:
    """Single clusters, fitted from known places (c, *shape) with a delta."""
    settings = replace(
        fit.settings, focal=FocalSets.up_to(len(clusters), 1), lam=0.0, relaxation=Exact, pairs=None, delta=close
    )
    (single,) = fit.solve((settings, clusters.to(settings.dtype)[None]))
    return single


def _pulled_together(fit: Fit, start: BestStart, initial_delta: float) -> bool:
    """Whether the clusters of a start have merged, or most of them hold next to nothing, as in many columns of noise."""
    objects, c = fit.objects, fit.settings.n_clusters
    points = fit.algorithm.adds_sets and objects.metric.closed_form.quadratic  # other prototypes: as it was
    if not objects.are_here or c < 2 or not points:
        return False
    return (start.merged or _capped_distance(objects, start.place, WIDER * initial_delta)[1]) and objects.distinct(
        c
    ) is None


def _with_softer_masses(fit: Fit, best: BestStart, initial_delta: float) -> BestStart:
    """A start with a beta so near to 1 that clusters stay apart.

    A few smaller betas are tried; that is taken whose clusters leave the objects least far from the nearest of them.
    """
    # Noise puts any two objects further apart than either from the barycentre.
    objects, wide = fit.objects, WIDER * initial_delta
    left, _ = _capped_distance(objects, best.place, wide)
    for beta in SOFTER:
        softer = replace(fit.using(beta=beta), checkpoints=None)
        tried = _refine_on_all(softer, moved_clusters(_compare_starts(softer, wide)), wide)
        far, lost = _capped_distance(objects, tried.place, wide)
        if far < left and not tried.merged:
            best, left = tried, far
            if not lost:
                break
    return best


def _capped_distance(objects: Objects[Encoded], start: Tensor, cap: float) -> tuple[float, bool]:
    """How far all objects are from the nearest cluster, capped; whether most clusters are nearest to hardly any."""
    d, which = nearest_of(objects.metric, objects.x.cpu(), start[0].cpu())
    held = np.bincount(which.numpy(), objects.counts, len(start[0]))
    few = held < HARDLY * objects.weight / len(held)
    return float(objects.counts @ np.minimum(d.numpy(), cap**2)), bool(2 * few.sum() > len(held))


def _compare_starts(fit: Fit, initial_delta: float) -> ComparedStarts:
    """The best of the starts, on a sample of many objects, or on a quicker version of them.

    ``initial_delta`` holds before any cluster is known. While delta shrinks, starts are drawn anew beside the last answer.
    A few far outliers can take a cluster, so that two groups share another, and delta, which is measured on these, stays
    large. Where a cluster is tiny, half of delta is tried, too: the answer is taken if its clusters are much tighter.
    """
    settings, few, drawn = fit.settings, fit.objects, fit.settings.init.value is None
    size = sample_size(settings.n_clusters)
    if fit.algorithm.samples and len(few) > 2 * size:
        few = few.sample(size)
    version = few.quicker(fit.algorithm, rounded=settings.gain > 0.0) if drawn else Version(few)
    own_first_delta = first_delta(version.objects) if version.coarser else initial_delta
    rng = check_random_state(settings.random_state)
    if fit.checkpoints is not None:
        fit.checkpoints.enter("starts")
    delta = settings.delta if settings.delta is None else settings.delta * (own_first_delta / initial_delta)
    delta, cap = own_first_delta if settings.finds_delta else delta, own_first_delta
    fit = replace(fit, objects=version.objects)
    fit = fit.using(tol=max(settings.tol, ROUGH), gain=3.0 * settings.gain, delta=delta)
    first = best = loose = None
    for number in range(PASSES):
        if drawn or fit.algorithm.starts_at_masses:
            draw = Draw("k-means++", settings.n_init, cap**2, GREEDY)
            start = fit.algorithm.seeded(fit.objects, fit.settings, draw, rng)
        else:
            start = fit.algorithm.from_init(fit.objects, fit.settings)
        if best is not None:
            start = torch.cat([fit.algorithm.from_clusters(fit, best).to(start), start])
        (best,) = fit.solve((fit.settings, start), checkpointed=first is None)
        first = first or best
        if not settings.finds_delta or number + 1 == PASSES:
            break
        shrunk = robust_delta(fit, fit.objects, best, own_first_delta, COMPARED)
        if shrunk < SHRINKS * cap:
            cap, fit = shrunk, fit.using(delta=shrunk)
        elif drawn and loose is None and _has_tiny_cluster(fit, best):
            loose, cap, best = (fit, best, shrunk), shrunk / 2.0, None
            fit = fit.using(delta=cap)
        else:
            break
    assert first is not None and best is not None  # noqa: PT018 -- there is one pass at least
    if loose is not None:
        delta = robust_delta(fit, fit.objects, best, own_first_delta, COMPARED)
        tighter = delta < TIGHTER * loose[2] and best.separation[best.best] >= MERGED
        fit, best = (fit, best) if tighter and not _has_tiny_cluster(fit, best) else loose[:2]
    return ComparedStarts(few, version, fit, first, best)


def _has_tiny_cluster(fit: Fit, best: Outcome) -> bool:
    """Whether a cluster is the nearest one of hardly any objects."""
    objects, clusters = fit.objects, fit.settings.n_clusters
    if not objects.are_here:
        return False
    nearest = fit.model_of(best).distances(objects.x.cpu()).numpy().argmin(1)
    return bool(np.bincount(nearest, objects.counts, clusters).min() < TINY * objects.weight / clusters)


def _refine_on_all(fit: Fit, compared: ComparedStarts, initial_delta: float) -> BestStart:
    """Where the objects in full are fitted from, and with which delta."""
    settings, objects, few, version = fit.settings, fit.objects, compared.few, compared.version
    best, close, drawn = compared.best, compared.fit.settings.delta, settings.init.value is None
    finalists = _finalists(best, FINALISTS if version.coarser else 1, version)
    whole = replace(fit, objects=few)
    if version.coarser:  # the objects in full have the last word
        close = robust_delta(whole, few, finalists, initial_delta, COMPARED) if settings.finds_delta else settings.delta
    if settings.finds_delta and close is not None and objects.weight >= ENOUGH * settings.n_clusters:
        close = min(close, robust_delta(whole, objects, finalists, initial_delta, CLOSE))
    whole = whole.using(delta=close)
    places = []
    for run in range(len(finalists.solution.objective)):
        solution = in_order(finalists.solution, run) if drawn else finalists.solution
        places.append(whole.algorithm.from_clusters(whole, replace(finalists, solution=solution, best=run)))
    place = torch.cat(places)
    if version.coarser and settings.gain > 0.0:
        place = _most_of_the_way(whole, place, objects)
    table = runs_table(compared.starts.solution, compared.starts.best, compared.starts.separation)
    return BestStart(place, table, close, settings.beta, bool(best.separation[best.best] < MERGED))


def _finalists(best: Outcome, most: int, version: Version) -> Outcome:
    """The best runs, the very best first, as the objects in full have them."""
    runs, solution = [best.best], best.solution.part(slice(best.best, best.best + 1))
    if most > 1:
        order = np.argsort(best.solution.objective, kind="stable").tolist()
        runs = [best.best, *(run for run in order if run != best.best)][:most]
        solution = Solution.joined([best.solution.part(slice(run, run + 1)) for run in runs])
    solution = replace(solution, prototypes=version.back(solution.prototypes))
    return replace(best, solution=solution, separation=best.separation[runs], best=0)


def _most_of_the_way(fit: Fit, place: Tensor, objects: Objects[object]) -> Tensor:
    """A start nearer to the end, by iterations in single precision, where that will do for the objects."""
    light = objects.rounded(fit.algorithm)
    if light is None:
        return place
    rounding = replace(fit, objects=light.objects)
    (best,) = rounding.solve((fit.settings, place.float()))
    return light.back(rounding.algorithm.from_clusters(rounding, best))


def first_delta(objects: Objects[object]) -> float:
    """The delta before any cluster is known."""
    near = objects.from_center(NEAR)
    return float(np.sqrt(near)) if near > 0 else 1.0  # all objects equal: any distance will do


def quicker(objects: Objects[object], settings: Settings) -> Solver | None:
    """Exact steps near the end of a fit can be extrapolated; where they are not exact, curvature saves iterations."""
    if settings.solver is not None:
        return settings.solver
    if objects.metric.closed_form.quadratic:
        return None if objects.space.sparse else Accelerated()  # wide iterations are not remembered
    return Descent(stiff=True, least=settings.gain) if settings.gain > 0.0 else None


def in_order(solution: Solution, run: int) -> Solution:
    """Single clusters numbered by where they are, the first coordinate first: the same whatever start found them."""
    if solution.prototypes.ndim < 3:  # numbers of objects say nothing about where they are
        return solution
    places, width = solution.prototypes[run].flatten(1), FIRST_COORDINATES  # no more of them is looked at than tells
    while width < places.shape[1] and len(torch.unique(places[:, :width], dim=0)) < len(places):
        width *= 8
    order = torch.as_tensor(np.lexsort(places[:, :width].double().cpu().numpy().T[::-1]), device=places.device)
    extras = {name: part[:, order] for name, part in solution.extras.items()} if solution.extras else {}
    return replace(solution, prototypes=solution.prototypes[:, order], extras=extras)


def sample_size(n_clusters: int) -> int:
    """How many objects stand for many."""
    return max(SAMPLE, SAMPLE_EACH * n_clusters)


def robust_delta(fit: Fit, objects: Objects[object], single: Outcome, first: float, deviations: float) -> float:
    """Median plus so many deviations of distances to the nearest cluster, as a root; the first where that is next to 0.

    ``single`` was found with the objects of ``fit``, which may be a sample of ``objects``.
    """
    model = fit.model_of(single)
    median, mad = objects.nearest_spread(model)
    power = model.metric.scale_power(objects.x)
    delta = beyond(median, mad, deviations, power)
    if delta < LEAST * first:
        return first
    return outlying(median, mad, model.metric, objects.space, power) if deviations == OUTLYING else delta


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
    distance = median + deviations * MAD * mad if mad > TIED * median else 4.0**power * median
    return float(distance ** (0.5 / power))


def outlying(median: float, mad: float, metric: SemiMetric, space: Space, power: float = 0.5) -> float:
    """From where an object may as well belong nowhere: five deviations beyond the median, and no nearer than one category.

    Where most objects have all categories of their group, deviations are next to 0, and one that differs in a single
    category would be an outlier. Where objects can have nothing in common, as directions can, five deviations may lie beyond
    that: then it is midway between that and where nearly all objects end.
    """
    one_category = float(median ** (0.5 / power)) + math.sqrt(metric.step(space))
    delta = max(beyond(median, mad, OUTLYING, power), one_category)
    end = float((median + ENDING * MAD * mad) ** (1.0 / power))
    return min(delta, math.sqrt((end + metric.unrelated) / 2.0)) if end < metric.unrelated else delta


def neighbours(fit: Fit, single: Outcome, held: NDArray[np.float64] | None = None) -> FocalSets:
    """Each cluster, and pairs of neighbouring clusters.

    ``held`` (c, c) is the weight of the objects whose two nearest clusters are a and b, a < b; by default it is measured.
    """
    c, objects = single.chosen.n_clusters, fit.objects
    held = objects.second_nearest(fit.model_of(single)) if held is None else held
    between = fit.algorithm.between(objects, single.solution, c)[single.best]
    pairs = np.argwhere(np.triu(gabriel(between, objects.metric.degree) & (held > 0), 1))  # (pairs, 2)
    most = np.argsort(-held[pairs[:, 0], pairs[:, 1]], kind="stable")[: PAIRS * c]
    if len(most) < len(pairs):
        logger.info(
            "%d of %d pairs of neighbouring clusters are considered, those of most objects", len(most), len(pairs)
        )
    sets = [*np.arange(c)[:, None].tolist(), *pairs[most].tolist()]
    return FocalSets(c, tuple(map(tuple, sets)))


def gabriel(distances: NDArray[np.float64], degree: float = 2.0) -> NDArray[np.bool_]:
    """Which pairs have a middle nearer to them than to any third, from distances (c, c); of degree 2 they are squares.

    Examples
    --------
    >>> points = np.array([0.0, 1.0, 3.0])
    >>> gabriel((points[:, None] - points) ** 2).astype(int)
    array([[0, 1, 0],
           [1, 0, 1],
           [0, 1, 0]])
    """
    squares = distances ** (2.0 / degree)
    squares = (squares + squares.T) / 2
    through = squares[:, :, None] + squares[None, :, :]  # from a over m to b: (a, m, b)
    index = np.arange(len(squares))
    through[index, index, :] = through[:, index, index] = np.inf
    least = through.min(1) if len(squares) > 2 else np.full(squares.shape, np.inf)
    near: NDArray[np.bool_] = (squares < least) & ~np.eye(len(squares), dtype=bool)
    return near


def moved_clusters(compared: ComparedStarts) -> ComparedStarts:
    """A way out of poor local minima: move the cluster that is missed least to where one is missed most.

    Two clusters that share a group while another cluster holds two is where starts get stuck, the more so the more clusters
    there are. A few such moves are tried at once for a few iterations each; the best is followed where it pays. Only where
    iterations are cheap: with an exact step, in memory.
    """
    fit, best = compared.fit, compared.best
    exact = fit.algorithm.samples and fit.objects.metric.closed_form.quadratic and compared.version.objects.are_here
    for _ in range(MOVES if exact and fit.settings.n_clusters > 2 else 0):
        trials = _moves(fit, best)
        if trials is None:
            break
        now = float(best.solution.objective[best.best])
        (tried,) = fit.solve((replace(fit.settings, max_iter=TRIAL), trials))
        if not float(tried.solution.objective[tried.best]) < now - WORTH * abs(now):  # with views it may be negative
            break
        (followed,) = fit.solve((fit.settings, fit.algorithm.from_clusters(fit, tried)))
        if not float(followed.solution.objective[0]) < now - BETTER * abs(now) or followed.separation[0] < MERGED:
            break
        best = followed
    return replace(compared, best=best)


def _moves(fit: Fit, best: Outcome) -> Tensor | None:
    """Clusters (moves, c, *shape), one of them elsewhere; None where there is no place for it."""
    objects, delta = fit.objects, fit.settings.delta
    clusters = fit.algorithm.from_clusters(fit, best)[0]
    distances = fit.model_of(best).distances(objects.x.cpu()).double().numpy()
    cap = np.inf if delta is None else delta * delta
    wanted = _most_wanted(objects, distances.min(1), cap)
    if not wanted:
        return None
    # The clusters to spare: those without which their objects would have least further to go.
    two = np.minimum(np.sort(np.partition(distances, 1, axis=1)[:, :2], axis=1), cap)
    loss = np.bincount(distances.argmin(1), objects.counts * (two[:, 1] - two[:, 0]), distances.shape[1])
    spare = np.argsort(loss, kind="stable")[:FEW].tolist()
    trials = clusters.expand(len(spare) * len(wanted), *clusters.shape).clone()
    places = objects.space.starts(objects.x, torch.as_tensor(wanted, device=objects.device))
    for number, (k, place) in enumerate(product(spare, places)):
        trials[number, k] = place
    return trials


def _most_wanted(objects: Objects[Encoded], nearest: NDArray[np.float64], cap: float) -> list[int]:
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
    most: list[int] = rows[np.argsort(-gain, kind="stable")[:FEW]].tolist()
    return most
