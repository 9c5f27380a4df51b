"""What is known of some objects: ``--links``, pairs that are together or apart, and ``--known``, their groups."""

from __future__ import annotations

import csv
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from softecm._text import meant, number_of, some_of
from softecm.cli import algorithms
from softecm.cli.fitting import FittedFile
from softecm.cli.problems import Problem, mendable
from softecm.constraints import (
    Constraints,
    check_constraints,
    groups_of,
    groups_of_labels,
    partial_labels,
    unknown_labels,
)
from softecm.readers import Loaded

MOST_BAD = 10  # bad lines that are listed
MOST_BROKEN = 5  # broken links, or objects in another group than the known one, that are listed
#: What the third cell of a line may say.
WORDS = dict.fromkeys(("together", "same", "must", "must-link"), 0)
WORDS |= dict.fromkeys(("apart", "different", "cannot", "cannot-link"), 1)


@dataclass(frozen=True)
class LinkFile:
    """The links of a file, and the line of each."""

    file: Path
    pairs: Constraints
    lines: Mapping[tuple[int, int], int]


@dataclass(frozen=True)
class KnownGroups:
    """The known groups of some objects."""

    column: str
    labels: NDArray[np.int64]  # numbers of the names; -1 where none is known
    names: tuple[str, ...]


def check_taken(name: str, *, links: bool, known: bool, many: bool) -> None:
    """Refuse links and known groups where they can't be heeded, before anything is read."""
    linkable = [one for one in algorithms.NAMES if links and algorithms.link_weight(one)]
    guidable = [one for one in algorithms.NAMES if known and algorithms.takes_labels(one)]
    if links and name not in linkable:
        raise Problem(
            f"--links and --link-weight are for {', '.join(linkable)}; got --algorithm {name}. Leave them out."
        )
    if known and name not in guidable:
        raise Problem(f"--known is for {', '.join(guidable)}; got --algorithm {name}. Leave it out.")
    if many and (links or known):
        raise Problem(f"{'--links need' if links else '--known needs'} a number of clusters: give -c a number.")


def known_groups(loaded: Loaded, column: str, n_clusters: int) -> KnownGroups:
    """The known groups of some objects; refused where all or none are known."""
    unknown = unknown_labels(loaded.known)[1]
    if not unknown.any():
        raise Problem(
            f"--known {column} must have a missing cell, and every object has a group: use --label-column {column} to "
            "compare the result with them, or clear the cells of the objects to be grouped."
        )
    if unknown.all():
        raise Problem(f"--known {column} must hold the group of some objects, and every cell is missing: leave it out.")
    with mendable(ValueError):
        labels = partial_labels(loaded.known, n_clusters)
    assert loaded.known is not None
    assert labels is not None  # some are known, and some are not
    return KnownGroups(column, labels, tuple(str(loaded.known[rows[0]]) for rows in groups_of_labels(labels)))


def read_links(file: Path, loaded: Loaded, known: KnownGroups | None) -> LinkFile:
    """The pairs of a file, a line each: two objects by id or row, and "together" or "apart".

    The first line may name the columns. Objects go by the file's names.
    """
    names = loaded.names
    place: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        place.setdefault(name, []).append(i)
    pairs: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
    lines: dict[tuple[int, int], int] = {}
    bad: list[str] = []
    strange: list[str] = []
    for number, cells in _lines(file):
        kind = WORDS.get(cells[2].lower()) if len(cells) == 3 else None
        if kind is None and number == 1 and len(cells) == 3:
            continue
        mistake = _mistake(cells, kind, place)
        if kind is None or mistake:
            bad.append(f"line {number}: {mistake}")
            strange += [] if kind is None else [cell for cell in cells[:2] if len(place.get(cell, [])) != 1]
            continue
        ends = sorted(place[cell][0] for cell in cells[:2])
        pairs[kind].append((ends[0], ends[1]))
        lines.setdefault((ends[0], ends[1]), number)
    if bad:
        naming = _naming(loaded, strange[0]) if strange else ""
        remedy = f"Correct or delete {'this line' if len(bad) == 1 else f'these {len(bad)} lines'}."
        raise Problem(f"{file}, {'; '.join(bad[:MOST_BAD])}{' …' if len(bad) > MOST_BAD else ''}.{naming} {remedy}")
    if not any(pairs):
        raise Problem(f"{file} holds no links: write lines such as 3,17,together.")
    links = LinkFile(file, check_constraints(pairs[0], None, len(names)), lines)
    _refuse_contradictions(links, pairs[1], names, known)
    return replace(links, pairs=check_constraints(*pairs, len(names)))


def _naming(loaded: Loaded, strange: str) -> str:
    """How a link names objects of this file, and which one a strange name may mean."""
    column = next((f" in column {c.name}" for c in loaded.columns if c.kind == "id"), "")
    first = some_of(loaded.names, 3)
    if column or loaded.shape == "series":
        return f" Objects go by their ids{column}, such as {first}.{meant(strange, loaded.names)}"
    return f" The file has no ids: objects go by their rows, such as {first}; --id names a column of ids."


