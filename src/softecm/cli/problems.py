"""What a user can mend: said in one sentence, exit code 2."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from softecm.files.errors import Mendable as Problem
from softecm.files.errors import disk

__all__ = ["Problem", "Stopped", "defect", "disk", "mendable"]

HOW_TO_REPORT = (
    "This is a defect of softecm. Please report it with the command you ran and, if you may share it, the file; "
    "SOFTECM_TRACEBACK=1 shows where it happened."
)


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


def defect(error: Exception) -> str:
    """What is said of an error that nobody foresaw."""
    what = " ".join(f"{type(error).__name__}: {error}".split())
    notes = " ".join(getattr(error, "__notes__", ()))  # where results that were finished lie
    return f"unexpected error: {what[:300]}. {f'{notes} ' if notes else ''}{HOW_TO_REPORT}"
