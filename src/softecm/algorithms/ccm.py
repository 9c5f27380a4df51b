"""CCM: credal c-means of Liu, Pan, Dezert and Mercier."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from softecm.algorithms.family import PrototypeFamily
from softecm.algorithms.parameters import number, parameters
from softecm.algorithms.quadratic import SetPrices, SpreadMeans
from softecm.belief.focal import FocalSets
from softecm.distances.base import SemiMetric


@dataclass(frozen=True)
class CCMAlgorithm(SpreadMeans):
    """CCM, defined by the prices of its sets."""

    def set_prices(self, focal: FocalSets) -> SetPrices:
        r"""Scale 1 and price of spread :math:`1 / (|A| + \gamma)`: CCM's distance, rearranged."""
        size = torch.as_tensor(focal.cardinalities.copy(), dtype=torch.float64)
        return SetPrices(torch.ones_like(size), 1.0 / (size + self.gamma))


@parameters
class CCM(PrototypeFamily):
    r"""Credal c-means: an object is assigned to a set if it is close to all its clusters and to their middle.

    Minimises :math:`\sum_i \sum_A m_i(A)^\beta D_{iA} + \delta^2 \sum_i m_i(\emptyset)^\beta` with

    .. math:: D_{iA} = \frac{\sum_{k \in A} \|x_i - v_k\|^2 + \gamma \|x_i - \bar v_A\|^2}{|A| + \gamma}

    (the plain squared distance for a single cluster), :math:`\bar v_A` the mean of the centres of A. Unlike in
    :class:`ECM`, a set of distant clusters is costly even at its middle.

    The distance and the system for the centres follow a public implementation of CCM; the objective, with the exponent on
    the masses and no factor for the size of a set, is reconstructed: it has not been checked against the article.

    Parameters
    ----------
    n_clusters : int, default=2
    gamma : float, default=1.0
        At least 0: weight of the distance to the middle of a set relative to the distances to its clusters.
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
    >>> from softecm import CCM
    >>> ccm = CCM(2, init=[[0.0], [4.0]]).fit([[0.0], [0.2], [2.1], [3.9], [4.0]])
    >>> ccm.partition_.sets().tolist()
    [(0,), (0,), (0, 1), (1,), (1,)]

    References
    ----------
    Z. Liu, Q. Pan, J. Dezert and G. Mercier, "Credal c-means clustering method based on belief functions", Knowledge-Based
    Systems 74, 2015.
    """

    suits = "numbers; puts little mass on sets of distant groups"

    gamma: float = number(1.0, "1 is usual; 0 looks at the clusters' own distances only.", least=0)
    alpha: float = field(default=0.0, init=False)

    def _algorithm(self, metric: SemiMetric) -> CCMAlgorithm:
        return CCMAlgorithm(float(self.gamma))
