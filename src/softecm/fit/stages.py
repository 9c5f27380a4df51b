r"""The first stage of a default fit: a robust fit of single clusters and the empty set, and what follows from it.

When all sets are fitted at once from a random start, pairs take objects from the clusters, and outliers determine the
start. So the clusters come first:

1. :math:`\delta_0^2` is a quantile of the distances to the barycentre of all objects. k-means++ with distances capped
   there, and the best of a few candidates for each cluster, gives the initialization; single clusters and the empty set
   are fitted.
2. :math:`\delta`: median plus seven deviations (1.4826 MAD) of :math:`\sqrt d` to the nearest cluster. While it
   shrinks, initializations are drawn and fitted again with it, the last result among them. If one of the clusters is
   tiny, half of delta is tried as well.
3. Clusters are moved to where one is missing most, as long as that pays (:func:`moved_clusters`).
4. The best is fitted to all objects with a smaller delta (three deviations), so that objects between and beyond
   clusters don't attract them; delta is measured again (five deviations, in tables at least one differing category). If
   most objects are equally far from their clusters there are no deviations: each of these deltas is twice the median.
5. Sets: pairs of clusters whose middle is nearer to them than to any other cluster (Gabriel neighbours) and which are
   the two nearest clusters of some object, those of most objects first, at most three per cluster.

A sample represents many objects in the first three steps. Long series are shortened for the first two, to means over as
many steps as preserve most of their variance: the two best starts are then fitted to the full series. For metrics
without an exact step, starts are halved on the way, and a run ends when its iterations gain almost nothing; if a metric
allows it, all but the last iterations are in single precision.
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
from softecm.spaces.base import Encoded

BETA = 1.2  # of the first stage, whatever that of the last run, so that a whole grid has the same delta and sets
SOFTER = (1.05, 1.02, 1.01)  # tried if that pulls clusters together
WIDER = 2.0  # times the first delta, in that case
HARDLY = 0.05  # of its share of the objects: a cluster with less is none
NEAR = 0.95  # this share of the objects is nearer to the barycentre of all than the first delta
GREEDY = 3  # candidates for each cluster of a start
MAD = 1.4826  # standard deviation over median absolute deviation of a normal distribution
# Deviations beyond the median: for outliers, for comparing starts, and for fitting the clusters.
OUTLYING, COMPARED, CLOSE = 5.0, 7.0, 3.0
ENDING = 2.0  # the same: nearly all objects of a cluster are nearer
SHRINKS, PASSES = 0.9, 5  # draw again while delta shrinks below this share of itself, at most this often
# A cluster with less than this share of an average group may be a few outliers; if so, delta shrinks below that share
# of itself without them (a group split in two keeps more).
TINY, TIGHTER = 0.2, 0.6
ENOUGH = 20  # weight per cluster from which the smaller delta is reliable
LEAST = 0.02  # of the first delta: a smaller one comes from objects on their clusters' centres
TIED = 1e-9  # of the median: smaller deviations are rounding, and most objects are equally far from their clusters
FINALISTS = 2  # best starts with coarser objects, to be fitted to the full ones
FIRST_COORDINATES = 64  # used to order clusters
PAIRS = 3  # sets of two clusters considered, for each cluster
SAMPLE, SAMPLE_EACH = 2000, 100  # minimum number of objects for comparing starts, in total and per cluster
ROUGH = 1e-3  # tolerance of masses while comparing starts
MOVES = 50  # maximum number of clusters moved
FEW, PLACES = 3, 20  # clusters to move, and candidate positions
TRIAL = 8  # iterations that show whether a move may pay
WORTH, BETTER = 1e-3, 1e-6  # relative gain of the objective for a trial to be continued, and for its result to be taken

logger = logging.getLogger("softecm")


@dataclass(frozen=True)
class Stage:
    """The results of the first stage."""

    single: Outcome  # single clusters, fitted to all objects
    runs: Runs | None  # the initializations compared first
    delta: float | None  # of outliers
    focal: FocalSets


@dataclass(frozen=True)
class BestStart:
    """The best of several starts, and how to fit the objects from there."""

    place: Tensor  # (1, c, *shape); for coarser objects, all finalists
    runs: Runs  # the starts that were compared
    delta: float | None
    beta: float
    merged: bool = False  # its clusters have merged


@dataclass(frozen=True)
class ComparedStarts:
    """The result of comparing starts on a version of a few objects."""

    few: Objects[object]  # that represent all
    version: Version  # of these, used to compare the starts
    fit: Fit  # of that version, with the last delta
    starts: Outcome  # all of them
    best: Outcome


def first_stage(fit: Fit) -> Stage:
    """Return single clusters, delta and sets; with checkpoints, single clusters are the fit's last loop."""
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
        start = _pulled_apart(single, start, initial_delta)
    if start.beta < BETA <= settings.beta:
        warn(
            f"{option('beta', settings.beta)} pulls the clusters together, as happens with many noisy columns, so they "
            f"were found with beta {start.beta:g}. Set {option('beta', start.beta)} for more decisive masses.",
            BetaWarning,
        )
    if stopped(fit.callback):
        single = replace(single, checkpoints=None)  # the file already says how to resume
    elif checkpoints is not None:
        table = {name: column.tolist() for name, column in start.runs.items()}
        checkpoints.enter("clusters", close=start.delta, runs=table, beta=start.beta)
    last = replace(single.settings, beta=start.beta, delta=start.delta, finds_delta=False)
    last = replace(last, solver=quicker(objects, last))
    (outcome,) = single.solve((last, start.place), checkpointed=True)
    delta = robust_delta(single, objects, outcome, initial_delta, OUTLYING) if settings.finds_delta else start.delta
    return Stage(outcome, start.runs, delta, neighbours(single, outcome))


