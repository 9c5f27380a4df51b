"""Soft-DTW on an NVIDIA GPU: values and prototype gradients of many pairs at once.

The kernel is CUDA C++ (see the algorithm in ``kernels/cuda/soft_dtw.cu``), compiled at run time by NVRTC for the
present card and the requested shape; no ``nvcc`` is needed. Compiled code is cached in a folder (``SOFTECM_CACHE``,
else the user's cache). Work is queued on torch's current stream. Results are reproducible bit for bit: every pair
writes its own sums, and these are added in a fixed order.

``softecm.kernels.soft_dtw`` has the public functions, which call this module for tensors on a GPU.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from softecm.kernels.cuda_compile import Card, Kernel, available, card, kernel, on
from softecm.kernels.cuda_pairs import IN_REGISTERS, TABLE_BYTES, PairsOnCard, parts, table_bytes
from softecm.kernels.series_checks import Pairs

__all__ = ["available", "forward", "forward_backward"]


_LN2 = math.log(2.0)


def forward(
    x: Tensor,
    x_lengths: Tensor | None,
    y: Tensor,
    y_lengths: Tensor | None,
    pairs: Pairs,
    gamma: float,
    band: int | None,
) -> Tensor:
    """Return Soft-DTW values of pairs of series on the GPU.

    Parameters
    ----------
    x : Tensor (n, Lx, d)
        Series, padded; float32 or float64 on a CUDA device. Values beyond a length are never read.
    x_lengths : Tensor (n,) of int64, or None
        Steps of each series; None: all of them.
    y, y_lengths
        The same for the f prototypes, (f, Ly, d).
    pairs : (Tensor, Tensor) or None
        Indices into x and y; None: every x with every y.
    gamma : float
        Smoothing, above 0.
    band : int or None
        Radius of the Sakoe–Chiba band.

    Returns
    -------
    Tensor
        (n, f) without ``pairs``, else (P,).
    """
    return _Job(PairsOnCard(x, x_lengths, y, y_lengths, pairs, band), gamma).values()


def forward_backward(
    x: Tensor,
    x_lengths: Tensor | None,
    y: Tensor,
    y_lengths: Tensor | None,
    pairs: Pairs,
    weights: Tensor,
    gamma: float,
    band: int | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return Soft-DTW values, and the sums that make up the gradient for the prototypes.

    With E the expected alignment of a pair, ``W[g, t]`` is the sum over the pairs of prototype g of
    weight · Σ_s E[s, t] and ``Y[g, t]`` that of weight · Σ_s E[s, t] x[s]; the gradient of Σ weight · value in y
    is ``2 (W[..., None] * y - Y)``.

    Parameters
    ----------
    x, x_lengths, y, y_lengths, pairs, gamma, band
        As in `forward`.
    weights : Tensor
        One per pair, shaped like the values; may be negative.

    Returns
    -------
    values, W, Y : Tensor
        (n, f) or (P,); (f, Ly); (f, Ly, d).
    """
    return _Job(PairsOnCard(x, x_lengths, y, y_lengths, pairs, band), gamma).values_and_sums(weights)


# ---------------------------------------------------------------------------------------------------- launching


@dataclass(frozen=True)
class _Room:
    """Scratch memory: the pairs' own sums, then a table for each active pair, and data passed between strips."""

    memory: Tensor
    partial: int
    table: int
    sums: int
    ticket: int
    edge: int

    def reset(self, handed_on: bool) -> None:
        """Mark all strips as not begun, with nothing passed on (all ones in bits)."""
        base = self.memory.data_ptr()
        if handed_on:
            self.memory[self.sums - base :].fill_(255)
        self.memory[self.ticket - base : self.edge - base].zero_()


