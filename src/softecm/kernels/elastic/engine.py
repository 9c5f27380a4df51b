"""One engine for Soft-DTW, DTW and all elastic distances of many pairs on the CPU (see ``native/elastic.c``).

Threads take blocks of pairs. Blocks, and the order in which their sums are added, do not depend on the number of
threads, so neither do results.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from softecm.kernels.elastic.rules import AlignmentTask, Rule
from softecm.kernels.types import Floats, Ints
from softecm.native.library import Int, Tasks, function, get_threads, share_out, status

MAX_BYTES = 256 * 2**20
"""Default limit of working memory, all threads together."""
_BLOCK_CELLS = (2**18, 2**22)  # cells of a block: large enough for little overhead, small enough for balance
_CALL_CELLS = 2**28  # cells per thread between two checks for Ctrl-C
_CHUNK_PAIRS = 2**20  # maximum number of pairs of series of many lengths whose indices are in memory

_ADDRESSES = ("x", "y", "x_lengths", "y_lengths", "ix", "iy", "at", "weights", "values", "sums", "rule", "partials")
_NUMBERS = (
    "n",
    "f",
    "x_steps",
    "y_steps",
    "d",
    "band",
    "moments",
    "each",
    "pairs",
    "block",
    "max_bytes",
    "turn",
    "collecting",
)


class _ElasticJob(ctypes.Structure):
    """What all blocks of a call share: ``Job`` in ``native/elastic.c``."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in _ADDRESSES),
        ("floor", ctypes.c_double),
        *((name, ctypes.c_int64) for name in _NUMBERS),
    )


_elastic = function("elastic", Tasks, ctypes.POINTER(_ElasticJob), Int, Int, Int, result=status)
_bytes_of_thread = function("elastic_bytes", ctypes.POINTER(_ElasticJob), Int, Int, result=Int)


@lru_cache(maxsize=256)
def numbers_of(rule: Rule) -> Floats:
    """Return a rule's numbers for the kernels."""
    return np.array(rule, dtype=np.float64)


