"""Silhouettes as bars, cluster by cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from softecm.belief import CredalPartition
from softecm.figures.axes import axes
from softecm.figures.colours import mixed_colors, set_colors
from softecm.scores.silhouettes import Silhouettes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MANY_OBJECTS = 400  # beyond this lines for intervals run together


def silhouette_bars(partition: CredalPartition, found: Silhouettes, *, ax: Axes | None = None) -> Axes:
    """A bar an object, the best of each cluster first, in the colour of its masses; its interval as a line.

    Parameters
    ----------
    partition : CredalPartition
    found : Silhouettes
        From :func:`softecm.scores.silhouettes`.
    ax : matplotlib axes, optional
        Where to draw; new ones by default.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from softecm.scores import silhouettes
    >>> p = CredalPartition.from_hard([0, 0, 1, 1])
    >>> ax = silhouette_bars(p, silhouettes(p, [[0.0, 1.0], [0.2, 1.0], [1.0, 0.0], [1.0, 0.1]]))
    >>> ax.get_xlabel()
    'silhouette'
    """
    if len(partition) != len(found.objects):
        raise ValueError(f"found must be of the partition's {len(partition)} objects; got {len(found.objects)}.")
    ax = axes(ax)
    labels, colors, own = partition.labels(), mixed_colors(partition), set_colors(partition.focal_sets)
    order = np.lexsort((-np.nan_to_num(found.objects, nan=-2.0), labels))
    place = np.arange(len(order)) + 2.0 * labels[order]  # a gap between clusters
    ax.barh(place, np.nan_to_num(found.objects[order]), height=1.0, color=np.asarray(colors)[order], lw=0)
    if len(order) <= MANY_OBJECTS:
        ax.hlines(place, found.lower[order], found.upper[order], color="0.25", lw=0.8)
    names = partition.focal_sets.cluster_names
    for k, name in enumerate(names):
        rows = place[labels[order] == k]
        if len(rows):
            ax.text(-0.02, rows.mean(), f"{name} {found.clusters[k]:.2f}", ha="right", va="center", color=own[k + 1])
    ax.axvline(found.mean, color="0.4", ls="--", lw=1)
    ax.text(found.mean, place.max() + 2, f"mean {found.mean:.2f}", ha="center", va="top", fontsize="small")
    ax.set(
        xlabel="silhouette",
        ylabel="objects, cluster by cluster",
        xlim=(min(-0.4, np.nanmin(found.lower)), 1.0),
        yticks=[],
    )
    ax.invert_yaxis()
    return ax
