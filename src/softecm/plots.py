"""Figures of a credal partition: Matplotlib axes in, axes out.

Every figure is drawn from a :class:`~softecm.CredalPartition` and plain arrays, never from an estimator, so a saved
partition is redrawn without a refit. Each cluster has one colour everywhere, a set the mix of its clusters' colours, the
empty set dark grey; sets and outliers differ in shape as well, for those who see colours differently.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softecm.belief import CredalPartition, FocalSets

__all__ = [
    "grid_heatmap",
    "hulls",
    "map",
    "mass_heatmap",
    "mass_profile",
    "mixed_colors",
    "objective_trace",
    "scatter_masses",
    "series_prototypes",
    "set_colors",
    "ternary",
]

FloatArray = NDArray[np.float64]

# Paul Tol's "bright" colours, told apart with every common colour blindness. The first three mix like paint: blue and red
# to purple, blue and yellow to green, red and yellow to orange.
CLUSTER_COLORS = ("#4477aa", "#ee6677", "#ccbb44", "#228833", "#66ccee", "#aa3377", "#dd7733", "#8877cc")
EMPTY_COLOR = "#333333"
MANY_OBJECTS = 150  # beyond this lines with markers run together: bands instead
MANY_SETS = 12  # beyond this a legend hides the figure: the rest is one band

# ------------------------------------------------------------------ colours


def set_colors(focal_sets: FocalSets) -> list[str]:
    """Colours of the columns of a mass matrix: dark grey for ∅, one a cluster, a set the mix of its clusters'.

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
    shares = np.vstack([np.zeros(focal_sets.n_clusters), focal_sets.membership / focal_sets.cardinalities[:, None]])
    return [EMPTY_COLOR, *_hex(_mix(shares[1:]))]


def mixed_colors(partition: CredalPartition) -> FloatArray:
    """One colour for each object: its clusters' colours mixed by pignistic probability, dark by its mass on ∅.

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
    return _mix(partition.pignistic()) * (1 - empty) + empty * _rgb([EMPTY_COLOR])


def _cluster_rgb(count: int) -> FloatArray:
    """Colours of the clusters (c, 3): the fixed ones, then hues a golden angle apart."""
    fixed = _rgb(CLUSTER_COLORS[:count])
    if count <= len(CLUSTER_COLORS):
        return fixed
    number = np.arange(len(CLUSTER_COLORS), count)
    hue = 2 * np.pi * (0.618034 * number % 1.0)
    light = np.where(number % 2, 0.55, 0.7)
    more = _from_oklab(np.column_stack([light, 0.13 * np.cos(hue), 0.13 * np.sin(hue)]))
    return np.vstack([fixed, more])


def _mix(shares: FloatArray) -> FloatArray:
    """Colours (k, 3) of shares (k, c) of the clusters: the middle hue, as vivid as its parts, where there is one."""
    parts = _oklab(_cluster_rgb(shares.shape[1]))
    lab = shares @ parts
    vivid = np.linalg.norm(lab[:, 1:], axis=1)
    wanted = shares @ np.linalg.norm(parts[:, 1:], axis=1)
    lab[:, 1:] *= np.where(vivid > 0.01, np.clip(0.8 * wanted / np.maximum(vivid, 1e-9), 1.0, 3.0), 1.0)[:, None]
    return _from_oklab(lab)


def _rgb(colors: Iterable[str]) -> FloatArray:
    return np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in colors]).reshape(-1, 3)


def _hex(rgb: FloatArray) -> list[str]:
    return ["#{:02x}{:02x}{:02x}".format(*row) for row in np.rint(rgb * 255).astype(int).tolist()]


# Björn Ottosson's OKLab, where the middle of two colours looks like their middle.
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


# ------------------------------------------------------------------ masses


def mass_profile(
    partition: CredalPartition, *, ax: Any = None, sort: bool = False, names: Sequence[str] | None = None
) -> Any:
    """The paper's mass plot: the mass of every set over the objects.

    Lines with markers for up to 150 objects, stacked bands for more.

    Parameters
    ----------
    partition : CredalPartition
    ax : matplotlib axes, optional
        Where to draw; new ones by default.
    sort : bool, default False
        Put the objects of one set side by side, the surest first, instead of keeping their order.
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
    ax = _axes(ax)
    masses = partition.masses[_by_set(partition)] if sort else partition.masses
    labels, colors = partition.focal_sets.labels(names), set_colors(partition.focal_sets)
    shown, rest = _largest_sets(masses)
    number = np.arange(1, len(masses) + 1)
    if len(masses) <= MANY_OBJECTS:
        for j in shown:
            style: dict[str, Any] = {"marker": _marker(partition.focal_sets, j), "ms": 5, "lw": 1.4}
            ax.plot(number, masses[:, j], color=colors[j], label=labels[j], ls="--" if j == 0 else "-", **style)
    else:
        order = [*shown[1:], shown[0]] if shown[0] == 0 else shown
        bands = [masses[:, j] for j in order]
        looks = [{"color": colors[j], "label": labels[j]} for j in order]
        if len(rest):
            bands.append(masses[:, rest].sum(1))
            looks.append({"color": "#d9d9d9", "label": f"{len(rest)} other sets"})
        base = np.zeros(len(masses))
        for band, look in zip(bands, looks, strict=True):
            ax.fill_between(number, base, base + band, step="mid", lw=0, **look)
            base = base + band
    ax.set(xlabel="object, sorted by set" if sort else "object", ylabel="mass", ylim=(-0.02, 1.02))
    ax.margins(x=0.01)
    return _legend(ax)


