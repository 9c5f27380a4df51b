"""Series and their prototypes, the course of runs, grids of parameters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike

from softecm.belief import CredalPartition
from softecm.figures.axes import FloatArray, axes, legend
from softecm.figures.colours import CLUSTER_COLORS, set_colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    """The prototype of a set as a series, over the series that belong to it.

    Parameters
    ----------
    partition : CredalPartition
    prototypes : array of shape (f, L, d), or list of (L, d) arrays
        One for each non-empty focal set.
    series : array of shape (n, L, d), or list of (L, d) arrays, optional
        The objects; those whose largest mass is on the set are drawn thin behind it.
    clusters : iterable of int, default (0,)
        The set.
    channel : int, default 0
    most : int, default 50
        Draw at most so many members, those with most mass on the set.
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
    ax = axes(ax)
    focal = partition.focal_sets
    column = focal.index(clusters)
    if column == 0:
        raise ValueError("clusters must name a set with a prototype; got the empty set, which has none.")
    color, label = set_colors(focal)[column], focal.labels(names)[column]
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
    """The objective after each round; it never rises.

    Parameters
    ----------
    history : array-like of shape (rounds,), or a sequence of such
        ``history_`` of an estimator, or those of several runs.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> objective_trace([3.0, 2.0, 1.9]).get_xlabel()
    'round'
    """
    ax = axes(ax)
    parts = [np.asarray(part, dtype=np.float64) for part in cast("Iterable[ArrayLike]", history)]
    runs = parts if parts and parts[0].ndim else [np.array(parts)]
    for number, values in enumerate(runs):
        label = f"run {number + 1}" if len(runs) > 1 else None
        color = CLUSTER_COLORS[number % len(CLUSTER_COLORS)]
        ax.plot(np.arange(len(values)), values, color=color, marker=".", ms=4, lw=1.4, label=label)
    ax.set(xlabel="round", ylabel="objective")
    return legend(ax) if len(runs) > 1 else ax


def shepard(asked: ArrayLike, found: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """The Shepard diagram: for every pair of objects implied conflict and conflict of the masses, equal on the line.

    Parameters
    ----------
    asked, found : array-likes of as many numbers
        ``shepard(*model.shepard(D))`` draws that of an :class:`softecm.EVCLUS`.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> shepard([0.1, 0.9], [0.0, 1.0]).get_ylabel()
    'conflict found'
    """
    ax = axes(ax)
    ax.plot([0, 1], [0, 1], color="0.6", lw=1.0)
    ax.scatter(np.asarray(asked), np.asarray(found), s=6, color=CLUSTER_COLORS[0], alpha=0.5, linewidths=0)
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
    """A number for every combination of two parameters; marked cells are hatched.

    Parameters
    ----------
    values : array-like of shape (len(up), len(across))
        NaN where nothing was computed.
    across, up : the parameters' values
    marked : boolean array-like of the same shape, optional
        Cells not to be trusted, such as those whose clusters have merged.
    x_name, y_name, value_name : what is shown
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