def known_stage(fit: Fit, last: PrototypeModel, *, anew: bool = False) -> Stage:
    """Return single clusters of an earlier fit; its sets and delta are kept, or measured ``anew``."""
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
    """Fit single clusters from known positions (c, *shape) with a delta."""
    settings = replace(
        fit.settings, focal=FocalSets.up_to(len(clusters), 1), lam=0.0, relaxation=Exact, pairs=None, delta=close
    )
    (single,) = fit.solve((settings, clusters.to(settings.dtype)[None]))
    return single


def _pulled_apart(fit: Fit, best: BestStart, initial_delta: float) -> BestStart:
    """Return the start, or one with beta so near to 1 that clusters stay apart, if many columns of noise prevent that.

    The clusters have then merged, or most are nearly empty. Of a few smaller betas, the one whose clusters leave the
    objects nearest to a cluster is taken.
    """
    # Noise puts any two objects further apart than either from the barycentre.
    objects, c, wide = fit.objects, fit.settings.n_clusters, WIDER * initial_delta
    points = fit.algorithm.adds_sets and objects.metric.closed_form.quadratic  # other prototypes: as before
    if not objects.are_here or c < 2 or not points:
        return best
    left, lost = _capped_distance(objects, best.place, wide)
    if not (best.merged or lost) or objects.distinct(c) is not None:
        return best
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
    """Return the capped distance of all objects to the nearest cluster, and whether most clusters are nearly empty."""
    d, which = nearest_of(objects.metric, objects.x.cpu(), start[0].cpu())
    held = np.bincount(which.numpy(), objects.counts, len(start[0]))
    few = held < HARDLY * objects.weight / len(held)
    return float(objects.counts @ np.minimum(d.numpy(), cap**2)), bool(2 * few.sum() > len(held))


