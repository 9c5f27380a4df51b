"""What a user can mend: said in one sentence, exit code 2."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from softecm._errors import Mendable as Problem
from softecm._errors import disk

__all__ = ["Problem", "Stopped", "defect", "disk", "mendable"]

#: Parameters of the estimators that are options; the second list is never a word of a sentence.
LONG = "n_clusters|max_cardinality|focal_sets|n_init|max_iter|n_jobs|random_state|n_boot|constraint_weight|link_weight"
NAMES = f"alpha|beta|delta|lam|tol|metric|relaxation|init|solver|device|dtype|clear|level|resample|resamples|seeds|xi|{LONG}"
AS_OPTIONS = {
    ", a list of tuples or FocalSets": "",
    "Leave it None": "Leave it out",
    "leave that column out": "leave it out with --drop",
    "SoftECM(metric='precomputed'), RECM,": "--metric precomputed, or --algorithm RECM,",
    "or a dict for some of them": "or name some of them with softecm rename DIR 'ω2=calm'",
    "metric=Mixed(scaling='robust')": "--scale robust",
    "Mixed(scaling='robust') for that view": "--scale robust",
    "Leave it out, give it a smaller weight, or try weights='agreement'.": "Leave it out if it should not count.",
}
OTHERWISE = {
    "n_clusters": "clusters",
    "random_state": "seed",
    "n_boot": "refits",
    "constraint_weight": "link_weight",
    "xi": "link_weight",
}

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
        raise Problem(in_options(" ".join(str(error).split()))) from error


def in_options(text: str) -> str:
    """What the library says to whoever calls it from Python, for the command line.

    Examples
    --------
    >>> in_options("delta must be greater than 0; got 0. 'auto' takes it from the data; None switches outliers off.")
    '--delta must be greater than 0; got 0. auto takes it from the data; none switches outliers off.'
    >>> in_options("use relaxation='gap', or lam=0.5; a larger max_iter. Or give a GradientDescent(...).")
    'use --relaxation gap, or --lam 0.5; a larger --max-iter.'
    """
    text = re.sub(r" Or give (?:[^.(]|\([^)]*\))*\.", "", text)
    text = re.sub(r"softecm\.read_table\(X, missing='([^']*)'\)", r"--missing \1", text)
    for python, option in AS_OPTIONS.items():
        text = text.replace(python, option)
    text = re.sub(rf"\b({NAMES})=(?:'([^']*)'|([\w.+-]*\w))", lambda at: f"{option_of(at[1])} {at[2] or at[3]}", text)
    text = re.sub(rf"(?<![\w-])({NAMES})(?= must\b)|\b({LONG})\b", lambda at: option_of(at[1] or at[2]), text)
    if not text.startswith("--"):  # quotes are around the user's own words there
        return text
    return re.sub(r"(?<!\w)'([\w:+-]+)'", r"\1", re.sub(r"\bNone\b", "none", text))


def option_of(name: str) -> str:
    """What a parameter is called on the command line."""
    return f"--{OTHERWISE.get(name, name).replace('_', '-')}"


def defect(error: Exception) -> str:
    """What is said of an error that nobody foresaw."""
    what = " ".join(f"{type(error).__name__}: {error}".split())
    notes = " ".join(getattr(error, "__notes__", ()))  # where results that were finished lie
    return f"unexpected error: {what[:300]}. {f'{notes} ' if notes else ''}{HOW_TO_REPORT}"
