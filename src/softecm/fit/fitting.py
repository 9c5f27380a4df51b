"""From settings to outcomes: what "auto" stands for is found, the runs are solved, the sets are added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from softecm._fingerprint import warn_unseen
from softecm._text import some_of
from softecm.belief import FocalSets
from softecm.files.lock import locked
from softecm.fit import pipeline
from softecm.fit.algorithm import Algorithm, Prices
from softecm.fit.checkpoints import Checkpoints, identity
from softecm.fit.loop import Asked, Callback, stopped
from softecm.fit.model import PrototypeModel
from softecm.fit.outcome import Runs, Solution
from softecm.fit.pipeline import Outcome
from softecm.fit.prepare import InMemory, Objects
from softecm.fit.settings import Prior, Settings
from softecm.fit.stages import BETA, Stage, discover, quicker, refined, renewed
from softecm.objective.pull import Pull


@dataclass(frozen=True)
class Planned:
    """One cell with every choice made, and where its runs start."""

    chosen: Settings
    start: Tensor
    stage: Stage | None = None
    keeps: bool = False  # the clusters are those of the first stage; sets are added to them
    begun: Runs | None = None  # the starts that were compared before, where another fit began this one

    @property
    def compared(self) -> Runs | None:
        """The starts that were compared first."""
        return self.stage.runs if self.stage is not None and self.chosen.staged else self.begun


def fit(
    algorithm: Algorithm[Any], objects: Objects[Any], chosen: Settings, owner: str, last: PrototypeModel | None
) -> Outcome:
    """One fit; ``last`` is the model of an earlier fit to go on from."""
    options: dict[str, Any] = {"last": last, "callback": chosen.callback}
    if chosen.plan is None:
        return fit_cells(algorithm, objects, [chosen], **options)[0]
    who = identity(owner, chosen, algorithm, objects.metric, len(objects), objects.content())
    warn_unseen(objects.metric, f"checkpoint {chosen.plan.path}")
    with locked(chosen.plan.path):
        checkpoints = Checkpoints.open(chosen.plan, who, objects.device)
        return fit_cells(algorithm, objects, [chosen], **options, checkpoints=checkpoints)[0]


def fit_cells(
    algorithm: Algorithm[Any],
    objects: Objects[Any],
    cells: Sequence[Settings],
    *,
    last: PrototypeModel | None = None,
    callback: Callback | None = None,
    checkpoints: Checkpoints | None = None,
) -> list[Outcome]:
    """All cells of a grid; they may differ in alpha, beta, delta, lam and seed. A single fit is a grid of one."""
    stages: dict[str, Stage] = {}
    ask = None if callback is None else Asked(callback)
    plans = [_planned(algorithm, objects, chosen, stages, last, ask, checkpoints) for chosen in cells]
    outcomes: list[Outcome | None] = [None] * len(cells)
    for group in _alike(plans):
        found = _solved(algorithm, objects, [plans[i] for i in group], ask, checkpoints)
        for i, outcome in zip(group, found, strict=True):
            outcomes[i] = outcome
    return [outcome for outcome in outcomes if outcome is not None]


def _alike(plans: Sequence[Planned]) -> list[list[int]]:
    """Numbers of the cells that can be solved together: same sets, same way."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for i, plan in enumerate(plans):
        groups.setdefault((plan.chosen.focal, plan.keeps, plan.chosen.relaxation), []).append(i)
    return list(groups.values())


