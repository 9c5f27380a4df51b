"""A credal partition in plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from softecm._precision import with_unit
from softecm._text import counted, grouped, listed, number_of, plural, share_of
from softecm.belief import CredalPartition, FocalSets
from softecm.belief.assignments import CLEAR, WORDS, Decision, counts_of, nearly_between
from softecm.explain.columns import split_unit

if TYPE_CHECKING:
    from softecm.distributed import ScatteredPartition
    from softecm.report.reasons import Explanation, Part

Counts: TypeAlias = NDArray[np.int64]
NOBODY = "None lies between groups."
FEW = 4  # name up to this many objects individually
MOST_NAMED = 3  # columns on each side of a sentence
MUCH = 0.1  # of all pulls: minimum worth a word


def three_sentences(
    partition: CredalPartition, ids: Sequence[str], *, merged: bool = False, noun: str = "object", clear: float = CLEAR
) -> tuple[str, str, str]:
    """Return sentences about the groups, the objects between them, and the outliers.

    The words are those of :meth:`CredalPartition.decisions`: "clearly" requires a belief of at least ``clear``.

    Parameters
    ----------
    partition : CredalPartition
    ids : sequence of str of length n
        Names of the objects.
    merged : bool
        Whether the prototypes of different clusters have merged, so that the groups mean nothing.
    noun : str
        The noun for an object, in the singular.
    clear : float
        Minimum belief for "clearly".

    Examples
    --------
    >>> p = CredalPartition([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]], FocalSets.full(2))
    >>> for sentence in three_sentences(p, ["a", "b", "c", "d"]):
    ...     print(sentence)
    Of 4 objects, 2 (50%) clearly belong to one of 2 groups: 1 to group 1 and 1 to group 2.
    1 lies between groups: c (group 1 or 2).
    1 belongs to no group: d.
    """
    decisions = partition.decisions(clear)
    table = decisions.table()
    return (
        _groups(partition, table, merged, noun),
        _between(partition, ids, decisions.columns, table.sum(0), noun),
        _outliers(partition, ids, decisions.columns, noun),
    )


def counted_sentences(
    partition: CredalPartition | ScatteredPartition, table: Counts, *, merged: bool = False, near: int = 0
) -> tuple[str, str, str]:
    """The same from the number of objects by word and set, without naming objects.

    Parameters
    ----------
    partition : anything with ``n_clusters`` and a length
    table : ndarray of shape (5, f + 1), objects by word and set as in :meth:`Decisions.table`
    near : number of objects nearly between, mentioned if none is between

    Examples
    --------
    >>> p = CredalPartition([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]], FocalSets.full(2))
    >>> counted_sentences(p, p.decisions().table())[1:]
    ('1 lies between groups.', '1 belongs to no group.')
    """
    counts = counts_of(table)
    between, nowhere = counts["between"], counts["nowhere"]
    return (
        _groups(partition, table, merged, "object"),
        f"{counted(between, 'lies', 'lie')} between groups." if between else _none_between(near),
        f"{counted(nowhere, 'belongs', 'belong')} to no group.",
    )


def named_nearest(near: Sequence[tuple[str, float]]) -> str:
    """Return the nearest objects and their distances, as a supplement to a sentence; empty if unknown."""
    return f" Nearest: {', '.join(f'{name} ({distance:.3g})' for name, distance in near)}." if near else ""


def sentence(name: str, decision: Decision, explanation: Explanation, focal: FocalSets, noun: str = "object") -> str:
    """Explain an object's position in one or two sentences.

    Parameters
    ----------
    name : str
        Name of the object, or its number from 1.
    decision : Decision
    explanation : Explanation
    focal : FocalSets
    noun : str
        The noun for an object, in the singular.
    """
    a, b = (focal.group_names[column - 1] for column in (explanation.first, explanation.second))
    ends = focal.between(focal.labels().index(decision.set)) if decision.word == "between" else ""
    who = f"{noun.capitalize()} {name}" if name.isdecimal() else name
    sure = f"{decision.confidence:.2f}"
    if decision.word == "nowhere":
        place = f"{who} belongs to no group (mass {sure} on none); the closest is {a}"
    elif decision.word == "between":
        place = f"{who} lies between {ends} (belief {sure} in these together)"
    elif decision.word == "undecided":
        place = f"{who} is undecided: {a} is the most likely (belief {sure})"
    else:
        place = f"{who} {decision.word} belongs to {a} (belief {sure})"
    kind = f"{explanation.kind} " if explanation.kind else ""
    most = [f"{kind if '–' in part else _of_one(kind)}{part} ({share:.0%})" for part, share in explanation.far]
    far = listed(most, "and") if most else ""
    if decision.word == "nowhere":
        apart = ""
        if explanation.otherwise is not None:
            column, cluster = explanation.otherwise
            apart = f" Apart from {column}, it looks like {focal.group_names[cluster - 1]}."
        return f"{place}: it is far from {a}, mostly in {far}.{apart}" if far else f"{place}.{apart}"
    why = _pulled(explanation, a, b, kind, one=decision.word != "between")
    if explanation.distance_set is not None:
        nearest = f"it is closest to the prototype between {ends}"
        why = f"{nearest}; {why}" if why else nearest
    doubt = f" It may belong to no group: most of its distance comes from {far}." if far else ""
    return f"{place}: {why}.{doubt}{_idle(explanation)}" if why else f"{place}.{doubt}{_idle(explanation)}"


def _idle(explanation: Explanation) -> str:
    """Return which columns don't distinguish the two groups; empty if all do."""
    far = {name for name, _ in explanation.far}
    some = [name for name in explanation.idle if name not in far]
    if len(some) > MOST_NAMED:
        some = [*some[: MOST_NAMED - 1], f"{len(some) - MOST_NAMED + 1} more"]
    tell = "tells" if len(some) == 1 else "tell"
    return f" {listed(some, 'and')} {tell} these two groups apart no better than chance." if some else ""


