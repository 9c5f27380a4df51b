"""A credal partition in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from softecm.belief import CredalPartition, FocalSets

FEW = 4  # name objects one by one up to this many


class Counted(Protocol):
    """A partition of which little more than its size is known: one in blocks, say."""

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        ...

    def __len__(self) -> int: ...


def three_sentences(
    partition: CredalPartition, ids: Sequence[str], *, merged: bool = False, noun: str = "object"
) -> tuple[str, str, str]:
    """What was found: the groups, who lies between, who belongs nowhere.

    Parameters
    ----------
    partition : CredalPartition
    ids : sequence of str of length n
        What the objects are called.
    merged : bool
        Whether the prototypes of different clusters have merged, so that the groups mean nothing.
    noun : str
        What an object is, in the singular.

    Examples
    --------
    >>> p = CredalPartition([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]], FocalSets.full(2))
    >>> for sentence in three_sentences(p, ["a", "b", "c", "d"]):
    ...     print(sentence)
    Of 4 objects, 2 (50 %) clearly belong to one of 2 groups: 1 to ω1 and 1 to ω2.
    1 lies between groups: c (ω1 or ω2).
    1 belongs to no group: d.
    """
    best = partition.masses.argmax(1)
    counts = np.bincount(best, minlength=len(partition.focal_sets) + 1)
    return (
        _groups(partition, counts, merged, noun),
        _between(partition, ids, best, counts),
        _outliers(partition, ids, best),
    )


def counted_sentences(partition: Counted, counts: np.ndarray, *, merged: bool = False) -> tuple[str, str, str]:  # type: ignore[type-arg]
    """The same from how many objects have their largest mass on each set, no object named.

    Parameters
    ----------
    partition : anything with ``n_clusters`` and a length
    counts : ndarray of shape (f + 1,), the empty set first

    Examples
    --------
    >>> p = CredalPartition([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]], FocalSets.full(2))
    >>> counted_sentences(p, np.array([1, 1, 1, 1]))[1:]
    ('1 lies between groups.', '1 belongs to no group.')
    """
    between, nowhere = int(counts[partition.n_clusters + 1 :].sum()), int(counts[0])
    return (
        _groups(partition, counts, merged, "object"),
        f"{_group(between)} {'lies' if between == 1 else 'lie'} between groups.",
        f"{_group(nowhere)} {'belongs' if nowhere == 1 else 'belong'} to no group.",
    )


def in_words(focal: FocalSets, column: int) -> str:
    """A column of a mass matrix as a phrase: "ω1", "ω1 or ω2", "none"."""
    return _listed([f"ω{k + 1}" for k in focal.sets[column - 1]], "or") if column else "none"


def _groups(partition: Counted, counts: np.ndarray, merged: bool, noun: str) -> str:  # type: ignore[type-arg]
    c, n = partition.n_clusters, len(partition)
    if merged:
        return (
            f"Fewer than {c} separate groups were found among the {_number(n, noun)}: prototypes of different clusters have "
            "merged, so clusters that share a place are not told apart (see Warnings)."
        )
    sure = int(counts[1 : c + 1].sum())
    sizes = [(f"{_group(counts[k + 1])} to ω{k + 1}") for k in range(c)]
    shown = sizes if c <= 6 else [*sizes[:5], f"{_group(int(counts[6 : c + 1].sum()))} to the other {c - 5}"]
    one = "the one group" if c == 1 else f"one of {c} groups"
    verb = "belongs" if sure == 1 else "belong"
    return (
        f"Of {_number(n, noun)}, {_group(sure)} ({_share(sure, n)}) clearly {verb} to {one}: {_listed(shown, 'and')}."
    )


def _between(partition: CredalPartition, ids: Sequence[str], best: np.ndarray, counts: np.ndarray) -> str:  # type: ignore[type-arg]
    c, focal = partition.n_clusters, partition.focal_sets
    total = int(counts[c + 1 :].sum())
    if len(focal) == c:
        return "Sets of several groups were not considered, so none can lie between."
    if total == 0:
        return "None lies between groups: each is clearly in one, or in none."
    start = f"{_group(total)} {'lies' if total == 1 else 'lie'} between groups"
    if total <= FEW:
        rows = np.flatnonzero(best > c)
        return f"{start}: {_listed([f'{ids[i]} ({in_words(focal, int(best[i]))})' for i in rows], 'and')}."
    column = int(counts[c + 1 :].argmax()) + c + 1
    if counts[column] == total:
        return f"{start}: all between {in_words(focal, column).replace(' or ', ' and ')}."
    return f"{start}, most often between {in_words(focal, column).replace(' or ', ' and ')} ({_group(int(counts[column]))})."


def _outliers(partition: CredalPartition, ids: Sequence[str], best: np.ndarray) -> str:  # type: ignore[type-arg]
    rows = np.flatnonzero(best == 0)
    if not len(rows):
        return "None belongs to no group: there are no outliers."
    rows = rows[np.argsort(-partition.masses[rows, 0], kind="stable")]
    start = f"{_group(len(rows))} {'belongs' if len(rows) == 1 else 'belong'} to no group"
    names = [str(ids[i]) for i in rows[:FEW]]
    return (
        f"{start}: {_listed(names, 'and')}."
        if len(rows) <= FEW
        else f"{start}; farthest out: {_listed(names[:3], 'and')}."
    )


def _listed(items: Sequence[str], word: str) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {word} {items[-1]}"


def _group(number: int) -> str:
    return f"{int(number):,}".replace(",", "\u202f")  # a narrow no-break space between thousands


def _number(number: int, noun: str) -> str:
    return f"{_group(number)} {noun if number == 1 or noun.endswith('s') else noun + 's'}"


def _share(part: int, whole: int) -> str:
    percent = 100 * part / max(whole, 1)
    return f"{percent:.0f} %" if percent in (0, 100) or 1 <= percent <= 99 else f"{percent:.1f} %"
