"""Masses from distances on the CPU, with the sums of an iteration, in one call (``native/shares.c``)."""

from __future__ import annotations

import ctypes
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from softecm.native.library import Tasks, function, share_out, status

_ADDRESSES = ("distances", "factors", "beta", "delta2", "counts", "before", "masses", "weights", "costs", "changes")
_CHUNK, _PARALLEL = 256, 1 << 15  # objects of a task, as in C; number of masses from which a second thread pays


class _Shares(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in _ADDRESSES),
        *((name, ctypes.c_int64) for name in ("n", "runs", "f", "kind")),
    )


_share_masses = function("share_masses", Tasks, ctypes.POINTER(_Shares), result=status)


class SharedMasses(NamedTuple):
    """The masses of some objects and runs, with weights and costs."""

    masses: Tensor  # (runs, n, f + 1)
    weights: Tensor  # (n, runs * f): |A|^alpha m^beta, times the objects' weights
    cost: Tensor  # (runs,)
    change: Tensor | None  # (runs,), of the masses, if those of the last iteration are known


def share_masses(
    distances: Tensor, factors: Tensor, beta: Tensor, delta2: Tensor, counts: Tensor | None, before: Tensor | None
) -> SharedMasses:
    """Compute eq. 7 for distances (n, runs * f) in float32 or float64, in double precision.

    Parameters
    ----------
    factors, beta, delta2 : Tensor (runs, f), (runs,), (runs,)
    counts : Tensor (n,) or None
    before : Tensor (runs, n, f + 1) or None
        The masses of the last iteration.
    """
    (runs, f), n, dtype = factors.shape, distances.shape[0], distances.dtype
    masses, weights = torch.empty((runs, n, f + 1), dtype=dtype), torch.empty((n, runs * f), dtype=dtype)
    if dtype not in (torch.float32, torch.float64):
        raise TypeError(f"distances must be float32 or float64; got {dtype}. Convert them first.")
    if distances.shape != weights.shape or (before is not None and before.shape != masses.shape):
        raise ValueError(f"distances must be (n, {runs * f}), one for each run and set; got {tuple(distances.shape)}.")
    prices = [price.to(torch.float64).contiguous() for price in (factors, beta, delta2)]
    inputs = [None if t is None else t.to(dtype).contiguous() for t in (distances, counts, before)]
    costs, changes = totals = np.empty((2, -(-n // _CHUNK), runs))
    tensors = inputs[0], *prices, *inputs[1:], masses, weights
    addresses = [None if t is None else t.data_ptr() for t in tensors]
    at = totals.ctypes.data
    job = _Shares(*addresses, at, at + costs.nbytes, n, runs, f, masses.element_size())
    share_out(_share_masses, n * runs * (f + 1) > _PARALLEL, job)
    change = None if before is None else torch.from_numpy(changes.max(0, initial=0.0)).to(dtype)
    return SharedMasses(masses, weights, torch.from_numpy(costs.sum(0)).to(dtype), change)
