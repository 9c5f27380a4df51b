"""Whether a place can be written, found out before the work: links, missing folders, devices, names that are too long."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from softecm.files.errors import WriteError, reason
from softecm.files.ours import is_ours, kind_of
from softecm.files.stale import beside


def real_place(path: str | os.PathLike[str]) -> Path:
    """Where a file of this name is written: links are followed, so that they stay links.

    A link that leads nowhere, a folder and a device are refused; so is, by the system, a name that is too long.
    """
    _refuse_loose_link(Path(path))
    try:
        kind = os.stat(path).st_mode
    except FileNotFoundError:
        return Path(os.path.realpath(path))
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(kind):
        raise WriteError(f"{path} is a device, a pipe or a socket, which no file can replace: give the name of a file.")
    return Path(os.path.realpath(path))


def real_folder(path: str | os.PathLike[str]) -> Path:
    """The same for a folder, which may have to be made with all above it."""
    target = Path(path)
    for part in (target, *target.parents):
        _refuse_loose_link(part)
    if target.exists() and not target.is_dir():
        raise WriteError(f"{target} is a file, not a folder: give another folder with -o.")
    return Path(os.path.realpath(target))


def _refuse_loose_link(path: Path) -> None:
    if path.is_symlink() and not path.exists():
        raise WriteError(
            f"{path} is a link that leads nowhere, to {os.readlink(path)}: mend it, or give another place."
        )


def check_file(path: str | os.PathLike[str]) -> None:
    """Refuse a name at which no file can be written; tried out, since only the system knows."""
    with _refused(Path(path)):
        _try_in(real_place(path).parent)


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
        for given in read:
            if path.samefile(given):
                raise WriteError(f"{path} is {given}, which is read: it is never replaced. Give another place.")
        if not path.is_file():
            raise WriteError(f"{path} is no file: it is in the way of the {what}. Move it, or give another place.")
        if not is_ours(path, what):
            raise WriteError(
                f"{path} is no {what} that softecm wrote, so it is not replaced, whatever is asked. Move it, or give "
                "another place."
            )


@contextmanager
def _refused(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise WriteError(f"{path} can't be written: its folder does not exist. Make it first.") from error
    except OSError as error:
        raise WriteError(f"{path} can't be written: {reason(error)}. Give another place.") from error


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
