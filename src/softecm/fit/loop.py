"""The loop of Algorithm 1: alternate masses and prototypes until the masses converge.

An algorithm defines its ``Problem``: how a batch of runs begins and what one iteration does. The rest is common:
removing finished runs from the batch, races between initializations, the guard against a rising objective, histories,
callbacks, Ctrl-C and checkpoints.

Four estimators have no batch of runs and iterate by themselves: EGMM (EM until the likelihood converges, one number of
clusters after another), NNEVCLUS (training of a network, keeping its best weights), MECMdd (each run in a thread, until
its medoids repeat) and EKNNClus (label propagation along a graph). They support callbacks and Ctrl-C but no
checkpoints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self, TypedDict, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm._engine import raise_if_interrupted

Runs = Mapping[str, NDArray[np.generic]]  # columns of a table with one row per run
MERGED = 0.0025  # clusters closer than this share of the data's spread count as merged
ROUNDING = 1e-12  # objectives with a smaller relative difference are equal


@dataclass(frozen=True)
class Solution:
    """The final state of a batch of runs.

    Attributes
    ----------
    prototypes : Tensor (runs, f, *shape)
    objective : (runs,)
    constraint : (runs,), the part of the objective that penalizes the constraint on the sets' prototypes
    history : one array per run, the objective after each iteration's mass step
    n_iter : (runs,), prototype steps taken
    converged : (runs,)
    residual : (runs,), distance of the sets' prototypes from the barycentres of their clusters', relative to the spread
    of the clusters; only if the constraint was approached, not solved
    extras : other results by name, each leading with the run: masses of linked objects (``masses``), clusters' matrices
    (``matrices``)
    """

    prototypes: Tensor
    objective: NDArray[np.float64]
    constraint: NDArray[np.float64]
    history: tuple[NDArray[np.float64], ...]
    n_iter: NDArray[np.int64]
    converged: NDArray[np.bool_]
    residual: NDArray[np.float64] | None = None
    extras: Mapping[str, Tensor] = field(default_factory=dict)

    def part(self, runs: slice) -> Solution:
        """Return some of the runs."""
        return Solution(
            self.prototypes[runs],
            self.objective[runs],
            self.constraint[runs],
            self.history[runs],
            self.n_iter[runs],
            self.converged[runs],
            None if self.residual is None else self.residual[runs],
            {name: part[runs] for name, part in self.extras.items()} if self.extras else {},
        )

    @staticmethod
    def joined(parts: Sequence[Solution]) -> Solution:
        """Concatenate the runs of several solutions with the same sets."""
        if len(parts) == 1:
            return parts[0]
        residuals = [part.residual for part in parts if part.residual is not None]
        return Solution(
            torch.cat([part.prototypes for part in parts]),
            np.concatenate([part.objective for part in parts]),
            np.concatenate([part.constraint for part in parts]),
            tuple(history for part in parts for history in part.history),
            np.concatenate([part.n_iter for part in parts]),
            np.concatenate([part.converged for part in parts]),
            np.concatenate(residuals) if residuals else None,
            {name: torch.cat([part.extras[name] for part in parts]) for name in parts[0].extras},
        )


@dataclass(frozen=True)
class Progress:
    """What a callback receives after every iteration: a batch of runs, including the active ones."""

    iteration: int
    max_iter: int
    objective: NDArray[np.float64]  # (runs,)
    n_active: int
    change: float  # largest change of a mass among the active runs; a lower bound of it if above the tolerance

    @staticmethod
    def of_one(iteration: int, max_iter: int, objective: float, change: float) -> Progress:
        """Return the progress of a single run."""
        return Progress(iteration, max_iter, np.array([objective]), 1, change)

    @staticmethod
    def of_runs(objective: Sequence[float], runs: int) -> Progress:
        """Return the number of finished runs instead of iterations; the change is 1 until all have finished."""
        ended = len(objective)
        return Progress(ended, runs, np.array(objective), runs - ended, float(ended < runs))


def extended(singles: Solution, prototypes: Tensor, objective: Tensor) -> Solution:
    """Return runs of single clusters with the prototypes of all sets and the clusters' histories."""
    total = objective.double().cpu().numpy()
    return replace(singles, prototypes=prototypes, objective=total, constraint=np.zeros(len(total)))


