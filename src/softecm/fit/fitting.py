"""From settings to outcomes: resolve "auto", solve the runs, add the sets.

:func:`doubt_of_number` returns why the number of clusters looks wrong. Two clusters without a valley between them are
one group: there are fewer groups than clusters. A cluster of two parts with a valley between them is two groups: there
are more. See :mod:`softecm.scores.valleys`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from softecm._checks import is_whole
from softecm._fingerprint import warn_unseen
from softecm._text import some_of
from softecm._warnings import warn
from softecm.belief import CredalPartition, FocalSets
from softecm.distances.mixed import Mixed
from softecm.files.lock import locked
from softecm.fit.algorithm import Fit, Outcome, RunBatch
from softecm.fit.checkpoints import Checkpoints, identity
from softecm.fit.loop import Runs, Solution, StopSignal, stopped
from softecm.fit.prepare import InMemory, Objects
from softecm.fit.settings import PrototypeModel, Settings
from softecm.fit.stages import BETA, Stage, first_stage, known_stage, quicker
from softecm.objective.problem import Exact, Gap, Penalty
from softecm.objective.pull import PrototypePull
from softecm.scores.valleys import Floats, Geometry, has_valley, joined_clusters
from softecm.spaces.base import Encoded, Space
from softecm.spaces.encoded import EncodedTable


@dataclass(frozen=True)
class ReadyCell:
    """A cell with all choices resolved, and its initial prototypes."""

    chosen: Settings
    start: Tensor
    stage: Stage | None = None
    keeps: bool = False  # keep the clusters of the first stage and add sets to them
    begun: Runs | None = None  # the initializations compared before, if another fit gave this start

    @property
    def compared(self) -> Runs | None:
        """The initializations compared first."""
        return self.stage.runs if self.stage is not None and self.chosen.init.staged else self.begun


def fit_cells(
    fit: Fit, cells: Sequence[Settings], *, owner: str = "", last: PrototypeModel | None = None
) -> list[Outcome]:
    """Fit all cells of a grid; they may differ in alpha, beta, delta, lam and seed. A single fit is a grid of one.

    ``last`` is an earlier model to continue from; ``owner`` names the estimator in a checkpoint.
    """
    objects, first, checkpoints = fit.objects, cells[0], None
    with ExitStack() as held:
        if first.checkpoint_request is not None:
            who = identity(owner, first, fit.algorithm, objects.metric, len(objects), objects.content())
            warn_unseen(objects.metric, f"checkpoint {first.checkpoint_request.path}")
            held.enter_context(locked(first.checkpoint_request.path))
            checkpoints = Checkpoints.open(first.checkpoint_request, who, objects.device)
        signal = None if fit.callback is None else StopSignal(fit.callback)
        fit = replace(fit, settings=first, callback=signal, checkpoints=checkpoints)
        stages: dict[str, Stage] = {}
        groups: dict[object, dict[int, ReadyCell]] = {}  # cells to solve together: same sets, same way
        for i, settings in enumerate(cells):
            cell = replace(fit, settings=settings)
            ready = _from_known(cell, last)
            if ready is None:
                key = f"{settings.random_state!r} {settings.n_init} {settings.delta!r} {settings.finds_delta}"
                around_given = settings.init.value is not None and settings.finds_sets and settings.n_clusters > 2
                # For initialization, delta, or the neighbours of given clusters.
                needed = settings.init.staged or settings.finds_delta or around_given
                if needed and (key not in stages or not is_whole(settings.random_state)):
                    stages[key] = first_stage(cell)
                ready = _from_stage(cell, stages[key] if needed else None)
            groups.setdefault((ready.chosen.focal, ready.keeps, ready.chosen.relaxation), {})[i] = ready
        outcomes: dict[int, Outcome] = {}
        for group in groups.values():
            ready_cells = list(group.values())
            solved = add_sets(fit, ready_cells) if ready_cells[0].keeps else _all_at_once(fit, ready_cells)
            outcomes.update(zip(group, solved, strict=True))
        return list(map(outcomes.__getitem__, range(len(cells))))


def _from_known(fit: Fit, last: PrototypeModel | None) -> ReadyCell | None:
    """Start from a checkpoint, a prior, labels or the last fit; return None to start from a first stage."""
    settings, objects = fit.settings, fit.objects
    if fit.checkpoints is not None and fit.checkpoints.reached == "sets":
        return _resumed(fit, fit.checkpoints)
    if settings.prior is not None:
        return _from_prior(fit)
    if settings.seeds and settings.init.staged and objects.are_here and not objects.metric.discrete:
        return _from_labels(fit, objects)
    if settings.warm_start and last is not None:
        return _continued(fit, last)
    return None


def _from_stage(fit: Fit, stage: Stage | None) -> ReadyCell:
    """Start from the first stage, or from given or drawn prototypes, and resolve everything that was "auto"."""
    settings, objects = fit.settings, fit.objects
    if stage is not None and settings.finds_delta:
        settings = replace(settings, delta=stage.delta)
    if settings.finds_sets:  # around known clusters; else all pairs
        known = stage is not None and (settings.init.staged or settings.init.value is not None)
        focal = stage.focal if stage is not None and known else FocalSets.up_to(settings.n_clusters, 2)
        settings = replace(settings, focal=focal)
    if stage is None or not settings.init.staged:
        return ReadyCell(resolved(objects, settings), replace(fit, settings=settings).starts(), stage)
    settings = replace(settings, solver=quicker(objects, settings))
    return _after(replace(fit, settings=settings), stage)


def _after(fit: Fit, stage: Stage) -> ReadyCell:
    """Return what follows a stage: add sets to its clusters, or fit all sets from there."""
    keeps = fit.settings.keeps_clusters and fit.algorithm.adds_sets
    settings = fit.settings if keeps else resolved(fit.objects, fit.settings)
    return ReadyCell(settings, fit.algorithm.from_clusters(fit, stage.single), stage, keeps)


def _resumed(fit: Fit, checkpoints: Checkpoints) -> ReadyCell:
    """Resume the last loop of a checkpoint."""
    facts, settings = checkpoints.facts, fit.settings
    settings = replace(settings, focal=FocalSets.of(settings.n_clusters, facts["sets"]), delta=facts["delta"])
    if settings.init.staged:  # as at its beginning
        settings = replace(settings, solver=quicker(fit.objects, settings))
    runs = facts.get("runs")
    begun = None if runs is None else {name: np.asarray(column) for name, column in runs.items()}
    return ReadyCell(resolved(fit.objects, settings), checkpoints.start, begun=begun)


def _continued(fit: Fit, last: PrototypeModel) -> ReadyCell:
    """Continue from an earlier fit, with its sets and its delta if these were inferred."""
    settings, objects = fit.settings, fit.objects
    _check_alike(objects, last)
    same = last.focal.n_clusters == settings.n_clusters
    focal = last.focal if settings.finds_sets and same else settings.focal
    if settings.keeps_clusters and fit.algorithm.adds_sets and same:
        stage = known_stage(fit, last)
        return _after(fit.using(delta=stage.delta, focal=focal), stage)
    delta = last.delta if settings.finds_delta else settings.delta
    settings = resolved(objects, replace(settings, focal=focal, delta=delta))
    if last.focal != focal:
        return ReadyCell(settings, replace(fit, settings=settings).starts())
    return ReadyCell(settings, fit.algorithm.continued(objects, settings, last))


def _from_prior(fit: Fit) -> ReadyCell:
    """Start from the clusters of an earlier model, which attract; infer delta and sets again if they are "auto"."""
    settings, objects, prior = fit.settings, fit.objects, fit.settings.prior
    assert prior is not None
    c, last = settings.n_clusters, prior.model
    clusters = _clusters_of_prior(objects, last, c).to(settings.dtype)
    weights = torch.full((c,), prior.weight * objects.weight / c, dtype=settings.dtype)
    fit = fit.using(pull=PrototypePull(clusters, weights))
    stage = known_stage(fit, _alone(objects, settings, clusters), anew=True)
    return _after(replace(fit, settings=_measured(fit.settings, stage)), stage)


def _from_labels(fit: Fit, objects: Objects[Encoded]) -> ReadyCell:
    """Start from the means of labelled objects, which links then hold; infer delta and sets around these."""
    settings = fit.settings
    at = [torch.as_tensor(rows, device=objects.device) for rows in settings.seeds]
    clusters = torch.cat([objects.space.middle(objects.x, rows) for rows in at]).to(settings.dtype)
    stage = known_stage(fit.using(max_iter=1), _alone(objects, settings, clusters), anew=True)
    return ReadyCell(resolved(objects, _measured(settings, stage)), clusters[None], stage)


def _alone(objects: Objects[object], chosen: Settings, clusters: Tensor) -> PrototypeModel:
    """Return clusters (c, *shape) as an earlier model without other results."""
    simple = FocalSets.up_to(chosen.n_clusters, 1)
    return PrototypeModel(objects.metric, objects.space, simple, clusters.cpu(), chosen.alpha, chosen.beta, None, 0.0)


def _measured(chosen: Settings, stage: Stage) -> Settings:
    """Return settings with the delta and the sets of a stage, if these are inferred."""
    delta = stage.delta if chosen.finds_delta else chosen.delta
    return replace(chosen, delta=delta, focal=stage.focal if chosen.finds_sets else chosen.focal)


def _clusters_of_prior(objects: Objects[object], prior: PrototypeModel, c: int) -> Tensor:
    """Return an earlier model's clusters in the space of these objects; raise an error if they can't attract these."""
    like = objects.like()
    clusters = None if objects.metric.discrete else objects.space.carried(prior.space, prior.prototypes[:c], like)
    if clusters is None:
        before, now = prior.space.prototype_shape(prior.prototypes), objects.space.prototype_shape(like)
        theirs, ours = type(prior.space).__name__, type(objects.space).__name__
        columns = f" It lacks {some_of(new)}." if (new := _only_in(objects.space, prior.space)) else ""
        raise ValueError(
            f"prior must be a model of objects like these, with prototypes of shape {now} in {ours}; got one with "
            f"prototypes of shape {before} in {theirs}.{columns} Pass a model of the same columns, or leave prior out."
        )
    if gone := _only_in(prior.space, objects.space):
        warn(f"X lacks these columns of prior: {some_of(gone)}. Its clusters are compared in the others.", UserWarning)
    if prior.focal.n_clusters != c:
        raise ValueError(
            f"prior must have n_clusters={c} clusters, each continued by a new one; got a model with "
            f"{prior.focal.n_clusters}. For numbers use TECM({c}, source=prior.cluster_centers_), which takes any number of "
            "clusters. Otherwise fit without prior and match the groups: softecm.report.compare(prior, model, data=...), or "
            "softecm compare --groups."
        )
    return clusters


def _only_in(space: Space, other: Space) -> list[str]:
    """Return columns of a table that another table lacks."""
    known = set(other.attributes) if space.kinds else ()
    return [repr(name) for name in space.attributes if space.kinds and name not in known]


def _check_alike(objects: Objects[object], last: PrototypeModel) -> None:
    """Raise an error if the earlier prototypes are not points of these objects' space."""
    before, now = last.space.prototype_shape(last.prototypes), objects.space.prototype_shape(objects.like())
    if type(last.space) is not type(objects.space) or before != now:
        raise ValueError(
            f"warm_start must be given objects like those of the last fit, with prototypes of shape {before}; got "
            f"objects with prototypes of shape {now}. Pass the same columns, or set warm_start=False to start over."
        )


