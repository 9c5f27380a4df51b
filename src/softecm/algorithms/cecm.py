"""CECM: evidential c-means with must-links and cannot-links, of Antoine, Quost, Masson and Denœux."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from softecm.algorithms.adaptive import AdaptiveECM
from softecm.algorithms.ecm_plus import AdaptiveFamily
from softecm.algorithms.parameters import FilePath, checked, choice, number, parameters
from softecm.algorithms.soft_ecm import SoftECMAlgorithm
from softecm.belief.focal import FocalSets
from softecm.constraints import Constraints, check_constraints, warn_of_labels
from softecm.distances.base import SemiMetric
from softecm.fit.algorithm import Algorithm
from softecm.fit.settings import CheckpointRequest, Settings, settings
from softecm.objective.linked import Pairs
from softecm.objective.links import Links
from softecm.spaces.column_roles import by_row

METRICS = ("euclidean", "adaptive")
VARIANTS = ("article", "evclust")


@dataclass(frozen=True)
class CECMPairs(Pairs):
    """Pairs of objects with the prices of CECM."""

    xi: float
    variant: str

    def links(self, focal: FocalSets, counts: NDArray[np.float64], spread: float, dtype: torch.dtype) -> Links | None:
        """Return CECM's links, in units of ECM's objective."""
        constraints = check_constraints(self.must_link, self.cannot_link, len(counts))
        return cecm_links(constraints, focal, float(counts.sum()), self.xi, self.variant, dtype=dtype)


def cecm_links(
    constraints: Constraints,
    focal: FocalSets,
    total: float,
    xi: float = 0.5,
    variant: str = "article",
    *,
    dtype: torch.dtype = torch.float64,
) -> Links | None:
    """Return must-links and cannot-links with prices, for objects of weight ``total``; None if there are none.

    CECM divides ECM's objective by the number of objects and of focal sets and adds the mean cost of the links. Here
    everything is multiplied so that ECM's objective keeps its unit.
    """
    unit = total * (len(focal) + 1) / (1.0 - xi)
    must, cannot = len(constraints.must_link), len(constraints.cannot_link)
    if variant == "evclust":
        must_price, cannot_price = xi * unit / max(must, 1), xi * unit / max(cannot, 1)
        return Links.make(constraints, focal, must_price, cannot_price, empty=2.0 * unit, follow=True, dtype=dtype)
    price = xi * unit / max(must + cannot, 1)
    return Links.make(constraints, focal, price, price, dtype=dtype)


@parameters
class CECM(AdaptiveFamily):
    r"""Evidential c-means with must-links and cannot-links between objects.

    A must-link means that two objects belong together, a cannot-link that they don't. Minimises

    .. math::
        J = \frac{1 - \xi}{n \hat f} J_{\mathrm{ECM}} + \frac{\xi}{N} \Big[
        \sum_{(i,j) \in ML} \mathrm{pl}_{ij}(\text{apart}) + \sum_{(i,j) \in CL} \mathrm{pl}_{ij}(\text{together}) \Big]

    with :math:`J_{\mathrm{ECM}}` the objective of :class:`ECM` at beta = 2, :math:`\hat f` the number of focal sets with the
    empty one, N the number of links, and the plausibilities

    .. math::
        \mathrm{pl}_{ij}(\text{together}) = \sum_{A \cap B \ne \emptyset} m_i(A) m_j(B), \qquad
        \mathrm{pl}_{ij}(\text{apart}) = (1 - m_i(\emptyset))(1 - m_j(\emptyset)) - \sum_k m_i(\omega_k) m_j(\omega_k).

    The masses of each linked object are updated exactly with all others fixed, so J never rises; the article minimises
    over all of them at once, which has the same stationary points. Without links this is ECM.
    For other metrics or beta, give links to :class:`SoftECM`.

    Parameters
    ----------
    n_clusters : int, default=2
    xi : float, default=0.5
        From 0 to below 1: weight of the links relative to the data. The cost of a violated link is compared with squared
        distances, so ``xi`` depends on the unit of ``X``: standardise the columns, or try several values.
    metric : {"euclidean", "adaptive"}, default="euclidean"
        "adaptive": every cluster learns a matrix of determinant 1 (Gustafson and Kessel).
    variant : {"article", "evclust"}, default="article"
        "evclust" follows R evclust's code where it departs from the article: must-links and cannot-links are averaged
        separately, and must-linked objects are kept off the empty set.
    alpha, delta, max_cardinality, focal_sets, init, n_init, max_iter, tol, device : as for :class:`SoftECM`
    dtype, n_jobs, warm_start, callback, random_state, verbose : as for :class:`SoftECM`

    Attributes
    ----------
    partition_ : CredalPartition
        Masses of linked objects depend on their links; ``predict_partition`` ignores links.
    objective_ : float
        J times :math:`n \hat f / (1 - \xi)`, which without links is ECM's objective.
    matrices_ : ndarray of shape (c, p, p)
        The clusters' matrices; identity matrices unless ``metric="adaptive"``.
    labels_, outlier_scores_, focal_sets_, prototypes_, cluster_centers_, history_ : as for :class:`SoftECM`
    runs_, n_iter_, converged_, separation_, collapsed_, delta_, n_features_in_ : as for :class:`SoftECM`
    feature_names_in_ : as for :class:`SoftECM`

    Examples
    --------
    A link joins the object between the two diamonds to the left one:

    >>> from softecm import CECM
    >>> from softecm.datasets import load_diamond
    >>> X = load_diamond().data
    >>> model = CECM(2, delta=5.0, init=[[-3, 0], [3, 0]])
    >>> model.fit(X).partition_.sets()[5]
    (0, 1)
    >>> model.fit(X, must_link=[(2, 5)], cannot_link=[(5, 8)]).partition_.sets()[5]
    (0,)

    References
    ----------
    V. Antoine, B. Quost, M.-H. Masson and T. Denœux, "CECM: constrained evidential c-means algorithm", Computational
    Statistics & Data Analysis 56, 2012.
    """

    suits = "numbers, and links between objects (--links)"

    takes_sparse = True

    weight_of_links = "xi"

    xi: float = number(0.5, "0.5 is usual: 0 ignores the links, values near 1 enforce them.", least=0, below=1)
    metric: str = choice("euclidean", METRICS, "For other metrics give links to SoftECM.")
    variant: str = choice("article", VARIANTS, "'article' is the published formula.")
    beta: float = field(default=2.0, init=False)

    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        must_link: ArrayLike | None = None,
        cannot_link: ArrayLike | None = None,
        checkpoint: FilePath | None = None,
        checkpoint_every: int = 10,
        resume: FilePath | None = None,
    ) -> Self:
        """Fit the centres and the credal partition.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : ignored, with a warning if only some labels are known
        sample_weight : array-like of shape (n,), optional
            Weight of each object; links have no weight.
        must_link, cannot_link : array-like of shape (m, 2), optional
            Pairs of objects known to be together or apart: rows of ``X``, counted from 0, or names in a data frame's index.
            :mod:`softecm.constraints` samples such pairs from labels and completes them.
        checkpoint, checkpoint_every, resume : as for :class:`SoftECM`

        Returns
        -------
        self
        """
        warn_of_labels(y, type(self).__name__)
        chosen = self._settings()
        pairs = CECMPairs(*by_row(X, must_link, cannot_link), float(self.xi), self.variant)
        request = CheckpointRequest.of(checkpoint, checkpoint_every, resume)
        return self._fit_to(replace(chosen, pairs=pairs, checkpoint_request=request), X, sample_weight)

    def _settings(self) -> Settings:
        return settings(checked(self), metric="sqeuclidean")

    def _algorithm(self, metric: SemiMetric) -> Algorithm[Any]:
        return AdaptiveECM(corrected=False) if self.metric == "adaptive" else SoftECMAlgorithm()
