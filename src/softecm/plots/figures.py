"""The plots: masses and silhouettes of objects, objects in the plane, series with prototypes, runs, grids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike

from softecm.belief import CredalPartition
from softecm.plots.style import (
    CLUSTER_COLORS,
    FloatArray,
    axes,
    by_set,
    checked_points,
    legend,
    marker,
    mixed_colors,
    set_colors,
)
from softecm.scores.checks import as_partition
from softecm.scores.silhouettes import Silhouettes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MANY_OBJECTS = 150  # above, bands instead of lines with markers, which would overlap
MANY_BARS = 400  # above, interval lines overlap
MANY_SETS = 12  # above, the rest is one band, because a legend would hide the plot


# ------------------------------------------------------------------ all objects


def mass_profile(
    partition: CredalPartition, *, ax: Axes | None = None, sort: bool = False, names: Sequence[str] | None = None
) -> Axes:
    """Plot the mass of every set over the objects, as in the paper.

    Lines with markers for up to 150 objects, stacked bands for more.

    Parameters
    ----------
    partition : CredalPartition
    ax : matplotlib axes, optional
        Axes to draw on; new ones by default.
    sort : bool, default False
        Sort objects by set and decreasing certainty, instead of keeping their order.
    names : sequence of str, optional
        Names of the clusters.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> ax = mass_profile(CredalPartition.from_hard([0, 1, -1]))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('object', 'mass')
    """
    partition = as_partition("partition", partition, 1)
    ax = axes(ax)
    masses = partition.masses[by_set(partition)] if sort else partition.masses
    labels, colors = partition.focal_sets.in_words(names), set_colors(partition.focal_sets)
    order = np.argsort(-masses.mean(0), kind="stable").tolist()
    shown, rest = sorted(order[:MANY_SETS]), sorted(order[MANY_SETS:])
    number = np.arange(1, len(masses) + 1)
    if len(masses) <= MANY_OBJECTS:
        for j in shown:
            ax.plot(
                number,
                masses[:, j],
                color=colors[j],
                label=labels[j],
                ls="--" if j == 0 else "-",
                marker=marker(partition.focal_sets, j),
                ms=5,
                lw=1.4,
            )
    else:
        order = [*shown[1:], shown[0]] if shown[0] == 0 else shown
        bands = [masses[:, j] for j in order]
        looks = [(colors[j], labels[j]) for j in order]
        if len(rest):
            bands.append(masses[:, rest].sum(1))
            looks.append(("#d9d9d9", f"{len(rest)} other sets"))
        base = np.zeros(len(masses))
        for band, (color, label) in zip(bands, looks, strict=True):
            ax.fill_between(number, base, base + band, step="mid", lw=0, color=color, label=label)
            base = base + band
    ax.set(xlabel="object, sorted by set" if sort else "object", ylabel="mass", ylim=(-0.02, 1.02))
    ax.margins(x=0.01)
    return legend(ax)


def mass_heatmap(
    partition: CredalPartition, *, ax: Axes | None = None, sort: bool = True, names: Sequence[str] | None = None
) -> Axes:
    """Plot masses as shades: one row per set, one column per object.

    Parameters
    ----------
    partition : CredalPartition
    ax : matplotlib axes, optional
    sort : bool, default True
        Sort objects by set and decreasing certainty.
    names : sequence of str, optional
        Names of the clusters.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> [t.get_text() for t in mass_heatmap(CredalPartition.from_hard([0, 1])).get_yticklabels()]
    ['no group', 'group 1', 'group 2']
    """
    partition = as_partition("partition", partition, 1)
    ax = axes(ax)
    masses = partition.masses[by_set(partition)] if sort else partition.masses
    limits = (0.5, len(masses) + 0.5, masses.shape[1] - 0.5, -0.5)
    image = ax.imshow(masses.T, aspect="auto", cmap="cividis", vmin=0, vmax=1, extent=limits, interpolation="nearest")
    ax.set_yticks(range(masses.shape[1]), partition.focal_sets.in_words(names))
    ax.set(xlabel="object, sorted by set" if sort else "object", ylabel="set")
    ax.figure.colorbar(image, ax=ax, label="mass")
    return ax


def silhouette_bars(partition: CredalPartition, widths: Silhouettes, *, ax: Axes | None = None) -> Axes:
    """Plot silhouettes as bars in the colours of the masses, sorted within clusters, with intervals as lines.

    Parameters
    ----------
    partition : CredalPartition
    widths : Silhouettes
        From :func:`softecm.scores.silhouettes`.
    ax : matplotlib axes, optional
        Axes to draw on; new ones by default.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from softecm.scores import silhouettes
    >>> p = CredalPartition.from_hard([0, 0, 1, 1])
    >>> ax = silhouette_bars(p, silhouettes(p, [[0.0, 1.0], [0.2, 1.0], [1.0, 0.0], [1.0, 0.1]]))
    >>> ax.get_xlabel()
    'silhouette'
    """
    partition = as_partition("partition", partition, 1)
    if len(partition) != len(widths.objects):
        raise ValueError(
            f"widths must hold silhouettes of the partition's {len(partition)} objects; got {len(widths.objects)}."
        )
    ax = axes(ax)
    labels, colors, own = partition.labels(), mixed_colors(partition), set_colors(partition.focal_sets)
    order = np.lexsort((-np.nan_to_num(widths.objects, nan=-2.0), labels))
    place = np.arange(len(order)) + 2.0 * labels[order]  # space between clusters
    ax.barh(place, np.nan_to_num(widths.objects[order]), height=1.0, color=np.asarray(colors)[order], lw=0)
    if len(order) <= MANY_BARS:
        ax.hlines(place, widths.lower[order], widths.upper[order], color="0.25", lw=0.8)
    names = partition.focal_sets.group_names
    for k, name in enumerate(names):
        rows = place[labels[order] == k]
        if len(rows):
            ax.text(-0.02, rows.mean(), f"{name} {widths.clusters[k]:.2f}", ha="right", va="center", color=own[k + 1])
    ax.axvline(widths.mean, color="0.4", ls="--", lw=1)
    ax.text(widths.mean, place.max() + 2, f"mean {widths.mean:.2f}", ha="center", va="top", fontsize="small")
    ax.set(
        xlabel="silhouette",
        ylabel="objects, cluster by cluster",
        xlim=(min(-0.4, np.nanmin(widths.lower)), 1.0),
        yticks=[],
    )
    ax.invert_yaxis()
    return ax


# ------------------------------------------------------------------ objects in the plane


def map(
    partition: CredalPartition,
    points: ArrayLike,
    *,
    ax: Axes | None = None,
    prototypes: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    axis_names: Sequence[str] = ("first axis", "second axis"),
) -> Axes:
    """Plot objects in the plane, in mixed cluster colours, larger if the mass is on one set.

    Circles belong to one cluster, diamonds are between several, crosses belong to none.

    Parameters
    ----------
    partition : CredalPartition
    points : array-like of shape (n, 2)
        Positions of the objects: two columns of the data, or an embedding.
    ax : matplotlib axes, optional
    prototypes : array-like of shape (f, 2), optional
        Positions of the prototypes of the focal sets, drawn as stars.
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
    ['no group', 'group 1', 'group 2']
    """
    partition = as_partition("partition", partition, 1)
    ax = axes(ax)
    xy = checked_points(points, len(partition))
    focal, best = partition.focal_sets, partition.masses.argmax(1)
    color, size = mixed_colors(partition), _sizes(partition)
    labels, colors = focal.in_words(names), set_colors(focal)
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
    """Plot convex hulls of the objects that certainly (solid) and possibly (dashed) belong to each cluster.

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
    partition = as_partition("partition", partition, 1)
    ax = map(partition, points, ax=ax, names=names, axis_names=axis_names)
    xy = checked_points(points, len(partition))
    colors, labels = set_colors(partition.focal_sets), partition.focal_sets.in_words(names)
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
    """Plot the mass of one set as shades over the objects in the plane.

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
    'mass on group 1'
    """
    partition = as_partition("partition", partition, 1)
    ax = axes(ax)
    xy = checked_points(points, len(partition))
    column = partition.focal_sets.index(clusters)
    drawn = ax.scatter(xy[:, 0], xy[:, 1], c=partition.masses[:, column], cmap="cividis", vmin=0, vmax=1, s=30)
    title = f"mass on {partition.focal_sets.in_words()[column]}"
    ax.figure.colorbar(drawn, ax=ax, label="mass")
    ax.set(xlabel=axis_names[0], ylabel=axis_names[1], title=title)
    return ax


