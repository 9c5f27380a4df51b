"""The forward and the backward pass over anti-diagonals, and the simple moves around them.

One array holds everything: offsets x0, y0, z0 … into it, each channel or buffer a stride apart. ``cpu`` explains the
recursion and the layout.
"""

from __future__ import annotations

import numpy as np

from softecm.kernels.compiling import compiled
from softecm.kernels.soft_dtw.lanes import (
    exp2_fraction,
    exp2_whole,
    exponent,
    fma,
    keep,
    load,
    mantissa,
    maximum,
    reciprocal,
    rint,
    splat,
    store,
)
from softecm.kernels.types import Ints, Real, Reals

_jit = compiled(cache=False)


@_jit
def span(k: int, lx: int, ly: int, reach: int) -> tuple[int, int]:
    """First and last row on anti-diagonal k; |i (m-1) - j (n-1)| ≤ reach solved for i. Empty: last = first - 1."""
    lo = max(0, k - ly + 1)
    hi = min(lx - 1, k)
    if reach >= 0 and lx + ly > 2:
        lo = max(lo, -((reach - k * (lx - 1)) // (lx + ly - 2)))
        hi = min(hi, (k * (lx - 1) + reach) // (lx + ly - 2))
    return lo, hi


@_jit
def fill(ws: Reals, begin: int | np.int64, end: int, value: Real) -> None:
    """Write one value into a stretch of memory."""
    v = splat(value)
    width = 64 // ws.itemsize
    for q in range(begin, end - width + 1, width):
        store(ws, q, v)
    for q in range(max(begin, end - width), end):
        ws[q] = value


@_jit
def sized(
    x_lengths: Ints, y_lengths: Ints, ix: Ints, iy: Ints, first: int, rows: Ints, ends: Ints
) -> tuple[int, int, int]:
    """Steps of x and last diagonal of each pair, into `rows` and `ends`; the most steps of x, of y, and of diagonals."""
    lx = x_lengths[ix[first]]  # not 0: Numba would compile what it is passed to for the literal as well
    ly = y_lengths[iy[first]]
    last = lx + ly - 1
    for lane in range(len(rows)):
        n = x_lengths[ix[first + lane]]
        m = y_lengths[iy[first + lane]]
        rows[lane] = n
        ends[lane] = n + m - 2
        lx = max(lx, n)
        ly = max(ly, m)
        last = max(last, n + m - 1)
    return lx, ly, last


@_jit
def lay_side_by_side(
    ws: Reals, x: Reals, y: Reals, ix: Ints, iy: Ints, first: int, rows: Ints, ends: Ints,
    xs: int, y0: int, ys: int, ly: int,
) -> None:  # fmt: skip
    """A group's series, the same step of all pairs in a row; those of y, from `y0` on, from their ends."""
    group = len(rows)
    for lane in range(group):
        a = x[ix[first + lane]]
        for c in range(x.shape[2]):
            for i in range(rows[lane]):
                ws[c * xs + i * group + lane] = a[i, c]
        a = y[iy[first + lane]]
        for c in range(x.shape[2]):
            for j in range(ends[lane] - rows[lane] + 2):
                ws[y0 + c * ys + (ly - 1 - j) * group + lane] = a[j, c]


@_jit
def advance(
    ws: Reals, begin: int, end: int, lx: int, ly: int, reach: int, group: int, d: int, scale: Real,
    xs: int, ys: int, z0: int, zs: int, table: int, stored: bool,
) -> int:  # fmt: skip
    """Diagonals begin to end; returns where the table of probabilities now ends.

    Buffers hold row i in slot i + 1. After each diagonal the slots next to its two ends are emptied: a neighbour that
    is outside the rectangle or the band is read as zero, and what the last vector wrote beyond never counts.
    """
    width = 64 // ws.itemsize
    scales = splat(scale)
    zero = ws.dtype.type(0)
    far = ws.dtype.type(-1e38)
    costs = z0 + 6 * zs
    for k in range(begin, end):
        lo, hi = span(k, lx, ly, reach)
        count = (hi - lo + 1) * group
        size = (count + width - 1) // width * width
        x = lo * group
        y = d * xs + (ly - 1 - k + lo) * group
        for q in range(0, size, width):
            gap = load(ws, x + q) - load(ws, y + q)
            store(ws, costs + q, gap * gap)
        for c in range(1, d):
            for q in range(0, size, width):
                gap = load(ws, x + c * xs + q) - load(ws, y + c * ys + q)
                store(ws, costs + q, fma(gap, gap, load(ws, costs + q)))

        slot = (lo + 1) * group
        new = z0 + (k % 3) * 2 * zs + slot
        one = z0 + ((k + 2) % 3) * 2 * zs + slot
        two = z0 + ((k + 1) % 3) * 2 * zs + slot - group
        for q in range(0, size, width):
            up = load(ws, one + zs - group + q)
            left = load(ws, one + zs + q)
            across = load(ws, two + zs + q)
            top = maximum(maximum(up, left), across)
            a = load(ws, one - group + q) * exp2_whole(up - top)
            b = load(ws, one + q) * exp2_whole(left - top)
            total = fma(load(ws, two + q), exp2_whole(across - top), a + b)
            cost = load(ws, costs + q) * scales  # in powers of two
            whole = rint(cost)
            store(ws, new + q, total * exp2_fraction(whole - cost))
            store(ws, new + zs + q, top - whole)
            if stored:
                r = reciprocal(total)
                store(ws, table + q, a * r)
                store(ws, table + size + q, b * r)
        if stored:
            table += 2 * size
        if k % 8 == 7:
            for q in range(new, new + size, width):
                m = load(ws, q)
                store(ws, q, mantissa(m))
                store(ws, q + zs, load(ws, q + zs) + exponent(m))
            for q in range(one, one + size, width):
                m = load(ws, q)
                store(ws, q, mantissa(m))
                store(ws, q + zs, load(ws, q + zs) + exponent(m))
        for q in range(new - group, new):
            ws[q] = zero
            ws[q + zs] = far
        for q in range(new + count, new + count + group):
            ws[q] = zero
            ws[q + zs] = far
    return table


@_jit
def retreat(
    ws: Reals, begin: int, end: int, lx: int, ly: int, reach: int, group: int, d: int,
    xs: int, f0: int, zs: int, w0: int, ys: int, table: int, ends: Ints, rows: Ints,
) -> None:  # fmt: skip
    """Diagonals end - 1 down to begin: the mass E of each cell, added to the sums of its column, pushed on.

    Three flows: to the row above, to the column before, across. Each is written at the slot it comes from, over what
    the diagonal before (two before, for the last) left there, which has just been read.
    """
    width = 64 // ws.itemsize
    zero = ws.dtype.type(0)
    mass, up, left = f0, f0 + zs, f0 + 2 * zs
    for k in range(end - 1, begin - 1, -1):
        for lane in range(group):
            if ends[lane] == k:
                ws[up + (rows[lane] + 1) * group + lane] = 1
        lo, hi = span(k, lx, ly, reach)
        slot = (lo + 1) * group
        across = f0 + (3 + k % 2) * zs
        x = lo * group
        w = w0 + (ly - 1 - k + lo) * group
        count = (hi - lo + 1) * group
        size = (count + width - 1) // width * width
        table -= 2 * size
        for q in range(0, size, width):
            e = load(ws, up + slot + group + q) + load(ws, left + slot + q)
            e = keep(e + load(ws, across + slot + group + q), count - q)
            a = e * load(ws, table + q)
            b = e * load(ws, table + size + q)
            store(ws, up + slot + q, a)
            store(ws, left + slot + q, b)
            store(ws, across + slot + q, e - a - b)
            store(ws, w + q, load(ws, w + q) + e)
            store(ws, w + ys + q, fma(e, load(ws, x + q), load(ws, w + ys + q)))
            store(ws, mass + q, e)
        for c in range(1, d):
            for q in range(0, size, width):
                o = w + (c + 1) * ys + q
                store(ws, o, fma(load(ws, mass + q), load(ws, x + c * xs + q), load(ws, o)))
        for q in range(slot - group, slot):
            ws[up + q] = zero
            ws[left + q] = zero
            ws[across + q] = zero
        for q in range(slot + count, slot + count + group):
            ws[up + q] = zero
            ws[left + q] = zero
            ws[across + q] = zero


@_jit
def cut(last: int, lx: int, ly: int, reach: int, group: int, width: int, capacity: int, cuts: Ints) -> int:
    """Diagonals at which the table of probabilities would overflow; returns the number of parts."""
    parts = 1
    used = 0
    cuts[0] = 0
    for k in range(last):
        lo, hi = span(k, lx, ly, reach)
        size = 2 * (((hi - lo + 1) * group + width - 1) // width * width)
        if used > 0 and used + size > capacity:
            cuts[parts] = k
            parts += 1
            used = 0
        used += size
    cuts[parts] = last
    return parts
