"""What a user can fix about files: one sentence each, worded for whoever gave the file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


class Mendable(Exception):
    """Something the user can mend; its text is the one sentence they read. The command line exits with 2."""


class ReadError(Mendable, ValueError):
    """A file that can't be read as it is; the text says what is wrong with it and what to do."""


class NotThere(ReadError, FileNotFoundError):
    """A file that does not exist."""

    __str__ = Exception.__str__  # the sentence, not the system's number for it


class WriteError(Mendable, ValueError):
    """A place that can't be written, or that holds something already."""


def check_there(path: str | os.PathLike[str]) -> None:
    """Refuse to read what is no file, or nowhere: the first question, asked before anything heavy is loaded."""
    if os.path.isdir(path):
        raise ReadError(f"{path} is a folder: give the file in it.")
    if not os.path.lexists(path):
        raise NotThere(f"{path} does not exist: check its name and the folder you are in.")
    if os.path.exists(path) and not os.path.isfile(path):
        raise ReadError(f"{path} is a pipe or a device, which can't be read twice: save what it gives in a file first.")


def shown(value: object, most: int = 80) -> str:
    """Something out of a file as a message may quote it: on one line, without control characters, not too long."""
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}..."


def reason(error: OSError) -> str:
    """Why the system refused, in its own words and without the name of a file.

    Examples
    --------
    >>> reason(OSError(28, "No space left on device", "a name"))
    'no space left on device'
    """
    return (os.strerror(error.errno) if error.errno else str(error)).lower()


@contextmanager
def disk(what: str) -> Iterator[None]:
    """Trouble with the disk as a ``WriteError``: ``what`` says what was being done."""
    try:
        yield
    except OSError as error:
        raise WriteError(f"{what} failed: {reason(error)}. Nothing was left half-written.") from error