def ternary(partition: CredalPartition, *, ax: Axes | None = None, names: Sequence[str] | None = None) -> Axes:
    """Plot three clusters as a triangle, with objects positioned by pignistic probability.

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
    partition = as_partition("partition", partition, 1)
    if partition.n_clusters != 3:
        raise ValueError(f"partition must have 3 clusters for a triangle; got {partition.n_clusters}. Use map instead.")
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
    ax = map(partition, partition.pignistic() @ corners, ax=ax, names=names)
    ring = corners[[0, 1, 2, 0]]
    ax.plot(ring[:, 0], ring[:, 1], color="0.5", lw=1, zorder=0)
    labels = partition.focal_sets.in_words(names)
    for k, (side, up) in enumerate((("right", "top"), ("left", "top"), ("center", "bottom"))):
        ax.annotate(labels[k + 1], corners[k], ha=side, va=up, fontweight="bold")
    ax.set(xlabel="nearer to a corner: more probable", ylabel="", aspect="equal", xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.margins(0.12)
    return ax


def _sizes(partition: CredalPartition) -> FloatArray:
    """Return marker areas: larger if more of the mass is on one set."""
    most = 60.0 if len(partition) <= 2000 else 16.0
    area: FloatArray = most * (0.25 + 0.75 * partition.masses.max(1))
    return area


def _hull(xy: FloatArray) -> FloatArray | None:
    """Return the corners of the convex hull, or None if the points span no area."""
    from scipy.spatial import ConvexHull, QhullError

    if len(xy) < 3:
        return xy if len(xy) else None
    ends = [int(xy.sum(1).argmin()), int(xy.sum(1).argmax())]
    with suppress(QhullError):  # all on one line
        ends = ConvexHull(xy).vertices.tolist()
    return xy[ends]


# ------------------------------------------------------------------ series, runs, grids


def series_prototypes(
    partition: CredalPartition,
    prototypes: Sequence[ArrayLike] | FloatArray,
    series: Sequence[ArrayLike] | FloatArray | None = None,
    *,
    clusters: Iterable[int] = (0,),
    channel: int = 0,
    most: int = 50,
    ax: Axes | None = None,
    names: Sequence[str] | None = None,
) -> Axes:
    """Plot the prototype of a set as a series, over the series assigned to it.

    Parameters
    ----------
    partition : CredalPartition
    prototypes : array of shape (f, L, d), or list of (L, d) arrays
        One per non-empty focal set.
    series : array of shape (n, L, d), or list of (L, d) arrays, optional
        The objects; those with their largest mass on the set are thin lines in the background.
    clusters : iterable of int, default (0,)
        The set.
    channel : int, default 0
    most : int, default 50
        Maximum number of members to draw, those with most mass on the set.
    ax : matplotlib axes, optional
    names : sequence of str, optional
        Names of the clusters.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import numpy as np
    >>> p = CredalPartition.from_hard([0, 0, 1])
    >>> ax = series_prototypes(p, np.zeros((2, 5, 1)), np.ones((3, 5, 1)))
    >>> len(ax.lines)
    3
    """
    partition = as_partition("partition", partition, 1)
    ax = axes(ax)
    focal = partition.focal_sets
    column = focal.index(clusters)
    if column == 0:
        raise ValueError("clusters must be a non-empty set, which has a prototype; got the empty set.")
    color, label = set_colors(focal)[column], focal.in_words(names)[column]
    mass = partition.masses[:, column]
    members = np.flatnonzero(partition.masses.argmax(1) == column)
    members = members[np.argsort(-mass[members], kind="stable")][:most]
    if series is not None:
        for i in members.tolist():
            ax.plot(_channel(series[i], channel), color=color, alpha=0.15 + 0.25 * float(mass[i]), lw=0.8)
    ax.plot(_channel(prototypes[column - 1], channel), color=color, lw=2.6, label=f"prototype of {label}")
    ax.set(xlabel="time step", ylabel=f"channel {channel + 1}", title=f"{label}: {len(members)} series")
    return legend(ax)


def objective_trace(history: ArrayLike | Sequence[ArrayLike], *, ax: Axes | None = None) -> Axes:
    """Plot the objective after each iteration; it never rises.

    Parameters
    ----------
    history : array-like of shape (iterations,), or a sequence of these
        ``history_`` of an estimator, or those of several runs.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> objective_trace([3.0, 2.0, 1.9]).get_xlabel()
    'iteration'
    """
    ax = axes(ax)
    parts = [np.asarray(part, dtype=np.float64) for part in cast("Iterable[ArrayLike]", history)]
    runs = parts if parts and parts[0].ndim else [np.array(parts)]
    for number, values in enumerate(runs):
        label = f"run {number + 1}" if len(runs) > 1 else None
        color = CLUSTER_COLORS[number % len(CLUSTER_COLORS)]
        ax.plot(np.arange(len(values)), values, color=color, marker=".", ms=4, lw=1.4, label=label)
    ax.set(xlabel="iteration", ylabel="objective")
    ax.locator_params(axis="x", integer=True)
    return legend(ax) if len(runs) > 1 else ax


def shepard(implied: ArrayLike, conflict: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Plot a Shepard diagram: implied conflict and conflict of the masses for every pair, equal on the line.

    Parameters
    ----------
    implied, conflict : array-likes of equal length
        ``shepard(*model.shepard(D))`` plots that of an :class:`softecm.EVCLUS`.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> shepard([0.1, 0.9], [0.0, 1.0]).get_ylabel()
    'conflict of the masses'
    """
    ax = axes(ax)
    ax.plot([0, 1], [0, 1], color="0.6", lw=1.0)
    ax.scatter(np.asarray(implied), np.asarray(conflict), s=6, color=CLUSTER_COLORS[0], alpha=0.5, linewidths=0)
    ax.set(xlabel="conflict implied by the dissimilarity", ylabel="conflict of the masses", aspect="equal")
    return ax


