"""Fitted models as files: safetensors with JSON metadata. A model is data; loading one runs no code.

Every fitted attribute is written as plain JSON, as a tensor, or as one of the library's own frozen values, from a fixed
list of classes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from softecm._version import __version__
from softecm.files.expected import Check, Content, Misfit, named
from softecm.files.tensors import Tensors, tensor_file
from softecm.files.values import Writer, anything

if TYPE_CHECKING:
    from softecm.algorithms.base import EvidentialClusterer

FORMAT = "softecm.model"
FORMAT_VERSION = 1


def save_model(estimator: EvidentialClusterer, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator atomically.

    After a fit on data in blocks, the partition stays with the data and is not part of the file.
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


def check_description(description: Mapping[str, object], tensors: Tensors, cls: type[EvidentialClusterer]) -> None:
    """Validate a whole file by the rules of its classes, before loading; ``cls`` is the estimator's."""

    def rest(content: Content, node: object, where: str) -> None:
        name = where.rsplit(".", 1)[-1]
        if hasattr(cls, name) or name.startswith("__"):
            raise Misfit(f"{where} does not belong there")
        anything(content, node, where)

    parts: dict[str, Check] = {
        "params": named({}, rest=anything),
        "state": named(cls.SAVED, rest=rest, least=cls.REQUIRED),
    }
    named(parts, rest=lambda *_: None, least=parts)(Content(tensors), description, "")
