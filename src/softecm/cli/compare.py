"""``softecm compare``: two result folders side by side."""

from __future__ import annotations

from pathlib import Path

from rich.text import Text

from softecm.belief import CredalPartition
from softecm.cli.problems import Problem, mendable
from softecm.cli.results import read_partition, read_summary
from softecm.cli.screen import consoles, print_json
from softecm.files import check_file, to_file
from softecm.report.comparing import compare


def run(first: Path, second: Path, output: Path, *, force: bool, quiet: bool, machine: bool) -> None:
    """Read both, say what differs, write the page."""
    out, err = consoles(quiet=quiet, machine=machine)
    if output.exists() and not force:
        raise Problem(f"{output} is there already: replace it with --force, or give another name with -o.")
    check_file(output)
    (p, ids), (q, others) = (read_partition(folder, read_summary(folder)) for folder in (first, second))
    names = (first.name or str(first), second.name or str(second))
    with err.status("comparing"), mendable(ValueError):
        found = compare(p, _aligned(q, others, ids, first, second), ids=ids, names=names)
        page = found.html
    to_file(output, lambda path: path.write_text(page, encoding="utf-8", newline=""))
    for sentence in found.sentences():
        out.print(Text(sentence))
    for name, (value, low, high) in found.scores.items():
        out.print(Text(f"{name} {value:.3f} ({low:.3f} to {high:.3f})", style="dim"))
    out.print(Text.assemble("Open ", (str(output), "bold")))
    if machine:
        print_json({**found.facts, "output": str(output)})


def _aligned(q: CredalPartition, others: list[str], ids: list[str], first: Path, second: Path) -> CredalPartition:
    """The second partition with its objects in the order of the first's."""
    if others == ids:
        return q
    place = {name: i for i, name in enumerate(others)}
    if len(place) != len(others) or set(place) != set(ids) or len(ids) != len(others):
        common = len(set(place) & set(ids))
        raise Problem(
            f"{first} and {second} are about different objects: {len(ids)} and {len(others)}, {common} in common. Cluster "
            "the same rows twice to compare."
        )
    return q[[place[name] for name in ids]]
