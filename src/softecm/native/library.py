"""The compiled kernels as Python functions: loaded once, for the present processor, and called through ctypes.

A kernel is declared next to the code that calls it::

    _nearest = function("nearest", Tasks, Array, Int, ...)

Arrays are passed as addresses, None as a null pointer. Kernels don't check sizes: ``expect`` is the only validation,
and rejects arrays of another type, shape or layout than a kernel indexes.

``share_out`` calls a kernel on several threads of one pool. Each takes tasks from a counter until none are left: the
result is the same for any number of threads, even if helpers start late. The calling thread works too.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from softecm.native import build

if TYPE_CHECKING:
    import torch
    from torch import Tensor

_own = threading.local()  # the choice of `set_threads`, for the calling thread
_pool: ThreadPoolExecutor | None = None
_lock = threading.Lock()
MOST = 256  # maximum number of threads in the pool


def available() -> int:
    """Return the cores available to this process, limited by ``OMP_NUM_THREADS``, which process pools set for workers."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(cores, int(limit))) if limit.isdigit() else cores


def get_threads(most: int | None = None) -> int:
    """Return how many threads a kernel called from this thread may use; at most ``most`` unless set explicitly."""
    chosen: int | None = getattr(_own, "count", None)
    if chosen is not None:
        return chosen
    return available() if most is None else min(most, available())


def set_threads(count: int | None) -> int | None:
    """Set that number, None for all available; return the previous setting."""
    before: int | None = getattr(_own, "count", None)
    _own.count = None if count is None else max(1, min(count, MOST))
    return before


def share_out(kernel: Callable[..., object], large: bool, *arguments: Any, threads: int | None = None) -> None:
    """Call a kernel whose first parameter is the counter of tasks, on several (or ``threads``) threads if ``large``."""
    counter = ctypes.c_int64(0)
    helpers = (threads or get_threads()) - 1 if large else 0
    if helpers < 1:
        kernel(counter, *arguments)
        return
    futures = []
    with suppress(RuntimeError):  # the interpreter is shutting down: this thread does all tasks
        futures = [_threads().submit(kernel, counter, *arguments) for _ in range(helpers)]
    try:
        kernel(counter, *arguments)
    finally:
        started = [future for future in futures if not future.cancel()]  # the others have no tasks left
        wait(started)
    for future in started:
        future.result()


def _threads() -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(MOST, thread_name_prefix="softecm")
        return _pool


def _forget() -> None:
    """Reset after a fork: the child has the pool's object without its threads, and possibly a locked lock."""
    global _pool, _lock
    _pool, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


Kind = TypeVar("Kind", bound=np.generic)
Kinds: TypeAlias = frozenset[object]  # dtypes

FLOAT64: Kinds = frozenset({np.dtype(np.float64)})
REAL: Kinds = frozenset({np.dtype(np.float32), np.dtype(np.float64)})
INDEX: Kinds = frozenset({np.dtype(np.int64)})
CODE: Kinds = frozenset({np.dtype(np.uint8), np.dtype(np.int32), np.dtype(np.int64)})
TRUTH: Kinds = frozenset({np.dtype(np.bool_)})


def kind(array: NDArray[np.generic]) -> int:
    """Return the element type for C kernels (``native/common.h``): bytes of a number, negative for integers."""
    return array.itemsize if array.dtype.kind == "f" else -array.itemsize


def expect(name: str, array: NDArray[Kind], kinds: Kinds, shape: tuple[int, ...]) -> NDArray[Kind]:
    """Return the array, contiguous; raise TypeError or ValueError for another type or shape."""
    if array.dtype not in kinds or array.shape != shape:
        _refuse(name, array.dtype, array.shape, kinds, shape)
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def expect_writable(name: str, array: NDArray[np.generic], kinds: Kinds, shape: tuple[int, ...]) -> None:
    """Raise TypeError or ValueError unless a kernel can write into the array in place."""
    if array.dtype not in kinds or array.shape != shape:
        _refuse(name, array.dtype, array.shape, kinds, shape)
    if not (array.flags.c_contiguous and array.flags.writeable):
        raise ValueError(f"{name} must be writable and contiguous: it is filled in place. Give a copy of it.")