def _planned(
    algorithm: Algorithm[Any],
    objects: Objects[Any],
    chosen: Settings,
    stages: dict[str, Stage],
    last: PrototypeModel | None,
    callback: Callback | None,
    checkpoints: Checkpoints | None,
) -> Planned:
    """Everything that is "auto" found."""
    if checkpoints is not None and checkpoints.reached == "sets":
        return _resumed(objects, chosen, checkpoints)
    if chosen.prior is not None:
        return _from_prior(algorithm, objects, chosen, chosen.prior, callback)
    if chosen.seeds and chosen.staged and isinstance(objects, InMemory) and not objects.metric.discrete:
        return _from_labels(algorithm, objects, chosen, callback)
    if chosen.warm_start and last is not None:
        return _continued(algorithm, objects, chosen, last, callback)
    stage, found, keeps = None, chosen, False
    if chosen.looks:
        keeps = chosen.staged and chosen.keeps_clusters and algorithm.adds_sets
        stage = _discovered(algorithm, objects, chosen, stages, callback, checkpoints)
        found = replace(chosen, delta=stage.delta if isinstance(chosen.delta, str) else chosen.delta)
    if chosen.finds_sets:  # around clusters that are known; else all pairs
        known = stage is not None and (chosen.staged or not isinstance(chosen.init, str))
        focal = stage.focal if stage is not None and known else FocalSets.up_to(chosen.n_clusters, 2)
        found = replace(found, focal=focal)
    if stage is not None and chosen.staged:
        start = algorithm.from_clusters(objects, found, stage.single.solution, stage.single.best)
        found = replace(found, solver=quicker(objects, found))
    else:
        start = pipeline.starts(algorithm, objects, found, chosen.random_state)
    return Planned(found if keeps else settled(objects, found), start, stage, keeps)


def _discovered(
    algorithm: Algorithm[Any],
    objects: Objects[Any],
    chosen: Settings,
    stages: dict[str, Stage],
    callback: Callback | None,
    checkpoints: Checkpoints | None,
) -> Stage:
    """The first stage, once for all cells that share it."""
    key = f"{chosen.random_state!r} {chosen.n_init} {chosen.delta!r}"
    if key not in stages or not isinstance(chosen.random_state, int):
        stages[key] = discover(
            algorithm, objects, chosen, chosen.random_state, callback=callback, checkpoints=checkpoints
        )
    return stages[key]


def _resumed(objects: Objects[Any], chosen: Settings, checkpoints: Checkpoints) -> Planned:
    """As a checkpoint of the last loop has it."""
    sets, delta = checkpoints.facts["sets"], checkpoints.facts["delta"]
    found = replace(chosen, focal=FocalSets.of(chosen.n_clusters, sets), delta=delta)
    if chosen.looks and chosen.staged:  # as it began
        found = replace(found, solver=quicker(objects, found))
    runs = checkpoints.facts.get("runs")
    begun = None if runs is None else {name: np.asarray(column) for name, column in runs.items()}
    return Planned(settled(objects, found), checkpoints.start, begun=begun)


def _continued(
    algorithm: Algorithm[Any],
    objects: Objects[Any],
    chosen: Settings,
    last: PrototypeModel,
    callback: Callback | None,
) -> Planned:
    """From where an earlier fit ended, with its sets and its delta where they were found."""
    _check_alike(objects, last)
    if chosen.staged and chosen.keeps_clusters and algorithm.adds_sets and last.focal.n_clusters == chosen.n_clusters:
        stage = refined(algorithm, objects, chosen, last, callback)
        found = replace(chosen, delta=stage.delta, focal=last.focal if chosen.finds_sets else chosen.focal)
        return Planned(found, algorithm.from_clusters(objects, found, stage.single.solution, 0), stage, True)
    focal = last.focal if chosen.finds_sets and last.focal.n_clusters == chosen.n_clusters else chosen.focal
    delta = last.delta if isinstance(chosen.delta, str) else chosen.delta
    found = settled(objects, replace(chosen, focal=focal, delta=delta))
    if last.focal != focal:
        return Planned(found, pipeline.starts(algorithm, objects, found, chosen.random_state))
    return Planned(found, algorithm.continued(objects, found, last))


