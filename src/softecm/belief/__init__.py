"""Mass functions on sets of clusters: focal sets, transforms of masses, and the credal partition."""

from softecm.belief.assignments import Decisions
from softecm.belief.focal import FocalSets
from softecm.belief.partition import CredalPartition
from softecm.belief.partition_operations import consensus
from softecm.belief.similar_clusters import cluster_similarity, similar_pairs
from softecm.belief.transforms import (
    belief,
    commonality,
    decisions,
    normalise,
    pignistic,
    plausibility,
    plausibility_transform,
    set_decisions,
)

__all__ = [
    "CredalPartition",
    "Decisions",
    "FocalSets",
    "belief",
    "cluster_similarity",
    "commonality",
    "consensus",
    "decisions",
    "normalise",
    "pignistic",
    "plausibility",
    "plausibility_transform",
    "set_decisions",
    "similar_pairs",
]
