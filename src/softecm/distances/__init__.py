"""Semi-metrics: one a file, listed here once."""

from __future__ import annotations

from softecm.distances.base import FusedRound, SemiMetric, Sums
from softecm.distances.registry import FunctionMetric, resolve_metric
from softecm.distances.squared_euclidean import SquaredEuclidean

#: Every metric that has a name for ``metric=``; the tests, the command line and the docs read this table.
SEMI_METRICS: dict[str, type[SemiMetric]] = {m.name: m for m in (SquaredEuclidean,)}

__all__ = [
    "SEMI_METRICS",
    "FunctionMetric",
    "FusedRound",
    "SemiMetric",
    "SquaredEuclidean",
    "Sums",
    "resolve_metric",
]
