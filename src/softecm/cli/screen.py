"""What is printed for people: consoles, bars of mass, the summary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from softecm.belief import CredalPartition
from softecm.plots import set_colors

BAR = 24
GLYPHS = "█▓▒░"  # so that neighbours differ where there is no colour, too


def consoles(*, quiet: bool, machine: bool) -> tuple[Console, Console]:
    """One console for results, one for progress and remarks; silent where asked."""
    return Console(quiet=quiet or machine, highlight=False), Console(
        stderr=True, quiet=quiet or machine, highlight=False
    )


def mass_bar(row: Sequence[float], colors: Sequence[str], width: int = BAR) -> Text:
    """A mass function as a bar of coloured blocks, the empty set as dots."""
    bar, filled, total = Text(), 0, 0.0
    for column in [*range(1, len(row)), 0]:
        total += float(row[column])
        end = round(width * min(total, 1.0))
        bar.append(_glyph(column) * (end - filled), style="" if column == 0 else colors[column])
        filled = end
    return bar


def legend(partition: CredalPartition) -> Text:
    """Which colour is which set."""
    labels, colors = partition.focal_sets.labels(), set_colors(partition.focal_sets)
    line = Text()
    for column in range(1, min(len(labels), 13)):
        line.append(f"{_glyph(column)} ", style=colors[column])
        line.append(f"{labels[column]}  ")
    line.append("· ∅ (none)")
    return line


def counts_table(partition: Any, most: int = 14, counts: Sequence[int] | None = None) -> Table:
    """How many objects each set has, with bars; ``counts`` where they are known already."""
    if counts is None:
        counts = np.bincount(partition.masses.argmax(1), minlength=len(partition.focal_sets) + 1).tolist()
    labels, colors = partition.focal_sets.labels(), set_colors(partition.focal_sets)
    columns = [j for j in [*range(1, len(labels)), 0] if counts[j] or 1 <= j <= partition.n_clusters]
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column()
    table.add_column(justify="right")
    table.add_column()
    for j in columns[:most]:
        bar = Text(("█" if j else "·") * round(30 * counts[j] / max(counts)), style="" if j == 0 else colors[j])
        table.add_row(labels[j] if j else "∅ (none)", f"{counts[j]:,}".replace(",", " "), bar)
    if len(columns) > most:
        table.add_row("other sets", f"{sum(counts[j] for j in columns[most:]):,}".replace(",", " "), "")
    return table


def _glyph(column: int) -> str:
    return "·" if column == 0 else GLYPHS[(column - 1) % len(GLYPHS)]


def lines(out: Console, sentences: Sequence[str]) -> None:
    """Sentences, one a line, as they are: no markup of the user's is read."""
    for sentence in sentences:
        out.print(Text(sentence))


def set_style(partition: CredalPartition, column: int) -> dict[str, Any]:
    """How a set's name looks."""
    return {"style": "bold" if column == 0 else f"bold {set_colors(partition.focal_sets)[column]}"}
