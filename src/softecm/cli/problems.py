"""What a user can mend: said in one sentence, exit code 2."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from softecm.files.errors import Mendable as Problem
from softecm.files.errors import disk

__all__ = ["Problem", "Stopped", "disk", "mendable"]


class Stopped(Exception):
    """The user ended the program; the text says how to go on. Exit code 130."""


@contextmanager
def mendable(*kinds: type[Exception]) -> Iterator[None]:
    """Errors of these kinds, which the library words for users, as a ``Problem``."""
    try:
        yield
    except Problem:  # a reader's or a writer's own: worded already
        raise
    except kinds as error:
        raise Problem(" ".join(str(error).split())) from error
