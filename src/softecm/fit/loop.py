"""The loop of Algorithm 1: rounds of masses and prototypes until the masses stand still.

An algorithm states its ``Problem``: how a batch of runs begins and what one round does. Everything else is here, once:
runs that leave the batch as they finish, races between starts, the guard that no objective rises, histories, callbacks,
Ctrl-C and checkpoints.

Four estimators have no batch of runs and iterate by themselves: EGMM (EM until the likelihood stands still, one number of
clusters after the other), NNEVCLUS (training of a network, whose best weights are kept), MECMdd (each run in a thread, until
its medoids come back) and EKNNClus (labels that spread along a graph). They hear callbacks and Ctrl-C and have no
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

Runs = Mapping[str, NDArray[np.generic]]  # columns of a table with a row a run
MERGED = 0.0025  # clusters closer than this part of the data's own spread count as one
ROUNDING = 1e-12  # objectives that differ by less than this part of themselves are equal


@dataclass(frozen=True)
class Solution:
    """Where a batch of runs ended.

    Attributes
    ----------
    prototypes : Tensor (runs, f, *shape)
    objective : (runs,)
    constraint : (runs,), the part of the objective that prices the constraint on the sets' prototypes
    history : one array per run, the objective after each round's mass step
    n_iter : (runs,), prototype steps taken
    converged : (runs,)
    residual : (runs,), how far the sets' prototypes are from the barycentres of their clusters', relative to the spread
        of the clusters; only where the constraint was approached, not solved
    extras : what the runs found besides prototypes, by name, each leading with the run: masses of linked objects
        (``masses``), clusters' matrices (``matrices``)
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
        """Some of the runs."""
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
        """The runs of several solutions of the same sets, in a row."""
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
    """What a callback sees after every round: a batch of runs, those still moving among them."""

    iteration: int
    max_iter: int
    objective: NDArray[np.float64]  # (runs,)
    n_active: int
    change: float  # largest change of a mass among the active runs; at least this where it is above the tolerance

    @staticmethod
    def of_one(iteration: int, max_iter: int, objective: float, change: float) -> Progress:
        """Where the only run stands."""
        return Progress(iteration, max_iter, np.array([objective]), 1, change)

    @staticmethod
    def of_runs(objective: Sequence[float], runs: int) -> Progress:
        """How many runs have ended, in place of rounds; the change is 1 until they all have."""
        ended = len(objective)
        return Progress(ended, runs, np.array(objective), runs - ended, float(ended < runs))


def extended(singles: Solution, prototypes: Tensor, objective: Tensor) -> Solution:
    """Runs of single clusters with the prototypes of all sets; their histories stay those of the clusters'."""
    total = objective.double().cpu().numpy()
    return replace(singles, prototypes=prototypes, objective=total, constraint=np.zeros(len(total)))


def choose(objective: NDArray[np.float64], separation: NDArray[np.float64]) -> int:
    """Lowest objective; a run whose clusters have merged wins only where all have.

    Of runs that differ by rounding the first wins: other machines and versions round otherwise, and number clusters alike.
    """
    merged = separation < MERGED
    candidates = np.flatnonzero(~merged) if (~merged).any() else np.arange(len(separation))
    ends = objective[candidates]
    least = ends[np.argmin(ends)]
    return int(candidates[np.argmax(ends <= least + ROUNDING * abs(least))])


def separation(tables: Sequence[NDArray[np.float64]], spread: float) -> NDArray[np.float64]:
    """Least distance between two clusters of each run (c, c) over the data's spread; inf for one cluster, 0 without."""
    separations, c = np.full(len(tables), np.inf), len(tables[0])
    for run, distances in enumerate(tables if c > 1 else ()):
        separations[run] = distances[~np.eye(c, dtype=bool)].min() / spread if spread > 0 else 0.0
    return separations


def runs_table(solution: Solution, best: int, separation: NDArray[np.float64]) -> dict[str, NDArray[np.generic]]:
    """One row a run: objective, rounds, whether it converged, whether its prototypes merged."""
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


WARM_UP, HORIZON = 15, 25  # rounds before a race is decided, and how far ahead it looks
HALVED = (2, 4, 8)  # rounds after which only the better half of the runs goes on
SPAN = 5  # rounds over which a pace is measured
RISE = 1e-9  # an objective may not rise by more than this part of itself

Callback = Callable[[Progress], object]


class RunState(Protocol):
    """A batch of runs between two rounds: a frozen dataclass of tensors that lead with the run."""

    @property
    def prototypes(self) -> Tensor:
        """(runs, f, *shape)."""

    @property
    def objective(self) -> Tensor:
        """(runs,)."""

    @property
    def constraint(self) -> Tensor:
        """(runs,): the part of the objective that prices the constraint on the sets' prototypes."""

    @property
    def change(self) -> Tensor:
        """(runs,): largest change of a mass since the round before."""

    @property
    def extras(self) -> Mapping[str, Tensor]:
        """What else the outcome must hold, by name, leading with the run."""

    def select(self, runs: Tensor) -> Self:
        """The same for some of the runs."""

    def merged(self, other: Self, take: Tensor) -> Self:
        """This, with the runs ``take`` (a mask) replaced by the other's."""

    def checkpoint_tensors(self) -> dict[str, Tensor]:
        """What a checkpoint must hold, each name beginning with ``state.``."""


