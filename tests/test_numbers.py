"""Measurements quoted by the README and the docs equal the recorded results."""

from __future__ import annotations

import json
import math
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROWS = runpy.run_path(str(ROOT / "benchmarks" / "rows.py"))
RESULTS, MEASURED = ROOT / "benchmarks" / "results", ROOT / "docs" / "measured"
MET = r"Met: \*\*(\d+) of (\d+)\*\* printed cells"
NUMBER = r"(-?\d+(?:\.\d+)?)"

# Numbers that are not measurements: parts of definitions, settings, the paper's data.
NOT_MEASURED = (
    r"1\.4826 times",
    r"0\.95 quantile",
    r"at least 0\.99",
    r"\*\*clearly\*\* from 0\.75 on",
    r"`gamma` 0\.01, 0\.1 or 1",
    r"best of 0\.01, 0\.1, 0\.3",
    r"waits 45 seconds",
    r"100 to 500 MB a block",
    r"evclust for R 2\.0\.3",
    r"0\.12\.2",
    r"\(0\.95 by default\)",
    r"90% intervals",
    r"80 sets, 32 MB",
    r"about 1\.6 GB of disk",  # of an environment with the pinned versions and the CPU build of torch
    # Printed in the paper's Table 2.
    r"a Rand index of 0\.91 \(0\.12\) beside an accuracy of 1\.00 \(0\.00\)",
    r"for Soft-ECM 0\.91 beside 0\.70",
    r"scores 0\.58 and 0\.70",
    r"Ecoli's 0\.89",
    # How close a cell must be to count as met.
    r"two printed deviations or 0\.03",
)
LOOKS_MEASURED = re.compile(
    r"\d (?:times|seconds|nanoseconds|ms|MB|GB|s)\b|\d ?[%×](?! \d)|(?<![\w.])0\.\d\d+(?![\w.]*\.\d)"
)


class Quote(NamedTuple):
    """Words of a page, with {} for numbers, and their source."""

    page: str
    words: str
    numbers: Callable[[], list[float]]


def column(page: Path, number: int, table: int = 0, row: str | None = None) -> list[float]:
    """The numbers in a column of a results table, of all rows or of those that begin with a word."""
    rows = json.loads(ROWS["beside"](page).read_text(encoding="utf-8"))["tables"][table]["rows"]
    return [line[number] for line in rows if isinstance(line[number], float) and row in (None, str(line[0]).strip("*"))]


def doubt(*numbers: int) -> list[float]:
    """Means over sets; accuracies in per cent."""
    found = [column(RESULTS / "doubt.md", number, 0, "mean")[0] for number in numbers]
    return [100 * value if number in (3, 4) else value for number, value in zip(numbers, found, strict=True)]


def cells_met() -> list[float]:
    """Cells of the paper's table that are met, as coded: how many of how many."""
    words = ROWS["rows_of"](MEASURED / "paper_table.md")["words"]
    return next([float(n) for n in found.groups()] for line in words if (found := re.match(MET, line)))


def covered() -> list[float]:
    """Mixtures of Gaussians: how many, pairs in the interval, and between belief and plausibility before."""
    return [column(RESULTS / "calibration.md", number, 0, "gaussian")[0] for number in (2, 3, 5)]


QUOTES = [
    Quote("docs/evidence.md", "with an AUROC of {}, as the margin", lambda: doubt(1)),
    Quote("docs/evidence.md", "of k-means does ({}). Of the objects called *clearly* {}% are", lambda: doubt(5, 3)),
    Quote("docs/evidence.md", "others {}%.", lambda: doubt(4)),
    Quote(
        "docs/evidence.md",
        "contained the probability under the generating mixture at least {}% of the time",
        lambda: [5 * math.floor(20 * min(column(RESULTS / "calibration.md", 3)))],
    ),
    Quote("paper/joss/paper.md", "{} of {} printed cells are met", cells_met),
    Quote(
        "paper/joss/paper.md",
        "on {} fresh mixtures of Gaussians the intervals of 90 % held it for {} of the pairs, where the masses alone held "
        "it for {},",
        covered,
    ),
]


def prose(page: Path) -> str:
    """A page's sentences on one line, without code, tables and formulas."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    lines = [line for line in text.splitlines() if not line.startswith(("|", "    "))]
    return re.sub(r"\s+", " ", re.sub(r"\$[^$]*\$", "", "\n".join(lines)))


def said_beside_tables() -> list[str]:
    """Results outside tables: a page may include them whole."""
    lines = [line for page in ROWS["pages"]() for line in ROWS["words"](page.read_text(encoding="utf-8"))]
    return sorted(lines, key=len, reverse=True)


def pattern(words: str) -> str:
    """The pattern of a quote in its page."""
    return NUMBER.join(re.escape(part) for part in words.split("{}"))


@pytest.mark.parametrize("quote", QUOTES, ids=lambda quote: f"{quote.page}: {quote.words[:40]}")
def test_a_number_that_is_quoted_is_the_one_that_was_measured(quote: Quote) -> None:
    said = re.search(pattern(quote.words), prose(ROOT / quote.page))
    assert said, f"{quote.page} no longer says {quote.words!r}: change the quote in this file, too"
    for written, measured in zip(said.groups(), quote.numbers(), strict=True):
        places = len(written.partition(".")[2])
        assert abs(float(written) - measured) <= 0.51 * 10**-places, f"{quote.page}: {written} was {measured}"


@pytest.mark.parametrize(
    "page",
    [ROOT / "README.md", ROOT / "paper" / "joss" / "paper.md", *sorted((ROOT / "docs").glob("*.md"))],
    ids=lambda path: path.name,
)
def test_every_number_that_looks_measured_is_read_from_rows(page: Path) -> None:
    text = prose(page)
    for line in said_beside_tables():
        text = text.replace(line, "")
    known = [*NOT_MEASURED, *(pattern(quote.words) for quote in QUOTES if ROOT / quote.page == page)]
    for one in known:
        text = re.sub(one, "", text)
    text = re.sub(r"`[^`]*`", "", text)
    found = [text[max(0, hit.start() - 40) : hit.end() + 20] for hit in LOOKS_MEASURED.finditer(text)]
    assert not found, f"quote these in QUOTES with their rows, or leave the numbers out: {found}"


@pytest.mark.parametrize("page", ROWS["pages"](), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_rows_beside_a_table_are_the_tables(page: Path) -> None:
    path = ROWS["beside"](page)
    assert path.exists(), "python benchmarks/rows.py writes it"
    noted = json.loads(path.read_text(encoding="utf-8"))
    noted.pop("environment", None)
    assert noted == ROWS["rows_of"](page), "python benchmarks/rows.py brings it up to date"
    assert noted["tables"]


def test_a_number_is_read_as_people_write_it() -> None:
    value = ROWS["value"]
    assert [value(cell) for cell in ("1 000 000", "100,000", "**0.5**", "1e-3", "-2")] == [1e6, 1e5, 0.5, 1e-3, -2]
    assert [value(cell) for cell in ("", "2.6 (3.1 s)", "4177 × 8", "1 2")] == ["", "2.6 (3.1 s)", "4177 × 8", "1 2"]