def solve(
    x: Tensor,
    y: Tensor,
    weights: Tensor | None,
    task: AlignmentTask,
    *,
    floor: float = 1.0,
    moments: bool = False,
    each: bool = False,
    n_threads: int | None = None,
    max_bytes: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Return values of pairs of series and, with weights, the sums for gradients and barycentres.

    Parameters
    ----------
    x : Tensor (n, Lx, d)
        Series, padded; float32 or float64. Values beyond a length are never read.
    y : Tensor (f, Ly, d)
        Prototypes.
    weights : Tensor or None
        Shaped like the values; a zero skips the gradient. None: only values, unless ``each``.
    task : AlignmentTask
        The rule, the band, lengths and pairs.
    floor : float
        Shorter lengths give the curvature of this one.
    moments : bool
        For squares: sums of x, for barycentres, instead of the differences y - x, half a gradient.
    each : bool
        Sums for each pair, with weight 1, instead of each prototype.
    n_threads : int or None
        Threads; None: as many as torch uses. Results do not depend on it.
    max_bytes : int or None
        Working memory of all threads together; None: `MAX_BYTES`. Long series need a minimum (about 50 L^1.5 bytes per
        thread, twice that in float64).

    Returns
    -------
    values : Tensor (n, f) or (P,)
    sums : Tensor (f, Ly, d + 1) of float64, or (P, Ly, d + 1) of the type of x if ``each``
        Curvature in channel 0, moments or half gradients in the others; empty without weights.
    """
    if x.dtype not in (torch.float32, torch.float64) or y.dtype != x.dtype:
        raise TypeError(
            f"x and y must both be float32 or both be float64; got {x.dtype} and {y.dtype}. Convert one of them."
        )
    call = _Call(x, y, task, n_threads, MAX_BYTES if max_bytes is None else max_bytes)
    job = call.job
    job.floor, job.moments, job.each = floor, moments, each
    values = torch.empty((job.n, job.f) if task.pairs is None else task.pairs[0].shape, dtype=x.dtype)
    if each:
        sums = torch.zeros((values.numel(), job.y_steps, job.d + 1), dtype=x.dtype)
    else:
        sums = torch.zeros(
            (0, 0, job.d + 1) if weights is None else (job.f, job.y_steps, job.d + 1), dtype=torch.float64
        )
    if weights is not None:
        weights = weights.detach().to(torch.float64).contiguous()
    if values.numel():
        call.run(weights, values, sums if each or weights is not None else None)
    return values, sums


class _Call:
    """The common part of a call's runs over some of the pairs. Keeps the arrays alive that the job points to."""

    def __init__(self, x: Tensor, y: Tensor, task: AlignmentTask, n_threads: int | None, max_bytes: int):
        self.x, self.y, self.pairs = x.detach().contiguous(), y.detach().contiguous(), task.pairs
        self.lengths = tuple(None if t is None else t.contiguous() for t in (task.x_lengths, task.y_lengths))
        self.ragged = any(t is not None for t in self.lengths)
        self.rule, self.n_threads, self.max_bytes = numbers_of(task.rule), n_threads, max_bytes
        band = task.band
        job = self.job = _ElasticJob()
        (job.n, job.x_steps, job.d), (job.f, job.y_steps, _) = x.shape, y.shape
        job.band = -1 if band is None or band >= max(job.x_steps, job.y_steps) - 1 else band  # no band
        job.x, job.y, job.rule = self.x.data_ptr(), self.y.data_ptr(), self.rule.ctypes.data
        job.x_lengths, job.y_lengths = (None if t is None else t.data_ptr() for t in self.lengths)

    def run(self, weights: Tensor | None, values: Tensor, sums: Tensor | None) -> None:
        """Fill the values of pairs and add to the sums."""
        self.job.values, self.job.weights = values.data_ptr(), None if weights is None else weights.data_ptr()
        parts: list[tuple[Ints | None, Tensor | None]] = [(None, sums)]
        if weights is not None and not bool(weights.all()):  # without a gradient the value alone is cheaper
            flat = weights.numpy().reshape(-1)
            parts = [(np.flatnonzero(flat), sums), (np.flatnonzero(flat == 0), None)]
        for chosen, into in parts:
            if chosen is None and not self.ragged:
                ix, iy = self._pairs()
                self._blocks(ix, iy, None, values.numel(), self.job.x_steps * self.job.y_steps, into)
                continue
            total = values.numel() if chosen is None else len(chosen)
            for first in range(0, total, _CHUNK_PAIRS):
                last = min(total, first + _CHUNK_PAIRS)
                self._listed(np.arange(first, last) if chosen is None else chosen[first:last], into)

    def _pairs(self) -> tuple[Ints | None, Ints | None]:
        """Return both indices of pairs; None: all of them."""
        if self.pairs is None:
            return None, None
        return np.ascontiguousarray(self.pairs[0].numpy()), np.ascontiguousarray(self.pairs[1].numpy())

    def _listed(self, at: Ints, sums: Tensor | None) -> None:
        """Run pairs by their positions among the values, grouped by similar lengths."""
        ix, iy = self._pairs()
        ix, iy = (at // self.job.f, at % self.job.f) if ix is None or iy is None else (ix[at], iy[at])
        cells = float(self.job.x_steps * self.job.y_steps)
        if self.ragged:
            lx, ly = (
                np.full(len(at), steps) if t is None else t.numpy()[index]
                for t, steps, index in zip(self.lengths, (self.job.x_steps, self.job.y_steps), (ix, iy), strict=True)
            )
            order = np.lexsort((iy, lx, ly))
            ix, iy, at = ix[order], iy[order], at[order]
            cells = float(lx @ ly) / len(at)
        self._blocks(ix, iy, at, len(at), cells, sums)

    def _blocks(
        self, ix: Ints | None, iy: Ints | None, at: Ints | None, count: int, cells: float, sums: Tensor | None
    ) -> None:
        """Split pairs into blocks and share them among threads."""
        job, size = self.job, self.x.element_size()
        job.ix, job.iy, job.at = (None if t is None else t.ctypes.data for t in (ix, iy, at))
        job.sums = None if sums is None else sums.data_ptr()
        block = int(min(max(cells * count / 64, _BLOCK_CELLS[0]), _BLOCK_CELLS[1]) / cells) + 1
        job.block = -(-block // 64) * 64 if block > 32 else 1 << (block - 1).bit_length()
        job.pairs, blocks = count, -(-count // job.block)
        partials = np.zeros(blocks, dtype=np.int64)
        job.partials, job.turn = partials.ctypes.data, 0
        threads = self._threads(blocks)
        job.max_bytes = self.max_bytes // threads
        step = max(1, int(threads * _CALL_CELLS / (job.block * cells)))
        for first in range(0, blocks, step):
            share_out(_elastic, threads > 1, job, size, first, min(blocks, first + step), threads=threads)

    def _threads(self, blocks: int) -> int:
        """Return as many threads as there are blocks and memory for."""
        wanted = 1 if blocks == 1 else self.n_threads or get_threads(torch.get_num_threads())
        threads = min(wanted, blocks)
        if threads == 1:
            return 1
        need: int = _bytes_of_thread(self.job, self.x.element_size(), self.max_bytes // threads)
        return max(1, min(threads, self.max_bytes // need))
