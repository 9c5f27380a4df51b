"""A fit on its way: the algorithm, the objects, the settings, and the loop over a batch of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Generic

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from torch import Tensor

from softecm.fit.algorithm import Algorithm, Prices
from softecm.fit.checkpoints import Checkpoints
from softecm.fit.loop import Callback, LoopOptions, Problem, iterate
from softecm.fit.model import PrototypeModel
from softecm.fit.outcome import Runs, Solution, choose, separation
from softecm.fit.prepare import Objects, X
from softecm.fit.seeding import Draw
from softecm.fit.settings import Init, Settings
from softecm.fit.soft_ecm import approach
from softecm.objective.links import Links
from softecm.objective.relaxations import Exact, Gap

__all__ = ["Fit", "Outcome", "Prices"]


@dataclass(frozen=True)
class Outcome:
    """Where the runs of one cell ended, and the best of them."""

    chosen: Settings  # with everything that was to be found filled in
    solution: Solution
    apart: NDArray[np.float64]  # (runs,), separation of the clusters
    best: int
    links: Links | None = None
    runs: Runs | None = None  # the starts that were compared, where these runs began at the best of them
    close: float | None = None  # the delta the clusters were found with, where sets were added to them


@dataclass(frozen=True)
class Fit(Generic[X]):
    """What every part of a fit needs."""

    algorithm: Algorithm[X]
    objects: Objects[X]
    settings: Settings
    callback: Callback | None = None
    checkpoints: Checkpoints | None = None

    def using(self, **settings: Any) -> Fit[X]:
        """The same with some settings changed."""
        return replace(self, settings=replace(self.settings, **settings))

    def solve(
        self, *cells: tuple[Settings, Tensor], links: Links | None = None, checkpointed: bool = False
    ) -> list[Outcome]:
        """Several cells as one batch of runs, each from its own starts (runs, ...).

        The cells may differ in alpha, beta, delta and lam, all of them numbers. ``checkpointed``: this loop is written
        down, and may go on from where an earlier fit stood.
        """
        algorithm, objects, settings = self.algorithm, self.objects, cells[0][0]
        sizes = [len(start) for _, start in cells]
        groups = np.repeat(np.arange(len(cells)), sizes)
        prices = Prices.of([cell for cell, _ in cells], groups, algorithm.masses)
        start = torch.cat([part for _, part in cells]).to(objects.device)
        checkpoints = self.checkpoints if checkpointed else None
        if checkpoints is not None:
            checkpoints.expect(replace(self, settings=settings).any_start)
        how: LoopOptions = {
            "callback": self.callback,
            "groups": groups,
            "checkpointer": checkpoints,
            "gain": settings.gain,
        }
        if algorithm.approaches(objects, settings, start):
            solution = self._approached(settings, prices, start, links, how)
        else:
            problem = algorithm.problem(objects, settings, prices, start, links)
            solution = iterate(problem, start, settings.max_iter, **how)
        return self.judged([cell for cell, _ in cells], sizes, solution, links)

    def _approached(
        self, settings: Settings, prices: Prices, start: Tensor, links: Links | None, how: LoopOptions
    ) -> Solution:
        """The hard constraint, by the gap with a growing price."""
        gap, objects = replace(settings, relaxation=Gap), self.objects

        def problem(lam: NDArray[np.float64]) -> Problem[Any]:
            return self.algorithm.problem(objects, gap, replace(prices, lam=lam), start, links)

        return approach(objects.metric, settings.focal, start, prices.lam, problem, settings.max_iter, how)

    def judged(
        self, cells: Sequence[Settings], sizes: Sequence[int], solution: Solution, links: Links | None = None
    ) -> list[Outcome]:
        """The runs of a batch, cell by cell, with the best of each."""
        tables = self.algorithm.between(self.objects, solution, cells[0].n_clusters)
        apart = np.array([separation(table, self.objects.spread) for table in tables])
        outcomes = []
        for cell, (a, b) in zip(cells, pairwise(np.cumsum([0, *sizes]).tolist()), strict=True):
            best = choose(solution.objective[a:b], apart[a:b])
            outcomes.append(Outcome(cell, solution.part(slice(a, b)), apart[a:b], best, links))
        return outcomes

    def starts(self) -> Tensor:
        """Where the runs start (runs, ...), all sets at once: as given, or drawn."""
        algorithm, objects, settings = self.algorithm, self.objects, self.settings
        if settings.init.given is not None:
            return algorithm.given(objects, settings)
        draw = Draw(settings.init.kind, settings.n_init)
        return algorithm.seeded(objects, settings, draw, check_random_state(settings.random_state))

    def any_start(self) -> Tensor:
        """A place to begin at (1, ...), as good as any."""
        drawn = self.settings.init.given is None or self.algorithm.starts_at_masses
        one = self.using(init=Init(kind="random"), n_init=1, random_state=0) if drawn else self
        return one.starts()[:1].to(self.objects.device)

    def clusters_of(self, outcome: Outcome) -> Tensor:
        """The clusters of the best run, as a start (1, c, *shape)."""
        return self.algorithm.from_clusters(self.objects, self.settings, outcome.solution, outcome.best)

    def model_of(self, outcome: Outcome) -> PrototypeModel:
        """The model of a cell's best run: what prediction needs."""
        chosen, run, solution = outcome.chosen, outcome.best, outcome.solution
        prototypes = self.algorithm.prototypes_of(self.objects, solution, run)
        if self.objects.space.wide and chosen.relaxation in (None, Exact):  # sets follow from their clusters
            prototypes = prototypes[: chosen.n_clusters]
        return PrototypeModel(
            self.algorithm.metric_of(self.objects, chosen, solution, run),
            self.objects.space,
            chosen.focal,
            prototypes,
            chosen.alpha,
            chosen.beta,
            chosen.delta,
            float(solution.constraint[run] / self.objects.weight),
            outcome.close,
            self.algorithm.masses,
        )
