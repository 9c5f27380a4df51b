"""Soft-ECM, the estimator: evidential clustering with any semi-metric."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

import torch
from torch import Tensor

from softecm._checks import check_choice
from softecm._wording import worded
from softecm.algorithms.family import LinkableFamily
from softecm.algorithms.parameters import Metric, choice, number, parameters, rule
from softecm.algorithms.precomputed import SoftECMdd
from softecm.distances.base import SemiMetric, distances_of
from softecm.distances.weighted_parts import Weighed
from softecm.fit.algorithm import FEW_NUMBERS, Algorithm, RunBatch, soft_ecm_problem
from softecm.fit.loop import Problem, Solution, extended
from softecm.fit.prepare import Objects
from softecm.fit.settings import GAIN, ROWS, Settings
from softecm.objective.equations import MassCost, evaluate
from softecm.objective.links import Links
from softecm.objective.problem import RELAXATIONS, Penalty, distances_to_sets, set_barycenters
from softecm.optim import Accelerated, Closed, Descent, GradientDescent, Solver
from softecm.spaces.base import Encoded
from softecm.spaces.scattered import OnDevice, Scattered


@dataclass(frozen=True)
class SoftECMAlgorithm(Algorithm[Encoded | Scattered]):
    """Soft-ECM with any semi-metric."""

    streams: ClassVar[bool] = True
    adds_sets: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True
    weighs: ClassVar[bool] = True
    relaxes: ClassVar[bool] = True

    def with_sets(self, batch: RunBatch[Encoded | Scattered], singles: Solution) -> Solution:
        """Add sets with the barycentres of their clusters as prototypes."""
        objects, chosen, cost = batch.objects, batch.settings, batch.cost()
        places = clusters = batch.start
        if objects.space.sparse:
            return extended(singles, clusters, self._wide_cost(batch))
        if len(chosen.focal) > chosen.n_clusters:
            near = clusters.to(self.device_of_runs(objects, clusters, None))
            middles = set_barycenters(objects.metric, chosen.focal, near, None, GAIN * chosen.tol)
            places = torch.cat([clusters, middles.to(clusters.device)], 1)
        if "view_weights" in singles.extras:
            return self._weighed_with_sets(objects, chosen, cost, singles, places)
        evaluation = evaluate(objects.metric, objects.x, places, cost, sums=False)
        return extended(singles, places, evaluation.cost)

    def _weighed_with_sets(
        self, objects: Objects[Encoded | Scattered], chosen: Settings, cost: MassCost, singles: Solution, places: Tensor
    ) -> Solution:
        """Do the same if each run has its own view weights; a set gets the mean weights of its clusters."""
        weights = singles.extras["view_weights"]
        means = torch.tensor(chosen.focal.shares).to(weights)
        shares = torch.einsum("fc,rcl->rfl", means, weights[:, : chosen.n_clusters])
        singles = replace(singles, extras={**singles.extras, "view_weights": shares})
        totals = []
        for run in range(len(places)):
            at = torch.tensor([run], device=places.device)
            metric = self.metric_of(objects, chosen, singles, run)
            totals.append(evaluate(metric, objects.x, places[at], cost.select(at), sums=False).cost)
        return extended(singles, places, torch.cat(totals))

    def metric_of(
        self, objects: Objects[Encoded | Scattered], chosen: Settings, solution: Solution, run: int
    ) -> SemiMetric:
        """Return the objects' metric with the view weights of a run."""
        weights, metric = solution.extras.get("view_weights"), objects.metric
        if weights is None or not isinstance(metric, Weighed) or metric.weighing is None:
            return metric
        return metric.reweighed(weights[run], metric.weighing.of, chosen.n_clusters)

    @staticmethod
    def _wide_cost(batch: RunBatch[Encoded | Scattered]) -> Tensor:
        """Return the objective (runs,) with the sets included, without materializing their prototypes."""
        cost, metric, x = batch.cost(), batch.objects.metric, cast(Encoded, batch.objects.x)
        totals = []
        for run, own in enumerate(batch.start):
            d = distances_to_sets(metric, batch.settings.focal, own, distances_of(metric, x, own))
            price = cost.select(run)
            each = torch.cat([price.shares(d[i : i + ROWS]).cost for i in range(0, len(d), ROWS)])
            totals.append((each if cost.weights is None else each * cost.weights).sum())
        return torch.stack(totals)

    def problem(self, batch: RunBatch[Encoded | Scattered]) -> Problem[Any]:
        """Return eq. 6 for a batch of runs."""
        objects, chosen, x = batch.objects, batch.settings, batch.objects.x
        if objects.device != batch.start.device and not isinstance(x, Scattered):
            x = OnDevice.of(x, objects.weights, objects.device)
        return soft_ecm_problem(
            x, objects.metric, chosen.focal, batch.cost(), lam=batch.lam, relaxation=chosen.relaxation or Penalty,
            solver=chosen.solver, links=batch.links, pull=chosen.pull, tol=chosen.tol,
        )  # fmt: skip

    def device_of_runs(self, objects: Objects[Encoded | Scattered], start: Tensor, links: Links | None) -> torch.device:
        """Return the CPU if a run is small and each step takes many operations, else the objects' device."""
        metric, few = objects.metric, start.numel() <= FEW_NUMBERS
        on_cpu = few and links is None and metric.weighing is None and not metric.closed_form.quadratic
        return torch.device("cpu") if on_cpu else objects.device


