"""A decision tree as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from softecm.belief import FocalSets
from softecm.explain.columns import Column
from softecm.explain.nodes import Branch, Leaf, cut_words
from softecm.figures.axes import axes
from softecm.figures.colours import set_colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONGEST = 28  # signs of a condition before the line is broken


def draw(tree: Branch | Leaf, columns: Sequence[Column], focal: FocalSets, ax: Axes | None) -> Axes:
    """The cuts as text, the leaves in the colours of their sets, the width of a line by the objects that go there."""
    ax = axes(ax)
    colors, labels = set_colors(focal), focal.labels()
    total = _objects(tree)

    def place(node: Branch | Leaf, depth: int, first: int) -> tuple[float, int]:
        if isinstance(node, Leaf):
            share = f"{node.objects} object{'' if node.objects == 1 else 's'}\nR {node.utility:.2f}"
            box = {"boxstyle": "round", "fc": colors[node.said], "ec": "none", "alpha": 0.85}
            ax.text(first, -depth, f"{labels[node.said]}\n{share}", ha="center", va="center", fontsize=9, bbox=box)
            return float(first), first + 1
        left, after = place(node.left, depth + 1, first)
        right, end = place(node.right, depth + 1, after)
        x = (left + right) / 2
        words = cut_words(node.cut, columns[node.cut.column])
        for at, child, word in zip((left, right), (node.left, node.right), ("yes", "no"), strict=True):
            wide = 1 + 5 * _objects(child) / total
            ax.plot([x, at], [-depth, -depth - 1], color="0.7", lw=wide, zorder=0, solid_capstyle="round")
            ax.text((x + at) / 2, -depth - 0.45, word, ha="center", va="center", fontsize=8, color="0.35")
        box = {"boxstyle": "round", "fc": "white", "ec": "0.5"}
        ax.text(x, -depth, _broken(words[0]), ha="center", va="center", fontsize=9, bbox=box)
        return x, end

    _, width = place(tree, 0, 0)
    depth = _depth(tree)
    ax.set(xlim=(-0.6, width - 0.4), ylim=(-depth - 0.5, 0.5), title="What the groups are, by rules")
    ax.set_axis_off()
    return ax


def _objects(node: Branch | Leaf) -> int:
    return node.objects if isinstance(node, Leaf) else _objects(node.left) + _objects(node.right)


def _depth(node: Branch | Leaf) -> int:
    return 0 if isinstance(node, Leaf) else 1 + max(_depth(node.left), _depth(node.right))


def _broken(words: str) -> str:
    if len(words) <= LONGEST:
        return words
    name, _, rest = words.rpartition(" ≤ ") if " ≤ " in words else words.rpartition(" is ")
    return f"{name}\n{words[len(name) :].strip()}" if rest else words
