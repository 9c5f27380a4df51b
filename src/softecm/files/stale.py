"""Names of what is not finished yet, and an end to what a killed program left.

A temporary file or folder lies beside its target, or in it. What was not touched for a day is removed when something is
next written there: nobody writes it any more. Until then it is in nobody's way. Locks are for their holders to remove.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

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
