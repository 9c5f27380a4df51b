"""What algorithms on dissimilarities share; the space and the metrics are in ``spaces`` and ``distances``."""

from __future__ import annotations

from typing import Any

from softecm.distances.affine import AffineDistance
from softecm.distances.precomputed import Precomputed, all_pairs, medoid
from softecm.spaces.dissimilarities import Dissimilarities
from softecm.spaces.matrices import check_enough, check_indices, refuse_dissimilarities

__all__ = [
    "RELATIONAL",
    "AffineDistance",
    "Dissimilarities",
    "Precomputed",
    "all_pairs",
    "check_enough",
    "check_indices",
    "medoid",
    "refuse_dissimilarities",
]

#: Settings of Soft-ECM that algorithms on dissimilarities have no use for.
RELATIONAL: dict[str, Any] = {"device": "cpu", "dtype": "float64", "warm_start": False, "callback": None}
