"""Words in a column of text that mean that there is no answer: gaps, no category of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from softecm.readers.base import folded, short
from softecm.readers.numbers import ZERO_WORDS
from softecm.readers.sniff import MISSING

if TYPE_CHECKING:
    import pandas as pd

DASHES = (*ZERO_WORDS, "---")
#: In small letters. Not among them: none and not applicable, which are answers; Na, which may be sodium.
SAID = frozenset(
    (
        *("??", "???", "n.a.", "n. a.", "n.d.", "n. d.", "n.c.", "unknown", "not known", "not available"),
        *("not specified", "not stated"),
        *("not reported", "no answer", "no data", "missing", "(missing)", "(blank)"),
        *("k.a.", "k. a.", "keine angabe", "keine angaben", "o.a.", "o. a.", "ohne angabe", "unbekannt"),
        *("non renseigné", "inconnu", "sin datos", "desconocido", "no disponible"),
    )
)


def means_a_gap(word: str) -> bool:
    """Whether a word says that there is no answer.

    Examples
    --------
    >>> [means_a_gap(word) for word in ("k.A.", "Unknown", "-", "none", "Na")]
    [True, True, True, False, False]
    """
    return word in MISSING or word in DASHES or folded(word) in SAID


def no_answers(words: pd.Series) -> pd.Series:
    """The cells of a column that say so; none where fewer than two other words are left: yes and - may be two answers.

    A dash is an answer beside a plus.
    """
    different = words.dropna().unique()
    others = {word.casefold() for word in different if not means_a_gap(word)}
    marks = [word for word in different if means_a_gap(word) and not ("+" in others and word in DASHES)]
    return words[words.isin(marks if len(others) > 1 else [])]


def without_gaps(column: pd.Series) -> pd.Series:
    """A column of text that must hold numbers, without the words that say that there is none."""
    return column.mask([isinstance(cell, str) and means_a_gap(cell.strip()) for cell in column], None)


def told_missing(name: str, cells: pd.Series) -> str:
    """What became of such cells, and how to keep them."""
    counts = cells.value_counts()
    listed = ", ".join(f"{short(word)} ({n} cell{'s' if n > 1 else ''})" for word, n in counts.items())
    are, them = ("is", "it") if len(counts) == 1 else ("are", "them")
    return f"column {short(name)}: {listed} {are} taken as missing; --categorical {short(name)} keeps {them}."
