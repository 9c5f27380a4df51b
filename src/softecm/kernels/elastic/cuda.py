"""Elastic distances on an NVIDIA GPU: values of many pairs, and the sums of their gradients.

See the algorithm in ``kernels/cuda/elastic.cu``. Results are reproducible bit for bit.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from softecm.kernels.cuda_compile import Kernel, card, kernel, on
from softecm.kernels.cuda_pairs import IN_REGISTERS, TABLE_BYTES, PairsOnCard, parts, table_bytes
from softecm.kernels.elastic.rules import Rule
from softecm.kernels.series_checks import Pairs

_WARPS = 4  # per block; they work independently
_LN2 = math.log(2.0)


def takes(x: Tensor) -> bool:
    """Whether the number of channels is small enough."""
    return x.shape[2] <= IN_REGISTERS


def solve(
    x: Tensor,
    x_lengths: Tensor | None,
    y: Tensor,
    y_lengths: Tensor | None,
    pairs: Pairs,
    weights: Tensor | None,
    rule: Rule,
    floor: float,
    band: int | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return values; with weights, curvature (f, Ly, 1) and gradient (f, Ly, d) of their weighted sum in the prototypes.

    Parameters
    ----------
    x, x_lengths, y, y_lengths, pairs, band
        As in `softecm.kernels.soft_dtw.cuda.forward`.
    weights : Tensor or None
        One per pair, shaped like the values; None: only values, the rest is empty.
    rule : Rule
    floor : float
        Shorter lengths give the curvature of this one.
    """
    job = PairsOnCard(x, x_lengths, y, y_lengths, pairs, band)
    with on(job.device):
        values = job.empty_values()
        width = job.d + 2
        sums = torch.zeros((0 if weights is None else job.f, job.y_steps, width), dtype=x.dtype, device=x.device)
        if job.count:
            if weights is not None:
                weights = weights.to(dtype=x.dtype, device=x.device).contiguous()
            _run(job, rule, floor, weights, values, sums)
        curvature, came_down, gradient = sums[..., :1], sums[..., 1], sums[..., 2:]
        if rule.squared:
            return values, curvature, 2.0 * gradient
        if weights is not None:
            _add_alone(job.y, came_down, rule, floor, curvature, gradient)
        return values, 0.5 * curvature, gradient


def _run(job: PairsOnCard, rule: Rule, floor: float, weights: Tensor | None, values: Tensor, sums: Tensor) -> None:
    """Fill the values and, with weights, the sums."""
    height = _height(job.y_steps, job.wide)
    compiled = _compiled(job, rule, height, weights is not None)
    real = job.x.element_size()
    table = 0 if weights is None else table_bytes(-(-job.y_steps // (32 * height)), height, job.x_steps, job.wide)
    row = job.y_steps * (job.d + 2) * real
    chunk = job.count if weights is None else job.chunk(row)
    slots = min(chunk, card(job.device).processors * compiled.resident(32 * _WARPS, 0) * _WARPS)
    if table:
        slots = max(1, min(slots, TABLE_BYTES // table))
    blocks, room = job.room(-(-slots // _WARPS), _WARPS * (table + 2 * job.x_steps * real))
    edge = room.data_ptr() + blocks * _WARPS * table
    partial = torch.empty(0 if weights is None else chunk * row // real, dtype=job.x.dtype, device=job.x.device)
    for first, number in parts(job.count, chunk):
        compiled.start(
            job.stream,
            (min(blocks, -(-number // _WARPS)), 1, 1),
            (32 * _WARPS, 1, 1),
            0,
            *job.addresses(),
            0 if weights is None else weights.data_ptr(),
            values.data_ptr(),
            partial.data_ptr(),
            room.data_ptr(),
            edge,
            job.f,
            job.x_steps,
            job.y_steps,
            first,
            number,
            table,
            job.band,
            *_numbers(rule, floor),
        )
        if weights is not None:
            job.add_up(partial.data_ptr(), sums, first, number, job.y_steps * (job.d + 2))


def _height(rows: int, wide: bool) -> int:
    """Return rows per thread: enough to keep all lanes busy, within the number of registers."""
    return 1 if rows <= 32 else 2 if rows <= 64 or wide else 4


def _compiled(job: PairsOnCard, rule: Rule, height: int, gradient: bool) -> Kernel:
    return kernel(
        job.device,
        "elastic",
        (
            ("REAL64", int(job.wide)),
            ("H", height),
            ("D", job.d),
            ("GRAD", int(gradient)),
            ("SOFT", int(rule.gamma > 0)),
            ("SQUARED", int(rule.squared)),
            ("WEIGHTED", int(rule.weighted)),
        ),
    )


def _numbers(rule: Rule, floor: float) -> tuple[float, ...]:
    """Return the kernel's arguments for a rule, in the unit of the recursion."""
    scale = 1.0 / (rule.gamma * _LN2) if rule.gamma > 0 else 1.0
    costs = (rule.step, rule.across, rule.before, rule.last, rule.change, rule.size, rule.apart)
    return (1.0 / scale, rule.gamma, scale, *(scale * cost for cost in costs), rule.steepness / _LN2, floor)


def _add_alone(y: Tensor, came_down: Tensor, rule: Rule, floor: float, curvature: Tensor, gradient: Tensor) -> None:
    """Add the curvature and gradient of steps of the prototypes alone, whose costs follow from y."""
    tiny = rule.gamma if rule.gamma > 0 else 1e-30
    moved = rule.change > 0
    gaps = y[:, 1:] - y[:, :-1] if moved else y
    factor = (came_down[:, 1:] if moved else came_down)[..., None] * (rule.change if moved else rule.size)
    lengths = gaps.norm(dim=-1, keepdim=True)
    inside = factor != 0  # values beyond a prototype's end are arbitrary
    slope = torch.where(inside, factor * gaps / lengths.clamp_min(tiny), 0.0)
    bend = torch.where(inside, factor / lengths.clamp_min(floor), 0.0)
    if not moved:
        gradient += slope
        curvature += bend
        return
    gradient[:, 1:] += slope
    gradient[:, :-1] -= slope
    curvature[:, 1:] += 2.0 * bend  # both ends may move: twice the curvature, each around their middle
    curvature[:, :-1] += 2.0 * bend
