"""CEVCLUS: EVCLUS with must-links and cannot-links (Antoine and others), in its fast form k-CEVCLUS."""

from __future__ import annotations

from typing import Self

from numpy.typing import ArrayLike

from softecm.algorithms.conflicts import ConflictClusterer, Linked
from softecm.algorithms.parameters import FilePath, choice, number, parameters
from softecm.constraints import Constraints, warn_of_labels
from softecm.fit.settings import CheckpointRequest

#: The stress of a link of cost 1, times the number of links over xi.
VARIANTS = {"article": 0.5, "evclust": 2.0}


@parameters
class CEVCLUS(ConflictClusterer):
    r"""EVCLUS with must-links and cannot-links between objects.

    A must-link means that two objects belong together, a cannot-link that they don't. Minimises the stress of
    :class:`EVCLUS` plus the cost of the links,

    .. math::
        \frac{\sum_{ij} (\kappa_{ij} - \varphi_{ij})^2}{\sum_{ij} \varphi_{ij}^2}
        + \frac{\xi}{2N} \Big[\sum_{(i,j) \in ML} c_{ij} + \sum_{(i,j) \in CL} (2 - c_{ij})\Big], \qquad
        c_{ij} = 1 - \mathrm{pl}_{ij}(\text{together}) + \mathrm{pl}_{ij}(\text{apart}),

    with N the number of links and the plausibilities of :class:`CECM`. Each object's masses are updated exactly with
    all others fixed, so the objective never rises. Without links this is EVCLUS.

    Parameters
    ----------
    n_clusters : int, default=2
    xi : float, default=0.5
        At least 0: weight of the links. Violated links cost at most xi, while the stress of vacuous masses is about 1.
        Larger values satisfy more links; well above 1 linked objects ignore their dissimilarities.
    variant : {"article", "evclust"}, default="article"
        "article": the formula above. "evclust": R evclust's ``kcevclus`` weighs links four times as much for the same xi.
    d0 : "auto" or float, default="auto"
        Objects at this dissimilarity should have a conflict of 0.95. "auto": the 0.9 quantile of the dissimilarities.
    n_neighbors : int or None, default=None
        Compare each object with about this many random others instead of all: k-CEVCLUS, for many objects. Links count
        whether or not their objects are compared.
    max_cardinality : int or None, default=2
        Largest set considered; None: all 2^c, with a warning if there are many.
    focal_sets : "simple", "full", list of tuples or FocalSets, optional
        The sets that get masses; overrides ``max_cardinality``.
    init : "random" or a CredalPartition, default="random"
        Pass an earlier fit's ``partition_`` to continue it.
    n_init : int, default=5
        Number of restarts; the lowest objective is kept.
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
        The stress plus the cost of the links.
    labels_, outlier_scores_, focal_sets_, history_, runs_, n_iter_, converged_, n_features_in_ : as for :class:`SoftECM`

    Notes
    -----
    Links are soft: :func:`softecm.constraints.kept` returns the share of satisfied links, and the logger ``softecm`` names a
    violated one. ``predict_partition`` ignores links. :func:`softecm.constraints.spread_constraints` extends links to near
    neighbours, so that a few links have more effect.

    R's ``norm=2`` divides the squared errors by their number instead of by the sum of squares: this equals a larger
    ``xi``.

    Examples
    --------
    >>> from sklearn.metrics import pairwise_distances
    >>> from softecm import CEVCLUS
    >>> from softecm.datasets import load_diamond
    >>> D = pairwise_distances(load_diamond().data)
    >>> linked = CEVCLUS(2, random_state=0).fit(D, must_link=[(2, 5)], cannot_link=[(5, 8)])
    >>> bool(linked.labels_[2] == linked.labels_[5] != linked.labels_[8])
    True

    References
    ----------
    V. Antoine, B. Quost, M.-H. Masson and T. Denœux, "CEVCLUS: evidential clustering with instance-level constraints for
    relational data", Soft Computing 18, 2014.
    F. Li, S. Li and T. Denœux, "k-CEVCLUS: constrained evidential clustering of large dissimilarity data",
    Knowledge-Based Systems 142, 2018.
    """

    suits = "dissimilarities, and links between objects (--links); groups without centres"

    xi: float = number(0.5, "0.5 is usual: 0 ignores the links, larger enforces more of them.", least=0)
    variant: str = choice("article", tuple(VARIANTS), "'article' is the published formula.")

    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        must_link: ArrayLike | None = None,
        cannot_link: ArrayLike | None = None,
        checkpoint: FilePath | None = None,
        checkpoint_every: int = 10,
        resume: FilePath | None = None,
    ) -> Self:
        """Fit the masses.

        Parameters
        ----------
        X : array-like of shape (n, n), dissimilarities
        y : ignored, with a warning if only some labels are known
        must_link, cannot_link : array-like of shape (m, 2), optional
            Pairs of objects known to be together or apart: rows of ``X``, counted from 0, or names in a data frame's index.
            :mod:`softecm.constraints` samples such pairs from labels, completes and spreads them.
        checkpoint, checkpoint_every, resume : as for :class:`SoftECM`

        Returns
        -------
        self
        """
        warn_of_labels(y, type(self).__name__)
        return self._fit_to(X, CheckpointRequest.of(checkpoint, checkpoint_every, resume), must_link, cannot_link)

    def _linked(self, links: Constraints) -> Linked:
        price = VARIANTS[self.variant] * float(self.xi) / sum(map(len, links))
        return Linked(links, price, self.variant == "evclust")
