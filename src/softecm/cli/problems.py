"""What a user can mend: said in one sentence, exit code 2."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager

from softecm._errors import Mendable as Problem
from softecm._errors import disk
from softecm._wording import UNSET, Wording

__all__ = ["Problem", "Stopped", "defect", "disk", "mendable"]

#: Options that have another name than the parameter.
OTHERWISE = {
    "n_clusters": "clusters",
    "random_state": "seed",
    "n_boot": "refits",
    "constraint_weight": "link_weight",
    "xi": "link_weight",
    "y": "known",
}

#: What the library calls the data, at the beginning of a message.
OF_X = re.compile(r"^X(?= (must|has|does|lacks) )")

HOW_TO_REPORT = (
    "This is a bug in softecm. Please report it with the command you ran and, if you may share it, the file; "
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
        raise Problem(OF_X.sub("the file", " ".join(str(error).split()))) from error


def option_of(name: str, value: object = UNSET) -> str:
    """A parameter as it is typed.

    Examples
    --------
    >>> option_of("n_clusters"), option_of("id_column", "customer no"), option_of("delta", None)
    ('--clusters', "--id-column 'customer no'", '--delta none')
    """
    flag = f"--{OTHERWISE.get(name, name).replace('_', '-')}"
    return flag if value is UNSET else f"{flag} {shlex.quote(typed(value))}"


def typed(value: object) -> str:
    """A value as it is typed."""
    return "none" if value is None else str(value)


#: How messages write parameters and values while a command runs.
AS_TYPED = Wording(option_of, typed)


def defect(error: Exception) -> str:
    """What is said of an error that nobody foresaw."""
    what = " ".join(f"{type(error).__name__}: {error}".split())
    notes = " ".join(getattr(error, "__notes__", ()))  # where results that were finished lie
    return f"unexpected error: {what[:300]}. {f'{notes} ' if notes else ''}{HOW_TO_REPORT}"