def _from_prior(
    algorithm: Algorithm[Any], objects: Objects[Any], chosen: Settings, prior: Prior, callback: Callback | None
) -> Planned:
    """From the clusters of an earlier model, which pull; delta and sets are found anew where they are to be found."""
    c, last = chosen.n_clusters, prior.model
    _check_prior(objects, last, c)
    clusters = objects.space.carried(last.space, last.prototypes[:c]).to(chosen.dtype)
    weights = torch.full((c,), prior.weight * objects.weight / c, dtype=chosen.dtype)
    chosen = replace(chosen, pull=Pull(clusters, weights))
    stage = renewed(algorithm, objects, chosen, _alone(objects, chosen, clusters), callback)
    keeps = chosen.staged and chosen.keeps_clusters and algorithm.adds_sets
    found = _measured(chosen, stage)
    start = algorithm.from_clusters(objects, found, stage.single.solution, 0)
    return Planned(found if keeps else settled(objects, found), start, stage, keeps)


def _from_labels(
    algorithm: Algorithm[Any], objects: InMemory[Any], chosen: Settings, callback: Callback | None
) -> Planned:
    """From the means of objects with known labels, which links then hold; delta and sets are found around these."""
    at = [torch.as_tensor(rows, device=objects.device) for rows in chosen.seeds]
    clusters = torch.cat([objects.space.middle(objects.x, rows) for rows in at]).to(chosen.dtype)
    stage = renewed(algorithm, objects, replace(chosen, max_iter=1), _alone(objects, chosen, clusters), callback)
    return Planned(settled(objects, _measured(chosen, stage)), clusters[None], stage)


def _alone(objects: Objects[Any], chosen: Settings, clusters: Tensor) -> PrototypeModel:
    """Clusters (c, *shape) as the model of an earlier fit that found nothing else."""
    simple = FocalSets.up_to(chosen.n_clusters, 1)
    return PrototypeModel(objects.metric, objects.space, simple, clusters.cpu(), chosen.alpha, chosen.beta, None, 0.0)


def _measured(chosen: Settings, stage: Stage) -> Settings:
    """With the delta and the sets of a stage, where they were to be found."""
    delta = stage.delta if isinstance(chosen.delta, str) else chosen.delta
    return replace(chosen, delta=delta, focal=stage.focal if chosen.finds_sets else chosen.focal)


def _check_prior(objects: Objects[Any], prior: PrototypeModel, c: int) -> None:
    """Refuse prototypes that can't pull at those of these objects."""
    like = objects.like()
    if objects.metric.discrete or not objects.space.takes(prior.space, prior.prototypes, like):
        before, now = prior.space.prototype_shape(prior.prototypes), objects.space.prototype_shape(like)
        theirs, ours = type(prior.space).__name__, type(objects.space).__name__
        named = [str(name) for name in objects.space.attributes] if objects.space.kinds else []
        columns = f" ({some_of(named)})" if named else ""
        raise ValueError(
            f"prior must be a model of objects like these, with prototypes of shape {now} in {ours}; got one with "
            f"prototypes of shape {before} in {theirs}. Give a model of the same columns{columns}, or leave prior out."
        )
    if prior.focal.n_clusters != c:
        raise ValueError(
            f"prior must have as many clusters as are asked for, n_clusters={c}; got a model of {prior.focal.n_clusters}. "
            "Its clusters and the new ones are the same, one by one."
        )


def _check_alike(objects: Objects[Any], last: PrototypeModel) -> None:
    """Refuse to go on from prototypes that are no points of these objects' space."""
    before, now = last.space.prototype_shape(last.prototypes), objects.space.prototype_shape(objects.like())
    if type(last.space) is not type(objects.space) or before != now:
        raise ValueError(
            f"warm_start must be given objects like those of the last fit, with prototypes of shape {before}; got objects "
            f"with prototypes of shape {now}. Give the same columns, or set warm_start=False to begin anew."
        )


def settled(objects: Objects[Any], chosen: Settings) -> Settings:
    """Relaxation and lambda as a run of all sets at once takes them."""
    relaxation = chosen.relaxation
    if relaxation == "auto":
        penalised = not isinstance(chosen.lam, str) or not objects.has_barycenters
        relaxation = "penalty" if penalised else "exact"
    lam = chosen.lam
    if isinstance(lam, str):
        lam = objects.weight if relaxation == "gap" else 0.2 * objects.weight / chosen.n_clusters**2
    return replace(chosen, relaxation=relaxation, lam=lam)


