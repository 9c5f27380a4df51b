"""What each algorithm implements, the problem of Soft-ECM, and a fit in progress."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise, repeat
from operator import attrgetter
from typing import Any, ClassVar, Generic, cast

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from torch import Tensor

from softecm._text import place
from softecm._wording import option
from softecm.belief import FocalSets
from softecm.distances.base import BLOCK_CELLS, SemiMetric, distances_of
from softecm.distances.views import Combined
from softecm.fit.checkpoints import Checkpoints
from softecm.fit.loop import Callback, LoopOptions, Problem, Runs, Solution, choose, iterate, separation
from softecm.fit.prepare import Draw, Objects, P, Preparation, X, device_of_fewer, start_rows
from softecm.fit.settings import Init, PrototypeModel, Settings
from softecm.objective.equations import POWER_MASSES, MassCost, MassRule, evaluate, mass_cost
from softecm.objective.linked import LinkedProblem
from softecm.objective.links import Links
from softecm.objective.problem import (
    Exact,
    Gap,
    Relaxation,
    SoftECMProblem,
    constraint_residual,
    has_barycenters,
    single_means,
)
from softecm.objective.pull import PrototypePull
from softecm.objective.views import ViewsProblem
from softecm.optim import Closed, Descent, Solver
from softecm.spaces.base import LARGEST, Encoded, Space
from softecm.spaces.scattered import OnDevice, Scattered
from softecm.spaces.views import EncodedViews

Numbers = float | NDArray[np.float64]  # one for all runs, or one per run
# For the approached constraint: share of the sets' inertia that better prototypes could still save.
TOLERANCE = 1e-3
POLISH = 3  # iterations refining the barycentre of all objects from coarser ones; no cluster depends on it
# Size of the prototypes of all runs below which launching a GPU step takes longer than the step on a CPU.
FEW_NUMBERS = 1 << 16
RAISES = 8  # how often lambda is multiplied by ten


def soft_ecm_problem(
    x: Encoded | Scattered,
    metric: SemiMetric,
    focal: FocalSets,
    cost: MassCost,
    *,
    lam: Numbers,
    relaxation: type[Relaxation],
    solver: Solver | None = None,
    links: Links | None = None,
    pull: PrototypePull | None = None,
    tol: float = 1e-4,
) -> SoftECMProblem | LinkedProblem | ViewsProblem:
    """Return the relaxed problem of eq. 6 for the runs of ``cost``, on its device."""
    beta = cost.beta
    strength = torch.as_tensor(np.asarray(lam, dtype=np.float64)).to(beta).expand(len(beta)).contiguous()
    if not torch.isfinite(strength).all():
        raise ValueError(
            f"{option('lam')} must be a number within the range of {str(strength.dtype).removeprefix('torch.')}; got "
            f"{np.asarray(lam).max():g}. Use a smaller one: beyond 1e6 it changes nothing."
        )
    relaxed = relaxation(metric, focal, strength)
    if metric.weighing is not None and len(focal) > 1:
        if links is not None or pull is not None:
            raise ValueError(
                "weights must be fixed with links, a prior or partial_fit; got weights learned with the "
                "clusters. Use weights='equal' or 'agreement', or numbers such as those of an earlier fit."
            )
        assert isinstance(metric, Combined) and isinstance(x, EncodedViews)  # noqa: PT018 -- the only other kind
        return ViewsProblem(metric, metric.weighing, x, cost, relaxed, tol, beta.new_ones(len(metric.parts)))
    by = solver or (Closed() if metric.closed_form.quadratic else Descent())
    alone = len(focal) == focal.n_clusters and links is None and pull is None
    alone = alone and metric.closed_form.quadratic and not by.descends
    pull = None if pull is None else pull.to(beta)
    races = not metric.closed_form.quadratic  # iterations with an exact step are cheap
    problem = SoftECMProblem(metric, x, cost, relaxed, by, tol, by.patience, races, pull, alone)
    return problem if links is None else LinkedProblem.of(problem, links)


def approach(
    metric: SemiMetric,
    focal: FocalSets,
    start: Tensor,
    lam: NDArray[np.float64],
    problem: Callable[[NDArray[np.float64]], Problem[Any]],
    max_iter: int,
    how: LoopOptions,
) -> Solution:
    """Approach the hard constraint, if barycentres have no closed form: relax the gap and raise lambda until it holds.

    ``problem`` returns the problem of the gap for one lambda per run.
    """
    if how.get("checkpointer") is not None:
        raise ValueError(
            f"{option('checkpoint')} can't be used with {option('relaxation', 'exact')} and a metric whose barycentres have "
            f"no closed form: the fit is a chain of fits with a growing lam. Use {option('relaxation', 'gap')} with a large "
            "lam."
        )
    strength = np.where(lam > 0, lam, 1.0)
    n_iter = np.zeros(len(start), dtype=np.int64)
    for _ in range(RAISES):
        solution = iterate(problem(strength), start, max_iter, **how)
        n_iter += solution.n_iter
        residual = constraint_residual(metric, focal, solution.prototypes).cpu().numpy()
        if (residual <= TOLERANCE).all():
            break
        start = solution.prototypes
        strength = np.where(residual > TOLERANCE, strength * 10.0, strength)
    return replace(
        solution,
        objective=solution.objective - solution.constraint,
        n_iter=n_iter,
        residual=residual,
        converged=solution.converged & (residual <= TOLERANCE),
    )


def barycenter(metric: SemiMetric, space: Space, x: Encoded, weights: Tensor | None, device: torch.device) -> Tensor:
    """Return the barycentre (1, *shape) of all objects in memory."""
    coarse = space.coarser(x)
    if coarse is None:
        return barycenter_from(metric, x, space.middle(x, start_rows(len(x)).to(device))[None], weights)
    fewer, near = coarse[0], coarse[1].cpu()  # metrics learn on the CPU
    learned = metric.fitted(near, None if weights is None else weights.cpu())
    there = device_of_fewer(metric, fewer, coarse[1], device)
    counts = None if weights is None else weights.to(there)
    start = space.finer(barycenter(learned, fewer, near.to(there), counts, there), fewer).to(device)
    return barycenter_from(metric, x, start[None], weights, rounds=POLISH)


def barycenter_from(
    metric: SemiMetric, x: Encoded | Scattered, start: Tensor, weights: Tensor | None, rounds: int = 50
) -> Tensor:
    """Return the barycentre of all objects: the solution of Soft-ECM with one cluster and no empty set."""
    alone = FocalSets.up_to(1, 1)
    cost = mass_cost(alone, 0.0, 2.0, None, like=start, weights=weights)
    if metric.closed_form.quadratic:
        curvature, moment = evaluate(metric, x, start, cost, slopes=False).sums
        return single_means(curvature.double(), moment.double(), start.double())[0].to(start.dtype)
    device = start.device
    if start.is_cuda and not isinstance(x, Scattered):
        x, start = OnDevice.of(x, weights, device), start.cpu()
        cost = replace(mass_cost(alone, 0.0, 2.0, None, like=start), weights=weights)
    problem: Problem[Any] = soft_ecm_problem(x, metric, alone, cost, lam=0.0, relaxation=Exact, tol=0.0)
    return iterate(problem, start, rounds).prototypes[0].to(device)


@dataclass(frozen=True)
class RunBatch(Generic[X]):
    """Runs solved together."""

    objects: Objects[X]
    settings: Settings  # shared by all runs
    each: Sequence[Settings]  # of each run's cell, with numbers for alpha, beta and delta
    start: Tensor  # (runs, ...), initial prototypes
    lam: NDArray[np.float64]  # (runs,)
    rule: MassRule = POWER_MASSES
    links: Links | None = None

    def cost(self, like: Tensor | None = None, weights: Tensor | None = None) -> MassCost:
        """Return the cost of masses, in the start's dtype by default, for all objects or a subset with these weights."""
        focal, runs = self.settings.focal, len(self.each)
        prices = np.empty((3, runs))
        for run, own in enumerate(self.each):
            prices[:, run] = own.alpha, own.beta, np.inf if own.delta is None else own.delta
        weights = self.objects.weights if weights is None else weights
        like = self.start if like is None else like
        return mass_cost(focal, *prices, like=like, runs=runs, weights=weights, rule=self.rule)


