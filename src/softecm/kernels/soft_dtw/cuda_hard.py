"""DTW on an NVIDIA GPU: values of many pairs at once (see the algorithm in ``kernels/cuda/dtw.cu``)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from softecm.kernels.cuda_compile import Card, Kernel, card, kernel, on
from softecm.kernels.cuda_pairs import IN_REGISTERS, TABLE_BYTES, PairsOnCard, table_bytes
from softecm.kernels.series_checks import Pairs

__all__ = ["forward"]

_WARPS = 4  # per block; they work independently


def forward(
    x: Tensor,
    x_lengths: Tensor | None,
    y: Tensor,
    y_lengths: Tensor | None,
    pairs: Pairs,
    band: int | None,
) -> Tensor:
    """Return DTW values of pairs of series on the GPU; parameters and result as in `cuda.forward`, without gamma."""
    job = PairsOnCard(x, x_lengths, y, y_lengths, pairs, band)
    with on(job.device):
        values = job.empty_values()
        if job.count == 0:
            return values
        launch = _prepare(job.device, job.y_steps, job.x_steps, job.count, job.d, job.wide, job.band >= 0)
        chunk = max(1, min(job.count, TABLE_BYTES // launch.table)) if launch.table else job.count
        blocks = min(-(-chunk // launch.plan.pairs_a_block), launch.blocks)
        edge = blocks * _WARPS * launch.edge
        work = torch.empty(chunk * launch.table + edge, dtype=torch.uint8, device=x.device)
        for first in range(0, job.count, chunk):
            number = min(chunk, job.count - first)
            if launch.table:
                job.fill_costs(work.data_ptr(), launch.table, launch.plan.rows, first, number)
            launch.kernel.start(
                job.stream,
                (min(blocks, -(-number // launch.plan.pairs_a_block)), 1, 1),
                (32 * _WARPS, 1, 1),
                0,
                *job.addresses(),
                values.data_ptr(),
                work.data_ptr(),
                work.data_ptr() + chunk * launch.table,
                job.f,
                job.x_steps,
                job.y_steps,
                first,
                number,
                launch.table,
                job.band,
            )
        return values


@dataclass(frozen=True)
class _HardPlan:
    """How a table is divided among threads."""

    lanes: int  # of a warp, per pair
    rows: int  # of the prototype, per thread
    strips: int  # blocks of rows, one after another

    @property
    def pairs_a_block(self) -> int:
        return _WARPS * 32 // self.lanes


@dataclass(frozen=True)
class _HardLaunch:
    """A plan, its kernel, and its memory (bytes per pair, bytes per warp)."""

    plan: _HardPlan
    kernel: Kernel
    table: int
    edge: int
    blocks: int  # maximum number of active blocks


def _plan(rows: int, columns: int, pairs: int, channels: int, wide: bool, band: bool, card: Card) -> _HardPlan:
    """Choose lanes per pair and rows per lane: few idle lanes, few instructions beside the cells', a full card."""
    if channels > IN_REGISTERS:
        height = 2 if wide else 4
        return _HardPlan(32, height, -(-rows // (32 * height)))
    most = 64 // ((channels + 1 + 2 * band) * (2 if wide else 1))
    heights = [h for h in (1, 2, *range(4, 33, 4)) if h <= max(4, most)]

    def cycles(plan: _HardPlan) -> float:
        steps = plan.strips * (columns + plan.lanes)
        a_cell = (2 * channels + 1 + 3 * band) * (4 if wide else 1)
        busy = steps * (a_cell * plan.rows + 6) * pairs * plan.lanes / 32 / (4 * card.processors)
        return busy + steps * ((10 if not wide else 20) * plan.rows + 40)

    plans = [_HardPlan(lanes, h, -(-rows // (lanes * h))) for lanes in (4, 8, 16, 32) for h in heights]
    return min((p for p in plans if p.strips == 1 or p.lanes == 32), key=cycles)


@lru_cache(maxsize=1024)
def _prepare(device: int, rows: int, columns: int, pairs: int, channels: int, wide: bool, band: bool) -> _HardLaunch:
    here, in_table = card(device), channels > IN_REGISTERS
    plan = _plan(rows, columns, pairs, channels, wide, band, here)
    size = plan.rows * (1 if in_table else channels + 1) * (2 if wide else 1)
    compiled = kernel(
        device,
        "dtw",
        (
            ("REAL64", int(wide)),
            ("G", plan.lanes),
            ("H", plan.rows),
            ("D", 1 if in_table else channels),
            ("TABLE", int(in_table)),
            ("STRIPS", int(plan.strips > 1)),
            ("BAND", int(band)),
            ("BLOCKS", _blocks(size, band)),
        ),
    )
    needed = -(-pairs // plan.pairs_a_block)
    edge = columns * (8 if wide else 4) if plan.strips > 1 else 0
    blocks = min(needed, here.processors * compiled.resident(32 * _WARPS, 0)) if edge else needed
    return _HardLaunch(
        plan, compiled, table_bytes(plan.strips, plan.rows, columns, wide) if in_table else 0, edge, blocks
    )


def _blocks(size: int, band: bool) -> int:
    """Return the blocks per multiprocessor, if a thread stores this many numbers: more would spill registers."""
    return 3 if band else 4 if size > 40 else 6
