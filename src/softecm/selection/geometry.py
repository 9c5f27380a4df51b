"""Where objects lie among the clusters' prototypes, and what that alone says about a partition."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from softecm.scores.silhouettes import gains

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Geometry:
    """Distances of the objects to the clusters' prototypes, and between these."""

    to_clusters: Floats  # (n, c)
    between: Floats  # (c, c)
    of_means: bool = False  # squared distances to means, each of which its own objects have drawn nearer

    def without_itself(self, labels: NDArray[np.intp], weights: Floats) -> Geometry:
        r"""Each object's distance to its own cluster as if the object had no part in its mean.

        Of m objects with the mean v, those other than x have a mean at :math:`\left(\frac m{m-1}\right)^2 \|x - v\|^2`. With
        few objects in many columns this is what tells a group from a heap that was cut in two.
        """
        if not self.of_means:
            return self
        held = np.maximum(np.bincount(labels, weights, minlength=self.to_clusters.shape[1]), 2.0)
        far = self.to_clusters.copy()
        far[np.arange(len(far)), labels] *= np.square(held / (held - 1.0))[labels]
        return replace(self, to_clusters=far)


def xie_beni(probabilities: Floats, geometry: Geometry, counts: Floats | None = None) -> float:
    r"""Expected distance of an object to its cluster over the least distance between clusters; smaller is better.

    .. math:: \frac{\sum_i \sum_k \mathrm{BetP}_i(\omega_k)\, d(x_i, v_k)}{n \min_{k \ne l} d(v_k, v_l)}

    Pignistic probabilities stand in the place of fuzzy memberships: mass on a set counts for its clusters in equal parts,
    mass on the empty set for all, so that neither doubt nor outliers make a partition look compact. No power of
    the masses enters, so that values are comparable between all alpha, beta and delta.
    """
    c = geometry.between.shape[0]
    if c < 2:
        return float("nan")
    least = float(geometry.between[~np.eye(c, dtype=bool)].min())
    inside = float(np.average((probabilities * geometry.to_clusters).sum(1), weights=counts))
    return inside / least if least > 0 else float("inf")


def silhouette(labels: NDArray[np.intp], geometry: Geometry, counts: Floats | None = None) -> float:
    """How much nearer objects are to their own cluster's prototype than to the next, from -1 to 1; larger is better.

    The silhouette with distances to prototypes in the place of mean distances to objects: it costs nothing beyond what a
    fit has computed, for any semi-metric.
    """
    d = geometry.to_clusters
    if d.shape[1] < 2:
        return float("nan")
    gain = gains(d)[np.arange(len(d)), labels]
    return float(np.average(gain, weights=counts))
