"""The parts of a tree that explains groups, and how they are read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softecm.explain.columns import Column, Numbers, taken
from softecm.explain.cuts import Cut, IntArray
from softecm.explain.effects import FloatArray


@dataclass(frozen=True)
class Leaf:
    """A part of the table and the set that is said of its objects."""

    said: int  # column of the mass matrix
    objects: int
    masses: FloatArray  # (f + 1,) their mean masses
    utility: float  # mean U of what is said
    path: tuple[tuple[Cut, bool], ...]  # the cuts that lead here, and whether it lies left of them


@dataclass(frozen=True)
class Branch:
    """A cut and what lies on either side."""

    cut: Cut
    left: Branch | Leaf
    right: Branch | Leaf


def leaves_of(node: Branch | Leaf) -> Iterator[Leaf]:
    """From left to right."""
    if isinstance(node, Leaf):
        yield node
    else:
        yield from leaves_of(node.left)
        yield from leaves_of(node.right)


def leaf_numbers(tree: Branch | Leaf, columns: Sequence[Column]) -> IntArray:
    """The leaf of each object, counted from the left."""
    which = np.zeros(len(columns[0]), dtype=np.intp)

    def follow(node: Branch | Leaf, rows: IntArray, first: int) -> int:
        if isinstance(node, Leaf):
            which[rows] = first
            return first + 1
        left = node.cut.left(taken(columns[node.cut.column], rows))
        return follow(node.right, rows[~left], follow(node.left, rows[left], first))

    follow(tree, np.arange(len(which)), 0)
    return which


def said_of(tree: Branch | Leaf, columns: Sequence[Column]) -> IntArray:
    """The column of the mass matrix that is said of each object."""
    found: IntArray = np.array([leaf.said for leaf in leaves_of(tree)], dtype=np.intp)[leaf_numbers(tree, columns)]
    return found


def cut_words(cut: Cut, column: Column) -> tuple[str, str]:
    """What holds left of a cut, and what right."""
    if isinstance(column, Numbers):
        at = column.told(cut.threshold)
        return f"{column.name} ≤ {at}", f"{column.name} > {at}"
    word = column.categories[int(cut.threshold)]
    return f"{column.name} is {word}", f"{column.name} is not {word}"


def conditions(path: Sequence[tuple[Cut, bool]], columns: Sequence[Column]) -> list[str]:
    """What holds at the end of a path, one condition a column."""
    found = []
    for j in dict.fromkeys(cut.column for cut, _ in path):
        column, steps = columns[j], [(cut.threshold, left) for cut, left in path if cut.column == j]
        if isinstance(column, Numbers):
            low = max((at for at, left in steps if not left), default=-math.inf)
            high = min((at for at, left in steps if left), default=math.inf)
            found.append(_between(column, low, high))
        else:
            words = [str(column.categories[int(at)]) for at, left in steps if left]
            others = [str(column.categories[int(at)]) for at, left in steps if not left]
            found.append(f"{column.name} is {words[0]}" if words else f"{column.name} is not {' or '.join(others)}")
    return found


def _between(column: Numbers, low: float, high: float) -> str:
    if math.isinf(low):
        return f"{column.name} ≤ {column.told(high)}"
    if math.isinf(high):
        return f"{column.name} > {column.told(low)}"
    return f"{column.told(low)} < {column.name} ≤ {column.told(high)}"


def counted(leaf: Leaf) -> str:
    """How many objects a leaf has, and how right it is."""
    return f" ({leaf.objects} object{'' if leaf.objects == 1 else 's'}, {leaf.utility:.2f})"


def lines_of(node: Branch | Leaf, columns: Sequence[Column], labels: Sequence[str], depth: int) -> list[str]:
    """The tree as text, a line a cut."""
    indent = "    " * depth
    if isinstance(node, Leaf):
        return [f"{indent}{labels[node.said]}{counted(node)}"]
    lines = []
    for words, child in zip(cut_words(node.cut, columns[node.cut.column]), (node.left, node.right), strict=True):
        below = lines_of(child, columns, labels, depth + 1)
        lines += [f"{indent}{words}: {below[0].strip()}"] if isinstance(child, Leaf) else [f"{indent}{words}", *below]
    return lines


def as_dict(node: Branch | Leaf, columns: Sequence[Column], labels: Sequence[str]) -> Mapping[str, Any]:
    """The tree as JSON has it."""
    if isinstance(node, Leaf):
        return {"set": labels[node.said], "objects": node.objects, "utility": node.utility}
    column = columns[node.cut.column]
    numbers = isinstance(column, Numbers)
    at = node.cut.threshold if numbers else str(column.categories[int(node.cut.threshold)])  # type: ignore[union-attr]
    return {
        "column": column.name,
        "threshold" if numbers else "category": at,
        "cost": node.cut.cost,
        "missing": "left" if node.cut.missing_left else "right",
        "left": as_dict(node.left, columns, labels),
        "right": as_dict(node.right, columns, labels),
    }
