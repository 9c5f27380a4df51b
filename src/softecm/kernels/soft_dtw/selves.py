"""How each series is aligned with itself: the whole table of expected alignments, for a few prototypes."""

from __future__ import annotations

import numpy as np

from softecm.kernels.compiling import compiled
from softecm.kernels.entry import FLOAT64, expect
from softecm.kernels.types import Floats

FAINT = 1e-150  # of a row's largest path sum: what is fainter says nothing, and denormal numbers are slow


@compiled()
def _similarities(v: Floats, gamma: float, band: int, out: Floats) -> None:
    """exp(-cost / gamma) of all pairs of steps (L, L), 0 outside the band."""
    steps, d = v.shape
    for i in range(steps):
        out[i, i] = 1.0
        for j in range(i):
            square = 0.0
            for c in range(d):
                square += (v[i, c] - v[j, c]) ** 2
            inside = band < 0 or i - j <= band
            out[i, j] = out[j, i] = np.exp(-square / gamma) if inside else 0.0


@compiled()
def _sum_paths(near: Floats, out: Floats, scales: Floats) -> None:
    """Sums over all paths from the first cell to each, every row in a unit of its own, exp(scales).

    Backwards through both is the same for paths to the last cell: similarities are symmetric.
    """
    steps = len(near)
    before = np.zeros(steps + 1)
    before[0] = 1.0  # where the first path comes from
    scale = 0.0
    for i in range(steps):
        left, across, top = 0.0, before[0], 0.0
        for j in range(steps):
            up = before[j + 1]
            left = (left + up + across) * near[i, j]
            across = up
            out[i, j] = left
            top = max(top, left)
        for j in range(steps):
            out[i, j] = out[i, j] / top if out[i, j] > FAINT * top else 0.0
            before[j + 1] = out[i, j]
        before[0] = 0.0
        scale += np.log(top)
        scales[i] = scale


@compiled()
def _align(v: Floats, gamma: float, band: int, out: Floats) -> None:
    k, steps = v.shape[0], v.shape[1]
    near, to, back = np.empty((steps, steps)), np.empty((steps, steps)), np.empty((steps, steps))
    turned, at, behind = np.empty((steps, steps)), np.empty(steps), np.empty(steps)
    for a in range(k):
        _similarities(v[a], gamma, band, near)
        for i in range(steps):
            for j in range(steps):
                turned[i, j] = near[steps - 1 - i, steps - 1 - j]
        _sum_paths(near, to, at)
        _sum_paths(turned, back, behind)
        whole = np.log(to[steps - 1, steps - 1]) + at[steps - 1]
        for i in range(steps):
            unit = np.exp(at[i] + behind[steps - 1 - i] - whole)
            for j in range(steps):
                share = to[i, j] * back[steps - 1 - i, steps - 1 - j] * unit
                out[a, i, j] = share / near[i, j] if near[i, j] > 0.0 else 0.0


def self_alignments(v: Floats, gamma: float, band: int | None) -> Floats:
    """How likely each two steps of a series go together when it is aligned with itself: (k, L, d) -> (k, L, L)."""
    v = expect("series", v, FLOAT64, (v.shape[0], v.shape[1], v.shape[2]))
    out: Floats = np.empty((v.shape[0], v.shape[1], v.shape[1]))
    _align(v, gamma, -1 if band is None else band, out)
    return out
