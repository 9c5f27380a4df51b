"""Rare words of a column that look like a slip for a frequent one: "wbe" beside many "web"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from softecm.readers.base import short

if TYPE_CHECKING:
    import pandas as pd

OFTEN, RARE = 20, 20  # rows of the frequent word; how many times more frequent it is
MOST_LEVELS = 200  # words of a column: with more, it is no category to speak of
SHOWN = 3  # a column


def told_typos(columns: Mapping[str, pd.Series]) -> list[str]:
    """What to ask about words that may be slips, a sentence for each column.

    Examples
    --------
    >>> import pandas as pd
    >>> told_typos({"channel": pd.Series(["web"] * 60 + ["store"] * 40 + ["wbe", "stor"])})
    ["channel: are 'wbe' (1 row; web 60), 'stor' (1 row; store 40) typos? They count as categories of their own."]
    """
    told = []
    for name, column in columns.items():
        found = _slips(column) if column.dtype.kind not in "iufbcmM" else []
        if found:
            shown = [f"{short(a)!r} ({_rows(n)}; {short(b)} {m})" for a, n, b, m in found[:SHOWN]]
            more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
            one = len(found) == 1
            told.append(
                f"{short(name)}: {'is' if one else 'are'} {', '.join(shown)}{more} {'a typo' if one else 'typos'}? "
                f"{'It counts as a category of its' if one else 'They count as categories of their'} own."
            )
    return told


def _rows(n: int) -> str:
    return "1 row" if n == 1 else f"{n} rows"


def _slips(column: pd.Series) -> list[tuple[str, int, str, int]]:
    """Rare words, how often they come, and the frequent word each is like, with its number."""
    counts = {word: int(n) for word, n in column.value_counts().items() if isinstance(word, str) and word.isalpha()}
    if len(counts) > MOST_LEVELS:
        return []
    often = {word: n for word, n in counts.items() if n >= OFTEN and len(word) > 2}
    found = []
    for word, n in counts.items():
        like = [other for other in often if RARE * n <= often[other] and _one_slip(word.lower(), other.lower())]
        if like:
            found.append((word, n, like[0], often[like[0]]))
    return found


def _one_slip(a: str, b: str) -> bool:
    """Whether one letter is missing, added or another, two are exchanged, or only capitals differ."""
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    a, b = a[start:], b[start:]
    if len(a) == len(b):
        return a[1:] == b[1:] or (a[:2] == b[:2][::-1] and a[2:] == b[2:])
    return a[1:] == b if len(a) > len(b) else b[1:] == a