def mass_heatmap(
    partition: CredalPartition, *, ax: Any = None, sort: bool = True, names: Sequence[str] | None = None
) -> Any:
    """Masses as shades: one row a set, one column an object.

    Parameters
    ----------
    partition : CredalPartition
    ax : matplotlib axes, optional
    sort : bool, default True
        Put the objects of one set side by side, the surest first.
    names : sequence of str, optional
        Names of the clusters.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> [t.get_text() for t in mass_heatmap(CredalPartition.from_hard([0, 1])).get_yticklabels()]
    ['∅', 'ω1', 'ω2']
    """
    ax = _axes(ax)
    masses = partition.masses[_by_set(partition)] if sort else partition.masses
    limits = (0.5, len(masses) + 0.5, masses.shape[1] - 0.5, -0.5)
    image = ax.imshow(masses.T, aspect="auto", cmap="cividis", vmin=0, vmax=1, extent=limits, interpolation="nearest")
    ax.set_yticks(range(masses.shape[1]), partition.focal_sets.labels(names))
    ax.set(xlabel="object, sorted by set" if sort else "object", ylabel="set")
    ax.figure.colorbar(image, ax=ax, label="mass")
    return ax


# ------------------------------------------------------------------ objects in the plane


def map(
    partition: CredalPartition,
    points: ArrayLike,
    *,
    ax: Any = None,
    prototypes: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    axis_names: Sequence[str] = ("first axis", "second axis"),
) -> Any:
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
    ax = _axes(ax)
    xy = _points(points, len(partition))
    focal, best = partition.focal_sets, partition.masses.argmax(1)
    color, size = mixed_colors(partition), _sizes(partition)
    labels, colors = focal.labels(names), set_colors(focal)
    for j in np.unique(best).tolist():
        here, marker = best == j, _marker(focal, j)
        edge = {"linewidths": 1.8} if j == 0 else {"edgecolors": "white", "linewidths": 0.5}
        ax.scatter(xy[here, 0], xy[here, 1], c=color[here], s=size[here], marker=marker, **edge)
        ax.scatter([], [], c=colors[j], s=40, marker=marker, label=labels[j])
    if prototypes is not None:
        at = np.asarray(prototypes, dtype=np.float64)
        look: dict[str, Any] = {"marker": "*", "s": 160, "edgecolors": "black", "linewidths": 0.8, "zorder": 3}
        ax.scatter(at[:, 0], at[:, 1], c=colors[1 : len(at) + 1], label="prototypes", **look)
    ax.set(xlabel=axis_names[0], ylabel=axis_names[1])
    return _legend(ax)


