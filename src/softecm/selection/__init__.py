"""Selection without labels: parameter grids as one computation, robust rules, and the number of clusters."""

from softecm._warnings import NoGroupsWarning, SearchEdgeWarning, TwinsWarning
from softecm.selection.n_clusters import Choice, choose_n_clusters, default_candidates, guarded_nonspecificity
from softecm.selection.result import Best, Sweep
from softecm.selection.rules import RULES
from softecm.selection.sweeping import SweepInterrupted, sweep

__all__ = [
    "RULES",
    "Best",
    "Choice",
    "NoGroupsWarning",
    "SearchEdgeWarning",
    "Sweep",
    "SweepInterrupted",
    "TwinsWarning",
    "choose_n_clusters",
    "default_candidates",
    "guarded_nonspecificity",
    "sweep",
]
