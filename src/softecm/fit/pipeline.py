"""One way from prepared objects to a fitted model, for one setting of the parameters or a whole grid of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Generic, Unpack, cast

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from torch import Tensor

from softecm.belief import FocalSets
from softecm.distances.base import SemiMetric
from softecm.distances.capabilities import fitted_metric
from softecm.fit.checkpoints import Checkpoints, identity
from softecm.fit.loop import Callback, Checkpointer, LoopOptions, Problem, iterate
from softecm.fit.model import PrototypeModel
from softecm.fit.outcome import Solution, choose, separation
from softecm.fit.prepare import InMemory, Objects, X, barycenter, check_size, distances_to
from softecm.fit.settings import Settings
from softecm.objective import MassCost, mass_cost
from softecm.objective.links import Links
from softecm.spaces.base import Encoded, Space


@dataclass(frozen=True)
class Prices:
    """What the runs of a batch pay for a mass and for the constraint: one number a run each."""

    alpha: NDArray[np.float64]
    beta: NDArray[np.float64]
    delta: NDArray[np.float64]  # inf where the empty set is switched off
    lam: NDArray[np.float64]

    @staticmethod
    def of(cells: Sequence[Settings], deltas: Sequence[float | None], cell: NDArray[np.int64]) -> Prices:
        """Of the settings of several cells; ``cell`` (runs,) says which of them a run belongs to."""

        def per_run(values: list[float]) -> NDArray[np.float64]:
            return np.asarray(values, dtype=np.float64)[cell]

        return Prices(
            per_run([s.alpha for s in cells]),
            per_run([s.beta for s in cells]),
            per_run([np.inf if d is None else d for d in deltas]),
            per_run([s.lam for s in cells]),
        )

    @staticmethod
    def same(runs: int, *, alpha: float = 1.0, beta: float, delta: float | None = None, lam: float = 1.0) -> Prices:
        """The same for all runs."""
        values = (alpha, beta, np.inf if delta is None else delta, lam)
        return Prices(*(np.full(runs, value, dtype=np.float64) for value in values))

    def cost(self, focal: FocalSets, like: Tensor, weights: Tensor | None) -> MassCost:
        """As the equations take them."""
        return mass_cost(focal, self.alpha, self.beta, self.delta, like=like, runs=len(self.beta), weights=weights)


class Algorithm(ABC, Generic[X]):
    """What one algorithm adds to the common way: its problem, its model, and what it can do.

    A frozen dataclass whose fields are the algorithm's own parameters. Only ``problem`` is owed; the rest has the answers
    of algorithms whose prototypes are points of the metric's space.
    """

    #: Whether the objects may lie in blocks, on disk or on a cluster.
    streams: ClassVar[bool] = False
    #: What can't run on a GPU, for the message; empty where all of it can.
    cpu_only: ClassVar[str] = ""

    @abstractmethod
    def problem(
        self, objects: Objects[X], chosen: Settings, prices: Prices, like: Tensor, links: Links | None
    ) -> Problem[Any]:
        """The problem of a batch of runs; ``like`` (runs, ...) is where they start."""

    def check_size(self, metric: SemiMetric, chosen: Settings) -> None:
        """Refuse what would not fit in memory."""
        if metric.is_quadratic:
            check_size(chosen)

    def fitted_metric(self, metric: SemiMetric, x: X, weights: Tensor | None) -> SemiMetric:
        """The metric with everything it learns from the objects (CPU) filled in."""
        return fitted_metric(metric, cast(Encoded, x), weights)

    def from_center(
        self, metric: SemiMetric, space: Space, x: X, weights: Tensor | None, device: torch.device
    ) -> NDArray[np.float64]:
        """Distances (n,) of the objects to the barycentre of all."""
        objects = cast(Encoded, x)
        return distances_to(metric, objects, barycenter(metric, space, objects, weights, device))

    # ---------------------------------------------------------------- where the runs start

    def seeded(self, objects: Objects[X], chosen: Settings, n_init: int, rng: np.random.RandomState) -> Tensor:
        """Drawn starts (runs, c, *shape)."""
        return objects.seeded(chosen.init, chosen.n_clusters, n_init, rng)

    def given(self, objects: Objects[X], chosen: Settings) -> Tensor:
        """The starts a user gave (1, c, *shape)."""
        return check_init(chosen, objects.space)

    def continued(self, objects: Objects[X], chosen: Settings, last: PrototypeModel) -> Tensor:
        """Where the last fit ended (1, f, *shape)."""
        return last.prototypes.to(chosen.dtype)[None]

    # ---------------------------------------------------------------- how they are solved and judged

    def solve(
        self,
        objects: Objects[X],
        chosen: Settings,
        prices: Prices,
        start: Tensor,
        links: Links | None,
        **how: Unpack[LoopOptions],
    ) -> Solution:
        """The loop over the problem."""
        return iterate(self.problem(objects, chosen, prices, start, links), start, chosen.max_iter, **how)

    def between(self, objects: Objects[X], solution: Solution, n_clusters: int) -> list[NDArray[np.float64]]:
        """The distances (c, c) between the clusters of each run."""
        with torch.no_grad():
            tables = [objects.metric.pairwise(v, v).clamp_min(0.0) for v in solution.prototypes[:, :n_clusters]]
        return [table.double().cpu().numpy() for table in tables]

    def metric_of(self, objects: Objects[X], chosen: Settings, solution: Solution, run: int) -> SemiMetric:
        """How the sets of a run measure."""
        return objects.metric

    def prototypes_of(self, objects: Objects[X], solution: Solution, run: int) -> Tensor:
        """A run's prototypes as the space knows them, on the CPU."""
        return solution.prototypes[run].cpu()


