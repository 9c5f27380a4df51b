"""A folder of results that appears whole or not at all; where it can't be written, it is written elsewhere."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from softecm._atomic import beside, file_to_disk, folder_to_disk, is_unfinished, reached, replaced, tidied
from softecm._errors import Mendable, WriteError, disk, reason
from softecm.files.lock import locked_folder
from softecm.files.places import check_folder, check_replaced, real_folder

WHOLE = ".softecm-whole-"
GONE = ".gone"  # ends the name of an empty file that stands for the removal of one


def check_free(target: Path, *, force: bool) -> None:
    """Refuse a folder that holds something, unless told to replace it, and a place that can't be written."""
    with locked_folder(target):
        check_folder(target)
    completed(target)
    _refuse_filled(target, force=force)


def _refuse_filled(target: Path, *, force: bool) -> None:
    if not force and target.is_dir() and any(not is_unfinished(path) for path in target.iterdir()):
        raise WriteError(
            f"{target} exists and is not empty: give another folder with -o, or --force to replace its results."
        )


@contextmanager
def whole_folder(target: Path, *, force: bool, instead_of: Iterable[str] = ()) -> Iterator[Path]:
    """A temporary folder to write into; its files move to ``target`` when all of them are there.

    A new target is one rename. Into one that is there (a link to one, a mount point) the files move one by one, and
    whatever else lies there stays, but for files named in ``instead_of``, which would be older than the rest; a program
    that is stopped on the way has the rest moved by ``completed``.
    """
    check_free(target, force=force)
    with disk(f"writing to {target}"):
        place = real_folder(target)
        inside = place.is_dir()
        if not inside:
            place.parent.mkdir(parents=True, exist_ok=True)
        work = beside(place / "work" if inside else place)
        work.mkdir()
    try:
        with disk(f"writing to {target}"):
            reached("folder: temporary made")
            yield work
            reached("folder: content written")
            new = {file.name for file in work.iterdir()}
            check_replaced(place / name for name in {*new, *instead_of})
            for name in {*instead_of} - new:
                if (place / name).exists():
                    (work / f"{name}{GONE}").touch()
            for file in work.rglob("*"):
                if file.is_file():
                    file_to_disk(file)
            folder_to_disk(work)
            with locked_folder(place):
                if not inside:
                    _refuse_filled(target, force=force)  # another program may have written it meanwhile
                reached("folder: before replace")
                there = place.is_dir()
                os.replace(work, place / f"{WHOLE}{secrets.token_hex(6)}" if there else place)
                folder_to_disk(place if there else place.parent)
                reached("folder: after replace")
                _complete(place)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    tidied(work.parent)


def completed(folder: Path) -> None:
    """Put into place what was written whole by a program that was stopped before it could, or is about to."""
    if next(folder.glob(f"{WHOLE}*"), None) is not None:
        with locked_folder(folder):
            _complete(folder)


def _complete(folder: Path) -> None:
    try:
        for whole in sorted(folder.glob(f"{WHOLE}*")):
            for file in sorted(whole.iterdir()):
                _put(file, folder)
                reached("folder: file replaced")
            folder_to_disk(folder)
            whole.rmdir()
    except OSError as error:
        raise WriteError(
            f"replacing the files of {folder} failed: {reason(error)}. Some are new and some are old; the rest is in "
            f"its subfolder {WHOLE}… and is moved into place the next time {folder} is used."
        ) from error


def _put(file: Path, folder: Path) -> None:
    if file.suffix == GONE:
        (folder / file.stem).unlink(missing_ok=True)
        file.unlink()
    else:
        os.replace(file, folder / file.name)


T = TypeVar("T")


def orelsewhere(target: str | os.PathLike[str], put: Callable[[], T], again: Callable[[Path], object]) -> T:
    """What ``put`` gives; where it fails, ``again`` writes the same into a fresh folder, and the error names it.

    The folder is made in the user's home folder, and where that can't be written in the system's temporary one.

    Parameters
    ----------
    target : str or path
        Where the results were wanted, for the error.
    put : callable
        Writes them there.
    again : callable
        Writes them into the folder that it is given, what matters most first.
    """
    try:
        return put()
    except Mendable as error:
        raise WriteError(f"{error} {elsewhere(again)}") from error
    except OSError as error:
        what = f"writing {target} failed: {reason(error)}. Nothing was left half-written."
        raise WriteError(f"{what} {elsewhere(again)}") from error
    except Exception as error:  # a fault of ours: what is finished is kept all the same
        error.add_note(elsewhere(again))
        raise


def elsewhere(again: Callable[[Path], object]) -> str:
    """Write to the first place that takes all of it: the home folder, the temporary one; the sentence that says where."""
    parts = list[Path]()
    for place in (Path.home, lambda: Path(tempfile.gettempdir())):
        try:
            folder = Path(tempfile.mkdtemp(prefix="softecm-results-", dir=place()))
        except (OSError, RuntimeError):  # no such folder, none that can be written, no home
            continue
        try:
            again(folder)
        except Exception:  # said below; what led here is told by the caller
            parts.append(folder)
        else:
            _remove_empty(parts)
            return f"The results are in {folder} instead."
    left = [str(folder) for folder in parts if any(folder.iterdir())]
    _remove_empty(parts)
    if left:
        return f"The results that could be written are in {' and in '.join(left)}."
    return "The results could not be written to the home folder or the temporary folder either."


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:
        if not any(folder.iterdir()):
            folder.rmdir()


def to_folder(target: Path, fill: Callable[[Path], T], *, force: bool, instead_of: Iterable[str] = ()) -> T:
    """Write a whole folder, as ``whole_folder`` does; one that can't be written is written elsewhere."""

    def put() -> T:
        with whole_folder(target, force=force, instead_of=instead_of) as work:
            return fill(work)

    return orelsewhere(target, put, fill)


def to_file(target: Path, write: Callable[[Path], object]) -> None:
    """Write a whole file; one that can't be written is written elsewhere, under the same name."""

    def put() -> None:
        with replaced(target) as temporary:
            write(temporary)

    orelsewhere(target, put, lambda folder: write(folder / target.name))