class Algorithm(Preparation[P]):
    """What one algorithm implements: its problem, its model and its capabilities.

    A frozen dataclass whose fields are the algorithm's own parameters. Only ``problem`` must be implemented; the other
    defaults suit prototypes that are points of the metric's space.
    """

    #: Whether objects may be in blocks, on disk or on a cluster.
    streams: ClassVar[bool] = False
    #: Whether sets can be added to clusters fitted alone.
    adds_sets: ClassVar[bool] = False
    #: Whether a given ``init`` holds masses, which don't describe single clusters.
    starts_at_masses: ClassVar[bool] = False
    #: Whether ``Settings.relaxation`` applies to the constraint on the sets' prototypes.
    relaxes: ClassVar[bool] = False

    @property
    def masses(self) -> MassRule:
        """How masses follow from distances, in the fit and in its model: eq. 7."""
        return POWER_MASSES

    @abstractmethod
    def problem(self, batch: RunBatch[P]) -> Problem[Any]:
        """Return the problem of a batch of runs."""

    def from_center(self, objects: Objects[P]) -> NDArray[np.float64]:
        """Return distances (n,) of the objects to the barycentre of all."""
        x = cast(Encoded, objects.x)
        center = barycenter(objects.metric, objects.space, x, objects.weights, objects.device)
        return distances_of(objects.metric, x, center)[:, 0].double().cpu().numpy()

    def device_of_runs(self, objects: Objects[P], start: Tensor, links: Links | None) -> torch.device:
        """Return the device of the prototypes: that of the objects."""
        return objects.device

    # ---------------------------------------------------------------- initialization

    def seeded(self, objects: Objects[P], chosen: Settings, draw: Draw, rng: np.random.RandomState) -> Tensor:
        """Return drawn initial prototypes (runs, c, *shape)."""
        return objects.seeded(chosen.n_clusters, draw, rng)

    def from_init(self, objects: Objects[P], chosen: Settings) -> Tensor:
        """Return the initial prototypes given by the user (1, c, *shape)."""
        return check_init(chosen, objects.space)

    def continued(self, objects: Objects[P], chosen: Settings, last: PrototypeModel) -> Tensor:
        """Return the final prototypes of the last fit (1, f, *shape)."""
        return last.prototypes.to(chosen.dtype)[None]

    def from_clusters(self, fit: Fit, outcome: Outcome) -> Tensor:
        """Return the best run's clusters as initial prototypes (1, c, *shape); it may have had other sets."""
        prototypes = self.prototypes_of(fit.objects, outcome.solution, outcome.best)
        return prototypes[: fit.settings.n_clusters][None].to(fit.objects.device)

    # ---------------------------------------------------------------- solutions

    def between(self, objects: Objects[P], solution: Solution, n_clusters: int) -> list[NDArray[np.float64]]:
        """Return the distances (c, c) between the clusters of each run, in one call if these are small."""
        metric, v = objects.metric, solution.prototypes[:, :n_clusters]
        a, b = np.triu_indices(n_clusters, 1)
        if metric.discrete or len(a) * v.numel() > n_clusters * BLOCK_CELLS:
            return [distances_of(metric, own, own).double().cpu().numpy() for own in v]
        tables = np.zeros((len(v), n_clusters, n_clusters))
        if len(a):
            one, other = torch.as_tensor(np.stack([a, b]), device=v.device)
            with torch.no_grad():
                d = metric.paired(v[:, one].flatten(0, 1), v[:, other].flatten(0, 1)).clamp_min(0.0)
            tables[:, a, b] = tables[:, b, a] = d.reshape(len(v), -1).double().cpu().numpy()
        return list(tables)

    def with_sets(self, batch: RunBatch[P], singles: Solution) -> Solution:
        """Add sets to runs of single clusters, which start the batch, and recompute the masses."""
        raise TypeError(f"{type(self).__name__} states what its sets' prototypes are in its problem only")

    def metric_of(self, objects: Objects[P], chosen: Settings, solution: Solution, run: int) -> SemiMetric:
        """Return the metric of the sets of a run."""
        return objects.metric

    def prototypes_of(self, objects: Objects[P], solution: Solution, run: int) -> Tensor:
        """Return a run's prototypes in the space's form, on the CPU."""
        return solution.prototypes[run].cpu()


