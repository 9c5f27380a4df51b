"""--no-values: no output to be shared contains a cell of the file: report, summary, printed text."""

import json
import shutil

import numpy as np
import pytest

from hostile.commands import check_end, softecm

MARKS = ("Zebedee", "Zebedeo", "QX17", "777123", "-88888", "1987-03-19", "4711.125")


def marks(text):
    """Marks in a text, also in numbers with grouped digits."""
    return [mark for mark in MARKS if mark in text.replace("\u202f", "").replace("\\u202f", "")]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A file with every reason for remarks: codes for missing cells, extreme values, near-typos, odd cells, dates."""
    top = tmp_path_factory.mktemp("marked")
    rng = np.random.default_rng(0)
    lines = ["name;size;weight;colour;born;note"]
    for k in range(40):
        size = (
            "777123"
            if k == 3
            else "-88888"
            if k in (5, 6, 7)
            else f"{rng.normal() + 9 * (k % 2):.3f}".replace(".", ",")
        )
        weight = "QX17" if k == 8 else "4711.125" if k == 9 else f"{rng.normal() - 4 * (k % 2):.3f}".replace(".", ",")
        colour = "Zebedeo" if k == 11 else "Zebedee" if k % 2 else "red"
        born = "1987-03-19" if k == 2 else f"2001-{k % 12 + 1:02d}-11"
        lines.append(f"n{k};{size};{weight};{colour};{born};free text number {k}")
    (top / "table.csv").write_text("\n".join(lines), encoding="utf-8")
    return top / "table.csv"


@pytest.mark.parametrize("extra", [(), ("--json",), ("-c", "2-3")], ids=["plain", "json", "search"])
def test_no_mark_leaves_the_house(table, extra):
    folder = table.parent / "out"
    clusters = () if "-c" in extra else ("-c", 2)
    shutil.rmtree(folder, ignore_errors=True)
    ended = softecm("cluster", table, *clusters, *extra, "--no-values", "-o", folder, "--seed", 0, "--n-init", 2)
    check_end(ended)
    assert ended.code == 0, ended.err
    softecm("report", folder, "--no-values")
    for name in ("summary.json", "report.html"):
        text = (folder / name).read_text(encoding="utf-8")
        assert not marks(text), name
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert summary["values"] is False
    said = [text.partition(": ")[2] for text in summary["group_sentences"].values()]
    assert any("size " in text for text in said)
    assert not any(sign.isdigit() for text in said if "too few" not in text for sign in text), said
    assert not any("nan" in text for text in said), said
    printed = ended.out + ended.err
    assert not marks(printed), printed


def test_a_dry_run_shows_none_either(table):
    quoted = [softecm("cluster", table, "--dry-run", *extra).out for extra in ([], ["--no-values"])]
    assert [bool(marks(out)) for out in quoted] == [True, False], quoted[1]
    assert "hidden here, because a warning may quote a cell" in " ".join(quoted[1].split())
