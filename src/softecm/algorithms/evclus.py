"""EVCLUS: masses whose conflicts mirror the dissimilarities (Denœux and Masson), in its fast form k-EVCLUS."""

from __future__ import annotations

from typing import Self

from numpy.typing import ArrayLike

from softecm.algorithms.conflicts import ConflictClusterer
from softecm.algorithms.parameters import FilePath, parameters
from softecm.constraints import warn_of_labels
from softecm.fit.settings import CheckpointRequest


@parameters
class EVCLUS(ConflictClusterer):
    r"""Fit masses whose conflicts reproduce the dissimilarities; no prototypes or cluster shapes are assumed.

    Dissimilar objects should not belong to the same cluster: the conflict of their masses,
    :math:`\kappa_{ij} = \sum_{A \cap B = \emptyset} m_i(A) m_j(B)`, should be near
    :math:`\varphi(d_{ij}) = 1 - \exp(-\eta d_{ij}^2)`. Minimises the stress
    :math:`\sum_{ij} (\kappa_{ij} - \varphi_{ij})^2 / \sum_{ij} \varphi_{ij}^2`.

    Parameters
    ----------
    n_clusters : int, default=2
    d0 : "auto" or float, default="auto"
        Objects at this dissimilarity should have a conflict of 0.95. "auto": the 0.9 quantile of the dissimilarities.
    n_neighbors : int or None, default=None
        Compare each object with about this many random others instead of all: k-EVCLUS, for many objects.
    max_cardinality : int or None, default=2
        Largest set considered; None: all 2^c, with a warning if there are many.
    focal_sets : "simple", "full", list of tuples or FocalSets, optional
        The sets that get masses; overrides ``max_cardinality``.
    init : "random" or a CredalPartition, default="random"
        Pass an earlier fit's ``partition_`` to continue it.
    n_init : int, default=5
        Number of restarts; the lowest stress is kept.
    max_iter : int, default=500
        Maximum number of sweeps through the objects.
    tol : float, default=1e-5
        A run has converged when the smoothed relative gain of a sweep is below this.
    n_jobs : int, optional
        Number of threads, which share the runs.
    callback : callable, optional
        Called with a ``Progress`` after every sweep; returning true stops the fit and keeps the current state. Its
        ``change`` is the relative gain of a sweep, smoothed.
    verbose : int, default=0
        If positive, log every sweep (logger ``softecm``).
    random_state : as for :class:`SoftECM`

    Attributes
    ----------
    partition_ : CredalPartition
    d0_ : float
    objective_ : float
        The stress.
    labels_, outlier_scores_, focal_sets_, history_, runs_, n_iter_, converged_, n_features_in_ : as for :class:`SoftECM`

    Notes
    -----
    ``predict_partition`` takes the n_new x n dissimilarities of new objects to the training objects and fits each new
    object's masses to its conflicts with all of them. A training object is also compared with itself, so the result is
    close to ``partition_`` but not equal.

    A ridge of 1e-8 decides between masses that explain the conflicts equally well, as happens if a cluster or set is
    hardly used.

    Examples
    --------
    >>> from sklearn.metrics import pairwise_distances
    >>> from softecm import EVCLUS
    >>> from softecm.datasets import load_diamond
    >>> D = pairwise_distances(load_diamond().data)
    >>> evclus = EVCLUS(2, random_state=0).fit(D)
    >>> [len(s) for s in evclus.partition_.sets()[[2, 5, 8, 11]]]  # a cluster, both, a cluster, none
    [1, 2, 1, 0]
    >>> evclus.shepard(D).kappa.shape
    (66,)

    References
    ----------
    T. Denœux and M.-H. Masson, "EVCLUS: evidential clustering of proximity data", IEEE SMC B 34, 2004.
    T. Denœux, S. Sriboonchitta and O. Kanjanatarakul, "Evidential clustering of large dissimilarity data",
    Knowledge-Based Systems 106, 2016.
    """

    suits = "dissimilarities; groups without centres"

    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        checkpoint: FilePath | None = None,
        checkpoint_every: int = 10,
        resume: FilePath | None = None,
    ) -> Self:
        """Fit the masses.

        Parameters
        ----------
        X : array-like of shape (n, n), dissimilarities
        y : ignored, with a warning if only some labels are known
        checkpoint, checkpoint_every, resume : as for :class:`SoftECM`

        Returns
        -------
        self
        """
        warn_of_labels(y, type(self).__name__)
        return self._fit_to(X, CheckpointRequest.of(checkpoint, checkpoint_every, resume))
