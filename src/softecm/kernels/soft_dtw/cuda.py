"""Soft-DTW on an NVIDIA GPU: values and prototype gradients of many pairs at once.

The kernel is CUDA C++ (``kernels/cuda/soft_dtw.cu``, which explains the algorithm), compiled at run time by NVRTC for
the card at hand and for the shape asked for; no ``nvcc`` is needed. Compiled code is kept in a cache folder
(``SOFTECM_CACHE``, else the user's cache). Work is queued on torch's current stream. Results are equal from run
to run: every pair writes sums of its own, and these are added in a fixed order.

``softecm.kernels.soft_dtw`` is the public door; this module is what it opens when the tensors live on a GPU.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from softecm.kernels.cuda_compile import Card, Kernel, available, card, kernel, on
from softecm.kernels.soft_dtw.checks import Pairs, Rows

__all__ = ["available", "forward", "forward_backward"]


_GROUP = 8  # channels handled in one go; more go through the table in groups of this many
_LN2 = math.log(2.0)
_PARTIAL_BYTES = 1 << 29  # the pairs' own gradient sums, per chunk; fixed, so that the order of addition is


def forward(
    x: Tensor,
    x_lengths: Tensor | None,
    y: Tensor,
    y_lengths: Tensor | None,
    pairs: Pairs,
    gamma: float,
    band: int | None,
) -> Tensor:
    """Soft-DTW values of pairs of series on the GPU.

    Parameters
    ----------
    x : Tensor (n, Lx, d)
        Series, padded; float32 or float64 on a CUDA device. What lies beyond a length is never read.
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
    return _Job(x, x_lengths, y, y_lengths, pairs, gamma, band).values()


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
    """Soft-DTW values, and what the gradient for the prototypes is made of.

    With E the expected alignment of a pair, ``W[g, t]`` is the sum over the pairs of prototype g of
    weight · Σ_s E[s, t] and ``Y[g, t]`` that of weight · Σ_s E[s, t] x[s]; the gradient of Σ weight · value in y
    is ``2 (W[..., None] * y - Y)``.

    Parameters
    ----------
    x, x_lengths, y, y_lengths, pairs, gamma, band
        As in `forward`.
    weights : Tensor
        One a pair, shaped as the values; may be negative.

    Returns
    -------
    values, W, Y : Tensor
        (n, f) or (P,); (f, Ly); (f, Ly, d).
    """
    return _Job(x, x_lengths, y, y_lengths, pairs, gamma, band).values_and_sums(weights)


# ---------------------------------------------------------------------------------------------------- launching


