"""Wrong results of evclust for Python 0.2.1: one short check each.

pip install 'softecm[paper]' && python paper/check_evclust.py

The data of most checks: two groups of 20 points, the second a mirror image of the first, and one point in the middle.
"""

from __future__ import annotations

import warnings

import numpy as np
from evclust.ccm import ccm
from evclust.ecm import ecm
from evclust.egmm import egmm
from evclust.kevclus import kevclus
from evclust.metrics import credalRI, nonspecificity
from evclust.recm import recm
from evclust.utils import makeF
from sklearn.metrics import pairwise_distances

warnings.simplefilter("ignore")
group = np.random.RandomState(0).randn(20, 2) - [10, 0]
x = np.vstack([group, -group, [[0.0, 0.0]]])
F = makeF(2, "full")  # the empty set, the two clusters, both
same = {"alpha": 1, "beta": 2, "disp": False}


def middle(found: dict[str, np.ndarray]) -> np.ndarray:
    """The masses of the point in the middle: on the empty set, each cluster, both."""
    return found["mass"][-1].round(2)


np.random.seed(0)  # noqa: NPY002
print("nonspecificity of a certain object, should be 0:", nonspecificity(np.array([[0.0, 1.0, 0.0, 0.0]]), F))

hard = {"mass": np.array([[0.0, 1, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0]]), "F": F}
print("credal Rand index of a hard partition with itself, should be 1:", round(float(credalRI(hard, hard)), 2))

sums = kevclus(x=x, c=2, disp=False)["mass"].sum(1)
print("k-EVCLUS, sums of an object's masses, should be 1:", sums.min().round(2), "to", sums.max().round(2))

print("ECM, the point in the middle:", middle(ecm(x, 2, delta=10, **same)))
for power in (1, 2):
    D = pairwise_distances(x) ** power
    print(
        f"RECM, distances to the power of {power}, should be ECM's:", middle(recm(D, 2, delta=np.float64(10), **same))
    )

print("CCM, should be as much on one cluster as on the other:", middle(ccm(x, 2, disp=False)))

print("EGMM, should be between the clusters; its model has no empty set:", middle(egmm(x, 2, disp=False)))
