"""Encoded blocks put aside in a file and read back without a copy of it in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import torch
from torch import Tensor

from softecm.files.scratch import Place, ScratchFile
from softecm.spaces.scattered import Block


class Scratch:
    """A temporary file of blocks; it is gone when the process is."""

    def __init__(self) -> None:
        self._file = ScratchFile()
        self._blocks: list[tuple[Block, list[Place]]] = []

    def add(self, block: Block) -> None:
        """Write the block's tensors; what else it holds stays here."""
        tensors: list[Tensor] = []
        shell = block._replace(objects=_emptied(block.objects, tensors), weights=_emptied(block.weights, tensors))
        self._blocks.append((shell, [self._file.put(tensor.numpy()) for tensor in tensors]))

    def read(self) -> Iterator[Block]:
        """All blocks in order."""
        for shell, kept in self._blocks:
            tensors = iter([torch.from_numpy(self._file.get(place)) for place in kept])
            yield shell._replace(objects=_filled(shell.objects, tensors), weights=_filled(shell.weights, tensors))

    def close(self) -> None:
        """Give the room back."""
        self._file.close()


class _Taken:
    """Stands for a tensor that was written."""


def _emptied(value: object, tensors: list[Tensor]) -> Any:
    """The value with its tensors taken out, in order."""
    if isinstance(value, Tensor):
        tensors.append(value)
        return _Taken()
    if isinstance(value, dict):
        return {k: _emptied(v, tensors) for k, v in value.items()}
    if (
        is_dataclass(value)
        and not isinstance(value, type)
        and any(_holds(getattr(value, f.name)) for f in fields(value))
    ):
        return replace(value, **{f.name: _emptied(getattr(value, f.name), tensors) for f in fields(value)})
    return value


def _filled(value: object, tensors: Iterator[Tensor]) -> Any:
    """The inverse of ``_emptied``."""
    if isinstance(value, _Taken):
        return next(tensors)
    if isinstance(value, dict):
        return {k: _filled(v, tensors) for k, v in value.items()}
    if (
        is_dataclass(value)
        and not isinstance(value, type)
        and any(_holds(getattr(value, f.name)) for f in fields(value))
    ):
        return replace(value, **{f.name: _filled(getattr(value, f.name), tensors) for f in fields(value)})
    return value


def _holds(value: object) -> bool:
    """Whether a field is, or stands for, a tensor."""
    return isinstance(value, Tensor | _Taken | dict)