class _Job:
    """One call."""

    def __init__(self, on_card: PairsOnCard, gamma: float) -> None:
        self.on, self.gamma = on_card, float(gamma)

    def values(self) -> Tensor:
        job = self.on
        with on(job.device):
            values = job.empty_values()
            if job.count:
                launch, slots, room = self._room(job.count, False, 0)
                for first, number in parts(job.count, launch.together(slots, job.count)):
                    self._align(launch, slots, room, 0, values, None, first, number)
            return values

    def values_and_sums(self, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        job = self.on
        x, f, width = job.x, job.f, job.y_steps * (job.d + 1)
        with on(job.device):
            values = job.empty_values()
            if job.count == 0:
                sums = torch.zeros((f, job.y_steps, job.d + 1), dtype=x.dtype, device=x.device)
                return values, sums[..., 0], sums[..., 1:]
            sums = torch.empty((f, job.y_steps, job.d + 1), dtype=x.dtype, device=x.device)
            if weights.dtype != x.dtype or weights.device != x.device or not weights.is_contiguous():
                weights = weights.to(dtype=x.dtype, device=x.device).contiguous()
            row = width * x.element_size()
            chunk = job.chunk(row)
            launch, slots, room = self._room(chunk, True, -(-chunk * row // 256) * 256)
            for begin, size in parts(job.count, chunk):
                for first, number in parts(size, launch.together(slots, size)):
                    partial = room.partial + first * row
                    self._align(launch, slots, room, partial, values, weights, begin + first, number)
                job.add_up(room.partial, sums, begin, size, width)
            return values, sums.select(2, 0), sums.narrow(2, 1, job.d)

    def _room(self, number: int, gradient: bool, partial: int) -> tuple[_Launch, int, _Room]:
        """Allocate memory for as many active pairs as fit."""
        job = self.on
        launch = _prepare(job.device, job.y_steps, job.x_steps, number, job.d, job.wide, gradient, job.band >= 0)
        each = launch.table + launch.sums + launch.edge
        slots, memory = job.room(launch.slots, each, partial + 16)
        table = memory.data_ptr() + partial
        sums = table + slots * launch.table
        ticket = sums + slots * launch.sums
        return launch, slots, _Room(memory, memory.data_ptr(), table, sums, ticket, ticket + 16)

    def _align(
        self,
        launch: _Launch,
        slots: int,
        room: _Room,
        partial: int,
        values: Tensor,
        weights: Tensor | None,
        first: int,
        number: int,
    ) -> None:
        """Compute values, and each pair's sums, of pairs `first` to `first + number`."""
        job, plan = self.on, launch.plan
        if launch.in_table:
            job.fill_costs(room.table, launch.table, plan.rows, first, number)
        blocks = number * plan.strips if plan.spread else min(slots, number)
        for number_of_pass, function in enumerate(launch.kernels):
            if plan.spread:
                room.reset(number_of_pass == 0)
            function.start(
                job.stream,
                (blocks, 1, 1),
                (32 * plan.warps, 1, 1),
                launch.shared,
                *job.addresses(),
                0 if weights is None else weights.data_ptr(),
                values.data_ptr(),
                partial,
                room.table,
                room.edge,
                room.sums,
                room.ticket,
                job.f,
                job.x_steps,
                job.y_steps,
                job.d,
                first,
                number,
                launch.table,
                job.band,
                1.0 / (self.gamma * _LN2),
                self.gamma * _LN2,
            )
        if launch.in_table and weights is not None:
            job.sum_moments(room.table, launch.table, plan.rows, first, number, weights, values, partial)


# ---------------------------------------------------------------------------------------------------- planning


@dataclass(frozen=True)
class _Plan:
    """How a table is divided among threads."""

    rows: int  # of the prototype, per thread
    warps: int  # per block
    strips: int  # blocks of rows per pair
    stages: int  # groups of 4 steps in shared memory during the backward pass
    spread: bool = False  # all strips at once, one per block; otherwise one after another

    def shared(self, wide: bool, tables: bool) -> int:
        """Return the bytes of shared memory per block: fetched steps, rings, sums (read two at a time)."""
        cell, real = (16, 8) if wide else (4, 4)
        fetched = self.stages * 4 * self.rows * 32 * cell if tables else 0
        return self.warps * fetched + (self.warps + 2) // 2 * 2 * 33 * real + (self.warps + 2) * 8


@dataclass(frozen=True)
class _Launch:
    """A plan, its successive launches, and its memory (bytes per active pair)."""

    plan: _Plan
    kernels: tuple[Kernel, ...]
    in_table: bool  # costs of many channels are read from the table
    shared: int
    table: int
    sums: int
    edge: int
    slots: int  # active pairs: as many as fill the card, or have a table of their own

    def together(self, slots: int, pairs: int) -> int:
        """Return the maximum number of pairs per launch."""
        return slots if self.in_table or self.plan.spread else pairs


_LONG = 1024  # steps of a prototype from which few pairs are spread over the card
_MANY = 4000  # number of pairs that fill a card with one warp each


@lru_cache(maxsize=1024)
def _plan(rows: int, pairs: int, channels: int, wide: bool, gradient: bool, card: Card) -> _Plan:
    """Choose rows per thread and warps per pair: few idle lanes at the table's end, few instructions beside the cells'."""
    stages = 0 if wide else 2
    if rows >= _LONG and 3 * pairs <= card.processors:
        strips = -(-rows // 256)
        return _Plan(2, -(-rows // (64 * strips)), strips, stages, True)
    tall = -(-rows // 128) * 4
    if not gradient and not wide and channels == 1 and tall <= 20 and pairs >= _MANY:
        return _Plan(tall, 1, 1, stages)  # nothing to pass between warps
    heights = [1, 2] if wide else [1, 2, 4, 8] if rows >= 1000 and channels <= 2 else [1, 2, 4]
    if channels > IN_REGISTERS and rows > 128:
        heights = heights[-1:]  # costs are written in wide pieces
    height = min(heights, key=lambda h: -(-rows // (32 * h)) * (33 * h + 30))  # groups · instructions per step
    groups = -(-rows // (32 * height))
    most = 16 if pairs < 4 * card.processors else 8
    while _Plan(height, most, 1, 2).shared(False, True) > card.shared:
        most //= 2
    strips = -(-groups // most)
    return _Plan(height, -(-groups // strips), strips, stages)


@lru_cache(maxsize=1024)
def _prepare(
    device: int, rows: int, columns: int, pairs: int, channels: int, wide: bool, gradient: bool, band: bool
) -> _Launch:
    here, in_table = card(device), channels > IN_REGISTERS
    inside = 1 if in_table else channels
    plan = _plan(rows, pairs, channels, wide, gradient, here)

    def compiled(passes: int) -> Kernel:
        return kernel(
            device,
            "soft_dtw",
            (
                ("REAL64", int(wide)),
                ("H", plan.rows),
                ("D", inside),
                ("TABLE", int(in_table)),
                ("GRAD", int(gradient)),
                ("BAND", int(band)),
                ("SPREAD", int(plan.spread)),
                ("PASS", passes),
                ("STAGES", plan.stages),
                ("MAXT", 128 if plan.warps <= 4 else 512),
            ),
        )

    kernels = tuple(compiled(k) for k in ((1, 2) if plan.spread and gradient else (1,) if plan.spread else (0,)))
    real = 8 if wide else 4
    shared, threads = plan.shared(wide, gradient or in_table), 32 * plan.warps
    resident = [here.processors * function.resident(threads, shared) for function in kernels]
    groups = plan.strips * plan.warps
    table = table_bytes(groups, plan.rows, columns, wide) if gradient or in_table else 0
    if plan.spread:
        sums, edge = 8 * plan.strips, (2 if gradient else 1) * plan.strips * columns * real
    else:
        sums, edge = 0, columns * real if plan.strips > 1 else 0
    if plan.spread or in_table:
        slots = max(1, min(pairs, TABLE_BYTES // max(table, 1)))
    else:
        slots = min(resident)
        waves = -(-pairs // slots)
        if waves <= 3:
            slots = -(-pairs // waves)  # equal numbers of pairs per block
    return _Launch(plan, kernels, in_table, shared, table, sums, edge, slots)
