"""Two partitions of the same objects side by side: who moved, which groups split or merged, how alike they are."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any, cast, overload

import numpy as np

from softecm._atomic import write_text
from softecm._checks import make_frame
from softecm._version import __version__
from softecm.belief import CredalPartition
from softecm.belief.combination import renumbered
from softecm.figures.colours import set_colors
from softecm.report.group_changes import GroupChanges, group_changes
from softecm.report.inputs import Comparing, Data, FloatArray, IntArray
from softecm.report.templating import render_page
from softecm.report.words import grouped, listed, share_of
from softecm.scores import adjusted_rand_index, credal_rand_index, jousselme_distance

COMPARED = 300  # objects whose pairs are compared
RESAMPLES = 100  # for intervals
PART = 0.2  # of a group's objects that must go elsewhere for it to be split
MOST_LISTED = 60
FIRST = 10  # that a notebook lists


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What differs between two partitions; made by :func:`compare`.

    Attributes
    ----------
    first, second : CredalPartition
        The second has its clusters numbered as those of the first that they are most like.
    ids : sequence of str
    names : tuple of str
        What the two are called.
    alone : tuple of int
        How many objects only the first has, and only the second: they are not compared.
    """

    first: CredalPartition
    second: CredalPartition
    ids: Sequence[str]
    names: tuple[str, str]
    alone: tuple[int, int] = (0, 0)

    def __len__(self) -> int:
        return len(self.first)

    @cached_property
    def apart(self) -> FloatArray:
        """How far each object's masses differ, (n,): 0 where they are equal, 1 where all of it is elsewhere."""
        more = self.second.n_clusters  # never fewer: the second is numbered as the first
        first, own = (self.first.masses, self.first.focal_sets), range(self.first.n_clusters)
        return jousselme_distance(CredalPartition(*renumbered(first, list(own), more)), self.second)

    @cached_property
    def moved(self) -> IntArray:
        """Objects that are said to be in another set, those whose masses differ most first."""
        elsewhere = np.flatnonzero(self.first.sets() != self.second.sets())
        order: IntArray = elsewhere[np.argsort(-self.apart[elsewhere], kind="stable")]
        return order

    @cached_property
    def table(self) -> IntArray:
        """Objects by cluster in the first (rows) and in the second (columns), by likeliest cluster."""
        counts = np.zeros((self.first.n_clusters, self.second.n_clusters), dtype=np.intp)
        np.add.at(counts, (self.first.labels(), self.second.labels()), 1)
        return counts

    @property
    def splits(self) -> dict[str, list[str]]:
        """Groups of the first whose objects are in several groups of the second, a fifth or more in each."""
        return _parts(self.table, self.first.focal_sets.cluster_names, self.second.focal_sets.cluster_names)

    @property
    def merges(self) -> dict[str, list[str]]:
        """Groups of the second that hold a fifth or more of several groups of the first."""
        shares = self.table / np.maximum(self.table.sum(1, keepdims=True), 1)
        ours, theirs = self.first.focal_sets.cluster_names, self.second.focal_sets.cluster_names
        whole = shares >= 0.5  # most of a group went there
        origins = {theirs[k]: [ours[j] for j in np.flatnonzero(whole[:, k])] for k in range(len(theirs))}
        return {name: groups for name, groups in origins.items() if len(groups) > 1}

    @cached_property
    def scores(self) -> dict[str, tuple[float, float, float]]:
        """How alike they are, each with an interval of 95 % over resamples of the objects.

        ``same set``: the part of the objects said to be in the same set. ``adjusted Rand index``: of the likeliest
        clusters. ``credal Rand index``: of what is said of pairs, on a sample of many objects.
        """
        rng = np.random.default_rng(0)
        same = (self.first.sets() == self.second.sets()).astype(np.float64)
        some = np.sort(rng.permutation(len(self))[:COMPARED])
        mine, theirs = self.first.labels(), self.second.labels()
        return {
            "same set": _interval(lambda rows: float(same[rows].mean()), np.arange(len(self)), rng),
            "adjusted Rand index": _interval(
                lambda rows: float(adjusted_rand_index(mine[rows], theirs[rows])), np.arange(len(self)), rng
            ),
            "credal Rand index": _interval(
                lambda rows: float(credal_rand_index(self.first[rows], self.second[rows])), some, rng
            ),
        }

    def sentences(self) -> list[str]:
        """What differs, in a few sentences."""
        n, m = len(self), len(self.moved)
        there = "is" if m == 1 else "are"
        both = " in both" if any(self.alone) else ""
        lines = [
            f"Of {grouped(n)} objects{both}, {grouped(m)} ({share_of(m, n)}) {there} in another set in {self.names[1]}."
        ]
        if any(self.alone):
            gone, new = (f"{grouped(k)} {'is' if k == 1 else 'are'}" for k in self.alone)
            lines.append(f"{gone} only in {self.names[0]} and {new} new in {self.names[1]}: they are not compared.")
        for name, parts in self.splits.items():
            lines.append(f"{name} of {self.names[0]} is split into {listed(parts, 'and')}.")
        for name, groups in self.merges.items():
            lines.append(f"{listed(groups, 'and')} of {self.names[0]} are together in {name} of {self.names[1]}.")
        if not self.splits and not self.merges:
            lines.append("No group is split, and none are merged.")
        return lines

    def to_frame(self, backend: str | None = None) -> Any:
        """A data frame, a row an object: what each says of it, whether it moved, how far its masses differ."""
        before, after = self.first.decisions(), self.second.decisions()
        return make_frame(
            {
                "id": list(self.ids),
                "before": [one.set for one in before],
                "after": [one.set for one in after],
                "said before": before.words.tolist(),
                "said after": after.words.tolist(),
                "moved": self.first.sets() != self.second.sets(),
                "distance": self.apart,
            },
            backend,
        )

    @property
    def facts(self) -> dict[str, Any]:
        """What the page says, for machines."""
        return {
            "names": list(self.names),
            "n_objects": len(self),
            "n_gone": self.alone[0],
            "n_new": self.alone[1],
            "sentences": self.sentences(),
            "moved": [str(self.ids[i]) for i in self.moved],
            "splits": self.splits,
            "merges": self.merges,
            "scores": {name: {"value": v, "interval": [low, high]} for name, (v, low, high) in self.scores.items()},
            "table": self.table.tolist(),
        }

    @property
    def html(self) -> str:
        """One self-contained page."""
        ours, theirs = self.first.focal_sets, self.second.focal_sets
        there = np.flatnonzero(self.table.sum(0) > 0).tolist()
        most = np.maximum(self.table.sum(1), 1).tolist()
        parts = [
            [(n, f"{100 * n / whole:.0f}") for n in row]
            for row, whole in zip(self.table[:, there].tolist(), most, strict=True)
        ]
        before, after = self.first.decisions(), self.second.decisions()
        return render_page(
            "comparison.html",
            data=self,
            title=f"{self.names[0]} and {self.names[1]}",
            made_by=f"softecm {__version__}",
            theirs=[theirs.cluster_names[k] for k in there],
            crossed=list(zip(ours.cluster_names, set_colors(ours)[1:], parts, strict=False)),
            movers=[(self.ids[i], (before[i], after[i]), self.apart[i]) for i in self.moved[:MOST_LISTED].tolist()],
        )

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page; it appears whole or not at all, and an existing file is replaced."""
        write_text(path, self.html)

    def _repr_html_(self) -> str:
        """The sentences, then the first of those who moved; for notebooks."""
        paragraphs = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.sentences())
        before, after = self.first.decisions(), self.second.decisions()
        rows = [(self.ids[i], before[i].set, after[i].set) for i in self.moved[:FIRST].tolist()]
        lines = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
        heads = "".join(f"<th>{escape(name)}</th>" for name in ("object", *self.names))
        table = f"<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>" if rows else ""
        more = len(self.moved) - len(rows)
        return f"{paragraphs}{table}{f'<p>{more:,} more moved: to_frame().</p>' if more else ''}"

    def __repr__(self) -> str:
        return f"Comparison({len(self)} objects, {len(self.moved)} in another set)"


Ids = Sequence[object] | None


@overload
def compare(
    first: CredalPartition,
    second: CredalPartition,
    *,
    data: None = None,
    ids: Ids = None,
    names: tuple[str, str] = ("A", "B"),
    alone: tuple[int, int] = (0, 0),
) -> Comparison: ...


@overload
def compare(
    first: Comparing,
    second: Comparing,
    *,
    data: tuple[Data, Data],
    ids: tuple[Ids, Ids] | None = None,
    names: tuple[str, str] = ("A", "B"),
    alone: tuple[int, int] = (0, 0),
) -> GroupChanges: ...


def compare(
    first: CredalPartition | Comparing,
    second: CredalPartition | Comparing,
    *,
    data: tuple[Data, Data] | None = None,
    ids: Any = None,
    names: tuple[str, str] = ("A", "B"),
    alone: tuple[int, int] = (0, 0),
) -> Comparison | GroupChanges:
    """What differs between two partitions of the same objects, or between the groups of two models of different ones.

    Of the same objects (two runs, before and after), give the partitions: who moved, which groups split or merged. Of
    different objects (two months, two shops), give the models and their data: groups are matched by their prototypes, with
    a distance in units of their spread, and it is said which grew, shrank, appeared or vanished.

    Parameters
    ----------
    first, second : CredalPartition, or fitted models with prototypes
        Clusters need not be numbered alike, nor be as many.
    data : pair, optional
        With models: the objects of each.
    ids : sequence of length n, optional
        What the objects are called. By default the ids of the partitions, by which their objects are matched where they
        are not the same; without any, numbers from 1. With models, a pair of such.
    names : pair of str, default=("A", "B")
        What the two partitions are called.
    alone : pair of int, default=(0, 0)
        How many objects there are beside, in the first only and in the second only (gone and new), to be said.

    Returns
    -------
    Comparison, or GroupChanges
        ``sentences()``, ``moved``, ``to_frame()``, ``write(path)`` for one page; of partitions ``splits``, ``merges``,
        ``scores``; of models ``groups``, ``grown``, ``shrunk``, ``appeared``, ``vanished``.

    Examples
    --------
    >>> from softecm import CredalPartition, report
    >>> found = report.compare(CredalPartition.from_hard([0, 0, 1, 1]), CredalPartition.from_hard([1, 1, 0, 1]))
    >>> found.sentences()[0], found.moved.tolist()
    ('Of 4 objects, 1 (25 %) is in another set in B.', [3])
    """
    called_so = (str(names[0]), str(names[1]))
    partitions = isinstance(first, CredalPartition) or isinstance(second, CredalPartition)
    if not partitions and hasattr(first, "partition_") and hasattr(second, "partition_"):
        return _of_models(cast("Comparing", first), cast("Comparing", second), data, ids, called_so)
    if not isinstance(first, CredalPartition):
        raise TypeError(f"first must be a CredalPartition; got {type(first).__name__}. Give model.partition_.")
    if not isinstance(second, CredalPartition):
        raise TypeError(f"second must be a CredalPartition; got {type(second).__name__}. Give model.partition_.")
    if ids is None and first.ids is not None and second.ids is not None:
        first, second, alone = _common(first, second)
    if len(first) != len(second):
        raise ValueError(
            f"first and second must be about the same objects, in the same order; got {len(first)} and {len(second)} "
            "objects. Give the partitions of the objects they have in common."
        )
    if len(first) < 2:
        raise ValueError(f"partitions must have at least two objects to be compared; got {len(first)}.")
    known = first.ids if ids is None else ids
    called = [str(i + 1) for i in range(len(first))] if known is None else [str(name) for name in known]
    if len(called) != len(first):
        raise ValueError(f"ids must have one entry for each of the {len(first)} objects; got {len(called)}.")
    return Comparison(first, second.match(first), called, called_so, alone)


def _of_models(
    first: Comparing, second: Comparing, data: tuple[Data, Data] | None, ids: Any, names: tuple[str, str]
) -> GroupChanges:
    if data is None:
        raise TypeError(
            "data must be a pair, the objects of the first and of the second model, to measure the spread of groups; got "
            "None. Give data=(X, Y), or the partitions of the same objects."
        )
    return group_changes((first, second), data, (None, None) if ids is None else ids, names)


def _common(
    first: CredalPartition, second: CredalPartition
) -> tuple[CredalPartition, CredalPartition, tuple[int, int]]:
    """The objects of both by their ids, in the order of the first, and how many only one of them has."""
    ours, theirs = _places(first), _places(second)
    both = [name for name in ours if name in theirs]
    if len(ours) != len(first) or len(theirs) != len(second) or not both:  # no names that tell objects apart
        return first, second, (0, 0)
    alone = len(first) - len(both), len(second) - len(both)
    return first[[ours[name] for name in both]], second[[theirs[name] for name in both]], alone


def _places(partition: CredalPartition) -> dict[str, int]:
    """Where the object of each id is."""
    return {} if partition.ids is None else {str(name): i for i, name in enumerate(partition.ids)}


def _parts(counts: IntArray, ours: Sequence[str], theirs: Sequence[str]) -> dict[str, list[str]]:
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    destinations = {ours[j]: [theirs[k] for k in np.flatnonzero(shares[j] >= PART)] for j in range(len(ours))}
    return {name: parts for name, parts in destinations.items() if len(parts) > 1}


def _interval(
    score: Callable[[IntArray], float], rows: IntArray, rng: np.random.Generator
) -> tuple[float, float, float]:
    """A score, and the interval of it over resamples of the objects."""
    drawn = [score(rng.choice(rows, len(rows))) for _ in range(RESAMPLES)]
    low, high = np.quantile(drawn, (0.025, 0.975))
    return score(rows), float(low), float(high)
