"""The prototype step's linear systems, solved whatever their scale."""

from __future__ import annotations

import torch
from torch import Tensor

from softecm.distances.base import SemiMetric
from softecm.distances.capabilities import stiffness_of

RIDGE = 1e-13  # of the mean weight: a cluster without mass stays where it is, and a fixed point stays fixed
TINY = 1e-280  # where all weights underflow
STIFF = 1e10  # times the weights: ties beyond this drown them, and the plain solution has no digits left


def stationary(weight: Tensor, y: Tensor, old: Tensor, tie: Tensor | None = None) -> Tensor:
    """The solution v of ``(weight + tie) v = y``; where nothing is paid for a direction, that of ``old``.

    Parameters
    ----------
    weight : (..., m, m)
        Symmetric, not negative: what objects pay. All of it may underflow.
    y, old : (..., m, k)
    tie : (..., m, m), optional
        Symmetric, not negative: what the constraint pays, however much that is.
    """
    scale = weight.diagonal(dim1=-2, dim2=-1).mean(-1)[..., None, None]
    ridge = RIDGE * scale + TINY
    whole = weight if tie is None else weight + tie
    solved: Tensor
    solved, info = torch.linalg.solve_ex(_plus(whole, ridge), y + ridge * old)
    lost = (info != 0) | ~torch.isfinite(solved).all(-1).all(-1) | ~(scale[..., 0, 0] > 1e-200)
    if tie is not None:
        lost = lost | (tie.abs().amax((-2, -1)) > STIFF * scale[..., 0, 0])
    if not bool(lost.any()):
        return solved
    found: Tensor = torch.where(lost[..., None, None], _careful(weight, y, old, tie), solved)
    return found


def _careful(weight: Tensor, y: Tensor, old: Tensor, tie: Tensor | None) -> Tensor:
    """The same as a step from ``old`` along the ties' own directions, each in its own unit.

    What ties leave free is then decided by the weights alone, though they are a 1e-200th of the ties.
    """
    size = weight.abs().amax((-2, -1), keepdim=True)
    unit = torch.where(size > 0, size, 1.0)
    weight, y = weight / unit, y / unit
    axes = torch.eye(weight.shape[-1], dtype=weight.dtype, device=weight.device).expand_as(weight)
    stiffness = weight.new_zeros(weight.shape[:-1])
    if tie is not None:
        top = tie.abs().amax((-2, -1), keepdim=True)
        values, axes = torch.linalg.eigh(tie / torch.where(top > 0, top, 1.0))
        values = torch.where(values > 1e-10, values, 0.0)  # the rest is rounding: a direction that costs nothing
        # Beyond 1e100 a tie is a tie; nothing that follows may overflow.
        stiffness = values * (top / unit).clamp_max(1e100)[..., 0]
        axes, stiffness = axes.expand_as(weight), stiffness.expand(weight.shape[:-1])
    turned = axes.mT @ weight @ axes + torch.diag_embed(stiffness)
    pull = axes.mT @ (y - weight @ old) - stiffness[..., None] * (axes.mT @ old)
    each = turned.diagonal(dim1=-2, dim2=-1)
    own = torch.where(each > 0, each, 1.0).rsqrt()
    free = (each > 0).to(own)
    balanced = own[..., None] * turned * own[..., None, :] * free[..., None] * free[..., None, :]
    step, info = torch.linalg.solve_ex(_plus(balanced, 1e-12), own[..., None] * free[..., None] * pull)
    step = torch.where((info == 0)[..., None, None] & torch.isfinite(step), step, 0.0)
    return old + axes @ (own[..., None] * step)


def stiff_factors(metric: SemiMetric, prototypes: Tensor, curvature: Tensor, weights: Tensor) -> Tensor | None:
    """Cholesky's factors (runs, f, L, L) of the metric's matrices of curvature; None where it has none.

    Parameters
    ----------
    prototypes : (runs, f, L, ...)
    curvature : (runs, f, L, 1), of the quadratic bound, which takes a matrix's place where that is not positive
    weights : (runs, f), the sum of each prototype's weights
    """
    runs, f = prototypes.shape[:2]
    found = stiffness_of(metric, prototypes.flatten(0, 1), curvature.flatten(0, 1), weights.flatten())
    if found is None:
        return None
    smallest = 1e-9 * curvature.amax(dim=(1, 2, 3)).clamp_min(torch.finfo(found.dtype).tiny * 1e9)
    ridge = smallest.repeat_interleave(f)[:, None]
    found.diagonal(dim1=1, dim2=2).add_(ridge)
    factor, info = torch.linalg.cholesky_ex(found)
    if bool(info.any()):
        bound = torch.diag_embed((curvature.flatten(0, 1)[..., 0] + ridge).sqrt())
        factor = torch.where((info == 0)[:, None, None], factor, bound)
    factors: Tensor = factor.reshape(runs, f, *found.shape[1:])
    return factors


def over_stiffness(u: Tensor, factor: Tensor) -> Tensor:
    """A gradient (runs, f, L, ...) over twice the matrices behind the factors."""
    solved: Tensor = 0.5 * torch.cholesky_solve(u.reshape(*u.shape[:3], -1), factor)
    return solved.reshape(u.shape)


def _plus(matrix: Tensor, ridge: Tensor | float) -> Tensor:
    return matrix + ridge * torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
