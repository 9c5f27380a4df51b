"""The kernel of all elastic distances: groups of pairs side by side, then forward, and backward where sums are wanted."""

from __future__ import annotations

import numpy as np

from softecm.kernels.compiling import compiled
from softecm.kernels.elastic.passes import At, Scaled, advance, retreat, rounded
from softecm.kernels.elastic.rules import Rule
from softecm.kernels.soft_dtw.blocks import Frame
from softecm.kernels.soft_dtw.lanes import exp2_fraction, fma, load, rint, root, splat, store
from softecm.kernels.soft_dtw.passes import cut, fill, lay_side_by_side, sized
from softecm.kernels.types import Floats, Ints, Reals

FRAME = Frame(channels=3, steps=8, diagonals=17, state=9)
"""What `elastic` lays out; two of the diagonals for what the two buffers by place are longer than a series."""

_jit = compiled(cache=False)


@_jit
def _lay_steps(
    ws: Reals,
    at: At,
    rule: Rule,
    scaled: Scaled,
    series: int | np.int64,
    stride: int,
    steps: int,
    out: int,
    back: int | np.int64,
) -> None:
    """Costs of a step in one series alone, into zeros at ``out``; the step before lies ``back`` groups away, -1 or 1."""
    width = 64 // ws.itemsize
    used = steps * at.group
    base = splat(ws.dtype.type(rule.step) * scaled.unit)
    eps, half = splat(scaled.rounded), splat(ws.dtype.type(0.5))
    moved = rule.change > 0
    factor = splat(ws.dtype.type(rule.change if moved else rule.size) * scaled.length)
    if moved or rule.size > 0:
        first = 0 if back > 0 or not moved else at.group
        last = used - at.group if back > 0 and moved else used
        for c in range(at.d):
            for q in range(first, last, width):
                u = load(ws, series + c * stride + q)
                if moved:
                    u = u - load(ws, series + c * stride + q + back * at.group)
                store(ws, out + q, fma(u, u, load(ws, out + q)))
        for q in range(first, last, width):
            n = root(load(ws, out + q))
            if scaled.rounded > 0:
                n = rounded(n, eps, half)
            store(ws, out + q, fma(factor, n, base))
    else:
        for q in range(0, used, width):
            store(ws, out + q, base)
    if rule.gamma > 0:
        for q in range(0, used, width):
            cost = load(ws, out + q)
            whole = rint(cost)
            store(ws, out + q, exp2_fraction(whole - cost))
            store(ws, out + stride + q, whole)


