"""What the figures share: axes to draw on, legends, markers, places of objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softecm.belief import CredalPartition, FocalSets

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = NDArray[np.float64]


def axes(ax: Axes | None) -> Axes:
    """The axes given, or new ones."""
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt

    return plt.subplots(layout="constrained")[1]


def legend(ax: Axes) -> Axes:
    """The axes, with a legend where something has a name."""
    handles, labels = ax.get_legend_handles_labels()
    if handles:
        ax.legend(handles, labels, frameon=False, fontsize="small", ncols=1 + (len(labels) > 6))
    return ax


def marker(focal: FocalSets, column: int) -> str:
    """Circle for one cluster, diamond for several, cross for none."""
    if column == 0:
        return "x"
    return "o" if len(focal.sets[column - 1]) == 1 else "D"


def by_set(partition: CredalPartition) -> NDArray[np.intp]:
    """Objects set by set, the surest first; outliers last."""
    best = partition.masses.argmax(1)
    place = np.where(best == 0, partition.masses.shape[1], best)
    order: NDArray[np.intp] = np.lexsort((-partition.masses.max(1), place))
    return order


def checked_points(points: ArrayLike, count: int) -> FloatArray:
    """Places (n, 2), or an error."""
    xy = np.asarray(points, dtype=np.float64)
    if xy.shape != (count, 2):
        raise ValueError(
            f"points must have shape ({count}, 2), a place in the plane for each object; got {xy.shape}. Choose two "
            "columns, or embed the objects first."
        )
    return xy
