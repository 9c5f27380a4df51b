"""Atomic writing: the complete file or the old one."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from problems import DEEP
from softecm._atomic import replaced, write_bytes, write_text, written, written_text
from softecm._errors import WriteError
from softecm.files.folders import whole_folder


def usual() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def by_stream(path: Path, content: bytes) -> None:
    with written(path) as file:
        file.write(content)


def by_text(path: Path, content: bytes) -> None:
    with written_text(path) as file:
        file.write(content.decode())


def by_path(path: Path, content: bytes) -> None:
    with replaced(path) as temporary:
        temporary.unlink()  # a library may create the file itself, with private permissions
        temporary.touch(0o600)
        temporary.write_bytes(content)


WAYS = [by_stream, by_text, by_path, write_bytes, lambda path, content: write_text(path, content.decode())]


@pytest.mark.parametrize("write", WAYS)
def test_a_file_appears_whole_with_the_usual_permissions(tmp_path: Path, write) -> None:
    path = tmp_path / "file.txt"
    for content in (b"one\r\n", "größer\n".encode()):
        write(path, content)
        assert path.read_bytes() == content
        assert stat.S_IMODE(path.stat().st_mode) == usual()
        assert os.listdir(tmp_path) == ["file.txt"]


@pytest.mark.parametrize("open_", [written, written_text, replaced])
@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path, open_, error) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail() -> None:
        with open_(path) as target:
            if isinstance(target, Path):
                target.write_bytes(b"new")
            else:
                target.write("new" if open_ is written_text else b"new")
            assert path.read_bytes() == b"old"
            raise error("stopped")

    with pytest.raises(error, match="stopped"):
        fail()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_content_is_on_the_disk_before_the_name_points_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    sync, replace = os.fsync, os.replace

    def noted_sync(handle: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        sync(handle)

    def noted_replace(*names) -> None:
        done.append("rename")
        replace(*names)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(os, "replace", noted_replace)
    write_bytes(tmp_path / "file", b"content")
    assert done == ["file", "rename", "folder"]


def test_a_path_for_libraries_keeps_the_ending_and_a_long_name_fits(tmp_path: Path) -> None:
    with replaced(tmp_path / ("n" * 240 + ".parquet")) as temporary:
        assert temporary.suffix == ".parquet"
        assert temporary.parent == tmp_path
    assert os.listdir(tmp_path) == ["n" * 240 + ".parquet"]


def test_a_folder_that_is_not_there_is_the_usual_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_text(tmp_path / "nowhere" / "file", "text")


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "out"

    def fail() -> None:
        with whole_folder(target, force=False) as work:
            (work / "a").write_text("a")
            raise OSError(28, "No space left on device")

    with pytest.raises(WriteError, match=r"out failed: no space left on device\. Nothing was left half-written"):
        fail()
    assert not os.listdir(tmp_path)
    with whole_folder(target, force=False) as work:
        (work / "a").write_text("a")
        assert not target.exists()
    assert os.listdir(tmp_path) == ["out"]
    assert os.listdir(target) == ["a"]


def test_a_folder_that_holds_something_is_replaced_only_when_told(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "a").write_text("old")
    with pytest.raises(WriteError, match="not empty"), whole_folder(tmp_path, force=False):
        pytest.fail("entered")
    with whole_folder(tmp_path, force=True) as work:
        (work / "a").write_text("new")
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"mine": "mine", "a": "new"}


def test_nothing_in_the_library_renames_files_but_the_writer() -> None:
    import softecm

    root = Path(softecm.__file__).parent
    renaming = {p.name for p in root.rglob("*.py") if "os.replace(" in p.read_text(encoding="utf-8")}
    assert renaming == {
        "_atomic.py",
        "folders.py",
        "build.py",
    }  # the last puts a library that it compiled into its place


@pytest.mark.parametrize("there", [False, True])
def test_programs_that_write_a_folder_at_once_leave_the_files_of_one(tmp_path, there):
    """In threads, whose locks exclude each other like those of processes."""
    names = "abcdef"

    def write(who, target):
        with whole_folder(target, force=True) as work:
            for name in names:
                write_text(work / name, who)

    for k in range(20 if DEEP else 5):
        target = tmp_path / f"results {k}"
        if there:
            target.mkdir()
        with ThreadPoolExecutor(6) as pool:
            for end in [pool.submit(write, f"writer {i}", target) for i in range(6)]:
                end.result()
        assert sorted(path.name for path in target.iterdir()) == list(names)
        assert len({(target / name).read_text() for name in names}) == 1
        assert not [path for path in tmp_path.iterdir() if path.name.startswith(".softecm")]
