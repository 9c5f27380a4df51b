"""Checkpoints: an interrupted fit resumes from a file and gives the same result.

A checkpoint is a safetensors file with JSON metadata and a checksum, like a model, written atomically. It holds the
prototypes and the solver's state after a complete iteration, the histories, and what identifies the fit: the settings
and a digest of the data.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm._checks import is_whole
from softecm._errors import ReadError, reason, shown
from softecm._fingerprint import code_of
from softecm._warnings import CheckpointWarning, warn
from softecm.distances.base import SemiMetric
from softecm.files.expected import Misfit
from softecm.files.tensors import read_description, tensor_file
from softecm.fit.checkpoint_checks import check_contents, check_state
from softecm.fit.loop import Problem, Rounds, S, Solution
from softecm.fit.settings import CheckpointRequest, Settings
from softecm.spaces.base import Encoded, Space

FORMAT = "softecm.checkpoint"
FORMAT_VERSION = 2


def identity(
    owner: str, chosen: Settings, algorithm: object, metric: SemiMetric, n: int, content: int
) -> dict[str, str]:
    """Return what identifies a fit, as text."""
    seed, init, code = chosen.random_state, chosen.init, code_of(metric)
    parts = {k: digest_of(v) if isinstance(v, np.ndarray | Tensor) else v for k, v in metric.parameters().items()}
    parameters = ", ".join(f"{k}={v!r}" for k, v in parts.items() if not callable(v))
    drawn = f"Init(given=None, kind={init.kind!r}, staged={init.staged})"
    own_code = "" if code is None else f"code {code.text}"  # of a user-defined metric
    return {
        "estimator": owner,
        "algorithm": repr(algorithm),
        "n_clusters": str(chosen.n_clusters),
        "metric": f"{metric.name or type(metric).__name__} {parameters}{own_code}",
        "alpha": repr(chosen.alpha),
        "beta": repr(chosen.beta),
        "delta": "auto" if chosen.finds_delta else repr(chosen.delta),
        "lam": "auto" if chosen.lam is None else repr(chosen.lam),
        "relaxation": "auto" if chosen.relaxation is None else chosen.relaxation.name,
        "focal_sets": str(chosen.focal.sets),
        "init": drawn if init.value is None else digest_of(init.value),
        "n_init": str(chosen.n_init),
        "tol": repr(chosen.tol),
        "solver": str(chosen.solver),
        "links": repr(chosen.pairs),
        "dtype": str(chosen.dtype),
        "random_state": repr(seed) if is_whole(seed) else "not fixed",
        "n_objects": str(n),
        "data": f"{content:016x}",
    }


def digest_of(value: object) -> str:
    """Return a short digest of an array's content."""
    data = np.ascontiguousarray(np.asarray(value)) if not hasattr(value, "to_numpy") else value.to_numpy()
    return hashlib.sha256(data.tobytes() if data.dtype != object else repr(data.tolist()).encode()).hexdigest()[:16]


def content_number(space: Space, x: Encoded, weights: NDArray[np.float64] | None) -> int:
    """Return a digest of the objects and their weights that ignores their order: the sum of the objects' keys."""
    keys = space.keys(x.cpu())
    if weights is not None:
        keys = keys * (weights.view(np.uint64) | np.uint64(1))
    return int(keys.sum(dtype=np.uint64))


@dataclass(frozen=True)
class SavedFit:
    """The content of a checkpoint."""

    description: dict[str, Any]
    tensors: dict[str, Tensor]


