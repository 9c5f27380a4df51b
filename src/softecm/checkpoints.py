"""Where a fit stands, in a file: an interrupted fit goes on from it to the same answer.

A checkpoint is a safetensors file with JSON metadata and a checksum, like a model; it appears whole or not at all. It
holds the prototypes and the solver's state after a whole round, the histories, and what tells one fit from another:
the settings and a number for the content of the data.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm._checks import check_count
from softecm.algorithms.rounds import Rounds
from softecm.models import read_description, tensor_file
from softecm.objective import Evaluation
from softecm.optim import Memory, State

if TYPE_CHECKING:
    from softecm.algorithms.fitting import Settings
    from softecm.distances.base import SemiMetric
    from softecm.spaces.base import Space

FORMAT = "softecm.checkpoint"
FORMAT_VERSION = 1


@dataclass(frozen=True)
class Plan:
    """What the user asked for: where to write, how often, where to go on from."""

    path: Path
    every: int
    resume: bool

    @staticmethod
    def of(checkpoint: Any, every: Any, resume: Any) -> Plan | None:
        """From the arguments of ``fit``; None where nothing is asked for."""
        check_count("checkpoint_every", every, hint="1 writes after every round; 10 is usual.")
        if checkpoint is None and resume is None:
            return None
        for name, value in (("checkpoint", checkpoint), ("resume", resume)):
            if value is not None and not isinstance(value, str | os.PathLike):
                raise ValueError(f"{name} must be the path of a file; got {value!r}. Give 'fit.checkpoint', say.")
        if resume is not None and not Path(resume).is_file():
            raise FileNotFoundError(
                f"resume must be a checkpoint that is there; got {str(resume)!r}, which is no file."
            )
        if resume is not None and checkpoint is not None and Path(resume) != Path(checkpoint):
            raise ValueError(
                f"checkpoint must be the file of resume, which goes on being written; got {str(checkpoint)!r} and "
                f"{str(resume)!r}. Give resume alone."
            )
        folder = Path(checkpoint or resume).absolute().parent
        if not folder.is_dir():
            raise ValueError(
                f"checkpoint must lie in a folder that is there; got {str(checkpoint)!r}. Make {folder} first."
            )
        return Plan(Path(checkpoint or resume), int(every), resume is not None)


def identity(owner: str, chosen: Settings, metric: SemiMetric, n: int, content: int) -> dict[str, str]:
    """What tells one fit from another, as text."""
    seed = chosen.random_state
    return {
        "estimator": owner,
        "n_clusters": str(chosen.n_clusters),
        "metric": f"{metric.name or type(metric).__name__} {_parameters(metric)}",
        "alpha": repr(chosen.alpha),
        "beta": repr(chosen.beta),
        "delta": repr(chosen.delta),
        "lam": repr(chosen.lam),
        "relaxation": chosen.relaxation,
        "focal_sets": str(chosen.focal.sets),
        "init": chosen.init if isinstance(chosen.init, str) else _digest_of(chosen.init),
        "n_init": str(chosen.n_init),
        "tol": repr(chosen.tol),
        "solver": str(chosen.solver),
        "dtype": str(chosen.dtype),
        "random_state": repr(seed) if isinstance(seed, int | np.integer) else "not fixed",
        "n_objects": str(n),
        "data": f"{content:016x}",
    }


def _parameters(metric: SemiMetric) -> str:
    """The metric's parameters as text; long arrays by their digest."""
    parts = {k: v if not isinstance(v, np.ndarray | Tensor) else _digest_of(v) for k, v in metric.parameters().items()}
    return ", ".join(f"{k}={v!r}" for k, v in parts.items() if not callable(v))


def _digest_of(value: Any) -> str:
    data = np.ascontiguousarray(np.asarray(value)) if not hasattr(value, "to_numpy") else value.to_numpy()
    return hashlib.sha256(data.tobytes() if data.dtype != object else repr(data.tolist()).encode()).hexdigest()[:16]


def content_number(space: Space, x: Any, weights: NDArray[np.float64] | None) -> int:
    """One number for objects and their weights, whatever their order: the sum of the objects' keys."""
    keys = space.keys(x.cpu())
    if weights is not None:
        keys = keys * (weights.view(np.uint64) | np.uint64(1))
    return int(keys.sum(dtype=np.uint64))


