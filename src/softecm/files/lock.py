"""One writer at a time: a lock that the system releases when its process ends, in any way."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path

from softecm._errors import WriteError
from softecm._warnings import warn

PATIENCE = 60.0  # seconds; moving a folder's files takes a moment


def locked(path: str | os.PathLike[str]) -> AbstractContextManager[None]:
    """Lock ``path`` for writing; a second writer gets an error at once.

    The lock is on a small file next to ``path``, or next to a link's target, which itself may be replaced; it is
    removed with the lock. A file left by a killed process is unlocked. If the system or the disk does not support
    locks, a warning reports it.

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
    target = Path(os.path.realpath(path))
    return _holding(target.with_name(f".softecm-{_digest(target.name)}.lock"), target, wait=0.0)


def locked_folder(folder: Path) -> AbstractContextManager[None]:
    """Lock ``folder`` for moving files on this machine; a second process waits.

    The folder may not exist yet, so the lock is among the system's temporary files; if these can't be written, results
    are written without it.
    """
    lock = Path(tempfile.gettempdir()) / f"softecm-{_digest(os.path.realpath(folder))}.lock"
    return _holding(lock, folder, wait=PATIENCE) if os.access(lock.parent, os.W_OK) else nullcontext()


def _digest(name: str) -> str:
    return hashlib.sha256(os.fsencode(name)).hexdigest()[:12]


@contextmanager
def _holding(lock: Path, target: Path, *, wait: float) -> Iterator[None]:
    handle = _held(lock, target, time.monotonic() + wait)
    try:
        yield
    finally:
        if sys.platform != "win32":
            lock.unlink(missing_ok=True)  # before unlocking: waiting processes see that it is gone
        os.close(handle)
        if sys.platform == "win32":
            with suppress(OSError):
                lock.unlink()


def _held(lock: Path, target: Path, deadline: float) -> int:
    """Return the open and locked file; reopen it if an earlier holder removed it meanwhile."""
    while True:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(handle)
        except (BlockingIOError, PermissionError):
            os.close(handle)
            if time.monotonic() < deadline:
                time.sleep(0.01)
                continue
            raise WriteError(
                f"{target} is being written by another fit or sweep. Wait until that has ended, or give another name."
            ) from None
        except (OSError, ImportError) as error:
            warn(f"{target} can't be locked here ({error}): make sure that nothing else writes to it.")
            return handle
        with suppress(OSError):
            if os.path.samestat(os.fstat(handle), os.stat(lock)):
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
