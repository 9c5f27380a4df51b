"""BPEC: belief peaks as clusters' centres (Su and Denœux)."""

from __future__ import annotations

from dataclasses import field
from types import MappingProxyType
from typing import NamedTuple, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from softecm._engine import threads
from softecm.algorithms import parameters as params
from softecm.algorithms.adaptive import AdaptiveProblem, adaptive_metric
from softecm.algorithms.base import PrototypeClusterer
from softecm.algorithms.eknnclus import nearest_others
from softecm.belief import FocalSets
from softecm.constraints import warn_of_labels
from softecm.distances.squared_euclidean import SquaredEuclidean
from softecm.files import expected
from softecm.fit.loop import MERGED, Solution, iterate, runs_table, separation
from softecm.fit.settings import PrototypeModel
from softecm.objective.equations import MassCost, mass_cost
from softecm.spaces.base import Space, check_enough, check_indices, refuse_dissimilarities, weighted_quantile
from softecm.spaces.real import RealVectors

Floats = NDArray[np.float64]
BLOCK_ROWS = 512
OUTLIERS = 0.95  # delta="auto": quantile of the distances to the mean of all objects


class DeltaBel(NamedTuple):
    """The two axes of the delta-Bel graph; cluster centres are high on both.

    Attributes
    ----------
    bel : (n,), degree of belief that an object is a cluster's centre: high where its neighbours are near
    delta : (n,), distance to the nearest object with a larger ``bel``; for the top one the largest of the others'
    """

    bel: Floats
    delta: Floats

    def peaks(self, n_clusters: int | None = None, max_clusters: int = 10) -> NDArray[np.intp]:
        """Return the objects with the largest ``bel * delta``, best first.

        With ``n_clusters`` None, cut the sorted products at their largest step, after 2 to ``max_clusters`` of them.
        This rule is a reconstruction: the article selects peaks by eye.
        """
        product = self.bel * self.delta
        order = np.argsort(-product, kind="stable")
        if n_clusters is None:
            most = min(max_clusters, len(order) - 1)
            steps = product[order[: most + 1]]
            n_clusters = 2 + int(np.argmax(-np.diff(steps)[1:])) if most >= 2 else min(2, len(order))
        return order[:n_clusters]


def delta_bel(x: Floats, n_neighbors: int, q: float = 0.9) -> DeltaBel:
    r"""The delta-Bel graph of vectors.

    .. math::
        \mathrm{Bel}_i = 1 - \prod_{j \in N_K(i)} \Bigl(1 - \tfrac1K e^{-d_{ij}^2 / s_j^2}\Bigr)

    with :math:`s_j` the ``q`` quantile of the distances from j to its own K neighbours.

    Examples
    --------
    >>> x = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> sorted(delta_bel(x, n_neighbors=2).peaks().tolist())
    [1, 4]
    """
    near, neighbours = nearest_others(x, n_neighbors)
    reach = np.quantile(near, q, axis=1)[neighbours]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(near == 0.0, 0.0, near / reach)
    bel = 1.0 - np.prod(1.0 - np.exp(-np.square(ratio)) / n_neighbors, axis=1)
    return DeltaBel(bel, _to_higher(x, bel))


def _to_higher(x: Floats, bel: Floats) -> Floats:
    """Return the distance of each object to the nearest with a larger value; ties go to the first."""
    order = np.argsort(-bel, kind="stable")
    ranked = torch.from_numpy(np.ascontiguousarray(x[order]))
    nearest = np.empty(len(x))
    for start in range(0, len(x), BLOCK_ROWS):
        stop = min(start + BLOCK_ROWS, len(x))
        d = torch.cdist(ranked[start:stop], ranked[:stop], compute_mode="donot_use_mm_for_euclid_dist").numpy()
        higher = np.arange(stop) < np.arange(start, stop)[:, None]
        nearest[order[start:stop]] = np.where(higher, d, np.inf).min(1)
    top = order[0]
    nearest[top] = np.delete(nearest, top).max() if len(x) > 1 else 0.0
    return nearest