def _pulled(explanation: Explanation, a: str, b: str, kind: str, *, one: bool) -> str:
    """Return the arguments for either cluster; empty if there are none.

    ``one``: the object is assigned to the first; if only the second has arguments, the sentence says so.
    """
    much = max(MUCH * sum(abs(part.pull) for part in explanation.parts), explanation.negligible)
    strongest = sorted(explanation.parts, key=lambda part: -abs(part.pull))
    sides: dict[str, str] = {}
    said: list[Part] = []
    for cluster, sign in ((a, 1.0), (b, -1.0)):
        named = [part for part in strongest if sign * part.pull > much][:MOST_NAMED]
        said += named
        if named:
            plain = ("", f"closest to {cluster}")  # a view without further information
            names = listed([part.name if part.value in plain else _with_value(part) for part in named], "and")
            single = len(named) == 1 and "–" not in named[0].name
            verb = "pulls" if len(named) == 1 and (single or not kind) else "pull"
            sides[cluster] = f"{_of_one(kind) if single else kind}{names} {verb} it to {cluster}"
    if one and a not in sides and b in sides:
        nearer = explanation.distance_first <= explanation.distance_second
        yet = f"overall it is closer to {a}" if nearer else f"sets that contain {a} have more of its mass"
        return f"{sides[b]}, but {yet}"
    middle = [part for part in strongest if part not in said and _as_argument(part) in explanation.to_set]
    if list(sides) == [a] and middle:
        keep = "keeps" if len(middle) == 1 else "keep"
        sides[b] = f"but {listed([_with_value(part) for part in middle], 'and')} {keep} it midway to {b}"
    return ", ".join(sides.values())


def _of_one(kind: str) -> str:
    """Return what a single part is called."""
    return kind.replace("steps", "step")


def _as_argument(part: Part) -> str:
    """Return a part as it is among the arguments for the prototype of an object's set."""
    return f"{part.name}: {part.value}" if part.value else part.name


def _with_value(part: Part) -> str:
    """Return a column and the object's value, with the unit at the end of the name: "wind (6.3 m/s)"."""
    name, unit = split_unit(part.name)
    return f"{name} ({with_unit(part.value, unit)})"


