"""The contribution of each step of a prototype to an alignment's cost, for explanations."""

from __future__ import annotations

import numpy as np

from softecm.kernels.elastic.engine import numbers_of
from softecm.kernels.elastic.rules import Rule, dtw
from softecm.kernels.types import Floats, Ints
from softecm.native.library import (
    FLOAT64,
    INDEX,
    Array,
    Int,
    Tasks,
    expect,
    expect_within,
    expect_writable,
    function,
    share_out,
    status,
)

_step_costs = function(
    "step_costs", Tasks, Array, Array, Int, Int, Array, Int, Int, Int, Array, Int, Array, Array, result=status
)
_PARALLEL = 1 << 16  # number of cells from which a second thread pays


def step_costs(
    x: Floats, lengths: Ints, y: Floats, rule: Rule, band: int | None, alignments: Floats | None = None
) -> Floats:
    """Return the expected cost of each step of each prototype: x (n, Lx, d), y (k, Ly, d) -> (n, k, Ly).

    A plain recursion in float64; with a soft rule the costs sum to more than the distance, by the effect of smoothing.
    The probability of aligning each two steps is written to ``alignments`` (n, k, Lx, Ly), initially zeros.
    """
    (n, steps, d), (k, length, _) = x.shape, y.shape
    x, y = expect("objects", x, FLOAT64, (n, steps, d)), expect("prototypes", y, FLOAT64, (k, length, d))
    lengths = expect("lengths", lengths, INDEX, (n,))
    expect_within("lengths", lengths, steps + 1)
    if alignments is not None:
        expect_writable("alignments", alignments, FLOAT64, (n, k, steps, length))
    out: Floats = np.zeros((n, k, length))
    series = x, lengths, n, steps, y, k, length, d
    reach = -1 if band is None else band
    share_out(_step_costs, out.size * steps > _PARALLEL, *series, numbers_of(rule), reach, out, alignments)
    return out


def shares_of_steps(x: Floats, lengths: Ints, y: Floats, gamma: float, band: int | None, distances: Floats) -> Floats:
    """Return Soft-DTW's step costs, minus the smoothing in equal parts, so that they sum to ``distances`` (n, k)."""
    distances = expect("distances", distances, FLOAT64, (len(x), len(y)))
    costs = step_costs(x, lengths, y, dtw(gamma), band)
    rest: Floats = costs + ((distances - costs.sum(-1)) / y.shape[1])[..., None]
    return rest
