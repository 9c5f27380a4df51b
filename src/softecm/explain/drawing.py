"""A decision tree as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from softecm.belief import FocalSets
from softecm.explain.columns import Column
from softecm.explain.nodes import Leaf, Node
from softecm.figures.axes import axes
from softecm.figures.colours import set_colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONGEST = 28  # signs of a condition before the line is broken


def draw(tree: Node, columns: Sequence[Column], focal: FocalSets, ax: Axes | None) -> Axes:
    """The cuts as text, the leaves in the colours of their sets, the width of a line by the objects that go there."""
    ax = axes(ax)
    colors, labels = set_colors(focal), focal.labels()
    total = tree.objects

    def place(node: Node, depth: int, first: int) -> tuple[float, int]:
        if isinstance(node, Leaf):
            share = f"{node.objects} object{'' if node.objects == 1 else 's'}\nR {node.utility:.2f}"
            box = {"boxstyle": "round", "fc": colors[node.said], "ec": "none", "alpha": 0.85}
            ax.text(first, -depth, f"{labels[node.said]}\n{share}", ha="center", va="center", fontsize=9, bbox=box)
            return float(first), first + 1
        left, after = place(node.left, depth + 1, first)
        right, end = place(node.right, depth + 1, after)
        x = (left + right) / 2
        words = columns[node.cut.column].sides(node.cut.threshold)
        for at, child, word in zip((left, right), (node.left, node.right), ("yes", "no"), strict=True):
            wide = 1 + 5 * child.objects / total
            ax.plot([x, at], [-depth, -depth - 1], color="0.7", lw=wide, zorder=0, solid_capstyle="round")
            ax.text((x + at) / 2, -depth - 0.45, word, ha="center", va="center", fontsize=8, color="0.35")
        box = {"boxstyle": "round", "fc": "white", "ec": "0.5"}
        ax.text(x, -depth, _broken(words[0]), ha="center", va="center", fontsize=9, bbox=box)
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
