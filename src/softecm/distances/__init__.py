"""Semi-metrics, one per file, listed in ``listing``."""

from softecm.distances.auto import FunctionMetric as FunctionMetric
from softecm.distances.auto import resolve_metric as resolve_metric
from softecm.distances.base import ClosedForm as ClosedForm
from softecm.distances.base import CompiledPasses as CompiledPasses
from softecm.distances.base import FusedRound as FusedRound
from softecm.distances.base import Learner as Learner
from softecm.distances.base import SemiMetric as SemiMetric
from softecm.distances.base import Sums as Sums
from softecm.distances.functions import series_distances as series_distances
from softecm.distances.listing import *  # noqa: F403
from softecm.distances.views import Combined as Combined
