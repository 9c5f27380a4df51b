"""What each step of a prototype adds to an alignment's cost, for many pairs: for explanations, not for the fit."""

from __future__ import annotations

import numpy as np

from softecm.kernels.compiling import compiled
from softecm.kernels.elastic.rules import Rule
from softecm.kernels.entry import FLOAT64, INDEX, expect, expect_within
from softecm.kernels.types import Floats, Ints

_jit = compiled(cache=False)


@_jit
def _square(x: Floats, i: int, y: Floats, j: int, alone: bool) -> float:
    """Squared length of a difference, or of the first alone."""
    total = 0.0
    for c in range(x.shape[1]):
        u = x[i, c] - (0.0 if alone else y[j, c])
        total += u * u
    return total


@_jit
def _length(square: float, gamma: float) -> float:
    """Length, rounded off if soft."""
    n: float = np.sqrt(square)
    return n - gamma / 2.0 if n >= gamma else square / (2.0 * gamma)


@_jit
def _across(x: Floats, y: Floats, i: int, j: int, rule: Rule) -> float:
    """Cost of the step across into a cell; if squared, of the cell."""
    square = _square(x, i, y, j, False)
    if rule.squared:
        if rule.weighted:
            square /= 1.0 + np.exp(-rule.steepness * (abs(i - j) - max(len(x), len(y)) / 2.0))
        return square
    cost = rule.across * _length(square, rule.gamma) + rule.apart * abs(i - j)
    if rule.before > 0 and i > 0 and j > 0:
        cost += rule.before * _length(_square(x, i - 1, y, j - 1, False), rule.gamma)
    return cost


@_jit
def _aside(x: Floats, y: Floats, i: int, j: int, rule: Rule) -> float:
    """Cost of the step in x alone into a cell."""
    if rule.squared:
        return rule.step + _across(x, y, i, j, rule)
    moved = _length(_square(x, i, x, i - 1, rule.size > 0), rule.gamma)
    return rule.step + (rule.change + rule.size) * moved


@_jit
def _pair(x: Floats, y: Floats, rule: Rule, band: int, out: Floats) -> None:
    """Add the expected cost (of a best alignment, if hard) of the steps into each column to ``out``."""
    n, m = len(x), len(y)
    reach = band * (max(n, m) - 1)
    r = np.full((n + 1, m + 1), np.inf)
    costs = np.zeros((3, n, m))
    flows = np.zeros((3, n, m))
    for i in range(n):
        for j in range(m):
            if band >= 0 and abs(i * (m - 1) - j * (n - 1)) > reach:
                continue
            costs[0, i, j] = _across(x, y, i, j, rule)
            across = costs[0, i, j] + (0.0 if i + j == 0 else r[i, j])
            up = left = np.inf
            if i > 0:
                costs[1, i, j] = _aside(x, y, i, j, rule)
                up = r[i, j + 1] + costs[1, i, j]
            if j > 0:
                costs[2, i, j] = _aside(y, x, j, i, rule)
                left = r[i + 1, j] + costs[2, i, j]
            low = min(across, up, left)
            r[i + 1, j + 1] = low
            if low == np.inf:
                continue
            if rule.gamma == 0:
                flows[0 if across == low else 1 if up == low else 2, i, j] = 1.0
                continue
            a, b = np.exp((low - across) / rule.gamma), np.exp((low - up) / rule.gamma)
            total = a + b + np.exp((low - left) / rule.gamma)
            r[i + 1, j + 1] = low - rule.gamma * np.log(total)
            flows[0, i, j], flows[1, i, j], flows[2, i, j] = a / total, b / total, 1.0 - a / total - b / total
    if rule.last > 0:
        out[m - 1] += rule.last * _length(_square(x, n - 1, y, m - 1, False), rule.gamma)
    mass = np.zeros((n, m))
    mass[n - 1, m - 1] = 1.0
    for i in range(n - 1, -1, -1):
        for j in range(m - 1, -1, -1):
            if mass[i, j] == 0.0:
                continue
            for s in range(3):
                flow = mass[i, j] * flows[s, i, j]
                out[j] += flow * costs[s, i, j]
                if s == 0 and i > 0 and j > 0:
                    mass[i - 1, j - 1] += flow
                elif s == 1 and i > 0:
                    mass[i - 1, j] += flow
                elif s == 2 and j > 0:
                    mass[i, j - 1] += flow


@compiled()
def _step_costs(x: Floats, lengths: Ints, y: Floats, rule: Rule, band: int) -> Floats:
    k = y.shape[0]
    out = np.zeros((x.shape[0], k, y.shape[1]))
    for pair in range(x.shape[0] * k):
        i, a = pair // k, pair % k
        _pair(x[i, : lengths[i]], y[a], rule, band, out[i, a])
    return out


def step_costs(x: Floats, lengths: Ints, y: Floats, rule: Rule, band: int | None) -> Floats:
    """Expected cost of the steps into each step of each prototype: x (n, Lx, d), y (k, Ly, d) -> (n, k, Ly).

    Plain recursion in float64; with a soft rule the costs add up to more than the distance, by what smoothing takes off.
    """
    (n, steps, d), (k, length, _) = x.shape, y.shape
    x, y = expect("objects", x, FLOAT64, (n, steps, d)), expect("prototypes", y, FLOAT64, (k, length, d))
    lengths = expect("lengths", lengths, INDEX, (n,))
    expect_within("lengths", lengths, steps + 1)
    return _step_costs(x, lengths, y, rule, -1 if band is None else band)
