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
SOMETHING = 0.02  # a correlation at which a column has half the weight of one that shares everything with another
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
    if present.all() and counts.sum() >= FEWEST:
        common = correlations(distances, counts)
        return np.where(common > NOTHING / counts.sum(), common, 0.0)
    views = len(distances)
    common = np.zeros((views, views))
    for a in range(views):
        for b in range(a):
            both = present[:, a] & present[:, b] & (counts > 0)
            own = counts[both]
            if own.sum() >= FEWEST:
                pair = [distances[view][np.ix_(both, both)] for view in (a, b)]
                found = float(correlations(pair, own)[0, 1])
                common[a, b] = common[b, a] = found if found > NOTHING / own.sum() else 0.0
    return common


def correlations(distances: Sequence[Floats], counts: Floats) -> Floats:
    """The bias-corrected distance correlations of tables of distances (m, m) between objects that count so often.

    Examples
    --------
    >>> x = np.arange(8.0)[:, None]
    >>> correlations([np.abs(x - x.T), 2.0 * np.abs(x - x.T)], np.ones(8)).round(12)
    array([[0., 1.],
           [1., 0.]])
    """
    pairs = np.outer(counts, counts)
    np.fill_diagonal(pairs, np.maximum(counts * (counts - 1.0), 0.0))  # an object with itself, where it counts twice
    roots = np.sqrt(pairs)
    flat = np.stack([(roots * _centred(table, counts)).ravel() for table in distances])
    products = flat @ flat.T
    sizes = np.sqrt(products.diagonal())
    sizes = np.outer(sizes, sizes)
    found: Floats = np.divide(products, sizes, out=np.zeros_like(products), where=sizes > 0)
    np.fill_diagonal(found, 0.0)
    return found


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


def relevance_by(common: Floats, n: float) -> Floats:
    """Weights of columns that add up to 1, from what they have in common over n rows; equal where that is nothing.

    A column counts once it has more in common with any other than chance brings. Not by how much: columns that say the same
    thing several times over would outvote all others.

    Examples
    --------
    >>> relevance_by(np.array([[0.0, 0.9, 0.0], [0.9, 0.0, 0.02], [0.0, 0.02, 0.0]]), 10_000).round(2)
    array([0.4, 0.4, 0.2])
    """
    chance = (NOTHING + 2.0 * np.log(len(common))) / n  # the most of as many
    more = np.maximum(common.max(1, initial=0.0) - chance, 0.0)
    if not more.any():
        return np.full(len(common), 1.0 / len(common))
    heard = more / (more + SOMETHING)
    weights: Floats = heard / heard.sum()
    return weights
