r"""From distances to probabilities: how likely each cluster is, by how far its own objects lie from its prototype.

Distances of a cluster's objects to its prototype are taken for a Gamma distribution with shape :math:`\kappa` (half the
number of columns for squared distances of vectors, else estimated, one for all clusters) and scale :math:`T_k`, so that

.. math:: P_{ik} \propto \pi_k T_k^{-\kappa} \exp(-d_{ik} / T_k).

For squared distances of vectors these are the probabilities of a mixture of Gaussians of one shape and several sizes, and
prototypes are moved to its means: where groups overlap, fuzzy means are not where those of a mixture are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm.distances.base import SemiMetric

FloatArray = NDArray[np.float64]
ROUNDS, STILL = 60, 1e-4
LEAST = 1e-12  # of the largest scale: no cluster is a point


def from_distances(distances: FloatArray, weights: FloatArray, shape: float | None = None) -> FloatArray:
    """Probabilities (n, c) from distances to the clusters' prototypes; ``weights`` (n,) say whom they are learned from.

    Examples
    --------
    >>> d = np.array([[1.0, 9.0], [0.5, 8.0], [2.0, 7.0], [9.0, 1.0], [8.0, 0.5], [7.0, 2.0], [4.0, 5.0]])
    >>> from_distances(d, np.ones(7)).round(2)[[0, 6]]
    array([[1.  , 0.  ],
           [0.99, 0.01]])
    """
    d = np.ascontiguousarray(distances.T)  # clusters first: long rows are summed faster
    return _settled(np.eye(len(d))[:, d.argmin(0)], lambda found: _probabilities(d, found * weights, shape))


@dataclass(frozen=True)
class Mixture:
    """Vectors whose distances are squares: clusters are then Gaussians with means that move along."""

    x: FloatArray  # (n, p), less its mean
    squares: FloatArray  # (n,), of each object's distance to that mean
    turn: Callable[[FloatArray], FloatArray]  # d(a, b) = turn(a - b) . (a - b)

    @classmethod
    def of(cls, metric: SemiMetric, x: object) -> Mixture | None:
        """Of encoded objects; None where they are no vectors, or distances no squares."""
        form = metric.closed_form
        if form is None or not form.quadratic or not isinstance(x, Tensor) or x.ndim != 2 or x.layout != torch.strided:
            return None

        def turn(u: FloatArray) -> FloatArray:
            turned: FloatArray = form.tensor(torch.from_numpy(u)).double().numpy()
            return turned

        centred = x.double().numpy()
        centred = np.ascontiguousarray(centred - centred.mean(0))
        return cls(centred, np.einsum("np,np->n", turn(centred), centred), turn)

    def distances(self, means: FloatArray) -> FloatArray:
        """To means (c, p): (c, n)."""
        turned = self.turn(np.ascontiguousarray(means))
        d = (-2.0 * turned) @ self.x.T
        d += self.squares
        d += np.einsum("cp,cp->c", turned, means)[:, None]
        return np.maximum(d, 0.0, out=d)

    def fitted(self, start: FloatArray, weights: FloatArray) -> FloatArray:
        """Probabilities (n, c) of the mixture that these weights make likeliest, from where ``start`` (n, c) is."""
        shape = self.x.shape[1] / 2

        def moved(found: FloatArray) -> FloatArray:
            held = found * weights
            means = (held @ self.x) / np.maximum(held.sum(1), 1e-300)[:, None]
            return _probabilities(self.distances(means), held, shape)

        return _settled(np.ascontiguousarray(start.T), moved)


def _settled(found: FloatArray, moved: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Probabilities (c, n) moved until they stand still, as (n, c)."""
    for _ in range(ROUNDS):
        before, found = found, moved(found)
        if np.abs(found - before).max() <= STILL:
            break
    return np.ascontiguousarray(found.T)


def _probabilities(distances: FloatArray, held: FloatArray, shape: float | None) -> FloatArray:
    """One step: scales and shares of the clusters from who is held (c, n), probabilities (c, n) from these."""
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
