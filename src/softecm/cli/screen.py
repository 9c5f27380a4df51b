"""What is printed for people: consoles, bars of mass, what was understood of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

from softecm._text import escaped, grouped, number_of, to_json, visible
from softecm.belief import FocalSets
from softecm.cli.options import INVOCATION
from softecm.plots import set_colors
from softecm.readers.base import HEADS
from softecm.report.sections.columns import columns_shown

if TYPE_CHECKING:
    from softecm.distances.auto import MetricChoice
    from softecm.distances.series_auto import Candidate
    from softecm.readers import Loaded

MOST_SETS = 14  # in a table of counts
NARROW = 72  # below this width a table of columns can't be read


def consoles() -> tuple[Console, Console]:
    """One console for results, one for progress and remarks; silent where asked. Neither shows control characters."""
    called = INVOCATION.get()
    quiet = called.quiet or called.machine
    out, err = (Console(stderr=stderr, quiet=quiet, highlight=False) for stderr in (False, True))
    for console in (out, err):
        console.push_render_hook(_Clean())
    return out, err


class _Clean(RenderHook):
    """Takes control characters out of all that is shown, wherever they come from."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Cleaned(one) for one in renderables]


class _Cleaned:
    """Something to show, without control characters."""

    def __init__(self, shown: ConsoleRenderable) -> None:
        self.shown = shown

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for text, style, control in console.render(self.shown, options):
            yield Segment(text if control else visible(text, lines=True), style, control)


def print_json(facts: Mapping[str, object]) -> None:
    """Where machines asked for it, one JSON object, which a terminal shows unharmed, too."""
    if INVOCATION.get().machine:
        print(escaped(to_json(facts)))


def counts_table(focal: FocalSets, counts: Sequence[int]) -> Table:
    """How many objects each set has, with bars."""
    colors, names = set_colors(focal), focal.in_words()
    columns = [j for j in [*range(1, len(focal) + 1), 0] if counts[j] or 1 <= j <= focal.n_clusters]
    table = Table("", Column(justify="right"), "", box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for j in columns[:MOST_SETS]:
        bar = Text(("█" if j else "·") * round(30 * counts[j] / max(counts)), style="" if j == 0 else colors[j])
        table.add_row(names[j], grouped(counts[j]), bar)
    if len(columns) > MOST_SETS:
        table.add_row("other sets", grouped(sum(counts[j] for j in columns[MOST_SETS:])), "")
    return table


def lines(out: Console, sentences: Sequence[str]) -> None:
    """Sentences, one a line, as they are: no markup of the user's is read."""
    for sentence in sentences:
        out.print(Text(sentence))


def remarks(out: Console, sentences: Sequence[str]) -> None:
    """What to mind, one a line."""
    for sentence in sentences:
        out.print(Text(f"Warning: {sentence}", style="yellow"))


# ------------------------------------------------------------------ what was understood


def _tried(distances: Sequence[Candidate]) -> Table:
    """The combinations of views that were compared, the one that is used first."""
    clarity = Column("clarity of the groups", justify="right", style="dim")
    table = Table("views", clarity, box=None, pad_edge=False, padding=(0, 2, 0, 2))
    for k, one in enumerate(distances):
        table.add_row(one.name if k else f"{one.name} (used)", f"{one.clarity:.2f}")
    return table


def say_understood(out: Console, file: Path, loaded: Loaded, choice: MetricChoice, n: int) -> None:
    """The file's ``n`` objects, every column with what it was taken as and why, the metric."""
    out.print(Text.assemble((str(file), "bold"), f"  {number_of(n, loaded.noun)}"))
    if loaded.how:
        out.print(Text("  " + " · ".join(f"{k}: {v}" for k, v in loaded.how.items()), style="dim"))
    rows = columns_shown(loaded.columns)
    if choice.name == "precomputed" and loaded.shape == "table":
        out.print(Text(f"  {number_of(len(loaded.data.columns), 'column')}: the dissimilarities to each object"))
    elif out.width < NARROW:
        for name, kind, values, reason, gaps in rows:
            parts = [kind, *(part for part in (reason, values) if part), *([f"{gaps} missing"] if gaps else [])]
            out.print(Text(f"  {name}: {', '.join(parts)}", style="dim" if kind == "left out" else ""))
    else:
        out.print(_columns_table(rows))
    out.print(Text(f"  metric: {choice.name} ({choice.reason})", style="dim"))
    if choice.tried:
        out.print(_tried(choice.tried))
    say_notes(out, loaded.notes)


def say_notes(out: Console, notes: Sequence[str]) -> None:
    """What to know of how a file was read; a command has a line of its own."""
    for note in notes:
        sentence, _, command = note.partition("\n")
        out.print(Text(f"  note: {sentence}", style="yellow"))
        if command:
            out.print(Text(f"  {command}", style="bold"), soft_wrap=True)  # to be copied


def _columns_table(rows: Sequence[Sequence[str]]) -> Table:
    """A line a column; what does not fit goes on below."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 2))
    used = [k for k in range(len(HEADS)) if any(row[k] for row in rows)]
    for k in used:
        table.add_column(HEADS[k], style="" if k == 0 else "dim", overflow="fold")
    for row in rows:
        table.add_row(*(Text(row[k], style="dim" if row[1] == "left out" else "") for k in used))
    return table
