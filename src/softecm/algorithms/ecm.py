"""ECM: evidential c-means of Masson and Denœux."""

from __future__ import annotations

from softecm.algorithms.family import LinkableFamily
from softecm.algorithms.parameters import parameters
from softecm.algorithms.soft_ecm import SoftECMAlgorithm
from softecm.distances.base import SemiMetric


@parameters
class ECM(LinkableFamily):
    r"""Evidential c-means: a set's prototype is the mean of its clusters' prototypes.

    Minimises

    .. math:: \sum_i \sum_A |A|^\alpha m_i(A)^\beta \|x_i - \bar v_A\|^2 + \delta^2 \sum_i m_i(\emptyset)^\beta

    over masses and the clusters' prototypes. The problem is that of :class:`SoftECM` with squared Euclidean distance and
    ``relaxation="exact"``; names and defaults are those of ECM.

    Parameters
    ----------
    n_clusters : int, default=2
    beta : float, default=2.0
        Greater than 1. Larger values spread mass over more sets. With many columns 2 may pull all prototypes together:
        use 1.2 there.
    alpha, delta, max_cardinality, focal_sets, init, n_init, max_iter, tol, device : as for :class:`SoftECM`
    dtype, n_jobs, warm_start, callback, random_state, verbose : as for :class:`SoftECM`

    Attributes
    ----------
    partition_ : CredalPartition
    labels_, outlier_scores_, focal_sets_, prototypes_, cluster_centers_, objective_ : as for :class:`SoftECM`
    history_, runs_, n_iter_, converged_, separation_, collapsed_, delta_ : as for :class:`SoftECM`
    n_features_in_, feature_names_in_ : as for :class:`SoftECM`

    Examples
    --------
    >>> from softecm import ECM
    >>> from softecm.datasets import load_diamond
    >>> ecm = ECM(2, delta=5.0, random_state=0).fit(load_diamond().data)
    >>> ecm.partition_.sets()[[1, 5, 7, 11]].tolist()
    [(0,), (0, 1), (1,), ()]

    References
    ----------
    M.-H. Masson and T. Denœux, "ECM: an evidential version of the fuzzy c-means algorithm", Pattern Recognition 41,
    2008.
    """

    suits = "numbers; round groups"

    def _algorithm(self, metric: SemiMetric) -> SoftECMAlgorithm:
        return SoftECMAlgorithm()
