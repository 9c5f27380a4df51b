"""Encoded blocks put aside in a file and read back without a copy of it in memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from softecm.spaces.scattered import Block


class Scratch:
    """A temporary file of blocks (in ``TMPDIR``); it has no name, so that it is gone when the process is."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="softecm-", buffering=0)  # noqa: SIM115 -- closed by close()
        self._blocks: list[tuple[Block, list[tuple[int, str, tuple[int, ...]]]]] = []

    def add(self, block: Block) -> None:
        """Write the block's tensors; what else it holds stays here."""
        tensors: list[Tensor] = []
        shell = block._replace(objects=_emptied(block.objects, tensors), weights=_emptied(block.weights, tensors))
        places = []
        for tensor in tensors:
            array = tensor.contiguous().numpy()
            places.append((self._file.seek(0, 2), array.dtype.str, array.shape))
            _write_all(self._file, _bytes_of(array))
        self._blocks.append((shell, places))

    def read(self) -> Iterator[Block]:
        """All blocks in order."""
        for shell, places in self._blocks:
            tensors = iter([self._tensor(*place) for place in places])
            yield shell._replace(objects=_filled(shell.objects, tensors), weights=_filled(shell.weights, tensors))

    def _tensor(self, offset: int, dtype: str, shape: tuple[int, ...]) -> Tensor:
        array = np.empty(shape, dtype=dtype)
        if array.size:
            self._file.seek(offset)
            view = _bytes_of(array)
            done = 0
            while done < len(view):
                count = self._file.readinto(view[done:])  # type: ignore[attr-defined]
                if not count:
                    raise OSError("the scratch file ended early: was the temporary folder emptied?")
                done += count
        return torch.from_numpy(array)

    def close(self) -> None:
        """Give the room back."""
        self._file.close()


class _Place:
    """Stands for a tensor that was written."""


def _emptied(value: Any, tensors: list[Tensor]) -> Any:
    """The value with its tensors taken out, in order."""
    if isinstance(value, Tensor):
        tensors.append(value)
        return _Place()
    if isinstance(value, dict):
        return {k: _emptied(v, tensors) for k, v in value.items()}
    if (
        is_dataclass(value)
        and not isinstance(value, type)
        and any(_holds(getattr(value, f.name)) for f in fields(value))
    ):
        return replace(value, **{f.name: _emptied(getattr(value, f.name), tensors) for f in fields(value)})
    return value


def _filled(value: Any, tensors: Iterator[Tensor]) -> Any:
    """The inverse of ``_emptied``."""
    if isinstance(value, _Place):
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


def _holds(value: Any) -> bool:
    """Whether a field is, or stands for, a tensor."""
    return isinstance(value, Tensor | _Place | dict)


def _bytes_of(array: Any) -> memoryview:
    """The array's own memory."""
    return memoryview(array.reshape(-1).view(np.uint8)) if array.size else memoryview(b"")


def _write_all(file: Any, view: memoryview) -> None:
    done = 0
    while done < len(view):
        done += file.write(view[done:])