@dataclass(frozen=True)
class Outcome:
    """Where all runs of all cells ended, and the best of each cell."""

    solution: Solution
    apart: NDArray[np.float64]  # (runs,), separation of the clusters
    best: NDArray[np.int64]  # (cells,)
    deltas: tuple[float | None, ...]  # (cells,)
    links: Links | None = None


def solve(
    algorithm: Algorithm[X],
    objects: Objects[X],
    cells: Sequence[Settings],
    starts: Sequence[Tensor],
    *,
    links: Links | None = None,
    callback: Callback | None = None,
    checkpointer: Checkpointer | None = None,
) -> Outcome:
    """All cells at once, each from its own starts: they may differ in alpha, beta, delta and lam."""
    chosen = cells[0]
    sizes = [len(part) for part in starts]
    groups = np.repeat(np.arange(len(cells)), sizes)
    deltas = tuple(objects.delta(s.delta) for s in cells)
    start = torch.cat(list(starts)).to(objects.device)
    how: LoopOptions = {"callback": callback, "groups": groups, "checkpointer": checkpointer}
    solution = algorithm.solve(objects, chosen, Prices.of(cells, deltas, groups), start, links, **how)
    tables = algorithm.between(objects, solution, chosen.n_clusters)
    apart = np.array([separation(table, objects.spread) for table in tables])
    ends = np.concatenate([[0], np.cumsum(sizes)])
    best = np.array([a + choose(solution.objective[a:b], apart[a:b]) for a, b in pairwise(ends)])
    return Outcome(solution, apart, best, deltas, links)


def fit(
    algorithm: Algorithm[X], objects: Objects[X], chosen: Settings, owner: str, last: PrototypeModel | None
) -> Outcome:
    """One fit, best of several starts; ``last`` is the model of an earlier fit to go on from."""
    checkpoints = None
    if chosen.plan is not None:
        who = identity(owner, chosen, algorithm, objects.metric, len(objects), objects.content())
        checkpoints = Checkpoints.open(chosen.plan, who, objects.device)
    if checkpoints is not None and checkpoints.resumed:
        start = checkpoints.start
    else:
        start = starts(algorithm, objects, chosen, chosen.random_state, last)
    links = None
    if chosen.pairs is not None and isinstance(objects, InMemory):
        links = chosen.pairs.links(chosen.focal, objects.counts, objects.spread, chosen.dtype)
    return solve(algorithm, objects, [chosen], [start], links=links, callback=chosen.callback, checkpointer=checkpoints)


def starts(
    algorithm: Algorithm[X],
    objects: Objects[X],
    chosen: Settings,
    random_state: object,
    last: PrototypeModel | None = None,
) -> Tensor:
    """Where the runs of one setting start (runs, ...)."""
    if last is not None and chosen.warm_start and last.focal == chosen.focal:
        return algorithm.continued(objects, chosen, last)
    if not isinstance(chosen.init, str):
        return algorithm.given(objects, chosen)
    return algorithm.seeded(objects, chosen, chosen.n_init, check_random_state(random_state))


def check_init(chosen: Settings, space: Space) -> Tensor:
    """The starting prototypes a user gave (1, c, *shape)."""
    given = space.encode_prototypes(chosen.init)
    if len(given) != chosen.n_clusters:
        raise ValueError(
            f"init must have one row a cluster, {chosen.n_clusters}; got {len(given)}. Sets start at the barycentre "
            "of their clusters and need no row."
        )
    return given[None]


def model_of(
    algorithm: Algorithm[X], objects: Objects[X], chosen: Settings, outcome: Outcome, cell: int = 0
) -> PrototypeModel:
    """The model of a cell's best run: what prediction needs."""
    run, solution = int(outcome.best[cell]), outcome.solution
    return PrototypeModel(
        algorithm.metric_of(objects, chosen, solution, run),
        objects.space,
        chosen.focal,
        algorithm.prototypes_of(objects, solution, run),
        chosen.alpha,
        chosen.beta,
        outcome.deltas[cell],
        float(solution.constraint[run] / objects.weight),
    )
