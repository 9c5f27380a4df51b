"""The quasi-Newton direction of a batch of runs on the CPU in one call (``native/descent.c``)."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import torch
from torch import Tensor

from softecm.native.library import Int, Tasks, function, share_out, status

_ADDRESSES = ("gradient", "scale", "factor", "steps", "changes", "direction", "slopes")
_NUMBERS = ("runs", "size", "memory", "kind", "blocks", "length", "width")


class _Descent(ctypes.Structure):
    """The struct ``Descent`` in ``native/descent.c``."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in _ADDRESSES),
        *((name, ctypes.c_int64) for name in _NUMBERS),
    )


_directions = function("descent_directions", ctypes.POINTER(_Descent), result=status)
_factors = function("descent_factors", Tasks, *(ctypes.c_void_p,) * 3, Int, Int, Int)
_PARALLEL = 1 << 17  # matrix elements from which a second thread pays


def factors(matrices: Tensor, bound: Tensor, ridge: Tensor) -> Tensor:
    """Replace symmetric matrices (k, L, L) plus a ridge (k,) each by their upper Cholesky factors.

    If a matrix is not positive definite, its diagonal ``bound`` (k, L) is used instead. Elements below a factor's
    diagonal are not written.
    """
    k, n = bound.shape
    if not matrices.shape == (k, n, n) or not ridge.shape == (k,) or not matrices.dtype == bound.dtype == ridge.dtype:
        raise ValueError(f"matrices must be {bound.dtype} of shape {(k, n, n)}; got {tuple(matrices.shape)}.")
    out, *others = matrices.contiguous(), bound.contiguous(), ridge.contiguous()
    addresses = out.data_ptr(), others[0].data_ptr(), others[1].data_ptr()
    share_out(_factors, k > 1 and out.numel() > _PARALLEL, *addresses, k, n, out.element_size())
    return out


def directions(
    gradient: Tensor, scale: Tensor | None, factor: Tensor | None, steps: Sequence[Tensor], changes: Sequence[Tensor]
) -> tuple[Tensor, Tensor]:
    """Return directions (runs, ...) and their slopes (runs,), downhill unless the scaled gradient is zero.

    Parameters
    ----------
    gradient : (runs, ...), float32 or float64 on the CPU
    scale : shaped like the gradient, or broadcastable to it; None: 1
    factor : (runs, q, L, L), upper Cholesky factor, used instead of the scale, with half the inverse
    steps, changes : each shaped like the gradient, newest last; pairs without positive product are skipped
    """
    shape, kind = gradient.shape, gradient.dtype
    held = [t.contiguous() for t in (gradient, *steps, *changes)]
    for t in held:
        if t.shape != shape or t.dtype != kind:
            raise ValueError(
                f"steps and changes must be {kind} of shape {tuple(shape)}; got {t.dtype}, {tuple(t.shape)}."
            )
    m, out, slopes = len(steps), torch.empty(shape, dtype=kind), torch.empty(shape[0], dtype=torch.float64)
    addresses = (ctypes.c_void_p * (2 * m + 1))(*(t.data_ptr() for t in held[1:]))
    begin = ctypes.addressof(addresses)
    job = _Descent(
        gradient=held[0].data_ptr(), steps=begin, changes=begin + m * ctypes.sizeof(ctypes.c_void_p),
        direction=out.data_ptr(), slopes=slopes.data_ptr(),
        runs=shape[0], size=gradient[0].numel() if shape[0] else 0, memory=m, kind=gradient.element_size(),
    )  # fmt: skip
    if factor is not None:
        q, length = shape[1], shape[2]
        if factor.shape != (shape[0], q, length, length) or factor.dtype != kind:
            raise ValueError(
                f"factor must be {kind} of shape {(shape[0], q, length, length)}; got {tuple(factor.shape)}."
            )
        held.append(factor.contiguous())
        job.factor, job.blocks, job.length, job.width = held[-1].data_ptr(), q, length, gradient[0, 0, 0].numel()
    elif scale is not None:
        held.append(scale.to(kind).expand(shape).contiguous())
        job.scale = held[-1].data_ptr()
    _directions(job)
    return out, slopes.to(kind)
