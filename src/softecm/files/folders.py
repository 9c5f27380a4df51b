"""A folder of results that appears whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from softecm.files.atomic import file_to_disk, folder_to_disk
from softecm.files.errors import WriteError, disk, reason
from softecm.files.places import check_folder, check_replaced, real_folder
from softecm.files.points import reached
from softecm.files.stale import beside, is_unfinished, tidied

WHOLE = ".softecm-whole-"
GONE = ".gone"  # ends the name of an empty file that stands for the removal of one


def check_free(target: Path, *, force: bool) -> None:
    """Refuse a folder that holds something, unless told to replace it, and a place that can't be written."""
    check_folder(target)
    if not target.is_dir():
        return
    completed(target)
    if not force and any(not is_unfinished(path) for path in target.iterdir()):
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
        there = place.is_dir()
        if not there:
            place.parent.mkdir(parents=True, exist_ok=True)
        work = beside(place / "work" if there else place)
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
            reached("folder: before replace")
            os.replace(work, place / f"{WHOLE}{secrets.token_hex(6)}" if there else place)
            folder_to_disk(place if there else place.parent)
            reached("folder: after replace")
        completed(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    tidied(place if there else place.parent)


def completed(folder: Path) -> None:
    """Put into place what was written whole: here a moment ago, or by a program that was stopped before it could."""
    try:
        for whole in sorted(folder.glob(f"{WHOLE}*")):
            for file in sorted(whole.iterdir()):
                with suppress(FileNotFoundError):  # another program does the same
                    _put(file, folder)
                reached("folder: file replaced")
            folder_to_disk(folder)
            with suppress(FileNotFoundError):
                whole.rmdir()
    except OSError as error:
        raise WriteError(
            f"putting new files into {folder} failed: {reason(error)}. Some of its files are new and some are not: those "
            f"still to come are in a folder of its own, {WHOLE}…, and are put into place when {folder} is next used."
        ) from error


def _put(file: Path, folder: Path) -> None:
    if file.suffix == GONE:
        (folder / file.stem).unlink(missing_ok=True)
        file.unlink()
    else:
        os.replace(file, folder / file.name)