def bpec(
    x: Tensor, centers: Tensor, focal: FocalSets, cost: MassCost, *, adaptive: bool, max_iter: int, tol: float
) -> Solution:
    r"""Compute ECM's masses with fixed cluster centres (c, p).

    With ``adaptive``, each cluster has a matrix :math:`S_k` of determinant 1 that fits its shape (Gustafson and
    Kessel), and a set has the mean of its clusters' matrices; masses and matrices alternate, and the objective falls in
    every iteration.
    """
    problem = AdaptiveProblem(x, focal, cost, False, adaptive, None, tol, moves=False)
    return iterate(problem, centers[None], max_iter)


@params.parameters
class BPEC(params.Iteration, params.FocalParameters, params.Masses, PrototypeClusterer):
    r"""Belief-peak evidential clustering: density peaks determine the centres and their number.

    An object is a likely centre if its neighbours are near (large Bel) and all objects with a larger Bel are far (large
    delta). The objects with the largest products Bel x delta become the clusters' fixed centres; the masses are those of
    :class:`ECM` for these centres.

    Parameters
    ----------
    n_clusters : int or None, default=None
        None: cut the sorted products at their largest step. This rule is a reconstruction; the article leaves the choice
        to the user: inspect ``delta_bel_`` and pass ``peaks``.
    peaks : array of int, optional
        Indices of the objects to use as centres, read off the graph.
    n_neighbors : int or None, default=None
        Number K of neighbours that determine Bel; None: twice the square root of the number of objects.
    q : float, default=0.9
        Between 0 and 1: quantile of an object's distances to its neighbours, used as the scale of its neighbourhood.
    metric : {"euclidean", "adaptive"}, default="euclidean"
        "adaptive": every cluster has its own matrix, adapted to its shape.
    alpha : float, default=1.0
    beta : float, default=2.0
    delta : "auto", float or None, default="auto"
        Distance to the empty set (the objective has its square). "auto": its square is the 0.95 quantile of the squared
        distances to the mean of all objects. None: no outliers.
    max_cardinality : int or None, default=2
    focal_sets : "simple", "full", list of tuples or FocalSets, optional
    max_clusters : int, default=10
        Maximum number of clusters.
    max_iter : int, default=200
        Maximum number of iterations of masses and matrices; only for "adaptive".
    tol : float, default=1e-4
        Only for "adaptive": the fit has converged when no mass changes by more than this.
    n_jobs : int, optional

    Attributes
    ----------
    partition_ : CredalPartition
    n_clusters_ : int
    peaks_ : ndarray of int, the objects that are the centres
    delta_bel_ : DeltaBel
        The axes ``bel`` and ``delta`` of the graph, one value per object.
    labels_, outlier_scores_, focal_sets_, prototypes_, cluster_centers_, objective_ : as for :class:`SoftECM`
    history_, runs_, n_iter_, converged_, separation_, collapsed_, delta_ : as for :class:`SoftECM`
    n_features_in_, feature_names_in_ : as for :class:`SoftECM`

    Examples
    --------
    >>> from softecm import BPEC
    >>> from softecm.datasets import make_blobs
    >>> bpec = BPEC().fit(make_blobs(150, random_state=0).data)
    >>> bpec.n_clusters_
    3

    References
    ----------
    Z.-G. Su and T. Denœux, "BPEC: belief-peaks evidential clustering", IEEE Transactions on Fuzzy Systems 27, 2019.
    """

    suits = "numbers; finds the number of groups by density peaks"
    finds_clusters = MappingProxyType({"n_clusters": None})

    n_clusters: int | None = field(
        default=None,
        kw_only=False,
        metadata=params.rule(params.counting("None finds the number of groups.", optional=True)),
    )
    peaks: ArrayLike | None = None
    n_neighbors: int | None = params.count(None, "None takes twice the root of the number of objects.", optional=True)
    q: float = params.number(0.9, "0.9 is usual.", above=0, most=1)
    metric: str = params.choice("euclidean", ("euclidean", "adaptive"), "'adaptive' follows elongated clusters.")
    max_clusters: int = params.count(10, "10 is usual.", least=2)

    SAVED = expected.rules(
        PrototypeClusterer.SAVED,
        peaks_=expected.array("c", "iu", expected.Range(least=0, below="n")),
        _graph=expected.listed(expected.array("n", allowed=expected.LENGTH)),
    )

    @property
    def delta_bel_(self) -> DeltaBel:
        """The axes of the graph from which the centres are read."""
        return DeltaBel(*self._graph)

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Find the density peaks and the credal partition.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : ignored, with a warning if only some labels are known

        Returns
        -------
        self
        """
        warn_of_labels(y, type(self).__name__)
        self._open(X)
        space = RealVectors()
        rows = space.check(self, X, reset=True)
        refuse_dissimilarities(rows)
        fitted: Space = space.fit(rows, dtype=torch.float64).named(getattr(self, "feature_names_in_", ()))
        x: Tensor = fitted.encode(rows)
        if len(x) < 2:
            raise ValueError(f"X must have at least 2 objects to compare; got n_samples={len(x)}. Pass more rows.")
        with threads(self.n_jobs):
            self._place(x)
            self._share_out(x, fitted)
        self._warn_if_unconverged()
        self._warn_if_merged(
            "Set n_clusters or peaks, or a larger n_neighbors: too many peaks were found in one group."
        )
        if not self.collapsed_:
            self._warn_of_masses()
        return self

    def _place(self, x: Tensor) -> None:
        """Compute the delta-Bel graph and its peaks."""
        n = len(x)
        k = int(np.ceil(2.0 * np.sqrt(n))) if self.n_neighbors is None else int(self.n_neighbors)
        graph = delta_bel(x.numpy(), min(k, n - 1), float(self.q))
        self._graph = (graph.bel, graph.delta)
        if self.peaks is not None:
            self.peaks_ = check_indices("peaks", self.peaks, n, self.n_clusters)
        else:
            check_enough(self.n_clusters or 1, n)
            self.peaks_ = graph.peaks(self.n_clusters, self.max_clusters)
        self.n_clusters_ = len(self.peaks_)

    def _share_out(self, x: Tensor, space: Space) -> None:
        """Compute the masses for the peaks and store the results."""
        focal = params.sets_asked_for(self.n_clusters_, self.max_cardinality, self.focal_sets)
        centers = x[torch.as_tensor(self.peaks_)]
        prototypes = torch.tensor(focal.shares) @ centers
        from_mean = (x - x.mean(0)).square().sum(1).numpy()
        self.delta_ = self._outlier_distance(from_mean)
        adaptive = self.metric == "adaptive"
        alpha, beta, delta = float(self.alpha), float(self.beta), self.delta_
        cost = mass_cost(focal, alpha, beta, delta, like=x)
        solution = bpec(x, centers, focal, cost, adaptive=adaptive, max_iter=int(self.max_iter), tol=float(self.tol))
        metric = adaptive_metric(solution.extras["matrices"][0], focal) if adaptive else SquaredEuclidean()
        self.model_ = PrototypeModel(metric, space, focal, prototypes, alpha, beta, delta, tie=0.0)
        self._store(self.model_.partition(x))
        among = (centers[:, None] - centers).square().sum(-1).numpy()
        separations = separation([among], float(from_mean.mean()))
        self.separation_, self.collapsed_ = float(separations[0]), bool(separations[0] < MERGED)
        self.objective_, self.history_ = float(solution.objective[0]), solution.history[0]
        self.n_iter_, self.converged_ = int(solution.n_iter[0]), bool(solution.converged[0])
        self._runs = runs_table(solution, 0, separations)

    def _outlier_distance(self, from_mean: Floats) -> float | None:
        if self.delta != "auto":
            return None if self.delta is None else float(self.delta)
        squared = weighted_quantile(from_mean, OUTLIERS, np.ones(len(from_mean)))
        return float(np.sqrt(squared)) if squared > 0 else 1.0