def _compare_starts(fit: Fit, initial_delta: float) -> ComparedStarts:
    """Return the best start, on a sample of many objects or on a cheaper version of them.

    ``initial_delta`` applies before any cluster is known. While delta shrinks, starts are drawn again beside the last
    result. A few outliers can take a cluster, so that two groups share another one, and delta, measured on these, stays
    large. If a cluster is tiny, half of delta is tried as well: the result is taken if its clusters are much tighter.
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
    assert first is not None and best is not None  # noqa: PT018 -- there is at least one pass
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
    """Return the start for the full objects, and its delta."""
    settings, objects, few, version = fit.settings, fit.objects, compared.few, compared.version
    best, close, drawn = compared.best, compared.fit.settings.delta, settings.init.value is None
    finalists = _finalists(best, FINALISTS if version.coarser else 1, version)
    whole = replace(fit, objects=few)
    if version.coarser:  # the full objects decide
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
    """Return the best runs for the full objects, in order."""
    runs, solution = [best.best], best.solution.part(slice(best.best, best.best + 1))
    if most > 1:
        order = np.argsort(best.solution.objective, kind="stable").tolist()
        runs = [best.best, *(run for run in order if run != best.best)][:most]
        solution = Solution.joined([best.solution.part(slice(run, run + 1)) for run in runs])
    solution = replace(solution, prototypes=version.back(solution.prototypes))
    return replace(best, solution=solution, separation=best.separation[runs], best=0)


def _most_of_the_way(fit: Fit, place: Tensor, objects: Objects[object]) -> Tensor:
    """Iterate in single precision, if it suffices for the objects, to get a start nearer to the end."""
    light = objects.rounded()
    if light is None:
        return place
    rounding = replace(fit, objects=light.objects)
    (best,) = rounding.solve((fit.settings, place.float()))
    return light.back(rounding.algorithm.from_clusters(rounding, best))


def first_delta(objects: Objects[object]) -> float:
    """Return the delta before any cluster is known."""
    near = objects.from_center(NEAR)
    return float(np.sqrt(near)) if near > 0 else 1.0  # all objects equal: any distance will do


def quicker(objects: Objects[object], settings: Settings) -> Solver | None:
    """Exact steps near convergence can be extrapolated; for others, curvature saves iterations."""
    if settings.solver is not None:
        return settings.solver
    if objects.metric.closed_form.quadratic:
        return None if objects.space.sparse else Accelerated()  # wide iterations are not remembered
    return Descent(stiff=True, least=settings.gain) if settings.gain > 0.0 else None


def in_order(solution: Solution, run: int) -> Solution:
    """Number single clusters by position, the first coordinate first: the same whatever start found them."""
    if solution.prototypes.ndim < 3:  # indices of objects have no position
        return solution
    places, width = solution.prototypes[run].flatten(1), FIRST_COORDINATES  # a few coordinates suffice
    while width < places.shape[1] and len(torch.unique(places[:, :width], dim=0)) < len(places):
        width *= 8
    order = torch.as_tensor(np.lexsort(places[:, :width].double().cpu().numpy().T[::-1]), device=places.device)
    extras = {name: part[:, order] for name, part in solution.extras.items()} if solution.extras else {}
    return replace(solution, prototypes=solution.prototypes[:, order], extras=extras)


def sample_size(n_clusters: int) -> int:
    """Return the number of objects that represent many."""
    return max(SAMPLE, SAMPLE_EACH * n_clusters)


def robust_delta(fit: Fit, objects: Objects[object], single: Outcome, first: float, deviations: float) -> float:
    """Return median plus ``deviations`` of distances to the nearest cluster, as a root; the first delta if near 0.

    ``single`` was fitted to the objects of ``fit``, which may be a sample of ``objects``.
    """
    model = fit.model_of(single)
    median, mad = objects.nearest_spread(model)
    power = model.metric.scale_power(objects.x)
    delta = beyond(median, mad, deviations, power)
    if delta < LEAST * first:
        return first
    return outlying(median, mad, model.metric, objects, power) if deviations == OUTLYING else delta


def beyond(median: float, mad: float, deviations: float, power: float = 0.5) -> float:
    """Return ``deviations`` beyond the median; twice the median if most objects are equally far from their clusters.

    Words by edit distance, for instance, are mostly one letter from the word in their middle: no deviation then says
    what is far, and most objects would be exactly at delta. Median and deviation are those of distances to this power,
    delta is a root of a distance.

    Examples
    --------
    >>> round(beyond(1.0, 0.2, 5.0), 4), beyond(1.0, 0.0, 5.0), beyond(1.0, 0.0, 5.0, power=1.0)
    (2.4826, 2.0, 2.0)
    """
    distance = median + deviations * MAD * mad if mad > TIED * median else 4.0**power * median
    return float(distance ** (0.5 / power))


def outlying(median: float, mad: float, metric: SemiMetric, objects: Objects[object], power: float = 0.5) -> float:
    """Return the limit of outliers: five deviations beyond the median, and at least one category.

    If most objects have all categories of their group, deviations are near 0, and one that differs in a single category
    would be an outlier. If objects can be maximally different, as directions can, five deviations may exceed that
    limit: then delta is midway between the limit and where nearly all objects end.
    """
    one_category = float(median ** (0.5 / power)) + math.sqrt(metric.step(objects.space))
    delta = max(beyond(median, mad, OUTLYING, power), one_category)
    end = float((median + ENDING * MAD * mad) ** (1.0 / power))
    unrelated = metric.unrelated(objects.x)
    return min(delta, math.sqrt((end + unrelated) / 2.0)) if end < unrelated else delta


def neighbours(fit: Fit, single: Outcome, held: NDArray[np.float64] | None = None) -> FocalSets:
    """Return each cluster, and pairs of neighbouring clusters.

    ``held`` (c, c) is the weight of the objects whose two nearest clusters are a and b, a < b; measured by default.
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
    """Return which pairs have a middle nearer to them than to any third, from distances (c, c) (degree 2: squares).

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
    """Escape poor local minima: move the least needed cluster to where one is missing most.

    Starts get stuck when two clusters share a group while another covers two, the more often the more clusters there
    are. A few such moves are tried at once for a few iterations each; the best is continued if it pays. Only if
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
    """Return clusters (moves, c, *shape), one of them elsewhere; None if there is no place for it."""
    objects, delta = fit.objects, fit.settings.delta
    clusters = fit.algorithm.from_clusters(fit, best)[0]
    distances = fit.model_of(best).distances(objects.x.cpu()).double().numpy()
    cap = np.inf if delta is None else delta * delta
    wanted = _most_wanted(objects, distances.min(1), cap)
    if not wanted:
        return None
    # The clusters to spare: those without which their objects would be least far from the next.
    two = np.minimum(np.sort(np.partition(distances, 1, axis=1)[:, :2], axis=1), cap)
    loss = np.bincount(distances.argmin(1), objects.counts * (two[:, 1] - two[:, 0]), distances.shape[1])
    spare = np.argsort(loss, kind="stable")[:FEW].tolist()
    trials = clusters.expand(len(spare) * len(wanted), *clusters.shape).clone()
    places = objects.space.starts(objects.x, torch.as_tensor(wanted, device=objects.device))
    for number, (k, place) in enumerate(product(spare, places)):
        trials[number, k] = place
    return trials


def _most_wanted(objects: Objects[Encoded], nearest: NDArray[np.float64], cap: float) -> list[int]:
    """Return objects at which one more cluster reduces the total distance most, among a few far from theirs."""
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
