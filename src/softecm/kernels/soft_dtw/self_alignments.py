"""Alignments of series with themselves: the table of expected alignments, for a few prototypes."""

from __future__ import annotations

import numpy as np

from softecm.kernels.types import Floats
from softecm.native.library import FLOAT64, Array, Float, Int, Tasks, expect, function, share_out, status

_self_alignments = function("self_alignments", Tasks, Array, Int, Int, Int, Float, Int, Array, result=status)
_PARALLEL = 1 << 16  # number of cells from which a second thread pays


def self_alignments(v: Floats, gamma: float, band: int | None) -> Floats:
    """Return the probabilities of pairs of steps when a series is aligned with itself: (k, L, d) -> (k, L, L)."""
    k, steps, d = v.shape
    v = expect("series", v, FLOAT64, (k, steps, d))
    out: Floats = np.empty((k, steps, steps))
    share_out(
        _self_alignments, k > 1 and out.size > _PARALLEL, v, k, steps, d, gamma, -1 if band is None else band, out
    )
    return out
