"""A folder of results that appears whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from softecm.files.atomic import file_to_disk, folder_to_disk
from softecm.files.errors import WriteError, disk
from softecm.files.points import reached


def check_free(target: Path, *, force: bool) -> None:
    """Refuse a folder that holds something, unless told to replace it, and a place that can't be written."""
    if target.exists() and not target.is_dir():
        raise WriteError(f"{target} is a file, not a folder: give another folder with -o.")
    if target.is_dir() and any(target.iterdir()) and not force:
        raise WriteError(
            f"{target} exists and is not empty: give another folder with -o, or --force to replace its results."
        )
    base = target if target.is_dir() else next(p for p in (target.absolute(), *target.absolute().parents) if p.exists())
    if not base.is_dir() or not os.access(base, os.W_OK | os.X_OK):
        raise WriteError(f"{base} can't be written: give a folder of your own with -o.")


@contextmanager
def whole_folder(target: Path, *, force: bool) -> Iterator[Path]:
    """A temporary folder to write into; its files move to ``target`` when all of them are there.

    A new or empty target is one rename. With ``force`` the files of the same names are replaced one by one, and whatever
    else lies there stays.
    """
    check_free(target, force=force)
    with disk(f"writing to {target}"):
        target.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=".softecm-", dir=target.parent))
    try:
        with disk(f"writing to {target}"):
            reached("folder: temporary made")
            yield work
            reached("folder: content written")
            _put(work, target)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _put(work: Path, target: Path) -> None:
    """Move what is in the temporary folder to its place, once it is on the disk."""
    for file in work.rglob("*"):
        if file.is_file():
            file_to_disk(file)
    reached("folder: before replace")
    if target.is_dir() and any(target.iterdir()):
        for file in work.iterdir():
            os.replace(file, target / file.name)
            reached("folder: file replaced")
        folder_to_disk(target)
        return
    work.chmod(0o777 & ~_umask())  # mkdtemp's folder is ours alone
    folder_to_disk(work)
    if target.is_dir():
        target.rmdir()
    os.replace(work, target)
    reached("folder: after replace")
    folder_to_disk(target.parent)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