def _lines(file: Path) -> list[tuple[int, list[str]]]:
    """Lines that are not empty, with their numbers, cut into cells."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"--links {file} can't be read: {error}. Give a CSV file in UTF-8.") from error
    first = text.split("\n", 1)[0]
    sign = max(",;\t", key=first.count)
    rows = enumerate(csv.reader(text.splitlines(), delimiter=sign), 1)
    return [(number, [cell.strip() for cell in cells]) for number, cells in rows if any(map(str.strip, cells))]


def _mistake(cells: Sequence[str], kind: int | None, place: Mapping[str, list[int]]) -> str:
    """What is wrong with a line; empty where nothing is."""
    if kind is None:
        return f"a link is two objects and together or apart, such as 3,17,together; got {','.join(cells)}"
    for name in cells[:2]:
        at = place.get(name, [])
        if len(at) != 1:
            return f"{name} is the name of {len(at)} objects" if at else f"{name} is not an object of the file"
    return f"{cells[0]} is linked to itself" if cells[0] == cells[1] else ""


def _refuse_contradictions(
    links: LinkFile, cannot: Sequence[tuple[int, int]], names: Sequence[str], known: KnownGroups | None
) -> None:
    """Refuse links that contradict each other or known groups; ``links`` has those that join objects."""
    must = links.pairs.must_link
    group = groups_of(must, len(names))
    for i, j in cannot:
        if group[i] == group[j]:
            raise Problem(
                f"{links.file}, line {links.lines[i, j]}: {names[i]} and {names[j]} are linked as apart, and other lines "
                "link them together. Remove one of these lines."
            )
    if known is None:
        return
    first: dict[int, int] = {}  # an object of known group for each group of joined objects
    for i in np.flatnonzero(known.labels >= 0).tolist():
        j = first.setdefault(int(group[i]), i)
        if known.labels[i] != known.labels[j]:
            of_i, of_j = (known.names[known.labels[k]] for k in (i, j))
            raise Problem(
                f"{links.file} links {names[j]} and {names[i]} together, directly or through others, and --known "
                f"{known.column} has them in {of_j} and {of_i}. Remove a link, or clear one of these cells."
            )
    for i, j in cannot:
        a, b = first.get(int(group[i])), first.get(int(group[j]))
        if a is not None and b is not None and known.labels[a] == known.labels[b]:
            raise Problem(
                f"{links.file}, line {links.lines[i, j]}: {names[i]} and {names[j]} are linked as apart, and by --known "
                f"{known.column} both are in {known.names[known.labels[a]]}. Remove the line, or clear one of these cells."
            )


@contextmanager
def muted_link_log() -> Iterator[None]:
    """Keep what the library's log has on broken links off the screen: :func:`with_satisfied_count` says it."""
    from softecm.objective.linked import BROKEN

    log = logging.getLogger("softecm")

    def other(record: logging.LogRecord) -> bool:
        return record.msg != BROKEN

    log.addFilter(other)
    try:
        yield
    finally:
        log.removeFilter(other)


def with_satisfied_count(fitted: FittedFile, links: LinkFile, names: Sequence[str]) -> FittedFile:
    """The fit with a sentence on how many links it satisfies: a warning with the others unless all are."""
    labels, count = fitted.model.labels_, sum(map(len, links.pairs))
    broken = [
        f"{names[i]} and {names[j]} ({word}, line {links.lines[i, j]})"
        for pairs, word, wanted in zip(links.pairs, ("together", "apart"), (True, False), strict=True)
        for i, j in pairs.tolist()
        if (labels[i] == labels[j]) != wanted
    ]
    name = links.file.name
    if not broken:
        every = f"The link in {name} is" if count == 1 else f"All {count} links in {name} are"
        return _with_finding(fitted, f"{every} satisfied.")
    some = f"The link in {name} is not" if count == 1 else f"{count - len(broken)} of {count} links in {name} are"
    return _with_warning(fitted, f"{some} satisfied; broken: {some_of(broken, MOST_BROKEN)}.", "the file")


def group_of_each_label(fitted: FittedFile, known: KnownGroups) -> dict[int, int]:
    """The group of each label, another one for each, so that as many objects as possible are in the group of theirs."""
    from scipy.optimize import linear_sum_assignment

    rows = known.labels >= 0
    counts = np.zeros((len(known.names), fitted.model.partition_.n_clusters))
    np.add.at(counts, (known.labels[rows], fitted.model.labels_[rows]), 1)
    pairs = zip(*linear_sum_assignment(counts, maximize=True), strict=True)
    return {int(label): int(group) for label, group in pairs if counts[label, group]}


def with_known_count(fitted: FittedFile, known: KnownGroups, names: Sequence[str]) -> FittedFile:
    """The fit with a sentence on how many objects are in the group of their label: a warning unless all are."""
    rows = np.flatnonzero(known.labels >= 0)
    group = group_of_each_label(fitted, known)
    nowhere = fitted.model.decisions().words == "nowhere"
    elsewhere = [i for i in rows.tolist() if nowhere[i] or fitted.model.labels_[i] != group.get(int(known.labels[i]))]
    if not elsewhere:
        every = "The labelled object is" if len(rows) == 1 else f"All {len(rows)} labelled objects are"
        return _with_finding(fitted, f"{every} in the group of their label (column {known.column}).")
    fate = [", but in no group" if nowhere[i] else "" for i in elsewhere]
    shown = [f"{names[i]} ({known.names[known.labels[i]]}{end})" for i, end in zip(elsewhere, fate, strict=True)]
    listed = some_of(shown, MOST_BROKEN)
    some = f"{len(rows) - len(elsewhere)} of {number_of(len(rows), 'labelled object')} are in the group of their label"
    return _with_warning(fitted, f"{some} (column {known.column}); not: {listed}.", "the column")


def _with_finding(fitted: FittedFile, sentence: str) -> FittedFile:
    return replace(fitted, links=f"{fitted.links} {sentence}".strip())


def _with_warning(fitted: FittedFile, sentence: str, where: str) -> FittedFile:
    remedy = f"This may be a mistake in {where}; otherwise a larger --link-weight satisfies more."
    return replace(fitted, warnings=(*fitted.warnings, f"{sentence} {remedy}"))
