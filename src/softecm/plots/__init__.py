"""Plots of a credal partition: functions that take and return Matplotlib axes.

Plots need only a :class:`~softecm.CredalPartition` and plain arrays, never an estimator, so a saved partition can be
plotted without a refit. Each cluster has one colour everywhere, a set the mix of its clusters' colours, the empty set
dark grey; for colour-blind readers, sets and outliers also differ in shape.
"""

from softecm.plots.figures import grid_heatmap as grid_heatmap
from softecm.plots.figures import hulls as hulls
from softecm.plots.figures import map as map
from softecm.plots.figures import mass_heatmap as mass_heatmap
from softecm.plots.figures import mass_profile as mass_profile
from softecm.plots.figures import objective_trace as objective_trace
from softecm.plots.figures import scatter_masses as scatter_masses
from softecm.plots.figures import series_prototypes as series_prototypes
from softecm.plots.figures import shepard as shepard
from softecm.plots.figures import silhouette_bars as silhouette_bars
from softecm.plots.figures import ternary as ternary
from softecm.plots.style import mixed_colors as mixed_colors
from softecm.plots.style import set_colors as set_colors
