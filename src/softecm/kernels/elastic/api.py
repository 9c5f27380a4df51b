"""The public functions: elastic distances between all series and prototypes, or of selected pairs.

They include Soft-DTW and DTW (``softecm.kernels.soft_dtw``). All are computed on the device of the series: by one
engine on the CPU, by the rule's kernel on a GPU, or on the CPU if that kernel supports fewer channels.
"""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from softecm.kernels.cuda_pairs import IN_REGISTERS
from softecm.kernels.elastic.rules import AlignmentTask, Rule
from softecm.kernels.first_derivatives import first_only
from softecm.kernels.series_checks import Pairs, check, check_weights

logger = logging.getLogger("softecm")


class AlignmentSums(NamedTuple):
    """Values of pairs, and a quadratic in the prototypes that bounds their weighted sum: curvature and gradient at y."""

    values: Tensor  # (n, f) or (P,)
    curvature: Tensor  # (f, Ly, 1)
    gradient: Tensor  # (f, Ly, d)


def elastic(
    x: Tensor,
    y: Tensor,
    rule: Rule,
    *,
    band: int | None = None,
    x_lengths: Tensor | None = None,
    y_lengths: Tensor | None = None,
    pairs: Pairs = None,
) -> Tensor:
    """Return a rule's distance between every series and every prototype, differentiable in both.

    Parameters as in `softecm.kernels.soft_dtw.soft_dtw`; computed on the device of the series, or on the CPU if series
    on a GPU have more channels than its kernel supports. First derivatives only; for a hard rule, those of the cost
    along one best alignment.

    Returns
    -------
    Tensor (n, f), or (P,) with ``pairs``

    Examples
    --------
    >>> from softecm.kernels.elastic.rules import msm
    >>> x = torch.tensor([[[1.0], [2.0], [3.0]]])
    >>> elastic(x, torch.tensor([[[2.0], [2.0], [3.0]]]), msm(1.0, gamma=0.0))
    tensor([[1.]])
    """
    check(x, y, x_lengths, y_lengths, pairs, 1.0, band)
    return differentiable(x, y, AlignmentTask(rule, band, x_lengths, y_lengths, pairs))


def elastic_sums(
    x: Tensor,
    y: Tensor,
    weights: Tensor,
    rule: Rule,
    *,
    band: int | None = None,
    x_lengths: Tensor | None = None,
    y_lengths: Tensor | None = None,
    pairs: Pairs = None,
    floor: float | None = None,
) -> AlignmentSums:
    r"""Return values, and curvature K and gradient G in y of the sum of values times weights.

    For non-negative weights, :math:`\langle K (u - y) + G, u - y \rangle` bounds the change of that sum from y to any
    u: a soft or hard minimum is concave in the costs, a square is its own bound, and a length (smoothed by ``gamma``)
    is below its tangent parabola. For a hard rule, a length below ``floor`` gives the curvature of ``floor``: it stays
    moderate, but is no bound so near a kink.
    """
    check(x, y, x_lengths, y_lengths, pairs, 1.0, band)
    check_weights(weights, x, y, pairs)
    least = rule.gamma if rule.gamma > 0 else 1e-30 if floor is None else floor
    return bounds_of(x, y, weights, AlignmentTask(rule, band, x_lengths, y_lengths, pairs), max(least, 1e-30))


class _Context(Protocol):
    """The attributes of torch's autograd context used here; ``task`` is ours."""

    saved_tensors: tuple[Tensor, ...]
    needs_input_grad: tuple[bool, ...]
    task: AlignmentTask

    def save_for_backward(self, *tensors: Tensor) -> None: ...


class _Elastic(torch.autograd.Function):
    """Forward: values; backward: sums for the side that needs a gradient (for x, the same call with swapped roles)."""

    @staticmethod
    def forward(ctx: _Context, x: Tensor, y: Tensor, task: AlignmentTask) -> Tensor:  # type: ignore[override]
        ctx.save_for_backward(x, y)
        ctx.task = task
        return values_of(x, y, task)

    @staticmethod
    @first_only
    def backward(ctx: _Context, weights: Tensor) -> tuple[Tensor | None, ...]:
        x, y = ctx.saved_tensors
        grad_x = grad_y = None
        if ctx.needs_input_grad[1]:
            grad_y = bounds_of(x, y, weights.contiguous(), ctx.task, 1.0).gradient
        if ctx.needs_input_grad[0] and ctx.task.own:
            grad_x = grad_y
        elif ctx.needs_input_grad[0]:
            turned = weights.T if ctx.task.pairs is None else weights
            grad_x = bounds_of(y, x, turned.contiguous(), ctx.task.turned(), 1.0).gradient
        return grad_x, grad_y, None