def choose(objective: NDArray[np.float64], separation: NDArray[np.float64]) -> int:
    """Return the run of lowest objective; a run with merged clusters wins only if all have merged.

    The first wins among runs that differ by rounding, so that machines and versions number clusters alike.
    """
    merged = separation < MERGED
    candidates = np.flatnonzero(~merged) if (~merged).any() else np.arange(len(separation))
    ends = objective[candidates]
    least = ends[np.argmin(ends)]
    return int(candidates[np.argmax(ends <= least + ROUNDING * abs(least))])


def separation(tables: Sequence[NDArray[np.float64]], spread: float) -> NDArray[np.float64]:
    """Return the smallest distance between clusters (c, c) over the data's spread, per run; inf for one cluster."""
    separations, c = np.full(len(tables), np.inf), len(tables[0])
    for run, distances in enumerate(tables if c > 1 else ()):
        separations[run] = distances[~np.eye(c, dtype=bool)].min() / spread if spread > 0 else 0.0
    return separations


def runs_table(solution: Solution, best: int, separation: NDArray[np.float64]) -> dict[str, NDArray[np.generic]]:
    """Return one row per run: objective, iterations, whether it converged, whether its prototypes merged."""
    table: dict[str, NDArray[np.generic]] = {
        "run": np.arange(len(separation)),
        "objective": solution.objective,
        "n_iter": solution.n_iter,
        "converged": solution.converged,
        "separation": separation,
        "collapsed": separation < MERGED,
        "best": np.arange(len(separation)) == best,
    }
    if solution.residual is not None:
        table["constraint_residual"] = solution.residual
    return table


WARM_UP, HORIZON = 15, 25  # iterations before a race is decided, and how far it extrapolates
HALVED = (2, 4, 8)  # iterations after which only the better half of the runs continues
SPAN = 5  # iterations over which the pace is measured
RISE = 1e-9  # tolerated relative rise of an objective

Callback = Callable[[Progress], object]


class RunState(Protocol):
    """A batch of runs between two iterations: a frozen dataclass of tensors whose first axis is the run."""

    @property
    def prototypes(self) -> Tensor:
        """(runs, f, *shape)."""

    @property
    def objective(self) -> Tensor:
        """(runs,)."""

    @property
    def constraint(self) -> Tensor:
        """(runs,): the part of the objective that penalizes the constraint on the sets' prototypes."""

    @property
    def change(self) -> Tensor:
        """(runs,): largest change of a mass since the iteration before."""

    @property
    def extras(self) -> Mapping[str, Tensor]:
        """Other results by name, with the run as first axis."""

    def select(self, runs: Tensor) -> Self:
        """Return some of the runs."""

    def merged(self, other: Self, take: Tensor) -> Self:
        """Return this state with the runs ``take`` (a mask) replaced by the other's."""

    def checkpoint_tensors(self) -> dict[str, Tensor]:
        """Return what a checkpoint must hold, each name beginning with ``state.``."""


S = TypeVar("S", bound=RunState)


class Problem(Protocol[S]):
    """The clustering problem of a batch of runs, as seen by the loop."""

    @property
    def tol(self) -> float:
        """Tolerance: masses of a run are still if none changes by more."""

    @property
    def patience(self) -> int:
        """Number of successive iterations with still masses until convergence."""

    @property
    def rises(self) -> str:
        """How to treat an iteration that raises the objective: "refused", "taken", or "taken, best kept"."""

    @property
    def races(self) -> bool:
        """Whether to give up runs that can't catch up; not worth it if iterations are cheap."""

    def begin(self, start: Tensor) -> S:
        """Return the state before the first iteration."""

    def step(self, state: S) -> S:
        """Return the state after one iteration."""

    def resumed(self, tensors: Mapping[str, Tensor]) -> S:
        """Return a state from the tensors of a checkpoint."""

    def select(self, runs: Tensor) -> Self:
        """Return some of the runs."""