def expect_within(name: str, index: NDArray[np.integer], size: int) -> None:
    """Raise ValueError unless all indices are between 0 and ``size`` - 1."""
    if index.size and not (int(index.min()) >= 0 and int(index.max()) < size):
        raise ValueError(
            f"{name} must lie between 0 and {size - 1}; got {int(index.min())} to {int(index.max())}. They belong to "
            "other data, or have been damaged."
        )


def expect_rows(name: str, starts: NDArray[np.int64], rows: int, entries: int) -> NDArray[np.int64]:
    """Return the offsets of ``rows`` rows among ``entries`` entries, with the end of the last; or raise ValueError."""
    starts = expect(name, starts, INDEX, (rows + 1,))
    if starts[0] != 0 or starts[-1] != entries or (rows and int(np.diff(starts).min()) < 0):
        raise ValueError(f"{name} must rise from 0 to {entries}; got {int(starts[0])} to {int(starts[-1])}.")
    return starts


def expect_on_device(name: str, tensor: Tensor, device: torch.device, shape: Sequence[int]) -> Tensor:
    """Return the tensor as contiguous doubles; raise ValueError unless it has this device and shape."""
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
        f"{name} must have shape {shape}; got {found}. The data have other columns or rows than those of the fit, or "
        "the model has been damaged."
    )


#: Load the slow libraries that check every memory access, to find bugs (`make test-deep`).
BOUNDS = os.environ.get("SOFTECM_BOUNDS", "0") not in ("", "0")


class Array:
    """Argument kind: the address of a contiguous NumPy array, or null for None."""

    @staticmethod
    def from_param(array: NDArray[np.generic] | None) -> object:
        """Return the argument for ctypes."""
        if array is None:
            return None
        try:
            return ctypes.byref(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]  # five times as fast as array.ctypes
        except (TypeError, ValueError):  # read-only, empty, or not contiguous
            if not array.flags.c_contiguous:
                raise
            return ctypes.c_void_p(array.ctypes.data)


def status(code: int) -> None:
    """Result kind of kernels that allocate memory: they return 0, or anything else if they ran out."""
    if code:
        raise MemoryError("a kernel could not allocate memory. Use fewer columns or sets, or a larger machine.")


Int = ctypes.c_int64
Float = ctypes.c_double
#: The counter from which the threads of one call take the numbers of their tasks (``threads.share_out``).
Tasks = ctypes.POINTER(ctypes.c_int64)


def _folder() -> Path:
    folder = build.CHECKED if BOUNDS else build.PLAIN
    if build.is_current(folder):
        return folder
    option = " --sanitize" if BOUNDS else ""
    raise ImportError(
        f"softecm's compiled kernels in {folder} are missing, or older than their C sources. In a checkout run "
        f"`python tools/build_native.py{option}`; otherwise install softecm again: `pip install --force-reinstall softecm`."
    )


@cache
def library() -> ctypes.CDLL:
    """Return the kernels for this processor; raise ImportError with a remedy if there are none.

    ``SOFTECM_LEVEL`` (``v2``, ``v3``, ``v4``) selects a lower x86-64 level than the processor's.
    """
    folder = _folder()
    try:
        base = ctypes.CDLL(str(folder / f"kernels{build.SUFFIX}"))
        level = min(base.processor_level(), int(os.environ.get("SOFTECM_LEVEL", "v9")[1:]))
        better = [folder / f"kernels-v{k}{build.SUFFIX}" for k in range(level, 2, -1)]
        return next((ctypes.CDLL(str(path)) for path in better if path.exists()), base)
    except (OSError, AttributeError) as error:
        raise ImportError(
            f"softecm's compiled kernels in {folder} can't be loaded ({error}): they are damaged, or for another "
            "system. In a checkout run `python tools/build_native.py --force`; otherwise install softecm again."
        ) from error


def function(name: str, *kinds: Any, result: object = None) -> Callable[..., Any]:
    """Return a kernel by its name in the C sources; ``kinds`` are those of its parameters."""
    found = getattr(library(), name)
    found.argtypes, found.restype = kinds, result
    call: Callable[..., Any] = found
    return call
