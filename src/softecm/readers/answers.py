"""Words that are answers: missing-value words, and ordered scales."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from softecm._text import number_of, some_of, spelling_key
from softecm._wording import option
from softecm.readers.base import ReadError, existing, folded, short
from softecm.readers.numbers import ZERO_WORDS
from softecm.readers.sniff import MISSING

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

DASHES = (*ZERO_WORDS, "---")
#: In lower case. Not included: none and not applicable, which are answers; Na, which may be sodium.
NO_ANSWERS = frozenset(
    (
        *("??", "???", "n.a.", "n. a.", "n.d.", "n. d.", "n.c.", "unknown", "not known", "not available"),
        *("not specified", "not stated"),
        *("not reported", "no answer", "no data", "missing", "(missing)", "(blank)"),
        *("k.a.", "k. a.", "keine angabe", "keine angaben", "o.a.", "o. a.", "ohne angabe", "unbekannt"),
        *("non renseigné", "inconnu", "sin datos", "desconocido", "no disponible"),
    )
)
#: Lowest first; words in one group are synonyms.
SCALES = tuple(
    [group.split("|") for group in scale.split("<")]
    for scale in (
        "never<rarely|seldom<sometimes<often|usually<always",
        "strongly disagree<disagree|somewhat disagree<neutral|neither agree nor disagree|undecided<agree|somewhat agree<"
        "strongly agree",
        "very poor<poor<fair|average<good<very good<excellent",
        "very low<low<medium|middle|moderate<high<very high",
        "nie<selten<manchmal|gelegentlich<oft|häufig<immer",
        "stimme gar nicht zu|stimme überhaupt nicht zu<stimme eher nicht zu|stimme nicht zu<"
        "teils/teils|teils, teils|neutral|weder noch|unentschieden<stimme eher zu|stimme zu<"
        "stimme voll zu|stimme voll und ganz zu",
        "sehr schlecht<schlecht<mittel|mäßig|befriedigend<gut<sehr gut",
        "sehr niedrig<niedrig|gering<mittel<hoch<sehr hoch",
    )
)
EXACT = 2.0**53  # floats below are exact for integers
LEAST = 3  # minimum number of words of a scale: the order of two doesn't matter


def stripped(column: pd.Series) -> pd.Series:
    """Return stripped text, with numbers and booleans as text; missing cells stay missing."""
    import pandas as pd

    if hasattr(column, "cat"):
        column = column.astype(column.cat.categories.dtype)
    filled = column.dropna()
    if pd.api.types.is_float_dtype(column.dtype) and (filled.abs() < EXACT).all() and (filled % 1 == 0).all():
        column = column.astype("Int64")  # codes read as 1.0 because some are missing
    words = column.astype("str").str.strip().astype(object)
    return words.where(column.notna() & (words != ""), None)


def means_a_gap(word: str) -> bool:
    """Whether a word means that there is no answer.

    Examples
    --------
    >>> [means_a_gap(word) for word in ("k.A.", "Unknown", "-", "none", "Na")]
    [True, True, True, False, False]
    """
    return word in MISSING or word in DASHES or folded(word) in NO_ANSWERS


def no_answers(words: pd.Series, least: int) -> pd.Series:
    """Return such cells of a column; none unless at least so many other words remain: yes and - may be two answers.

    A dash is an answer if there is a plus.
    """
    different = words.dropna().unique()
    others = {word.casefold() for word in different if not means_a_gap(word)}
    marks = [word for word in different if means_a_gap(word) and not ("+" in others and word in DASHES)]
    return words[words.isin(marks if len(others) >= least else [])]


def without_gaps(column: pd.Series) -> pd.Series:
    """Return a text column that must hold numbers, without missing-value words."""
    return column.mask([isinstance(cell, str) and means_a_gap(cell.strip()) for cell in column], None)


def missing_remark(name: str, cells: pd.Series) -> str:
    """Return what was done with such cells, and how to keep them."""
    counts = cells.value_counts()
    listed = ", ".join(f"{short(word)} ({number_of(n, 'cell')})" for word, n in counts.items())
    are, them = ("is", "it") if len(counts) == 1 else ("are", "them")
    return f"column {short(name)}: {listed} {are} treated as missing; {option('categorical', name)} keeps {them}."


def known_order(words: Iterable[str]) -> tuple[str, ...]:
    """Return words in the order of a scale that has them all, each at its own place; empty if there is none.

    Examples
    --------
    >>> known_order(["often", "Never", "always"]), known_order(["red", "green", "blue"])
    (('Never', 'often', 'always'), ())
    """
    plain = {folded(word): word for word in words}
    for scale in SCALES:
        place = {word: i for i, words in enumerate(scale) for word in words}
        placed = {place.get(word, -1): spelled for word, spelled in plain.items()}
        if len(placed) == len(plain) >= LEAST and -1 not in placed:
            return tuple(placed[i] for i in sorted(placed))
    return ()


def levels_by_column(path: Path, columns: Sequence[str], entries: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return levels by column from entries such as ``size=small<middle<large`` or ``size``: empty for a known scale."""
    orders: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        if entry == "all":
            continue
        name, _, order = ("", "", "") if entry in columns else entry.rpartition("=")
        levels = tuple(" ".join(level.split()) for level in order.split("<")) if name else ()
        if name and (len(levels) < 2 or len(set(levels)) < len(levels) or "" in levels):
            raise ReadError(
                f"{option('ordinal')} must be an order such as size=small<middle<large, lowest first; got {entry}."
            )
        orders[existing(path, columns, name or entry)] = levels
    return orders


