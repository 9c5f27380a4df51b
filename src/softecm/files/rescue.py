"""Results that can't be written where they were wanted: written elsewhere, and the error says where."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from softecm.files.atomic import replaced
from softecm.files.errors import Mendable, WriteError, reason
from softecm.files.folders import whole_folder

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
        return f"What could be written of the results is in {' and in '.join(left)}."
    return "Nor could the results be written to the home folder or the temporary one."


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