def check_init(chosen: Settings, space: Space) -> Tensor:
    """Return the user's initial prototypes (1, c, *shape), validated."""
    prototypes = space.encode_prototypes(chosen.init.value)
    if len(prototypes) != chosen.n_clusters:
        raise ValueError(
            f"init must have one row per cluster, {chosen.n_clusters}; got {len(prototypes)}. Sets start at the barycentre "
            "of their clusters and need no row."
        )
    whole = prototypes.reshape(len(prototypes), -1)
    usable = torch.isfinite(whole).all(1) & (whole.abs().amax(1) <= LARGEST)
    if not usable.all():
        row = int((~usable).nonzero()[0])
        raise ValueError(
            f"init must hold finite numbers of at most {LARGEST:g} in size; {place('row', row, 'init')} has others. "
            "Pass prototypes among the objects, or leave init at its default."
        )
    return prototypes[None]


@dataclass(frozen=True)
class Outcome:
    """The final runs of one cell, and the best of them."""

    chosen: Settings  # with everything "auto" resolved
    solution: Solution
    separation: NDArray[np.float64]  # (runs,), smallest distance between clusters over the spread of the data
    best: int
    links: Links | None = None
    runs: Runs | None = None  # the initializations compared, if these runs continue the best of them
    close: float | None = None  # delta of the clusters, if sets were added to them