class _Job:
    """One call: the tensors checked, and the sizes the kernels want."""

    def __init__(
        self,
        x: Tensor,
        x_lengths: Tensor | None,
        y: Tensor,
        y_lengths: Tensor | None,
        pairs: Pairs,
        gamma: float,
        band: int | None,
    ) -> None:
        if x.dtype not in (torch.float32, torch.float64) or y.dtype != x.dtype:
            raise TypeError(
                f"x and y must both be float32 or both be float64; got {x.dtype} and {y.dtype}. Convert one of them."
            )
        self.x, self.y = x.contiguous(), y.contiguous()
        self.lengths = tuple(None if t is None else t.contiguous() for t in (x_lengths, y_lengths))
        self.pairs = None if pairs is None else (pairs[0].contiguous(), pairs[1].contiguous())
        # Row g with prototype g: the sums' pairs lie as those of one object with every prototype, there is nothing to sort.
        self.by_rows = isinstance(pairs, Rows)
        self.gamma, self.band = float(gamma), -1 if band is None else int(band)
        if self.band >= max(x.shape[1], y.shape[1]) - 1:
            self.band = -1  # everything is inside
        self.n, self.x_steps, self.d = x.shape
        self.f, self.y_steps, _ = y.shape
        self.count = self.n * self.f if pairs is None else pairs[0].numel()
        self.shape = (self.n, self.f) if pairs is None else (self.count,)
        self.wide = x.dtype == torch.float64
        self.device = x.device.index
        self.stream = torch.cuda.current_stream(x.device).cuda_stream

    def values(self) -> Tensor:
        with on(self.device):
            values = torch.empty(self.shape, dtype=self.x.dtype, device=self.x.device)
            if self.count:
                launch, slots, work = self._room(self.count, False, 0)
                self._align(launch, slots, work, 0, values, None, 0, self.count)
            return values

    def values_and_sums(self, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, f, width = self.x, self.f, self.y_steps * (self.d + 1)
        with on(self.device):
            values = torch.empty(self.shape, dtype=x.dtype, device=x.device)
            if self.count == 0:
                sums = torch.zeros((f, self.y_steps, self.d + 1), dtype=x.dtype, device=x.device)
                return values, sums[..., 0], sums[..., 1:]
            sums = torch.empty((f, self.y_steps, self.d + 1), dtype=x.dtype, device=x.device)
            if weights.dtype != x.dtype or weights.device != x.device or not weights.is_contiguous():
                weights = weights.to(dtype=x.dtype, device=x.device).contiguous()
            row = width * x.element_size()
            whole = (
                1 if self.pairs is not None and not self.by_rows else f
            )  # a chunk holds whole rows of the (n, f) grid
            chunk = min(self.count, max(1, _PARTIAL_BYTES // (row * whole)) * whole)
            launch, slots, work = self._room(chunk, True, -(-chunk * row // 256) * 256)
            partial = work.data_ptr()
            for first in range(0, self.count, chunk):
                number = min(chunk, self.count - first)
                self._align(launch, slots, work, partial, values, weights, first, number)
                self._add_up(partial, sums, first, number, width)
            return values, sums.select(2, 0), sums.narrow(2, 1, self.d)

    def _room(self, number: int, gradient: bool, partial: int) -> tuple[_Launch, int, Tensor]:
        """Scratch memory: the pairs' sums, then tables for as many pairs in flight as what is free allows."""
        launch = _prepare(self.device, self.y_steps, self.x_steps, number, self.d, self.wide, gradient, self.band >= 0)
        slots, each = launch.slots, launch.table + launch.edge
        while True:
            try:
                return launch, slots, torch.empty(partial + slots * each, dtype=torch.uint8, device=self.x.device)
            except torch.OutOfMemoryError:
                if slots == 1:
                    raise MemoryError(
                        f"one pair of {self.y_steps} by {self.x_steps} steps needs {each / 2**30:.1f} GiB of GPU "
                        f"memory (and the sums {partial / 2**30:.1f}), more than is free. Shorten the series "
                        "(resample them), free memory on the card, use float32, or use device='cpu'."
                    ) from None
                slots = (slots + 1) // 2

    def _align(
        self,
        launch: _Launch,
        slots: int,
        work: Tensor,
        partial: int,
        values: Tensor,
        weights: Tensor | None,
        first: int,
        number: int,
    ) -> None:
        """Values, and each pair's sums, of pairs `first` to `first + number`."""
        end = work.data_ptr() + work.numel()
        table = end - slots * (launch.table + launch.edge)
        ix, iy = (0, 0) if self.pairs is None else (self.pairs[0].data_ptr(), self.pairs[1].data_ptr())
        x_lengths, y_lengths = self.lengths
        launch.kernel.start(
            self.stream,
            (min(slots, number), 1, 1),
            (32 * launch.plan.warps, 1, 1),
            launch.shared,
            self.x.data_ptr(),
            0 if x_lengths is None else x_lengths.data_ptr(),
            self.y.data_ptr(),
            0 if y_lengths is None else y_lengths.data_ptr(),
            ix,
            iy,
            0 if weights is None else weights.data_ptr(),
            values.data_ptr(),
            partial,
            table,
            table + slots * launch.table,
            self.f,
            self.x_steps,
            self.y_steps,
            self.d,
            first,
            number,
            launch.table,
            self.band,
            1.0 / (self.gamma * _LN2),
            self.gamma * _LN2,
        )

    def _add_up(self, partial: int, sums: Tensor, first: int, number: int, width: int) -> None:
        """Add the pairs' sums up by prototype, in a fixed order."""
        order = start = None
        if self.pairs is not None and not self.by_rows:
            ids, order = torch.sort(self.pairs[1][first : first + number], stable=True)
            start = torch.searchsorted(ids, torch.arange(self.f + 1, device=ids.device))
        members = -(-number // self.f)
        parts = min(64, members // 1024) if members >= 4096 else 1
        columns = min(-(-width // 32), 65535)
        add = kernel(self.device, "sum_by_prototype", (("REAL64", int(self.wide)),))
        into = sums if parts == 1 else sums.new_empty((parts, self.f, width))
        add.start(
            self.stream,
            (self.f, columns, parts),
            (32, 16, 1),
            0,
            partial,
            0 if order is None else order.data_ptr(),
            0 if start is None else start.data_ptr(),
            into.data_ptr(),
            self.f,
            members,
            width,
            int(first > 0 and parts == 1),
        )
        if parts > 1:
            again = (into.data_ptr(), 0, 0, sums.data_ptr(), self.f, parts, width, int(first > 0))
            add.start(self.stream, (self.f, columns, 1), (32, 16, 1), 0, *again)


# ---------------------------------------------------------------------------------------------------- planning


@dataclass(frozen=True)
class _Plan:
    """How a table is spread over threads."""

    rows: int  # of the prototype, in one thread
    warps: int  # a block, that is a pair
    strips: int  # blocks of rows, one after the other
    stages: int  # groups of 4 steps the backward pass holds in shared memory

    def shared(self, wide: bool, gradient: bool) -> int:
        """Bytes of shared memory a block needs: fetched steps, rings, sums (read two at a time)."""
        cell, real = (16, 8) if wide else (4, 4)
        fetched = self.stages * 4 * self.rows * 32 * cell if gradient else 0
        return self.warps * fetched + (self.warps + 2) // 2 * 2 * 33 * real + (self.warps + 2) * 8


@dataclass(frozen=True)
class _Launch:
    """A plan, its kernel, and the memory it wants (bytes a pair in flight)."""

    plan: _Plan
    kernel: Kernel
    shared: int
    table: int
    edge: int
    slots: int  # pairs in flight that fill the card


@lru_cache(maxsize=1024)
def _plan(rows: int, pairs: int, channels: int, wide: bool, card: Card) -> _Plan:
    """Rows a thread and warps a pair: little idle at the table's end, few instructions beside the cells' own."""
    heights = (1, 2) if wide else (1, 2, 4, 8) if rows >= 1000 and channels <= 2 else (1, 2, 4)
    height = min(heights, key=lambda h: -(-rows // (32 * h)) * (33 * h + 30))  # groups · instructions a step
    groups = -(-rows // (32 * height))
    most = 16 if pairs < 4 * card.processors else 8
    while _Plan(height, most, 1, 2).shared(False, True) > card.shared:
        most //= 2
    strips = -(-groups // most)
    return _Plan(height, -(-groups // strips), strips, 0 if wide else 2)


@lru_cache(maxsize=1024)
def _prepare(
    device: int, rows: int, columns: int, pairs: int, channels: int, wide: bool, gradient: bool, band: bool
) -> _Launch:
    here, inside = card(device), min(channels, _GROUP)
    plan = _plan(rows, pairs, inside, wide, here)
    found = kernel(
        device,
        "soft_dtw",
        (
            ("REAL64", int(wide)),
            ("H", plan.rows),
            ("D", inside),
            ("MORE", int(channels > _GROUP)),
            ("GRAD", int(gradient)),
            ("BAND", int(band)),
            ("STAGES", plan.stages),
            ("MAXT", 128 if plan.warps <= 4 else 512),
        ),
    )
    shared, threads = plan.shared(wide, gradient), 32 * plan.warps
    cells = plan.strips * plan.warps * (columns + 31) * plan.rows * 32 if gradient or channels > _GROUP else 0
    slots = here.processors * found.resident(threads, shared)
    waves = -(-pairs // slots)
    if waves <= 3:
        slots = -(-pairs // waves)  # every block the same number of pairs
    table, edge = cells * (16 if wide else 4), columns * (8 if wide else 4) if plan.strips > 1 else 0
    return _Launch(plan, found, shared, table, edge, slots)
