"""Errors about files that users can fix: one sentence each, in terms of the given file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


class Mendable(Exception):
    """A user error; its text is the one sentence shown. The command line exits with 2."""


class ReadError(Mendable, ValueError):
    """A file that can't be read; the text says why, with a remedy."""


class NotThere(ReadError, FileNotFoundError):
    """A file that does not exist."""

    __str__ = Exception.__str__  # the sentence, without the system's error number


class WriteError(Mendable, ValueError):
    """A target that can't be written, or that exists already."""


def check_there(path: str | os.PathLike[str]) -> None:
    """Raise an error unless the path is an existing file: the first check, before anything heavy is loaded."""
    if os.path.isdir(path):
        raise ReadError(f"{path} is a folder: give the file in it.")
    if not os.path.lexists(path):
        raise NotThere(f"{path} does not exist: check its name and the folder you are in.")
    if os.path.exists(path) and not os.path.isfile(path):
        raise ReadError(f"{path} is a pipe or a device, which can't be read twice: save its content to a file first.")


def shown(value: object, most: int = 80) -> str:
    """Return something from a file for quoting in a message: on one line, without control characters, not too long."""
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}..."


def reason(error: OSError) -> str:
    """Return the system's reason for an error, without the name of a file.

    Examples
    --------
    >>> reason(OSError(28, "No space left on device", "a name"))
    'no space left on device'
    """
    return (os.strerror(error.errno) if error.errno else str(error)).lower()


@contextmanager
def disk(what: str) -> Iterator[None]:
    """Turn disk errors into a ``WriteError``; ``what`` names the operation."""
    try:
        yield
    except OSError as error:
        raise WriteError(f"{what} failed: {reason(error)}. Nothing was left half-written.") from error
