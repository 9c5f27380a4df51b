"""ECM: evidential c-means of Masson and Denœux."""

from __future__ import annotations

from typing import Any

from softecm.algorithms.linkable import LinkableFamily
from softecm.algorithms.soft_ecm import SoftECMAlgorithm
from softecm.distances.base import SemiMetric
from softecm.fit.settings import Settings, settings


class ECM(LinkableFamily):
    r"""Evidential c-means: a set's prototype is the mean of its clusters' prototypes.

    Minimises

    .. math:: \sum_i \sum_A |A|^\alpha m_i(A)^\beta \|x_i - \bar v_A\|^2 + \delta^2 \sum_i m_i(\emptyset)^\beta

    over masses and the clusters' prototypes. The same problem as :class:`SoftECM` with squared Euclidean distance and
    ``relaxation="exact"``, under ECM's own names and with its usual defaults.

    Parameters
    ----------
    n_clusters : int, default=2
    alpha : float, default=1.0
        At least 0. Larger keeps mass off large sets: a more precise partition.
    beta : float, default=2.0
        Greater than 1. Larger spreads mass over more sets. In many dimensions 2 may pull all prototypes together:
        prefer 1.2 there.
    delta : "auto", float or None, default="auto"
        Distance to the empty set; the objective has its square. "auto": median plus five deviations of the root distances
        to the nearest cluster, after a first stage (found value in ``delta_``). None: no outliers.
    max_cardinality : int, optional
        All sets of up to so many clusters.
    focal_sets : "auto", "simple", "full", list of tuples or FocalSets, default="auto"
        The sets that get masses. "auto": each cluster and each pair of neighbouring clusters, which are found; "full": all
        2^c. Not together with ``max_cardinality``.
    init : "auto", "k-means++", "random" or array of shape (c, p), default="auto"
        "auto": single clusters first, robustly (:mod:`softecm.fit.stages`). "k-means++" and "random" start all sets at once.
    n_init : int, default=10
        Number of starts; the lowest objective is kept.
    max_iter : int, default=200
    tol : float, default=1e-4
        A run has converged when no mass moves by more than this.
    device : str, default="auto"
    dtype : "float64" or "float32", default="float64"
    n_jobs : int, optional
        Threads.
    warm_start : bool, default=False
        Start from the last fit's prototypes.
    callback : callable, optional
        Called with a ``Progress`` after every round; a true answer ends the fit with what there is.
    random_state : int, RandomState or None
    verbose : int, default=0
        Log every round (logger ``softecm``) when positive.

    Attributes
    ----------
    partition_ : CredalPartition
    labels_, outlier_scores_, focal_sets_, prototypes_, cluster_centers_, objective_, history_, runs_, n_iter_,
    converged_, separation_, collapsed_, delta_, n_features_in_, feature_names_in_ : as for :class:`SoftECM`

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

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        alpha: float = 1.0,
        beta: float = 2.0,
        delta: float | str | None = "auto",
        max_cardinality: int | None = None,
        focal_sets: Any = "auto",
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
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.max_cardinality = max_cardinality
        self.focal_sets = focal_sets
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
        return settings(**self.get_params(deep=False), metric="sqeuclidean", relaxation="exact")

    def _algorithm(self, metric: SemiMetric) -> SoftECMAlgorithm:
        return SoftECMAlgorithm()