@dataclass(frozen=True)
class Rounds:
    """The state of a batch of runs between two iterations, complete enough to continue."""

    iteration: int
    state: Any  # of the active runs: a ``RunState``
    active: Tensor  # their indices
    still: Tensor  # (active,), successive iterations without movement
    change: Tensor  # (active,)
    ended: Solution  # of all runs; outdated for the active ones
    trace: tuple[NDArray[np.float64], ...]  # the objective of all runs at the start and after each iteration

    @staticmethod
    def begin(state: RunState) -> Rounds:
        """Return the rounds before the first iteration."""
        runs = len(state.objective)
        objective = state.objective.double().cpu().numpy().copy()
        ended = Solution(
            state.prototypes.clone(),
            objective,
            state.constraint.double().cpu().numpy().copy(),
            (),
            np.zeros(runs, dtype=np.int64),
            np.zeros(runs, dtype=bool),
            extras={name: part.clone() for name, part in state.extras.items()} if state.extras else {},
        )
        still = torch.zeros(runs, dtype=torch.int64)
        return Rounds(0, state, torch.arange(runs), still, state.change, ended, (objective,))

    def after(self, state: RunState, change: Tensor, problem: Problem[Any], gain: float) -> Rounds:
        """Return the rounds one iteration later; runs whose last five gained less than ``gain`` each count as still."""
        objective = self.trace[-1].copy()
        objective[self.active.numpy()] = state.objective.double().cpu().numpy()
        still = torch.where(change.cpu() <= problem.tol, self.still + 1, 0)
        trace = (*self.trace, objective)
        if gain > 0.0 and len(trace) > SPAN:
            index = self.active.numpy()
            now, before = trace[-1][index], trace[-1 - SPAN][index]
            rests = torch.from_numpy(before - now < SPAN * gain * np.abs(now))
            still = torch.where(rests, problem.patience, still)
        return replace(self, iteration=self.iteration + 1, state=state, still=still, change=change, trace=trace)

    def recorded(self, patience: int, done: Tensor, *, best: bool = False) -> Rounds:
        """Record the results of the active runs, and drop those that are ``done`` (a mask).

        ``best``: record only improvements.
        """
        state, old, index = self.state, self.ended, self.active.numpy()
        now, price = state.objective.double().cpu().numpy(), state.constraint.double().cpu().numpy()
        better = now < old.objective[index] if best else np.ones(len(index), dtype=bool)
        take = torch.from_numpy(better).to(state.objective.device)
        rows = self.active[torch.from_numpy(better)].to(take.device)
        objective, constraint = old.objective.copy(), old.constraint.copy()
        objective[index[better]], constraint[index[better]] = now[better], price[better]
        n_iter, converged = old.n_iter.copy(), old.converged.copy()
        n_iter[index], converged[index] = self.iteration, (self.still >= patience).numpy()
        prototypes, extras = old.prototypes.index_copy(0, rows, state.prototypes[take]), old.extras
        if extras:
            extras = {name: extras[name].index_copy(0, rows, part[take]) for name, part in state.extras.items()}
        ended = Solution(prototypes, objective, constraint, (), n_iter, converged, old.residual, extras)
        if not bool(done.any()):
            return replace(self, ended=ended)
        going = (~done).nonzero()[:, 0]
        there = going.to(self.state.objective.device)
        return replace(
            self,
            ended=ended,
            state=self.state.select(there),
            active=self.active[going],
            still=self.still[going],
            change=self.change[there],
        )


class Checkpointer(Protocol):
    """Saves the state of the runs so that an interrupted fit can resume."""

    def expect(self, fresh: Callable[[], Tensor]) -> None:
        """Set where a run of the next loop could begin, to compare with the saved state."""

    def restored(self, problem: Problem[S]) -> Rounds | None:
        """Return the state of an earlier fit, or None to start from the beginning."""

    def keep(self, rounds: Rounds) -> None:
        """Called after every iteration."""

    def save(self, rounds: Rounds) -> None:
        """Called when a fit is interrupted, with its last complete iteration."""


class LoopOptions(TypedDict, total=False):
    """Options of the loop."""

    callback: Callback | None
    groups: NDArray[np.int64] | None
    checkpointer: Checkpointer | None
    gain: float


