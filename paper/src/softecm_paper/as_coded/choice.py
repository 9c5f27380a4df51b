"""Imitates the choice of beta and lambda: least mean nonspecificity to three digits, with the empty set as everything.

Runs with NaN masses are excluded from the mean. Settings equal to three digits are ordered by largest beta, then
smallest lambda.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softecm_paper.as_coded.optimiser import Sets


def nonspecificity(masses: NDArray[np.floating], sets: Sets, *, with_empty: bool = True) -> NDArray[np.float64]:
    """Return the nonspecificity of every run (runs, objects, 1 + sets), 0 to 1; the empty set counts as all clusters."""
    sizes = np.concatenate([[sets.n_clusters if with_empty else 1], sets.sizes])
    total: NDArray[np.float64] = (masses.astype(np.float64) @ np.log(sizes)).mean(1) / np.log(sets.n_clusters)
    return total


def choose(
    beta: NDArray[np.float64], lam: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[float, float, float] | None:
    """Return beta, lambda and mean value of the selected setting; None if no run has a number."""
    best: tuple[float, float, float] | None = None
    for b in sorted(set(beta.tolist()), reverse=True):
        for k in sorted(set(lam.tolist())):
            here = values[(beta == b) & (lam == k)]
            known = here[~np.isnan(here)]
            if len(known) and (best is None or round(float(known.mean()), 3) < best[2]):
                best = (b, k, round(float(known.mean()), 3))
    return best
