"""The one gate before compiled code: arrays of another type, shape or layout than a kernel indexes never reach it.

Kernels trust their arguments' sizes; this is where they are held to them, once a call. A few microseconds a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Kind = TypeVar("Kind", bound=np.generic)
Kinds: TypeAlias = frozenset[object]  # dtypes

FLOAT64: Kinds = frozenset({np.dtype(np.float64)})
REAL: Kinds = frozenset({np.dtype(np.float32), np.dtype(np.float64)})
INDEX: Kinds = frozenset({np.dtype(np.int64)})
CODE: Kinds = frozenset({np.dtype(np.uint8), np.dtype(np.int32), np.dtype(np.int64)})
TRUTH: Kinds = frozenset({np.dtype(np.bool_)})


def kind(array: NDArray[np.generic]) -> int:
    """What an array holds, as C kernels are told (``native/common.h``): its numbers' bytes, negative for whole ones."""
    return array.itemsize if array.dtype.kind == "f" else -array.itemsize


def expect(name: str, array: NDArray[Kind], kinds: Kinds, shape: tuple[int, ...]) -> NDArray[Kind]:
    """The array, contiguous; TypeError or ValueError unless it holds such numbers in such a shape."""
    if array.dtype not in kinds or array.shape != shape:
        _refuse(name, array.dtype, array.shape, kinds, shape)
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def expect_writable(name: str, array: NDArray[np.generic], kinds: Kinds, shape: tuple[int, ...]) -> None:
    """TypeError or ValueError unless a kernel can write into the array in place."""
    if array.dtype not in kinds or array.shape != shape:
        _refuse(name, array.dtype, array.shape, kinds, shape)
    if not (array.flags.c_contiguous and array.flags.writeable):
        raise ValueError(f"{name} must be writable and contiguous: it is filled in place. Give a copy of it.")


def expect_within(name: str, index: NDArray[np.integer], size: int) -> None:
    """ValueError unless all indices lie between 0 and ``size`` - 1."""
    if index.size and not (int(index.min()) >= 0 and int(index.max()) < size):
        raise ValueError(
            f"{name} must lie between 0 and {size - 1}; got {int(index.min())} to {int(index.max())}. They belong to other "
            "data, or have been damaged."
        )


def expect_rows(name: str, starts: NDArray[np.int64], rows: int, entries: int) -> NDArray[np.int64]:
    """Where each of ``rows`` rows begins among ``entries`` entries, and the end of the last; ValueError unless so."""
    starts = expect(name, starts, INDEX, (rows + 1,))
    if starts[0] != 0 or starts[-1] != entries or (rows and int(np.diff(starts).min()) < 0):
        raise ValueError(f"{name} must rise from 0 to {entries}; got {int(starts[0])} to {int(starts[-1])}.")
    return starts


def expect_on_device(name: str, tensor: Tensor, device: torch.device, shape: Sequence[int]) -> Tensor:
    """The tensor as contiguous doubles; ValueError unless it lies on the device in such a shape."""
    if tensor.device != device or tuple(tensor.shape) != tuple(shape):
        raise ValueError(
            f"{name} must have shape {tuple(shape)} on {device}; got {tuple(tensor.shape)} on {tensor.device}. "
            "The data have other columns than those of the fit, or the model has been damaged."
        )
    return tensor.double().contiguous()


def _refuse(name: str, dtype: object, found: tuple[int, ...], kinds: Kinds, shape: tuple[int, ...]) -> None:
    if dtype not in kinds:
        raise TypeError(f"{name} must hold {' or '.join(sorted(map(str, kinds)))}; got {dtype}. Convert it first.")
    raise ValueError(
        f"{name} must have shape {shape}; got {found}. The data have other columns or rows than those of the fit, or the "
        "model has been damaged."
    )
