"""Objects one beside the other: their masses as lines, bands and shades, their silhouettes as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from softecm.belief import CredalPartition
from softecm.figures.axes import FloatArray, axes, by_set, legend, marker
from softecm.figures.colours import mixed_colors, set_colors
from softecm.scores.silhouettes import Silhouettes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MANY_OBJECTS = 150  # beyond this lines with markers run together: bands instead
MANY_BARS = 400  # beyond this lines for intervals run together
MANY_SETS = 12  # beyond this a legend hides the figure: the rest is one band


def mass_profile(
    partition: CredalPartition, *, ax: Axes | None = None, sort: bool = False, names: Sequence[str] | None = None
) -> Axes:
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
    ax = axes(ax)
    masses = partition.masses[by_set(partition)] if sort else partition.masses
    labels, colors = partition.focal_sets.labels(names), set_colors(partition.focal_sets)
    shown, rest = _largest_sets(masses)
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
    ax = axes(ax)
    masses = partition.masses[by_set(partition)] if sort else partition.masses
    limits = (0.5, len(masses) + 0.5, masses.shape[1] - 0.5, -0.5)
    image = ax.imshow(masses.T, aspect="auto", cmap="cividis", vmin=0, vmax=1, extent=limits, interpolation="nearest")
    ax.set_yticks(range(masses.shape[1]), partition.focal_sets.labels(names))
    ax.set(xlabel="object, sorted by set" if sort else "object", ylabel="set")
    ax.figure.colorbar(image, ax=ax, label="mass")
    return ax


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
        raise ValueError(
            f"found must hold silhouettes of the partition's {len(partition)} objects; got {len(found.objects)}."
        )
    ax = axes(ax)
    labels, colors, own = partition.labels(), mixed_colors(partition), set_colors(partition.focal_sets)
    order = np.lexsort((-np.nan_to_num(found.objects, nan=-2.0), labels))
    place = np.arange(len(order)) + 2.0 * labels[order]  # a gap between clusters
    ax.barh(place, np.nan_to_num(found.objects[order]), height=1.0, color=np.asarray(colors)[order], lw=0)
    if len(order) <= MANY_BARS:
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


def _largest_sets(masses: FloatArray) -> tuple[list[int], list[int]]:
    """Columns to draw one by one, and those to add up."""
    order = np.argsort(-masses.mean(0), kind="stable").tolist()
    return sorted(order[:MANY_SETS]), sorted(order[MANY_SETS:])
