r"""From distances to probabilities of clusters, by the distances of each cluster's own objects to its prototype.

Distances of a cluster's objects to its prototype are modelled by a Gamma distribution with shape :math:`\kappa` (half
the number of columns for squared distances of vectors, otherwise estimated, one for all clusters) and scale
:math:`T_k`, so that

.. math:: P_{ik} \propto \pi_k T_k^{-\kappa} \exp(-d_{ik} / T_k).

For squared distances of vectors these would be the probabilities of a mixture of round Gaussians; there the mixture
itself is fitted (:mod:`softecm.calibration.mixture`).
"""

from __future__ import annotations

import numpy as np

from softecm.calibration.intervals import FloatArray

ROUNDS, STILL = 60, 1e-4
LEAST = 1e-12  # of the largest scale: no cluster is a point


def from_distances(distances: FloatArray, weights: FloatArray, shape: float | None = None) -> FloatArray:
    """Return probabilities (n, c) from distances to the clusters' prototypes, learned with ``weights`` (n,).

    Examples
    --------
    >>> d = np.array([[1.0, 9.0], [0.5, 8.0], [2.0, 7.0], [9.0, 1.0], [8.0, 0.5], [7.0, 2.0], [4.0, 5.0]])
    >>> from_distances(d, np.ones(7)).round(2)[[0, 6]]
    array([[1.  , 0.  ],
           [0.99, 0.01]])
    """
    d = np.ascontiguousarray(distances.T)  # clusters first: sums over long rows are faster
    shares = np.eye(len(d))[:, d.argmin(0)]
    for _ in range(ROUNDS):
        before, shares = shares, _probabilities(d, shares * weights, shape)
        if np.abs(shares - before).max() <= STILL:
            break
    return np.ascontiguousarray(shares.T)


def _probabilities(distances: FloatArray, held: FloatArray, shape: float | None) -> FloatArray:
    """Run one step: scales and shares of the clusters from memberships (c, n), then probabilities (c, n)."""
    total = np.maximum(held.sum(1), 1e-300)
    mean = np.einsum("cn,cn->c", held, distances) / total
    if shape is None:
        spread = (held * np.square(distances - mean[:, None])).sum(1) / total
        shapes = np.square(mean) / np.maximum(spread, 1e-300)
        shape = float(np.clip(np.average(shapes, weights=total), 0.5, 1e4))
    scale = np.maximum(mean / shape, max(LEAST * float(mean.max()), 1e-300))
    logs = distances * (-1.0 / scale)[:, None]
    logs += (np.log(total / total.sum()) - shape * np.log(scale))[:, None]
    logs -= logs.max(0)
    odds: FloatArray = np.exp(logs, out=logs)
    odds /= odds.sum(0)
    return odds
