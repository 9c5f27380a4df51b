"""Selection without labels: parameter grids as one computation, robust rules, and the number of clusters."""

from softecm._warnings import NoGroupsWarning as NoGroupsWarning
from softecm._warnings import SearchEdgeWarning as SearchEdgeWarning
from softecm._warnings import TwinsWarning as TwinsWarning
from softecm.selection.n_clusters import Choice as Choice
from softecm.selection.n_clusters import choose_n_clusters as choose_n_clusters
from softecm.selection.n_clusters import default_candidates as default_candidates
from softecm.selection.n_clusters import guarded_nonspecificity as guarded_nonspecificity
from softecm.selection.result import Best as Best
from softecm.selection.result import Sweep as Sweep
from softecm.selection.rules import RULES as RULES
from softecm.selection.sweeping import SweepInterrupted as SweepInterrupted
from softecm.selection.sweeping import sweep as sweep