def iterate(
    problem: Problem[S],
    start: Tensor,
    max_iter: int,
    *,
    callback: Callback | None = None,
    groups: NDArray[np.int64] | None = None,
    checkpointer: Checkpointer | None = None,
    gain: float = 0.0,
) -> Solution:
    """Alternate masses and prototypes until the masses converge; runs leave the batch as they finish.

    Parameters
    ----------
    start : Tensor (runs, ...), input of ``problem.begin``
    callback : called with a ``Progress`` after each iteration; a true answer ends all runs
    groups : (runs,), optional
        Runs with the same number solve the same problem: if the problem ``races``, a run that can't catch up with the
        best of its group at its present pace is given up.
    checkpointer : optional
        Writes checkpoints, and returns the one to resume from.
    gain : float
        A run also converges if an iteration lowers its objective by less than this share, over the last five
        iterations; races are then decided by halving. 0: neither.
    """
    rounds = None if checkpointer is None else checkpointer.restored(problem)
    if rounds is None:
        rounds = Rounds.begin(problem.begin(start))
    elif 0 < len(rounds.active) < len(rounds.ended.objective):
        problem = problem.select(rounds.active.to(start.device))
    best, stop = problem.rises == "taken, best kept", stopped(callback)
    try:
        while rounds.iteration < max_iter and len(rounds.active) and not stop:
            raise_if_interrupted()
            before, state = rounds.state, problem.step(rounds.state)
            change = state.change
            if problem.rises == "refused":  # revert runs whose objective rose beyond rounding
                rose = ~(state.objective <= before.objective + RISE * before.objective.abs())
                if bool(rose.any()):
                    state, change = state.merged(before, rose), torch.where(rose, 0.0, change)
            new = rounds.after(state, change, problem, gain)
            done = new.still >= problem.patience
            if groups is not None and problem.races:
                done = done | torch.from_numpy((halved if gain > 0.0 else outrun)(new, groups))
            over = bool(done.any())
            rounds = new.recorded(problem.patience, done, best=best) if over or best else new
            if over and len(rounds.active):
                problem = problem.select((~done).nonzero()[:, 0].to(start.device))
            if checkpointer is not None:
                checkpointer.keep(rounds)
            if callback is not None:
                moving, largest = int((new.still < problem.patience).sum()), float(new.change.max())
                if callback(Progress(new.iteration, max_iter, new.trace[-1].copy(), moving, largest)):
                    if checkpointer is not None:
                        checkpointer.save(rounds)
                    break
    except BaseException:
        if checkpointer is not None:
            checkpointer.save(rounds)
        raise
    none = torch.zeros(len(rounds.active), dtype=torch.bool)
    ended = rounds.recorded(problem.patience, none, best=best).ended
    history = []
    for objective, n in zip(np.stack(rounds.trace, 1), ended.n_iter, strict=True):
        history.append(objective[: n + 1].copy())
    return replace(ended, history=tuple(history))


@dataclass
class StopSignal:
    """A callback of a fit with several loops: after it has asked to stop, none of them continues."""

    callback: Callback
    stopped: bool = False

    def __call__(self, progress: Progress) -> bool:
        """Call it unless it has asked to stop."""
        self.stopped = self.stopped or bool(self.callback(progress))
        return self.stopped


class Run(Protocol):
    """A finished run of an algorithm without prototypes."""

    @property
    def history(self) -> NDArray[np.float64]:
        """The objective at the start and after each iteration."""
        ...

    @property
    def converged(self) -> bool:
        """Whether it converged."""
        ...


def after_runs(callback: Callback | None, runs: int) -> Callable[[Sequence[Run]], object] | None:
    """Return a callback for fits that report runs one by one as they finish."""
    if callback is None:
        return None
    return lambda ended: callback(Progress.of_runs([float(run.history[-1]) for run in ended], runs))


def stopped(callback: Callback | None) -> bool:
    """Whether a fit was asked to stop in an earlier loop."""
    return isinstance(callback, StopSignal) and callback.stopped


def outrun(rounds: Rounds, groups: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which active runs would not reach their group's best in ``HORIZON`` more iterations at their present pace."""
    index = rounds.active.numpy()
    if rounds.iteration < WARM_UP:
        return np.zeros(len(index), dtype=bool)
    now = rounds.trace[-1]
    lowest = np.full(int(groups.max()) + 1, np.inf)
    np.minimum.at(lowest, groups, now)
    pace = (rounds.trace[-1 - SPAN][index] - now[index]) / SPAN
    return np.asarray(now[index] - lowest[groups[index]] > HORIZON * pace)


def halved(rounds: Rounds, groups: NDArray[np.int64]) -> NDArray[np.bool_]:
    """After a few iterations, and after twice and four times as many, return the worse half of each group's active runs."""
    index = rounds.active.numpy()
    worse = np.zeros(len(index), dtype=bool)
    if rounds.iteration in HALVED:
        for group in np.unique(groups[index]):
            own = np.flatnonzero(groups[index] == group)
            order = own[np.argsort(rounds.trace[-1][index[own]], kind="stable")]
            worse[order[-(-len(own) // 2) :]] = True
    return worse
