"""The one way to write a file: beside its place, down to the disk, then renamed into it.

Whoever reads the path sees the old file or the whole new one, never a part, whenever the program or the machine stops.
A link is written through: it stays a link, and the file it leads to is replaced. A temporary file or folder lies beside its
target, or in it; what a killed program left is removed a day later, when something is next written there. At named points
(``reached``) a test may have the process die: the variable ``SOFTECM_KILL_AT`` names one, with ``#k`` for the k-th
time it is reached, and the process ends there as if killed from outside. Without the variable nothing happens.
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
    """A name to write to; the file there at the end takes the place of ``path``, unless an error was raised.

    For libraries that want a path. The name has the ending of ``path``, since some look at it.

    Parameters
    ----------
    path : str or path
        Where the file is to appear; an existing one is replaced.

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
            with open(
                temporary, "xb"
            ) as file:  # for the usual permissions: some libraries make files that are ours alone
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
    """Errors about the temporary name as errors about the one that was given."""
    try:
        yield
    except OSError as error:
        if not error.errno or str(temporary) not in str(error):
            raise
        raise OSError(error.errno, os.strerror(error.errno), os.fspath(path)) from error


@contextmanager
def written(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A stream of bytes; what is written to it takes the place of ``path`` at the end, unless an error was raised."""
    with replaced(path) as temporary, open(temporary, "wb") as file:
        yield file


@contextmanager
def written_text(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    r"""The same for text, as UTF-8 with its line ends as they are given.

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
    """Write a whole file of text at once; half a character (a lone surrogate) is written as its number."""
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def file_to_disk(path: Path) -> None:
    """Have a file's content on the disk before its name points to it."""
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def folder_to_disk(path: Path) -> None:
    """Have the names in a folder on the disk, where the system can be asked to."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def real_place(path: str | os.PathLike[str]) -> Path:
    """Where a file of this name is written: links are followed, so that they stay links.

    A link that leads nowhere, a folder and a device are refused; so is, by the system, a name that is too long.
    """
    if not _is_name(path):
        raise WriteError(f"{os.fspath(path)!r} holds a character that no file name may hold: give another name.")
    refuse_loose_link(Path(path))
    try:
        kind = os.stat(path).st_mode
    except FileNotFoundError:
        return Path(os.path.realpath(path))
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(kind):
        raise WriteError(f"{path} is a device, a pipe or a socket, which no file can replace: give the name of a file.")
    return Path(os.path.realpath(path))


def _is_name(path: str | os.PathLike[str]) -> bool:
    """Whether the system can have a file of this name."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:  # half a character
        return False


def refuse_loose_link(path: Path) -> None:
    """A link must lead somewhere."""
    if path.is_symlink() and not path.exists():
        raise WriteError(f"{path} is a broken link to {os.readlink(path)}: fix it, or give another path.")


DAY = 24 * 3600.0
UNFINISHED = re.compile(r"\.softecm-[0-9a-f]{12}(\.[^.]*)?")


def beside(target: Path) -> Path:
    """A name in the same folder, hence on the same disk, that nothing has; with the ending, which some look at."""
    return target.with_name(f".softecm-{secrets.token_hex(6)}{target.suffix}")


def is_unfinished(path: Path) -> bool:
    """Whether a name is one that ``beside`` gives.

    Examples
    --------
    >>> is_unfinished(beside(Path("a.csv"))), is_unfinished(Path(".softecm-settings"))
    (True, False)
    """
    return UNFINISHED.fullmatch(path.name) is not None


@cache
def tidied(folder: Path) -> None:
    """Remove what was left unfinished in a folder a day ago or earlier; looked for once in a program's life."""
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


KILLED = 137  # the exit status of a process ended by SIGKILL, as a shell tells it
_seen: Counter[str] = Counter()


def reached(point: str) -> None:
    """Die here if ``SOFTECM_KILL_AT`` asks for it."""
    kill_at = os.environ.get("SOFTECM_KILL_AT")
    if kill_at is None:
        return
    name, _, count = kill_at.partition("#")
    _seen[point] += 1
    if point == name and _seen[point] == int(count or 1):
        os._exit(KILLED)
