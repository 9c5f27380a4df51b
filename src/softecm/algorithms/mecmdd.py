"""MECMdd: evidential c-medoids over several dissimilarities of the same objects (Soubeiga, Antoine and Moreno)."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from softecm._engine import in_threads, threads
from softecm.algorithms import parameters as params
from softecm.algorithms import view_medoids
from softecm.algorithms.base import EvidentialClusterer
from softecm.algorithms.ecmdd import distinct_starts
from softecm.algorithms.view_medoids import Floats, Indices, ViewMedoids, ViewMedoidState
from softecm.belief import CredalPartition, FocalSets
from softecm.constraints import warn_of_labels
from softecm.distances.estimator_metrics import mixed_with_clusters
from softecm.distances.precomputed import Precomputed
from softecm.distances.weighted_parts import ALL, PRODUCT, SET, SUM, Weighing
from softecm.files import expected
from softecm.fit.loop import after_runs
from softecm.fit.prepare import Draw, check_weights, seed
from softecm.spaces.base import check_enough, check_indices, weighted_quantile
from softecm.spaces.dissimilarities import Dissimilarities
from softecm.spaces.raw import as_plain, is_views
from softecm.spaces.views import refuse_other_order

FAR = 0.95  # quantile of a view's dissimilarities that is the square of delta "auto"


@params.parameters
class MECMdd(params.Restarts, params.FocalParameters, params.Masses, params.Clusters, EvidentialClusterer):
    r"""Evidential c-medoids for several dissimilarity matrices of the same objects, whose weights are learned.

    The same objects can be compared in several ways: by their series, by their tables, by expert judgements. Each is a
    *view*, an n x n matrix :math:`\tau_l`, whose weight is learned together with the clusters: a view in which the clusters
    are tight gets more weight. Minimises

    .. math::
        \sum_i \sum_A |A|^\alpha m_i(A)^\beta \sum_l u_{Al}\, d_l(i, A)
        + \sum_l \bar u_l \delta_l^2 \sum_i m_i(\emptyset)^\beta

    alternately over masses, medoids and weights; no step raises it. :math:`d_l(i, A)` is the dissimilarity to the
    cluster's medoid or, for a set, that to the set's own medoid mixed with those to its clusters', as in :class:`ECMdd`;
    :math:`u = w^s` for weights w with sum 1, :math:`u = w` for weights with product 1.

    Parameters
    ----------
    n_clusters : int, default=2
    weights : "global" or "local", default="global"
        "global": one weight per view. "local": each set of clusters has its own.
    constraint : "sum" or "product", default="sum"
        Constraint on the weights: their sum or their product is 1. With "product" the units of the views
        don't matter; with "sum" bring them to one scale first.
    s : float, default=2.0
        Greater than 1: exponent of the weights with "sum". Near 1 the best view takes all; large values give equal weights.
    form : "monotone", "free" or "published", default="monotone"
        "monotone": as above; a cluster's medoid is chosen together with those of its sets, and the objective never rises.
        "free": Soft-ECM's, on the weighted dissimilarities: a set's medoid is any object, :math:`d_l(i, A)` is the
        dissimilarity to it, and ``lam`` times the weighted dissimilarities between sets' and clusters' medoids is added;
        the objective never rises, either.
        "published": as in the authors' programs (MECMdd-RWG and -RWL), see the notes.
    beta : float, default=1.5
        Greater than 1. Larger values spread mass over more sets.
    delta : "auto", float or None, default="auto"
        In each view, the distance to the empty set; the objective has its square. "auto": the square is the 0.95 quantile
        of the view's dissimilarities. None: no outliers.
    gamma : float, default=0.5
        At least 0: weight of the clusters' medoids relative to the set's own.
    eta : float, default=1.0
        At least 0. A set's medoid should be equally far from its clusters' medoids (small variance) and near to them;
        ``eta`` is the weight of nearness. All views count for this, each divided by its largest dissimilarity, except
        with "published".
    lam : float, default=0.0
        For the form "free", at least 0: weight of the dissimilarities between a set's medoid and its clusters'. Large
        values pull the clusters together.
    max_cardinality : int or None, default=2
        Largest set considered; None: all 2^c.
    focal_sets : "simple", "full", list of tuples or FocalSets, optional
        The sets that get masses; overrides ``max_cardinality``.
    init : "k-means++", "random" or the numbers of c objects, default="k-means++"
    max_iter : int, default=200
        Maximum number of iterations per run.
    tol : float, default=1e-8
        A run has converged when the medoids are unchanged and the relative change of the objective is at most this.
    n_jobs : int, optional
        Number of threads, which share the runs.
    callback : callable, optional
        Called with a ``Progress`` after every run; returning true stops the fit and keeps the current state. Its
        iterations are runs.
    verbose : int, default=0
        If positive, log every run (logger ``softecm``).
    alpha, n_init, random_state : as for :class:`SoftECM`

    Attributes
    ----------
    partition_ : CredalPartition
    medoids_ : ndarray of shape (f,)
        Indices of the training objects that are the sets' medoids.
    view_weights_ : dict
        The weight of each view by name; with "local" an array of shape (f,) each.
    view_names_ : tuple of str
        Names of the views: the dict's keys, else "view 1", "view 2" and so on.
    delta_ : float or None
        The final distance to the empty set, for the weighted dissimilarity.
    n_rises_ : int
        Number of iterations of the best run in which the objective rose; 0 with "monotone".
    labels_, outlier_scores_, focal_sets_, objective_, history_, runs_, n_iter_, converged_, n_features_in_ : as for
        :class:`SoftECM`; with "published" ``objective_`` is the minimum of ``history_``, and that iteration is kept

    Notes
    -----
    A thousandth of its total spread is added to each view's dispersion, also in ``objective_``, so that a perfectly fitted
    view does not take all the weight.

    The published form chooses a cluster's medoid by the masses on that cluster alone, although the sets' medoids depend on
    it: the objective may rise, and the best iteration is kept. There :math:`\delta^2 = \sum_l \delta_l^2` stands outside the
    weights: with "sum", ``s=2`` and L views the weighted dissimilarities are about L times smaller than the mean view, so
    the same ``delta`` finds fewer outliers the more views there are. Masses, weights and medoids of an iteration equal
    those of the authors' R program (``gamma=0``) if no sets share a medoid; masses and weights also equal those of its
    Python port. It has not been checked against the article. Here runs end at ``max_iter``, and no two clusters share a
    medoid.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.metrics import pairwise_distances
    >>> from softecm import MECMdd
    >>> from softecm.datasets import load_diamond
    >>> shape = pairwise_distances(load_diamond().data)
    >>> noise = pairwise_distances(np.random.default_rng(0).normal(scale=9.0, size=(12, 2)))
    >>> mecmdd = MECMdd(2, random_state=0).fit({"shape": shape, "noise": noise})
    >>> mecmdd.view_weights_["shape"] > mecmdd.view_weights_["noise"]
    True
    >>> mecmdd.predict({"shape": shape[:3], "noise": noise[:3]}).shape
    (3,)

    References
    ----------
    Soubeiga, Antoine and Moreno, IEEE DSAA, 2024 (MECMdd-RWG and -RWL).
    """

    suits = "several dissimilarity matrices of the same objects (--matrix), with weights"
    of_dissimilarities = True
    weights: str = params.choice("global", ("global", "local"), "'local' has weights for each set of clusters.")
    constraint: str = params.choice("sum", (SUM, PRODUCT), "'product' ignores the views' units.")
    s: float = params.number(2.0, "2 is usual.", above=1)
    form: str = params.choice("monotone", view_medoids.FORMS, "'monotone' never raises its objective.")
    beta: float = 1.5
    gamma: float = params.number(0.5, "0.5 is usual; 0 leaves a set's own medoid alone.", least=0)
    eta: float = params.number(1.0, "1 is usual.", least=0)
    lam: float = params.number(0.0, "0 leaves the sets' medoids free.", least=0)
    init: str | ArrayLike = params.choice(
        "k-means++", ("k-means++", "random"), "Or give the numbers of objects.", or_other=True
    )
    tol: float = 1e-8

    SAVED = expected.rules(
        EvidentialClusterer.SAVED,
        medoids_=expected.array("f", "iu", expected.Range(least=0, below="n")),
        view_names_=expected.listed(expected.text(), size="views", least=1),
        _weights=expected.array("rows views", allowed=expected.NOT_NEGATIVE),
        _shares=expected.array("f views", allowed=expected.NOT_NEGATIVE),
        _prices=expected.array("prices", allowed=expected.NOT_NEGATIVE),
        n_rises_=expected.count(least=0),
    )
    REQUIRED = (
        "n_features_in_",
        "focal_sets_",
        "partition_",
        "medoids_",
        "view_names_",
        "delta_",
        "_weights",
        "_shares",
        "_prices",
    )

    def _check_parts(self) -> None:
        super()._check_parts()
        if self._prices.shape != (3,):
            raise expected.Misfit("_prices should hold alpha, beta and gamma")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags

    @property
    def view_weights_(self) -> dict[str, float | Floats]:
        """The weights by the name of the view; with ``weights="local"`` one per set."""
        check_is_fitted(self)
        each = self._weights.T
        return {name: w if len(w) > 1 else float(w[0]) for name, w in zip(self.view_names_, each, strict=True)}

    def fit(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit medoids, masses and weights.

        Parameters
        ----------
        X : array-like of shape (views, n, n), list of n x n matrices, or dict of them by name
            Dissimilarities of the same objects in the same order; a single n x n matrix is one view.
        y : ignored, with a warning if only some labels are known
        sample_weight : array-like of shape (n,), optional
            Weight of each object, not negative.

        Returns
        -------
        self
        """
        warn_of_labels(y, type(self).__name__)
        callback, c = self._open(X), int(self.n_clusters)
        focal = params.sets_asked_for(c, self.max_cardinality, self.focal_sets)
        names, raw = named_views(X)
        views = checked_views(self, names, raw, reset=True)
        check_enough(c, views.shape[1])
        counts = None if sample_weight is None else check_weights(sample_weight, views[0])
        problem = self._problem(views, focal, counts)
        starts = self._starts(views, c, counts)
        with threads(self.n_jobs):
            run = partial(view_medoids.mecmdd, problem, max_iter=int(self.max_iter), tol=float(self.tol))
            runs = in_threads(run, starts, after_runs(callback, len(starts)))
        ends = np.array([run.state.objective for run in runs])
        best = int(ends.argmin())
        self._store_runs(runs, best)
        self._adopt(problem, runs[best].state, names)
        self._runs = {**self._runs, "objective": ends}
        self._warn_if_unconverged(still="medoids or weights still move")
        self._warn_of_masses()
        return self

    def _problem(self, views: Floats, focal: FocalSets, counts: Floats | None) -> ViewMedoids:
        weighing = Weighing(self.constraint, SET if self.weights == "local" else ALL, float(self.s))
        alpha, beta, eta, lam = map(float, (self.alpha, self.beta, self.eta, self.lam))
        gamma, delta2 = 0.0 if self.form == view_medoids.FREE else float(self.gamma), self._squares(views, counts)
        return ViewMedoids(views, focal, weighing, alpha, beta, delta2, self.form, gamma, eta, lam, counts)

    def _squares(self, views: Floats, counts: Floats | None) -> Floats:
        """Return the cost of the empty set in each view (views,)."""
        if self.delta is None:
            return np.full(len(views), np.inf)
        if self.delta != "auto":
            return np.full(len(views), float(self.delta) ** 2)
        widths = [far_apart(view, counts) for view in views]
        return np.array([q if q > 0 else float(view.max()) or 1.0 for q, view in zip(widths, views, strict=True)])

    def _starts(self, views: Floats, c: int, counts: Floats | None) -> Indices:
        """Return initial medoids (runs, c)."""
        n = views.shape[1]
        if params.is_given(self.init):
            return check_indices("init", self.init, n, c)[None]
        d, rng = torch.from_numpy(view_medoids.alike(views)), check_random_state(self.random_state)
        counts, draw = np.ones(n) if counts is None else counts, Draw(str(self.init), int(self.n_init))
        drawn = seed(draw, Precomputed(), Dissimilarities(n), d, counts, c, rng)
        return distinct_starts(drawn.numpy().astype(np.int64), n)

    def _adopt(self, problem: ViewMedoids, state: ViewMedoidState, names: tuple[str, ...]) -> None:
        price = problem.price(state.weights)
        self._store(CredalPartition(state.masses.numpy(), problem.focal))
        self.medoids_: Indices = state.medoids
        self.view_names_ = names
        self.objective_ = state.objective
        self.n_rises_ = int((np.diff(self.history_) > 1e-12 * np.abs(self.history_[1:])).sum())
        self.delta_ = None if np.isinf(price) else float(np.sqrt(price))
        self._weights: Floats = state.weights.numpy()
        self._shares: Floats = np.ascontiguousarray(problem.shares(state.weights).numpy())
        self._prices: Floats = np.array([problem.alpha, problem.beta, problem.gamma])

    def as_shown(self, X: object) -> Any:
        """Return the sum of the matrices, each divided by its largest dissimilarity, for a report."""
        check_is_fitted(self)
        names, views = named_views(X)
        return view_medoids.alike(checked_views(self, names, list(map(np.asarray, views)), reset=False))

    def by_view(self, X: object) -> Any:
        """Return several matrices by name; a list of them has another length than there are objects."""
        names, views = named_views(X)
        return X if len(views) == 1 else dict(zip(names, views, strict=True))

    def predict_partition(self, X: Any) -> CredalPartition:
        """Return the credal partition of other objects for the fitted medoids and weights.

        Parameters
        ----------
        X : as for ``fit``, of shape (views, n_new, n)
            Dissimilarities of the new objects to the training objects.

        Returns
        -------
        partition : CredalPartition
        """
        check_is_fitted(self)
        names, raw = named_views(X)
        if by_name(X) and set(names) == set(self.view_names_):
            names, raw = self.view_names_, [X[name] for name in self.view_names_]
        if len(raw) != len(self.view_names_) or (by_name(X) and names != self.view_names_):
            raise ValueError(
                f"X must have the views of the fit, {', '.join(self.view_names_)}; got {', '.join(names)}. Pass the "
                "dissimilarities of the new objects to the training objects in each of them."
            )
        views = checked_views(self, names, raw, reset=False)
        alpha, beta, gamma = map(float, self._prices)
        focal, shares = self.focal_sets_, torch.from_numpy(self._shares)
        each = mixed_with_clusters(torch.from_numpy(views[:, :, self.medoids_]), focal, gamma)
        price = np.inf if self.delta_ is None else self.delta_**2
        return CredalPartition(view_medoids.shared(each, shares, focal, alpha, beta, price).masses.numpy(), focal)


