"""One iteration of Soft-ECM for vectors on an NVIDIA GPU: the counterpart of ``quadratic``, equal to the last digits.

See ``cuda/quadratic_round.cu``; its arithmetic is double for any type of objects.
"""

from __future__ import annotations

import torch
from torch import Tensor

from softecm.kernels.cuda_compile import available, card, kernel, on
from softecm.native.library import expect_on_device

_THREADS = (128, 64, 32)  # threads per block, and objects in its tile: fewer for many sets and coordinates
_SUMS = (1, 2, 4, 8, 16, 32)  # sums per thread


def fits(x: Tensor, f: int) -> bool:
    """Whether objects with this many coordinates and sets fit in a block's shared memory and registers."""
    if x.dtype not in (torch.float32, torch.float64) or available() is not None:
        return False
    return _threads(f, x.shape[1], card(x.device.index).shared) is not None


def _threads(f: int, p: int, room: int) -> int | None:
    """Return the largest block whose tile fits in ``room`` bytes and whose threads can hold all sums, or None."""
    possible = (t for t in _THREADS if _shared(f, p, t, True) <= room and f * (p + 1) <= _SUMS[-1] * t)
    return next(possible, None)


def _shared(f: int, p: int, threads: int, compared: bool) -> int:
    """Return the bytes of shared memory of a block."""
    return max(8 * threads * ((1 + compared) * (f | 1) + ((p + 1) | 1)), 16 * threads)


def run_round(
    x: Tensor,
    weights: Tensor | None,
    prototypes: Tensor,
    previous: Tensor | None,
    factors: Tensor,
    beta: Tensor,
    delta2: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return costs (runs,), sums (runs, f), moments (runs, f, p), changes (runs,); see ``rounds.sum_over_objects``."""
    (n, p), (runs, f, _) = x.shape, prototypes.shape
    device = x.device.index
    outputs = f * (p + 1)
    with on(device):
        x = x.contiguous()
        shapes: dict[str, tuple[int, ...]] = {"weights": (n,), "prototypes": (runs, f, p), "previous": (runs, f, p)}
        shapes |= {"factors": (runs, f), "beta": (runs,), "delta2": (runs,)}
        values = zip(shapes.items(), (weights, prototypes, previous, factors, beta, delta2), strict=True)
        checked = [None if t is None else expect_on_device(name, t, x.device, shape) for (name, shape), t in values]
        threads = _threads(f, p, card(device).shared)
        assert threads is not None  # guaranteed by fits
        sums = next(k for k in _SUMS if k * threads >= outputs)
        defines = (("X64", int(x.dtype == torch.float64)), ("OUT", sums), ("THREADS", threads))
        compiled = kernel(device, "quadratic_round", defines)
        shared = _shared(f, p, threads, previous is not None)
        resident = card(device).processors * compiled.resident(threads, shared)
        blocks = max(1, min(-(-n // threads), -(-4 * resident // runs)))
        partial = torch.empty((runs, blocks, outputs + 2), dtype=torch.float64, device=x.device)
        arrays = [x, *checked, partial]
        compiled.start(
            torch.cuda.current_stream(x.device).cuda_stream,
            (blocks, runs, 1),
            (threads, 1, 1),
            shared,
            *(0 if t is None else t.data_ptr() for t in arrays),
            *(n, f, p),
        )
        table = partial[..., :outputs].sum(1).reshape(runs, f, p + 1)
        cost = partial[..., outputs].sum(1)
        change = cost.new_full((runs,), torch.inf) if previous is None else partial[..., outputs + 1].amax(1)
    return cost, table[..., p], table[..., :p], change
