"""Soft-DTW as torch sees it: the kernels for a device, and how gradients come from their sums."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from softecm.kernels.first_derivatives import first_only
from softecm.kernels.soft_dtw.checks import Pairs, Rows


class Backend(Protocol):
    """What ``cpu`` and ``cuda`` have in common."""

    def forward(
        self,
        x: Tensor,
        x_lengths: Tensor | None,
        y: Tensor,
        y_lengths: Tensor | None,
        pairs: Pairs,
        gamma: float,
        band: int | None,
    ) -> Tensor:
        """Values of pairs."""
        ...

    def forward_backward(
        self,
        x: Tensor,
        x_lengths: Tensor | None,
        y: Tensor,
        y_lengths: Tensor | None,
        pairs: Pairs,
        weights: Tensor,
        gamma: float,
        band: int | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Values of pairs, and the sums W and Y."""
        ...


def backend(x: Tensor) -> Backend:
    """The kernels for the device that x lives on; each is loaded when first needed."""
    if x.is_cuda:
        from softecm.kernels.soft_dtw import cuda

        return cuda
    if x.device.type != "cpu":
        raise ValueError(f"x must be on a CPU or a CUDA device; got {x.device}. Move it with .cpu().")
    from softecm.kernels.soft_dtw import cpu

    return cpu


class Context(Protocol):
    """What torch keeps between the two passes; ``rest`` is ours."""

    saved_tensors: tuple[Tensor, ...]
    needs_input_grad: tuple[bool, ...]
    rest: Rest

    def save_for_backward(self, *tensors: Tensor) -> None:
        """Keep tensors."""
        ...


class Rest(NamedTuple):
    """Everything but the series."""

    x_lengths: Tensor | None
    y_lengths: Tensor | None
    pairs: Pairs
    gamma: float
    band: int | None


class SelfSoftDTW(torch.autograd.Function):
    """Values forward; backward, twice one side's gradient: the two sides are the same series."""

    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Context, x: Tensor, lengths: Tensor | None, gamma: float, band: int | None
    ) -> Tensor:
        """Values of each series with itself."""
        ctx.save_for_backward(x)
        ctx.rest = Rest(lengths, lengths, Rows(len(x), x.device), gamma, band)
        return backend(x).forward(x.detach(), lengths, x.detach(), *ctx.rest[1:])

    @staticmethod
    @first_only
    def backward(ctx: Context, weights: Tensor) -> tuple[Tensor | None, ...]:
        """Gradient in the series, then nothing for the rest."""
        (x,) = ctx.saved_tensors
        lengths, _, rows, gamma, band = ctx.rest
        x = x - (x[0, 0] if len(x) else 0.0)
        return 2.0 * _gradient(x, lengths, x, lengths, rows, weights.contiguous(), gamma, band), None, None, None


class SoftDTW(torch.autograd.Function):
    """Values forward; backward, sums for the side that wants a gradient (for x: the same call with the roles swapped)."""

    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Context,
        x: Tensor,
        y: Tensor,
        x_lengths: Tensor | None,
        y_lengths: Tensor | None,
        pairs: Pairs,
        gamma: float,
        band: int | None,
    ) -> Tensor:
        """Values of pairs."""
        ctx.save_for_backward(x, y)
        ctx.rest = Rest(x_lengths, y_lengths, pairs, gamma, band)
        return backend(x).forward(x.detach(), x_lengths, y.detach(), *ctx.rest[1:])

    @staticmethod
    @first_only
    def backward(ctx: Context, weights: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients in x and y where they are wanted, then nothing for the rest."""
        x, y = ctx.saved_tensors
        x_lengths, y_lengths, pairs, gamma, band = ctx.rest
        # Differences are all that counts: taking a common level off keeps float32 from losing them in W y - Y.
        level = y[0, 0] if len(y) else y.new_zeros(y.shape[2])
        x, y = x - level, y - level
        grad_x = grad_y = None
        if ctx.needs_input_grad[0]:
            back = None if pairs is None else (pairs[1], pairs[0])
            turned = weights.T if pairs is None else weights
            grad_x = _gradient(y, y_lengths, x, x_lengths, back, turned.contiguous(), gamma, band)
        if ctx.needs_input_grad[1]:
            grad_y = _gradient(x, x_lengths, y, y_lengths, pairs, weights.contiguous(), gamma, band)
        return grad_x, grad_y, None, None, None, None, None


def _gradient(
    x: Tensor,
    x_lengths: Tensor | None,
    y: Tensor,
    y_lengths: Tensor | None,
    pairs: Pairs,
    weights: Tensor,
    gamma: float,
    band: int | None,
) -> Tensor:
    _, w, sums = backend(x).forward_backward(x, x_lengths, y, y_lengths, pairs, weights, gamma, band)
    grad = 2 * (w[..., None] * y - sums)
    if y_lengths is not None:  # padding may be NaN
        inside = torch.arange(y.shape[1], device=y.device) < y_lengths[:, None]
        grad = torch.where(inside[..., None], grad, grad.new_zeros(()))
    return grad