class Checkpoints:
    """A ``Checkpointer`` that writes one file."""

    def __init__(
        self, request: CheckpointRequest, who: Mapping[str, str], saved: SavedFit | None, device: torch.device
    ) -> None:
        self.request, self.who, self._saved, self._device = request, dict(who), saved, device
        self.phase, self.facts = "", dict[str, Any]() if saved is None else dict(saved.description["facts"])
        self._fresh: Callable[[], Tensor] | None = None

    @classmethod
    def open(cls, request: CheckpointRequest, who: Mapping[str, str], device: torch.device) -> Checkpoints:
        """Read the file to resume from, if it exists; raise an error if it belongs to another fit."""
        if not request.resume:
            return cls(request, who, None, device)
        description, arrays = read_description(request.path, FORMAT, FORMAT_VERSION, "checkpoint")
        with _whole(request.path):
            _check_same(request.path, description.get("who"), who)
            check_contents(description, arrays, int(who["n_clusters"]))
            tensors = {name: torch.from_numpy(np.array(value)) for name, value in arrays.items()}
            return cls(request, who, SavedFit(description, tensors), device)

    @property
    def reached(self) -> str:
        """The phase of the earlier fit: "starts", "clusters" or "sets"; empty for a new fit."""
        return "" if self._saved is None else str(self._saved.description["phase"])

    def enter(self, phase: str, **facts: Any) -> None:
        """Begin the next loop, with the results of earlier phases; discard a saved state of another phase."""
        if self.reached != phase:
            self._saved = None
        self.phase, self.facts = phase, facts

    @property
    def start(self) -> Tensor:
        """The checkpoint's prototypes (runs, f, *shape): with this number of runs, dtype and device."""
        assert self._saved is not None  # only if a phase was reached
        with _whole(self.request.path):
            return self._saved.tensors["prototypes"].to(self._device)

    def expect(self, fresh: Callable[[], Tensor]) -> None:
        """Set where a run of the next loop could begin (1, ...); the file's state must look like one begun there."""
        self._fresh = fresh

    def restored(self, problem: Problem[S]) -> Rounds | None:
        """Return the state of the earlier fit."""
        if self._saved is None:
            return None
        with _whole(self.request.path):
            if self._fresh is not None:
                check_state(problem, self._fresh(), self._saved.tensors, int(self.who["n_objects"]))
            return _rounds(problem, self._saved, self._device)

    def keep(self, rounds: Rounds) -> None:
        """Write at intervals of iterations, and at the end."""
        if rounds.iteration % self.request.every == 0 or not len(rounds.active):
            self.save(rounds)

    def save(self, rounds: Rounds) -> None:
        """Write now; if the disk fails, the fit continues."""
        description = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "who": self.who,
            "phase": self.phase,
            "facts": self.facts,
            "iteration": rounds.iteration,
            "found": list(rounds.ended.extras),
        }
        try:
            tensor_file(self.request.path, json.dumps(description), _arrays(rounds))
        except OSError as error:
            warn(
                f"checkpoint {self.request.path} can't be written: {reason(error)}. The fit continues, and the file "
                "keeps its earlier content.",
                CheckpointWarning,
            )


def _check_same(path: Path, there: object, here: Mapping[str, str]) -> None:
    """Raise an error if the checkpoint belongs to another fit."""
    if not isinstance(there, Mapping):
        raise Misfit("it does not say which fit it belongs to")
    for key, value in here.items():
        if there.get(key) != value:
            was = there.get(key)
            plain = isinstance(was, str) and was.isprintable() and len(was) < 200
            raise ReadError(
                f"{path} is a checkpoint of another fit: {key} was {was if plain else shown(was)} there and is {value} "
                "here. Use the same settings and data, or start over without resume."
            )


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """Report any inconsistency inside as a damaged file."""
    try:
        yield
    except ReadError:
        raise
    except Misfit as error:
        raise ReadError(f"{path} is damaged: {error}. Start over.") from error
    except (LookupError, TypeError, ValueError, RuntimeError, ArithmeticError) as error:
        reason = shown(str(error))
        raise ReadError(f"{path} is damaged: its parts don't fit together ({reason}). Start over.") from error


def _arrays(rounds: Rounds) -> dict[str, NDArray[Any]]:
    """Return the state of the loop as named arrays."""
    ended = rounds.ended
    tensors = {"active": rounds.active, "still": rounds.still, "change": rounds.change, "prototypes": ended.prototypes}
    tensors |= rounds.state.checkpoint_tensors()
    tensors |= {f"found.{name}": part for name, part in ended.extras.items()}
    arrays = {name: np.ascontiguousarray(part.detach().cpu().numpy()) for name, part in tensors.items()}
    return arrays | {
        "objective": ended.objective,
        "constraint": ended.constraint,
        "n_iter": ended.n_iter,
        "converged": ended.converged,
        "trace": np.stack(rounds.trace),
    }


def _rounds(problem: Problem[S], saved: SavedFit, device: torch.device) -> Rounds:
    """The inverse of ``_arrays``."""
    parts = saved.tensors
    ended = Solution(
        parts["prototypes"].to(device),
        parts["objective"].numpy(),
        parts["constraint"].numpy(),
        (),
        parts["n_iter"].numpy(),
        parts["converged"].numpy(),
        extras={name: parts[f"found.{name}"].to(device) for name in saved.description["found"]},
    )
    active = parts["active"]
    if len(active) < len(ended.objective):
        problem = problem.select(active.to(device))
    state = problem.resumed({k: v.to(device) for k, v in parts.items() if k.startswith("state.")})
    if set(ended.extras) != set(state.extras):
        raise Misfit(f"its extras should be {', '.join(state.extras) or 'nothing'}")
    trace = tuple(parts["trace"].numpy())
    iteration = int(saved.description["iteration"])
    return Rounds(iteration, state, active, parts["still"], parts["change"].to(device), ended, trace)
