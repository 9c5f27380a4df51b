"""Semi-metrics: one a file, listed once in ``listing``."""

from __future__ import annotations

from softecm.distances.base import ClosedForm, CompiledPasses, FusedRound, Learner, SemiMetric, Sums
from softecm.distances.convolution_features import ConvolutionFeatures
from softecm.distances.cosine import Cosine
from softecm.distances.dtw import DTW
from softecm.distances.elastic_metrics import ADTW, ERP, MSM, TWE, WDTW, SoftMSM, SoftTWE
from softecm.distances.euclidean import Euclidean
from softecm.distances.functions import series_distances
from softecm.distances.hamming import Hamming
from softecm.distances.listing import SEMI_METRICS
from softecm.distances.mahalanobis import Mahalanobis
from softecm.distances.manhattan import Manhattan
from softecm.distances.mixed import Mixed
from softecm.distances.precomputed import Precomputed
from softecm.distances.registry import FunctionMetric, resolve_metric
from softecm.distances.sbd import SBD
from softecm.distances.series_euclidean import SeriesEuclidean
from softecm.distances.soft_dtw import SoftDTW
from softecm.distances.squared_euclidean import SquaredEuclidean
from softecm.distances.state_sequences import StateSequences
from softecm.distances.views import Combined

__all__ = [
    "ADTW",
    "DTW",
    "ERP",
    "MSM",
    "SBD",
    "SEMI_METRICS",
    "TWE",
    "WDTW",
    "ClosedForm",
    "Combined",
    "CompiledPasses",
    "ConvolutionFeatures",
    "Cosine",
    "Euclidean",
    "FunctionMetric",
    "FusedRound",
    "Hamming",
    "Learner",
    "Mahalanobis",
    "Manhattan",
    "Mixed",
    "Precomputed",
    "SemiMetric",
    "SeriesEuclidean",
    "SoftDTW",
    "SoftMSM",
    "SoftTWE",
    "SquaredEuclidean",
    "StateSequences",
    "Sums",
    "resolve_metric",
    "series_distances",
]
