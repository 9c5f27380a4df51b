"""The forward and the backward pass over anti-diagonals, for any rule.

One array holds everything; `At` says where. Buffers hold row i in slot i + 1, lanes of a group side by side, the second
series reversed (``softecm.kernels.soft_dtw.cpu`` explains why).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from softecm.kernels.compiling import compiled
from softecm.kernels.elastic.rules import Rule
from softecm.kernels.soft_dtw.lanes import (
    below,
    exp2_fraction,
    exp2_whole,
    exponent,
    fma,
    keep,
    load,
    magnitude,
    mantissa,
    maximum,
    minimum,
    reciprocal,
    rint,
    root,
    splat,
    store,
)
from softecm.kernels.soft_dtw.passes import span
from softecm.kernels.types import Ints, Real, Reals

_jit = compiled(cache=False)


class At(NamedTuple):
    """Where things lie in the workspace, and how far their parts are from each other."""

    group: int
    d: int
    lx: int
    ly: int
    reach: int
    xs: int  # between channels of x, which begin at 0
    y: int
    ys: int
    up: int  # cost of a step up into each row: a factor and a power of two; if hard, the cost itself
    left: int
    place: int  # by i - j: what a step across costs more, or the weight of a square; even and odd diagonals
    ps: int
    z: int  # state of three diagonals: mantissa and power of two
    lengths: int  # h of three diagonals
    costs: int  # of steps across (or of cells) on this diagonal
    flow: int  # weight, up, left, across and across of the diagonal before
    sums: int  # curvature, flow to the left, gradient in each channel
    zs: int
    table: int


class Scaled(NamedTuple):
    """A rule's numbers in the unit of the recursion (powers of two, if soft) and in the working type."""

    unit: Real
    length: Real  # unit of rounded lengths
    rounded: Real  # where lengths are rounded off; 0: nowhere
    across: Real
    before: Real


@_jit
def rounded(n: Reals, eps: Reals, half: Reals) -> Reals:
    """Gamma times Huber's rounded length."""
    t = minimum(n, eps)
    value: Reals = t * (n - half * t)
    return value


