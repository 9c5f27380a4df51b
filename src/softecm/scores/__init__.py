"""Scores of partitions: quality, certainty and similarity.

Three families, by what they compare:

- hard labels with true classes: :func:`rand_index`, :func:`adjusted_rand_index`, :func:`accuracy`, :func:`purity`. A
  credal partition is reduced to its labels of largest pignistic probability;
- a credal partition with true classes, without forcing a decision on ambiguous objects:
  :func:`evidential_precision`, :func:`evidential_recall`, :func:`evidential_rand_index`;
- two credal partitions: :func:`credal_rand_index`, by their masses for every pair of objects (:func:`pairwise_masses`),
  and :func:`jousselme_distance`.

``SCORES`` lists them all.

:func:`silhouettes` and :func:`credal_silhouette` compare a partition with distances between its objects.
:func:`nonspecificity` and :func:`relational_nonspecificity` need one partition only. The order of two partitions is
always (truth, prediction), as in scikit-learn; most scores are symmetric.
"""

from softecm.scores import listing
from softecm.scores.credal import PairwiseMasses, pairwise_masses
from softecm.scores.listing import *  # noqa: F403 -- its ``__all__``
from softecm.scores.silhouettes import Silhouettes, silhouettes

__all__ = ["PairwiseMasses", "Silhouettes", "pairwise_masses", "silhouettes"]
__all__ += listing.__all__
