"""Figures of a credal partition: Matplotlib axes in, axes out.

Every figure is drawn from a :class:`~softecm.CredalPartition` and plain arrays, never from an estimator, so a saved
partition is redrawn without a refit. Each cluster has one colour everywhere, a set the mix of its clusters' colours, the
empty set dark grey; sets and outliers differ in shape as well, for those who see colours differently.
"""

from softecm.plots.figures import (
    grid_heatmap,
    hulls,
    map,
    mass_heatmap,
    mass_profile,
    objective_trace,
    scatter_masses,
    series_prototypes,
    shepard,
    silhouette_bars,
    ternary,
)
from softecm.plots.style import mixed_colors, set_colors

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
    "shepard",
    "silhouette_bars",
    "ternary",
]
