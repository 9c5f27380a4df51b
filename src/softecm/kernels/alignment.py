"""What each step of a prototype adds to an alignment's cost, for many pairs: for explanations, not for the fit."""

from __future__ import annotations

import numba as nb
import numpy as np

from softecm.kernels.compiling import compiled
from softecm.kernels.entry import FLOAT64, INDEX, expect, expect_within
from softecm.kernels.types import Floats, Ints


@compiled(parallel=True)
def _step_costs(x: Floats, lengths: Ints, y: Floats, gamma: float, band: int) -> Floats:
    """Expected cost aligned with each step of each prototype: x (n, Lx, d), y (k, Ly, d) -> (n, k, Ly).

    ``band`` below 0 means none. Plain log-domain recursion in float64.
    """
    n, k, m, d = x.shape[0], y.shape[0], y.shape[1], x.shape[2]
    out = np.zeros((n, k, m))
    for pair in nb.prange(n * k):
        i, a = pair // k, pair % k
        length = lengths[i]
        cost = np.full((length + 1, m + 1), np.inf)
        r = np.full((length + 2, m + 2), np.inf)
        r[0, 0] = 0.0
        reach = band * (max(length, m) - 1)
        for s in range(1, length + 1):
            for t in range(1, m + 1):
                if band >= 0 and abs((s - 1) * (m - 1) - (t - 1) * (length - 1)) > reach:
                    continue
                c = 0.0
                for l in range(d):
                    c += (x[i, s - 1, l] - y[a, t - 1, l]) ** 2
                cost[s, t] = c
                up, left, both = r[s - 1, t], r[s, t - 1], r[s - 1, t - 1]
                low = min(up, left, both)
                if low == np.inf:
                    continue
                total = np.exp((low - up) / gamma) + np.exp((low - left) / gamma) + np.exp((low - both) / gamma)
                r[s, t] = c + low - gamma * np.log(total)
        e = np.zeros((length + 2, m + 2))
        e[length, m] = 1.0
        for s in range(length, 0, -1):
            for t in range(m, 0, -1):
                if r[s, t] == np.inf:
                    continue
                if s < length and r[s + 1, t] < np.inf:
                    e[s, t] += e[s + 1, t] * np.exp((r[s + 1, t] - r[s, t] - cost[s + 1, t]) / gamma)
                if t < m and r[s, t + 1] < np.inf:
                    e[s, t] += e[s, t + 1] * np.exp((r[s, t + 1] - r[s, t] - cost[s, t + 1]) / gamma)
                if s < length and t < m and r[s + 1, t + 1] < np.inf:
                    e[s, t] += e[s + 1, t + 1] * np.exp((r[s + 1, t + 1] - r[s, t] - cost[s + 1, t + 1]) / gamma)
                out[i, a, t - 1] += e[s, t] * cost[s, t]
    return out


def shares_of_steps(
    x: Floats,
    lengths: Ints,
    y: Floats,
    gamma: float,
    band: int | None,
    distances: Floats,
) -> Floats:
    """The step costs, what the smoothing takes off spread evenly, so that they add up to ``distances`` (n, k)."""
    (n, steps, d), (k, length, _) = x.shape, y.shape
    x, y = expect("objects", x, FLOAT64, (n, steps, d)), expect("prototypes", y, FLOAT64, (k, length, d))
    lengths = expect("lengths", lengths, INDEX, (n,))
    expect_within("lengths", lengths, steps + 1)
    distances = expect("distances", distances, FLOAT64, (n, k))
    costs = _step_costs(x, lengths, y, gamma, -1 if band is None else band)
    rest: Floats = costs + ((distances - costs.sum(-1)) / y.shape[1])[..., None]
    return rest
