"""EGMM: a Gaussian mixture with a component for every set of clusters (Jiao, Denœux, Liu, Pan)."""

from __future__ import annotations

from dataclasses import field
from types import MappingProxyType
from typing import NamedTuple, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from softecm._checks import HOW_MANY
from softecm._engine import raise_if_interrupted, threads
from softecm.algorithms import parameters as params
from softecm.algorithms.base import EvidentialClusterer, checked_rows
from softecm.belief import CredalPartition, FocalSets
from softecm.constraints import warn_of_labels
from softecm.distances.squared_euclidean import SquaredEuclidean
from softecm.files import expected
from softecm.fit.loop import Callback, Progress, StopSignal, stopped
from softecm.fit.prepare import Draw, check_weights, seed
from softecm.spaces.base import LARGEST, SQUARABLE, check_enough
from softecm.spaces.raw import as_numbers
from softecm.spaces.real import RealVectors

Floats = NDArray[np.float64]
LARGE = 10**6  # numbers below which one thread is faster than several for a product
SHORT = 20  # iterations with single clusters, after which only the best run continues
SAME = 1e-6  # relative difference of objectives below which runs count as equal
SHARED = 0.1  # initial weight of the larger sets together
WORSE = 3  # number of clusters in a row without a better criterion before the search stops


class Mixture(NamedTuple):
    """Parameters: all components share one covariance, and a set's mean is the mean of its clusters' means."""

    centers: Floats  # (c, p)
    covariance: Floats  # (p, p)
    weights: Floats  # (f,): probability of each component


class MixtureRun(NamedTuple):
    """Result of one run."""

    mixture: Mixture
    masses: Floats  # (n, f): the posterior of each component
    history: Floats  # minus the penalized log-likelihood, initially and after each iteration
    converged: bool


class Sample(NamedTuple):
    """Centred objects with their weights, and the ridge of the covariance."""

    x: Floats  # (n, p), minus the mean of all objects
    raw: Floats  # (n, p), as given
    counts: Floats  # (n,)
    ridge: Floats  # (p,): added to the diagonal of every covariance

    @property
    def total(self) -> float:
        """The total weight."""
        return float(self.counts.sum())


def posteriors(x: Floats, mixture: Mixture, mean: Floats) -> tuple[Floats, Floats]:
    """E-step: return masses (n, f) and each object's log-likelihood (n,); ``mean`` (f, c) averages clusters to sets."""
    factor = _factor(mixture.covariance)
    white = solve_triangular(factor, x.T, lower=True).T
    centers = solve_triangular(factor, (mean @ mixture.centers).T, lower=True).T
    distances = np.square(white).sum(1)[:, None] - 2.0 * white @ centers.T + np.square(centers).sum(1)
    with np.errstate(divide="ignore"):
        logs = np.log(mixture.weights) - 0.5 * np.maximum(distances, 0.0)
    top = logs.max(1, keepdims=True)
    masses = np.exp(logs - top)
    sums = masses.sum(1, keepdims=True)
    constant = np.log(np.diagonal(factor)).sum() + 0.5 * x.shape[1] * np.log(2.0 * np.pi)
    return masses / sums, (top + np.log(sums))[:, 0] - constant


def _factor(covariance: Floats) -> Floats:
    try:
        factor = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        raise ValueError(
            "the covariance matrix is singular: some columns are constant or combinations of others. Leave such "
            "columns out, or give a larger regularisation, such as 1e-4."
        ) from None
    return np.asarray(factor, dtype=np.float64)


def maximised(sample: Sample, masses: Floats, before: Mixture, mean: Floats) -> Mixture:
    r"""M-step, exact: weights, centres from :math:`H\mu = B`, and the covariance about the new centres."""
    weighted = masses * sample.counts[:, None]
    held, sums = weighted.sum(0), weighted.T @ sample.x  # (f,), (f, p)
    h, b = mean.T @ (held[:, None] * mean), mean.T @ sums
    # Solved for the step, so that a cluster without objects keeps its centre.
    centers = before.centers + np.linalg.lstsq(h, b - h @ before.centers, rcond=1e-12)[0]
    prototypes = mean @ centers
    crossed = sums.T @ prototypes
    scatter = (sample.x * sample.counts[:, None]).T @ sample.x - crossed - crossed.T
    scatter += prototypes.T @ (held[:, None] * prototypes)
    covariance = scatter / sample.total + np.diag(sample.ridge)
    return Mixture(centers, (covariance + covariance.T) / 2.0, held / sample.total)


