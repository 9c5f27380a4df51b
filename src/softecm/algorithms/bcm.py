"""BCM: belief c-means of Liu, Dezert, Mercier and Pan."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from softecm.algorithms.family import PrototypeFamily
from softecm.algorithms.parameters import number, parameters
from softecm.algorithms.quadratic import SetPrices, SpreadMeans
from softecm.belief.focal import FocalSets
from softecm.distances.base import SemiMetric


@dataclass(frozen=True)
class BCMAlgorithm(SpreadMeans):
    """BCM, defined by the prices of its sets."""

    def set_prices(self, focal: FocalSets) -> SetPrices:
        r"""Scale :math:`1 / (1 + \gamma (|A|-1)/2)`, price of spread :math:`1/|A| + \gamma`: BCM's distance, rearranged."""
        size = torch.as_tensor(focal.cardinalities.copy(), dtype=torch.float64)
        spread = torch.where(size > 1, 1.0 / size + self.gamma, 0.0)
        return SetPrices(1.0 / (1.0 + 0.5 * self.gamma * (size - 1.0)), spread)


@parameters
class BCM(PrototypeFamily):
    r"""Belief c-means: an object far from several nearby centres is assigned to their set.

    Minimises :math:`\sum_i \sum_A m_i(A)^\beta D_{iA} + \delta^2 \sum_i m_i(\emptyset)^\beta` with

    .. math:: D_{iA} = \frac{\sum_{k \in A} \|x_i - v_k\|^2 + \gamma \sum_{k<l \in A} \|v_k - v_l\|^2}
        {|A| + \gamma |A| (|A| - 1) / 2}

    (the plain squared distance for a single cluster). No barycentre of a set is used: midway between two distant
    centres an object's mass is shared by the single clusters; if the centres are close compared to its distance, it
    goes to their set.

    Reconstructed: the article's abstract names the ingredients; the formula and its updates are derived from them.
    It has not been checked against the article.

    Parameters
    ----------
    n_clusters : int, default=2
    gamma : float, default=1.0
        At least 0: weight of the distances among a set's centres relative to those to the object.
    beta : float, default=2.0
        Greater than 1. Larger values spread mass over more sets. With many columns 2 may pull all centres together: use 1.2
        there.
    delta, max_cardinality, focal_sets, init, n_init, max_iter, tol, device, dtype : as for :class:`SoftECM`
    n_jobs, warm_start, callback, random_state, verbose : as for :class:`SoftECM`

    Attributes
    ----------
    partition_ : CredalPartition
    prototypes_ : ndarray of shape (f, p)
        The centres, then for each larger set the mean of its clusters' centres.
    labels_, outlier_scores_, focal_sets_, cluster_centers_, objective_, history_ : as for :class:`SoftECM`
    runs_, n_iter_, converged_, separation_, collapsed_, delta_, n_features_in_ : as for :class:`SoftECM`
    feature_names_in_ : as for :class:`SoftECM`

    Examples
    --------
    >>> from softecm import BCM
    >>> X = [[-0.1, 0], [0.1, 0], [0, 0.1], [0, -0.1], [2.9, 0], [3.1, 0], [3, 0.1], [3, -0.1], [1.5, 0], [1.5, 6]]
    >>> bcm = BCM(2, delta=12.0, init=[[0, 0], [3, 0]]).fit(X)
    >>> bcm.partition_.masses[-2:].round(1)  # midway: shared by the clusters; far from both: to their set
    array([[0. , 0.4, 0.4, 0.2],
           [0.1, 0.3, 0.3, 0.4]])

    References
    ----------
    Z. Liu, J. Dezert, G. Mercier and Q. Pan, "Belief c-means: an extension of fuzzy c-means algorithm in belief functions
    framework", Pattern Recognition Letters 33, 2012.
    """

    suits = "numbers; puts objects far from neighbouring groups between them"

    gamma: float = number(1.0, "1 is usual; 0 ignores how far a set's clusters are apart.", least=0)
    alpha: float = field(default=0.0, init=False)

    def _algorithm(self, metric: SemiMetric) -> BCMAlgorithm:
        return BCMAlgorithm(float(self.gamma))
