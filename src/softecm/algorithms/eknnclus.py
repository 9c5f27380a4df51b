"""EK-NNclus: labels propagate between neighbours until they converge (Denœux and others)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from functools import partial
from types import MappingProxyType
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from softecm import _engine
from softecm._checks import plain_array
from softecm._engine import in_threads, threads
from softecm._text import shown_size
from softecm.algorithms.base import EvidentialClusterer, checked_rows
from softecm.algorithms.parameters import Restarts, checked, choice, count, is_given, number, parameters
from softecm.belief import CredalPartition, FocalSets
from softecm.constraints import warn_of_labels
from softecm.files import expected
from softecm.fit.loop import after_runs
from softecm.kernels.votes import backwards, between, sweep, tally
from softecm.spaces.base import SQUARABLE
from softecm.spaces.dissimilarities import Dissimilarities

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LEAST = 1e-6  # minimum mass from a neighbour, and minimum distance relative to the typical one
SURE = 1 - 1e-15  # maximum mass from a neighbour
PIECE = 1e9  # multiplications between two checks for an interrupt
MOST_NEIGHBOURS = 100  # default maximum of ``n_neighbors``
# Criteria for two parts of one group, chosen on simulated data with known labels.
PEAK = 0.9  # quantile of a cluster's densities that defines its height
AT_CUT = 0.2  # share of the smaller cluster (at most MOST_AT_CUT objects) that must be dense at the cut
MOST_AT_CUT = 4


def nearest_others(x: Floats, k: int) -> tuple[Floats, Ints]:
    """Return distances to and indices of the k nearest other objects, (n, k) each; in pieces, so that Ctrl-C works."""
    search = NearestNeighbors(n_neighbors=k + 1).fit(x)
    near, neighbours = np.empty((len(x), k)), np.empty((len(x), k), dtype=np.int64)
    for rows in pieces(len(x), x.size):
        distances, indices = search.kneighbors(x[rows])
        other = indices != rows[:, None]
        other[other.all(1), -1] = False  # more duplicates than neighbours: the last one goes instead of the object
        near[rows], neighbours[rows] = distances[other].reshape(-1, k), indices[other].reshape(-1, k)
    return near, neighbours


def nearest_in_matrix(d: Floats, k: int, *, others: bool) -> tuple[Floats, Ints]:
    """Return the same from dissimilarities (m, n), ties in order; ``others`` excludes the object itself (m = n)."""
    near, neighbours = np.empty((len(d), k)), np.empty((len(d), k), dtype=np.int64)
    for rows in pieces(len(d), 20 * d.shape[1]):
        block = np.array(d[rows])
        if others:
            block[np.arange(len(rows)), rows] = np.inf
        neighbours[rows] = np.argsort(block, axis=1, kind="stable")[:, :k]
        near[rows] = np.take_along_axis(block, neighbours[rows], 1)
    return near, neighbours


def pieces(n: int, cost: int) -> list[Ints]:
    """Split rows into batches, each row costing ``cost`` multiplications."""
    size = max(1, int(PIECE / (cost + 1)))
    return [np.arange(start, min(start + size, n)) for start in range(0, n, size)]


class Votes(NamedTuple):
    """Votes of the neighbours of n objects; (n, k) each."""

    neighbours: Ints
    strength: Floats  # mass of each on its own cluster
    weights: Floats  # the same as weight of evidence, -ln(1 - strength)
    back: Ints  # (n k,) and (n + 1,): positions of each object among others' neighbours
    starts: Ints


class Propagation(NamedTuple):
    """Result of one run."""

    labels: Ints
    history: Floats  # weight between clusters, initially and after each sweep
    converged: bool


def scale_of(distances: Floats, q: float, power: float, least: float) -> float:
    r"""Return the factor :math:`\gamma`, the inverse of the q quantile of all :math:`d^b`."""
    return 1.0 / float(np.quantile(np.maximum(distances, least) ** power, q))


def strength_of(distances: Floats, gamma: float, power: float, least: float) -> Floats:
    r"""Return the mass :math:`\alpha = \exp(-\gamma d^b)` that a neighbour puts on its own cluster."""
    return np.clip(np.exp(-gamma * np.maximum(distances, least) ** power), LEAST, SURE)


def votes_of(neighbours: Ints, strength: Floats) -> Votes:
    """Return the votes with their weights of evidence."""
    return Votes(neighbours, strength, -np.log1p(-strength), *backwards(neighbours))


def propagate(votes: Votes, start: Ints, orders: Iterable[Ints], max_iter: int = 100) -> Propagation:
    """Let each object in turn take the label with the most evidence among its neighbours, until none changes.

    Parameters
    ----------
    votes : Votes
    start : array (n,)
        Initial labels, below n.
    orders : iterable of arrays (n,)
        The order of the objects in each sweep.
    max_iter : int
        Maximum number of sweeps.
    """
    labels, due = np.array(start, dtype=np.int64), np.ones(len(start), dtype=np.bool_)
    history, graph = [between(votes.neighbours, votes.weights, labels)], (votes.back, votes.starts)
    for _, order in zip(range(max_iter), orders, strict=False):
        before = labels.copy()
        history.append(history[-1] - sweep(votes.neighbours, votes.weights, *graph, order, labels, due))
        if np.array_equal(labels, before):
            break
    return Propagation(np.unique(labels, return_inverse=True)[1].astype(np.int64), np.asarray(history), not due.any())


def masses_of_votes(strength: Floats, labels: Ints, n_clusters: int) -> Floats:
    r"""Combine neighbours by Dempster's rule: masses on the empty set, each cluster and the set of all clusters.

    Neighbour j puts :math:`\alpha_{ij}` on the cluster ``labels[i, j]`` and the rest on all clusters. With
    :math:`u_k` the evidence for cluster k, the masses are proportional to :math:`e^{u_k} - 1` and 1.
    """
    n, k = labels.shape
    evidence = np.zeros((n, n_clusters))
    np.add.at(evidence, (np.repeat(np.arange(n), k), labels.ravel()), -np.log1p(-strength).ravel())
    with np.errstate(divide="ignore"):
        logs = np.concatenate([evidence + np.log(-np.expm1(-evidence)), np.zeros((n, 1))], axis=1)
    masses = np.exp(logs - logs.max(1, keepdims=True))
    masses /= masses.sum(1, keepdims=True)
    if n_clusters == 1:  # the only cluster is the set of all clusters
        masses = masses.sum(1, keepdims=True)
    return np.concatenate([np.zeros((n, 1)), masses], axis=1)


def joined(votes: Votes, labels: Ints, valley: float) -> Ints:
    """Merge clusters that no valley of density separates.

    An object's density is the sum of its neighbours' strengths. The more equally its neighbours divide between two
    clusters, the closer it is to their cut. If a few such objects are denser than ``valley`` times the peak of the less
    dense cluster, the cut splits a group.
    """
    density = votes.strength.sum(1)
    around = _around(votes.neighbours, labels)
    while around.shape[1] > 1:
        c = around.shape[1]
        pairs = _highest_cuts(around, labels, density)
        onto, taken = np.arange(c), np.zeros(c, dtype=bool)
        for height, a, b in pairs:
            if height < valley:
                break
            if not (taken[a] or taken[b]):
                onto[b], taken[[a, b]] = a, True
        if not taken.any():
            break
        onto = np.unique(onto, return_inverse=True)[1]
        labels = onto[labels]
        around = csr_array(around @ coo_array((np.ones(c), (np.arange(c), onto))).tocsr())
    return labels.astype(np.int64)


def _around(neighbours: Ints, labels: Ints) -> csr_array:
    """Return the number of neighbours (n, c) of each object in each cluster; sparse, as most have only one cluster."""
    shape = (len(labels), int(labels.max()) + 1)
    return csr_array(tally(neighbours, np.ones(neighbours.shape), labels), shape=shape)


def _highest_cuts(around: csr_array, labels: Ints, density: Floats) -> list[tuple[float, int, int]]:
    """Return pairs of clusters with the density at their cut relative to the lower peak, in descending order."""
    c = around.shape[1]
    cells = around.tocoo()
    row, column, value = cells.row, cells.col, cells.data
    own = np.zeros(len(labels))
    mine = column == labels[row]
    own[row[mine]] = value[mine]
    row, column, value = row[~mine], column[~mine], value[~mine]
    height = density[row] * np.minimum(2.0 * value / (own[row] + value), 1.0)
    pair = np.minimum(labels[row], column) * c + np.maximum(labels[row], column)
    order = np.lexsort((-height, pair))
    pair, height = pair[order], height[order]
    first = np.flatnonzero(np.r_[True, pair[1:] != pair[:-1]]) if len(pair) else np.zeros(0, dtype=np.int64)
    sizes, peaks = np.bincount(labels, minlength=c), _peaks(labels, density, c)
    a, b = pair[first] // c, pair[first] % c
    at = np.clip(AT_CUT * np.minimum(sizes[a], sizes[b]), 1, MOST_AT_CUT).astype(np.int64) - 1
    there = at < np.diff(np.r_[first, len(pair)])
    a, b, reached = a[there], b[there], height[(first + at)[there]]
    ratio = reached / np.minimum(peaks[a], peaks[b])
    return [(float(ratio[i]), int(a[i]), int(b[i])) for i in np.argsort(-ratio, kind="stable")]


def _peaks(labels: Ints, density: Floats, c: int) -> Floats:
    """Return a high quantile of each cluster's densities."""
    order = np.lexsort((density, labels))
    ends = np.cumsum(np.bincount(labels, minlength=c))
    sizes = np.diff(np.r_[0, ends])
    peaks: Floats = density[order[ends - sizes + np.floor(PEAK * (sizes - 1)).astype(np.int64)]]
    return peaks