def order_hints(columns: Mapping[str, pd.Series]) -> tuple[str, ...]:
    """Return which columns of words have an unused known scale, and how to use it."""
    words = {
        name: column.dropna().unique()
        for name, column in columns.items()
        if column.dtype.kind == "O" and not hasattr(column, "cat")
    }
    orders = {name: levels for name, different in words.items() if (levels := known_order(different))}
    if not orders:
        return ()
    name, levels = next(iter(orders.items()))
    where = f"column {short(name)}" if len(orders) == 1 else f"columns {short(name)} and {len(orders) - 1} more"
    return (f"{where}: the answers have an order ({' < '.join(levels)}); {option('ordinal', 'all')} uses it.",)


def in_order(path: Path, words: pd.Series, levels: tuple[str, ...]) -> pd.Series:
    """Return words as ordered levels, ignoring case; raise an error for other words."""
    import pandas as pd

    name, different = str(words.name), list(words.dropna().unique())
    levels = levels or known_order(different)
    if not levels:
        some = "<".join(short(word) for word in different[:5]) + ("<…" if len(different) > 5 else "")
        raise ReadError(
            f"the order of column {short(name)} of {path} is not known: give it, lowest first, as in "
            f"{option('ordinal', f'{name}={some}')}."
        )
    spelled = {folded(level): level for level in levels}
    placed = words.map(lambda word: spelled.get(folded(word)), na_action="ignore")
    odd = words[words.notna() & placed.isna()]
    if len(odd):
        raise ReadError(
            f"column {short(name)} of {path} has {short(odd.iloc[0])} in row {int(odd.index[0]) + 1}, which is not in the "
            f"order {' < '.join(levels)}: name it there, or give {option('missing', odd.iloc[0])}."
        )
    return pd.Series(pd.Categorical(placed, categories=list(levels), ordered=True), index=words.index, name=words.name)


def most_frequent_spellings(words: pd.Series) -> tuple[str, ...]:
    """Return the most frequent spelling of each word, if some have several; else empty."""
    counts = words.value_counts()
    best: dict[str, str] = {}
    for word in counts.index:
        best.setdefault(spelling_key(word), word)
    return tuple(best.values()) if len(best) < len(counts) else ()


def spelled_alike(words: pd.Series, spellings: tuple[str, ...]) -> pd.Series:
    """Return words in the given spellings; others unchanged."""
    if not spellings:
        return words
    known = {spelling_key(word): word for word in spellings}
    alike = {word: known.get(spelling_key(word), word) for word in words.dropna().unique()}
    return words.map(lambda word: alike.get(word))


def merged_spellings(words: pd.Series, alike: pd.Series) -> str:
    """Return which spellings were replaced, by the word that stands for them."""
    changed = words[(words != alike) & words.notna()]
    merged: dict[str, dict[str, None]] = {}
    for old, new in zip(changed, alike[changed.index], strict=True):
        merged.setdefault(new, {})[short(old)] = None
    listed = [f"{some_of(list(others), 5)} = {short(word)}" for word, others in merged.items()]
    return "; ".join(listed[:3]) + (" …" if len(listed) > 3 else "")
