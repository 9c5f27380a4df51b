"""CCM: credal c-means of Liu, Pan, Dezert and Mercier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from softecm._checks import check_number
from softecm.algorithms.family import PrototypeFamily
from softecm.algorithms.spread_means import SetPrices, SpreadMeans
from softecm.belief.focal import FocalSets
from softecm.distances.base import SemiMetric
from softecm.fit.settings import Settings, settings


def ccm_prices(focal: FocalSets, gamma: float) -> SetPrices:
    r"""Scale 1 and price of spread :math:`1 / (|A| + \gamma)`: CCM's distance, rearranged."""
    size = torch.as_tensor(focal.cardinalities.copy(), dtype=torch.float64)
    return SetPrices(torch.ones_like(size), 1.0 / (size + gamma))


@dataclass(frozen=True)
class CCMAlgorithm(SpreadMeans):
    """CCM: its sets' prices."""

    def set_prices(self, focal: FocalSets) -> SetPrices:
        """Those of the article's distance."""
        return ccm_prices(focal, self.gamma)


class CCM(PrototypeFamily):
    r"""Credal c-means: an object goes to a set when it is close to all its clusters and near their middle.

    Minimises :math:`\sum_i \sum_A m_i(A)^\beta D_{iA} + \delta^2 \sum_i m_i(\emptyset)^\beta` with

    .. math:: D_{iA} = \frac{\sum_{k \in A} \|x_i - v_k\|^2 + \gamma \|x_i - \bar v_A\|^2}{|A| + \gamma}

    (the plain squared distance for a single cluster), :math:`\bar v_A` the mean of the centres of A. Unlike in
    :class:`ECM`, a set of clusters that lie far apart is dear even at its middle.

    The distance and the system for the centres follow a public implementation of CCM; the objective, with the exponent on
    the masses and no factor for the size of a set, is reconstructed: it has not been checked against the article.

    Parameters
    ----------
    n_clusters : int, default=2
    gamma : float, default=1.0
        At least 0: how much the distance to the middle of a set counts beside the distances to its clusters.
    beta : float, default=2.0
        Greater than 1. Larger spreads mass over more sets. In many dimensions 2 may pull all centres together: prefer 1.2
        there.
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
        Start from the last fit's centres.
    callback : callable, optional
        Called with a ``Progress`` after every round; a true answer ends the fit with what there is.
    random_state : int, RandomState or None
    verbose : int, default=0
        Log every round (logger ``softecm``) when positive.

    Attributes
    ----------
    partition_ : CredalPartition
    prototypes_ : ndarray of shape (f, p)
        The centres, then for each larger set the mean of its clusters' centres.
    labels_, outlier_scores_, focal_sets_, cluster_centers_, objective_, history_, runs_, n_iter_, converged_,
    separation_, collapsed_, delta_, n_features_in_, feature_names_in_ : as for :class:`SoftECM`

    Examples
    --------
    >>> from softecm import CCM
    >>> ccm = CCM(2, init=[[0.0], [4.0]]).fit([[0.0], [0.2], [2.1], [3.9], [4.0]])
    >>> ccm.partition_.sets().tolist()
    [(0,), (0,), (0, 1), (1,), (1,)]

    References
    ----------
    Z. Liu, Q. Pan, J. Dezert and G. Mercier, "Credal c-means clustering method based on belief functions", Knowledge-Based
    Systems 74, 2015.
    """

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        gamma: float = 1.0,
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
        self.gamma = gamma
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
        given = self.get_params(deep=False)
        check_number(
            "gamma", given.pop("gamma"), least=0, hint="1 is usual; 0 looks at the clusters' own distances only."
        )
        return settings(**given, alpha=0.0, relaxation="exact")

    def _algorithm(self, metric: SemiMetric) -> CCMAlgorithm:
        return CCMAlgorithm(float(self.gamma))
