"""What a user can mend about files: one sentence each, worded for whoever gave the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Mendable(Exception):
    """Something the user can mend; its text is the one sentence they read. The command line exits with 2."""


class ReadError(Mendable, ValueError):
    """A file that can't be read as it is; the text says what is wrong with it and what to do."""


class WriteError(Mendable, ValueError):
    """A place that can't be written, or that holds something already."""


def shown(value: object, most: int = 80) -> str:
    """Something out of a file as a message may quote it: on one line, without control characters, not too long."""
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}..."


@contextmanager
def disk(what: str) -> Iterator[None]:
    """Trouble with the disk as a ``WriteError``: ``what`` says what was being done."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise WriteError(f"{what} failed: {reason}. Nothing was left half-written.") from error