def egmm(
    sample: Sample, focal: FocalSets, start: Mixture, *, max_iter: int, tol: float, callback: Callback | None = None
) -> MixtureRun:
    r"""Run expectation-maximization once.

    With ``ridge`` r the covariance is :math:`\Sigma = S/n + \mathrm{diag}(r)`, which maximizes the log-likelihood minus
    :math:`\frac n2 \mathrm{tr}(\Sigma^{-1} \mathrm{diag}(r))`: this sum never decreases.
    """
    mean, mixture, history, converged = focal.shares, start, [], False
    masses, likelihood = posteriors(sample.x, mixture, mean)
    history.append(-_penalised(sample, likelihood, mixture))
    for iteration in range(max_iter):
        raise_if_interrupted()
        if stopped(callback):
            break
        mixture = maximised(sample, masses, mixture, mean)
        masses, likelihood = posteriors(sample.x, mixture, mean)
        history.append(-_penalised(sample, likelihood, mixture))
        if history[-2] - history[-1] <= tol * sample.total:
            converged = True
            break
        if callback is not None:
            callback(Progress.of_one(iteration + 1, max_iter, history[-1], (history[-2] - history[-1]) / sample.total))
    return MixtureRun(mixture, masses, np.asarray(history), converged)


def _penalised(sample: Sample, likelihood: Floats, mixture: Mixture) -> float:
    penalty = 0.0
    if sample.ridge.any():
        penalty = 0.5 * sample.total * float(np.diagonal(np.linalg.inv(mixture.covariance)) @ sample.ridge)
    return float(likelihood @ sample.counts) - penalty


def ebic(likelihood: float, n: float, focal: FocalSets, p: int) -> float:
    """Return the evidential BIC: log-likelihood minus half the logarithm of n for each parameter; larger is better."""
    return likelihood - 0.5 * float(np.log(n)) * (len(focal) - 1 + focal.n_clusters * p + p * (p + 1) / 2)


