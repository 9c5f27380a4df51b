"""``softecm compare``: two result folders side by side."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.text import Text

from softecm.belief import CredalPartition
from softecm.cli.problems import Problem, mendable
from softecm.cli.result_folder import ResultFolder
from softecm.cli.screen import consoles, print_json
from softecm.files import check_file, to_file
from softecm.report.comparison import compare

FEW = 5  # objects in common for each group: with fewer nobody can say which groups are the same


def run(first: Path, second: Path, output: Path, *, force: bool) -> None:
    """Read both, say what differs, write the page."""
    out, err = consoles()
    if output.exists() and not force:
        raise Problem(f"{output} is there already: replace it with --force, or give another name with -o.")
    check_file(output)
    one, other = (_read(folder) for folder in (first, second))
    ids = _common(one, other)
    alone = (len(one.partition) - len(ids), len(other.partition) - len(ids))
    names = (first.name or str(first), second.name or str(second))
    with err.status("comparing"), mendable(ValueError):
        found = compare(one.part(ids), other.part(ids), ids=ids, names=names, alone=alone)
        page = found.html
    to_file(output, lambda path: path.write_text(page, encoding="utf-8", newline=""))
    for sentence in found.sentences():
        out.print(Text(sentence))
    for name, (value, low, high) in found.scores.items():
        out.print(Text(f"{name} {value:.3f} ({low:.3f} to {high:.3f})", style="dim"))
    out.print(Text.assemble("Open ", (str(output), "bold")))
    print_json({**found.facts, "output": str(output)})


class _Folder(NamedTuple):
    """A partition, and what its objects are called."""

    folder: Path
    partition: CredalPartition
    place: dict[str, int]
    named: bool  # by ids, which mean the same in another file, not by their rows

    def part(self, ids: Sequence[str]) -> CredalPartition:
        """The partition of some objects, in their order."""
        return self.partition[[self.place[name] for name in ids]]


def _read(folder: Path) -> _Folder:
    result = ResultFolder.open(folder)
    ids = result.ids
    columns = result.summary.get("understood", {}).get("columns", [])
    named = any(column.get("kind") == "id" for column in columns) or "series_id" in result.summary.get("reading", {})
    place = {name: i for i, name in enumerate(ids)}
    return _Folder(folder, result.partition, place, named or not all(map(str.isdecimal, ids)))


def _common(one: _Folder, other: _Folder) -> list[str]:
    """The objects of both, in the order of the first; refused where they are too few to know the groups by."""
    if one.place.keys() == other.place.keys():
        return list(one.place)
    both = f"{one.folder} and {other.folder}"
    nameless = [str(each.folder) for each in (one, other) if not each.named]
    if nameless:
        raise Problem(
            f"{both} are about different objects, {len(one.place)} and {len(other.place)}, and those of "
            f"{' and '.join(nameless)} go by their rows, which say nothing about another file: cluster both with "
            "--id-column."
        )
    found = [name for name in one.place if name in other.place]
    least = FEW * max(one.partition.n_clusters, other.partition.n_clusters)
    if len(found) < least:
        raise Problem(
            f"{both} are about different objects: {len(one.place)} and {len(other.place)}, {len(found)} in common, too few "
            f"to know the groups by. Compare results with at least {least} objects in common, or say where the objects of "
            f"one belong by the other: softecm predict {shlex.quote(str(one.folder))} FILE."
        )
    return found
