"""Serialization of values as JSON and tensors: plain ones, arrays, and the library's own, which are ``Savable``.

Files can't name other classes; reading one runs no code. The rules for fields are on their class (``SAVED``) and are
checked before anything is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import torch
from numpy.typing import NDArray

from softecm._errors import ReadError
from softecm.belief import CredalPartition, FocalSets
from softecm.belief.focal import MOST_SETS
from softecm.files.expected import (
    Check,
    Content,
    Misfit,
    Range,
    array,
    count,
    listed,
    mapped,
    matches,
    named,
    named_array,
    numeric_type,
    text,
)

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Node = dict[str, Any]  # one key, the kind of the value, and its JSON form
Plain = bool | int | float | str | None

#: The kinds of nodes for values of other libraries.
KINDS: dict[str, tuple[type, ...]] = {
    "value": (type(None), bool, int, float, str, np.generic),
    "dtype": (torch.dtype,),
    "torch": (torch.Tensor,),
    "array": (np.ndarray,),
    "list": (list,),
    "tuple": (tuple,),
    "dict": (Mapping,),
}

#: The library's own classes that a file may name.
CLASSES: dict[str, type[DataclassInstance]] = {"FocalSets": FocalSets, "CredalPartition": CredalPartition}


class Savable:
    """A frozen dataclass of the library that model files may hold: subclasses are registered.

    ``SAVED`` has the rules of fields that the constructor does not check itself; fields that define sizes come first.
    ``class Mine(Savable, savable=False)`` is not registered: it holds user code, or exists only during a fit.
    """

    SAVED: ClassVar[Mapping[str, Check]] = {}
    is_registered: ClassVar[bool] = False  # never for a user's own class

    def __init_subclass__(cls, *, savable: bool = True, **options: object) -> None:
        super().__init_subclass__(**options)
        cls.is_registered = savable and cls.__module__.startswith("softecm.")
        if cls.is_registered:
            assert cls.__name__ not in CLASSES, f"{cls.__name__} is the name of another value that files hold"
            CLASSES[cls.__name__] = cast("type[DataclassInstance]", cls)


def own(base: type) -> Check:
    """Check a value of a registered subclass of ``base``, with all its fields."""

    def check(content: Content, node: object, where: str) -> None:
        cls = CLASSES.get(str(node["own"])) if isinstance(node, Mapping) and set(node) == {"own", "fields"} else None
        if cls is None or not issubclass(cls, base):
            raise Misfit(f"{where} should be a {base.__name__}")
        declared = {f.name: f for f in fields(cls)}
        saved = saved_fields(cls)
        checks = saved | {name: anything for name in declared if name not in saved}
        needed = [name for name, f in declared.items() if f.default is MISSING and f.default_factory is MISSING]
        named(checks, least=needed)(content, cast("Node", node)["fields"], where)

    return check


def saved_fields(cls: type) -> dict[str, Check]:
    """Return the rules of a class's fields; those of ``belief``, which does not depend on files, are here."""
    if cls is FocalSets:
        cluster_set = listed(count(least=0, below="c"), least=1, different=True)
        return {
            "n_clusters": count(size="c", most=MOST_SETS),
            "sets": listed(cluster_set, size="f", different=True),
            "names": listed(text()),
        }
    if cls is CredalPartition:
        return {"focal_sets": own(FocalSets), "masses": array("n f+1", allowed=Range(-1e-12, 1 + 1e-6))}
    return dict(getattr(cls, "SAVED", {}))


def anything(content: Content, node: object, where: str) -> None:
    """Check any serializable value by itself."""
    if not isinstance(node, Mapping) or (len(node) != 1 and "own" not in node):
        raise Misfit(f"{where} is not a value")
    if "own" in node:
        return own(object)(Content(content.tensors), node, where)
    ((kind, inside),) = node.items()
    if kind in ("list", "tuple", "objects"):
        return listed(anything, kind=kind)(content, node, where)
    if kind == "dict":
        return mapped(anything)(content, node, where)
    if kind in ("torch", "array"):
        named_array(content, node, where)
        return None
    if kind == "dtype":
        return numeric_type(content, node, where)
    if not (kind == "value" and matches(inside, Plain)) and kind != "metric":
        raise Misfit(f"{where} is not a value")
    return None


def by_itself(check: Check) -> Check:
    """Check a value whose sizes are independent of others."""
    return lambda content, node, where: check(Content(content.tensors), node, where)


class Writer:
    """Converts values to JSON nodes, collecting arrays."""

    def __init__(self) -> None:
        self.tensors: dict[str, NDArray[np.generic]] = {}

    def node(self, value: Any, path: str, *, lenient: bool = False) -> Node:
        """Return a value's node; ``path`` names its tensors, ``lenient`` drops values that can't be serialized."""
        kind = next((name for name, kinds in KINDS.items() if isinstance(value, kinds)), "")
        if kind in ("list", "tuple"):
            return {kind: [self.node(v, f"{path}.{i}", lenient=lenient) for i, v in enumerate(value)]}
        if kind == "dict":
            return {kind: {str(k): self.node(v, f"{path}.{k}", lenient=lenient) for k, v in value.items()}}
        if kind == "array" and value.dtype.kind in "OUS":
            return {"objects": [self.node(v, f"{path}.{i}") for i, v in enumerate(value.tolist())]}
        if kind in ("torch", "array"):
            tensor = value if kind == "array" else value.detach().cpu().numpy()
            self.tensors[path] = np.ascontiguousarray(tensor)
            return {kind: path}
        if kind == "dtype":
            return {kind: str(value).rsplit(".", 1)[-1]}
        if kind == "value":
            return {kind: value.item() if isinstance(value, np.generic) else value}
        return self._own(value, path, lenient)

    def _own(self, value: object, path: str, lenient: bool) -> Node:
        kind = type(value).__name__
        if CLASSES.get(kind) is type(value):
            names = [f.name for f in fields(CLASSES[kind])]
            return {"own": kind, "fields": {name: self.node(getattr(value, name), f"{path}.{name}") for name in names}}
        if hasattr(value, "pairwise") or callable(value):  # user code: must be given again
            return {"metric": kind}
        if lenient:  # a parameter such as a RandomState, not needed by the fitted model
            return {"value": None}
        raise TypeError(f"{path} holds a {kind}, which a model file can't; this is a bug in softecm.")


class ValueReader:
    """Converts nodes to values."""

    def __init__(self, tensors: Mapping[str, NDArray[np.generic]], metric: object = None) -> None:
        self.tensors = tensors
        self.metric = metric
        self.kinds: dict[str, Callable[[Any], object]] = {
            "value": lambda v: v,  # plain, checked by `check_description`
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
        """Return the value of a node."""
        if "own" in node:
            return CLASSES[node["own"]](**{k: self.value(v) for k, v in node["fields"].items()})
        ((kind, content),) = node.items()
        return self.kinds[kind](content)

    def _users_metric(self, name: str) -> object:
        if self.metric is None:
            raise ReadError(
                f"the model was fitted with a custom metric ({name}), and a model file holds no code. "
                "Pass it again: load_model(path, metric=...)."
            )
        return self.metric


def _objects(values: list[object]) -> NDArray[np.object_]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
