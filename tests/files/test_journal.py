"""A journal: a line a task, on the disk before the next, and cut lines done again."""

import json
import os
from pathlib import Path

import pytest

from softecm.files.journal import Journal


def test_what_was_noted_is_there_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "journal"
    book = Journal(path, {"grid": "g"})
    assert len(path.read_bytes().splitlines()) == 1
    book.write(3, [{"a": 1.5}])
    book.write(1, [])
    assert Journal(path, {"grid": "g"}).done == {3: [{"a": 1.5}], 1: []}
    assert os.listdir(path.parent) == ["journal"]


@pytest.mark.parametrize("keep", [5, -4, 0])
def test_a_line_cut_short_is_dropped(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "journal"
    book = Journal(path, {"grid": "g"})
    book.write(0, [])
    path.write_bytes(path.read_bytes()[:keep])
    again = Journal(path, {"grid": "g"})
    assert again.done == {}
    again.write(0, [])
    assert [json.loads(line) for line in path.read_bytes().splitlines()][1:] == [{"task": 0, "rows": []}]


def test_another_sweeps_journal_and_other_files_are_refused(tmp_path: Path) -> None:
    Journal(tmp_path / "journal", {"grid": "g", "data": "d"})
    with pytest.raises(ValueError, match="belongs to another sweep: its data differ"):
        Journal(tmp_path / "journal", {"grid": "g", "data": "e"})
    (tmp_path / "other").write_text("[1]\n")
    with pytest.raises(ValueError, match="is not one"):
        Journal(tmp_path / "other", {})