def resolved(objects: Objects[object], chosen: Settings) -> Settings:
    """Return settings with relaxation and lambda as a run of all sets at once takes them."""
    relaxation, lam = chosen.relaxation, chosen.lam
    if relaxation is None:
        relaxation = Exact if lam is None and objects.has_barycenters else Penalty
    if lam is None:
        lam = objects.weight if relaxation is Gap else 0.2 * objects.weight / chosen.n_clusters**2
    return replace(chosen, relaxation=relaxation, lam=lam)


def _all_at_once(fit: Fit, ready_cells: Sequence[ReadyCell]) -> list[Outcome]:
    """Fit cells that are solved together, all sets at once."""
    links, chosen, objects = None, ready_cells[0].chosen, fit.objects
    if stopped(fit.callback):
        fit = replace(fit, checkpoints=None)  # the file already says how to resume
    if fit.checkpoints is not None:
        runs = ready_cells[0].compared
        facts = {} if runs is None else {"runs": {name: np.asarray(column).tolist() for name, column in runs.items()}}
        fit.checkpoints.enter("sets", sets=chosen.focal.sets, delta=chosen.delta, **facts)
    if chosen.pairs is not None and objects.are_here:
        links = chosen.pairs.links(chosen.focal, objects.counts, objects.spread, chosen.dtype)
    outcomes = fit.solve(*((ready.chosen, ready.start) for ready in ready_cells), links=links, checkpointed=True)
    return [replace(outcome, runs=ready.compared) for outcome, ready in zip(outcomes, ready_cells, strict=True)]


