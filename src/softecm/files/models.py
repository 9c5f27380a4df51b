"""Fitted models as files: safetensors with JSON metadata. A model is data; loading one runs no code.

Every fitted attribute is written as plain JSON, as a tensor, or as one of the library's own frozen values, named in a fixed
table. A file can't name anything else.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from softecm._version import __version__
from softecm.files.tensors import read_description, tensor_file
from softecm.files.values import Reader, Writer

if TYPE_CHECKING:
    from softecm.algorithms.base import EvidentialClusterer

FORMAT = "softecm.model"
FORMAT_VERSION = 1


def save_model(estimator: EvidentialClusterer, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator; the file appears whole or not at all.

    Of a fit on data in blocks, the partition stays where the data are and is not part of the file.
    """
    writer = Writer()
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


def _elsewhere(value: object) -> bool:
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


def _build(description: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], metric: Any) -> object:
    import softecm.algorithms as algorithms

    name = description["class"]
    if name not in algorithms.__all__:
        raise ValueError(f"the model's class {name!r} is unknown to softecm {__version__}. Use a newer version.")
    reader = Reader(tensors, metric)
    params = {k: reader.value(v) for k, v in description["params"].items()}
    cls = getattr(algorithms, name)
    known = set(cls().get_params(deep=False))
    estimator = cls(**{k: v for k, v in params.items() if k in known})
    for key, node in description["state"].items():
        if not isinstance(key, str) or key in known or key.startswith("__"):
            raise ValueError(f"attribute {key!r} can't be part of a model")
        setattr(estimator, key, reader.value(node))
    return estimator
