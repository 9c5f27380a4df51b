"""Where a batch of runs ends, and which of them is taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Runs = Mapping[str, NDArray[np.generic]]  # columns of a table with a row a run
MERGED = 0.0025  # clusters closer than this part of the data's own spread count as one
ROUNDING = 1e-12  # objectives that differ by less than this part of themselves are equal


class State(Protocol):
    """What an outcome takes from a batch of runs."""

    @property
    def prototypes(self) -> Tensor:
        """(runs, f, *shape)."""

    @property
    def objective(self) -> Tensor:
        """(runs,)."""


@dataclass(frozen=True)
class Solution:
    """Where a batch of runs ended.

    Attributes
    ----------
    prototypes : Tensor (runs, f, *shape)
    objective : (runs,)
    constraint : (runs,), the part of the objective that prices the constraint on the sets' prototypes
    history : one array a run, the objective after each round's mass step
    n_iter : (runs,), prototype steps taken
    converged : (runs,)
    residual : (runs,), how far the sets' prototypes are from the barycentres of their clusters', relative to the spread
        of the clusters; only where the constraint was approached, not solved
    found : what the runs found besides prototypes, by name, each leading with the run: masses of linked objects
        (``masses``), clusters' matrices (``matrices``)
    """

    prototypes: Tensor
    objective: NDArray[np.float64]
    constraint: NDArray[np.float64]
    history: tuple[NDArray[np.float64], ...]
    n_iter: NDArray[np.int64]
    converged: NDArray[np.bool_]
    residual: NDArray[np.float64] | None = None
    found: Mapping[str, Tensor] = field(default_factory=dict)

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
            {name: part[runs] for name, part in self.found.items()},
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
            {name: torch.cat([part.found[name] for part in parts]) for name in parts[0].found},
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


def extended(singles: Solution, state: State) -> Solution:
    """Runs of single clusters with the sets that a state adds to them; their histories stay those of the clusters'."""
    objective = state.objective.double().cpu().numpy()
    return replace(singles, prototypes=state.prototypes, objective=objective, constraint=np.zeros(len(objective)))


def choose(objective: NDArray[np.float64], apart: NDArray[np.float64]) -> int:
    """Lowest objective; a run whose clusters have merged wins only where all have.

    Of runs that differ by rounding the first wins: other machines and versions round otherwise, and number clusters alike.
    """
    merged = apart < MERGED
    candidates = np.flatnonzero(~merged) if (~merged).any() else np.arange(len(apart))
    ends = objective[candidates]
    least = ends[np.argmin(ends)]
    return int(candidates[np.argmax(ends <= least + ROUNDING * abs(least))])


def separation(distances: NDArray[np.float64], spread: float) -> float:
    """Least off-diagonal distance between clusters over the data's spread; inf for one cluster, 0 without spread."""
    c = len(distances)
    if c < 2:
        return float("inf")
    least = float(distances[~np.eye(c, dtype=bool)].min())
    return least / spread if spread > 0 else 0.0


def runs_table(solution: Solution, best: int, apart: NDArray[np.float64]) -> dict[str, NDArray[np.generic]]:
    """One row a run: objective, rounds, whether it converged, whether its prototypes merged."""
    table: dict[str, NDArray[np.generic]] = {
        "run": np.arange(len(apart)),
        "objective": solution.objective,
        "n_iter": solution.n_iter,
        "converged": solution.converged,
        "separation": apart,
        "collapsed": apart < MERGED,
        "best": np.arange(len(apart)) == best,
    }
    if solution.residual is not None:
        table["constraint_residual"] = solution.residual
    return table