def add_sets(fit: Fit, ready_cells: Sequence[ReadyCell]) -> list[Outcome]:
    """Refit the first stage's clusters for other values of beta, and add sets."""
    cells: list[Settings] = []
    singles: list[Outcome] = []
    stages: list[Stage] = []
    again: dict[int, tuple[Settings, Tensor]] = {}  # cells whose beta has its own clusters
    for i, ready in enumerate(ready_cells):
        assert ready.stage is not None
        cells.append(ready.chosen)
        stages.append(ready.stage)
        singles.append(ready.stage.single)
        beta, known = ready.chosen.beta, ready.stage.single.chosen.beta
        # Not for a larger beta if the first stage had to lower its own: it would pull all clusters together.
        if beta != known and (known == BETA or beta < known):
            again[i] = replace(ready.stage.single.chosen, beta=beta), ready.start
    for i, outcome in zip(again, fit.solve(*again.values()) if again else (), strict=True):
        singles[i] = outcome
    ends = []
    for outcome in singles:
        ends.append(outcome.solution.part(slice(outcome.best, outcome.best + 1)))
    best = Solution.joined(ends)
    clusters = best.prototypes[:, : cells[0].n_clusters]
    batch = RunBatch(fit.objects, cells[0], cells, clusters, np.zeros(len(cells)), fit.algorithm.masses)
    without = replace(batch, settings=replace(cells[0], focal=singles[0].chosen.focal))
    alone, solution = fit.algorithm.with_sets(without, best), fit.algorithm.with_sets(batch, best)
    # The clusters were fitted with a smaller delta than the masses: shift their histories to the cost with the final
    # one, so that the displayed objective never rises.
    history = []
    for rounds, before, after in zip(solution.history, alone.objective, solution.objective, strict=True):
        history.append(np.append(rounds + (before - rounds[-1]), min(after, before)))
    outcomes = fit.judged(cells, [1] * len(cells), replace(solution, history=tuple(history)))
    for i, stage in enumerate(stages):
        outcomes[i] = replace(outcomes[i], runs=stage.runs, close=stage.single.chosen.delta)
    return outcomes


