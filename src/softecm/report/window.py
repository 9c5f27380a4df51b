"""The part of the plane that the map shows."""

from __future__ import annotations

import numpy as np

from softecm.report.chosen import FloatArray

MANY = 200  # objects, of which the outermost are always left beyond the edge
FEWEST = 10  # objects, of which one is too many to leave there
EDGE = 0.02  # of the objects at each end of an axis
EMPTY = 4.0  # times as long as what the others need, beyond which a map would be mostly empty


def window(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Lower and upper corner: of all points, or of nearly all where they are many or the rest would fill it with nothing.

    Examples
    --------
    >>> low, high = window(np.array([[float(i % 5), float(i % 3)] for i in range(30)] + [[500.0, 1.0]]))
    >>> low.tolist(), high.tolist()
    ([0.0, 0.0], [6.0, 2.0])
    """
    finite = points[np.isfinite(points).all(1)]
    if not len(finite):
        return np.zeros(2), np.ones(2)
    low, high = finite.min(0), finite.max(0)
    if len(finite) < FEWEST:
        return low, high
    inner_low, inner_high = _inner(finite)
    room = 0.5 * (inner_high - inner_low)
    near_low, near_high = np.maximum(low, inner_low - room), np.minimum(high, inner_high + room)
    if len(finite) > MANY:
        return near_low, near_high
    stretched = (high - low > EMPTY * (near_high - near_low)) & (near_high > near_low)
    return np.where(stretched, near_low, low), np.where(stretched, near_high, high)


def _inner(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Between which values most of the points lie: all but one in fifty, at least one, at each end."""
    if len(points) > MANY:
        low, high = np.quantile(points, (EDGE, 1.0 - EDGE), axis=0)
        return low, high
    ordered, few = np.sort(points, axis=0), max(1, int(EDGE * len(points)))
    return ordered[few], ordered[-few - 1]
