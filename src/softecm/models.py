"""Fitted models as files: safetensors with JSON metadata. A model is data; loading one runs no code.

Every fitted attribute is written as plain JSON, as a tensor, or as one of the library's own frozen values, named in a fixed
table. A file can't name anything else.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch

from softecm._version import __version__
from softecm.belief import CredalPartition, FocalSets

FORMAT = "softecm.model"
FORMAT_VERSION = 1


def save_model(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator; the file appears whole or not at all.

    Of a fit on data in blocks, the partition stays where the data are and is not part of the file.
    """
    writer = _Writer()
    params = {k: v for k, v in estimator.get_params(deep=False).items() if k != "callback"}
    state = {k: v for k, v in vars(estimator).items() if k not in params and k != "callback" and not _elsewhere(v)}
    description = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "softecm_version": __version__,
        "class": type(estimator).__name__,
        "params": {k: writer.node(v, f"params.{k}", lenient=True) for k, v in params.items()},
        "state": {k: writer.node(v, f"state.{k}") for k, v in state.items()},
    }
    tensor_file(path, json.dumps(description), writer.tensors)


def tensor_file(path: str | os.PathLike[str], text: str, tensors: Mapping[str, Any]) -> None:
    """Write tensors with a description and a checksum of both; the file appears whole or not at all."""
    from safetensors.numpy import save

    data = save(dict(tensors), metadata={"softecm": text, "sha256": _digest(text, tensors)})
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _elsewhere(value: Any) -> bool:
    """Whether a value stands for data in blocks."""
    return type(value).__module__.startswith(("dask.", "softecm.distributed."))


def load_model(path: str | os.PathLike[str], *, metric: Any = None) -> Any:
    """Read a fitted estimator.

    Parameters
    ----------
    path : the file ``save`` wrote
    metric : SemiMetric or callable, optional
        Needed where the model was fitted with a metric of one's own: code is not stored in a model file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from softecm import ECM, load_model
    >>> from softecm.datasets import load_diamond
    >>> X = load_diamond().data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "model.safetensors"
    ...     ECM(2, delta=5.0, random_state=0).fit(X).save(file)
    ...     load_model(file).predict(X[:3])
    array([0, 0, 0])
    """
    description, tensors = read_description(path, FORMAT, FORMAT_VERSION, "model")
    try:
        return _build(description, tensors, metric)
    except (KeyError, TypeError, AttributeError, IndexError, RuntimeError) as error:
        raise ValueError(f"{path} is damaged: its parts don't fit together ({error}). Save the model again.") from error


