"""A journal: each line is on disk before the next, one writer, truncated and damaged lines are repeated."""

import json
import os
from pathlib import Path

import pytest

from softecm._errors import ReadError, WriteError
from softecm.files.journal import Journal


def test_what_was_noted_is_there_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "journal"
    with Journal(path, {"grid": "g"}) as book:
        assert len(path.read_bytes().splitlines()) == 1
        book.write(["b", "c"], [{"a": 1.5}, {"a": None}])
        book.write(["a"], [{}])
    with Journal(path, {"grid": "g"}) as again:
        assert again.done == {"b": {"a": 1.5}, "c": {"a": None}, "a": {}}
    assert os.listdir(path.parent) == ["journal"]


@pytest.mark.parametrize("keep", [5, -4, 0])
def test_a_line_cut_short_is_dropped(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "journal"
    with Journal(path, {"grid": "g"}) as book:
        book.write(["a"], [{}])
    path.write_bytes(path.read_bytes()[:keep])
    with Journal(path, {"grid": "g"}) as again:
        assert again.done == {}
        again.write(["a"], [{}])
    assert [json.loads(line) for line in path.read_bytes().splitlines()][1:] == [{"items": ["a"], "rows": [{}]}]


def test_another_sweeps_journal_and_other_files_are_refused(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", {"grid": "g", "data": "d"}):
        pass
    with (
        pytest.raises(ReadError, match="belongs to another sweep: its data differ"),
        Journal(tmp_path / "journal", {"grid": "g", "data": "e"}),
    ):
        pytest.fail("entered")
    for content in ("[1]\n", '{"a": 1}\n'):
        (tmp_path / "other").write_text(content)
        with pytest.raises(ReadError, match="is not one"), Journal(tmp_path / "other", {}):
            pytest.fail("entered")
        assert (tmp_path / "other").read_text() == content
    with Journal(tmp_path / "journal", {"grid": "g", "data": "d"}):  # an error has released the lock
        pass


@pytest.mark.parametrize(
    "damage",
    [
        b"\xff\x00nonsense",
        b"[" * 100_000,
        b"null",
        b'{"items": ["b"]}',
        b'{"items": ["b"], "rows": []}',
        b'{"items": [3], "rows": [{"a": 1}]}',
        b'{"items": ["b"], "rows": [[1]]}',
        b'{"items": ["b"], "rows": [{"a": "much"}]}',
        b"",
    ],
)
def test_a_damaged_line_is_named_and_the_others_are_kept(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "journal"

    def opened() -> Journal:
        return Journal(path, {"grid": "g"}, lambda item, row: isinstance(row.get("a"), int))

    with opened() as book:
        for item in "abc":
            book.write([item], [{"a": 1}])
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([*lines[:2], damage, lines[3]]) + b"\n")
    with pytest.warns(UserWarning, match=r"journal .*journal is damaged in line 3: these runs are repeated"):
        again = opened().__enter__()
    assert list(again.done) == ["a", "c"]
    again.write(["b"], [{"a": 1}])
    again.__exit__(None, None, None)
    with opened() as last:  # and nothing is left over
        assert list(last.done) == ["a", "c", "b"]


@pytest.mark.parametrize("leads", ["to the file", "to its folder"])
def test_a_second_writer_is_refused_through_a_link(tmp_path: Path, leads: str) -> None:
    (tmp_path / "here").mkdir()
    path = tmp_path / "here" / "journal"
    if leads == "to the file":
        other = tmp_path / "link"
        other.symlink_to(path)
        path.touch()
    else:
        (tmp_path / "there").symlink_to(path.parent, target_is_directory=True)
        other = tmp_path / "there" / "journal"
    with Journal(path, {}) as book:
        with pytest.raises(WriteError, match="is being written by another fit or sweep"), Journal(other, {}):
            pytest.fail("entered")
        book.write(["a"], [{}])
    with Journal(other, {}) as again:
        again.write(["b"], [{}])
    with Journal(path, {}) as last:
        assert list(last.done) == ["a", "b"]
    assert other.is_symlink() == (leads == "to the file")


def test_another_name_of_a_journal_keeps_what_it_had(tmp_path: Path) -> None:
    """A hard link, as made by backups: both continue separately, and two writers can't mix their lines."""
    path, copy = tmp_path / "journal", tmp_path / "backup"
    with Journal(path, {}) as book:
        book.write(["a"], [{}])
    copy.hardlink_to(path)
    before = copy.read_bytes()
    with Journal(path, {}) as one, Journal(copy, {}) as two:
        one.write(["b"], [{}])
        assert copy.read_bytes() == before
        two.write(["c"], [{}])
    with Journal(path, {}) as one, Journal(copy, {}) as two:
        assert (list(one.done), list(two.done)) == (["a", "b"], ["a", "c"])


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with Journal(path, {}) as book:
        with pytest.raises(WriteError, match=r"journal is being written by another fit or sweep"), Journal(path, {}):
            pytest.fail("entered")
        book.write(["a"], [{}])
    with Journal(path, {}) as again:
        assert list(again.done) == ["a"]
