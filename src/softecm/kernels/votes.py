"""Labels by the votes of neighbours: one sweep through the objects, each taking the label that weighs most around it."""

from __future__ import annotations

import numpy as np

from softecm.kernels.compiling import compiled
from softecm.kernels.entry import FLOAT64, INDEX, TRUTH, expect, expect_rows, expect_within, expect_writable
from softecm.kernels.types import Bools, Floats, Ints

_jit = compiled()


@_jit
def _sweep(
    neighbours: Ints,
    weights: Floats,
    back: Ints,
    starts: Ints,
    order: Ints,
    labels: Ints,
    due: Bools,
    votes: Floats,
) -> float:
    k = neighbours.shape[1]
    flat = weights.ravel()
    gained = 0.0
    for i in order:
        if not due[i]:
            continue
        due[i] = False
        for t in range(k):
            votes[labels[neighbours[i, t]]] += weights[i, t]
        old = labels[i]
        most, winner = -1.0, old
        for t in range(k):
            label = labels[neighbours[i, t]]
            if votes[label] > most or (votes[label] == most and label < winner):
                most, winner = votes[label], label
        gained += most - votes[old]
        for t in range(k):
            votes[labels[neighbours[i, t]]] = 0.0
        if winner == old:
            continue
        labels[i] = winner
        for p in range(starts[i], starts[i + 1]):  # whoever has i for a neighbour
            j = back[p] // k
            due[j] = True
            if labels[j] == winner:
                gained += flat[back[p]]
            elif labels[j] == old:
                gained -= flat[back[p]]
    return 0.5 * gained


@_jit
def _between(neighbours: Ints, weights: Floats, labels: Ints) -> float:
    total = 0.0
    for i in range(len(neighbours)):
        for t in range(neighbours.shape[1]):
            if labels[neighbours[i, t]] != labels[i]:
                total += weights[i, t]
    return 0.5 * total


@_jit
def _tally(neighbours: Ints, weights: Floats, labels: Ints, starts: Ints, columns: Ints, sums: Floats) -> None:
    """Count the different labels around each object into ``starts``; or, where ``columns`` has room, write them down."""
    n, k = neighbours.shape
    votes, seen = np.zeros(n), np.full(n, -1)
    for i in range(n):
        at = starts[i] if len(columns) else 0
        for t in range(k):
            label = labels[neighbours[i, t]]
            votes[label] += weights[i, t]
            if seen[label] != i:
                seen[label] = i
                if len(columns):
                    columns[at] = label
                at += 1
        if not len(columns):
            starts[i + 1] = starts[i] + at
        else:
            for s in range(starts[i], at):
                sums[s] = votes[columns[s]]
        for t in range(k):
            votes[labels[neighbours[i, t]]] = 0.0


def backwards(neighbours: Ints) -> tuple[Ints, Ints]:
    """For each object where it stands among others' neighbours: positions in the flat array, and where its own begin."""
    n = len(neighbours)
    expect_within("neighbours", neighbours, n)
    flat = neighbours.ravel()
    return np.argsort(flat, kind="stable"), np.r_[0, np.cumsum(np.bincount(flat, minlength=n))]


def sweep(neighbours: Ints, weights: Floats, back: Ints, starts: Ints, order: Ints, labels: Ints, due: Bools) -> float:
    """Let every object that is due take the label with the most votes, of equals the smallest; in place.

    ``neighbours`` and ``weights`` are (n, k), ``back`` and ``starts`` as ``backwards`` makes them, ``order`` names the
    objects in turn, ``labels`` (n,) lie below n. An object is due until its turn, and again when a neighbour's label has
    changed. Returns by how much ``between`` fell; labels still move while any object is due.
    """
    n, k = neighbours.shape
    neighbours = expect("neighbours", neighbours, INDEX, (n, k))
    order = expect("order", order, INDEX, order.shape[:1])
    expect_writable("labels", labels, INDEX, (n,))
    expect_writable("due", due, TRUTH, (n,))
    for name, index in (("neighbours", neighbours), ("order", order), ("labels", labels)):
        expect_within(name, index, n)
    back, starts = expect("back", back, INDEX, (n * k,)), expect_rows("starts", starts, n, n * k)
    expect_within("back", back, n * k)
    weights = expect("weights", weights, FLOAT64, (n, k))
    return _sweep(neighbours, weights, back, starts, order, labels, due, np.zeros(n))


def between(neighbours: Ints, weights: Floats, labels: Ints) -> float:
    """Half the weights of neighbours with different labels."""
    return _between(*_checked(neighbours, weights, labels))


def tally(neighbours: Ints, weights: Floats, labels: Ints) -> tuple[Floats, Ints, Ints]:
    """The votes for each label around each object, as a sparse matrix: values, columns, where each row begins."""
    checked = _checked(neighbours, weights, labels)
    starts = np.zeros(len(neighbours) + 1, dtype=np.int64)
    _tally(*checked, starts, np.zeros(0, dtype=np.int64), np.zeros(0))
    columns, sums = np.empty(starts[-1], dtype=np.int64), np.empty(starts[-1])
    _tally(*checked, starts, columns, sums)
    return sums, columns, starts


def _checked(neighbours: Ints, weights: Floats, labels: Ints) -> tuple[Ints, Floats, Ints]:
    n, k = neighbours.shape
    neighbours, labels = expect("neighbours", neighbours, INDEX, (n, k)), expect("labels", labels, INDEX, (n,))
    expect_within("neighbours", neighbours, n)
    expect_within("labels", labels, n)
    return neighbours, expect("weights", weights, FLOAT64, (n, k)), labels
