"""The kernel of Soft-DTW: groups of pairs laid out side by side, then forward, and backward where sums are wanted."""

from __future__ import annotations

import numpy as np

from softecm.kernels.compiling import compiled
from softecm.kernels.soft_dtw.passes import advance, cut, fill, lay_side_by_side, retreat, sized
from softecm.kernels.types import Floats, Ints, Reals

_jit = compiled()


@_jit
def soft_dtw(
    x: Reals, y: Reals, x_lengths: Ints, y_lengths: Ints, ix: Ints, iy: Ints, target: Ints, weights: Floats, starts: Ints,
    gamma: float, band: int, ws: Reals, capacity: int, backward: bool, values: Floats, sums: Floats,
) -> None:  # fmt: skip
    """Groups of pairs one after the other. Row `target[p]` of `sums` receives W in channel 0 and Y in the others."""
    d = x.shape[2]
    width = 64 // ws.itemsize
    scale = ws.dtype.type(1.0 / (gamma * np.log(2.0)))
    zero = ws.dtype.type(0)
    one = ws.dtype.type(1)
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
        y0 = d * xs
        z0 = y0 + d * ys
        f0 = z0 + 6 * zs
        w0 = f0 + 5 * zs
        t0 = w0 + (d + 1) * ys
        fill(ws, np.int64(0), z0, zero)
        lay_side_by_side(ws, x, y, ix, iy, first, rows, ends, xs, y0, ys, ly)
        for b in range(3):
            fill(ws, z0 + 2 * b * zs, z0 + (2 * b + 1) * zs, zero)
            fill(ws, z0 + (2 * b + 1) * zs, z0 + (2 * b + 2) * zs, ws.dtype.type(-1e38))
        fill(ws, z0 + 2 * zs, z0 + 2 * zs + group, one)  # the start: row -1 of diagonal -2, in buffer 1
        fill(ws, z0 + 3 * zs, z0 + 3 * zs + group, zero)

        cuts = np.empty(last + 1, np.int64)
        parts = cut(last, lx, ly, reach, group, width, capacity if backward else 2**62, cuts)
        saved = np.empty((parts if parts > 1 else 0, 6 * zs), ws.dtype)
        k = cuts[0]
        part = 0
        table = t0
        stored = backward and parts == 1
        while k < last:
            if parts > 1 and k == cuts[part]:
                for q in range(6 * zs):
                    saved[part, q] = ws[z0 + q]
                part += 1
            end = cuts[part] if parts > 1 else last
            for lane in range(group):
                if ends[lane] >= k:
                    end = min(end, ends[lane] + 1)
            table = advance(ws, k, end, lx, ly, reach, group, d, scale, xs, ys, z0, zs, table, stored)
            k = end
            for lane in range(group):
                if ends[lane] == k - 1:
                    o = z0 + (k - 1) % 3 * 2 * zs + rows[lane] * group + lane
                    log2 = np.log(np.float64(ws[o])) / np.log(2.0) + np.float64(ws[o + zs])
                    values[first + lane] = -gamma * np.log(2.0) * log2
        if not backward:
            continue

        fill(ws, f0, t0, zero)
        for part in range(parts - 1, -1, -1):
            begin, end = cuts[part], cuts[part + 1]
            if parts > 1:
                for q in range(6 * zs):
                    ws[z0 + q] = saved[part, q]
                table = advance(ws, begin, end, lx, ly, reach, group, d, scale, xs, ys, z0, zs, t0, backward)
            retreat(ws, begin, end, lx, ly, reach, group, d, xs, f0, zs, w0, ys, table, ends, rows)
        for lane in range(group):
            added = sums[target[first + lane]]
            weight = weights[first + lane]
            for c in range(d + 1):
                for j in range(ends[lane] - rows[lane] + 2):
                    added[j, c] += weight * ws[w0 + c * ys + (ly - 1 - j) * group + lane]
