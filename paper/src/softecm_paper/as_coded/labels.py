"""Imitates how masses become labels and labels become scores: single clusters only, then renaming, then three digits.

The pignistic shares are stored as integers, so that half a pair's mass becomes zero for each of its clusters: the label
is the cluster with the largest mass *of its own*, the first of ties. NaN objects get the label -1. Each cluster is then
renamed to the majority class of its members, and the renamed labels are scored: accuracy is purity, and clusters with
the same majority class are merged before the Rand index is computed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.intp]


def single_labels(own: NDArray[np.floating]) -> Labels:
    """Return the cluster with the largest mass of its own, numbered by first appearance; -1 for NaN objects."""
    lost = np.isnan(own).all(1)
    best = np.where(np.isnan(own), -np.inf, own).argmax(1)
    return by_appearance(np.where(lost, -1, best))


def by_appearance(values: NDArray[np.generic]) -> Labels:
    """Number values by first appearance; -1 stays."""
    known = values[values != -1] if np.issubdtype(values.dtype, np.integer) else values
    names, first = np.unique(known, return_index=True)
    number = dict(zip(names[np.argsort(first)].tolist(), range(len(names)), strict=True))
    return np.array([number.get(value, -1) for value in values.tolist()], dtype=np.intp)


def renamed(y: Labels, labels: Labels) -> Labels:
    """Rename labels to the majority class of their cluster, by a table of all numbers that occur.

    With a label -1 the table has one more row, and every number then refers to the row before its own.
    """
    numbers = np.unique(np.concatenate([y, labels]))
    table = np.zeros((len(numbers), len(numbers)), dtype=np.intp)
    np.add.at(table, (np.searchsorted(numbers, y), np.searchsorted(numbers, labels)), 1)
    named: Labels = table.argmax(0)[labels]
    return named


def scored(y: Labels, labels: Labels, *, rename: bool = True) -> dict[str, float]:
    """Return Rand index and accuracy to three digits, and the plain Rand index."""
    from softecm.scores import rand_index

    named = renamed(y, labels) if rename else labels
    plain = float(rand_index(y, labels))
    rand = float(rand_index(y, named))
    return {"rand": round(rand, 3), "accuracy": round(float((y == named).mean()), 3), "plain": round(plain, 3)}
