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

from __future__ import annotations

from softecm.scores.credal import credal_rand_index, jousselme_distance, nonspecificity
from softecm.scores.evidential import evidential_precision, evidential_rand_index, evidential_recall
from softecm.scores.hard import accuracy, adjusted_rand_index, purity, rand_index
from softecm.scores.listing import SCORES, Score
from softecm.scores.pairs import PairwiseMasses, belief_distance, pairwise_masses, relational_nonspecificity
from softecm.scores.silhouettes import Silhouettes, credal_silhouette, silhouettes

__all__ = [
    "SCORES",
    "PairwiseMasses",
    "Score",
    "Silhouettes",
    "accuracy",
    "adjusted_rand_index",
    "belief_distance",
    "credal_rand_index",
    "credal_silhouette",
    "evidential_precision",
    "evidential_rand_index",
    "evidential_recall",
    "jousselme_distance",
    "nonspecificity",
    "pairwise_masses",
    "purity",
    "rand_index",
    "relational_nonspecificity",
    "silhouettes",
]
