"""Soft-ECM, the estimator: evidential clustering with any semi-metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

from torch import Tensor

from softecm.algorithms.linkable import LinkableFamily
from softecm.algorithms.precomputed import SoftECMdd
from softecm.distances.base import SemiMetric
from softecm.fit.loop import LoopOptions, Problem
from softecm.fit.outcome import Solution
from softecm.fit.pipeline import Algorithm, Prices
from softecm.fit.prepare import Objects
from softecm.fit.settings import Settings, settings
from softecm.fit.soft_ecm import Model, soft_ecm, soft_ecm_problem
from softecm.objective.links import Links
from softecm.spaces.base import Encoded
from softecm.spaces.scattered import Scattered


@dataclass(frozen=True)
class SoftECMAlgorithm(Algorithm[Encoded | Scattered]):
    """Soft-ECM with any semi-metric."""

    streams: ClassVar[bool] = True

    def problem(
        self, objects: Objects[Encoded | Scattered], chosen: Settings, prices: Prices, like: Tensor, links: Links | None
    ) -> Problem[Any]:
        """Eq. 6 for a batch of runs."""
        lam, kind, given = prices.lam, chosen.relaxation, _model(objects, chosen, prices, links)
        return soft_ecm_problem(objects.x, objects.metric, chosen.focal, like, lam=lam, relaxation=kind, **given)

    def solve(
        self,
        objects: Objects[Encoded | Scattered],
        chosen: Settings,
        prices: Prices,
        start: Tensor,
        links: Links | None,
        **how: Unpack[LoopOptions],
    ) -> Solution:
        """The loop over the problem, or a chain of them where the hard constraint has no closed form."""
        given = _model(objects, chosen, prices, links)
        return soft_ecm(
            objects.x,
            objects.metric,
            chosen.focal,
            start,
            lam=prices.lam,
            relaxation=chosen.relaxation,
            max_iter=chosen.max_iter,
            **how,
            **given,
        )


def _model(objects: Objects[Encoded | Scattered], chosen: Settings, prices: Prices, links: Links | None) -> Model:
    return {
        "alpha": prices.alpha,
        "beta": prices.beta,
        "delta": prices.delta,
        "solver": chosen.solver,
        "weights": objects.weights,
        "links": links,
        "tol": chosen.tol,
    }


class SoftECM(LinkableFamily):
    r"""Evidential c-means with free prototypes for the sets: needs only a semi-metric.

    Every object gets a mass on every considered set of clusters: on one cluster ("it belongs here"), on several ("it lies
    between these"), or on none ("it belongs nowhere"). Minimises (the paper's eq. 6)

    .. math::
        \sum_i \sum_A |A|^\alpha m_i(A)^\beta d(x_i, v_A) + \delta^2 \sum_i m_i(\emptyset)^\beta
        + \lambda \sum_A \sum_{k \in A} d(v_k, v_A)

    over the masses and over one prototype for every set.

    Parameters
    ----------
    n_clusters : int, default=2
    metric : str, SemiMetric or callable, default="auto"
        "auto" looks at the data, as the command line does: series get "softdtw"; tables with categories or dates, and
        numbers with gaps or in different units (one column's range more than five times another's), "mixed", which scales;
        other numbers "sqeuclidean". In a data frame it leaves out ids and free text. ``metric_reason_`` says why. Or a
        registered name, a :class:`SemiMetric`, or a torch function ``d(x, v) -> (n, f)``, differentiable in ``v``: these
        never scale numbers by themselves, save "mixed", and take all columns. "precomputed": ``X`` holds the n x n
        dissimilarities of the objects, prototypes are objects (``prototypes_`` their numbers), and new objects come
        as n_new x n dissimilarities to the training objects. Where the triangle inequality holds, as for distances,
        hardly any object lies between two others by their sum: give squared distances if sets should have prototypes
        midway.
    alpha : float, default=1.0
        At least 0. Larger keeps mass off large sets.
    beta : float, default=1.2
        Greater than 1. Larger spreads mass over more sets; above 1.5 prototypes may merge in many dimensions.
    delta : "auto", float or None, default="auto"
        Distance to the empty set; the objective has its square. "auto": the square is the 0.95 quantile of the
        distances to the barycentre of all objects (found value in ``delta_``). None: no outliers.
    lam : float, default=1.0
        At least 0: how strongly a set's prototype is tied to its clusters' prototypes.
    relaxation : {"penalty", "gap", "exact"}, default="penalty"
        How that tie is priced. "penalty" is the paper's; a large ``lam`` then pulls all prototypes into one point. "gap"
        prices only what the tie's inertia exceeds its minimum by: it never merges, and a large ``lam`` gives the hard
        constraint. "exact" is the hard constraint: with squared Euclidean distance, ECM.
    max_cardinality : int or None, default=2
        Largest set considered; None: all 2^c.
    focal_sets : "simple", "full", list of tuples or FocalSets, optional
        The sets themselves; overrides ``max_cardinality``.
    init : "k-means++", "random" or array of the c starting prototypes, default="k-means++"
    n_init : int, default=10
        Number of starts, computed as one batch; the lowest objective is kept, among those that have not merged if any.
        With metrics that have no exact step (series, your own), a start that lies behind and can't catch up is given up.
    max_iter : int, default=200
    tol : float, default=1e-4
        A run has converged when no mass moves by more than this.
    solver : "auto", "gradient", "descent" or GradientDescent, default="auto"
        "auto": the exact prototype step where the metric has one, else "descent", a monotone quasi-Newton method without a
        rate. "gradient": the paper's Algorithm 1.
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
        Masses of the training objects; the same as ``predict_partition(X)``, except for linked objects (see ``fit``).
    labels_ : ndarray of shape (n,)
        Cluster of largest pignistic probability; never -1.
    prototypes_ : one for each non-empty set, in the order of ``focal_sets_``
    cluster_centers_ : the first c of them
    focal_sets_ : FocalSets
    objective_ : float
    history_ : ndarray, the objective after each round of the best run
    runs_ : data frame, one row a start
    n_iter_ : int
    converged_ : bool
    separation_ : float
        Least distance between two clusters' prototypes over the mean distance of objects to the barycentre of all.
    collapsed_ : bool
        Whether ``separation_`` is below 0.0025.
    outlier_scores_ : ndarray of shape (n,), the mass on the empty set
    delta_ : float or None
    metric_ : SemiMetric
        What compared the objects, with everything it learned from them.
    metric_reason_ : str
        Why "auto" took it; "as asked" where it was named.
    left_out_ : dict
        Columns that "auto" left out, with the reason; new data may have them or not.
    n_features_in_ : int
        Without those left out.
    feature_names_in_ : ndarray of str, where the data had names

    Examples
    --------
    >>> from softecm import SoftECM
    >>> from softecm.datasets import load_diamond
    >>> model = SoftECM(2, alpha=1 / 6, beta=2.0, delta=11.0, lam=1.5, random_state=0).fit(load_diamond().data)
    >>> model.partition_.sets()[[1, 5, 6, 11]].tolist()
    [(0,), (0, 1), (1,), ()]

    References
    ----------
    A. Soubeiga, T. Guyet and V. Antoine, "Soft-ECM: an extension of Evidential C-Means for complex data", FUZZ-IEEE 2025.
    """

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        metric: Any = "auto",
        alpha: float = 1.0,
        beta: float = 1.2,
        delta: float | str | None = "auto",
        lam: float = 1.0,
        relaxation: str = "penalty",
        max_cardinality: int | None = 2,
        focal_sets: Any = None,
        init: Any = "k-means++",
        n_init: int = 10,
        max_iter: int = 200,
        tol: float = 1e-4,
        solver: Any = "auto",
        device: str = "auto",
        dtype: str = "float64",
        n_jobs: int | None = None,
        warm_start: bool = False,
        callback: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.lam = lam
        self.relaxation = relaxation
        self.max_cardinality = max_cardinality
        self.focal_sets = focal_sets
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.device = device
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.callback = callback
        self.random_state = random_state
        self.verbose = verbose

    def _settings(self) -> Settings:
        return settings(**self.get_params(deep=False))

    def _algorithm(self, metric: SemiMetric) -> Algorithm[Any]:
        return SoftECMdd() if metric.discrete else SoftECMAlgorithm()
