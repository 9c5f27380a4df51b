"""Imitates the choice of beta and lambda: least mean nonspecificity to three digits, the empty set counted as everything.

Runs whose masses are no numbers are left out of the mean. Of several settings that are equal to three digits the one with
the largest beta is taken, then the one with the smallest lambda.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softecm_paper.as_coded.optimiser import Sets


def nonspecificity(masses: NDArray[np.floating], sets: Sets, *, with_empty: bool = True) -> NDArray[np.float64]:
    """Of every run (runs, objects, 1 + sets), from 0 to 1; mass on the empty set counts as mass on all clusters."""
    sizes = np.concatenate([[sets.n_clusters if with_empty else 1], sets.sizes])
    total: NDArray[np.float64] = (masses.astype(np.float64) @ np.log(sizes)).mean(1) / np.log(sets.n_clusters)
    return total


def choose(
    beta: NDArray[np.float64], lam: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[float, float, float] | None:
    """Beta, lambda and mean value of the setting that is taken; None where no run has a number."""
    best: tuple[float, float, float] | None = None
    for b in sorted(set(beta.tolist()), reverse=True):
        for k in sorted(set(lam.tolist())):
            here = values[(beta == b) & (lam == k)]
            known = here[~np.isnan(here)]
            if len(known) and (best is None or round(float(known.mean()), 3) < best[2]):
                best = (b, k, round(float(known.mean()), 3))
    return best
