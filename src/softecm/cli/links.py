"""``--links``: pairs of objects known to be together or apart, from a small file."""

from __future__ import annotations

import csv
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from softecm.cli import algorithms
from softecm.cli.fitting import FittedFile
from softecm.cli.problems import Problem
from softecm.constraints import Constraints, check_constraints, groups_of, kept

NO_OBJECT, SEVERAL = "is not an object of the file", "is the name of"
MOST_BAD = 10  # bad lines that are listed
#: What the third cell of a line may say.
WORDS = {"together": 0, "must": 0, "must-link": 0, "apart": 1, "cannot": 1, "cannot-link": 1}


def check_taken(name: str, *, many: bool) -> None:
    """Refuse links where they can't be heeded, before anything is read."""
    if algorithms.link_weight(name) is None:
        able = ", ".join(one for one in algorithms.NAMES if algorithms.link_weight(one))
        raise Problem(f"--links and --link-weight are for {able}; got --algorithm {name}. Leave them out.")
    if many:
        raise Problem("--links need a number of clusters: give -c a number.")


def read_links(file: Path, names: Sequence[str]) -> Constraints:
    """The pairs of a file, a line each: two objects by id or row, and "together" or "apart".

    The first line may name the columns. Objects are named as ``names`` has them.
    """
    place: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        place.setdefault(name, []).append(i)
    pairs: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
    lines: dict[tuple[int, int], int] = {}
    bad: list[str] = []
    for number, cells in _lines(file):
        kind = WORDS.get(cells[2].lower()) if len(cells) == 3 else None
        if kind is None and number == 1 and len(cells) == 3:
            continue
        mistake = _mistake(cells, kind, place)
        if kind is None or mistake:
            bad.append(f"line {number}: {mistake}")
            continue
        ends = sorted(place[cell][0] for cell in cells[:2])
        pairs[kind].append((ends[0], ends[1]))
        lines.setdefault((ends[0], ends[1]), number)
    if bad:
        first = ", ".join(list(place)[:3])
        named = f" Objects go by their ids, or rows from 1 where there are none; the first are {first}."
        naming = named if any(NO_OBJECT in line or SEVERAL in line for line in bad) else ""
        remedy = f"Correct or delete {'this line' if len(bad) == 1 else f'these {len(bad)} lines'}."
        raise Problem(f"{file}, {'; '.join(bad[:MOST_BAD])}{' …' if len(bad) > MOST_BAD else ''}.{naming} {remedy}")
    if not any(pairs):
        raise Problem(f"{file} holds no links: write lines such as 3,17,together.")
    _refuse_contradictions(file, pairs[0], pairs[1], lines, names)
    return check_constraints(*pairs, len(names))


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
            return f"{name} {SEVERAL} {len(at)} objects" if at else f"{name} {NO_OBJECT}"
    return f"{cells[0]} is linked to itself" if cells[0] == cells[1] else ""


def _refuse_contradictions(
    file: Path,
    must: Sequence[tuple[int, int]],
    cannot: Sequence[tuple[int, int]],
    lines: Mapping[tuple[int, int], int],
    names: Sequence[str],
) -> None:
    group = groups_of(np.array(must, dtype=np.int64).reshape(-1, 2), len(names))
    for i, j in cannot:
        if group[i] == group[j]:
            raise Problem(
                f"{file}, line {lines[i, j]}: {names[i]} and {names[j]} are linked as apart, and other lines link them "
                "together. Remove one of these lines."
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


def with_satisfied_count(fitted: FittedFile, file: Path, links: Constraints) -> FittedFile:
    """The fit with a sentence on how many links it satisfies: a warning unless all are."""
    count = sum(map(len, links))
    obeyed = round(kept(fitted.model.labels_, *links) * count)
    if obeyed == count:
        every = f"The link in {file.name} is" if count == 1 else f"All {count} links in {file.name} are"
        return replace(fitted, links=f"{every} satisfied.")
    some = f"The link in {file.name} is not" if count == 1 else f"{obeyed} of {count} links in {file.name} are"
    sentence = f"{some} satisfied. A larger --link-weight satisfies more."
    return replace(fitted, warnings=(*fitted.warnings, sentence))
