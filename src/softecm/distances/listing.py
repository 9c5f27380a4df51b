"""The list of all named semi-metrics."""

from __future__ import annotations

from softecm.distances.base import SemiMetric
from softecm.distances.convolution_features import ConvolutionFeatures as ConvolutionFeatures
from softecm.distances.cosine import Cosine as Cosine
from softecm.distances.dtw import DTW as DTW
from softecm.distances.elastic_metrics import ADTW as ADTW
from softecm.distances.elastic_metrics import ERP as ERP
from softecm.distances.elastic_metrics import MSM as MSM
from softecm.distances.elastic_metrics import TWE as TWE
from softecm.distances.elastic_metrics import WDTW as WDTW
from softecm.distances.elastic_metrics import SoftMSM as SoftMSM
from softecm.distances.elastic_metrics import SoftTWE as SoftTWE
from softecm.distances.euclidean import Euclidean as Euclidean
from softecm.distances.hamming import Hamming as Hamming
from softecm.distances.mahalanobis import Mahalanobis as Mahalanobis
from softecm.distances.manhattan import Manhattan as Manhattan
from softecm.distances.mixed import Mixed as Mixed
from softecm.distances.precomputed import Precomputed as Precomputed
from softecm.distances.sbd import SBD as SBD
from softecm.distances.series_euclidean import SeriesEuclidean as SeriesEuclidean
from softecm.distances.soft_dtw import SoftDTW as SoftDTW
from softecm.distances.squared_euclidean import SquaredEuclidean as SquaredEuclidean
from softecm.distances.state_sequences import StateSequences as StateSequences

#: All metrics with a name for ``metric=``; tests, command line and docs use this table.
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
