"""The set of clusters each object is assigned to, as tuples, and what rough approximations are made of."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from softecm.belief import transforms
from softecm.belief.focal import ClusterSet, FocalSets
from softecm.belief.transforms import FloatArray, SetRule

IntArray = NDArray[np.intp]


def assigned(masses: FloatArray, focal: FocalSets, rule: SetRule) -> NDArray[np.object_]:
    """The set of each object as a tuple, (n,)."""
    if rule == "mass":
        return _pick([(), *focal.sets], masses.argmax(1))
    distinct, position = _distinct_rows(transforms.set_decisions(masses, focal, rule))
    return _pick([tuple(np.flatnonzero(row).tolist()) for row in distinct], position)


def rough(masses: FloatArray, focal: FocalSets, k: int, rule: SetRule) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether k is in each object's set, and whether that set is a single cluster."""
    try:
        cluster = operator.index(k)
    except TypeError:
        cluster = -1
    if not 0 <= cluster < focal.n_clusters:
        raise ValueError(f"k must be a cluster from 0 to {focal.n_clusters - 1}; got {k!r}.")
    if rule == "mass":
        best = masses.argmax(1)
        member = focal.with_empty
        return (member[:, cluster] > 0)[best], (member.sum(1) == 1)[best]
    indicators = transforms.set_decisions(masses, focal, rule)
    return indicators[:, cluster], indicators.sum(1) == 1


def _distinct_rows(indicators: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], IntArray]:
    """Distinct rows, and which of them each row is."""
    packed = np.packbits(indicators, axis=1)
    if packed.shape[1] <= 8:  # sorting one number a row is much faster than sorting rows
        bytes_of_row = np.zeros((len(packed), 8), dtype=np.uint8)
        bytes_of_row[:, : packed.shape[1]] = packed
        _, first, position = np.unique(bytes_of_row.view(np.uint64)[:, 0], return_index=True, return_inverse=True)
    else:
        _, first, position = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    return indicators[first], position.reshape(-1)


def _pick(sets: Sequence[ClusterSet], position: IntArray) -> NDArray[np.object_]:
    table = np.empty(len(sets), dtype=object)
    for row, members in enumerate(sets):  # one by one: NumPy takes equal lengths for a second axis
        table[row] = members
    chosen: NDArray[np.object_] = table[position]
    return chosen