def read_description(
    path: str | os.PathLike[str], kind: str, reads: int, what: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Description and tensors of a file of this kind and version, checked against its checksum."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(os.fspath(path), framework="np") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise
    except (SafetensorError, OSError, ValueError, TypeError, KeyError, OverflowError, MemoryError) as error:
        raise ValueError(f"{path} is not a {what} file, or is cut short ({error}). Save the {what} again.") from error
    try:
        description = json.loads(metadata["softecm"])
    except (KeyError, ValueError, RecursionError) as error:
        raise ValueError(
            f"{path} was not written by softecm: it has no description. Use the file save() wrote."
        ) from error
    if not isinstance(description, dict) or description.get("format") != kind:
        source = "an estimator's save()" if what == "model" else "a fit with checkpoint="
        raise ValueError(f"{path} is not a softecm {what}. Use the file {source} wrote.")
    version = description.get("format_version")
    if version == reads and metadata.get("sha256") != _digest(metadata["softecm"], tensors):
        raise ValueError(f"{path} is damaged: its content does not match its checksum. Copy or save the {what} again.")
    if version != reads:
        raise ValueError(
            f"{path} has {what} format {version!r}, and this version of softecm ({__version__}) reads {reads}. "
            f"It was written by softecm {description.get('softecm_version')!r}: use that version, or fit again."
        )
    return description, tensors


def _digest(text: str, tensors: Mapping[str, Any]) -> str:
    """One number for the whole content, so that a file with any bit changed is refused."""
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        value = np.ascontiguousarray(tensors[name])
        digest.update(f"{name} {value.dtype} {value.shape}".encode())
        digest.update(value.tobytes())
    return digest.hexdigest()


def _build(description: dict[str, Any], tensors: Mapping[str, Any], metric: Any) -> Any:
    import softecm.algorithms as algorithms

    name = description["class"]
    if name not in algorithms.__all__:
        raise ValueError(f"the model's class {name!r} is unknown to softecm {__version__}. Use a newer version.")
    reader = _Reader(tensors, metric)
    params = {k: reader.value(v) for k, v in description["params"].items()}
    cls = getattr(algorithms, name)
    known = set(cls().get_params(deep=False))
    estimator = cls(**{k: v for k, v in params.items() if k in known})
    for key, node in description["state"].items():
        if not isinstance(key, str) or key in known or key.startswith("__"):
            raise ValueError(f"attribute {key!r} can't be part of a model")
        setattr(estimator, key, reader.value(node))
    return estimator


def _classes() -> dict[str, type]:
    """The library's own values that a file may name."""
    from softecm import distances, spaces
    from softecm.distances.affine import AffineDistance
    from softecm.distances.medoid_mixture import MedoidMixture
    from softecm.distances.mismatches import ExpectedMismatches
    from softecm.distances.set_quadratic import SetQuadratic
    from softecm.fit.model import PrototypeModel
    from softecm.optim import Closed, Descent, GradientDescent

    values: list[type] = [FocalSets, CredalPartition, PrototypeModel, SetQuadratic, GradientDescent, Descent, Closed]
    values += [v for v in vars(spaces).values() if isinstance(v, type)]
    values += [v for v in vars(distances).values() if isinstance(v, type)]
    values += [AffineDistance, MedoidMixture, ExpectedMismatches]
    return {v.__name__: v for v in values if hasattr(v, "__dataclass_fields__") and v is not distances.FunctionMetric}


class _Writer:
    """Turns values into JSON nodes, putting arrays aside."""

    def __init__(self) -> None:
        self.tensors: dict[str, Any] = {}
        self.classes = _classes()

    def node(self, value: Any, path: str, *, lenient: bool = False) -> Any:
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
            if value.dtype.kind in "OUS":
                return {"objects": [self.node(v, f"{path}.{i}") for i, v in enumerate(value.tolist())]}
            self.tensors[path] = np.ascontiguousarray(value)
            return {"array": path}
        if isinstance(value, list | tuple):
            kind = "list" if isinstance(value, list) else "tuple"
            return {kind: [self.node(v, f"{path}.{i}", lenient=lenient) for i, v in enumerate(value)]}
        if isinstance(value, Mapping):
            return {"dict": {str(k): self.node(v, f"{path}.{k}", lenient=lenient) for k, v in value.items()}}
        return self._own(value, path, lenient)

    def _own(self, value: Any, path: str, lenient: bool) -> Any:
        from softecm.distances import SemiMetric

        kind: str = type(value).__name__
        if self.classes.get(kind) is type(value):
            names = [f.name for f in fields(value)]  # type: ignore[arg-type]
            parts = {name: self.node(getattr(value, name), f"{path}.{name}") for name in names}
            return {"own": kind, "fields": parts}
        if isinstance(value, SemiMetric) or callable(value):
            return {"metric": kind}
        if lenient:  # a parameter such as a RandomState: the fitted model does not need it
            return {"value": None}
        raise TypeError(f"{path} holds a {kind}, which a model file can't; this is a defect of softecm.")


class _Reader:
    """The way back."""

    def __init__(self, tensors: Mapping[str, Any], metric: Any) -> None:
        self.tensors = tensors
        self.metric = metric
        self.classes = _classes()
        self.kinds: dict[str, Callable[[Any], Any]] = {
            "value": self._plain,
            "dtype": lambda v: {"float64": torch.float64, "float32": torch.float32}[v],
            "torch": lambda v: torch.from_numpy(np.array(self.tensors[v])),
            "array": lambda v: np.array(self.tensors[v]),
            "objects": lambda v: self._objects([self.value(item) for item in v]),
            "list": lambda v: [self.value(item) for item in v],
            "tuple": lambda v: tuple(self.value(item) for item in v),
            "dict": lambda v: {str(k): self.value(item) for k, item in v.items()},
            "metric": self._users_metric,
        }

    def value(self, node: Any) -> Any:
        if "own" in node:
            cls = self.classes[node["own"]]
            return cls(**{k: self.value(v) for k, v in node["fields"].items()})
        ((kind, content),) = node.items()
        return self.kinds[kind](content)

    @staticmethod
    def _plain(value: Any) -> Any:
        if value is not None and not isinstance(value, bool | int | float | str):
            raise TypeError(f"{value!r} is not a plain value")
        return value

    @staticmethod
    def _objects(values: list[Any]) -> Any:
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array

    def _users_metric(self, name: str) -> Any:
        from softecm.distances.registry import resolve_metric

        if self.metric is None:
            raise ValueError(
                f"the model was fitted with a metric of its user's own ({name}), and a model file holds no code. "
                "Give it again: load_model(path, metric=...)."
            )
        return resolve_metric(self.metric, None)
