"""Objects in the plane: colours, hulls, shades, a triangle."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from softecm.belief import CredalPartition
from softecm.figures.axes import FloatArray, axes, checked_points, legend, marker
from softecm.figures.colours import mixed_colors, set_colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def map(
    partition: CredalPartition,
    points: ArrayLike,
    *,
    ax: Axes | None = None,
    prototypes: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    axis_names: Sequence[str] = ("first axis", "second axis"),
) -> Axes:
    """Objects in the plane: colour mixed from the clusters, larger where the mass is on one set.

    Circles belong to one cluster, diamonds lie between several, crosses belong to none.

    Parameters
    ----------
    partition : CredalPartition
    points : array-like of shape (n, 2)
        Where the objects lie: two columns of the data, or an embedding.
    ax : matplotlib axes, optional
    prototypes : array-like of shape (f, 2), optional
        Where the prototypes of the focal sets lie; drawn as stars.
    names : sequence of str, optional
        Names of the clusters.
    axis_names : pair of str
        Labels of the axes.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> ax = map(CredalPartition.from_hard([0, 1, -1]), [[0, 0], [1, 0], [5, 5]], axis_names=("x", "y"))
    >>> [t.get_text() for t in ax.get_legend().get_texts()]
    ['∅', 'ω1', 'ω2']
    """
    ax = axes(ax)
    xy = checked_points(points, len(partition))
    focal, best = partition.focal_sets, partition.masses.argmax(1)
    color, size = mixed_colors(partition), _sizes(partition)
    labels, colors = focal.labels(names), set_colors(focal)
    for j in np.unique(best).tolist():
        here, shape = best == j, marker(focal, j)
        edge = {"linewidths": 1.8} if j == 0 else {"edgecolors": "white", "linewidths": 0.5}
        ax.scatter(xy[here, 0], xy[here, 1], c=color[here], s=size[here], marker=shape, **edge)
        ax.scatter([], [], c=colors[j], s=40, marker=shape, label=labels[j])
    if prototypes is not None:
        at = np.asarray(prototypes, dtype=np.float64)
        ax.scatter(
            at[:, 0],
            at[:, 1],
            c=colors[1 : len(at) + 1],
            label="prototypes",
            marker="*",
            s=160,
            edgecolors="black",
            linewidths=0.8,
            zorder=3,
        )
    ax.set(xlabel=axis_names[0], ylabel=axis_names[1])
    return legend(ax)


def hulls(
    partition: CredalPartition,
    points: ArrayLike,
    *,
    ax: Axes | None = None,
    names: Sequence[str] | None = None,
    axis_names: Sequence[str] = ("first axis", "second axis"),
) -> Axes:
    """Convex hulls of what surely (solid) and what possibly (dashed) belongs to each cluster.

    Parameters
    ----------
    partition : CredalPartition
    points : array-like of shape (n, 2)
    ax : matplotlib axes, optional
    names : sequence of str, optional
        Names of the clusters.
    axis_names : pair of str
        Labels of the axes.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> p = CredalPartition.from_hard([0, 0, 0, 1])
    >>> len(hulls(p, [[0, 0], [1, 0], [0, 1], [5, 5]]).patches)
    4
    """
    ax = map(partition, points, ax=ax, names=names, axis_names=axis_names)
    xy = checked_points(points, len(partition))
    colors, labels = set_colors(partition.focal_sets), partition.focal_sets.labels(names)
    for k in range(partition.n_clusters):
        for rows, dashed in ((partition.upper(k), True), (partition.lower(k), False)):
            ring = _hull(xy[rows])
            if ring is None:
                continue
            name = f"{'possibly' if dashed else 'surely'} {labels[k + 1]}"
            (area,) = ax.fill(ring[:, 0], ring[:, 1], ec=colors[k + 1], lw=1.5, zorder=0, label=name)
            if dashed:
                area.set(ls="--", fill=False)
            else:
                area.set(ls="-", alpha=0.25, fc=colors[k + 1])
    return legend(ax)


def scatter_masses(
    partition: CredalPartition,
    points: ArrayLike,
    clusters: Iterable[int],
    *,
    ax: Axes | None = None,
    axis_names: Sequence[str] = ("first axis", "second axis"),
) -> Axes:
    """The mass of one set as shades over the objects in the plane.

    Parameters
    ----------
    partition : CredalPartition
    points : array-like of shape (n, 2)
    clusters : iterable of int
        The set, clusters counted from 0; ``()`` for the empty set.
    ax : matplotlib axes, optional
    axis_names : pair of str
        Labels of the axes.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> scatter_masses(CredalPartition.from_hard([0, 1]), [[0, 0], [1, 0]], (0,)).get_title()
    'm(ω1)'
    """
    ax = axes(ax)
    xy = checked_points(points, len(partition))
    column = partition.focal_sets.index(clusters)
    drawn = ax.scatter(xy[:, 0], xy[:, 1], c=partition.masses[:, column], cmap="cividis", vmin=0, vmax=1, s=30)
    title = f"m({partition.focal_sets.labels()[column]})"
    ax.figure.colorbar(drawn, ax=ax, label="mass")
    ax.set(xlabel=axis_names[0], ylabel=axis_names[1], title=title)
    return ax


def ternary(partition: CredalPartition, *, ax: Axes | None = None, names: Sequence[str] | None = None) -> Axes:
    """Three clusters as a triangle: an object lies where its pignistic probability puts it.

    Parameters
    ----------
    partition : CredalPartition
        With three clusters.
    ax : matplotlib axes, optional
    names : sequence of str, optional
        Names of the clusters.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> ax = ternary(CredalPartition.from_fuzzy([[0.2, 0.3, 0.5]]))
    >>> ax.get_xlabel()
    'nearer to a corner: more probable'
    """
    if partition.n_clusters != 3:
        raise ValueError(f"partition must have 3 clusters for a triangle; got {partition.n_clusters}. Use map instead.")
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
    xy = partition.pignistic() @ corners
    ax = map(partition, xy, ax=ax, names=names)
    ring = corners[[0, 1, 2, 0]]
    ax.plot(ring[:, 0], ring[:, 1], color="0.5", lw=1, zorder=0)
    labels = partition.focal_sets.labels(names)
    for k, (side, up) in enumerate((("right", "top"), ("left", "top"), ("center", "bottom"))):
        ax.annotate(labels[k + 1], corners[k], ha=side, va=up, fontweight="bold")
    ax.set(xlabel="nearer to a corner: more probable", ylabel="", aspect="equal", xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.margins(0.12)
    return ax


def _sizes(partition: CredalPartition) -> FloatArray:
    """Marker areas: larger where more of the mass is on one set."""
    most = 60.0 if len(partition) <= 2000 else 16.0
    area: FloatArray = most * (0.25 + 0.75 * partition.masses.max(1))
    return area


def _hull(xy: FloatArray) -> FloatArray | None:
    """Corners of the convex hull, or None where the points span no area."""
    from scipy.spatial import ConvexHull, QhullError

    if len(xy) < 3:
        return xy if len(xy) else None
    ends = [int(xy.sum(1).argmin()), int(xy.sum(1).argmax())]
    with suppress(QhullError):  # all on one line
        ends = ConvexHull(xy).vertices.tolist()
    return xy[ends]
