"""``softecm report`` and ``softecm rename``: a result folder drawn again, or with other names for its groups."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.text import Text

from softecm.belief import FocalSets
from softecm.belief.focal import Names
from softecm.cli.commands import RenameOptions, ReportOptions
from softecm.cli.metric import with_names
from softecm.cli.options import several
from softecm.cli.problems import Problem, mendable
from softecm.cli.result_folder import BY_BLOCKS, GONE, NUMBER, ResultFolder, Summary, harmless, write_json
from softecm.cli.screen import consoles, print_json
from softecm.explain.profiles import renamed
from softecm.files import check_file, check_replaced, to_file, to_folder, write_text
from softecm.files.places import RESULTS
from softecm.report.inputs import noun_of
from softecm.report.page import text_for
from softecm.report.words import three_sentences

Words = Mapping[str, str]  # an old name and the new one


def redraw(options: ReportOptions) -> None:
    """Draw ``report.html`` again, in place of the old one."""
    (out, _), path, output = consoles(), options.folder, options.output
    folder = ResultFolder.open(path)
    target = output or path / "report.html"
    check_file(target)
    kind = "summary" if target.suffix.lower() == ".json" else "report"
    check_replaced([target], kind=kind, inputs=[Path(folder.summary.get("file", "")), path / "summary.json"])
    text = text_for(folder.page(values=not options.no_values), target)
    to_file(target, lambda file: file.write_text(text, encoding="utf-8", newline=""))
    out.print(Text.assemble("Open ", (str(target), "bold")))
    print_json({"report": str(target), "source_read": folder.source is not None})


def rename(options: RenameOptions) -> None:
    """Name the groups in the partition, the model, the summary and the report."""
    (out, _), path = consoles(), options.folder
    before = ResultFolder.open(path)
    if before.summary.get("streamed"):
        raise Problem(BY_BLOCKS.format(path) + "name its groups with softecm cluster --names-of-clusters.")
    check_replaced([path / name for name in RESULTS if (path / name).exists()], inputs=[])
    old, model = before.partition.focal_sets, before.model
    with mendable(ValueError):
        model.rename(_new_names(several([options.names]), old.cluster_names))
        new = old.renamed(list(model.focal_sets_.names))
        partition = before.unrounded.rename(list(new.names))
    after = ResultFolder(path, _renamed_summary(before.summary, old, new))
    after = after.holding(model, before.source, partition, before.ids)
    noun, merged = noun_of(model), after.summary.get("collapsed", False)
    sentences = three_sentences(after.partition, after.ids, merged=merged, noun=noun, clear=after.clear)
    after.summary["sentences"] = list(sentences)
    page = after.page()

    def fill(work: Path) -> None:
        model.save(work / "model.safetensors")
        _write_partition(path, work, old, new)
        write_json(after.summary, work / "summary.json")
        page.write(work / "report.html")

    to_folder(path, fill, force=True)
    out.print(Text(f"Renamed the groups in all files of {path}: {', '.join(new.cluster_names)}."))
    if after.source is None:
        out.print(Text(GONE, style="dim"))
    out.print(Text.assemble("Open ", (str(path / "report.html"), "bold")))
    facts = {"folder": str(path), "cluster_names": list(new.cluster_names)}
    print_json({**facts, "report": str(path / "report.html"), "source_read": after.source is not None})


def _new_names(names: Sequence[str], old: Sequence[str]) -> Names:
    """Names for all groups in their order, or old=new for some of them, which also go by their numbers from 1."""
    pairs = [name.partition("=") for name in names]
    if not all(sign and before.strip() for before, sign, _ in pairs):
        return names
    numbers = {str(k + 1): name for k, name in enumerate(old)}
    new_names = {before.strip(): after.strip() for before, _, after in pairs}
    return {before if before in old else numbers.get(before, before): after for before, after in new_names.items()}


def _renamed_summary(summary: Summary, old: FocalSets, new: FocalSets) -> Summary:
    """The summary with other names for groups and sets."""
    sets = dict(zip(old.labels(), new.labels(), strict=True))
    words = dict(zip([*old.labels(), *old.in_words()], [*new.in_words()] * 2, strict=True))
    after = summary.copy()
    after["cluster_names"] = list(new.cluster_names)
    after["objects_by_set"] = {sets.get(name, name): n for name, n in summary.get("objects_by_set", {}).items()}
    after["profiles"] = {sets.get(name, name): traits for name, traits in summary.get("profiles", {}).items()}
    sentences = summary.get("group_sentences", {}).items()
    after["group_sentences"] = {sets.get(name, name): renamed(text, words) for name, text in sentences}
    if not old.names:  # names that people gave are not looked for in sentences
        after["warnings"] = [with_names(text, new.cluster_names) for text in summary.get("warnings", [])]
    return after


def _write_partition(folder: Path, work: Path, old: FocalSets, new: FocalSets) -> None:
    """partition.csv, and partition.parquet where there is one."""
    clusters = dict(zip(old.cluster_names, new.cluster_names, strict=True))
    sets = dict(zip(old.labels(), new.labels(), strict=True))
    names = {f"{kind}({before})": f"{kind}({after})" for kind in ("bel", "pl") for before, after in clusters.items()}
    names |= {f"m({before})": f"m({after})" for before, after in sets.items()}
    columns, cells = _harmless(names), {"label": _harmless(clusters), "set": _harmless(sets)}
    text = (folder / "partition.csv").read_bytes().decode("utf-8")
    write_text(work / "partition.csv", _renamed_csv(text, columns, cells))
    if (folder / "partition.parquet").exists():
        import pandas as pd

        frame = pd.read_parquet(folder / "partition.parquet").rename(columns=columns)
        for name, words in cells.items():
            frame[name] = frame[name].map(words)
        frame.to_parquet(work / "partition.parquet", index=False)


def _harmless(words: Words) -> Words:
    return {harmless(before): harmless(after) for before, after in words.items()}


def _renamed_csv(text: str, columns: Words, cells: Mapping[str, Words]) -> str:
    """A CSV file with other names for some columns, and other words in some; columns of numbers stay without quotes."""
    head, *rows = csv.reader(io.StringIO(text, newline=""))
    table = []
    for name, column in zip(head, zip(*rows, strict=True), strict=True):
        words, is_number = cells.get(name, {}), all(NUMBER.fullmatch(cell) or not cell for cell in column)
        table.append([_quoted(columns.get(name, name))])
        table[-1] += column if is_number and not words else [_quoted(words.get(cell, cell)) for cell in column]
    return "".join(f"{','.join(row)}\n" for row in zip(*table, strict=True))


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'
