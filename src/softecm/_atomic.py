"""Atomic writing of files: to a temporary file next to the target, flushed to disk, then renamed.

A reader sees the old file or the complete new one, never a part, whenever the program or the machine stops. A link
stays a link, and its target is replaced. A temporary file or folder is next to its target, or in it; leftovers of
killed programs are removed after a day, at the next write there. At named points (``reached``) a test may kill the
process: the variable ``SOFTECM_KILL_AT`` names one, with ``#k`` for the k-th time it is reached, and the process ends
there as if killed from outside. Without the variable nothing happens.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO, TextIO

from softecm._errors import WriteError


@contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path to write to; the resulting file replaces ``path``, unless an error is raised.

    For libraries that need a path. It has the suffix of ``path``, which some libraries use.

    Parameters
    ----------
    path : str or path
        Target file, replaced if it exists.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = pathlib.Path(folder) / "numbers.csv"
    ...     with replaced(target) as temporary:
    ...         _ = temporary.write_text("1,2")
    ...         target.exists()
    ...     target.read_text()
    False
    '1,2'
    """
    target = real_place(path)
    temporary = beside(target)
    with _named(path, temporary):
        try:
            with open(temporary, "xb") as file:  # for the usual permissions: some libraries create private files
                mode = os.fstat(file.fileno()).st_mode & 0o777
            reached("atomic: temporary made")
            yield temporary
            reached("atomic: content written")
            os.chmod(temporary, mode)
            file_to_disk(temporary)
            reached("atomic: before replace")
            os.replace(temporary, target)
            reached("atomic: after replace")
            folder_to_disk(target.parent)
        finally:
            temporary.unlink(missing_ok=True)
    tidied(target.parent)


@contextmanager
def _named(path: str | os.PathLike[str], temporary: Path) -> Iterator[None]:
    """Replace the temporary path in errors by the given one."""
    try:
        yield
    except OSError as error:
        if not error.errno or str(temporary) not in str(error):
            raise
        raise OSError(error.errno, os.strerror(error.errno), os.fspath(path)) from error


@contextmanager
def written(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a stream of bytes; its content replaces ``path`` at the end, unless an error is raised."""
    with replaced(path) as temporary, open(temporary, "wb") as file:
        yield file


@contextmanager
def written_text(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    r"""The same for text, as UTF-8 with unchanged line ends.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = pathlib.Path(folder) / "words.txt"
    ...     with written_text(target) as file:
    ...         _ = file.write("größer")
    ...     target.read_bytes()
    b'gr\xc3\xb6\xc3\x9fer'
    """
    with (
        replaced(path) as temporary,
        open(temporary, "w", encoding="utf-8", errors="backslashreplace", newline="") as file,
    ):
        yield file


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a whole file at once."""
    with written(path) as file:
        file.write(data)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a whole text file at once; a lone surrogate is written as its number."""
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def file_to_disk(path: Path) -> None:
    """Flush a file's content to disk before its name points to it."""
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def folder_to_disk(path: Path) -> None:
    """Flush the names in a folder to disk, if the system supports it."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def as_path(value: object, name: str = "path") -> Path:
    """Return a path given by a user; raise ValueError for anything else, and for names that no file may have."""
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(text, str) or not text:
        raise WriteError(f"{name} must be the name of a file; got {value!r:.60}. Write 'results/{name}', for example.")
    if not _is_name(text):
        raise WriteError(f"{text!r} holds a character that no file name may hold: give another name.")
    return Path(text)


def real_place(path: str | os.PathLike[str]) -> Path:
    """Return the path to write: links are followed, so that they remain links.

    Broken links, folders and devices raise an error, as do, in the system, names that are too long.
    """
    refuse_loose_link(as_path(path))
    try:
        kind = os.stat(path).st_mode
    except FileNotFoundError:
        return Path(os.path.realpath(path))
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(kind):
        raise WriteError(f"{path} is a device, a pipe or a socket, which no file can replace: give the name of a file.")
    return Path(os.path.realpath(path))


def _is_name(path: str) -> bool:
    """Whether the system allows a file of this name."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:  # a lone surrogate
        return False


def refuse_loose_link(path: Path) -> None:
    """Raise an error for a broken link."""
    if path.is_symlink() and not path.exists():
        raise WriteError(f"{path} is a broken link to {os.readlink(path)}: fix it, or give another path.")


DAY = 24 * 3600.0
UNFINISHED = re.compile(r"\.softecm-[0-9a-f]{12}(\.[^.]*)?")


def beside(target: Path) -> Path:
    """Return an unused name in the same folder, hence on the same disk, with the same suffix."""
    return target.with_name(f".softecm-{secrets.token_hex(6)}{target.suffix}")


def is_unfinished(path: Path) -> bool:
    """Whether a name is one of ``beside``.

    Examples
    --------
    >>> is_unfinished(beside(Path("a.csv"))), is_unfinished(Path(".softecm-settings"))
    (True, False)
    """
    return UNFINISHED.fullmatch(path.name) is not None


@cache
def tidied(folder: Path) -> None:
    """Remove leftovers at least one day old from a folder, once per process."""
    with suppress(OSError):
        for path in folder.iterdir():
            if is_unfinished(path) and path.suffix != ".lock" and _last_touched(path) < time.time() - DAY:
                _remove(path)


def _last_touched(path: Path) -> float:
    below = path.rglob("*") if path.is_dir() else ()
    return max(os.lstat(part).st_mtime for part in (path, *below))


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


KILLED = 137  # the exit status of a process ended by SIGKILL, in a shell
_seen: Counter[str] = Counter()


def reached(point: str) -> None:
    """Exit here if ``SOFTECM_KILL_AT`` requests it."""
    kill_at = os.environ.get("SOFTECM_KILL_AT")
    if kill_at is None:
        return
    name, _, count = kill_at.partition("#")
    _seen[point] += 1
    if point == name and _seen[point] == int(count or 1):
        os._exit(KILLED)
