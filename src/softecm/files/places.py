"""Whether a place can be written, found out before the work, and which files there are ours to replace."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from softecm._atomic import beside, real_place, refuse_loose_link
from softecm._errors import WriteError, reason


def real_folder(path: str | os.PathLike[str]) -> Path:
    """The same for a folder, which may have to be made with all above it."""
    target = Path(path)
    for part in (target, *target.parents):
        refuse_loose_link(part)
    if target.exists() and not target.is_dir():
        raise WriteError(f"{target} is a file, not a folder: give another folder with -o.")
    return Path(os.path.realpath(target))


def check_file(path: str | os.PathLike[str]) -> None:
    """Refuse a name at which no file can be written; tried out, since only the system knows."""
    with _refused(Path(path)):
        _try_in(real_place(path).parent)


def check_new_file(path: Path, *, force: bool) -> None:
    """The same, and refuse a file that is there already, unless told to replace it."""
    if path.exists() and not force:
        raise WriteError(f"{path} already exists: replace it with --force, or give another name with -o.")
    check_file(path)


def check_folder(path: str | os.PathLike[str]) -> None:
    """Refuse a folder that can't be made, or in which no file can be; nothing is left of the trial."""
    with _refused(Path(path)), _made(real_folder(path)) as folder:
        _try_in(folder)


def check_replaced(outputs: Iterable[Path], *, kind: str | None = None, inputs: Iterable[Path] = ()) -> None:
    """Refuse to replace what is read, and files that we did not write; their names say what they are, or ``kind`` does."""
    read = [path for path in inputs if path.exists()]
    for path in outputs:
        what = kind or kind_of(path)
        if what is None or not path.exists():
            continue
        for source in read:
            if path.samefile(source):
                raise WriteError(f"{path} is {source}, the input, which is never replaced. Give another path.")
        if not path.is_file():
            raise WriteError(f"{path} is not a file and blocks the {what}. Move it, or give another path.")
        if not is_ours(path, what):
            raise WriteError(
                f"{path} is not a {what} written by softecm, so it is never replaced. Move it, or give another path."
            )


@contextmanager
def _refused(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise WriteError(f"{path} can't be written: its folder does not exist. Make it first.") from error
    except OSError as error:
        raise WriteError(f"{path} can't be written: {reason(error)}. Give another path.") from error


def _try_in(folder: Path) -> None:
    trial = beside(folder / "trial")
    try:
        with open(trial, "xb"):
            pass
    finally:
        trial.unlink(missing_ok=True)


@contextmanager
def _made(folder: Path) -> Iterator[Path]:
    """A folder for the length of a trial."""
    absent = [part for part in (folder, *folder.parents) if not part.exists()]
    made = list[Path]()
    try:
        for part in reversed(absent):
            part.mkdir()
            made.append(part)
        yield folder
    finally:
        for part in reversed(made):
            with suppress(OSError):  # somebody else has put something there
                part.rmdir()


ENDS = 1 << 20  # bytes at either end that are looked at

#: What a file of each kind holds near its beginning or its end.
MARKS: dict[str, tuple[str, ...]] = {
    "partition": ("label", "m(∅)"),
    "model": ("softecm.model",),
    "checkpoint": ("softecm.checkpoint",),
    "journal": ('{"softecm_sweep"',),
    "report": ('name="generator" content="softecm',),
    "summary": ('"softecm": "',),
    "table of runs": ("random_state", "collapsed"),
    "picture": ("PNG", "Software\0softecm"),
    "page": ("Made by ", "softecm reproduce"),
}

#: What a picture of ours says of itself.
SIGNED = {"Software": "softecm"}

#: What ``softecm cluster`` writes into a folder, and what each file is.
RESULTS = {
    "partition.csv": "partition",
    "partition.parquet": "partition",
    "summary.json": "summary",
    "model.safetensors": "model",
    "report.html": "report",
}
OTHERS = {"sweep.csv": "table of runs", "journal.jsonl": "journal"}
ENDINGS = {".json": "summary", ".png": "picture", ".html": "page", ".md": "page"}


def kind_of(path: Path) -> str | None:
    """What a file of this name is in a folder that we write; None for other names."""
    return (RESULTS | OTHERS).get(path.name) or ENDINGS.get(path.suffix)


def is_ours(path: Path, kind: str) -> bool:
    """Whether a file holds what we write as this kind; an empty one holds nothing that could be lost.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "journal"
    ...     _ = file.write_text("my diary")
    ...     is_ours(file, "journal")
    False
    """
    with open(path, "rb") as file:
        size = file.seek(0, 2)
        file.seek(0)
        content = file.read(ENDS)
        file.seek(max(size - ENDS, 0))
        content += file.read()
    return not content or all(mark.encode() in content for mark in MARKS[kind])