@dataclass(frozen=True)
class Fit:
    """The inputs of every part of a fit."""

    algorithm: Algorithm[Any]
    objects: Objects[Any]
    settings: Settings
    callback: Callback | None = None
    checkpoints: Checkpoints | None = None

    def using(self, **settings: Any) -> Fit:
        """Return a copy with some settings changed."""
        return replace(self, settings=replace(self.settings, **settings))

    def solve(
        self, *cells: tuple[Settings, Tensor], links: Links | None = None, checkpointed: bool = False
    ) -> list[Outcome]:
        """Solve several cells as one batch of runs, each from its own starts (runs, ...).

        The cells may differ in alpha, beta, delta and lam, all of them numbers. ``checkpointed``: this loop writes
        checkpoints and may resume from one.
        """
        algorithm, objects, settings = self.algorithm, self.objects, cells[0][0]
        each, starts = zip(*cells, strict=True)
        sizes = list(map(len, starts))
        groups = np.repeat(np.arange(len(cells)), sizes)
        start, checkpoints = torch.cat(starts), self.checkpoints if checkpointed else None
        start = start.to(objects.device if checkpoints is not None else algorithm.device_of_runs(objects, start, links))
        if checkpoints is not None:
            checkpoints.expect(replace(self, settings=settings).any_start)
        how: LoopOptions = {
            "callback": self.callback,
            "groups": groups,
            "checkpointer": checkpoints,
            "gain": settings.gain,
        }
        of_runs = list(chain.from_iterable(map(repeat, each, sizes)))
        lam = np.array(list(map(attrgetter("lam"), of_runs)), dtype=np.float64)
        batch = RunBatch(objects, settings, of_runs, start, lam, algorithm.masses, links)
        hard = algorithm.relaxes and settings.relaxation is Exact and len(settings.focal) > settings.n_clusters
        if hard and not has_barycenters(objects.metric, start[0, :1]):
            gap = replace(batch, settings=replace(settings, relaxation=Gap))

            def problem(lam: NDArray[np.float64]) -> Problem[Any]:
                return algorithm.problem(replace(gap, lam=lam))

            solution = approach(objects.metric, settings.focal, start, lam, problem, settings.max_iter, how)
        else:
            solution = iterate(algorithm.problem(batch), start, settings.max_iter, **how)
        solution = replace(solution, prototypes=solution.prototypes.to(objects.device))
        return self.judged(each, sizes, solution, links)

    def judged(
        self, cells: Sequence[Settings], sizes: Sequence[int], solution: Solution, links: Links | None = None
    ) -> list[Outcome]:
        """Return the runs of a batch by cell, with the best of each."""
        separations = separation(
            self.algorithm.between(self.objects, solution, cells[0].n_clusters), self.objects.spread
        )
        outcomes = []
        for cell, (a, b) in zip(cells, pairwise(np.cumsum([0, *sizes]).tolist()), strict=True):
            best = choose(solution.objective[a:b], separations[a:b])
            outcomes.append(Outcome(cell, solution.part(slice(a, b)), separations[a:b], best, links))
        return outcomes

    def starts(self) -> Tensor:
        """Return initial prototypes (runs, ...) of all sets, given or drawn."""
        algorithm, objects, settings = self.algorithm, self.objects, self.settings
        if settings.init.value is not None:
            return algorithm.from_init(objects, settings)
        draw = Draw(settings.init.kind, settings.n_init)
        return algorithm.seeded(objects, settings, draw, check_random_state(settings.random_state))

    def any_start(self) -> Tensor:
        """Return arbitrary initial prototypes (1, ...)."""
        drawn = self.settings.init.value is None or self.algorithm.starts_at_masses
        one = self.using(init=Init(kind="random"), n_init=1, random_state=0) if drawn else self
        return one.starts()[:1].to(self.objects.device)

    def model_of(self, outcome: Outcome) -> PrototypeModel:
        """Return the model of a cell's best run, for prediction."""
        chosen, run, solution = outcome.chosen, outcome.best, outcome.solution
        prototypes = self.algorithm.prototypes_of(self.objects, solution, run)
        if self.objects.space.sparse and chosen.relaxation in (None, Exact):  # sets follow from their clusters
            prototypes = prototypes[: chosen.n_clusters]
        metric, space = self.algorithm.metric_of(self.objects, chosen, solution, run), self.objects.space
        prices = chosen.alpha, chosen.beta, chosen.delta
        tie = float(solution.constraint[run] / self.objects.weight)
        return PrototypeModel(
            metric, space, chosen.focal, prototypes, *prices, tie, outcome.close, self.algorithm.masses
        )