def grid_heatmap(
    values: ArrayLike,
    across: Sequence[object],
    up: Sequence[object],
    *,
    marked: ArrayLike | None = None,
    x_name: str = "",
    y_name: str = "",
    value_name: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Plot a number for every combination of two parameters; marked cells are hatched.

    Parameters
    ----------
    values : array-like of shape (len(up), len(across))
        NaN for missing values.
    across, up : values of the parameters
    marked : boolean array-like of the same shape, optional
        Unreliable cells, such as those with merged clusters.
    x_name, y_name, value_name : labels
    ax : Matplotlib axes, optional

    Returns
    -------
    ax : Matplotlib axes
    """
    ax = axes(ax)
    table: FloatArray = np.asarray(values, dtype=np.float64)
    if table.shape != (len(up), len(across)):
        raise ValueError(
            f"values must have shape {(len(up), len(across))}, one row for each of `up`; got {table.shape}."
        )
    picture = ax.imshow(table, origin="lower", aspect="auto", cmap="viridis")
    ax.figure.colorbar(picture, ax=ax, label=value_name)
    if marked is not None:
        from matplotlib.patches import Patch, Rectangle

        cells = np.argwhere(np.asarray(marked, dtype=bool))
        for i, j in cells:
            ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, fill=False, hatch="///", edgecolor="white", linewidth=0.0))
        if len(cells):
            sample = Patch(facecolor="0.5", hatch="///", edgecolor="white", label="merged, empty or not converged")
            ax.legend(handles=[sample], loc="upper center", bbox_to_anchor=(0.5, -0.16), frameon=False)
    for ticks, parameter in ((ax.set_xticks, across), (ax.set_yticks, up)):
        ticks(range(len(parameter)), [f"{v:g}" if isinstance(v, float) else str(v) for v in parameter])
    ax.set(xlabel=x_name, ylabel=y_name)
    return ax


def _channel(series: ArrayLike, channel: int) -> FloatArray:
    values = np.asarray(series, dtype=np.float64)
    return values if values.ndim == 1 else values[:, channel]
