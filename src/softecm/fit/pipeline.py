"""One way from prepared objects to fitted models, for one setting of the parameters or a whole grid of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from torch import Tensor

from softecm.fit.algorithm import Algorithm, Prices
from softecm.fit.loop import Callback, Checkpointer, LoopOptions
from softecm.fit.model import PrototypeModel
from softecm.fit.outcome import Runs, Solution, choose, separation
from softecm.fit.prepare import Objects, X
from softecm.fit.seeding import Draw
from softecm.fit.settings import Settings
from softecm.objective.links import Links


@dataclass(frozen=True)
class Outcome:
    """Where the runs of one cell ended, and the best of them."""

    chosen: Settings  # with everything found filled in
    solution: Solution
    apart: NDArray[np.float64]  # (runs,), separation of the clusters
    best: int
    links: Links | None = None
    runs: Runs | None = None  # the starts that were compared, where these runs began at the best of them
    close: float | None = None  # the delta the clusters were found with, where sets were added to them


def solve(
    algorithm: Algorithm[X],
    objects: Objects[X],
    cells: Sequence[Settings],
    starts: Sequence[Tensor],
    *,
    links: Links | None = None,
    callback: Callback | None = None,
    checkpointer: Checkpointer | None = None,
) -> list[Outcome]:
    """All cells at once, each from its own starts: they may differ in alpha, beta, delta and lam, all of them numbers."""
    sizes = [len(part) for part in starts]
    groups = np.repeat(np.arange(len(cells)), sizes)
    how: LoopOptions = {
        "callback": callback,
        "groups": groups,
        "checkpointer": checkpointer,
        "gain": cells[0].gain,
    }
    start = torch.cat(list(starts)).to(objects.device)
    if checkpointer is not None:
        checkpointer.expect(partial(_any_start, algorithm, objects, cells[0]))
    solution = algorithm.solve(objects, cells[0], Prices.of(cells, groups, algorithm.masses), start, links, **how)
    return judged(algorithm, objects, cells, sizes, solution, links)


def _any_start(algorithm: Algorithm[X], objects: Objects[X], chosen: Settings) -> Tensor:
    """A place to begin at (1, ...), as good as any."""
    drawn = isinstance(chosen.init, str) or algorithm.starts_at_masses
    one = replace(chosen, init="random", n_init=1) if drawn else chosen
    return starts(algorithm, objects, one, 0)[:1].to(objects.device)


def judged(
    algorithm: Algorithm[X],
    objects: Objects[X],
    cells: Sequence[Settings],
    sizes: Sequence[int],
    solution: Solution,
    links: Links | None = None,
) -> list[Outcome]:
    """The runs of a batch, cell by cell, with the best of each."""
    tables = algorithm.between(objects, solution, cells[0].n_clusters)
    apart = np.array([separation(table, objects.spread) for table in tables])
    outcomes = []
    for chosen, (a, b) in zip(cells, pairwise(np.concatenate([[0], np.cumsum(sizes)]).tolist()), strict=True):
        best = choose(solution.objective[a:b], apart[a:b])
        outcomes.append(Outcome(chosen, solution.part(slice(a, b)), apart[a:b], best, links))
    return outcomes


def starts(
    algorithm: Algorithm[X],
    objects: Objects[X],
    chosen: Settings,
    random_state: object,
    last: PrototypeModel | None = None,
) -> Tensor:
    """Where the runs of one setting start (runs, ...), all sets at once."""
    if last is not None and chosen.warm_start and last.focal == chosen.focal:
        return algorithm.continued(objects, chosen, last)
    if not isinstance(chosen.init, str):
        return algorithm.given(objects, chosen)
    draw = Draw(chosen.init, chosen.n_init)
    return algorithm.seeded(objects, chosen, draw, check_random_state(random_state))


def model_of(algorithm: Algorithm[X], objects: Objects[X], outcome: Outcome) -> PrototypeModel:
    """The model of a cell's best run: what prediction needs."""
    chosen, run, solution = outcome.chosen, outcome.best, outcome.solution
    assert not isinstance(chosen.delta, str)
    prototypes = algorithm.prototypes_of(objects, solution, run)
    if objects.space.wide and chosen.relaxation in ("auto", "exact"):  # sets follow from their clusters
        prototypes = prototypes[: chosen.n_clusters]
    return PrototypeModel(
        algorithm.metric_of(objects, chosen, solution, run),
        objects.space,
        chosen.focal,
        prototypes,
        chosen.alpha,
        chosen.beta,
        chosen.delta,
        float(solution.constraint[run] / objects.weight),
        outcome.close,
        algorithm.masses,
    )
