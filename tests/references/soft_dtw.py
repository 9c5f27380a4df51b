r"""Readable reference recursions of Soft-DTW and DTW of one pair of series.

With the squared Euclidean ground cost :math:`c_{ij} = \|x_i - y_j\|^2` and
:math:`\min^\gamma(a) = -\gamma \log \sum_k e^{-a_k/\gamma}`,

.. math:: R_{ij} = c_{ij} + \min{}^\gamma(R_{i-1,j}, R_{i,j-1}, R_{i-1,j-1}), \qquad R_{-1,-1} = 0,

and the value is the last cell. The three terms of the soft minimum, each over their sum, are the probabilities with
which an alignment passing through :math:`(i, j)` came from each neighbour. Pushing a unit of mass from the last cell
backwards along these gives the expected alignment :math:`E`, where :math:`E_{ij}` is the probability that an alignment
drawn with weight :math:`e^{-\mathrm{cost}/\gamma}` passes through :math:`(i, j)`; it is also the gradient of the value in
the costs.

Everything is float64 and in the log domain with the largest term taken out.

**The band.** A cell is allowed when, with indices from zero,

.. math:: |i\,(m-1) - j\,(n-1)| \le r\,(\max(n, m) - 1),

that is at most :math:`r` steps of the shorter series away from the straight line between the two corners. For equal
lengths this is Sakoe and Chiba's :math:`|i - j| \le r`; both corners are always in, some alignment fits whenever
:math:`r \ge 1`, and exchanging the series transposes the band.

References
----------
Cuturi, M. and Blondel, M. (2017). Soft-DTW: a differentiable loss function for time-series. ICML.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

STEPS = ((1, 0), (0, 1), (1, 1))  # (i, j) minus each of its possible predecessors


def band_mask(n: int, m: int, band: int | None = None) -> NDArray[np.bool_]:
    """Cells (n, m) that an alignment may use.

    Examples
    --------
    >>> band_mask(3, 3, 1).astype(int)
    array([[1, 1, 0],
           [1, 1, 1],
           [0, 1, 1]])
    """
    if band is None:
        return np.ones((n, m), dtype=bool)
    i, j = np.ogrid[:n, :m]
    return np.asarray(np.abs(i * (m - 1) - j * (n - 1)) <= band * (max(n, m) - 1))


def costs(x: ArrayLike, y: ArrayLike, band: int | None = None) -> Array:
    """Squared distances (n, m) between the steps of two series, infinite outside the band."""
    x, y = (np.asarray(a, dtype=np.float64) for a in (x, y))
    c: Array = np.square(x[:, None] - y).sum(-1)  # (n, 1, d) - (m, d) -> (n, m)
    c[~band_mask(len(x), len(y), band)] = np.inf
    return c


def _diagonal(k: int, n: int, m: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cells of one anti-diagonal, counted from one because of the border; they are independent."""
    i = np.arange(max(0, k - m + 1), min(n, k + 1))
    return i + 1, k - i + 1


def _recursion(c: Array, gamma: float) -> tuple[float, Array]:
    """Value, and probabilities (3, n + 2, m + 2) of the steps into each cell."""
    n, m = c.shape
    r = np.full((n + 2, m + 2), np.inf)
    r[0, 0] = 0.0
    p = np.zeros((3, n + 2, m + 2))
    for k in range(n + m - 1):
        i, j = _diagonal(k, n, m)
        a = np.array([-r[i - di, j - dj] for di, dj in STEPS]) / gamma
        top = np.max(a, axis=0)
        open_ = np.isfinite(top) & np.isfinite(c[i - 1, j - 1])
        i, j, a, top = i[open_], j[open_], a[:, open_], top[open_]
        terms = np.exp(a - top)
        total = terms.sum(0)
        r[i, j] = c[i - 1, j - 1] - gamma * (top + np.log(total))
        p[:, i, j] = terms / total
    return float(r[n, m]), p


def soft_dtw(x: ArrayLike, y: ArrayLike, gamma: float = 1.0, band: int | None = None) -> float:
    """Soft-DTW between series of shape (n, d) and (m, d)."""
    return _recursion(costs(x, y, band), gamma)[0]


def alignment(x: ArrayLike, y: ArrayLike, gamma: float = 1.0, band: int | None = None) -> Array:
    """Expected alignment (n, m): the gradient of Soft-DTW in the costs."""
    return value_and_alignment(x, y, gamma, band)[1]


def value_and_alignment(x: ArrayLike, y: ArrayLike, gamma: float = 1.0, band: int | None = None) -> tuple[float, Array]:
    """Soft-DTW and the expected alignment together."""
    c = costs(x, y, band)
    n, m = c.shape
    value, p = _recursion(c, gamma)
    e = np.zeros((n + 2, m + 2))
    e[n, m] = 1.0
    for k in reversed(range(n + m - 2)):
        i, j = _diagonal(k, n, m)
        e[i, j] = sum(e[i + di, j + dj] * p[s, i + di, j + dj] for s, (di, dj) in enumerate(STEPS))
    return value, e[1 : n + 1, 1 : m + 1]


def sums(x: ArrayLike, y: ArrayLike, gamma: float = 1.0, band: int | None = None) -> tuple[Array, Array]:
    """Expected number of steps of x aligned to each step of y (m,), and the sum of those steps (m, d)."""
    e = alignment(x, y, gamma, band)
    return e.sum(0), e.T @ np.asarray(x, dtype=np.float64)


def gradient(x: ArrayLike, y: ArrayLike, gamma: float = 1.0, band: int | None = None) -> Array:
    """Gradient (m, d) of Soft-DTW in the second series."""
    e = alignment(x, y, gamma, band)
    x, y = (np.asarray(a, dtype=np.float64) for a in (x, y))
    grad: Array = 2 * np.einsum("st,std->td", e, y - x[:, None])  # differences first, to avoid cancellation
    return grad


def dtw(x: ArrayLike, y: ArrayLike, band: int | None = None) -> tuple[float, list[tuple[int, int]]]:
    """Minimum total cost over alignments, and one such alignment (ties: the diagonal step, then a step in x)."""
    c = costs(x, y, band)
    n, m = c.shape
    r = np.full((n + 1, m + 1), np.inf)
    r[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            r[i + 1, j + 1] = c[i, j] + min(r[i, j], r[i, j + 1], r[i + 1, j])
    i, j = n, m
    path = [(n - 1, m - 1)]
    while (i, j) != (1, 1):
        i, j = min(((i - 1, j - 1), (i - 1, j), (i, j - 1)), key=lambda cell: r[cell])
        path.append((i - 1, j - 1))
    return float(r[n, m]), path[::-1]
