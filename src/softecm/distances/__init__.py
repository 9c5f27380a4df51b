"""Semi-metrics: one a file, listed once in ``listing``."""

from softecm.distances import listing
from softecm.distances.auto import FunctionMetric, resolve_metric
from softecm.distances.base import ClosedForm, CompiledPasses, FusedRound, Learner, SemiMetric, Sums
from softecm.distances.functions import series_distances
from softecm.distances.listing import *  # noqa: F403 -- its ``__all__``
from softecm.distances.views import Combined

__all__ = [
    "ClosedForm",
    "Combined",
    "CompiledPasses",
    "FunctionMetric",
    "FusedRound",
    "Learner",
    "SemiMetric",
    "Sums",
    "resolve_metric",
    "series_distances",
]
__all__ += listing.__all__