SAMPLE = 2000  # maximum number of objects used
ROWS_EACH = 15  # minimum number of objects per cluster
CLEAR = 0.75  # a valley separates two clusters if it holds at most this share of the objects of the lower hill
LEAST = 50  # minimum number of objects of a cluster that may be split
LEAST_PART = 0.1  # of a cluster's objects: a smaller part is no second group
ITERATIONS = 8  # of 2-means


def doubt_of_number(objects: InMemory[Encoded], model: PrototypeModel, partition: CredalPartition) -> str | None:
    """Return why the number of clusters looks wrong, in a sentence, or None."""
    focal, n = partition.focal_sets, len(objects)
    c = focal.n_clusters
    if c < 2 or n < ROWS_EACH * c:
        return None
    x, counts = objects.x, objects.counts
    if n > SAMPLE:
        rows, counts = objects.sample_rows(SAMPLE)
        x, partition = x[torch.as_tensor(rows, device=objects.device)], partition[rows]
    x = x.cpu()
    labels, inside = partition.labels(), 1.0 - partition.masses[:, 0]
    if isinstance(x, EncodedTable) and x.scale is not None:
        complete = x.scale.numpy() < 1.0 + 1e-9  # distances of rows with a missing cell vary more
        counts = counts * complete if complete.sum() >= ROWS_EACH * c else counts
    far = model.distances(x).double().numpy()[:, :c]
    degree = 2.0 if model.metric.closed_form.quadratic else 0.0  # other metrics would give false hints
    geometry = Geometry(far, np.zeros((c, c)), degree, CLEAR).without_itself(labels, inside * counts)
    counts = counts * (counts.sum() / np.square(counts).sum())  # an object is observed once, whatever its weight
    joined = joined_clusters(labels, geometry, inside * counts)
    groups = int(connected_components(joined, directed=False)[0])
    if groups < c:
        a, b = np.argwhere(np.tril(joined, -1))[0]
        if groups == 1 and c > 2:
            return f"none of the {c} clusters stands apart from all others: perhaps there are no groups."
        perhaps = "perhaps there are no groups" if groups == 1 else f"perhaps {groups} groups"
        return f"{focal.group_names[b]} and {focal.group_names[a]} do not stand apart: {perhaps}."
    columns = _columns(x, model, labels)
    if columns is None:
        return None
    halves = objects.space.keys(x) % 2 == 0  # copies of an object are in the same half
    sets, outlying = partition.masses.argmax(1), inside < 0.5
    for k in range(c):
        held = (labels == k) & (counts > 0.0)
        own = held & ~outlying
        if _falls_into_two(columns[own], counts[own], halves[own]):
            alone = own & (sets <= c)  # without those between it and others
            if (alone == own).all() or _falls_into_two(columns[alone], counts[alone], halves[alone]):
                return f"{focal.group_names[k]} falls into two parts: perhaps {c + 1} groups."
            most = int(np.bincount(sets[own & ~alone]).argmax())
            ends = focal.between(most)
            return f"the objects between {ends} lie close together: perhaps they are a group of their own ({c + 1} groups)."
        if outlying[held].mean() > LEAST_PART and _falls_into_two(columns[held], counts[held], halves[held]):
            return (
                f"the outliers nearest to {focal.group_names[k]} lie close together: perhaps they are a group of their "
                f"own ({c + 1} groups)."
            )
    return None


