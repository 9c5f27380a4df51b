"""``softecm compare``: two result folders side by side."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.text import Text

from softecm.belief import CredalPartition
from softecm.cli.commands import CompareOptions
from softecm.cli.fitting import user_messages
from softecm.cli.problems import mendable
from softecm.cli.result_folder import ResultFolder
from softecm.cli.screen import consoles, lines, print_json, remarks
from softecm.files import check_new_file, to_file
from softecm.report import Comparison, GroupChanges, compare

FEW = 5  # objects in common for each group: with fewer nobody can say which groups are the same


def run(options: CompareOptions) -> None:
    """Read both, say what differs, write the page."""
    (out, err), first, second, output = consoles(), options.first, options.second, options.output
    check_new_file(output, force=options.force)
    one, other = (_read(folder) for folder in (first, second))
    common = None if options.groups else _common_ids(one, other)
    names = (first.name or str(first), second.name or str(second))
    with (
        err.status("comparing"),
        mendable(ValueError, TypeError),
        warnings.catch_warnings(record=True, action="always") as caught,
    ):
        comparison = (
            _compare_groups(one, other, names) if common is None else _compare_objects(one, other, common, names)
        )
        page = comparison.html
    to_file(output, lambda path: path.write_text(page, encoding="utf-8", newline=""))
    remarks(out, user_messages(caught))
    lines(out, comparison.sentences())
    if isinstance(comparison, Comparison):
        for name, (value, low, high) in comparison.scores.items():
            out.print(Text(f"{name} {value:.3f} ({low:.3f} to {high:.3f})", style="dim"))
    elif comparison.moved:
        named = ", ".join(f"{name} ({here} → {there})" for name, here, there in comparison.moved[:FEW])
        out.print(Text(f"{len(comparison.moved)} objects of both are in another group: {named}", style="dim"))
    out.print(Text.assemble("Open ", (str(output), "bold")))
    print_json({**comparison.facts, "output": str(output)})


def _compare_objects(one: _Folder, other: _Folder, ids: Sequence[str], names: tuple[str, str]) -> Comparison:
    alone = (len(one.partition) - len(ids), len(other.partition) - len(ids))
    return compare(one.part(ids), other.part(ids), ids=ids, names=names, alone=alone)


def _compare_groups(one: _Folder, other: _Folder, names: tuple[str, str]) -> GroupChanges:
    """Results of different objects: their groups matched by prototypes."""
    why = "groups of different objects are matched by their spread"
    data, ids = (one.result.objects(why).data, other.result.objects(why).data), (list(one.place), list(other.place))
    return compare(one.result.model, other.result.model, data=data, ids=ids, names=names)


class _Folder(NamedTuple):
    """A partition, and what its objects are called."""

    result: ResultFolder
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
    return _Folder(result, result.partition, place, named or not all(map(str.isdecimal, ids)))


def _common_ids(one: _Folder, other: _Folder) -> list[str] | None:
    """The objects of both, in the order of the first; None where they are too few to know the groups by."""
    if one.place.keys() == other.place.keys():
        return list(one.place)
    if not one.named or not other.named:  # rows say nothing about another file
        return None
    common = [name for name in one.place if name in other.place]
    least = FEW * max(one.partition.n_clusters, other.partition.n_clusters)
    return common if len(common) >= least else None
