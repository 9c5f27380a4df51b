"""``softecm compare``: two result folders side by side."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Sequence

from rich.text import Text

from softecm._text import share_of
from softecm.cli.commands import CompareOptions
from softecm.cli.fitting import user_messages
from softecm.cli.problems import mendable
from softecm.cli.result_folder import ResultFolder
from softecm.cli.screen import consoles, lines, print_json, remarks
from softecm.files import check_new_file, to_file
from softecm.report import Comparison, GroupChanges, compare
from softecm.report.inputs import comparing, pairwise

FEW = 5  # objects in common for each group: with fewer nobody can say which groups are the same
SHARED = 0.9  # of the objects: with a smaller share in both, groups are better compared by their prototypes


def run(options: CompareOptions) -> None:
    """Read both, say what differs, write the page."""
    (out, err), first, second, output = consoles(), options.first, options.second, options.output
    check_new_file(output, force=options.force)
    one, other = map(ResultFolder.open, (first, second))
    common = None if options.groups else _common_ids(one, other)
    are_different = first.name and second.name and first.name != second.name
    names = (first.name, second.name) if are_different else (str(first), str(second))
    with (
        err.status("comparing"),
        mendable(ValueError, TypeError),
        warnings.catch_warnings(record=True, action="always") as caught,
    ):
        comparison = _compared(one, other, common, names)
        page = comparison.html
        hint = "" if common is None else _hint(one, other, len(common))
    to_file(output, lambda path: path.write_text(page, encoding="utf-8", newline=""))
    remarks(out, user_messages(caught))
    lines(out, comparison.sentences())
    for detail in comparison.details():
        out.print(Text(detail, style="dim"))
    lines(out, [hint] if hint else [])
    out.print(Text.assemble("Open ", (str(output), "bold")))
    print_json({**comparison.facts, "output": str(output)})


def _compared(
    one: ResultFolder, other: ResultFolder, common: Sequence[str] | None, names: tuple[str, str]
) -> Comparison | GroupChanges:
    """Results of the same objects; where they have too few in common, their groups matched by prototypes."""
    if common is None:
        why = "groups of different objects are matched by their spread"
        data, ids = (one.objects(why).data, other.objects(why).data), (one.ids, other.ids)
        return compare(one.model, other.model, data=data, ids=ids, names=names)
    first, second = (folder.partition[[folder.places[name] for name in common]] for folder in (one, other))
    known = set(common)
    rest, new = (
        folder.partition[[place for name, place in folder.places.items() if name not in known]]
        for folder in (one, other)
    )
    return compare(first, second, ids=common, names=names, alone=(rest, new))


def _hint(one: ResultFolder, other: ResultFolder, n: int) -> str:
    """The command that compares the groups themselves, if many objects are in only one of the results."""
    whole = max(len(one.places), len(other.places))
    matchable = all(comparing(folder.model) and not pairwise(folder.model) for folder in (one, other))
    if n >= SHARED * whole or not matchable:
        return ""
    command = f"softecm compare {shlex.quote(str(one.path))} {shlex.quote(str(other.path))} --groups -o groups.html"
    return f"The results share only {share_of(n, whole)} of their objects; compare the groups themselves: {command}"


def _common_ids(one: ResultFolder, other: ResultFolder) -> list[str] | None:
    """The objects of both, in the order of the first; None where they are too few to know the groups by."""
    if one.places.keys() == other.places.keys():
        return one.ids
    if not one.has_ids or not other.has_ids:  # rows say nothing about another file
        return None
    common = [name for name in one.ids if name in other.places]
    least = FEW * max(one.partition.n_clusters, other.partition.n_clusters)
    return common if len(common) >= least else None
