"""A results folder that is written atomically, or elsewhere if it can't be written."""

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
GONE = ".gone"  # suffix of an empty file that stands for a removal


def check_free(target: Path, *, force: bool) -> None:
    """Raise an error for a non-empty folder, unless ``force``, and for a path that can't be written."""
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
    """Yield a temporary folder to write into; its files move to ``target`` when all are complete.

    A new target is one rename. Into an existing one (a link to one, a mount point) the files move one by one, and other
    files stay, except those named in ``instead_of``, which would be outdated; ``completed`` moves the rest after an
    interruption.
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
                    _refuse_filled(target, force=force)  # another process may have written it meanwhile
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
    """Complete the move of an interrupted process's finished files, or of one about to move them."""
    if next(folder.glob(f"{WHOLE}*"), None) is not None:
        with locked_folder(folder):
            _complete(folder)


def _complete(folder: Path) -> None:
    try:
        for whole in sorted(folder.glob(f"{WHOLE}*")):
            for file in sorted(whole.iterdir()):
                if file.suffix == GONE:
                    (folder / file.stem).unlink(missing_ok=True)
                    file.unlink()
                else:
                    os.replace(file, folder / file.name)
                reached("folder: file replaced")
            folder_to_disk(folder)
            whole.rmdir()
    except OSError as error:
        raise WriteError(
            f"replacing the files of {folder} failed: {reason(error)}. Some are new and some are old; the rest is in "
            f"its subfolder {WHOLE}… and is moved into place the next time {folder} is used."
        ) from error


T = TypeVar("T")


def orelsewhere(target: str | os.PathLike[str], put: Callable[[], T], again: Callable[[Path], object]) -> T:
    """Return the result of ``put``; if it fails, ``again`` writes the same into a new folder named in the error.

    The folder is in the user's home folder, or in the system's temporary one if that can't be written.

    Parameters
    ----------
    target : str or path
        The intended path of the results, for the error.
    put : callable
        Writes them there.
    again : callable
        Writes them into the given folder, the most important first.
    """
    try:
        return put()
    except Mendable as error:
        raise WriteError(f"{error} {elsewhere(again)}") from error
    except OSError as error:
        what = f"writing {target} failed: {reason(error)}. Nothing was left half-written."
        raise WriteError(f"{what} {elsewhere(again)}") from error
    except Exception as error:  # a bug of ours: results are kept anyway
        error.add_note(elsewhere(again))
        raise


def elsewhere(again: Callable[[Path], object]) -> str:
    """Write to the first of the home and the temporary folder that works; return a sentence with the location."""
    parts = list[Path]()
    for place in (Path.home, lambda: Path(tempfile.gettempdir())):
        try:
            folder = Path(tempfile.mkdtemp(prefix="softecm-results-", dir=place()))
        except (OSError, RuntimeError):  # no such folder, not writable, or no home
            continue
        try:
            again(folder)
        except Exception:  # reported below; the caller reports the cause
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
    """Write a whole folder, like ``whole_folder``; elsewhere if it can't be written."""

    def put() -> T:
        with whole_folder(target, force=force, instead_of=instead_of) as work:
            return fill(work)

    return orelsewhere(target, put, fill)


def to_file(target: Path, write: Callable[[Path], object]) -> None:
    """Write a whole file; elsewhere, under the same name, if it can't be written."""

    def put() -> None:
        with replaced(target) as temporary:
            write(temporary)

    orelsewhere(target, put, lambda folder: write(folder / target.name))
