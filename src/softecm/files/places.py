"""Early checks whether targets can be written, and which existing files are ours to replace."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from softecm._atomic import as_path, beside, real_place, refuse_loose_link
from softecm._errors import WriteError, reason


def real_folder(path: str | os.PathLike[str]) -> Path:
    """Return a folder's path, which may have to be created with its parents."""
    target = Path(path)
    for part in (target, *target.parents):
        refuse_loose_link(part)
    if target.exists() and not target.is_dir():
        raise WriteError(f"{target} is a file, not a folder: give another folder with -o.")
    return Path(os.path.realpath(target))


def check_file(path: str | os.PathLike[str]) -> None:
    """Raise an error if no file can be written at this path; tests it, because only the system knows."""
    with _refused(as_path(path)):
        _try_in(real_place(path).parent)


def check_new_file(path: Path, *, force: bool) -> None:
    """The same, and raise an error for an existing file, unless ``force``."""
    if path.exists() and not force:
        raise WriteError(f"{path} already exists: replace it with --force, or give another name with -o.")
    check_file(path)


def check_folder(path: str | os.PathLike[str]) -> None:
    """Raise an error for a folder that can't be created or written; the test leaves nothing behind."""
    with _refused(as_path(path)), _made(real_folder(path)) as folder:
        _try_in(folder)


def check_replaced(outputs: Iterable[Path], *, kind: str | None = None, inputs: Iterable[Path] = ()) -> None:
    """Raise an error if outputs would replace inputs or files that aren't ours, judged by their names or ``kind``."""
    read = [path for path in inputs if path.exists()]
    for path in outputs:
        what = kind or kind_of(path)
        if what is None or not path.exists():
            continue
        for source in read:
            if path.samefile(source):
                raise WriteError(f"{path} is {source}, the input, which is never replaced. Use another path.")
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
        raise WriteError(f"{path} can't be written: {reason(error)}. Use another path.") from error


def _try_in(folder: Path) -> None:
    trial = beside(folder / "trial")
    try:
        with open(trial, "xb"):
            pass
    finally:
        trial.unlink(missing_ok=True)


@contextmanager
def _made(folder: Path) -> Iterator[Path]:
    """Create a folder for the duration of a test."""
    absent = [part for part in (folder, *folder.parents) if not part.exists()]
    made = list[Path]()
    try:
        for part in reversed(absent):
            part.mkdir()
            made.append(part)
        yield folder
    finally:
        for part in reversed(made):
            with suppress(OSError):  # another process has put something there
                part.rmdir()


ENDS = 1 << 20  # bytes examined at either end

#: Markers of each kind of file near its beginning or its end.
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

#: The metadata of our pictures.
SIGNED = {"Software": "softecm"}

#: Files that ``softecm cluster`` writes into a folder, and their kinds.
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
    """Return the kind of a file in our results folders by its name; None for other names."""
    return (RESULTS | OTHERS).get(path.name) or ENDINGS.get(path.suffix)


def is_ours(path: Path, kind: str) -> bool:
    """Whether a file is one of ours of this kind; an empty one has no content to lose.

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