def hulls(
    partition: CredalPartition,
    points: ArrayLike,
    *,
    ax: Any = None,
    names: Sequence[str] | None = None,
    axis_names: Sequence[str] = ("first axis", "second axis"),
) -> Any:
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
    xy = _points(points, len(partition))
    colors, labels = set_colors(partition.focal_sets), partition.focal_sets.labels(names)
    for k in range(partition.n_clusters):
        for rows, dashed in ((partition.upper(k), True), (partition.lower(k), False)):
            ring = _hull(xy[rows])
            if ring is None:
                continue
            look = {"ls": "--", "fill": False} if dashed else {"ls": "-", "alpha": 0.25, "fc": colors[k + 1]}
            name = f"{'possibly' if dashed else 'surely'} {labels[k + 1]}"
            ax.fill(ring[:, 0], ring[:, 1], ec=colors[k + 1], lw=1.5, zorder=0, label=name, **look)
    return _legend(ax)


def scatter_masses(
    partition: CredalPartition,
    points: ArrayLike,
    clusters: Iterable[int],
    *,
    ax: Any = None,
    axis_names: Sequence[str] = ("first axis", "second axis"),
) -> Any:
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
    ax = _axes(ax)
    xy = _points(points, len(partition))
    column = partition.focal_sets.index(clusters)
    drawn = ax.scatter(xy[:, 0], xy[:, 1], c=partition.masses[:, column], cmap="cividis", vmin=0, vmax=1, s=30)
    title = f"m({partition.focal_sets.labels()[column]})"
    ax.figure.colorbar(drawn, ax=ax, label="mass")
    ax.set(xlabel=axis_names[0], ylabel=axis_names[1], title=title)
    return ax


def ternary(partition: CredalPartition, *, ax: Any = None, names: Sequence[str] | None = None) -> Any:
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


# ------------------------------------------------------------------ series and runs


def series_prototypes(
    partition: CredalPartition,
    prototypes: Any,
    series: Any = None,
    *,
    clusters: Iterable[int] = (0,),
    channel: int = 0,
    most: int = 50,
    ax: Any = None,
    names: Sequence[str] | None = None,
) -> Any:
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
    ax = _axes(ax)
    focal = partition.focal_sets
    column = focal.index(clusters)
    if column == 0:
        raise ValueError("clusters must name a set with a prototype; got the empty set, which has none.")
    color, label = set_colors(focal)[column], focal.labels(names)[column]
    mass = partition.masses[:, column]
    members = np.flatnonzero(partition.masses.argmax(1) == column)
    members = members[np.argsort(-mass[members], kind="stable")][:most]
    for i in members.tolist() if series is not None else []:
        ax.plot(_channel(series[i], channel), color=color, alpha=0.15 + 0.25 * float(mass[i]), lw=0.8)
    ax.plot(_channel(prototypes[column - 1], channel), color=color, lw=2.6, label=f"prototype of {label}")
    ax.set(xlabel="time step", ylabel=f"channel {channel + 1}", title=f"{label}: {_count(len(members), 'series')}")
    return _legend(ax)


def objective_trace(history: ArrayLike | Sequence[ArrayLike], *, ax: Any = None) -> Any:
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
    ax = _axes(ax)
    runs = [history] if np.ndim(history[0] if len(history) else 0.0) == 0 else history  # type: ignore[arg-type, index]
    for number, run in enumerate(runs):  # type: ignore[arg-type]
        values = np.asarray(run, dtype=np.float64)
        label = {"label": f"run {number + 1}"} if len(runs) > 1 else {}  # type: ignore[arg-type]
        color = CLUSTER_COLORS[number % len(CLUSTER_COLORS)]
        ax.plot(np.arange(len(values)), values, color=color, marker=".", ms=4, lw=1.4, **label)
    ax.set(xlabel="round", ylabel="objective")
    return _legend(ax) if len(runs) > 1 else ax  # type: ignore[arg-type]


# ------------------------------------------------------------------ helpers


