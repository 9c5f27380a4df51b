"""FCM: fuzzy c-means of Bezdek."""

from __future__ import annotations

from dataclasses import field

from softecm.algorithms.family import LinkableFamily
from softecm.algorithms.parameters import Sets, parameters
from softecm.algorithms.soft_ecm import SoftECMAlgorithm
from softecm.distances.base import SemiMetric


@parameters
class FCM(LinkableFamily):
    r"""Fuzzy c-means: every object has a degree of membership in every cluster, and the degrees add up to 1.

    Minimises

    .. math:: \sum_i \sum_k u_{ik}^\beta \|x_i - v_k\|^2

    over memberships and centres. This is :class:`ECM` with single clusters only and no empty set: it can say "half
    here, half there", but neither "one of these two" nor "nowhere". As beta approaches 1 it becomes k-means.

    Parameters
    ----------
    n_clusters : int, default=2
    beta : float, default=2.0
        Greater than 1: the fuzzifier, m in the literature on FCM. With many columns 2 may pull all centres together:
        use 1.2 there.
    init : "auto", "k-means++", "random" or array of shape (c, p), default="auto"
        "auto": k-means++ with capped distances, so that outliers are not preferred.
    tol : float, default=1e-4
        A run has converged when no membership changes by more than this.
    n_init, max_iter, device, dtype, n_jobs, warm_start, callback, random_state, verbose : as for :class:`SoftECM`

    Attributes
    ----------
    partition_ : CredalPartition
        Memberships as masses on single clusters.
    labels_, outlier_scores_, focal_sets_, prototypes_, cluster_centers_, objective_ : as for :class:`SoftECM`
    history_, runs_, n_iter_, converged_, separation_, collapsed_, delta_ : as for :class:`SoftECM`
    n_features_in_, feature_names_in_ : as for :class:`SoftECM`

    Examples
    --------
    >>> from softecm import FCM
    >>> from softecm.datasets import load_diamond
    >>> fcm = FCM(2, init=[[-3, 0], [3, 0]]).fit(load_diamond().data[:11])
    >>> fcm.predict_proba([[-5.0, 0.0], [0.0, 0.0]]).round(2)
    array([[0.95, 0.05],
           [0.5 , 0.5 ]])

    References
    ----------
    J. C. Bezdek, "Pattern Recognition with Fuzzy Objective Function Algorithms", Plenum, 1981.
    """

    suits = "numbers; degrees of membership, without sets and outliers"

    alpha: float = field(default=0.0, init=False)
    delta: float | str | None = field(default=None, init=False)
    max_cardinality: int | None = field(default=1, init=False)
    focal_sets: Sets = field(default=None, init=False)

    def _algorithm(self, metric: SemiMetric) -> SoftECMAlgorithm:
        return SoftECMAlgorithm()