@_jit
def _lay_places(ws: Reals, at: At, rule: Rule, scaled: Scaled, rows: Ints, ends: Ints) -> None:
    """What depends on how far a cell is from the diagonal."""
    for lane in range(at.group):
        middle = max(rows[lane], ends[lane] - rows[lane] + 2) / 2.0
        for odd in range(2):
            for t in range(-(at.ly // 2) - 1, at.lx // 2 + 1):
                away = abs(2 * t - odd)
                value = rule.apart * away
                if rule.weighted:
                    value = 1.0 / (1.0 + np.exp(-rule.steepness * (away - middle)))
                o = at.place + odd * at.ps + (t + at.ly // 2 + 1) * at.group + lane
                ws[o] = ws.dtype.type(value) * scaled.unit


@_jit
def _scaled(ws: Reals, rule: Rule) -> Scaled:
    real = ws.dtype.type
    if rule.gamma == 0:
        return Scaled(real(1), real(1), real(0), real(rule.across), real(rule.before))
    unit = 1.0 / (rule.gamma * np.log(2.0))
    length = unit / rule.gamma
    return Scaled(real(unit), real(length), real(rule.gamma), real(rule.across * length), real(rule.before * length))


@_jit
def _add_steps(ws: Reals, at: At, rule: Rule, floor: float, lane: int, m: int) -> None:
    """Add the curvature and gradient of the steps left, whose costs are those of y alone."""
    group, ys = at.group, at.ys
    tiny = rule.gamma if rule.gamma > 0 else 1e-30
    for j in range(m):
        here = (at.ly - 1 - j) * group + lane
        mass = np.float64(ws[at.sums + ys + here])
        if mass == 0.0 or (rule.change > 0 and j == 0):
            continue
        there = here + group
        factor = mass * (rule.change if rule.change > 0 else rule.size)
        n = 0.0
        for c in range(at.d):
            u = np.float64(ws[at.y + c * ys + here])
            if rule.change > 0:
                u -= np.float64(ws[at.y + c * ys + there])
            n += u * u
        n = np.sqrt(n)
        for c in range(at.d):
            u = np.float64(ws[at.y + c * ys + here])
            if rule.change > 0:
                u -= np.float64(ws[at.y + c * ys + there])
            g = ws.dtype.type(factor * u / max(n, tiny))
            ws[at.sums + (c + 2) * ys + here] += g
            if rule.change > 0:
                ws[at.sums + (c + 2) * ys + there] -= g
        bound = ws.dtype.type(factor / max(n, floor))
        if rule.change > 0:  # both ends may move: twice the curvature, each about their middle
            ws[at.sums + here] += bound + bound
            ws[at.sums + there] += bound + bound
        else:
            ws[at.sums + here] += bound


@_jit
def _last_length(ws: Reals, i: int, xs: int, j: int, ys: int, d: int, eps: float) -> float:
    """(Rounded) length of the difference of two steps."""
    square = 0.0
    for c in range(d):
        u = float(ws[i + c * xs]) - float(ws[j + c * ys])
        square += u * u
    n: float = np.sqrt(square)
    return n - eps / 2.0 if n >= eps else square / (2.0 * eps)


@compiled()
def elastic(
    rule: Rule, floor: float, x: Reals, y: Reals, x_lengths: Ints, y_lengths: Ints, ix: Ints, iy: Ints, target: Ints,
    weights: Floats, starts: Ints, gamma: float, band: int, ws: Reals, capacity: int, backward: bool, values: Floats,
    sums: Floats,
) -> None:  # fmt: skip
    """Groups of pairs one after the other. Row `target[p]` of `sums` receives curvature, then half the gradient.

    In the frame of the other kernels; the smoothing is the rule's.
    """
    d = x.shape[2]
    width = 64 // ws.itemsize
    zero = ws.dtype.type(0)
    hard = rule.gamma == 0.0
    empty = ws.dtype.type(np.inf) if hard else zero
    scaled = _scaled(ws, rule)
    for g in range(len(starts) - 1):
        first = starts[g]
        group = starts[g + 1] - first
        ends = np.empty(group, np.int64)
        rows = np.empty(group, np.int64)
        lx, ly, last = sized(x_lengths, y_lengths, ix, iy, first, rows, ends)
        reach = band * (max(lx, ly) - 1) if band >= 0 else band
        xs = (lx * group + 2 * width - 1) // width * width
        ys = (ly * group + 2 * width - 1) // width * width
        zs = ((lx + 2) * group + 2 * width - 1) // width * width
        ps = ((lx // 2 + ly // 2 + 3) * group + 2 * width - 1) // width * width
        y0 = d * xs
        up = y0 + d * ys
        left = up + 2 * xs
        z0 = left + 2 * ys
        flow = z0 + 10 * zs
        place = flow + 5 * zs
        added = place + 2 * ps
        at = At(
            group, d, lx, ly, reach, xs, y0, ys, up, left, place, ps, z0, z0 + 6 * zs, z0 + 9 * zs, flow, added, zs,
            added + (d + 2) * ys,
        )  # fmt: skip
        fill(ws, np.int64(0), up, zero)
        lay_side_by_side(ws, x, y, ix, iy, first, rows, ends, xs, y0, ys, ly)
        fill(ws, up, z0, zero)
        _lay_steps(ws, at, rule, scaled, np.int64(0), xs, lx, up, np.int64(-1))
        _lay_steps(ws, at, rule, scaled, y0, ys, ly, left, np.int64(1))
        if rule.weighted or rule.apart > 0:
            fill(ws, place, added, zero)
            _lay_places(ws, at, rule, scaled, rows, ends)
        for b in range(3):
            fill(ws, z0 + 2 * b * zs, z0 + (2 * b + 1) * zs, empty)
            fill(ws, z0 + (2 * b + 1) * zs, z0 + (2 * b + 2) * zs, ws.dtype.type(-1e38))
        fill(ws, at.lengths, flow, zero)
        start = zero if hard else ws.dtype.type(1)
        fill(ws, z0 + 2 * zs, z0 + 2 * zs + group, start)  # row -1 of diagonal -2, in buffer 1
        fill(ws, z0 + 3 * zs, z0 + 3 * zs + group, zero)

        cuts = np.empty(last + 1, np.int64)
        parts = cut(last, lx, ly, reach, group, width, capacity if backward else 2**62, cuts)
        saved = np.empty((parts if parts > 1 else 0, 9 * zs), ws.dtype)
        k = cuts[0]
        part = 0
        table = at.table
        stored = backward and parts == 1
        while k < last:
            if parts > 1 and k == cuts[part]:
                for q in range(9 * zs):
                    saved[part, q] = ws[z0 + q]
                part += 1
            end = cuts[part] if parts > 1 else last
            for lane in range(group):
                if ends[lane] >= k:
                    end = min(end, ends[lane] + 1)
            table = advance(ws, at, rule, scaled, k, end, table, stored)
            k = end
            for lane in range(group):
                if ends[lane] == k - 1:
                    o = z0 + (k - 1) % 3 * 2 * zs + rows[lane] * group + lane
                    if hard:
                        value = np.float64(ws[o])
                    else:
                        value = -rule.gamma * (np.log(np.float64(ws[o])) + np.log(2.0) * np.float64(ws[o + zs]))
                    if rule.last > 0:
                        i = (rows[lane] - 1) * group + lane
                        j = y0 + (ly - 1 - (ends[lane] - rows[lane] + 1)) * group + lane
                        value += rule.last * _last_length(ws, i, xs, j, ys, d, rule.gamma)
                    values[first + lane] = value
        if not backward:
            continue

        fill(ws, flow, place, zero)
        fill(ws, added, at.table, zero)
        for part in range(parts - 1, -1, -1):
            begin, end = cuts[part], cuts[part + 1]
            if parts > 1:
                for q in range(9 * zs):
                    ws[z0 + q] = saved[part, q]
                table = advance(ws, at, rule, scaled, begin, end, at.table, backward)
            retreat(ws, at, rule, ws.dtype.type(floor), begin, end, table, ends, rows)
        # The weights of squares carry the unit of the recursion; a square's curvature is twice its weight, a length's once.
        unit = 1.0 / np.float64(scaled.unit) if rule.weighted else 1.0
        half = 1.0 if rule.squared else 0.5
        for lane in range(group):
            m = ends[lane] - rows[lane] + 2
            if not rule.squared:
                _add_steps(ws, at, rule, floor, lane, m)
            into = sums[target[first + lane]]
            weight = weights[first + lane] * unit * half
            for j in range(m):
                o = added + (ly - 1 - j) * group + lane
                into[j, 0] += weight * ws[o]
                for c in range(d):
                    into[j, c + 1] += weight * ws[o + (c + 2) * ys]
