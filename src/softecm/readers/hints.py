"""Questions about a table: rows that look like steps of series, rare words that look like typos."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from softecm._text import number_of
from softecm._wording import option
from softecm.readers.base import Column, short

if TYPE_CHECKING:
    import pandas as pd

MOST_COLUMNS = 8  # that may name a series, or its time
SHOWN = 3  # columns of values, or words
COMMON = 0.5  # share of the rows whose time another series also has
FEWEST = 3  # series, and mean number of steps
OFTEN, RARE = 20, 20  # rows of the frequent word; its minimum ratio to the rare one
MOST_LEVELS = 200  # words of a column: with more, it is hardly a category


def step_hint(columns: Sequence[Column], data: Mapping[str, pd.Series]) -> str:
    """Return how to read rows as steps of series, if they look like that; else "".

    They do if the rows of each name in one column are consecutive, and another column increases within each name and
    restarts with the next; or if names repeat in any order, at dates that are unique for a name and that most rows
    share with other names.
    """
    first = [c for c in columns if c.name in data][:MOST_COLUMNS]
    for who in first:
        if who.kind == "date":
            continue
        starts = _starts(data[who.name])
        for when in first:
            values = [c.name for c in columns if c.kind == "number" and c.name not in (who.name, when.name)]
            if when is who or when.kind == "category" or not values:
                continue
            reason = ""
            if starts is not None and _rises(data[when.name], starts):
                reason = f"rows with the same {short(who.name)} are consecutive, with increasing {short(when.name)}"
            elif (who.kind, when.kind) == ("category", "date") and _shares_times(data[who.name], data[when.name]):
                reason = f"rows with the same {short(who.name)} all differ in {short(when.name)}"
            if reason:
                listed = ",".join(values[:SHOWN]) + (",…" if len(values) > SHOWN else "")
                remedy = f"{option('id_column', who.name)} {option('time', when.name)} {option('value', listed)}"
                return f"{reason}: if each row is one time of a series, add {remedy}."
    return ""


def _shares_times(names: pd.Series, times: pd.Series) -> bool:
    """Whether every name has several distinct times, which most rows share with other names."""
    counts = names.value_counts()
    if len(counts) < FEWEST or counts.median() < FEWEST or names.isna().any() or times.isna().any():
        return False
    repeated = names.to_frame("name").assign(time=times).duplicated().any()
    return not repeated and bool(times.duplicated(keep=False).mean() > COMMON)


def _starts(names: pd.Series) -> NDArray[np.intp] | None:
    """Return the first row of each name; None if names are scattered, or too few."""
    codes, different = names.factorize()
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    whole = (codes >= 0).all() and len(starts) == len(different)
    return starts if whole and len(starts) >= FEWEST and FEWEST * len(starts) <= len(codes) else None


def _rises(times: pd.Series, starts: NDArray[np.intp]) -> bool:
    if times.isna().any():
        return False
    steps = np.diff(times.to_numpy()).astype(np.float64)
    between = np.zeros(len(steps), dtype=bool)
    between[starts[1:] - 1] = True
    return bool((steps[~between] > 0).all() and (steps[between] <= 0).all())


def typo_hints(columns: Mapping[str, pd.Series]) -> list[str]:
    """Return a question for each column with rare words that resemble a frequent one.

    Examples
    --------
    >>> import pandas as pd
    >>> print(*typo_hints({"channel": pd.Series(["web"] * 60 + ["wbe"])}))
    channel: is 'wbe' (1 row; web 60) a typo? If so, fix it in the file; now it is a separate category.
    """
    hints = []
    for name, column in columns.items():
        typos = _typos(column) if column.dtype.kind not in "iufbcmM" else []
        if typos:
            listed = ", ".join(typos[:SHOWN]) + (f" and {len(typos) - SHOWN} more" if len(typos) > SHOWN else "")
            one = f"is {listed} a typo? If so, fix it in the file; now it is a separate category."
            several = f"are {listed} typos? If so, fix them in the file; now they are separate categories."
            hints.append(f"{short(name)}: {one if len(typos) == 1 else several}")
    return hints


def _typos(column: pd.Series) -> list[str]:
    """Return rare words, each with its number of rows and the frequent word that it resembles."""
    counts = {word: int(n) for word, n in column.value_counts().items() if isinstance(word, str) and word.isalpha()}
    if len(counts) > MOST_LEVELS:
        return []
    frequent = {word: n for word, n in counts.items() if n >= OFTEN and len(word) > 2}
    typos = []
    for word, n in counts.items():
        near = (other for other in frequent if RARE * n <= frequent[other] and _one_slip(word.lower(), other.lower()))
        if (other := next(near, None)) is not None:
            typos.append(f"{short(word)!r} ({number_of(n, 'row')}; {short(other)} {frequent[other]})")
    return typos


def _one_slip(a: str, b: str) -> bool:
    """Whether one letter is missing, added or different, two are swapped, or only case differs."""
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    a, b = a[start:], b[start:]
    if len(a) == len(b):
        return a[1:] == b[1:] or (a[:2] == b[:2][::-1] and a[2:] == b[2:])
    return a[1:] == b if len(a) > len(b) else b[1:] == a