#: Parameters the paper uses in all experiments.
PAPER: dict[str, float | str] = {
    "alpha": 2.0,
    "delta": 10.0,
    "lam": 1.0,
    "relaxation": "penalty",
    "max_cardinality": 2,
    "init": "random",
}


def check_solver(name: str, value: object, usual: object) -> object:
    """Check a solver or the name of one."""
    if isinstance(value, str):
        return check_choice(name, value, ("auto", "gradient", "descent"), worded("Or give a GradientDescent(...)."))
    if not isinstance(value, GradientDescent | Descent | Closed | Accelerated):
        raise ValueError(f"{name} must be 'auto', 'gradient', 'descent' or a GradientDescent; got {value!r}.")
    return value


@parameters
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
        :func:`softecm.choose_n_clusters` finds it; ``score`` does not, because it grows with it.
    metric : str, SemiMetric or callable, default="auto"
        "auto" infers it from the data, as the command line does; ``metric_reason_`` reports the choice. Series are
        compared by shape, slope and texture combined (``prototypes_`` are series, ``explain`` is (n, f, views)).
        Tables with categories or dates, and numbers with missing values or in different units (one column's range
        more than five times another's), get "mixed", which scales; other numbers get "sqeuclidean". Ids and free text
        in a data frame are left out.

        Or a registered name, a :class:`SemiMetric`, or a torch function ``d(x, v) -> (n, f)`` that is differentiable
        in ``v``. Except for "mixed" these never scale numbers, and they use all columns. With "precomputed", ``X``
        holds the n x n dissimilarities, prototypes are objects (``prototypes_`` holds their numbers), and new objects
        come as n_new x n dissimilarities to the training objects. If the triangle inequality holds, hardly any object
        is midway between two others: pass squared distances to find objects between clusters.
    alpha : float, default=1.0
        At least 0. Larger keeps mass off large sets.
    beta : float, default=1.2
        Greater than 1. Larger spreads mass over more sets; above 1.5 prototypes may merge in many dimensions.
        (:class:`ECM` defaults to 2.)
    delta : "auto", float or None, default="auto"
        Distance beyond which an object belongs nowhere. The objective compares its square with the metric's values,
        so for plain distances ("euclidean", "manhattan", a matrix) the threshold is ``delta**2``. "auto": the median
        plus five deviations of the root distances (for a matrix, of its values) to the nearest cluster; the value is
        in ``delta_``. None: no outliers.
    lam : "auto" or float, default="auto"
        At least 0: the weight of the constraint between a set's prototype and its clusters'. "auto" is proportional
        to the objects' weight W: 0.2 W / c^2 for the penalty and W for the gap. A number has the paper's absolute
        meaning.
    relaxation : {"auto", "penalty", "gap", "exact"}, default="auto"
        How to enforce "a set's prototype is the barycentre of its clusters'". "auto" finds the clusters first, with
        single clusters and the empty set; a set's prototype is then that barycentre, and the masses are distributed
        over all sets. The others optimize all prototypes together. "penalty" is the paper's; a large ``lam`` merges
        all prototypes. "gap" penalizes only the excess of a set's inertia over its minimum; it never merges, and a
        large ``lam`` approaches the hard constraint. "exact" is the hard constraint (ECM, with squared Euclidean
        distance). With a number for ``lam``, an ``init`` other than "auto", or links, "auto" means "exact" if
        barycentres have a closed form and ``lam`` is "auto", and "penalty" otherwise.
    max_cardinality : int, optional
        Use all sets of up to this many clusters.
    focal_sets : "auto", "simple", "full", list of tuples or FocalSets, default="auto"
        The sets that get masses. "auto": each cluster and each pair of neighbouring clusters; "simple": single
        clusters, all of them together, none; "full": all 2^c. Not together with ``max_cardinality``.
    init : "auto", "k-means++", "random" or array of the c starting prototypes, default="auto"
        "auto": outlier-robust initialization of single clusters (:mod:`softecm.fit.stages`). "k-means++" and "random"
        initialize all sets at once.
    n_init : int, default=10
        Number of restarts, computed as one batch, on a sample if there are many objects. The lowest objective wins,
        among restarts that have not merged if there are any. For metrics without an exact step (series, your own),
        restarts that fall behind are dropped early, and long series are shortened while restarts are compared.
    max_iter : int, default=200
    tol : float, default=1e-4
        A run has converged when no mass changes by more than this. With ``init="auto"`` and a metric without an exact
        step, also when each of the last five iterations lowered the objective by a relative amount below ten times
        this, or when the next step promises less than that.
    solver : "auto", "gradient", "descent" or GradientDescent, default="auto"
        "auto": the exact prototype step if the metric has one, else "descent", a monotone quasi-Newton method without
        a learning rate. "gradient": the paper's Algorithm 1.
    device : str, default="auto"
        "cpu", "cuda", or "auto": a GPU if there is one and the work is large enough.
    dtype : "float64" or "float32", default="float64"
    n_jobs : int, optional
        Number of threads.
    warm_start : bool, default=False
        Start from the last fit's prototypes.
    callback : callable, optional
        Called with a ``Progress`` after every iteration; returning true stops the fit and keeps the current state.
    random_state : int, RandomState or None
    verbose : int, default=0
        If positive, log every iteration (logger ``softecm``).

    Attributes
    ----------
    partition_ : CredalPartition
        Masses of the training objects; the same as ``predict_partition(X)``, except for linked objects (see ``fit``).
    labels_ : ndarray of shape (n,)
        Cluster of largest pignistic probability, from 0; label 0 is ω1 in tables, group 1 in reports.
        Never -1: ``partition_.labels(outliers=-1)`` marks outliers.
    prototypes_ : one for each non-empty set, in the order of ``focal_sets_``
    cluster_centers_ : the first c of them
    focal_sets_ : FocalSets
    objective_ : float
    history_ : ndarray, the objective after each iteration of the best run
        By default the iterations of the clusters' fit, shifted to end at the cost of single clusters with ``delta_``,
        and then the objective with the sets.
    runs_ : data frame, one row per restart
    n_iter_ : int
    converged_ : bool
    separation_ : float
        Smallest distance between two clusters' prototypes over the mean distance of objects to the barycentre of all.
    collapsed_ : bool
        Whether ``separation_`` is below 0.0025.
    outlier_scores_ : ndarray of shape (n,), the mass on the empty set
    delta_ : float or None
    metric_ : SemiMetric
        The metric used, with everything it learned from the data.
    metric_reason_ : str
        Why "auto" chose it; "as specified" if you named it.
    left_out_ : dict
        Columns that "auto" left out, with the reason; new data may have them or not.
    n_features_in_ : int
        Without the columns left out.
    feature_names_in_ : ndarray of str, if the data had names

    Examples
    --------
    >>> from softecm import SoftECM
    >>> from softecm.datasets import load_diamond
    >>> diamond = SoftECM.as_in_paper(2, alpha=1 / 6, beta=2.0, delta=11.0, lam=1.5, random_state=0)
    >>> model = diamond.fit(load_diamond().data)
    >>> model.partition_.sets()[[1, 5, 6, 11]].tolist()
    [(0,), (0, 1), (1,), ()]

    References
    ----------
    A. Soubeiga, T. Guyet and V. Antoine, "Soft-ECM: an extension of Evidential C-Means for complex data", FUZZ-IEEE 2025.
    """

    suits = "anything: numbers, categories, missing values, series (the default)"

    metric: Metric = "auto"
    beta: float = 1.2
    lam: float | str = number(
        "auto",
        "{auto} suits the data; 0 lets the sets' prototypes move freely.",
        auto="Or give a number of at least 0.",
        least=0,
        most=1e200,
    )
    relaxation: str = choice("auto", ("auto", *RELAXATIONS), "{auto} suits the metric.")
    solver: str | Solver = field(default="auto", metadata=rule(check_solver))

    @classmethod
    def as_in_paper(cls, n_clusters: int = 2, **changed: Any) -> SoftECM:
        """Return the estimator with the settings of the paper's experiments, except for those changed.

        The penalty with an absolute weight, all pairs, ten random initializations of all sets, alpha = 2, delta = 10. Pass
        ``metric="softdtw"`` for series: "auto" combines several views.

        Examples
        --------
        >>> SoftECM.as_in_paper(3, beta=1.5, lam=2.0).relaxation
        'penalty'
        """
        return cls(n_clusters, **{**PAPER, **changed})

    def _algorithm(self, metric: SemiMetric) -> Algorithm[Any]:
        return SoftECMdd() if metric.discrete else SoftECMAlgorithm()
