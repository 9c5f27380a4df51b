"""A map from distances: landmark multidimensional scaling."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def landmark_mds(between: FloatArray, to: FloatArray) -> FloatArray:
    r"""Places in the plane for objects known by their distances to a few landmarks.

    Distances play the part of *squared* lengths, as they do in the objective of Soft-ECM: with squared Euclidean distance
    the map is the projection on the landmarks' two main axes.

    Parameters
    ----------
    between : ndarray of shape (m, m)
        Distances among the landmarks.
    to : ndarray of shape (n, m)
        Distances of the objects to the landmarks.

    Returns
    -------
    ndarray of shape (n, 2)

    References
    ----------
    V. de Silva and J. Tenenbaum, "Sparse multidimensional scaling using landmark points", 2004.

    Examples
    --------
    >>> x = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 1.0]])
    >>> d = ((x[:, None] - x) ** 2).sum(-1)
    >>> y = landmark_mds(d, d)
    >>> np.allclose(((y[:, None] - y) ** 2).sum(-1), d)
    True
    """
    d = np.nan_to_num((between + between.T) / 2, nan=0.0, posinf=0.0, neginf=0.0)
    far = np.nan_to_num(to, nan=0.0, posinf=0.0, neginf=0.0)
    column = d.mean(0)
    gram = -0.5 * (d - column - column[:, None] + d.mean())
    values, vectors = np.linalg.eigh(gram)
    values, vectors = values[::-1][:2], vectors[:, ::-1][:, :2]
    usable = values > 1e-9 * max(float(values[0]), 1e-300)
    axes = np.where(usable, vectors / np.sqrt(np.where(usable, values, 1.0)), 0.0)
    places = np.zeros((len(far), 2))
    places[:, : axes.shape[1]] = -0.5 * (far - column) @ axes
    # The sign of an axis is free: let the farther end point right and up, so that the same data give the same picture.
    flip = np.where(np.abs(places.min(0)) > places.max(0), -1.0, 1.0)
    turned: FloatArray = places * flip + 0.0
    return turned
