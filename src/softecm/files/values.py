"""Values as JSON and tensors, and back: plain ones, arrays, and the library's own, named in one list.

A file can't name anything that is not on the list; reading one runs no code of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from softecm._errors import ReadError

Node = dict[str, Any]  # one key, the kind of the value, and what JSON keeps of it
Plain = bool | int | float | str | None

#: The modules whose frozen values a file may name, and which of them; None: all dataclasses the module shows.
OWN: dict[str, tuple[str, ...] | None] = {
    "softecm.belief": ("FocalSets", "CredalPartition"),
    "softecm.optim": ("GradientDescent", "Descent", "Closed"),
    "softecm.spaces": (
        "RealVectors",
        "Table",
        "TableOptions",
        "NumberColumn",
        "CategoryColumn",
        "TimeSeries",
        "States",
        "Views",
    ),
    "softecm.distances": None,
    "softecm.spaces.dissimilarities": ("Dissimilarities",),
    "softecm.distances.estimator_metrics": (
        "SetQuadratic",
        "Anchored",
        "WeightedSquares",
        "AffineDistance",
        "MedoidMiddles",
        "MedoidMixture",
        "ExpectedMismatches",
    ),
    "softecm.objective.equations": ("PowerMasses",),
    "softecm.fit.learning": ("Past",),
    "softecm.fit.model": ("PrototypeModel",),
}
NEVER = ("FunctionMetric",)  # holds a user's code


@cache
def own_classes() -> dict[str, type]:
    """The library's own values that a file may name."""
    found: dict[str, type] = {}
    for module, names in OWN.items():
        shown = vars(import_module(module))
        values = [shown[name] for name in names] if names is not None else list(shown.values())
        found |= {v.__name__: v for v in values if isinstance(v, type) and is_dataclass(v)}
    return {name: value for name, value in found.items() if name not in NEVER}


class Writer:
    """Turns values into JSON nodes, putting arrays aside."""

    def __init__(self) -> None:
        self.tensors: dict[str, NDArray[np.generic]] = {}
        self.classes = own_classes()

    def node(self, value: object, path: str, *, lenient: bool = False) -> Node:
        """A value; ``path`` names its tensors, ``lenient`` drops what a file can't hold."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | float | str):
            return {"value": value}
        if isinstance(value, torch.dtype):
            return {"dtype": str(value).rsplit(".", 1)[-1]}
        if isinstance(value, torch.Tensor):
            self.tensors[path] = value.detach().cpu().contiguous().numpy()
            return {"torch": path}
        if isinstance(value, np.ndarray):
            return self._array(value, path)
        if isinstance(value, list | tuple):
            kind = "list" if isinstance(value, list) else "tuple"
            return {kind: [self.node(v, f"{path}.{i}", lenient=lenient) for i, v in enumerate(value)]}
        if isinstance(value, Mapping):
            return {"dict": {str(k): self.node(v, f"{path}.{k}", lenient=lenient) for k, v in value.items()}}
        return self._own(value, path, lenient)

    def _array(self, value: NDArray[np.generic], path: str) -> Node:
        if value.dtype.kind in "OUS":
            return {"objects": [self.node(v, f"{path}.{i}") for i, v in enumerate(value.tolist())]}
        self.tensors[path] = np.ascontiguousarray(value)
        return {"array": path}

    def _own(self, value: object, path: str, lenient: bool) -> Node:
        from softecm.distances import SemiMetric

        kind = type(value).__name__
        if self.classes.get(kind) is type(value):
            names = [f.name for f in fields(value)]  # type: ignore[arg-type]
            return {"own": kind, "fields": {name: self.node(getattr(value, name), f"{path}.{name}") for name in names}}
        if isinstance(value, SemiMetric) or callable(value):
            return {"metric": kind}
        if lenient:  # a parameter such as a RandomState: the fitted model does not need it
            return {"value": None}
        raise TypeError(f"{path} holds a {kind}, which a model file can't; this is a defect of softecm.")


class Reader:
    """The way back."""

    def __init__(self, tensors: Mapping[str, NDArray[np.generic]], metric: object = None) -> None:
        self.tensors = tensors
        self.metric = metric
        self.classes = own_classes()
        self.kinds: dict[str, Callable[[Any], object]] = {
            "value": _plain,
            "dtype": lambda v: {"float64": torch.float64, "float32": torch.float32}[v],
            "torch": lambda v: torch.from_numpy(np.array(self.tensors[v])),
            "array": lambda v: np.array(self.tensors[v]),
            "objects": lambda v: _objects([self.value(item) for item in v]),
            "list": lambda v: [self.value(item) for item in v],
            "tuple": lambda v: tuple(self.value(item) for item in v),
            "dict": lambda v: {str(k): self.value(item) for k, item in v.items()},
            "metric": self._users_metric,
        }

    def value(self, node: Node) -> object:
        """The value of a node."""
        if "own" in node:
            cls = self.classes[node["own"]]
            return cls(**{k: self.value(v) for k, v in node["fields"].items()})
        ((kind, content),) = node.items()
        return self.kinds[kind](content)

    def _users_metric(self, name: str) -> object:
        from softecm.distances.registry import resolve_metric

        if self.metric is None:
            raise ReadError(
                f"the model was fitted with a metric of its user's own ({name}), and a model file holds no code. "
                "Give it again: load_model(path, metric=...)."
            )
        return resolve_metric(self.metric, None)


def _plain(value: Plain) -> Plain:
    if value is not None and not isinstance(value, bool | int | float | str):
        raise TypeError(f"{value!r} is not a plain value")
    return value


def _objects(values: list[object]) -> NDArray[np.object_]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
