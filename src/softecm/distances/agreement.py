r"""How much two views of the same objects have in common, from distances alone.

Between the distances of view l and those of view h, both centred so that no row and no column of either says anything by
itself, the correlation over all pairs of different objects is the bias-corrected distance correlation of Székely and Rizzo
(2014): near 0 for views that have nothing to do with each other, whatever their kind and number of columns, and 1 for equal
ones. A column of coin tosses is easily grouped, but no other view knows about it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
NOTHING = 5.0  # over the number of objects: a correlation below is what chance alone brings
FEWEST = 10  # objects that have both views, below which nothing is said


def agreement(distances: Sequence[Floats], present: NDArray[np.bool_], counts: Floats) -> Floats:
    """What each two views have in common (views, views), from 0 to 1 with zeros on the diagonal.

    Parameters
    ----------
    distances : for each view (m, m), of the same objects
    present : (m, views), which of them have each view
    counts : (m,), how often each counts
    """
    views = len(distances)
    common = np.zeros((views, views))
    for a in range(views):
        for b in range(a):
            both = present[:, a] & present[:, b] & (counts > 0)
            own = counts[both]
            if own.sum() >= FEWEST:
                found = correlation(distances[a][np.ix_(both, both)], distances[b][np.ix_(both, both)], own)
                common[a, b] = common[b, a] = found if found > NOTHING / own.sum() else 0.0
    return common


def correlation(first: Floats, second: Floats, counts: Floats) -> float:
    """The bias-corrected distance correlation of two tables of distances (m, m) between objects that count so often.

    Examples
    --------
    >>> x = np.arange(8.0)[:, None]
    >>> round(correlation(np.abs(x - x.T), np.abs(x - x.T), np.ones(8)), 12)
    1.0
    """
    a, b = _centred(first, counts), _centred(second, counts)
    pairs = np.outer(counts, counts)
    np.fill_diagonal(pairs, np.maximum(counts * (counts - 1.0), 0.0))  # an object with itself, where it counts twice
    size = float(np.sqrt((pairs * a * a).sum() * (pairs * b * b).sum()))
    return float((pairs * a * b).sum()) / size if size > 0 else 0.0


def _centred(distances: Floats, counts: Floats) -> Floats:
    """Distances less what their rows and columns say by themselves, without bias."""
    n = float(counts.sum())
    rows = distances @ counts / (n - 2.0)
    centred: Floats = distances - rows[:, None] - rows + counts @ distances @ counts / ((n - 1.0) * (n - 2.0))
    return centred


def weights_by(common: Floats) -> Floats:
    """Weights that add up to 1: those of the combination that all views have most in common with; equal without any.

    The leading eigenvector, as in STATIS: a view counts for what it shares with views that count.

    Examples
    --------
    >>> weights_by(np.array([[0.0, 0.5, 0.0], [0.5, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    array([0.5, 0.5, 0. ])
    """
    if not common.any():
        return np.full(len(common), 1.0 / len(common))
    leading = np.abs(np.linalg.eigh(common)[1][:, -1])
    leading[leading < 1e-9] = 0.0
    weights: Floats = leading / leading.sum()
    return weights