@_jit
def _place(at: At, k: int, lo: int) -> int:
    """Where the entry for row lo on diagonal k lies."""
    return at.place + k % 2 * at.ps + (lo - k // 2 + at.ly // 2 + 1) * at.group


@_jit
def _measure(ws: Reals, at: At, rule: Rule, scaled: Scaled, k: int, lo: int, size: int) -> None:
    """Costs of the steps across into a diagonal's cells; if squared, of all steps into them."""
    width = 64 // ws.itemsize
    x = lo * at.group
    y = at.y + (at.ly - 1 - k + lo) * at.group
    costs = at.costs
    if at.d == 1 and not rule.squared:
        for q in range(0, size, width):
            store(ws, costs + q, magnitude(load(ws, x + q) - load(ws, y + q)))
    else:
        for q in range(0, size, width):
            gap = load(ws, x + q) - load(ws, y + q)
            store(ws, costs + q, gap * gap)
        for c in range(1, at.d):
            for q in range(0, size, width):
                gap = load(ws, x + c * at.xs + q) - load(ws, y + c * at.ys + q)
                store(ws, costs + q, fma(gap, gap, load(ws, costs + q)))
    if rule.squared:
        if rule.weighted:
            place = _place(at, k, lo)
            for q in range(0, size, width):
                store(ws, costs + q, load(ws, costs + q) * load(ws, place + q))
        return
    if at.d > 1:
        for q in range(0, size, width):
            store(ws, costs + q, root(load(ws, costs + q)))
    new = at.lengths + k % 3 * at.zs + (lo + 1) * at.group
    two = at.lengths + (k + 1) % 3 * at.zs + lo * at.group
    across, before = splat(scaled.across), splat(scaled.before)
    if scaled.rounded > 0:
        eps, half = splat(scaled.rounded), splat(ws.dtype.type(0.5))
        for q in range(0, size, width):
            h = rounded(load(ws, costs + q), eps, half)
            store(ws, new + q, h)
            store(ws, costs + q, fma(across, h, before * load(ws, two + q)))
    else:
        for q in range(0, size, width):
            h = load(ws, costs + q)
            store(ws, new + q, h)
            store(ws, costs + q, fma(across, h, before * load(ws, two + q)))
    if rule.apart > 0:
        place = _place(at, k, lo)
        for q in range(0, size, width):
            store(ws, costs + q, load(ws, costs + q) + load(ws, place + q))


@_jit
def _soft_step(
    ws: Reals, at: At, squared: bool, scale: Real, new: int, one: int, two: int, up: int, left: int, size: int,
    table: int, stored: bool,
) -> None:  # fmt: skip
    """Cells of one diagonal: sums of three terms, each a mantissa and a power of two."""
    width = 64 // ws.itemsize
    zs, group = at.zs, at.group
    scales, least = splat(scale), splat(ws.dtype.type(1e-30))
    for q in range(0, size, width):
        cost = load(ws, at.costs + q) * scales
        whole = rint(cost)
        decay = exp2_fraction(whole - cost)
        above = load(ws, one + zs - group + q) - load(ws, up + at.xs + q)
        aside = load(ws, one + zs + q) - load(ws, left + at.ys + q)
        corner = load(ws, two + zs + q)
        a = load(ws, one - group + q) * load(ws, up + q)
        b = load(ws, one + q) * load(ws, left + q)
        c = load(ws, two + q)
        if not squared:
            corner = corner - whole
            c = c * decay
        top = maximum(maximum(above, aside), corner)
        a = a * exp2_whole(above - top)
        b = b * exp2_whole(aside - top)
        total = fma(c, exp2_whole(corner - top), a + b)
        if squared:
            store(ws, new + q, total * decay)
            store(ws, new + zs + q, top - whole)
        else:
            store(ws, new + q, total)
            store(ws, new + zs + q, top)
        if stored:
            r = reciprocal(maximum(total, least))  # beyond the diagonal's end all three may be nothing
            store(ws, table + q, a * r)
            store(ws, table + size + q, b * r)


@_jit
def _hard_step(
    ws: Reals, at: At, squared: bool, new: int, one: int, two: int, up: int, left: int, size: int, table: int,
    stored: bool,
) -> None:  # fmt: skip
    """Cells of one diagonal: the least of three. Ties: across, then up."""
    width = 64 // ws.itemsize
    ones = splat(ws.dtype.type(1))
    for q in range(0, size, width):
        cost = load(ws, at.costs + q)
        corner = load(ws, two + q)
        if not squared:
            corner = corner + cost
        above = load(ws, one - at.group + q) + load(ws, up + q)
        aside = load(ws, one + q) + load(ws, left + q)
        best = minimum(corner, above)
        least = minimum(best, aside)
        if squared:
            store(ws, new + q, least + cost)
        else:
            store(ws, new + q, least)
        if stored:
            b = below(aside, best)
            store(ws, table + q, below(above, corner) * (ones - b))
            store(ws, table + size + q, b)


@_jit
def _normalise(ws: Reals, begin: int, size: int, zs: int) -> None:
    """Mantissas back to [1, 2)."""
    width = 64 // ws.itemsize
    for q in range(begin, begin + size, width):
        m = load(ws, q)
        store(ws, q, mantissa(m))
        store(ws, q + zs, load(ws, q + zs) + exponent(m))


@_jit
def advance(ws: Reals, at: At, rule: Rule, scaled: Scaled, begin: int, end: int, table: int, stored: bool) -> int:
    """Diagonals begin to end; returns where the table of probabilities (if hard, of choices) now ends.

    After each diagonal the slots next to its two ends are emptied: a neighbour that is outside the rectangle or the
    band is no neighbour, and what the last vector wrote beyond never counts.
    """
    width = 64 // ws.itemsize
    group, zs = at.group, at.zs
    hard = rule.gamma == 0.0
    empty = ws.dtype.type(np.inf) if hard else ws.dtype.type(0)
    scale = scaled.unit if rule.squared and not rule.weighted else ws.dtype.type(1)
    for k in range(begin, end):
        lo, hi = span(k, at.lx, at.ly, at.reach)
        count = (hi - lo + 1) * group
        size = (count + width - 1) // width * width
        _measure(ws, at, rule, scaled, k, lo, size)
        slot = (lo + 1) * group
        new = at.z + (k % 3) * 2 * zs + slot
        one = at.z + ((k + 2) % 3) * 2 * zs + slot
        two = at.z + ((k + 1) % 3) * 2 * zs + slot - group
        up = at.up + lo * group
        left = at.left + (at.ly - 1 - k + lo) * group
        if hard:
            _hard_step(ws, at, rule.squared, new, one, two, up, left, size, table, stored)
        else:
            _soft_step(ws, at, rule.squared, scale, new, one, two, up, left, size, table, stored)
            if k % 8 == 7:
                _normalise(ws, new, size, zs)
                _normalise(ws, one, size, zs)
        if stored:
            table += 2 * size
        for q in range(new - group, new):
            ws[q] = empty
            ws[q + zs] = ws.dtype.type(-1e38)
        for q in range(new + count, new + count + group):
            ws[q] = empty
            ws[q + zs] = ws.dtype.type(-1e38)
    return table


@_jit
def _add_lengths(ws: Reals, at: At, floor: Real, tiny: Real, x: int, y: int, w: int, size: int) -> None:
    """Add what lengths h with the weights in ``flow`` have of curvature and gradient in y."""
    width = 64 // ws.itemsize
    tinies, most = splat(tiny), reciprocal(splat(floor))
    if at.d == 1:
        for q in range(0, size, width):
            u = load(ws, y + q) - load(ws, x + q)
            weight = load(ws, at.flow + q)
            r = reciprocal(maximum(magnitude(u), tinies))
            store(ws, w + q, fma(weight, minimum(r, most), load(ws, w + q)))
            o = w + 2 * at.ys + q
            store(ws, o, fma(weight * u, r, load(ws, o)))
        return
    for q in range(0, size, width):
        square = splat(ws.dtype.type(0))
        for c in range(at.d):
            u = load(ws, y + c * at.ys + q) - load(ws, x + c * at.xs + q)
            square = fma(u, u, square)
        r = reciprocal(maximum(root(square), tinies))
        weight = load(ws, at.flow + q)
        store(ws, w + q, fma(weight, minimum(r, most), load(ws, w + q)))
        weight = weight * r
        for c in range(at.d):
            u = load(ws, y + c * at.ys + q) - load(ws, x + c * at.xs + q)
            o = w + (c + 2) * at.ys + q
            store(ws, o, fma(weight, u, load(ws, o)))


@_jit
def _add_gaps(ws: Reals, at: At, x: int, y: int, w: int, size: int) -> None:
    """Add the differences y - x with the weights in ``flow``."""
    width = 64 // ws.itemsize
    for c in range(at.d):
        o = w + (c + 2) * at.ys
        for q in range(0, size, width):
            u = load(ws, y + c * at.ys + q) - load(ws, x + c * at.xs + q)
            store(ws, o + q, fma(load(ws, at.flow + q), u, load(ws, o + q)))


@_jit
def retreat(
    ws: Reals, at: At, rule: Rule, floor: Real, begin: int, end: int, table: int, ends: Ints, rows: Ints
) -> None:
    """Diagonals end - 1 down to begin: the mass of each cell, pushed on, and what its steps add to the sums.

    Three flows: to the row above, to the column before, across. Each is written at the slot it comes from, over what
    the diagonal before (two before, for the last) left there, which has just been read. ``floor`` bounds curvatures.
    """
    width = 64 // ws.itemsize
    group, zs = at.group, at.zs
    zero = ws.dtype.type(0)
    tiny = ws.dtype.type(rule.gamma) if rule.gamma > 0 else ws.dtype.type(1e-30)
    up, left = at.flow + zs, at.flow + 2 * zs
    inward, outward = splat(ws.dtype.type(rule.across)), splat(ws.dtype.type(rule.before))
    for k in range(end - 1, begin - 1, -1):
        across = at.flow + (3 + k % 2) * zs
        entry = across if rule.last > 0 else up
        for lane in range(group):
            if ends[lane] == k:
                ws[entry + (rows[lane] + 1) * group + lane] = 1
        lo, hi = span(k, at.lx, at.ly, at.reach)
        slot = (lo + 1) * group
        x = lo * group
        y = at.y + (at.ly - 1 - k + lo) * group
        w = at.sums + (at.ly - 1 - k + lo) * group
        count = (hi - lo + 1) * group
        size = (count + width - 1) // width * width
        table -= 2 * size
        for q in range(0, size, width):
            leaving = load(ws, across + slot + group + q)
            e = load(ws, up + slot + group + q) + load(ws, left + slot + q)
            e = keep(e + leaving, count - q)
            a = e * load(ws, table + q)
            b = e * load(ws, table + size + q)
            c = e - a - b
            store(ws, up + slot + q, a)
            store(ws, left + slot + q, b)
            store(ws, across + slot + q, c)
            if rule.squared:
                store(ws, at.flow + q, e)
            else:
                store(ws, at.flow + q, fma(inward, c, outward * keep(leaving, count - q)))
                store(ws, w + at.ys + q, load(ws, w + at.ys + q) + b)
        if not rule.squared:
            _add_lengths(ws, at, floor, tiny, x, y, w, size)
        else:
            if rule.weighted:
                place = _place(at, k, lo)
                for q in range(0, size, width):
                    store(ws, at.flow + q, load(ws, at.flow + q) * load(ws, place + q))
            for q in range(0, size, width):
                store(ws, w + q, load(ws, w + q) + load(ws, at.flow + q))
            _add_gaps(ws, at, x, y, w, size)
        for q in range(slot - group, slot):
            ws[up + q] = zero
            ws[left + q] = zero
            ws[across + q] = zero
        for q in range(slot + count, slot + count + group):
            ws[up + q] = zero
            ws[left + q] = zero
            ws[across + q] = zero
