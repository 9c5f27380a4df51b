"""The one list of semi-metrics that have a name."""

from __future__ import annotations

from softecm.distances.base import SemiMetric
from softecm.distances.convolution_features import ConvolutionFeatures
from softecm.distances.cosine import Cosine
from softecm.distances.dtw import DTW
from softecm.distances.elastic_metrics import ADTW, ERP, MSM, TWE, WDTW, SoftMSM, SoftTWE
from softecm.distances.euclidean import Euclidean
from softecm.distances.hamming import Hamming
from softecm.distances.mahalanobis import Mahalanobis
from softecm.distances.manhattan import Manhattan
from softecm.distances.mixed import Mixed
from softecm.distances.precomputed import Precomputed
from softecm.distances.sbd import SBD
from softecm.distances.series_euclidean import SeriesEuclidean
from softecm.distances.soft_dtw import SoftDTW
from softecm.distances.squared_euclidean import SquaredEuclidean
from softecm.distances.state_sequences import StateSequences

__all__ = [
    "ADTW",
    "DTW",
    "ERP",
    "MSM",
    "SBD",
    "SEMI_METRICS",
    "TWE",
    "WDTW",
    "ConvolutionFeatures",
    "Cosine",
    "Euclidean",
    "Hamming",
    "Mahalanobis",
    "Manhattan",
    "Mixed",
    "Precomputed",
    "SeriesEuclidean",
    "SoftDTW",
    "SoftMSM",
    "SoftTWE",
    "SquaredEuclidean",
    "StateSequences",
]

#: Every metric that has a name for ``metric=``; the tests, the command line and the docs read this table.
SEMI_METRICS: dict[str, type[SemiMetric]] = {
    m.name: m
    for m in (
        SquaredEuclidean,
        Euclidean,
        Manhattan,
        Cosine,
        Mahalanobis,
        Hamming,
        Mixed,
        SeriesEuclidean,
        SoftDTW,
        DTW,
        SoftMSM,
        MSM,
        SoftTWE,
        TWE,
        ADTW,
        WDTW,
        ERP,
        SBD,
        ConvolutionFeatures,
        StateSequences,
        Precomputed,
    )
}
