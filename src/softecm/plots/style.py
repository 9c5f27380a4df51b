"""Common parts of the plots: colours, axes, legends, markers, order of objects.

Each cluster has one colour everywhere, a set the mix of its clusters', the empty set dark grey.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softecm.belief import CredalPartition, FocalSets

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = NDArray[np.float64]


def axes(ax: Axes | None) -> Axes:
    """Return the given axes, or new ones."""
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt

    return plt.subplots(layout="constrained")[1]


def legend(ax: Axes) -> Axes:
    """Add a legend if something has a label; return the axes."""
    handles, labels = ax.get_legend_handles_labels()
    if handles:
        columns = 1 + (len(labels) > 6)
        box = ax.legend(handles, labels, fontsize="small", ncols=columns, edgecolor="none", fancybox=False)
        box.get_frame().set_alpha(0.85)  # readable over points and bands
    return ax


def marker(focal: FocalSets, column: int) -> str:
    """Return a circle for one cluster, diamond for several, cross for none."""
    if column == 0:
        return "x"
    return "o" if len(focal.sets[column - 1]) == 1 else "D"


def by_set(partition: CredalPartition) -> NDArray[np.intp]:
    """Sort objects by set and decreasing certainty; outliers last."""
    best = partition.masses.argmax(1)
    place = np.where(best == 0, partition.masses.shape[1], best)
    order: NDArray[np.intp] = np.lexsort((-partition.masses.max(1), place))
    return order


def checked_points(points: ArrayLike, count: int) -> FloatArray:
    """Return positions (n, 2), or raise an error."""
    xy = np.asarray(points, dtype=np.float64)
    if xy.shape != (count, 2):
        raise ValueError(
            f"points must have shape ({count}, 2), one point in the plane per object; got {xy.shape}. Choose two "
            "columns, or embed the objects first."
        )
    return xy


# ------------------------------------------------------------------ colours

# Paul Tol's "bright" colours, distinguishable with every common colour blindness. The first three mix like paint: blue
# and red to purple, blue and yellow to green, red and yellow to orange.
CLUSTER_COLORS = ("#4477aa", "#ee6677", "#ccbb44", "#228833", "#66ccee", "#aa3377", "#dd7733", "#8877cc")
EMPTY_COLOR = "#333333"


def set_colors(focal_sets: FocalSets) -> list[str]:
    """Return colours of the columns of a mass matrix: dark grey for ∅, one per cluster, a mix for a set.

    Parameters
    ----------
    focal_sets : FocalSets

    Returns
    -------
    list of str
        ``#rrggbb``, one for ∅ and each focal set.

    Examples
    --------
    >>> set_colors(FocalSets.full(2))
    ['#333333', '#4477aa', '#ee6677', '#b06c9a']
    """
    return [EMPTY_COLOR, *_hex(mix(focal_sets.shares))]


def mixed_colors(partition: CredalPartition) -> FloatArray:
    """Return a colour for each object: its clusters' colours mixed by pignistic probability, darkened by mass on ∅.

    Parameters
    ----------
    partition : CredalPartition

    Returns
    -------
    ndarray of shape (n, 3)
        Red, green and blue from 0 to 1.

    Examples
    --------
    >>> mixed_colors(CredalPartition.from_hard([0, 1])).round(1)
    array([[0.3, 0.5, 0.7],
           [0.9, 0.4, 0.5]])
    """
    empty = partition.masses[:, :1]
    return mix(partition.pignistic()) * (1 - empty) + empty * rgb([EMPTY_COLOR])


def _cluster_rgb(count: int) -> FloatArray:
    """Return colours of the clusters (c, 3): the fixed ones, then always the one least like all before."""
    fixed = rgb(CLUSTER_COLORS[:count])
    if count <= len(CLUSTER_COLORS):
        return fixed
    light, vivid, hue = (axis.ravel() for axis in np.meshgrid((0.45, 0.6, 0.75, 0.85), (0.08, 0.14), np.arange(72)))
    hue = 2 * np.pi * hue / 72
    colors = _from_oklab(np.column_stack([light, vivid * np.cos(hue), vivid * np.sin(hue)]))
    lab, chosen = _oklab(colors), [*_oklab(np.vstack([fixed, rgb([EMPTY_COLOR, "#ffffff"])]))]
    away = np.min([np.linalg.norm(lab - one, axis=1) for one in chosen], axis=0)
    picked: list[int] = []
    for _ in range(len(CLUSTER_COLORS), count):
        picked.append(int(away.argmax()))
        away = np.minimum(away, np.linalg.norm(lab - lab[picked[-1]], axis=1))
    return np.vstack([fixed, colors[picked]])


def mix(shares: FloatArray) -> FloatArray:
    """Return colours (k, 3) of shares (k, c) of the clusters: the mean hue, if defined, as vivid as its parts."""
    parts = _oklab(_cluster_rgb(shares.shape[1]))
    lab = shares @ parts
    vivid = np.linalg.norm(lab[:, 1:], axis=1)
    wanted = shares @ np.linalg.norm(parts[:, 1:], axis=1)
    lab[:, 1:] *= np.where(vivid > 0.01, np.clip(0.8 * wanted / np.maximum(vivid, 1e-9), 1.0, 3.0), 1.0)[:, None]
    return _from_oklab(lab)


def rgb(colors: Iterable[str]) -> FloatArray:
    """Return red, green and blue (k, 3) from 0 to 1 of ``#rrggbb``."""
    return np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in colors]).reshape(-1, 3)


def _hex(rgb: FloatArray) -> list[str]:
    return ["#{:02x}{:02x}{:02x}".format(*row) for row in np.rint(rgb * 255).astype(int).tolist()]


# Björn Ottosson's OKLab, in which mixtures of two colours look right.
_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def _oklab(rgb: FloatArray) -> FloatArray:
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    lab: FloatArray = np.cbrt(linear @ _LMS.T) @ _LAB.T
    return lab


def _from_oklab(lab: FloatArray) -> FloatArray:
    linear = np.clip((lab @ np.linalg.inv(_LAB).T) ** 3 @ np.linalg.inv(_LMS).T, 0.0, 1.0)
    return np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
