"""The one way to write a file: beside its place, down to the disk, then renamed into it.

Whoever reads the path sees the old file or the whole new one, never a part, whenever the program or the machine stops.
A link is written through: it stays a link, and the file it leads to is replaced.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO

from softecm.files.places import real_place
from softecm.files.points import reached
from softecm.files.stale import beside, tidied


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
    with replaced(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        yield file


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a whole file at once."""
    with written(path) as file:
        file.write(data)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a whole file of text at once."""
    write_bytes(path, text.encode("utf-8"))


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
