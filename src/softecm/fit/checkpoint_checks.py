"""Validation of a checkpoint before a fit resumes from it.

``check_contents`` checks the file alone: its description, and arrays with consistent numbers of runs and iterations.
``check_state`` compares the algorithm's own arrays with a new state of the same problem.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm._checks import is_number, is_whole
from softecm.belief.focal import FocalSets
from softecm.files.expected import FINITE, Content, Misfit, Range, check_array, named
from softecm.fit.loop import Problem, RunState

Arrays = Mapping[str, NDArray[np.generic]]

PHASES = ("starts", "clusters", "sets")
#: The arrays of every checkpoint, those that define a size first: shape, kinds, range.
ARRAYS: dict[str, tuple[str, str, Range]] = {
    "objective": ("runs", "f", FINITE),
    "constraint": ("runs", "f", FINITE),
    "converged": ("runs", "b", FINITE),
    "n_iter": ("runs", "i", Range(0, below="rounds")),
    "active": ("active", "i", Range(0, below="runs")),
    "still": ("active", "i", Range(0)),
    "change": ("active", "f", Range(0, np.inf)),
    "trace": ("rounds runs", "f", FINITE),
}
GROWING = ("state.seen", "state.memory.")  # grow with every iteration
TOLERANCE = 1e-5  # of sums of masses


def check_contents(description: Mapping[str, object], arrays: Arrays, n_clusters: int) -> None:
    """Check a checkpoint's description and its common arrays."""
    phase, facts, iteration = (description.get(key) for key in ("phase", "facts", "iteration"))
    if phase not in PHASES:
        raise Misfit(f"its phase should be one of {', '.join(PHASES)}")
    if not is_whole(iteration) or not 0 <= iteration < 2**31:
        raise Misfit("its iteration should be a whole number")
    if not isinstance(facts, Mapping):
        raise Misfit("its facts should be values by name")
    _check_facts(phase, facts, n_clusters)
    extras = description.get("found")
    if not isinstance(extras, list) or not all(f"found.{name}" in arrays for name in extras):
        raise Misfit("its extras should be the names of arrays")
    content = Content(arrays, {"rounds": iteration + 1})
    for name in (*ARRAYS, "prototypes"):
        if name not in arrays:
            raise Misfit(f"{name} is missing")
    for name, (sizes, kinds, allowed) in ARRAYS.items():
        check_array(content, arrays[name], name, sizes, kinds, allowed)
        if kinds != "b" and name != "change" and arrays[name].dtype.itemsize != 8:
            raise Misfit(f"{name} holds {arrays[name].dtype} and should hold 64 bits per number")
    for name in ("prototypes", *(f"found.{name}" for name in extras)):
        _check_batch(content, name, arrays[name], "runs")
    for name, values in arrays.items():
        if name.startswith("state."):
            _check_batch(content, name, values, "active")
    active = np.asarray(arrays["active"])
    if (np.diff(active) <= 0).any():
        raise Misfit("active should hold different numbers of runs, in order")


def _check_facts(phase: str, facts: Mapping[str, object], n_clusters: int) -> None:
    """Check the results of earlier phases."""
    delta = facts.get({"clusters": "close", "sets": "delta"}.get(phase, ""))
    if delta is not None and (not is_number(delta) or not 0 < delta < 1e300):
        raise Misfit("its delta should be a positive number")
    beta = facts.get("beta", 2.0)
    if not is_number(beta) or not 1.0 < beta < 1e300:
        raise Misfit("its beta should be a number above 1")
    if phase == "sets":
        sets = facts["sets"]
        if not isinstance(sets, list) or list(map(list, FocalSets.of(n_clusters, sets).sets)) != sets:
            raise Misfit("its sets should be lists of clusters in order, each once")
    if phase == "clusters" or (phase == "sets" and "runs" in facts):
        _check_runs(facts.get("runs"))


def _check_runs(runs: object) -> None:
    """Check a table with one row per run."""

    def column(content: Content, values: object, where: str) -> None:
        if not isinstance(values, list) or not all(isinstance(v, bool | int | float) for v in values):
            raise Misfit(f"{where} should be a list of numbers")
        content.size("runs", len(values), where)

    named({}, rest=column, least=("objective",))(Content({}), runs, "runs")


def _check_batch(content: Content, name: str, values: NDArray[np.generic], lead: str) -> None:
    """Check an array whose first axis is the runs."""
    if not values.ndim:
        raise Misfit(f"{name} should have one entry per run")
    rest = " ".join(f"{name}.{k}" for k in range(1, values.ndim))
    finite = Range(0, np.inf) if name.endswith("change") else FINITE
    check_array(content, values, name, f"{lead} {rest}", "fi", finite)


def check_state(problem: Problem[Any], start: Tensor, tensors: Mapping[str, Tensor], n_objects: int) -> None:
    """Check that the algorithm's arrays have the names, types and shapes of a state begun at ``start``, a single run."""
    fresh: RunState = problem.select(torch.zeros(1, dtype=torch.int64, device=start.device)).begin(start)
    like = {f"found.{name}": part for name, part in fresh.extras.items()} | {"prototypes": fresh.prototypes}
    like |= fresh.checkpoint_tensors()
    own = {
        name: part for name, part in tensors.items() if name == "prototypes" or name.startswith(("state.", "found."))
    }
    for name, part in like.items():
        if name not in own:
            raise Misfit(f"{name} is missing")
        _check_like(name, own[name], part)
        _check_values(name, own[name], n_objects)
    for name, part in own.items():
        if name not in like:
            _check_grown(name, part, like)
    pairs = {kind: [name for name in own if name.startswith(f"state.memory.{kind}.")] for kind in ("steps", "changes")}
    if len(pairs["steps"]) != len(pairs["changes"]):
        raise Misfit("state.memory should hold a change for every step")


def _check_like(name: str, part: Tensor, like: Tensor) -> None:
    if part.dtype != like.dtype:
        raise Misfit(f"{name} holds {part.dtype} and should hold {like.dtype}".replace("torch.", ""))
    first = 2 if name.startswith(GROWING) else 1
    if part.ndim != like.ndim or part.shape[first:] != like.shape[first:]:
        raise Misfit(
            f"{name} has shape {tuple(part.shape)} and should have {('runs', *like.shape[1:])}".replace("'", "")
        )


def _check_values(name: str, part: Tensor, n_objects: int) -> None:
    """Check that object indices are in range and that masses are valid."""
    counts = not part.is_floating_point() or (name.endswith("prototypes") and part.ndim == 2)
    if counts and part.numel() and (float(part.min()) < 0 or float(part.max()) >= n_objects):
        raise Misfit(f"{name} should hold numbers of the {n_objects} objects")
    if counts and bool((part != part.round()).any()):
        raise Misfit(f"{name} should hold whole numbers")
    wrong = name.endswith("masses") and bool(((part.sum(-1) - 1.0).abs() > TOLERANCE).any() | (part < -TOLERANCE).any())
    if wrong:
        raise Misfit(f"{name} should not be negative and should add up to 1")


def _check_grown(name: str, part: Tensor, like: Mapping[str, Tensor]) -> None:
    """Check arrays absent at the beginning: steps remembered by a solver."""
    if not name.startswith("state.memory.") or "state.free" not in like:
        raise Misfit(f"{name} does not belong there")
    free = like["state.free"]
    if part.dtype != free.dtype or part.shape[1:] != free.shape[1:]:
        raise Misfit(f"{name} should have the shape of state.free")
