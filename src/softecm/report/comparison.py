"""Comparison of two partitions of the same objects: moved objects, split or merged groups, similarity."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast, overload

import numpy as np

from softecm._atomic import write_text
from softecm._checks import check_list, check_pair, make_frame
from softecm._text import counted, grouped, listed, opening, share_of
from softecm.belief import CredalPartition
from softecm.belief.assignments import Decisions
from softecm.belief.combination import matching, renumbered
from softecm.plots.style import set_colors
from softecm.report.group_changes import GroupChanges, group_changes
from softecm.report.inputs import Comparing, Data, FloatArray, IntArray
from softecm.report.templating import render, render_page
from softecm.scores import adjusted_rand_index, credal_rand_index, jousselme_distance

COMPARED = 300  # objects for comparing pairs
RESAMPLES = 100  # for intervals
PART = 0.2  # minimum share of a group's objects in another group for a split
MOST_LISTED = 60
FIRST = 10  # listed in a notebook


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Differences between two partitions; made by :func:`compare`.

    Attributes
    ----------
    first, second : CredalPartition
        The clusters of the second are in the order of the most similar ones of the first, and keep their own names.
    ids : sequence of str
    names : tuple of str
        Names of the two partitions.
    alone : tuple of int
        Number of objects only in the first, and only in the second: these are not compared.
    absent : pair of arrays
        Of these, as far as known, the number in each cluster of the first and of the second, outliers last.
    """

    first: CredalPartition
    second: CredalPartition
    ids: Sequence[str]
    names: tuple[str, str]
    alone: tuple[int, int] = (0, 0)
    absent: tuple[IntArray, IntArray] | None = None

    def __len__(self) -> int:
        return len(self.first)

    @cached_property
    def distances(self) -> FloatArray:
        """Distance between the masses of each object, (n,): 0 if equal, 1 if entirely different."""
        more = self.second.n_clusters  # never fewer: numbered like the first
        first, own = (self.first.masses, self.first.focal_sets), range(self.first.n_clusters)
        return jousselme_distance(CredalPartition(*renumbered(first, list(own), more)), self.second)

    @cached_property
    def moved(self) -> IntArray:
        """Objects assigned to another set, those with the largest difference of masses first."""
        elsewhere = np.flatnonzero(self.first.sets() != self.second.sets())
        return elsewhere[np.argsort(-self.distances[elsewhere], kind="stable")]

    @cached_property
    def table(self) -> IntArray:
        """Number of objects by likeliest cluster in the first (rows) and the second (columns), outliers last in both."""
        counts = np.zeros((self.first.n_clusters + 1, self.second.n_clusters + 1), dtype=np.intp)
        np.add.at(counts, (self.first.labels(outliers=-1), self.second.labels(outliers=-1)), 1)
        return counts

    @property
    def _groups(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the groups of both."""
        return self.first.focal_sets.cluster_names, self.second.focal_sets.cluster_names

    @cached_property
    def matches(self) -> dict[str, str]:
        """Matched groups of the first and the second: they share half of the objects of one of them."""
        ours, theirs = self._groups
        smaller = np.minimum(self.table.sum(1)[: len(ours)], self.table.sum(0)[: len(ours)])
        shared = self.table.diagonal()[: len(ours)]
        same = np.flatnonzero((shared > 0) & (2 * shared >= smaller))
        return {ours[k]: theirs[k] for k in same}

    @cached_property
    def _counts(self) -> tuple[IntArray, IntArray]:
        """The table of the first, with absent objects in a last column, and that of the second."""
        tables = self.table, self.table.T
        absent = self.absent or tuple(np.zeros(len(one), dtype=np.intp) for one in tables)
        first, second = (np.column_stack([one, away]) for one, away in zip(tables, absent, strict=True))
        return first, second

    @cached_property
    def _left(self) -> tuple[set[str], set[str]]:
        """Groups of the first, and of the second, without a match, most of whose objects are not in the other."""
        matched = set(self.matches), set(self.matches.values())
        first, second = (
            {name for name, row in zip(names, counts, strict=False) if 2 * row[-1] > row.sum()} - known
            for names, counts, known in zip(self._groups, self._counts, matched, strict=True)
        )
        return first, second

    @property
    def splits(self) -> dict[str, list[str]]:
        """Groups of the first with at least a fifth of their objects in each of several groups of the second."""
        ours, theirs = self._groups
        shares = _shares(self.table)[:-1, :-1]
        gone, new = self._left
        parts = {
            ours[j]: [theirs[k] for k in np.flatnonzero(shares[j] >= PART) if theirs[k] not in new]
            for j in range(len(ours))
            if ours[j] not in gone
        }
        return {name: several for name, several in parts.items() if len(several) > 1}

    @property
    def merges(self) -> dict[str, list[str]]:
        """Groups of the second that hold at least half of several groups of the first."""
        ours, theirs = self._groups
        whole = _shares(self.table)[:-1, :-1] >= 0.5
        gone, new = self._left
        origins = {
            theirs[k]: [ours[j] for j in np.flatnonzero(whole[:, k]) if ours[j] not in gone]
            for k in range(len(theirs))
            if theirs[k] not in new
        }
        return {name: groups for name, groups in origins.items() if len(groups) > 1}

    @property
    def appeared(self) -> dict[str, str]:
        """Groups of the second without a match in the first, and where their objects were."""
        known = {*self.matches.values(), *(name for parts in self.splits.values() for name in parts)}
        return _from_where(self._counts[1], self.second, self.first, known, empty=self.alone[1] > 0)

    @property
    def vanished(self) -> dict[str, str]:
        """Groups of the first without a match in the second, and where their objects are."""
        known = {*self.matches, *(name for groups in self.merges.values() for name in groups)}
        return _from_where(self._counts[0], self.first, self.second, known, empty=self.alone[0] > 0)

    @cached_property
    def scores(self) -> dict[str, tuple[float, float, float]]:
        """Similarities with 95 % intervals over resamples of the objects.

        ``same set``: the share of objects assigned to the same set. ``adjusted Rand index``: of the likeliest clusters,
        with outliers as a group. ``credal Rand index``: of pairs of objects, on a sample of many.
        """
        rng, every = np.random.default_rng(0), np.arange(len(self))
        same = (self.first.sets() == self.second.sets()).astype(np.float64)
        some = np.sort(rng.permutation(len(self))[:COMPARED])
        mine, theirs = self.first.labels(outliers=-1), self.second.labels(outliers=-1)
        return {
            "same set": _interval(lambda i: same[i].mean(), every, rng),
            "adjusted Rand index": _interval(lambda i: adjusted_rand_index(mine[i], theirs[i]), every, rng),
            "credal Rand index": _interval(lambda i: credal_rand_index(self.first[i], self.second[i]), some, rng),
        }

    def sentences(self) -> list[str]:
        """Return the differences in a few sentences."""
        a, b = self.names
        n, m = len(self), len(self.moved)
        there = "is" if m == 1 else "are"
        both = " in both" if any(self.alone) else ""
        lines = [f"Of {grouped(n)} objects{both}, {grouped(m)} ({share_of(m, n)}) {there} in another set in {b}."]
        if any(self.alone):
            gone, new = (counted(k, "is", "are") for k in self.alone)
            lines.append(f"{gone} only in {a} and {new} new in {b}: they are not compared.")
        if other := [f"{ours} of {a} is {theirs} of {b}" for ours, theirs in self.matches.items() if ours != theirs]:
            lines.append(f"Groups have other names in {b}: {listed(other, 'and')}.")
        lines += [
            f"{opening(name)} of {a} is split into {listed(parts, 'and')} of {b}."
            for name, parts in self.splits.items()
        ]
        for name, groups in self.merges.items():
            lines.append(f"{opening(listed(groups, 'and'))} of {a} are together in {name} of {b}.")
        lines += [f"{opening(name)} is new in {b}: {origin} in {a}." for name, origin in self.appeared.items()]
        lines += [f"{opening(name)} of {a} is gone in {b}: {now} there." for name, now in self.vanished.items()]
        if len(lines) == 1 + any(self.alone) + bool(other):
            lines.append("No group is split, merged, new or gone.")
        before, after = self.table[-1].sum(), self.table[:, -1].sum()
        if before or after:
            among = f"Outliers among the {grouped(n)} objects in both" if both else "Outliers"
            lines.append(
                f"{among}: {grouped(before)} in {a}, {grouped(after)} in {b}, {grouped(self.table[-1, -1])} in both."
            )
        return lines

    def details(self) -> list[str]:
        """Return the scores with their intervals."""
        return [f"{name} {value:.3f} ({low:.3f} to {high:.3f})" for name, (value, low, high) in self.scores.items()]

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a data frame, one row per object: both decisions, whether it moved, the distance of its masses.

        ``after`` has the names of the second, ``matched`` those of the matched groups of the first.
        """
        in_first = np.array(self.second.focal_sets.labels(self._names_in_first), dtype=object)
        before, after = self.first.decisions(), self.second.decisions()
        return make_frame(
            {
                "id": list(self.ids),
                "before": [one.set for one in before],
                "after": [one.set for one in after],
                "matched": in_first[after.columns],
                "said before": before.words.tolist(),
                "said after": after.words.tolist(),
                "moved": self.first.sets() != self.second.sets(),
                "distance": self.distances,
            },
            backend,
        )

    @property
    def facts(self) -> dict[str, Any]:
        """The page's content as data."""
        return {
            "names": list(self.names),
            "n_objects": len(self),
            "n_gone": self.alone[0],
            "n_new": self.alone[1],
            "sentences": self.sentences(),
            "moved": [str(self.ids[i]) for i in self.moved],
            "matches": self.matches,
            "splits": self.splits,
            "merges": self.merges,
            "appeared": self.appeared,
            "vanished": self.vanished,
            "scores": {name: {"value": v, "interval": [low, high]} for name, (v, low, high) in self.scores.items()},
            "table": self.table.tolist(),
        }

    @property
    def html(self) -> str:
        """One self-contained page."""
        here, there = (np.flatnonzero(self.table.sum(axis) > 0) for axis in (1, 0))
        counts, parts = (whole[np.ix_(here, there)].tolist() for whole in (self.table, 100 * _shares(self.table)))
        cells = [list(zip(*rows, strict=True)) for rows in zip(counts, parts, strict=True)]
        ours, theirs = (
            [(*one.focal_sets.cluster_names, "no group")[k] for k in some.tolist()]
            for one, some in ((self.first, here), (self.second, there))
        )
        colors = set_colors(self.first.focal_sets)
        before, after = self.first.decisions(), self.second.decisions()
        shown, sets = self._after(after), self.first.focal_sets.in_words()
        return render_page(
            "comparison.html",
            data=self,
            theirs=theirs,
            crossed=list(zip(ours, (colors[(k + 1) % (self.first.n_clusters + 1)] for k in here), cells, strict=True)),
            movers=[
                (self.ids[i], ((sets[before.columns[i]], before[i].word), (shown[i], after[i].word)), self.distances[i])
                for i in self.moved[:MOST_LISTED].tolist()
            ],
        )

    def _after(self, decisions: Decisions) -> list[str]:
        """Return the set of each object in the second, with its name in the first if that differs."""
        focal = self.second.focal_sets
        own, as_first = focal.in_words(), focal.in_words(self._names_in_first)
        known = (max(members, default=0) < self.first.n_clusters for members in ((), *focal.sets))
        sets = [
            a if a == b else f"{a} ({b} of {self.names[0]})" if is_known else b
            for a, b, is_known in zip(own, as_first, known, strict=True)
        ]
        return [sets[column] for column in decisions.columns]

    @property
    def _names_in_first(self) -> list[str]:
        """The first's names for the clusters of the second; those without a match keep their names."""
        own = self.second.focal_sets.cluster_names
        return [*self.first.focal_sets.cluster_names, *(f"{name} (new)" for name in own[self.first.n_clusters :])]

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page atomically; an existing file is replaced."""
        write_text(path, self.html)

    def _repr_html_(self) -> str:
        """Show the sentences, then the first moved objects; for notebooks."""
        before, after = self.first.decisions(), self._after(self.second.decisions())
        sets = self.first.focal_sets.in_words()
        movers = [(self.ids[i], sets[before.columns[i]], after[i]) for i in self.moved[:FIRST].tolist()]
        return render("comparison_notebook.html", data=self, movers=movers)

    def __repr__(self) -> str:
        return f"Comparison({len(self)} objects, {len(self.moved)} in another set)"


Ids = Sequence[object] | None
Names = tuple[str, str]


@overload
def compare(
    first: CredalPartition,
    second: CredalPartition,
    *,
    data: None = ...,
    ids: Ids = ...,
    names: Names = ...,
    alone: tuple[int, int] | tuple[CredalPartition, CredalPartition] = ...,
) -> Comparison: ...


@overload
def compare(
    first: Comparing,
    second: Comparing,
    *,
    data: tuple[Data, Data],
    ids: tuple[Ids, Ids] | None = ...,
    names: Names = ...,
) -> GroupChanges: ...


def compare(
    first: CredalPartition | Comparing,
    second: CredalPartition | Comparing,
    *,
    data: tuple[Data, Data] | None = None,
    ids: Any = None,
    names: Names = ("A", "B"),
    alone: tuple[int, int] | tuple[CredalPartition, CredalPartition] = (0, 0),
) -> Comparison | GroupChanges:
    """Compare two partitions of the same objects, or the groups of two models of different objects.

    For the same objects (two runs, before and after), pass the partitions: the result shows which objects moved, and
    which groups split or merged. For different objects (two months, two shops), pass the models and their data: groups
    are matched by the distances of their prototypes, in units of their spread, and the result shows which grew, shrank,
    appeared or vanished.

    Parameters
    ----------
    first, second : CredalPartition, or fitted models with prototypes
        With any numbering and number of clusters.
    data : pair, optional
        The objects of each model.
    ids : sequence of length n, optional
        Names of the objects. By default the ids of the partitions, used to match different sets of objects; otherwise
        numbers from 1. For models, a pair of such sequences.
    names : pair of str, default=("A", "B")
        Names of the two partitions.
    alone : pair of int or of CredalPartition, default=(0, 0)
        Other objects, only in the first and only in the second (gone and new), to be reported: their number, or their
        partitions, by which a group most of whose objects are gone is known.

    Returns
    -------
    Comparison, or GroupChanges
        ``sentences()``, ``moved``, ``to_frame()``, ``write(path)`` for a page; for partitions ``splits``, ``merges``,
        ``scores``; for models ``groups``, ``grown``, ``shrunk``, ``appeared``, ``vanished``.

    Examples
    --------
    >>> from softecm import CredalPartition, report
    >>> found = report.compare(CredalPartition.from_hard([0, 0, 1, 1]), CredalPartition.from_hard([1, 1, 0, 1]))
    >>> found.sentences()[0], found.moved.tolist()
    ('Of 4 objects, 1 (25%) is in another set in B.', [3])
    """
    a, b = check_pair("names", names, "names")
    called = (str(a), str(b))
    if hasattr(first, "predict_partition") and hasattr(second, "predict_partition"):
        models = (cast("Comparing", first), cast("Comparing", second))
        data = None if data is None else check_pair("data", data, "the objects of each model")
        ids = (None, None) if ids is None else check_pair("ids", ids, "lists of ids")
        return group_changes(models, data, ids, called)
    first, second = _partition("first", first), _partition("second", second)
    if ids is None and first.ids is not None and second.ids is not None:
        first, second, alone = _common(first, second)
    if len(first) != len(second):
        raise ValueError(
            f"first and second must be about the same objects, in the same order; got {len(first)} and {len(second)} "
            "objects. Pass the partitions of the objects they have in common; groups of different objects are compared by "
            "compare(model, other, data=(X, Y))."
        )
    if len(first) < 2:
        raise ValueError(f"partitions must have at least two objects to be compared; got {len(first)}.")
    known = first.ids if ids is None else ids
    known = range(1, len(first) + 1) if known is None else check_list("ids", known, "ids")
    objects = [str(name) for name in known]
    if len(objects) != len(first):
        raise ValueError(f"ids must have one entry for each of the {len(first)} objects; got {len(objects)}.")
    first = first.rename(list(first.focal_sets.group_names))
    places, second = _own_names(second, first)
    if not isinstance(alone[0], CredalPartition) or not isinstance(alone[1], CredalPartition):
        return Comparison(first, second, objects, called, alone)
    absent = _counted(alone[0], np.arange(first.n_clusters), first), _counted(alone[1], places, second)
    return Comparison(first, second, objects, called, (len(alone[0]), len(alone[1])), absent)


def _partition(name: str, value: object) -> CredalPartition:
    if not isinstance(value, CredalPartition):
        raise TypeError(f"{name} must be a CredalPartition; got {type(value).__name__}. Pass model.partition_.")
    return value


def _common(
    first: CredalPartition, second: CredalPartition
) -> tuple[CredalPartition, CredalPartition, tuple[int, int] | tuple[CredalPartition, CredalPartition]]:
    """Return the objects of both by their ids, in the order of the first, and those that only one of them has."""
    ours, theirs = _places(first), _places(second)
    both = [name for name in ours if name in theirs]
    if len(ours) != len(first) or len(theirs) != len(second) or not both:  # no names that identify objects
        return first, second, (0, 0)
    gone, new = (
        one[[place for name, place in own.items() if name not in other]]
        for one, own, other in ((first, ours, theirs), (second, theirs, ours))
    )
    return first[[ours[name] for name in both]], second[[theirs[name] for name in both]], (gone, new)


def _places(partition: CredalPartition) -> dict[str, int]:
    """Return the position of each id."""
    return {} if partition.ids is None else {str(name): i for i, name in enumerate(partition.ids)}


def _own_names(second: CredalPartition, first: CredalPartition) -> tuple[IntArray, CredalPartition]:
    """Renumber the second's clusters like the most similar ones of the first, under their own names; the new numbers."""
    matched, own = second.match(first), second.focal_sets.group_names
    into = matching(second.pignistic(), first.pignistic())
    places = dict(zip(into.tolist(), own, strict=True))
    return into, matched.rename([places.get(k, f"no group {k + 1}") for k in range(matched.n_clusters)])


def _counted(some: CredalPartition, places: IntArray, whole: CredalPartition) -> IntArray:
    """Return the number of these objects by likeliest cluster of the whole, outliers last."""
    rows = np.append(places, whole.n_clusters)[some.labels(outliers=-1)]
    return np.bincount(rows, minlength=whole.n_clusters + 1)


def _shares(counts: IntArray) -> FloatArray:
    shares: FloatArray = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    return shares


def _from_where(
    counts: IntArray, of: CredalPartition, other: CredalPartition, known: set[str], *, empty: bool
) -> dict[str, str]:
    """Return groups without a match, and in which groups of the other partition their objects are, if not absent.

    ``empty``: include those without a compared object, because only one of the two has their objects.
    """
    names, places = of.focal_sets.cluster_names, (*other.focal_sets.cluster_names, "no group")
    rows = {name: row for name, row in zip(names, counts.tolist(), strict=False) if name not in known}
    return {
        name: _in_groups(row, places) if any(row[:-1]) else "none of its objects are"
        for name, row in rows.items()
        if any(row) or (empty and not name.startswith("no group "))
    }


def _in_groups(counts: Sequence[int], places: Sequence[str]) -> str:
    """Return how many objects are where, in decreasing order; the last count is of absent ones."""
    most = sorted((k for k, count in enumerate(counts) if count), key=lambda k: -counts[k])
    where = [*(f"in {place}" for place in places), "absent"]
    parts = [f"{counted(counts[k], 'is', 'are')} {where[k]}" for k in most]
    return f"of its {grouped(sum(counts))} objects {listed(parts, 'and')}"


def _interval(
    score: Callable[[IntArray], float], rows: IntArray, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Return a score with its interval over resamples of the objects."""
    low, high = np.quantile([score(rng.choice(rows, len(rows))) for _ in range(RESAMPLES)], (0.025, 0.975))
    return float(score(rows)), float(low), float(high)
