"""``softecm rename``: names for the groups of a result folder, in all of its files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from softecm.belief import FocalSets
from softecm.belief.focal import Names
from softecm.cli.problems import Problem, mendable
from softecm.cli.result_folder import BY_BLOCKS, GONE, ResultFolder
from softecm.cli.results import harmless, write_json
from softecm.cli.screen import consoles, print_json
from softecm.explain.profiles import renamed
from softecm.files import check_replaced, to_folder, write_text
from softecm.files.places import RESULTS
from softecm.report.model_interface import of_series
from softecm.report.words import three_sentences

CELL = re.compile(r'("(?:[^"]|"")*"|[^,\r\n]*)(,|\r?\n|\Z)')
Words = Mapping[str, str]  # what a name was and what it is now


def run(path: Path, names: Sequence[str], *, values: bool = True) -> None:
    """Name the groups in the partition, the model, the summary and the report."""
    out, _ = consoles()
    before = ResultFolder.open(path)
    if before.summary.get("streamed"):
        raise Problem(BY_BLOCKS.format(path) + "name its groups with softecm cluster --names-of-clusters.")
    check_replaced([path / name for name in RESULTS if (path / name).exists()], inputs=[])
    old, model = before.partition.focal_sets, before.model
    with mendable(ValueError):
        model.rename(_asked(names, old.cluster_names))
        new = old.renamed(list(model.focal_sets_.names))
        after = before.renamed(new.names, _summary(before.summary, old, new))
    noun, merged = "series" if of_series(model) else "object", bool(after.summary.get("collapsed", False))
    sentences = three_sentences(after.partition, after.ids, merged=merged, noun=noun, clear=after.clear)
    after.summary["sentences"] = list(sentences)
    page = after.page(values=values)

    def fill(work: Path) -> None:
        model.save(work / "model.safetensors")
        _write_partition(path, work, old, new)
        write_json(after.summary, work / "summary.json")
        page.write(work / "report.html")

    to_folder(path, fill, force=True)
    named = ", ".join(new.cluster_names)
    out.print(
        Text(f"The groups of {path} are called {named}: in partition.csv, summary.json, the model and the report.")
    )
    if after.source is None:
        out.print(Text(GONE, style="dim"))
    out.print(Text.assemble("Open ", (str(path / "report.html"), "bold")))
    facts = {"folder": str(path), "cluster_names": list(new.cluster_names)}
    print_json({**facts, "report": str(path / "report.html"), "source_read": after.source is not None})


def _asked(names: Sequence[str], old: Sequence[str]) -> Names:
    """Names in order; or old=new for some of them, which also go by their numbers from 1."""
    pairs = [name.partition("=") for name in names]
    if not all(sign and was.strip() for was, sign, _ in pairs):
        return names
    numbers = {str(k + 1): name for k, name in enumerate(old)}
    given = {was.strip(): new.strip() for was, _, new in pairs}
    return {was if was in old else numbers.get(was, was): new for was, new in given.items()}


def _summary(summary: Mapping[str, Any], old: FocalSets, new: FocalSets) -> dict[str, Any]:
    """The summary with other names for groups and sets."""
    sets = dict(zip(old.labels(), new.labels(), strict=True))
    by_set = {
        key: {sets.get(name, name): value for name, value in summary[key].items()}
        for key in ("objects_by_set", "profiles")
        if isinstance(summary.get(key), Mapping)
    }
    if isinstance(summary.get("group_sentences"), Mapping):
        by_set["group_sentences"] = {
            sets.get(name, name): renamed(text, sets) for name, text in summary["group_sentences"].items()
        }
    told = [_said_of(text, old, new) for text in summary.get("warnings", [])]
    return {**summary, **by_set, "cluster_names": list(new.cluster_names), "warnings": told}


def _said_of(text: str, old: FocalSets, new: FocalSets) -> str:
    """A sentence that speaks of ω1 with the group's name; names that people gave are not looked for in sentences."""
    words = {} if old.names else dict(zip(old.cluster_names, new.cluster_names, strict=True))
    return re.sub(r"ω\d+", lambda found: words.get(found[0], found[0]), text)


def _write_partition(folder: Path, work: Path, old: FocalSets, new: FocalSets) -> None:
    """partition.csv, and partition.parquet where there is one."""
    clusters = dict(zip(old.cluster_names, new.cluster_names, strict=True))
    sets = dict(zip(old.labels(), new.labels(), strict=True))
    columns = {f"{kind}({was})": f"{kind}({now})" for kind in ("bel", "pl") for was, now in clusters.items()}
    columns |= {f"m({was})": f"m({now})" for was, now in sets.items()}
    cells = {"label": _harmless(clusters), "set": _harmless(sets)}
    text = (folder / "partition.csv").read_bytes().decode("utf-8")
    write_text(work / "partition.csv", "".join(_renamed(text, _harmless(columns), cells)))
    if (folder / "partition.parquet").exists():
        import pandas as pd

        frame = pd.read_parquet(folder / "partition.parquet").rename(columns=_harmless(columns))
        for name, words in cells.items():
            frame[name] = frame[name].map(words)
        frame.to_parquet(work / "partition.parquet", index=False)


def _harmless(words: Words) -> Words:
    return {harmless(was): harmless(now) for was, now in words.items()}


def _renamed(text: str, columns: Words, cells: Mapping[str, Words]) -> Iterator[str]:
    """The lines of a CSV file with other names for some columns, and other words in some; the rest as it is written.

    A CSV reader would lose which cells were quoted: numbers from words such as 007.
    """
    lines = _lines(text)
    head, end = next(lines)
    words = [cells.get(_plain(name), {}) for name in head]
    yield ",".join(_put(cell, columns) for cell in head) + end
    for row, end in lines:
        yield ",".join(_put(cell, known) if known else cell for cell, known in zip(row, words, strict=True)) + end


def _lines(text: str) -> Iterator[tuple[list[str], str]]:
    """The cells of each line as they are written, and what ends it."""
    row: list[str] = []
    position = 0
    while position < len(text):
        found = CELL.match(text, position)
        assert found is not None
        position = found.end()
        row.append(found[1])
        if found[2] != ",":
            yield row, found[2]
            row = []


def _plain(cell: str) -> str:
    return cell[1:-1].replace('""', '"') if cell.startswith('"') else cell


def _put(cell: str, words: Words) -> str:
    """A cell with its new word, quoted if it was or must be."""
    word = words.get(_plain(cell))
    if word is None:
        return cell
    quoted = cell.startswith('"') or any(sign in word for sign in ',"\r\n')
    return '"' + word.replace('"', '""') + '"' if quoted else word
