"""Loading of fitted models, which :mod:`softecm.files.models` writes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

import softecm.algorithms as algorithms
from softecm._errors import NotThere, ReadError, shown
from softecm._version import __version__
from softecm.algorithms.base import EvidentialClusterer
from softecm.distances import resolve_metric
from softecm.files.expected import Misfit
from softecm.files.models import FORMAT, FORMAT_VERSION, check_description, save_model
from softecm.files.tensors import WRITERS, Tensors, read_description, tensor_file
from softecm.files.values import ValueReader

__all__ = ["FORMAT", "FORMAT_VERSION", "load_model", "read_description", "save_model", "tensor_file"]

SAVES = WRITERS["model"]


def load_model(path: str | os.PathLike[str], *, metric: object = None) -> Any:
    """Load a fitted estimator.

    Parameters
    ----------
    path : a file written by ``save``, or a folder written by ``softecm cluster``
    metric : SemiMetric or callable, optional
        Required if the model was fitted with a user-defined metric: code is not stored in a model file.

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
    path = _file_of(path)
    description, tensors = read_description(path, FORMAT, FORMAT_VERSION, "model")
    name = description.get("class")
    if not isinstance(name, str) or name not in algorithms.__all__:
        raise ReadError(
            f"{path} holds a model of class {shown(name)}, unknown to softecm {__version__}. Use a newer version."
        )
    try:
        check_description(description, tensors, getattr(algorithms, name))
        estimator = _build(description, tensors, None if metric is None else resolve_metric(metric, None))
        estimator._check_parts()
    except ReadError as error:
        raise ReadError(f"{path}: {error}") from error
    except Misfit as error:
        raise ReadError(f"{path} is damaged: {error}. Save the model again.") from error
    except (LookupError, TypeError, ValueError, AttributeError, RuntimeError, ArithmeticError, MemoryError) as error:
        raise ReadError(
            f"{path} is damaged: its parts don't fit together ({shown(str(error))}). Save the model again."
        ) from error
    return estimator


def _file_of(path: str | os.PathLike[str]) -> str:
    """Return the path of the model file, possibly in a results folder."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must name a file; got {path!r} ({type(path).__name__}). {SAVES}")
    if not os.path.isdir(path):
        return os.fspath(path)
    inside = os.path.join(path, "model.safetensors")
    if not os.path.exists(inside):
        raise NotThere(f"{path} is a folder without a model.safetensors: give a model file. {SAVES}")
    return inside


def _build(description: Mapping[str, Any], tensors: Tensors, metric: object) -> EvidentialClusterer:
    reader = ValueReader(tensors, metric)
    params = {k: reader.value(v) for k, v in description["params"].items()}
    cls = getattr(algorithms, description["class"])
    known = set(cls().get_params(deep=False))
    estimator: EvidentialClusterer = cls(**{k: v for k, v in params.items() if k in known})
    for key, node in description["state"].items():
        if key in known:
            raise Misfit(f"state.{key} does not belong there")
        setattr(estimator, key, reader.value(node))
    ids = getattr(estimator, "_ids", None)
    if ids is not None and hasattr(estimator, "partition_"):
        if not isinstance(ids, np.ndarray) or ids.shape != (len(estimator.partition_),):
            raise Misfit("state._ids does not name its objects")
        partition = estimator.partition_
        estimator.partition_ = partition._trusted(partition.masses, partition.focal_sets, ids)
    return estimator
