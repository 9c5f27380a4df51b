"""Questions about a table: rare words that look like typos."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from softecm._text import number_of
from softecm.readers.base import short

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 3  # words that are listed
OFTEN, RARE = 20, 20  # rows of the frequent word; its minimum ratio to the rare one
LONG, OFTEN_LONG, RARE_LONG = 5, 15, 8  # letters of two words that differ by chance less often, and their limits
MOST_LEVELS = 200  # words of a column: with more, it is hardly a category


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
    counts = {word: int(n) for word, n in column.value_counts().items() if isinstance(word, str)}
    if len(counts) > MOST_LEVELS:
        return []
    frequent = {word: n for word, n in counts.items() if n >= min(OFTEN, OFTEN_LONG)}
    typos = []
    for word, n in counts.items():
        near = (
            other for other, often in frequent.items() if RARE_LONG * n <= often and _is_typo(word, n, other, often)
        )
        if (other := next(near, None)) is not None:
            typos.append(f"{short(word)!r} ({number_of(n, 'row')}; {short(other)} {frequent[other]})")
    return typos


def _is_typo(rare: str, n: int, frequent: str, often: int) -> bool:
    """Whether one slip makes a rare word of a frequent one; of several words, in one of these."""
    a, b = rare.split(), frequent.split()
    different = [pair for pair in zip(a, b, strict=False) if pair[0] != pair[1]]
    if len(a) != len(b) or len(different) != 1:
        return False
    one, other = map(str.lower, different[0])
    if not (one.isalpha() and other.isalpha() and len(other) > 2 and _one_slip(one, other)):
        return False
    is_long = min(len(one), len(other)) >= LONG and one[0] == other[0]
    return often >= (OFTEN_LONG if is_long else OFTEN) and often >= (RARE_LONG if is_long else RARE) * n


def _one_slip(a: str, b: str) -> bool:
    """Whether one letter is missing, added or different, two are swapped, or only case differs."""
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    a, b = a[start:], b[start:]
    if len(a) == len(b):
        return a[1:] == b[1:] or (a[:2] == b[:2][::-1] and a[2:] == b[2:])
    return a[1:] == b if len(a) > len(b) else b[1:] == a