def differentiable(x: Tensor, y: Tensor, task: AlignmentTask) -> Tensor:
    """Return values (n, f) or (P,) with a gradient in both series."""
    if not (torch.is_grad_enabled() and (x.requires_grad or y.requires_grad)):
        return values_of(x, y, task)
    values: Tensor = _Elastic.apply(x, y, task)  # type: ignore[no-untyped-call]
    return values


def values_of(x: Tensor, y: Tensor, task: AlignmentTask) -> Tensor:
    """Return values (n, f) or (P,)."""
    if x.is_cuda:
        from softecm.kernels.elastic import cuda
        from softecm.kernels.soft_dtw import cuda as soft
        from softecm.kernels.soft_dtw import cuda_hard

        series = x.detach(), task.x_lengths, y.detach(), task.y_lengths, task.pairs
        if task.rule.plain and task.rule.gamma > 0:
            return soft.forward(*series, task.rule.gamma, task.band)
        if task.rule.plain:
            return cuda_hard.forward(*series, task.band)
        if cuda.takes(x):
            return cuda.solve(*series, None, task.rule, 1.0, task.band)[0]
    return _on_cpu(x, y, None, task, 1.0, moments=False)[0]


def moments_of(x: Tensor, y: Tensor, weights: Tensor, task: AlignmentTask) -> tuple[Tensor, Tensor, Tensor]:
    """Return, for a plain rule, values, W (f, Ly) and Y (f, Ly, d) as `softecm.kernels.soft_dtw.soft_dtw_sums` does."""
    if x.is_cuda:
        from softecm.kernels.elastic import cuda
        from softecm.kernels.soft_dtw import cuda as soft

        series = x.detach(), task.x_lengths, y.detach(), task.y_lengths, task.pairs, weights.detach()
        if task.rule.gamma > 0:
            return soft.forward_backward(*series, task.rule.gamma, task.band)
        if cuda.takes(x):
            values, mass, slope = cuda.solve(*series, task.rule, 1.0, task.band)
            return values, mass[..., 0], mass * torch.where(mass != 0, y.detach(), 0.0) - 0.5 * slope
    values, sums = _on_cpu(x, y, weights, task, 1.0, moments=True)
    return values, sums[..., 0], sums[..., 1:]


def bounds_of(x: Tensor, y: Tensor, weights: Tensor, task: AlignmentTask, floor: float) -> AlignmentSums:
    """Return values, and the quadratic in the prototypes that bounds their weighted sum (`elastic_sums`)."""
    if x.is_cuda:
        from softecm.kernels.elastic import cuda

        if task.rule.plain and task.rule.gamma > 0:
            return _bounds_from_moments(x.detach(), y.detach(), weights, task)
        if cuda.takes(x):
            series = x.detach(), task.x_lengths, y.detach(), task.y_lengths, task.pairs, weights.detach()
            return AlignmentSums(*cuda.solve(*series, task.rule, floor, task.band))
    values, sums = _on_cpu(x, y, weights, task, floor, moments=False)
    return AlignmentSums(values, sums[..., :1], 2.0 * sums[..., 1:])


def _bounds_from_moments(x: Tensor, y: Tensor, weights: Tensor, task: AlignmentTask) -> AlignmentSums:
    # Only differences count: subtracting a common level keeps float32 from losing them in W y - Y.
    level = y[0, 0] if len(y) else 0.0
    values, w, moved = moments_of(x - level, y - level, weights, task)
    gradient = 2.0 * (w[..., None] * (y - level) - moved)
    if task.y_lengths is not None:  # padding may be NaN
        inside = torch.arange(y.shape[1], device=y.device) < task.y_lengths[:, None]
        gradient = torch.where(inside[..., None], gradient, 0.0)
    return AlignmentSums(values, w[..., None], gradient)


def _on_cpu(
    x: Tensor, y: Tensor, weights: Tensor | None, task: AlignmentTask, floor: float, *, moments: bool
) -> tuple[Tensor, Tensor]:
    """Return values and sums from the engine, on the device of the series."""
    from softecm.kernels.elastic.engine import solve

    if x.device.type == "cpu":
        values, sums = solve(x, y, weights, task, floor=floor, moments=moments)
        return values, sums.to(x.dtype)
    _say_once(x.shape[2])
    near = None if weights is None else weights.cpu()
    values, sums = solve(x.detach().cpu(), y.detach().cpu(), near, task.near(), floor=floor, moments=moments)
    return values.to(x.device), sums.to(x)


@lru_cache(maxsize=16)
def _say_once(channels: int) -> None:
    """Warn once per number of channels that the GPU is not used."""
    logger.warning(
        "elastic distances of %d channels are computed on the CPU: the GPU supports up to %d",
        channels,
        IN_REGISTERS,
    )
