"""What a clustering algorithm returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor


@dataclass(frozen=True)
class Solution:
    """Where a batch of runs ended.

    Attributes
    ----------
    prototypes : Tensor (runs, f, *shape)
    objective : (runs,)
    tie : (runs,), the part of the objective that prices the constraint on the sets' prototypes
    history : one array a run, the objective after each round's mass step
    n_iter : (runs,), prototype steps taken
    converged : (runs,)
    residual : (runs,), how far the sets' prototypes are from the barycentres of their clusters', relative to the spread
        of the clusters; only where the constraint was approached, not solved
    masses : Tensor (runs, m, f + 1), only where masses do not follow from the prototypes alone (linked objects)
    """

    prototypes: Tensor
    objective: NDArray[np.float64]
    tie: NDArray[np.float64]
    history: tuple[NDArray[np.float64], ...]
    n_iter: NDArray[np.int64]
    converged: NDArray[np.bool_]
    residual: NDArray[np.float64] | None = None
    masses: Tensor | None = None


@dataclass(frozen=True)
class Progress:
    """What a callback sees after every round: a batch of runs, those still moving among them."""

    iteration: int
    max_iter: int
    objective: NDArray[np.float64]  # (runs,)
    n_active: int
    change: float  # largest change of a mass among the active runs; at least this where it is above the tolerance