def far_apart(view: Floats, counts: Floats | None) -> float:
    """Return the FAR quantile of a view's dissimilarities over all pairs, weighted by both objects."""
    counts = np.ones(len(view)) if counts is None else counts
    pairs: Floats = np.outer(counts, counts).astype(np.float64)
    np.fill_diagonal(pairs, np.maximum(counts * (counts - 1.0), 0.0))  # copies of one object are at distance 0
    return weighted_quantile(view.ravel(), FAR, pairs.ravel()) if pairs.any() else 0.0


def by_name(X: object) -> bool:
    """Whether views are given as a dict; SciPy's DOK matrices are dicts, too."""
    return is_views(X)


def named_views(X: Any) -> tuple[tuple[str, ...], list[Any]]:
    """Return the names of the views, and their matrices as given."""
    X = as_plain(X)
    if by_name(X):
        if not X or not all(isinstance(name, str) and name for name in X):
            raise ValueError(f"X must have a name for each view; got {list(X)!r}. Use strings as the keys of the dict.")
        return tuple(X), list(X.values())
    if issparse(X):
        raise TypeError("X must hold dense matrices; got a sparse one. Use X.toarray().")
    listed = isinstance(X, list | tuple) and len(X) > 0
    first = X[0] if listed else X
    several = len(getattr(first, "shape", None) or np.asarray(first).shape) == (2 if listed else 3)
    views = list(X) if several else [X]
    if not views:
        raise ValueError("X must have at least one view; got none. Pass an array of shape (views, n, n).")
    return tuple(f"view {j + 1}" for j in range(len(views))), views


