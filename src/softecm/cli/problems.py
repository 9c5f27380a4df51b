"""What a user can mend: said in one sentence, exit code 2."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Problem(Exception):
    """Something the user can mend; its text is the one sentence they read."""


class Stopped(Exception):
    """The user ended the program; the text says how to go on. Exit code 130."""


@contextmanager
def mendable(*kinds: type[Exception]) -> Iterator[None]:
    """Errors of these kinds, which the library words for users, as a ``Problem``."""
    try:
        yield
    except kinds as error:
        raise Problem(" ".join(str(error).split())) from error


@contextmanager
def disk(what: str) -> Iterator[None]:
    """Trouble with files as a ``Problem``: ``what`` says what was being done."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise Problem(f"{what} failed: {reason}. Nothing was left half-written.") from error