def five_counts(counts: Mapping[str, int], clear: float) -> str:
    """Return the number of objects by word in one line that defines "clearly".

    Examples
    --------
    >>> five_counts({"clearly": 8, "rather": 1, "between": 2, "undecided": 0, "nowhere": 1}, 0.75)
    'clearly 8, rather 1, between 2, undecided 0, nowhere 1 (clearly: a belief of at least 0.75)'
    """
    each = ", ".join(f"{word} {grouped(count)}" for word, count in counts.items())
    return f"{each} (clearly: a belief of at least {clear:g})"


def _groups(partition: CredalPartition | ScatteredPartition, table: Counts, merged: bool, noun: str) -> str:
    c, n = partition.n_clusters, len(partition)
    if merged:
        return (
            f"Fewer than {c} separate groups were found among the {number_of(n, noun)}: prototypes of different groups "
            "have merged, so these groups can't be told apart (see Warnings)."
        )
    counts = table[WORDS.index("clearly")]
    sure = int(counts.sum())
    names = partition.focal_sets.group_names
    sizes = [f"{grouped(counts[k + 1])} to {name}" for k, name in enumerate(names)]
    shown = sizes if c <= 6 else [*sizes[:5], f"{grouped(int(counts[6 : c + 1].sum()))} to the other {c - 5}"]
    verb = "belongs" if sure == 1 else "belong"
    of_all = f"Of {number_of(n, noun)}, {grouped(sure)} ({share_of(sure, n)})"
    of_all = f"All {number_of(n, noun)}" if sure == n > 1 else of_all
    if c == 1:
        return f"There is one group. {of_all} clearly {verb} to it.{_less_clear(table)}"
    return f"{of_all} clearly {verb} to one of {c} groups: {listed(shown, 'and')}.{_less_clear(table)}"


def _less_clear(table: Counts) -> str:
    """Return the "rather" and "undecided" objects in words; empty if there are none."""
    counts = counts_of(table)
    rather, undecided = counts["rather"], counts["undecided"]
    parts = []
    if rather:
        parts.append(f"{counted(rather, 'rather belongs', 'rather belong')} to one")
    if undecided:
        parts.append(f"{counted(undecided, 'is', 'are')} undecided")
    return f" {listed(parts, 'and')}." if parts else ""


def _between(partition: CredalPartition, ids: Sequence[str], best: NDArray[np.intp], counts: Counts, noun: str) -> str:
    c, focal = partition.n_clusters, partition.focal_sets
    total = int(counts[c + 1 :].sum())
    if c == 1:
        return "With one group, none can lie between groups."
    if len(focal) == c:
        return "Objects between groups were not looked for: the model has no sets of several groups."
    if total == 0:
        return _none_between(nearly_between(partition.masses, c))
    start = f"{counted(total, 'lies', 'lie')} between groups"
    if total <= FEW:
        rows = np.flatnonzero(best > c)
        words = focal.in_words()
        named = [f"{ids[i]} ({words[best[i]]})" for i in rows]
        return f"{start}: {_numbered([ids[i] for i in rows], noun)}{listed(named, 'and')}."
    column = int(counts[c + 1 :].argmax()) + c + 1
    if counts[column] == total:
        return f"{start}: all between {focal.between(column)}."
    return f"{start}, most often between {focal.between(column)} ({grouped(counts[column])})."


def _none_between(near: int) -> str:
    return f"None lies between groups; {counted(near, 'nearly does', 'nearly do')}." if near else NOBODY


def _numbered(names: Sequence[str], noun: str) -> str:
    """Return the noun before objects with numbers as names, which could be read as counts."""
    return f"{noun if len(names) == 1 else plural(noun)} " if all(map(str.isdecimal, names)) else ""


def _outliers(partition: CredalPartition, ids: Sequence[str], best: NDArray[np.intp], noun: str) -> str:
    rows = np.flatnonzero(best == 0)
    if not len(rows):
        return "There are no outliers."
    rows = rows[np.argsort(-partition.masses[rows, 0], kind="stable")]
    start = f"{counted(len(rows), 'belongs', 'belong')} to no group"
    names = [str(ids[i]) for i in rows[: FEW if len(rows) <= FEW else MOST_NAMED]]
    named = f"{_numbered(names, noun)}{listed(names, 'and')}"
    return f"{start}: {named}." if len(rows) <= FEW else f"{start}; farthest out: {named}."
