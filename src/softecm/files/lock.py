"""One writer at a time: a lock that the system takes back when its process ends, however it ends."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from softecm._errors import WriteError
from softecm._warnings import warn


@contextmanager
def locked(path: str | os.PathLike[str]) -> Iterator[None]:
    """Nobody else may write ``path`` in here; a second writer is refused at once.

    The lock is on a small file beside ``path``, which itself may be replaced; it goes when the lock does. One that a killed
    process left behind is locked by nobody. Where the system or the disk has no locks, a warning says so.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, locked(f"{folder}/journal"):
    ...     with locked(f"{folder}/journal"):
    ...         pass
    Traceback (most recent call last):
    ...
    softecm._errors.WriteError: ...journal is being written by another fit or sweep. Wait until that has ended, ...
    """
    target = Path(path).absolute()
    beside = target.with_name(f".softecm-{hashlib.sha256(target.name.encode()).hexdigest()[:12]}.lock")
    handle = _held(target, beside)
    try:
        yield
    finally:
        if sys.platform != "win32":
            beside.unlink(missing_ok=True)  # before the lock goes: whoever waits for this file sees that it is gone
        os.close(handle)
        if sys.platform == "win32":
            with suppress(OSError):
                beside.unlink()


def _held(target: Path, beside: Path) -> int:
    """The open and locked file; opened again where an earlier holder has removed it meanwhile."""
    while True:
        handle = os.open(beside, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(handle)
        except (BlockingIOError, PermissionError):
            os.close(handle)
            raise WriteError(
                f"{target} is being written by another fit or sweep. Wait until that has ended, or give another name."
            ) from None
        except (OSError, ImportError) as error:
            warn(f"{target} can't be locked here ({error}): make sure that nothing else writes to it.")
            return handle
        with suppress(OSError):
            if os.path.samestat(os.fstat(handle), os.stat(beside)):
                return handle
        os.close(handle)


def _lock(handle: int) -> None:
    """Lock an open file, or fail at once."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
