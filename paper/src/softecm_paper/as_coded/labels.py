"""Imitates how masses become labels and labels become scores: single clusters alone, then a renaming, then three digits.

The pignistic shares are held as whole numbers, so that half a pair's mass for each of its clusters becomes none: the label
is the cluster of most mass *of its own*, the first of several. Objects without a number get the label -1. Each cluster is
then renamed to the majority class of its members, and the renamed labels are scored: accuracy is purity, and clusters with
one majority class have become one before the Rand index is taken.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.intp]


def single_labels(own: NDArray[np.floating]) -> Labels:
    """The cluster of most mass of its own, numbered by first appearance; -1 for objects without a number."""
    lost = np.isnan(own).all(1)
    best = np.where(np.isnan(own), -np.inf, own).argmax(1)
    return by_appearance(np.where(lost, -1, best))


def by_appearance(values: NDArray[np.generic]) -> Labels:
    """Values numbered in the order in which they come; -1 stays."""
    known = values[values != -1] if np.issubdtype(values.dtype, np.integer) else values
    names, first = np.unique(known, return_index=True)
    number = dict(zip(names[np.argsort(first)].tolist(), range(len(names)), strict=True))
    return np.array([number.get(value, -1) for value in values.tolist()], dtype=np.intp)


def renamed(y: Labels, labels: Labels) -> Labels:
    """Labels renamed to the majority class of their cluster, by way of a table of all numbers that occur.

    With a label -1 the table has one line more, and every number then points to the line before its own.
    """
    numbers = np.unique(np.concatenate([y, labels]))
    table = np.zeros((len(numbers), len(numbers)), dtype=np.intp)
    np.add.at(table, (np.searchsorted(numbers, y), np.searchsorted(numbers, labels)), 1)
    named: Labels = table.argmax(0)[labels]
    return named


def scored(y: Labels, labels: Labels, *, rename: bool = True) -> dict[str, float]:
    """Rand index and accuracy to three digits; beside them the plain Rand index."""
    from softecm.scores import rand_index

    named = renamed(y, labels) if rename else labels
    plain = float(rand_index(y, labels))
    rand = float(rand_index(y, named))
    return {"rand": round(rand, 3), "accuracy": round(float((y == named).mean()), 3), "plain": round(plain, 3)}