def checked_views(estimator: MECMdd, names: tuple[str, ...], raw: list[object], *, reset: bool) -> Floats:
    """Return the views' dissimilarities (views, n, n), or (views, n_new, n) if ``reset`` is False."""
    refuse_other_order(dict(zip(names, raw, strict=True)))
    views: list[Floats] = []
    for name, matrix in zip(names, raw, strict=True):
        try:
            view = np.asarray(Dissimilarities().check(estimator, matrix, reset=reset), dtype=np.float64)
            if reset and len(raw) > 1:
                refuse_constant(view)
        except ValueError as error:
            raise error if len(raw) == 1 else ValueError(f"{name}: {error}") from None
        if views and view.shape != views[0].shape:
            raise ValueError(
                f"X must have the same objects in all views; got {views[0].shape} in {names[0]} and {view.shape} in {name}. "
                "Leave out objects that are not in every view."
            )
        views.append(view)
    return np.stack(views)


def refuse_constant(view: Floats) -> None:
    """Raise ValueError for a view in which all objects are equally far apart."""
    others = view[~np.eye(len(view), dtype=bool)]
    if len(view) > 2 and np.ptp(others) == 0:
        raise ValueError(
            f"X must not have a view in which all objects are equally far apart; got {others[0]:g} for every pair. "
            "Leave this view out: it contains no groups."
        )
