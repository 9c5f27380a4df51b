"""How kernels are compiled: one decorator for all of them, with a switch that checks every index.

``SOFTECM_BOUNDS=1`` in the environment, before softecm is imported, compiles all kernels for the CPU with bounds checks
and on one thread: an access outside an array is then an IndexError instead of a wrong number or a crash. Slow, for finding
faults; such code is cached in a folder of its own.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numba as nb

from softecm.kernels.types import Compiler

BOUNDS = os.environ.get("SOFTECM_BOUNDS", "0") not in ("", "0")
#: Sums may be re-ordered and divisions turned into products, but infinities and NaN keep their meaning.
RELAXED = frozenset({"contract", "reassoc", "nsz", "arcp"})


def compiled(*, parallel: bool = False, fastmath: bool | frozenset[str] = False, cache: bool = True) -> Compiler:
    """The decorator of a kernel: no interpreter lock, division as NumPy has it, kept on disk unless ``cache`` is off."""
    decorator: Compiler = nb.njit(
        cache=cache,
        nogil=True,
        parallel=parallel and not BOUNDS,  # an error inside a parallel loop would be lost
        error_model="numpy",
        fastmath=set(fastmath) if isinstance(fastmath, frozenset) else fastmath,
        boundscheck=BOUNDS,
    )
    return decorator


def cache_folder() -> Path:
    """Where compiled kernels are kept: ``SOFTECM_CACHE``, else the user's cache folder."""
    chosen = os.environ.get("SOFTECM_CACHE")
    if chosen:
        return Path(chosen) / "kernels"
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return base / "softecm" / "kernels"


if BOUNDS:  # Numba's cache does not tell checked code from unchecked
    nb.config.CACHE_DIR = str(cache_folder() / "bounds")