S = TypeVar("S", bound=RunState)


class Problem(Protocol[S]):
    """The clustering problem of a batch of runs, as the loop sees it."""

    @property
    def tol(self) -> float:
        """A run stands still when no mass moves by more than this."""

    @property
    def patience(self) -> int:
        """Rounds in a row with still masses that make a run converged."""

    @property
    def rises(self) -> str:
        """What becomes of a round that raises the objective: "refused", "taken", or "taken, best kept"."""

    @property
    def races(self) -> bool:
        """Whether a start that can't catch up is given up; not worth it where a round costs next to nothing."""

    def begin(self, start: Tensor) -> S:
        """Before the first round."""

    def step(self, state: S) -> S:
        """One round."""

    def resumed(self, tensors: Mapping[str, Tensor]) -> S:
        """A state from what a checkpoint kept of it."""

    def select(self, runs: Tensor) -> Self:
        """The same for some of the runs."""


@dataclass(frozen=True)
class Rounds:
    """Where a batch of runs stands between two rounds: all that is needed to go on."""

    iteration: int
    state: Any  # of the active runs: a ``RunState``
    active: Tensor  # their numbers
    still: Tensor  # (active,), rounds in a row without movement
    change: Tensor  # (active,)
    ended: Solution  # of all runs; what the active ones have there is out of date
    trace: tuple[NDArray[np.float64], ...]  # the objective of all runs at the start and after each round

    @staticmethod
    def begin(state: RunState) -> Rounds:
        """Before the first round."""
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
        """One round later; runs whose last five rounds gained less than ``gain`` each count as still."""
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
        """The same with what the active runs have reached written down, and without those that are ``done`` (a mask).

        ``best``: only where it is their best so far.
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
    """Writes down where the runs stand, so that an interrupted fit can go on."""

    def expect(self, fresh: Callable[[], Tensor]) -> None:
        """Where a run of the next loop could begin, to compare with where an earlier fit stood."""

    def restored(self, problem: Problem[S]) -> Rounds | None:
        """Where an earlier fit stood; None to begin at the beginning."""

    def keep(self, rounds: Rounds) -> None:
        """Called after every round."""

    def save(self, rounds: Rounds) -> None:
        """Called when a fit is interrupted, with its last complete iteration."""


class LoopOptions(TypedDict, total=False):
    """How the loop goes about a problem."""

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
    """Alternate masses and prototypes until the masses stand still; runs leave the batch as they finish.

    Parameters
    ----------
    start : Tensor (runs, ...), what ``problem.begin`` takes
    callback : called with a ``Progress`` after each round; a true answer ends all runs where they are
    groups : (runs,), optional
        Runs with the same number solve the same problem: where the problem ``races``, one that can't catch up with the
        best of its group at its present pace is given up.
    checkpointer : optional
        Writes checkpoints, and gives the one to go on from.
    gain : float
        A run has also converged when a round lowers its objective by less than this part of it, over the last five rounds;
        races are then decided by halves. 0: neither.
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
            if problem.rises == "refused":  # runs whose objective rose beyond rounding stay where they were
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
    """A callback of a fit of several loops: once it has asked to stop, none of them continues."""

    callback: Callback
    stopped: bool = False

    def __call__(self, progress: Progress) -> bool:
        """Call it, unless it has asked to stop."""
        self.stopped = self.stopped or bool(self.callback(progress))
        return self.stopped


class Run(Protocol):
    """One run that has ended, of an algorithm without prototypes."""

    @property
    def history(self) -> NDArray[np.float64]:
        """The objective at the start and after each round."""
        ...

    @property
    def converged(self) -> bool:
        """Whether it ended by itself."""
        ...


def after_runs(callback: Callback | None, runs: int) -> Callable[[Sequence[Run]], object] | None:
    """The callback of a fit whose runs are told of one by one, as they end."""
    if callback is None:
        return None
    return lambda ended: callback(Progress.of_runs([float(run.history[-1]) for run in ended], runs))


def stopped(callback: Callback | None) -> bool:
    """Whether a fit was asked to stop in an earlier loop."""
    return isinstance(callback, StopSignal) and callback.stopped


def outrun(rounds: Rounds, groups: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which active runs would not reach the best of their group in ``HORIZON`` more rounds at their present pace."""
    index = rounds.active.numpy()
    if rounds.iteration < WARM_UP:
        return np.zeros(len(index), dtype=bool)
    now = rounds.trace[-1]
    lowest = np.full(int(groups.max()) + 1, np.inf)
    np.minimum.at(lowest, groups, now)
    pace = (rounds.trace[-1 - SPAN][index] - now[index]) / SPAN
    return np.asarray(now[index] - lowest[groups[index]] > HORIZON * pace)


def halved(rounds: Rounds, groups: NDArray[np.int64]) -> NDArray[np.bool_]:
    """After a few rounds, and again after twice and four times as many: the worse half of each group's active runs."""
    index = rounds.active.numpy()
    worse = np.zeros(len(index), dtype=bool)
    if rounds.iteration in HALVED:
        for group in np.unique(groups[index]):
            own = np.flatnonzero(groups[index] == group)
            order = own[np.argsort(rounds.trace[-1][index[own]], kind="stable")]
            worse[order[-(-len(own) // 2) :]] = True
    return worse