@params.parameters
class EGMM(params.Restarts, params.FocalParameters, EvidentialClusterer):
    r"""Evidential Gaussian mixture model: sets of overlapping clusters have their own components.

    There is one Gaussian for each set A of clusters, centred at the mean :math:`\bar\mu_A` of its clusters' centres; all
    share one covariance:

    .. math:: L = \sum_i \ln \sum_A \pi_A\, N(x_i; \bar\mu_A, \Sigma)

    The masses are the posterior probabilities of the sets. EM raises L in every iteration: given the masses, centres,
    covariance and weights have closed forms. There is no empty set: an outlier is assigned to its nearest component.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        "auto": the number from 1 to ``max_clusters`` with the largest evidential BIC, ``ebic_``.
    max_cardinality : int or None, default=2
        Largest set with its own component; None: all sets, as in the article.
    focal_sets : "simple", "full", list of tuples or FocalSets, optional
        The sets that get masses; overrides ``max_cardinality``. With ``n_clusters="auto"`` only as a word.
    regularisation : float, default=1e-6
        At least 0: this fraction of each column's variance is added to the diagonal of the covariance, which is then
        invertible. The penalized log-likelihood never falls. 0: plain EM.
    init : "k-means++" or array of shape (c, p), default="k-means++"
    n_init : int, default=10
        Number of restarts: 20 iterations each with single clusters, then the best continues with all sets. (With all sets
        from the start, a set's component may take over a group and leave its clusters empty.)
    max_clusters : int, default=10
        Largest number that "auto" tries; it stops after three numbers in a row without improvement.
    max_iter : int, default=1000
    tol : float, default=1e-6
        A run has converged when an iteration raises the log-likelihood by less than this per object.
    n_jobs : int, optional
    callback : callable, optional
        Called with a ``Progress`` after every iteration; returning true stops the fit and keeps the current state. Its
        ``change`` is the increase of the log-likelihood per object.
    random_state, verbose : as for :class:`SoftECM`

    Attributes
    ----------
    partition_ : CredalPartition
        No mass on the empty set.
    n_clusters_ : int
    cluster_centers_ : ndarray of shape (c, p)
    covariance_ : ndarray of shape (p, p)
    weights_ : ndarray of shape (f,)
        Probability of each set, in the order of ``focal_sets_``.
    loglik_, ebic_ : float
        The log-likelihood of all objects, and its penalized version (evidential BIC); larger is better.
    criteria_ : dict
        ``ebic_`` for each number of clusters tried.
    objective_ : float
        Minus the log-likelihood, plus the cost of the regularisation.
    labels_, outlier_scores_, focal_sets_, history_, runs_, n_iter_, converged_, n_features_in_, feature_names_in_ : as for
        :class:`SoftECM`

    Notes
    -----
    The authors' program adds a ridge to the covariance only in the density; the log-likelihood can then fall, and on data
    of small scale the fit ends at once. Here the ridge is part of the objective.

    Examples
    --------
    >>> from softecm import EGMM
    >>> from softecm.datasets import make_blobs
    >>> X = make_blobs(400, distance=5.0, random_state=0).data
    >>> EGMM("auto", random_state=0).fit(X).n_clusters_
    3

    References
    ----------
    L. Jiao, T. Denœux, Z. Liu and Q. Pan, "EGMM: an evidential version of the Gaussian mixture model for clustering",
    Applied Soft Computing 129, 2022.
    """

    suits = "numbers; a Gaussian mixture that selects the number of groups"
    finds_clusters = MappingProxyType({"n_clusters": "auto"})

    n_clusters: int | str = field(
        default=2, kw_only=False, metadata=params.rule(params.counting(HOW_MANY, auto="Or give a number."))
    )
    regularisation: float = params.number(1e-6, "1e-6 is usual; 0 is plain EM.", least=0)
    init: str | ArrayLike = params.choice(
        "k-means++", ("k-means++",), "Or give the starting centres, one row per cluster.", or_other=True
    )
    max_clusters: int = params.count(10, "10 is usual.")
    max_iter: int = 1000
    tol: float = 1e-6

    SAVED = expected.rules(
        EvidentialClusterer.SAVED,
        cluster_centers_=expected.array("c p", allowed=SQUARABLE),
        covariance_=expected.array("p p", allowed=SQUARABLE),
        weights_=expected.array("f", allowed=expected.UNIT),
        _middle=expected.array("p", allowed=SQUARABLE),
        loglik_=expected.number(),
        ebic_=expected.number(),
        criteria_=expected.mapped(expected.number()),
    )
    REQUIRED = ("n_features_in_", "focal_sets_", "cluster_centers_", "covariance_", "weights_", "_middle")

    def _check_parts(self) -> None:
        super()._check_parts()
        if abs(float(self.weights_.sum()) - 1.0) > 1e-4:  # tolerance for weights stored in single precision
            raise expected.Misfit("weights_ should add up to 1")

    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the mixture.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : ignored, with a warning if only some labels are known
        sample_weight : array-like of shape (n,), optional
            Weight of each object; 2 is the same as repeating it.

        Returns
        -------
        self
        """
        warn_of_labels(y, type(self).__name__)
        callback = self._open(X)
        ask, counts = None if callback is None else StopSignal(callback), self._counts()
        x = checked_rows(self, X, reset=True)
        weights = np.ones(len(x)) if sample_weight is None else check_weights(sample_weight, X)
        if self.n_clusters != "auto":
            check_enough(counts[0], len(x))
        middle = np.average(x, axis=0, weights=weights)
        variance = np.average(np.square(x - middle), axis=0, weights=weights)
        typical = np.where(variance > 0, variance, variance.max() or 1.0)
        sample = Sample(x - middle, x, weights, float(self.regularisation) * typical)
        rng = check_random_state(self.random_state)
        with threads(self.n_jobs), threadpool_limits(1 if x.size < LARGE else None, "blas"):
            focal, runs, best = self._search([c for c in counts if c <= len(x)], sample, rng, ask)
        self._adopt(focal, runs, best, middle)
        self._warn_if_unconverged(still="the log-likelihood still rises by more than {tol} per object")
        self._warn_of_masses()
        return self

    def _counts(self) -> list[int]:
        """Return the numbers of clusters to try."""
        if self.n_clusters != "auto":
            return [int(self.n_clusters)]
        if params.is_given(self.init):
            raise ValueError(
                "init must be 'k-means++' with n_clusters='auto'; got centres. Set n_clusters to a number."
            )
        return list(range(1, int(self.max_clusters) + 1))

    def _search(
        self, counts: list[int], sample: Sample, rng: np.random.RandomState, callback: Callback | None
    ) -> tuple[FocalSets, list[MixtureRun], int]:
        """Fit each number of clusters and keep the one with the best criterion."""
        best_fit, self.criteria_ = None, dict[str, float]()
        for c in counts:
            focal = params.sets_asked_for(c, self.max_cardinality, self.focal_sets)
            runs, best = self._climb(focal, sample, rng, callback)
            likelihood = float(posteriors(sample.x, runs[best].mixture, focal.shares)[1] @ sample.counts)
            value = ebic(likelihood, sample.total, focal, sample.x.shape[1])
            self.criteria_[str(c)] = value
            if best_fit is None or value > self.ebic_:
                best_fit, self.ebic_, self.loglik_ = (focal, runs, best), value, likelihood
            if c - best_fit[0].n_clusters >= WORSE or stopped(callback):
                break
        assert best_fit is not None
        return best_fit

    def _climb(
        self, focal: FocalSets, sample: Sample, rng: np.random.RandomState, callback: Callback | None
    ) -> tuple[list[MixtureRun], int]:
        """Run single clusters briefly from each initialization, then continue the best run with all sets."""
        c, tol, most = focal.n_clusters, float(self.tol), int(self.max_iter)
        alone = FocalSets.up_to(c, 1)
        starts = [Mixture(start, _within(sample, start), np.full(c, 1.0 / c)) for start in self._starts(c, sample, rng)]
        runs = [egmm(sample, alone, start, max_iter=SHORT, tol=tol, callback=callback) for start in starts]
        reached = np.array([run.history[-1] for run in runs])
        best = int(np.argmax(reached <= reached.min() + SAME * abs(reached.min())))  # ties go to the first
        mixture, sets = runs[best].mixture, len(focal) - c
        if sets:
            weights = np.r_[(1.0 - SHARED) * mixture.weights, np.full(sets, SHARED / sets)]
            mixture = mixture._replace(weights=weights)
        runs[best] = egmm(sample, focal, mixture, max_iter=most, tol=tol, callback=callback)
        return runs, best

    def _starts(self, c: int, sample: Sample, rng: np.random.RandomState) -> Floats:
        """Return initial centres (runs, c, p), minus the overall mean."""
        p = sample.x.shape[1]
        if not params.is_given(self.init):
            draw, x = Draw("k-means++", int(self.n_init)), torch.from_numpy(sample.raw)
            drawn = seed(draw, SquaredEuclidean(), RealVectors(n_features=p), x, sample.counts, c, rng).numpy()
        else:
            drawn = as_numbers(self.init, "init")[None]
            if drawn.shape != (1, c, p):
                raise ValueError(
                    f"init must have shape (n_clusters, {p}), one row per cluster; got shape {drawn.shape[1:]}. Pass "
                    "as many columns as X has."
                )
            if not (np.abs(drawn) <= LARGEST).all():
                raise ValueError(
                    f"init must hold finite numbers of at most {LARGEST:g} in size; got others. Pass some of the objects."
                )
        centers: Floats = drawn - np.average(sample.raw, axis=0, weights=sample.counts)
        return centers

    def _adopt(self, focal: FocalSets, runs: list[MixtureRun], best: int, middle: Floats) -> None:
        mixture = runs[best].mixture
        self.n_clusters_ = focal.n_clusters
        self.cluster_centers_ = mixture.centers + middle
        self.covariance_, self.weights_ = mixture.covariance, mixture.weights
        self._middle = middle
        self._store(CredalPartition(_with_empty(runs[best].masses), focal))
        self._store_runs(runs, best)

    @property
    def prototypes_(self) -> Floats:
        """Means of all components (f, p), in the order of ``focal_sets_``."""
        check_is_fitted(self)
        return self.focal_sets_.shares @ self.cluster_centers_

    def _posteriors(self, X: ArrayLike) -> tuple[Floats, Floats]:
        check_is_fitted(self)
        x = checked_rows(self, X, reset=False) - self._middle
        mixture = Mixture(self.cluster_centers_ - self._middle, self.covariance_, self.weights_)
        return posteriors(x, mixture, self.focal_sets_.shares)

    def predict_partition(self, X: ArrayLike) -> CredalPartition:
        """Return the credal partition of other objects: the posterior probabilities of the sets.

        Parameters
        ----------
        X : data like that given to ``fit``

        Returns
        -------
        partition : CredalPartition
        """
        return CredalPartition(_with_empty(self._posteriors(X)[0]), self.focal_sets_)

    def score_samples(self, X: ArrayLike) -> Floats:
        """Return the log-likelihood of each object.

        Parameters
        ----------
        X : data like that given to ``fit``

        Returns
        -------
        likelihood : ndarray of shape (n,)
        """
        return self._posteriors(X)[1]

    def score(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the mean log-likelihood.

        Parameters
        ----------
        X : data like that given to ``fit``
        y : ignored
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        score : float
        """
        weights = None if sample_weight is None else check_weights(sample_weight, X)
        return float(np.average(self.score_samples(X), weights=weights))


def _within(sample: Sample, centers: Floats) -> Floats:
    """Return the covariance about the nearest of the initial centres."""
    nearest = (np.square(centers).sum(1) - 2.0 * sample.x @ centers.T).argmin(1)
    held = np.bincount(nearest, sample.counts, minlength=len(centers))
    sums = np.stack([np.bincount(nearest, sample.counts * column, minlength=len(centers)) for column in sample.x.T], 1)
    means = sums / np.where(held > 0, held, 1.0)[:, None]
    off = sample.x - means[nearest]
    covariance: Floats = (off * sample.counts[:, None]).T @ off / sample.total + np.diag(sample.ridge)
    if np.linalg.eigvalsh(covariance)[0] <= 0:  # zero residuals, for example with as many clusters as distinct objects
        covariance += np.diag(np.average(np.square(sample.x), axis=0, weights=sample.counts) + 1e-300)
    return covariance


def _with_empty(masses: Floats) -> Floats:
    return np.concatenate([np.zeros((len(masses), 1)), masses], axis=1)