class Checkpoints:
    """A ``Keeper`` that writes to one file."""

    def __init__(
        self, plan: Plan, who: Mapping[str, str], kept: Rounds | None, extras: dict[str, float | None]
    ) -> None:
        self.plan, self.who, self._kept, self.extras = plan, dict(who), kept, extras

    @classmethod
    def open(cls, plan: Plan, who: Mapping[str, str], device: torch.device | None = None) -> Checkpoints:
        """Read the file to go on from, where there is one; a checkpoint of another fit is refused."""
        if not plan.resume:
            return cls(plan, who, None, {})
        description, tensors = read_description(plan.path, FORMAT, FORMAT_VERSION, "checkpoint")
        for key, here in who.items():
            there = description["who"].get(key)
            if there != here:
                raise ValueError(
                    f"{plan.path} is a checkpoint of another fit: {key} was {there} there and is {here} here. Use the same "
                    "settings and data, or begin anew without resume."
                )
        try:
            kept = _rounds(description, tensors)
            return cls(plan, who, kept if device is None else on_device(kept, device), dict(description["extras"]))
        except (KeyError, TypeError, ValueError, IndexError, RuntimeError) as error:
            raise ValueError(f"{plan.path} is damaged: its parts don't fit together ({error}). Begin anew.") from error

    @property
    def resumed(self) -> bool:
        """Whether the fit goes on from an earlier one."""
        return self._kept is not None

    @property
    def start(self) -> Tensor:
        """Prototypes (runs, f, *shape) as the checkpoint has them."""
        assert self._kept is not None  # only after ``resumed``
        return self._kept.prototypes

    def restored(self) -> Rounds | None:
        """Where the earlier fit stood."""
        return self._kept

    def keep(self, rounds: Rounds) -> None:
        """Write every so many rounds, and at the end."""
        if rounds.iteration % self.plan.every == 0 or not len(rounds.active):
            self.save(rounds)

    def save(self, rounds: Rounds) -> None:
        """Write now."""
        tensors, about = _parts(rounds)
        description = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "who": self.who,
            "extras": self.extras,
            **about,
        }
        tensor_file(self.plan.path, json.dumps(description), tensors)


STATE = ("free", "prototypes", "objective", "gradient", "scale", "inner")
EVALUATION = ("cost", "gradient", "curvature", "moment", "change")


def _parts(rounds: Rounds) -> tuple[dict[str, Any], dict[str, Any]]:
    """The rounds as arrays, and the rest as plain values."""
    state = rounds.state
    named: dict[str, Any] = {f"state.{k}": getattr(state, k) for k in STATE}
    named |= {f"evaluation.{k}": getattr(state.evaluation, k) for k in EVALUATION}
    named |= {f"steps.{i}": s for i, s in enumerate(state.memory.steps)}
    named |= {f"changes.{i}": s for i, s in enumerate(state.memory.changes)}
    named |= {"active": rounds.active, "still": rounds.still, "prototypes": rounds.prototypes}
    tensors = {k: np.ascontiguousarray(v.detach().cpu().numpy()) for k, v in named.items() if v is not None}
    tensors |= {
        "objective": rounds.objective,
        "tie": rounds.tie,
        "n_iter": rounds.n_iter,
        "converged": rounds.converged,
    }
    tensors |= {f"history.{run}": np.asarray(h, dtype=np.float64) for run, h in enumerate(rounds.history)}
    return tensors, {"iteration": rounds.iteration, "memory": len(state.memory.steps)}


def _rounds(description: Mapping[str, Any], tensors: Mapping[str, Any]) -> Rounds:
    """The inverse of ``_parts``."""

    def tensor(name: str) -> Any:
        return torch.from_numpy(np.array(tensors[name])) if name in tensors else None

    count = int(description["memory"])
    memory = Memory(
        tuple(tensor(f"steps.{i}") for i in range(count)), tuple(tensor(f"changes.{i}") for i in range(count))
    )
    evaluation = Evaluation(**{k: tensor(f"evaluation.{k}") for k in EVALUATION}, masses=None)
    state = State(**{k: tensor(f"state.{k}") for k in STATE}, evaluation=evaluation, memory=memory)
    runs = len(tensors["objective"])
    return Rounds(
        int(description["iteration"]),
        state,
        tensor("active"),
        tensor("still"),
        tensor("prototypes"),
        np.array(tensors["objective"]),
        np.array(tensors["tie"]),
        tuple(tuple(tensors[f"history.{run}"].tolist()) for run in range(runs)),
        np.array(tensors["n_iter"]),
        np.array(tensors["converged"]),
    )


def on_device(rounds: Rounds, device: torch.device) -> Rounds:
    """The same with the runs' tensors on a device."""

    def move(value: Any) -> Any:
        return value.to(device) if isinstance(value, Tensor) else value

    state = rounds.state
    evaluation = replace(state.evaluation, **{k: move(getattr(state.evaluation, k)) for k in EVALUATION})
    memory = Memory(tuple(map(move, state.memory.steps)), tuple(map(move, state.memory.changes)))
    moved = replace(state, **{k: move(getattr(state, k)) for k in STATE}, evaluation=evaluation, memory=memory)
    return replace(rounds, state=moved, prototypes=move(rounds.prototypes))
