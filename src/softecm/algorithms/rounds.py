"""The loop of Algorithm 1 for a batch of runs: rounds of masses and prototypes until the masses stand still."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm.algorithms.solution import Progress, Solution
from softecm.optim import Solver, State

WARM_UP, HORIZON = 15, 25  # rounds before a race is decided, and how far ahead it looks
RISE = 1e-9  # an objective may not rise by more than this part of itself


@dataclass(frozen=True)
class Rounds:
    """Where a batch of runs stands between two rounds: all that is needed to go on."""

    iteration: int
    state: State  # of the active runs
    active: Tensor  # their numbers
    still: Tensor  # (active,), rounds in a row without movement
    prototypes: Tensor  # (runs, f, *shape), and so on for all runs
    objective: NDArray[np.float64]
    tie: NDArray[np.float64]
    history: tuple[tuple[float, ...], ...]
    n_iter: NDArray[np.int64]
    converged: NDArray[np.bool_]
    masses: Tensor | None = None  # only where they do not follow from the prototypes alone

    @staticmethod
    def begin(problem: Any, start: Tensor, *, keep_masses: bool) -> Rounds:
        """Before the first round."""
        state: State = problem.at(start)
        runs = len(start)
        objective = state.objective.double().cpu().numpy().copy()
        return Rounds(
            0,
            state,
            torch.arange(runs),
            torch.zeros(runs, dtype=torch.int64),
            state.prototypes.clone(),
            objective,
            _tie(state),
            tuple((float(v),) for v in objective),
            np.zeros(runs, dtype=np.int64),
            np.zeros(runs, dtype=bool),
            state.evaluation.masses.clone() if keep_masses and state.evaluation.masses is not None else None,
        )

    def after(self, state: State, tol: float, patience: int) -> Rounds:
        """One round later; the runs that have converged are marked, and still active."""
        index = self.active.numpy()
        still = torch.where(state.evaluation.change.cpu() <= tol, self.still + 1, 0)
        new = replace(
            self,
            iteration=self.iteration + 1,
            state=state,
            still=still,
            prototypes=self.prototypes.clone(),
            objective=self.objective.copy(),
            tie=self.tie.copy(),
            n_iter=self.n_iter.copy(),
            converged=self.converged.copy(),
            masses=None if self.masses is None else self.masses.clone(),
        )
        new.prototypes[self.active] = state.prototypes
        if new.masses is not None and state.evaluation.masses is not None:
            new.masses[self.active] = state.evaluation.masses
        new.objective[index] = state.objective.double().cpu().numpy()
        new.tie[index] = _tie(state)
        new.n_iter[index] = new.iteration
        new.converged[index] = (still >= patience).numpy()
        history = list(self.history)
        for run in index.tolist():
            history[run] = (*history[run], float(new.objective[run]))
        return replace(new, history=tuple(history))

    def without(self, done: Tensor) -> Rounds:
        """The same with fewer active runs; ``done`` is a mask."""
        going = (~done).nonzero()[:, 0]
        state = self.state.select(going.to(self.prototypes.device))
        return replace(self, state=state, active=self.active[going], still=self.still[going])

    def solution(self) -> Solution:
        """Where the runs are."""
        histories = tuple(np.asarray(h) for h in self.history)
        return Solution(
            self.prototypes, self.objective, self.tie, histories, self.n_iter, self.converged, masses=self.masses
        )


class Keeper(Protocol):
    """Writes down where the runs stand, so that an interrupted fit can go on."""

    def restored(self) -> Rounds | None:
        """Where an earlier fit stood; None to begin at the beginning."""

    def keep(self, rounds: Rounds) -> None:
        """Called after every round."""

    def save(self, rounds: Rounds) -> None:
        """Called when a fit is interrupted, with its last whole round."""


def iterate(
    problem: Any,
    start: Tensor,
    step: Solver,
    max_iter: int,
    callback: Callable[[Progress], Any] | None,
    *,
    keep_masses: bool = False,
    race: NDArray[np.int64] | None = None,
    keeper: Keeper | None = None,
) -> Solution:
    """Alternate masses and prototypes until the masses stand still; runs leave the batch as they finish.

    ``problem`` is an ``optim.Problem`` with a ``metric`` and a ``tol``. ``keep_masses`` where its masses do not follow from
    the prototypes alone. ``race``: (runs,), runs with the same number solve the same problem; see ``soft_ecm``.
    """
    rounds = None if keeper is None else keeper.restored()
    if rounds is None:
        rounds = Rounds.begin(problem, start, keep_masses=keep_masses)
    elif 0 < len(rounds.active) < len(start):
        problem = problem.select(rounds.active.to(start.device))
    try:
        while rounds.iteration < max_iter and len(rounds.active):
            new = rounds.after(descended(step, problem, rounds.state), problem.tol, step.patience)
            done = new.still >= step.patience
            if race is not None:
                done = done | torch.from_numpy(outrun(new, race))
            rounds = new.without(done) if bool(done.any()) else new
            if bool(done.any()) and len(rounds.active):
                problem = problem.select((~done).nonzero()[:, 0].to(start.device))
            if keeper is not None:
                keeper.keep(rounds)
            if callback is not None and callback(_progress(new, max_iter, step.patience)):
                if keeper is not None:
                    keeper.save(rounds)
                break
    except BaseException:
        if keeper is not None:
            keeper.save(rounds)
        raise
    return rounds.solution()


def descended(step: Solver, problem: Any, state: State) -> State:
    """The state one round further; a step that would raise the objective beyond rounding is not taken."""
    moved = step.step(problem, state)
    rose = ~(moved.objective <= state.objective + RISE * state.objective.abs())
    if not bool(rose.any()):
        return moved
    moved = moved.merged(state, rose)
    stuck = torch.where(rose, 0.0, moved.evaluation.change)
    return replace(moved, evaluation=replace(moved.evaluation, change=stuck))


def outrun(rounds: Rounds, groups: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which active runs would not reach the best of their group in ``HORIZON`` more rounds at their present pace."""
    index = rounds.active.numpy()
    if rounds.iteration < WARM_UP:
        return np.zeros(len(index), dtype=bool)
    lowest = np.full(int(groups.max()) + 1, np.inf)
    np.minimum.at(lowest, groups, rounds.objective)
    recent = np.array([rounds.history[run][-6:] for run in index])
    pace = (recent[:, 0] - recent[:, -1]) / 5
    return np.asarray(rounds.objective[index] - lowest[groups[index]] > HORIZON * pace)


def _tie(state: State) -> NDArray[np.float64]:
    """The part of the objective that prices the constraint."""
    return np.array((state.objective - state.evaluation.cost).double().cpu().numpy())


def _progress(rounds: Rounds, max_iter: int, patience: int) -> Progress:
    return Progress(
        rounds.iteration,
        max_iter,
        rounds.objective.copy(),
        int((rounds.still < patience).sum()),
        float(rounds.state.evaluation.change.max()),
    )
