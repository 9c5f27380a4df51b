"""The kernel of DTW: least cost and one optimal alignment, pair by pair."""

from __future__ import annotations

import numpy as np

from softecm.kernels.compiling import compiled
from softecm.kernels.types import Floats, Ints, Reals

_jit = compiled()


@_jit
def dtw(
    x: Reals, y: Reals, x_lengths: Ints, y_lengths: Ints, ix: Ints, iy: Ints, target: Ints, weights: Floats, starts: Ints,
    gamma: float, band: int, ws: Reals, capacity: int, backward: bool, values: Floats, sums: Floats,
) -> None:  # fmt: skip
    """Hard alignment, one pair at a time, in the same frame. Ties: the diagonal step, then a step in x."""
    d = x.shape[2]
    far = ws.dtype.type(np.inf)
    for p in range(starts[0], starts[-1]):
        a = x[ix[p]]
        b = y[iy[p]]
        n = x_lengths[ix[p]]
        m = y_lengths[iy[p]]
        steps = np.empty((n if backward else 0, m), np.uint8)
        reach = band * (max(n, m) - 1) if band >= 0 else -1
        for j in range(m + 1):
            ws[j] = far
        ws[0] = 0  # ws[j + 1]: cell (i - 1, j), overwritten by (i, j)
        for i in range(n):
            lo = 0
            hi = m - 1
            if reach >= 0 and n > 1:
                lo = max(lo, -((reach - i * (m - 1)) // (n - 1)))
                hi = min(hi, (i * (m - 1) + reach) // (n - 1))
            corner = ws[lo]
            ws[lo] = far
            for j in range(lo, hi + 1):
                cost = ws.dtype.type(0)
                for c in range(d):
                    gap = a[i, c] - b[j, c]
                    cost += gap * gap
                above = ws[j + 1]
                best = corner
                step = 0
                if above < best:
                    best = above
                    step = 1
                if ws[j] < best:
                    best = ws[j]
                    step = 2
                corner = above
                ws[j + 1] = cost + best
                if backward:
                    steps[i, j] = step
        values[p] = ws[m]
        if backward:
            i = n - 1
            j = m - 1
            while i >= 0 and j >= 0:
                sums[target[p], j, 0] += weights[p]
                for c in range(d):
                    sums[target[p], j, c + 1] += weights[p] * a[i, c]
                step = steps[i, j]
                if step != 2:
                    i -= 1
                if step != 1:
                    j -= 1