def _solved(
    algorithm: Algorithm[Any],
    objects: Objects[Any],
    plans: Sequence[Planned],
    callback: Callback | None,
    checkpoints: Checkpoints | None,
) -> list[Outcome]:
    """Cells that are solved together."""
    if plans[0].keeps:
        return with_sets(algorithm, objects, plans, callback)
    links, chosen = None, plans[0].chosen
    if stopped(callback):
        checkpoints = None  # its file says how to go on from where the fit was stopped
    if checkpoints is not None:
        runs = plans[0].compared
        kept = {} if runs is None else {"runs": {name: np.asarray(column).tolist() for name, column in runs.items()}}
        checkpoints.enter("sets", sets=chosen.focal.sets, delta=chosen.delta, **kept)
    pairs = chosen.pairs
    if pairs is not None and isinstance(objects, InMemory):
        links = pairs.links(chosen.focal, objects.counts, objects.spread, chosen.dtype)
    outcomes = pipeline.solve(
        algorithm,
        objects,
        [plan.chosen for plan in plans],
        [plan.start for plan in plans],
        links=links,
        callback=callback,
        checkpointer=checkpoints,
    )
    return [replace(outcome, runs=plan.compared) for outcome, plan in zip(outcomes, plans, strict=True)]


def with_sets(
    algorithm: Algorithm[Any], objects: Objects[Any], plans: Sequence[Planned], callback: Callback | None
) -> list[Outcome]:
    """The first stage's clusters, fitted again where beta is another, and the sets they make."""
    alone = [_single(plan) for plan in plans]
    singles = [plan.stage.single for plan in plans if plan.stage is not None]
    again = [i for i, chosen in enumerate(alone) if _finds_others(chosen.beta, singles[i].chosen.beta)]
    if again:
        starts = [plans[i].start for i in again]
        moved = pipeline.solve(algorithm, objects, [alone[i] for i in again], starts, callback=callback)
        for i, outcome in zip(again, moved, strict=True):
            singles[i] = outcome
    cells = [plan.chosen for plan in plans]
    best = Solution.joined([one.solution.part(slice(one.best, one.best + 1)) for one in singles])
    prices = Prices.of([replace(c, lam=0.0) for c in cells], np.arange(len(cells)), algorithm.masses)
    alone_again = algorithm.with_sets(objects, replace(cells[0], focal=alone[0].focal), prices, best)
    solution = _in_last_terms(algorithm.with_sets(objects, cells[0], prices, best), alone_again)
    outcomes = pipeline.judged(algorithm, objects, cells, [1] * len(cells), solution)
    return [
        replace(outcome, runs=None if plan.stage is None else plan.stage.runs, close=_number(_single(plan).delta))
        for outcome, plan in zip(outcomes, plans, strict=True)
    ]


def _finds_others(beta: float, first: float) -> bool:
    """Whether a beta has clusters of its own, those of the first stage being found with another.

    A larger one than that where the first stage had to go below its usual beta has not: it pulls all clusters together.
    """
    return beta != first and (first == BETA or beta < first)


def _in_last_terms(solution: Solution, singles: Solution) -> Solution:
    """Histories that end where the sets are added, shifted to what the clusters cost with the last delta.

    The clusters were found with a closer delta than that of the masses, so that their objectives are in other units: the
    shift keeps what each round gained, and neither a round nor the sets raise what is shown.
    """
    history = tuple(
        np.append(rounds + (alone - rounds[-1]), min(whole, alone))
        for rounds, alone, whole in zip(solution.history, singles.objective, solution.objective, strict=True)
    )
    return replace(solution, history=history)


def _number(delta: float | str | None) -> float | None:
    return None if isinstance(delta, str) else delta


def _single(plan: Planned) -> Settings:
    """A cell's settings for single clusters: what the first stage was fitted with."""
    assert plan.stage is not None
    return replace(plan.stage.single.chosen, beta=plan.chosen.beta)
