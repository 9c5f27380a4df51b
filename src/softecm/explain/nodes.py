"""The nodes of an explanation tree, and their form as text, JSON and figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from softecm._text import number_of
from softecm.belief import FocalSets
from softecm.explain.columns import Column, IntArray
from softecm.explain.cuts import Cut
from softecm.explain.effects import FloatArray
from softecm.plots.style import axes, set_colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONGEST = 28  # characters of a condition before a line break


@dataclass(frozen=True)
class Leaf:
    """A part of the table and the set predicted for its objects."""

    column: int  # of the mass matrix
    objects: int
    masses: FloatArray  # (f + 1,) mean masses
    utility: float  # mean U of the predicted set
    path: tuple[tuple[Cut, bool], ...]  # the cuts on the way, and whether it is on their left
    depth = 0

    def leaves(self) -> Iterator[Leaf]:
        """Yield this leaf."""
        yield self

    def number(self, columns: Sequence[Column], rows: IntArray, first: int, which: IntArray) -> int:
        """Number its objects ``first`` in ``which``, and return the next number."""
        which[rows] = first
        return first + 1

    def conditions(self, columns: Sequence[Column]) -> list[str]:
        """Return the conditions of this leaf, one per column."""
        steps: dict[int, tuple[list[float], list[float]]] = {}
        for cut, left in self.path:
            steps.setdefault(cut.column, ([], []))[left].append(cut.threshold)
        return [columns[j].condition(*bounds) for j, bounds in steps.items()]

    def counted(self) -> str:
        """Return its number of objects and its utility as text."""
        return f" ({number_of(self.objects, 'object')}, {self.utility:.2f})"

    def lines(self, columns: Sequence[Column], labels: Sequence[str], lead: str = "") -> list[str]:
        """Return the leaf as text; ``lead`` is the condition before it."""
        return [f"{lead}: {labels[self.column]}{self.counted()}" if lead else f"{labels[self.column]}{self.counted()}"]

    def as_dict(self, columns: Sequence[Column], labels: Sequence[str]) -> Mapping[str, object]:
        """Return the leaf for JSON."""
        return {"set": labels[self.column], "objects": self.objects, "utility": self.utility}


@dataclass(frozen=True)
class Branch:
    """A cut and its two sides."""

    cut: Cut
    left: Node
    right: Node

    @property
    def objects(self) -> int:
        """Number of objects below."""
        return self.left.objects + self.right.objects

    @property
    def depth(self) -> int:
        """Maximum number of successive cuts."""
        return 1 + max(self.left.depth, self.right.depth)

    def leaves(self) -> Iterator[Leaf]:
        """Yield the leaves from left to right."""
        yield from self.left.leaves()
        yield from self.right.leaves()

    def number(self, columns: Sequence[Column], rows: IntArray, first: int, which: IntArray) -> int:
        """Number the leaves from left to right."""
        left = self.cut.left(columns[self.cut.column].of_rows(rows))
        return self.right.number(columns, rows[~left], self.left.number(columns, rows[left], first, which), which)

    def lines(self, columns: Sequence[Column], labels: Sequence[str], lead: str = "") -> list[str]:
        """Return the branch as text, one line per cut, its consequences indented."""
        lines, indent = [lead] if lead else [], "    " if lead else ""
        for words, child in zip(
            columns[self.cut.column].sides(self.cut.threshold), (self.left, self.right), strict=True
        ):
            lines += [indent + line for line in child.lines(columns, labels, words)]
        return lines

    def as_dict(self, columns: Sequence[Column], labels: Sequence[str]) -> Mapping[str, object]:
        """Return the branch for JSON."""
        column = columns[self.cut.column]
        return {
            "column": column.name,
            **column.cut_value(self.cut.threshold),
            "cost": self.cut.cost,
            "missing": "left" if self.cut.missing_left else "right",
            "left": self.left.as_dict(columns, labels),
            "right": self.right.as_dict(columns, labels),
        }


Node: TypeAlias = Branch | Leaf


def n_leaves(tree: Node) -> int:
    """Return the number of rules of a tree."""
    return sum(1 for _ in tree.leaves())


def leaf_numbers(tree: Node, columns: Sequence[Column]) -> IntArray:
    """Return the leaf of each object, counted from the left."""
    which = np.zeros(len(columns[0]), dtype=np.intp)
    tree.number(columns, np.arange(len(which)), 0, which)
    return which


def sets_of(tree: Node, columns: Sequence[Column]) -> IntArray:
    """Return the mass column predicted for each object."""
    return np.array([leaf.column for leaf in tree.leaves()], dtype=np.intp)[leaf_numbers(tree, columns)]


def draw(tree: Node, columns: Sequence[Column], focal: FocalSets, ax: Axes | None) -> Axes:
    """Draw cuts as text and leaves in the colours of their sets; line widths show the number of objects."""
    ax = axes(ax)
    colors, words = set_colors(focal), focal.in_words()
    total = tree.objects

    def place(node: Node, depth: int, first: int) -> tuple[float, int]:
        if isinstance(node, Leaf):
            share = f"{number_of(node.objects, 'object')}\nR {node.utility:.2f}"
            box = {"boxstyle": "round", "fc": colors[node.column], "ec": "none", "alpha": 0.85}
            ax.text(first, -depth, f"{words[node.column]}\n{share}", ha="center", va="center", fontsize=9, bbox=box)
            return float(first), first + 1
        left, after = place(node.left, depth + 1, first)
        right, end = place(node.right, depth + 1, after)
        x = (left + right) / 2
        sides = columns[node.cut.column].sides(node.cut.threshold)
        for at, child, word in zip((left, right), (node.left, node.right), ("yes", "no"), strict=True):
            wide = 1 + 5 * child.objects / total
            ax.plot([x, at], [-depth, -depth - 1], color="0.7", lw=wide, zorder=0, solid_capstyle="round")
            ax.text((x + at) / 2, -depth - 0.45, word, ha="center", va="center", fontsize=8, color="0.35")
        box = {"boxstyle": "round", "fc": "white", "ec": "0.5"}
        ax.text(x, -depth, _broken(sides[0]), ha="center", va="center", fontsize=9, bbox=box)
        return x, end

    _, width = place(tree, 0, 0)
    depth = tree.depth
    ax.set(xlim=(-0.6, width - 0.4), ylim=(-depth - 0.5, 0.5), title="What the groups are, by rules")
    ax.set_axis_off()
    return ax


def _broken(words: str) -> str:
    if len(words) <= LONGEST:
        return words
    name, _, rest = words.rpartition(" ≤ ") if " ≤ " in words else words.rpartition(" is ")
    return f"{name}\n{words[len(name) :].strip()}" if rest else words