@parameters
class EKNNClus(Restarts, EvidentialClusterer):
    r"""Evidential k-nearest-neighbour clustering: finds clusters of any shape, and their number.

    Each of an object's K nearest neighbours is evidence for its own cluster, with mass
    :math:`\alpha_{ij} = \exp(-\gamma d_{ij}^b)`. The object takes the label with the most evidence
    :math:`\sum_{j: y_j = k} -\ln(1 - \alpha_{ij})`. Initially every object is its own cluster; objects are visited in
    random order, most labels disappear, and the sweeps end when no label changes. Dempster's rule combines the neighbours'
    evidence into masses on single clusters and on all of them together; the empty set has none.

    Since only neighbours are considered, a long or large group is split into pieces. ``valley`` joins pieces without a
    valley of density between them, which the article does not do; ``valley=None`` disables this.

    Parameters
    ----------
    n_neighbors : int or None, default=None
        Number K of neighbours; more give fewer clusters. None: twice the square root of the number of objects, at most 100.
    q : float, default=0.5
        Above 0, at most 1: :math:`1/\gamma` is this quantile of all :math:`d_{ij}^b`. Larger values give distant
        neighbours more weight.
    power : float, default=1.0
        The exponent b; 1 and 2 are usual.
    valley : float or None, default=0.7
        Above 0, at most 1: two clusters are joined if the density at their border exceeds this fraction of that of the less
        dense cluster's densest tenth. Larger values keep more clusters. None: as in the article.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        "precomputed": ``X`` holds dissimilarities.
    init : "objects" or array of int, default="objects"
        Initial labels; "objects" gives each object its own.
    n_init : int, default=10
        Number of runs with different orders of the objects. Of those with the most frequent number of clusters, the one with
        the least evidence between clusters wins.
    max_iter : int, default=100
        Maximum number of sweeps per run.
    n_jobs : int, optional
    callback : callable, optional
        Called with a ``Progress`` after every run; returning true stops the fit and keeps the current state. Its
        iterations are runs, which take few sweeps.
    random_state : int, RandomState or None
        Determines the orders of the objects.
    verbose : int, default=0
        If positive, log every run (logger ``softecm``).

    Attributes
    ----------
    partition_ : CredalPartition
    n_clusters_ : int
    n_neighbors_ : int
    gamma_ : float
    objective_ : float
        Half of the evidence between different clusters.
    labels_, outlier_scores_, focal_sets_, history_, runs_, n_iter_, converged_, n_features_in_, feature_names_in_ : as for
        :class:`SoftECM`

    Notes
    -----
    Memory is proportional to the number of objects times neighbours, and times clusters. Neighbourhood is not symmetric, so
    a sweep can slightly raise the objective; R reports an accumulated sum that deviates from it.

    ``predict_partition`` uses the K nearest training objects; an object equal to one of them gets its masses.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from softecm import EKNNClus
    >>> X, y = make_moons(1500, noise=0.06, random_state=0)
    >>> EKNNClus(random_state=0).fit(X).n_clusters_
    2

    References
    ----------
    T. Denœux, O. Kanjanatarakul and S. Sriboonchitta, "EK-NNclus: a clustering procedure based on the evidential
    K-nearest neighbor rule", Knowledge-Based Systems 88, 2015.
    """

    suits = "numbers or dissimilarities; finds the number of groups, which may have any shape"
    finds_clusters = MappingProxyType({})

    n_neighbors: int | None = count(None, "None takes twice the root of the number of objects.", optional=True)
    q: float = number(0.5, "0.5 is usual: larger gives far neighbours more influence.", above=0, most=1)
    power: float = number(1.0, "1 and 2 are usual.", above=0)
    valley: float | None = number(0.7, "0.7 is usual; None joins nothing.", optional=True, above=0, most=1)
    metric: str = choice("euclidean", ("euclidean", "precomputed"), "For another, compute the dissimilarities.")
    init: str | ArrayLike = choice("objects", ("objects",), "Or give a label for each object.", or_other=True)
    max_iter: int = 100
    tol: float = field(default=0.0, init=False)  # labels change or they don't

    SAVED = expected.rules(
        EvidentialClusterer.SAVED,
        n_neighbors_=expected.count(),
        gamma_=expected.number(expected.POSITIVE),
        _least=expected.number(expected.POSITIVE),
        _voted=expected.array("n", "iu", expected.Range(least=0, below="c")),
        _objects=expected.maybe(expected.array("n p", allowed=SQUARABLE)),
    )
    REQUIRED = (
        "n_features_in_",
        "focal_sets_",
        "partition_",
        "n_clusters_",
        "n_neighbors_",
        "gamma_",
        "_least",
        "_voted",
        "_objects",
    )

    def _check_parts(self) -> None:
        super()._check_parts()
        checked(self)  # predictions use ``power``, a parameter

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fit the clusters.

        Parameters
        ----------
        X : array-like of shape (n, p), or (n, n) dissimilarities
        y : ignored, with a warning if only some labels are known

        Returns
        -------
        self
        """
        warn_of_labels(y, type(self).__name__)
        callback = self._open(X)
        x = self._checked(X, reset=True)
        n = len(x)
        if n < 2:
            raise ValueError(f"X must have at least 2 objects to compare; got n_samples={n}. Pass more rows.")
        k = self._count(n)
        start, rng = self._start(n), check_random_state(self.random_state)
        with threads(self.n_jobs):
            if self.metric == "precomputed":
                near, neighbours = nearest_in_matrix(x, k, others=True)
            else:
                near, neighbours = nearest_others(x, k)
                near = _distances(x, x, neighbours)
            self._least = LEAST * (float(np.quantile(near, self.q)) or 1.0)
            self.gamma_ = scale_of(near, float(self.q), float(self.power), self._least)
            votes = votes_of(neighbours, strength_of(near, self.gamma_, float(self.power), self._least))
            seeds = rng.randint(np.iinfo(np.int32).max, size=int(self.n_init))
            runs = in_threads(partial(self._run, votes, start), seeds, after_runs(callback, len(seeds)))
            best = _most_agreed(runs)
            labels = runs[best].labels
        self.n_neighbors_, self.n_clusters_ = k, int(labels.max()) + 1
        self._refuse_many(n)
        self._voted = labels
        self._objects = None if self.metric == "precomputed" else x
        focal = FocalSets.simple(self.n_clusters_)
        self._store(CredalPartition(masses_of_votes(votes.strength, labels[neighbours], self.n_clusters_), focal))
        self._store_runs(runs, best)
        self._warn_if_unconverged("sweeps", "labels still change", "Raise {max_iter}.")
        return self

    def _run(self, votes: Votes, start: Ints, seed: int, stop: NDArray[np.bool_]) -> Propagation:
        """Propagate labels until convergence; then optionally merge parts of groups and propagate again."""
        rng = np.random.RandomState(seed)
        outcome = propagate(votes, start, _orders(len(start), rng, stop), int(self.max_iter))
        if self.valley is None:
            return outcome
        labels = joined(votes, outcome.labels, float(self.valley))
        again = propagate(votes, labels, _orders(len(start), rng, stop), int(self.max_iter))
        return Propagation(
            again.labels, np.r_[outcome.history, again.history[1:]], outcome.converged and again.converged
        )

    def _checked(self, X: ArrayLike, *, reset: bool) -> Floats:
        if self.metric == "precomputed" if reset else self._objects is None:
            return np.asarray(Dissimilarities().check(self, X, reset=reset), dtype=np.float64)
        return checked_rows(self, X, reset=reset)

    def _count(self, n: int) -> int:
        if self.n_neighbors is None:
            return min(max(2, int(2 * np.sqrt(n))), MOST_NEIGHBOURS, n - 1)
        if self.n_neighbors >= n:
            raise ValueError(
                f"n_neighbors must be less than the number of objects; got n_neighbors={self.n_neighbors} for "
                f"n_samples={n}. Use fewer neighbours, or None."
            )
        return int(self.n_neighbors)

    def _start(self, n: int) -> Ints:
        if not is_given(self.init):
            return np.arange(n)
        labels = plain_array(self.init, "init")
        if labels.shape != (n,):
            raise ValueError(
                f"init must hold a label for each of the {n} objects; got shape {labels.shape}. 'objects' gives each "
                "its own."
            )
        return np.unique(labels, return_inverse=True)[1].astype(np.int64)

    def _refuse_many(self, n: int) -> None:
        """Raise ValueError if the masses of all clusters don't fit in memory."""
        size = 24.0 * n * self.n_clusters_
        if size > _engine.free_memory():
            raise ValueError(
                f"n_neighbors must be larger for these objects; {self.n_neighbors_} leave {self.n_clusters_} clusters, "
                f"whose masses need {shown_size(size)}. Use n_neighbors={4 * self.n_neighbors_}."
            )

    def predict_partition(self, X: ArrayLike) -> CredalPartition:
        """Return the credal partition of other objects, from the evidence of their nearest training objects.

        Parameters
        ----------
        X : array-like of shape (m, p); for ``metric="precomputed"`` the (m, n) dissimilarities to the training objects

        Returns
        -------
        partition : CredalPartition
        """
        check_is_fitted(self)
        x = self._checked(X, reset=False)
        k = min(self.n_neighbors_ + 1, len(self._voted))
        if self._objects is None:
            near, neighbours = nearest_in_matrix(x, k, others=False)
            equal = near == 0.0
        else:
            neighbours = NearestNeighbors(n_neighbors=k).fit(self._objects).kneighbors(x, return_distance=False)
            near = _distances(x, self._objects, neighbours)
            equal = near == 0.0
        itself = np.where(equal.any(1), equal.argmax(1), k - 1)
        others = np.arange(k) != itself[:, None]
        near, neighbours = near[others].reshape(len(x), -1), neighbours[others].reshape(len(x), -1)
        strength = strength_of(near, self.gamma_, float(self.power), self._least)
        masses = masses_of_votes(strength, self._voted[neighbours], self.n_clusters_)
        return CredalPartition(masses, self.focal_sets_)


def _most_agreed(runs: list[Propagation]) -> int:
    """Among runs with the most frequent number of clusters, return the one with the least evidence between clusters."""
    counts = np.array([run.labels.max() for run in runs])
    usual = np.bincount(counts).argmax()
    return int(
        np.argmin([run.history[-1] if count == usual else np.inf for run, count in zip(runs, counts, strict=True)])
    )


def _orders(n: int, rng: np.random.RandomState, stop: NDArray[np.bool_]) -> Iterator[Ints]:
    """Yield a new order for each sweep until another thread requests a stop."""
    while not stop[0]:
        yield rng.permutation(n)


def _distances(a: Floats, b: Floats, neighbours: Ints) -> Floats:
    """Return distances (m, k) from rows of ``a`` to their neighbours in ``b``, without the rounding errors of products."""
    distances = np.empty(neighbours.shape)
    for rows in pieces(len(a), 20 * neighbours.shape[1] * a.shape[1]):
        distances[rows] = np.sqrt(np.square(a[rows][:, None] - b[neighbours[rows]]).sum(-1))
    return distances
