"""The compiled kernels as Python functions: loaded once, for the processor at hand, and called through ctypes.

A kernel is declared beside the code that calls it::

    _nearest = function("nearest", Tasks, Array, Int, ...)

Arrays reach a kernel as addresses. What they hold and their sizes are checked before (``kernels.entry``); that they are
contiguous is checked here, and None is a null pointer.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softecm.native import build

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Load the libraries that check every access to memory, which are slow: to find faults (`make test-deep`).
BOUNDS = os.environ.get("SOFTECM_BOUNDS", "0") not in ("", "0")


class Array:
    """Argument kind: the address of a contiguous NumPy array, or null for None."""

    @staticmethod
    def from_param(array: NDArray[np.generic] | None) -> object:
        """What ctypes hands over."""
        if array is None:
            return None
        try:
            return ctypes.byref(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]  # five times as fast as array.ctypes
        except (TypeError, ValueError):  # read-only, empty, or not contiguous
            if not array.flags.c_contiguous:
                raise
            return ctypes.c_void_p(array.ctypes.data)


def status(code: int) -> None:
    """Result kind of kernels that need memory: they return 0, or anything else where there was none."""
    if code:
        raise MemoryError("a kernel found no memory to work in. Use fewer columns or sets, or a larger machine.")


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
    """The kernels for this processor; ImportError with what to do where there are none.

    ``SOFTECM_LEVEL`` (``v2``, ``v3``, ``v4``) asks for a lower level of x86-64 than the processor has.
    """
    folder = _folder()
    try:
        base = ctypes.CDLL(str(folder / f"kernels{build.SUFFIX}"))
        level = min(base.processor_level(), int(os.environ.get("SOFTECM_LEVEL", "v9")[1:]))
        better = [folder / f"kernels-v{k}{build.SUFFIX}" for k in range(level, 2, -1)]
        return next((ctypes.CDLL(str(path)) for path in better if path.exists()), base)
    except (OSError, AttributeError) as error:
        raise ImportError(
            f"softecm's compiled kernels in {folder} can't be loaded ({error}): they are damaged, or for another system. "
            "In a checkout run `python tools/build_native.py --force`; otherwise install softecm again."
        ) from error


def function(name: str, *kinds: Any, result: Any = None) -> Callable[..., Any]:
    """A kernel by its name in the C sources; ``kinds`` are those of its parameters."""
    found = getattr(library(), name)
    found.argtypes, found.restype = kinds, result
    call: Callable[..., Any] = found
    return call
