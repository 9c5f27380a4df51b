"""FCM: fuzzy c-means of Bezdek."""

from __future__ import annotations

from typing import Any

from softecm.algorithms.linkable import LinkableFamily
from softecm.algorithms.soft_ecm import SoftECMAlgorithm
from softecm.distances.base import SemiMetric
from softecm.fit.settings import Settings, settings


class FCM(LinkableFamily):
    r"""Fuzzy c-means: every object belongs to every cluster to some degree, the degrees adding up to 1.

    Minimises

    .. math:: \sum_i \sum_k u_{ik}^\beta \|x_i - v_k\|^2

    over memberships and centres. It is :class:`ECM` with single clusters only and no empty set: it can say "half here, half
    there", but neither "one of these two" nor "nowhere". As beta falls to 1 it becomes k-means.

    Parameters
    ----------
    n_clusters : int, default=2
    beta : float, default=2.0
        Greater than 1: the fuzzifier, m in the literature on FCM. In many dimensions 2 may pull all centres together:
        prefer 1.2 there.
    init : "auto", "k-means++", "random" or array of shape (c, p), default="auto"
        "auto": k-means++ with capped distances, so that far objects are not drawn for being far.
    n_init : int, default=10
        Number of starts; the lowest objective is kept.
    max_iter : int, default=200
    tol : float, default=1e-4
        A run has converged when no membership moves by more than this.
    device : str, default="auto"
    dtype : "float64" or "float32", default="float64"
    n_jobs : int, optional
        Threads.
    warm_start : bool, default=False
        Start from the last fit's centres.
    callback : callable, optional
        Called with a ``Progress`` after every round; a true answer ends the fit with what there is.
    random_state : int, RandomState or None
    verbose : int, default=0
        Log every round (logger ``softecm``) when positive.

    Attributes
    ----------
    partition_ : CredalPartition
        Memberships as masses on single clusters.
    labels_, outlier_scores_, focal_sets_, prototypes_, cluster_centers_, objective_, history_, runs_, n_iter_,
    converged_, separation_, collapsed_, delta_, n_features_in_, feature_names_in_ : as for :class:`SoftECM`

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

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        beta: float = 2.0,
        init: Any = "auto",
        n_init: int = 10,
        max_iter: int = 200,
        tol: float = 1e-4,
        device: str = "auto",
        dtype: str = "float64",
        n_jobs: int | None = None,
        warm_start: bool = False,
        callback: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.beta = beta
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.device = device
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.callback = callback
        self.random_state = random_state
        self.verbose = verbose

    def _settings(self) -> Settings:
        given = self.get_params(deep=False)
        return settings(**given, alpha=0.0, delta=None, max_cardinality=1, focal_sets=None, relaxation="exact")

    def _algorithm(self, metric: SemiMetric) -> SoftECMAlgorithm:
        return SoftECMAlgorithm()
