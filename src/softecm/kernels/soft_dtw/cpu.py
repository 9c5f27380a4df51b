r"""Soft-DTW and DTW on the CPU: values, and the sums that give gradients and barycentres.

**The recursion.** With :math:`Z_{ij} = e^{-R_{ij}/\gamma}` the soft minimum becomes a plain sum,

.. math:: Z_{ij} = e^{-c_{ij}/\gamma}\,(Z_{i-1,j} + Z_{i,j-1} + Z_{i-1,j-1}),

with one exponential and no logarithm a cell. :math:`Z` leaves the range of any float, so it is kept as
mantissa × 2^exponent, in two numbers of the working type. The exponent is a float with an integer value: it cannot
overflow (float32 merely rounds it beyond 2^24, which costs a relative 6e-8 of the value, as rounding the costs does).
Mantissas drift and are brought back to [1, 2) every eighth diagonal. A far smaller relative error than in the log
domain comes for free, since the size of :math:`R` no longer eats the digits of its differences.

**The gradient.** Each of the three terms over their sum is the probability of having come from that neighbour; the
backward pass pushes a unit of mass from the last cell to the first along them: two are stored, the third is what
remains. Mass below 1e-12 (float32; 1e-140 in float64) is dropped: nothing depends on it, and denormal numbers would
cost a hundred cycles each.

**Lanes.** Cells of an anti-diagonal do not depend on each other. Series are copied so that the same step of several
pairs lies side by side, the second series of each pair reversed; a diagonal of a group of pairs is then one run of
memory in all operands, and the neighbours of a cell are the same run shifted by one group. Groups are sized so that a
diagonal's state stays in the first-level cache. Pairs in a group may differ in length: a cell beyond a pair's own end
is computed and never looked at, for dependencies only point back.

**Memory.** The table of probabilities is cut into parts that fit the second-level cache or the limit asked for; with
more than one part a first pass keeps the state at the cuts and a second recomputes part after part from the end.

**Rooms.** ``lanes`` has the vectors, ``passes`` the two passes, ``soft`` the kernel made of them; DTW is a rule of the
kernel in ``softecm.kernels.elastic``. ``blocks`` is how pairs are cut up, ``workers`` threads and memory. To save compile
time threads are Python's around a kernel without the interpreter lock, not Numba's `parallel=True`. Blocks of pairs and
the order in which their sums are added do not depend on the number of threads, so neither do results.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numba
import numpy as np
import torch
from torch import Tensor

from softecm.kernels.elastic import kernel as elastic
from softecm.kernels.elastic.rules import adtw
from softecm.kernels.soft_dtw import soft as soft_kernel
from softecm.kernels.soft_dtw.blocks import Frame, chunks, groups, ranks, room_for
from softecm.kernels.soft_dtw.checks import Pairs
from softecm.kernels.soft_dtw.workers import in_order
from softecm.kernels.types import Floats, Ints, Reals

MAX_BYTES = 256 * 2**20
"""Default limit on working memory, all threads together."""
FRAME = Frame(channels=3, steps=1, diagonals=11, state=6)
"""What `soft.soft_dtw` lays out."""
_BLOCK_CELLS = (2**18, 2**24)  # cells a call of a kernel handles: enough to pay for the call, few enough for Ctrl-C


_NONE = np.zeros(0)


class Kernel(Protocol):
    """What `soft.soft_dtw` and, once it has a rule, `elastic.elastic` have in common."""

    def __call__(
        self,
        x: Reals, y: Reals, x_lengths: Ints, y_lengths: Ints, ix: Ints, iy: Ints, target: Ints, weights: Floats,
        starts: Ints, gamma: float, band: int, ws: Reals, capacity: int, backward: bool, values: Floats, sums: Floats,
    ) -> None:  # fmt: skip
        """Fill values, and add to sums where `backward`."""
        ...


_SOFT: tuple[Kernel, Frame] = soft_kernel.soft_dtw, FRAME
_HARD: tuple[Kernel, Frame] = partial(elastic.elastic, adtw(0.0, 0.0), 1.0), elastic.FRAME


@dataclass(frozen=True)
class _Job:
    """All that a call of a kernel shares with the others."""

    kernel: Kernel
    x: Reals
    y: Reals
    x_lengths: Ints
    y_lengths: Ints
    gamma: float
    band: int  # -1: none
    n_threads: int
    max_bytes: int
    frame: Frame
    ragged: bool

    def run(self, ix: Ints, iy: Ints, weights: Floats, sums: Floats | None, *, each: bool = False) -> Floats:
        """Values of the given pairs; what they add to the sums of their prototypes, or to their own, is added there."""
        order = self._order(ix, iy, sort=not each)
        if order is not None:
            ix, iy = ix[order], iy[order]
            weights = weights[order] if len(weights) else weights
        lx, ly = self.x_lengths[ix], self.y_lengths[iy]

        itemsize, d = self.x.itemsize, self.x.shape[2]
        cells = float(lx @ ly) / len(ix)
        block = math.ceil(min(max(cells * len(ix) / 64, _BLOCK_CELLS[0]), _BLOCK_CELLS[1]) / cells)
        block = -(-block // 32) * 32 if block > 16 else 1 << (block - 1).bit_length()
        blocks = np.arange(0, len(ix), block)
        n_threads = max(1, min(self.n_threads, len(blocks)))
        tall, wide = np.maximum.reduceat(lx, blocks).tolist(), np.maximum.reduceat(ly, blocks).tolist()
        limit = self.max_bytes // n_threads
        rooms = {
            (n, m): room_for(n, m, d, itemsize, sums is not None, limit, self.frame) for n, m in set(zip(tall, wide))
        }
        n_threads = max(1, min(n_threads, self.max_bytes // max(room.total for room in rooms.values())))

        values = np.empty(len(ix))
        own = None if sums is None or not each else sums if order is None else np.zeros_like(sums)

        def solve(b: int, ws: Reals) -> tuple[Ints, Floats] | None:
            part = slice(blocks[b], blocks[b] + block)
            room = rooms[tall[b], wide[b]]
            starts = groups(lx[part], ly[part], room.lanes, self.band >= 0)
            touched, target = ranks(iy[part]) if own is None else (ix[:0], np.arange(len(ix[part])))
            room_here = (len(touched), wide[b], d + 1) if sums is not None else (0, 0, 0)
            added = np.zeros(room_here) if own is None else own[part]
            self.kernel(
                self.x, self.y, self.x_lengths, self.y_lengths, ix[part], iy[part], target, weights[part], starts,
                self.gamma, self.band, ws, room.table, sums is not None, values[part], added,
            )  # fmt: skip
            return None if sums is None or own is not None else (touched, added)

        def collect(result: tuple[Ints, Floats] | None) -> None:
            if result is not None and sums is not None:
                touched, added = result
                sums[touched, : added.shape[1]] += added

        memory = max(room.workspace for room in rooms.values())
        in_order(solve, collect, len(blocks), n_threads, memory, self.x.dtype)
        if order is None:
            return values
        if sums is not None and own is not None:
            sums[order] = own
        unsorted = np.empty_like(values)
        unsorted[order] = values
        return unsorted

    def _order(self, ix: Ints, iy: Ints, *, sort: bool) -> Ints | None:
        """Pairs of like lengths, then those of a prototype (where ``sort``), side by side; None: they are."""
        if self.ragged:
            by_length: Ints = np.lexsort((iy, self.x_lengths[ix], self.y_lengths[iy]))
            return by_length
        order: Ints | None = np.argsort(iy, kind="stable") if sort and bool((iy[1:] < iy[:-1]).any()) else None
        return order


def _lengths(lengths: Tensor | None, series: Tensor) -> Ints:
    if lengths is None:
        return np.full(series.shape[0], series.shape[1], dtype=np.int64)
    return np.ascontiguousarray(lengths.numpy(), dtype=np.int64)


def solve(
    kernel: Kernel,
    x: Tensor,
    x_lengths: Tensor | None,
    y: Tensor,
    y_lengths: Tensor | None,
    pairs: Pairs,
    weights: Tensor | None,
    gamma: float,
    band: int | None,
    n_threads: int | None,
    max_bytes: int,
    frame: Frame = FRAME,
    *,
    each: bool = False,
) -> tuple[Tensor, Tensor]:
    """Values of pairs, and what the kernel adds up for each prototype (f, Ly, d + 1) where there are weights.

    ``each``: for each pair instead (P, Ly, d + 1).
    """
    if x.dtype not in (torch.float32, torch.float64) or y.dtype != x.dtype:
        raise TypeError(
            f"x and y must both be float32 or both be float64; got {x.dtype} and {y.dtype}. Convert one of them."
        )
    if n_threads is None:
        n_threads = min(torch.get_num_threads(), numba.config.NUMBA_NUM_THREADS)
    (n, _, d), (f, steps, _) = x.shape, y.shape
    if band is not None and band >= max(x.shape[1], steps) - 1:
        band = None  # everything is inside
    job = _Job(
        kernel,
        x.detach().contiguous().numpy(),
        y.detach().contiguous().numpy(),
        _lengths(x_lengths, x),
        _lengths(y_lengths, y),
        float(gamma),
        -1 if band is None else int(band),
        n_threads,
        max_bytes,
        frame,
        x_lengths is not None or y_lengths is not None,
    )
    values = np.empty((n, f) if pairs is None else len(pairs[0]), dtype=job.x.dtype)
    sums = None if weights is None else np.zeros((len(weights) if each else f, steps, d + 1))
    factors = None if weights is None else weights.detach().to(torch.float64).numpy()
    for where, ix, iy in chunks(n, f, pairs):
        if len(ix) == 0:
            continue
        if factors is None:
            values[where] = job.run(ix, iy, _NONE, None)
            continue
        w = factors[where]
        if each:
            assert sums is not None and isinstance(where, np.ndarray)  # noqa: PT018 -- there are weights, and pairs
            values[where] = job.run(ix, iy, w, sums[where[0] : where[-1] + 1], each=True)
            continue
        if w.all():
            values[where] = job.run(ix, iy, w, sums)
            continue
        part = np.empty(len(ix))
        if w.any():
            part[w != 0] = job.run(ix[w != 0], iy[w != 0], w[w != 0], sums)
        part[w == 0] = job.run(ix[w == 0], iy[w == 0], _NONE, None)  # no gradient flows: the value alone is cheaper
        values[where] = part
    out = np.zeros((0, 0, d + 1)) if sums is None else sums
    return torch.from_numpy(values), torch.from_numpy(out)


def forward(
    x: Tensor,
    x_lengths: Tensor | None,
    y: Tensor,
    y_lengths: Tensor | None,
    pairs: Pairs,
    gamma: float,
    band: int | None,
    *,
    hard: bool = False,
    n_threads: int | None = None,
    max_bytes: int = MAX_BYTES,
) -> Tensor:
    """Soft-DTW (or, if `hard`, DTW) values of pairs of series.

    Parameters
    ----------
    x : Tensor (n, Lx, d)
        Series, padded; float32 or float64. What lies beyond a length is never read.
    x_lengths : Tensor (n,) of int64, or None
        Steps of each series; None: all of them.
    y, y_lengths
        The same for the f prototypes, (f, Ly, d).
    pairs : (Tensor, Tensor) or None
        Indices into x and y; None: every x with every y.
    gamma : float
        Smoothing, above 0.
    band : int or None
        Radius of the band (see `reference`).
    hard : bool
        Take the least cost instead of the soft minimum.
    n_threads : int or None
        Threads; None: as many as torch uses. Results do not depend on it.
    max_bytes : int
        Working memory of all threads together. Long series need some all the same (about 50 L^1.5 bytes a thread, twice
        that in float64).

    Returns
    -------
    Tensor
        (n, f) without ``pairs``, else (P,).
    """
    kernel, frame = _HARD if hard else _SOFT
    return solve(kernel, x, x_lengths, y, y_lengths, pairs, None, gamma, band, n_threads, max_bytes, frame)[0]


def forward_backward(
    x: Tensor,
    x_lengths: Tensor | None,
    y: Tensor,
    y_lengths: Tensor | None,
    pairs: Pairs,
    weights: Tensor,
    gamma: float,
    band: int | None,
    *,
    hard: bool = False,
    n_threads: int | None = None,
    max_bytes: int = MAX_BYTES,
) -> tuple[Tensor, Tensor, Tensor]:
    r"""Values, and the weighted sums over pairs that gradients and barycentres are made of.

    With E the expected alignment of a pair (an optimal one, if `hard`),
    :math:`W_{jt} = \sum_p w_p \sum_s E^p_{st}` and :math:`Y_{jt} = \sum_p w_p \sum_s E^p_{st} x_s` over the pairs p
    of prototype j; the gradient of the weighted sum of values in y is 2 (W y - Y), and Y / W is the next prototype of
    a majorise-minimise step. Parameters as in `forward`.

    Returns
    -------
    values : Tensor (n, f) or (P,)
    W : Tensor (f, Ly)
    Y : Tensor (f, Ly, d)
    """
    kernel, frame = _HARD if hard else _SOFT
    values, sums = solve(kernel, x, x_lengths, y, y_lengths, pairs, weights, gamma, band, n_threads, max_bytes, frame)
    w, moved = sums[..., :1], sums[..., 1:]
    if hard:  # half of the gradient, W y - Y; beyond its end a prototype may hold anything
        inside = torch.arange(y.shape[1]) < torch.from_numpy(_lengths(y_lengths, y))[:, None]
        moved = w * torch.where(inside[..., None], y.detach().double(), 0.0) - moved
    return values, w[..., 0].to(x.dtype), moved.to(x.dtype)


def each_pair(
    x: Tensor, x_lengths: Tensor | None, y: Tensor, pairs: tuple[Tensor, Tensor], gamma: float, band: int | None
) -> tuple[Tensor, Tensor]:
    """Soft-DTW of pairs (P,), and what each adds to its prototype's sums: W in channel 0, Y in the others (P, Ly, d + 1)."""
    ones = torch.ones(len(pairs[0]), dtype=torch.float64)
    kernel, frame = _SOFT
    values, sums = solve(kernel, x, x_lengths, y, None, pairs, ones, gamma, band, None, MAX_BYTES, frame, each=True)
    return values, sums.to(x.dtype)
