"""Questions about a table: rare words that look like typos."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from softecm._text import number_of, slip
from softecm.readers.base import first_of, short

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
            listed = first_of(typos, SHOWN)
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
    words = slip(rare, frequent)
    if words is None:
        return False
    is_long = min(map(len, words)) >= LONG and words[0][0] == words[1][0]
    return often >= (OFTEN_LONG if is_long else OFTEN) and often >= (RARE_LONG if is_long else RARE) * n
