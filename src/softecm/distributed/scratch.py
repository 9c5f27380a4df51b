"""Encoded blocks in a temporary file, read back one by one, without a copy of the file in memory."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm.spaces.scattered import Block


class Scratch:
    """A temporary file of blocks that disappears with the process."""

    def __init__(self) -> None:
        self._file = ScratchFile()
        self._blocks: list[Block] = []

    def add(self, block: Block) -> None:
        """Write the block's tensors; everything else stays in memory."""
        self._blocks.append(_replaced(block, lambda tensor: self._file.put(tensor.numpy())))

    def read(self) -> Iterator[Block]:
        """Yield all blocks in order."""
        for block in self._blocks:
            yield _replaced(block, lambda place: torch.from_numpy(self._file.get(place)))

    def close(self) -> None:
        """Release the space."""
        self._file.close()


def _replaced(block: Block, swap: Callable[[Any], object]) -> Block:
    """Return a block with its tensors replaced, by their places in the file or vice versa."""

    def walk(value: object) -> Any:
        if isinstance(value, Tensor | Place):
            return swap(value)
        if isinstance(value, dict):
            return {name: walk(part) for name, part in value.items()}
        if is_dataclass(value) and not isinstance(value, type):
            parts = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
            walked = {name: walk(part) for name, part in parts.items()}
            if any(walked[name] is not part for name, part in parts.items()):
                return replace(value, **walked)
        return value

    return block._replace(objects=walk(block.objects), weights=walk(block.weights))


class Place(NamedTuple):
    """The position of an array in the file."""

    offset: int
    dtype: str
    shape: tuple[int, ...]


class ScratchFile:
    """A temporary file (in ``TMPDIR``) of arrays; it has no name, so it disappears with the process.

    Examples
    --------
    >>> file = ScratchFile()
    >>> place = file.put(np.array([1.0, 2.0]))
    >>> file.get(place).tolist()
    [1.0, 2.0]
    >>> file.close()
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="softecm-", buffering=0)  # noqa: SIM115 -- closed by close()

    def put(self, array: NDArray[np.generic]) -> Place:
        """Append an array."""
        array = np.asarray(array, order="C")
        place = Place(self._file.seek(0, 2), array.dtype.str, array.shape)
        view, done = _bytes_of(array), 0
        while done < len(view):
            done += self._file.write(view[done:])
        return place

    def get(self, place: Place) -> NDArray[np.generic]:
        """Read an array back, without any other copy."""
        array: NDArray[np.generic] = np.empty(place.shape, dtype=place.dtype)
        view, done = _bytes_of(array), 0
        self._file.seek(place.offset)
        while done < len(view):
            count = self._file.readinto(view[done:])
            if not count:
                raise OSError("the scratch file is incomplete: was the temporary folder emptied? Fit again.")
            done += count
        return array

    def close(self) -> None:
        """Release the space."""
        self._file.close()


def _bytes_of(array: NDArray[np.generic]) -> memoryview:
    """Return the array's own memory."""
    return array.reshape(-1).view(np.uint8).data if array.size else memoryview(b"")