def _columns(x: object, model: PrototypeModel, labels: NDArray[np.intp]) -> Floats | None:
    """Return vectors or numeric columns (n, p) in units of their spread within clusters; None for other objects.

    A missing number is replaced by the mean of its cluster, so that missing values form no separate part.
    """
    if isinstance(x, Tensor) and x.ndim == 2 and model.metric.is_registered and not model.metric.discrete:
        numbers = x.double().numpy()
    elif isinstance(x, EncodedTable) and x.numbers.shape[1]:
        numbers = x.numbers.double().numpy()
        numbers = numbers if x.observed is None else np.where(x.observed.numpy(), numbers, np.nan)
        metric = model.metric
        if isinstance(metric, Mixed) and metric.set_aside:
            numbers = numbers[:, [name not in metric.set_aside for name in metric.names[: numbers.shape[1]]]]
    else:
        return None
    within, numbers = np.zeros(numbers.shape[1]), numbers.copy()
    for k in np.unique(labels):
        own = numbers[labels == k]
        mean = np.nan_to_num(own).sum(0) / np.maximum(np.isfinite(own).sum(0), 1)
        numbers[labels == k] = np.where(np.isnan(own), mean, own)
        within += np.nan_to_num((own - mean) ** 2).sum(0)
    usable = within > 0
    return numbers[:, usable] / np.sqrt(within[usable] / len(numbers)) if usable.any() else None


def _falls_into_two(x: Floats, weights: Floats, halves: NDArray[np.bool_]) -> bool:
    """Whether a valley divides a cluster's objects: each half is split by the 2-means of the other.

    Among the objects used by 2-means itself, its cut leaves a valley even if there is none.
    """
    if len(x) < LEAST or halves.all() or not halves.any():
        return False
    ours, theirs = (_two_means(x[half], weights[half]) for half in (~halves, halves))
    if ((ours - theirs) ** 2).sum() > ((ours - theirs[::-1]) ** 2).sum():
        theirs = theirs[::-1]
    far = ((x[:, None] - np.where(halves[:, None, None], ours, theirs)) ** 2).sum(2)
    first = far[:, 0] < far[:, 1]
    part = weights[first].sum() / weights.sum()
    return LEAST_PART <= part <= 1 - LEAST_PART and has_valley(far[:, 1] - far[:, 0], first, weights)


def _two_means(x: Floats, weights: Floats) -> Floats:
    """Return the means (2, p) of two parts of the objects, or the same mean twice."""
    center = weights @ x / weights.sum()
    means = np.stack([center, center])
    axis = np.linalg.svd((x - center) * np.sqrt(weights)[:, None], full_matrices=False)[2][0]
    last, parts = None, ((x - center) @ axis > 0).astype(np.intp)
    for _ in range(ITERATIONS):
        if (parts == last).all() or min(np.bincount(parts, minlength=2)) < 2:
            break
        means = np.stack([weights[parts == k] @ x[parts == k] / weights[parts == k].sum() for k in (0, 1)])
        last, parts = parts, ((x[:, None] - means) ** 2).sum(2).argmin(1)
    return means
