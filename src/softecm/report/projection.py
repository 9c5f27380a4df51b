"""From distances to positions in the plane: by best preservation, or rotated so that no two groups share a place."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softecm.report.inputs import FloatArray, IntArray

DIMENSIONS = 20  # of the space that is rotated
ENOUGH = 0.95  # share of the objects nearest to the middle of their own group above which no rotation is needed
GAIN = 0.02  # minimum improvement by a rotation
RIDGE = 1e-3
ROUNDS = 300  # iterations for spreading a few points


def landmark_mds(between: FloatArray, to: FloatArray, dimensions: int = 2) -> FloatArray:
    r"""Return positions of objects known by their distances to a few landmarks.

    Distances count as *squared* lengths, as in the objective of Soft-ECM: for squared Euclidean distance the map is the
    projection on the landmarks' main axes.

    Parameters
    ----------
    between : ndarray of shape (m, m)
        Distances among the landmarks.
    to : ndarray of shape (n, m)
        Distances of the objects to the landmarks.
    dimensions : int, default 2

    Returns
    -------
    ndarray of shape (n, dimensions)

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
    values, vectors = values[::-1][:dimensions], vectors[:, ::-1][:, :dimensions]
    usable = values > 1e-9 * max(float(values[0]), 1e-300)
    axes = np.where(usable, vectors / np.sqrt(np.where(usable, values, 1.0)), 0.0)
    places = np.zeros((len(far), dimensions))
    places[:, : axes.shape[1]] = -0.5 * (far - column) @ axes
    # Signs of axes are arbitrary: the longer ends point right and up, so that the same data give the same picture.
    flip = np.where(np.abs(places.min(0)) > places.max(0), -1.0, 1.0)
    turned: FloatArray = places * flip + 0.0
    return turned


def separation(points: FloatArray, groups: IntArray) -> float:
    """Return the share of the objects nearest to the middle of their own group; -1 is no group.

    Examples
    --------
    >>> separation(np.array([[0.0, 0], [1, 0], [9, 0], [2, 0]]), np.array([0, 0, 1, 1]))
    0.75
    """
    inside = groups >= 0
    own, labels = points[inside], groups[inside]
    present = np.unique(labels)
    if len(present) < 2:
        return 1.0
    middles = np.array([np.median(own[labels == k], axis=0) for k in present])
    distances = np.square(own[:, None] - middles).sum(-1)  # (n, groups)
    return float((present[distances.argmin(1)] == labels).mean())


def separating_axes(places: FloatArray, centers: FloatArray, groups: IntArray) -> tuple[FloatArray | None, float]:
    """Return two axes (k, 2) of positions (n, k) that separate groups, and how well; None if the first two suffice.

    Centres are first placed in the plane, preserving their distances; the axes bring the objects of each group as near
    to its centre as a linear map can.
    """
    plain, inside = separation(places[:, :2], groups), groups >= 0
    if plain >= ENOUGH or len(centers) < 3 or not inside.any():
        return None, plain
    wanted = spread(np.square(centers[:, None] - centers).sum(-1))[groups[inside]]
    own = places[inside] - places[inside].mean(0)
    products = own.T @ own
    # For few objects in many dimensions.
    steady = RIDGE * max(float(np.trace(products)), 1e-300) / len(products) * np.eye(len(products))
    axes: FloatArray = np.linalg.solve(products + steady, own.T @ (wanted - wanted.mean(0)))
    better = separation(places @ axes, groups)
    return (axes, better) if better > plain + GAIN else (None, plain)


def spread(between: FloatArray) -> FloatArray:
    """Return positions in the plane (c, 2) that best preserve the roots of these distances, without collisions.

    Four equidistant points become a square, while their main axes could put two in one place.
    """
    wanted = np.sqrt(np.maximum(np.nan_to_num(between), 0.0))
    angle = 2 * np.pi * np.arange(len(wanted)) / len(wanted)
    circle = 0.5 * wanted.mean() * np.column_stack([np.cos(angle), np.sin(angle)])
    main = landmark_mds(between, between)
    layouts = [_majorised(start, wanted) for start in (main + 0.05 * circle, circle)]
    placed = min(layouts, key=lambda places: float(np.square(_lengths(places) - wanted).sum()))
    centred: FloatArray = placed - placed.mean(0)
    return centred


def _majorised(places: FloatArray, wanted: FloatArray) -> FloatArray:
    """Return positions with less stress (SMACOF), from initial ones."""
    for _ in range(ROUNDS):
        lengths = _lengths(places)
        ratio = np.divide(wanted, lengths, out=np.zeros_like(wanted), where=lengths > 1e-12 * max(wanted.max(), 1e-300))
        places = (places * ratio.sum(1)[:, None] - ratio @ places) / len(places)
    return places


def _lengths(places: FloatArray) -> NDArray[np.float64]:
    lengths: FloatArray = np.sqrt(np.square(places[:, None] - places).sum(-1))
    return lengths
