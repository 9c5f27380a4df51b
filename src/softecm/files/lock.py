"""One writer at a time: a lock that the system takes back when its process ends, however it ends."""

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

PATIENCE = 60.0  # seconds; putting a folder's files into place takes a moment


def locked(path: str | os.PathLike[str]) -> AbstractContextManager[None]:
    """Nobody else may write ``path`` in here; a second writer is refused at once.

    The lock is on a small file beside ``path``, or beside what a link leads to, which itself may be replaced; it goes when
    the lock does. One that a killed process left behind is locked by nobody. Where the system or the disk has no locks, a
    warning says so.

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
    """Nobody else on this machine may put files into ``folder`` in here; whoever comes second waits.

    The folder may have to be made, so the lock lies among the system's temporary files; where these can't be written,
    results are written without it.
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
            lock.unlink(missing_ok=True)  # before the lock goes: whoever waits for this file sees that it is gone
        os.close(handle)
        if sys.platform == "win32":
            with suppress(OSError):
                lock.unlink()


def _held(lock: Path, target: Path, deadline: float) -> int:
    """The open and locked file; opened again where an earlier holder has removed it meanwhile."""
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
