"""How pairs are cut up: chunks whose indices are held at once, groups that share a kernel's lanes, and their memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from softecm.kernels.compiling import compiled
from softecm.kernels.soft_dtw.checks import Pairs
from softecm.kernels.types import Ints

Where: TypeAlias = Ints | tuple[Ints, Ints]
"""Where the values of a chunk belong: positions in a list of pairs, or rows and columns."""

_jit = compiled()

_CHUNK_PAIRS = 2**20  # pairs whose indices are held at once
_TABLE_BYTES = 16 * 2**20  # a table this large is kept whole


def _lane_count(cells: int, itemsize: int) -> int:
    """Pairs to a group, so that a diagonal of `cells` fills vectors while its state stays in the first-level cache."""
    fit = max(1, 8000 // itemsize // cells)
    most = (64 if cells > 32 else 256) // itemsize  # very short ones: several vectors, to pay for the loop around them
    return min(most, 1 << (fit.bit_length() - 1))


@dataclass(frozen=True)
class Room:
    """Memory for a group of pairs: lanes, elements of the table, bytes of the workspace, bytes of everything."""

    lanes: int
    table: int
    workspace: int
    total: int


@dataclass(frozen=True)
class Frame:
    """How many buffers a kernel keeps: as long as a series, once a channel or once; as long as a diagonal; of its state."""

    channels: int
    steps: int
    diagonals: int
    state: int


def room_for(lx: int, ly: int, d: int, itemsize: int, backward: bool, max_bytes: int, frame: Frame) -> Room:
    """Fit a group into max_bytes, or else one pair into as little as it needs.

    Where the table must be cut, it and the states kept at its cuts are balanced: they grow as the length to the power
    1.5, not 2.
    """
    lanes = _lane_count(min(lx, ly), itemsize)
    while True:
        width = 64 // itemsize
        slots = (lx + 2) * lanes + 2 * width
        linear = (frame.channels * d + frame.steps) * (max(lx, ly) * lanes + 2 * width) + frame.diagonals * slots
        table = 2 * (lx * ly * lanes + width * (lx + ly)) if backward else 0
        states = 0
        if table * itemsize > min(_TABLE_BYTES, max_bytes // 2):
            whole, row = table, 8 * (min(lx, ly) * lanes + width)
            table = max(2**20 // itemsize, int((float(frame.state) * slots * whole) ** 0.5), row)
            states = frame.state * slots * (2 * whole // table + 2)
        total = (linear + table + states) * itemsize
        if lanes == 1 or total <= max_bytes:
            return Room(lanes, table, (linear + table) * itemsize, total)
        lanes //= 2


@_jit
def groups(lx: Ints, ly: Ints, lanes: int, same: bool) -> Ints:
    """Where to cut sorted pairs into groups of up to `lanes` whose common rectangle is at most half empty."""
    starts = np.zeros(len(lx) + 1, np.int64)
    count = 0
    n, m = lx[0], ly[0]
    for p in range(1, len(lx)):
        first = starts[count]
        wide, tall = max(n, lx[p]), max(m, ly[p])
        if same:
            fits = n == wide and m == tall and lx[p] == n and ly[p] == m
        else:
            fits = wide * tall <= 2 * min(lx[first] * ly[first], lx[p] * ly[p])
        if fits and p - first < lanes:
            n, m = wide, tall
        else:
            count += 1
            starts[count] = p
            n, m = lx[p], ly[p]
    starts[count + 1] = len(lx)
    used: Ints = starts[: count + 2]
    return used


def chunks(n: int, f: int, pairs: Pairs) -> Iterator[tuple[Where, Ints, Ints]]:
    """Parts of the pairs: where their values go, and their two indices."""
    if pairs is None:
        rows = max(1, _CHUNK_PAIRS // max(f, 1))
        for first in range(0, n, rows):
            part = np.arange(first, min(n, first + rows))
            ix, iy = np.tile(part, f), np.repeat(np.arange(f), len(part))  # prototype by prototype
            yield (ix, iy), ix, iy
    else:
        ix, iy = (index.numpy() for index in pairs)
        for first in range(0, len(ix), _CHUNK_PAIRS):
            part = np.arange(first, min(len(ix), first + _CHUNK_PAIRS))
            yield part, ix[part], iy[part]


def ranks(index: Ints) -> tuple[Ints, Ints]:
    """Different values of an index, and which of them each is."""
    first, last = int(index[0]), int(index[-1])
    if 0 <= last - first < len(index) and np.all(index[1:] >= index[:-1]):  # sorted and dense: no need to look closer
        return np.arange(first, last + 1), index - first
    touched, rank = np.unique(index, return_inverse=True)
    return touched, rank