def grid_heatmap(
    values: ArrayLike,
    across: Sequence[Any],
    up: Sequence[Any],
    *,
    marked: ArrayLike | None = None,
    x_name: str = "",
    y_name: str = "",
    value_name: str = "",
    ax: Any = None,
) -> Any:
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
    ax = _axes(ax)
    table: FloatArray = np.asarray(values, dtype=np.float64)
    if table.shape != (len(up), len(across)):
        raise ValueError(
            f"values must have shape {(len(up), len(across))}, one row for each of `up`; got {table.shape}."
        )
    picture = ax.imshow(table, origin="lower", aspect="auto", cmap="viridis")
    ax.figure.colorbar(picture, ax=ax, label=value_name)
    if marked is not None:
        from matplotlib.patches import Patch, Rectangle

        style: dict[str, Any] = {"fill": False, "hatch": "///", "edgecolor": "white", "linewidth": 0.0}
        cells = np.argwhere(np.asarray(marked, dtype=bool))
        for i, j in cells:
            ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, **style))
        if len(cells):
            sample = Patch(facecolor="0.5", hatch="///", edgecolor="white", label="merged, empty or not converged")
            ax.legend(handles=[sample], loc="upper center", bbox_to_anchor=(0.5, -0.16), frameon=False)
    ax.set_xticks(range(len(across)), [f"{v:g}" if isinstance(v, float) else str(v) for v in across])
    ax.set_yticks(range(len(up)), [f"{v:g}" if isinstance(v, float) else str(v) for v in up])
    ax.set(xlabel=x_name, ylabel=y_name)
    return ax


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError("figures need matplotlib: pip install 'softecm[report]'.") from error
    return plt.subplots(layout="constrained")[1]


def _legend(ax: Any) -> Any:
    handles, labels = ax.get_legend_handles_labels()
    if handles:
        ax.legend(handles, labels, frameon=False, fontsize="small", ncols=1 + (len(labels) > 6))
    return ax


def _marker(focal: FocalSets, column: int) -> str:
    """Circle for one cluster, diamond for several, cross for none."""
    if column == 0:
        return "x"
    return "o" if len(focal.sets[column - 1]) == 1 else "D"


def _sizes(partition: CredalPartition) -> FloatArray:
    """Marker areas: larger where more of the mass is on one set."""
    most = 60.0 if len(partition) <= 2000 else 16.0
    area: FloatArray = most * (0.25 + 0.75 * partition.masses.max(1))
    return area


def _by_set(partition: CredalPartition) -> NDArray[np.intp]:
    """Objects set by set, the surest first; outliers last."""
    best = partition.masses.argmax(1)
    place = np.where(best == 0, partition.masses.shape[1], best)
    order: NDArray[np.intp] = np.lexsort((-partition.masses.max(1), place))
    return order


def _largest_sets(masses: FloatArray) -> tuple[list[int], list[int]]:
    """Columns to draw one by one, and those to add up."""
    order = np.argsort(-masses.mean(0), kind="stable").tolist()
    return sorted(order[:MANY_SETS]), sorted(order[MANY_SETS:])


def _points(points: ArrayLike, count: int) -> FloatArray:
    xy = np.asarray(points, dtype=np.float64)
    if xy.shape != (count, 2):
        raise ValueError(
            f"points must have shape ({count}, 2), a place in the plane for each object; got {xy.shape}. Choose two "
            "columns, or embed the objects first."
        )
    return xy


def _hull(xy: FloatArray) -> FloatArray | None:
    """Corners of the convex hull, or None where the points span no area."""
    from scipy.spatial import ConvexHull, QhullError

    if len(xy) < 3:
        return xy if len(xy) else None
    ends = [int(xy.sum(1).argmin()), int(xy.sum(1).argmax())]
    with suppress(QhullError):  # all on one line
        ends = ConvexHull(xy).vertices.tolist()
    return xy[ends]


def _channel(series: Any, channel: int) -> FloatArray:
    values = np.asarray(series, dtype=np.float64)
    return values if values.ndim == 1 else values[:, channel]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 or noun == "series" else f"{number} {noun}s"
