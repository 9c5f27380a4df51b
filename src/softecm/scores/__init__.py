"""How good, how sure and how alike partitions are.

Three families, by what they compare:

- hard labels with true classes: :func:`rand_index`, :func:`adjusted_rand_index`, :func:`accuracy`,
  :func:`purity`. A credal partition is taken by its labels of largest pignistic probability;
- a credal partition with true classes, without forcing a decision on doubtful objects:
  :func:`evidential_precision`, :func:`evidential_recall`, :func:`evidential_rand_index`;
- two credal partitions: :func:`credal_rand_index`, through what each says of every pair of objects
  (:func:`pairwise_masses`), and :func:`jousselme_distance`.

``SCORES`` lists them all.

:func:`silhouettes` and :func:`credal_silhouette` compare a partition with distances between its objects.
:func:`nonspecificity` and :func:`relational_nonspecificity` need one partition only. In all of them the order
of two partitions is (truth, answer), as in scikit-learn; most are symmetric.
"""

from softecm.scores import listing
from softecm.scores.credal import PairwiseMasses, pairwise_masses
from softecm.scores.listing import *  # noqa: F403 -- its ``__all__``
from softecm.scores.silhouettes import Silhouettes, silhouettes

__all__ = ["PairwiseMasses", "Silhouettes", "pairwise_masses", "silhouettes"]
__all__ += listing.__all__
