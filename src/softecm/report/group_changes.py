"""Comparison of results of different objects (two months, two shops): same, grown, shrunk, new, vanished groups."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from softecm._atomic import write_text
from softecm._checks import make_frame
from softecm._text import counted, grouped, number_of, opening, share_of
from softecm.report.inputs import Comparing, Data, FloatArray, IntArray, names_of, pairwise
from softecm.report.templating import render, render_page
from softecm.spaces.views import n_objects

# Distances of a typical member from its own group: prototypes farther apart are those of different groups.
MATCHED = 1.5
CHANGED, SURE = 0.2, 3.0  # of a group's share, and standard errors, from which it grew or shrank
SHARES = "share_before", "share_after"
LISTED, NAMED = 10, 5  # moved objects, in a table and in a sentence


class GroupChange(NamedTuple):
    """A group of the first result and the matching group of the second; None without a match."""

    first: str | None
    second: str | None
    distance: float  # between their prototypes, in units of their spread
    before: int  # objects
    after: int
    word: str  # same, grown, shrunk, appeared, vanished


@dataclass(frozen=True, eq=False, repr=False)
class GroupChanges:
    """Changes of groups; made by :func:`softecm.report.compare` from two models.

    Attributes
    ----------
    groups : tuple of GroupChange
        Groups of the first in order, then new ones.
    names : tuple of str
        Names of the two results.
    ids : pair of sequences of str
        Names of their objects.
    labels : pair of ndarrays
        The likeliest group of each object, -1 for outliers.
    """

    groups: tuple[GroupChange, ...]
    names: tuple[str, str]
    ids: tuple[Sequence[str], Sequence[str]]
    labels: tuple[IntArray, IntArray]
    clusters: tuple[Sequence[str], Sequence[str]]  # names

    def _of(self, word: str) -> tuple[str, ...]:
        return tuple(str(one.second or one.first) for one in self.groups if one.word == word)

    @property
    def appeared(self) -> tuple[str, ...]:
        """Groups only in the second."""
        return self._of("appeared")

    @property
    def vanished(self) -> tuple[str, ...]:
        """Groups only in the first."""
        return self._of("vanished")

    @property
    def grown(self) -> tuple[str, ...]:
        """Groups with a clearly larger share in the second, by their names there."""
        return self._of("grown")

    @property
    def shrunk(self) -> tuple[str, ...]:
        """Groups with a clearly smaller share in the second, by their names there."""
        return self._of("shrunk")

    @cached_property
    def moved(self) -> list[tuple[str, str, str]]:
        """Objects with an id in both that are in another group: id, group in the first, group in the second."""
        same = {(one.first, one.second) for one in self.groups} | {("no group", "no group")}
        before, after = (
            {name: clusters[k] if k >= 0 else "no group" for name, k in zip(ids, labels.tolist(), strict=True)}
            for ids, labels, clusters in zip(self.ids, self.labels, self.clusters, strict=True)
        )
        both = ((name, here, after[name]) for name, here in before.items() if name in after)
        return [(name, here, there) for name, here, there in both if (here, there) not in same]

    def _first_moved(self, most: int) -> list[tuple[str, str, str]]:
        """Return the first moved objects; a new group may have the name of another one in the first result."""
        return [(name, here, f"new {to}" if to in self.appeared else to) for name, here, to in self.moved[:most]]

    @property
    def n_objects(self) -> tuple[int, int]:
        """Number of objects of each, including outliers."""
        return len(self.ids[0]), len(self.ids[1])

    @property
    def n_outliers(self) -> tuple[int, int]:
        """Number of outliers, which are in no group, but count in the totals for shares."""
        before, after = (int((labels < 0).sum()) for labels in self.labels)
        return before, after

    def sentences(self) -> list[str]:
        """Return sentences about the number of objects, each group, and the outliers."""
        (a, b), (n, m) = self.names, self.n_objects
        lines = [
            f"{a} has {number_of(n, 'object')} and {b} {grouped(m)}; a group grew or shrank if its share of them did."
        ]
        for one in self.groups:
            before, after = share_of(one.before, n), share_of(one.after, m)
            if one.word == "vanished":
                gone = f"{opening(str(one.first))} of {a} ({before}, {number_of(one.before, 'object')})"
                lines.append(f"{gone} disappeared in {b}.")
            elif one.word == "appeared":
                lines.append(f"{opening(str(one.second))} of {b} ({after}, {number_of(one.after, 'object')}) is new.")
            else:
                first = opening(str(one.first))
                called = first if one.first == one.second else f"{first} of {a} is {one.second} of {b} and"
                counts = f"{grouped(one.before)} → {number_of(one.after, 'object')}"
                if one.word == "same":
                    alike = abs(one.after / m - one.before / n) <= CHANGED * one.before / n
                    said = "kept about the same share" if alike else "may have changed by chance"
                    lines.append(f"{called} {said} ({before} → {after}, {counts}).")
                else:
                    verb = {"grown": "grew", "shrunk": "shrank"}[one.word]
                    lines.append(f"{called} {verb} from {before} to {after} ({counts}).")
        if any(self.n_outliers):
            gone, new = (_sized(k, whole) for k, whole in zip(self.n_outliers, self.n_objects, strict=True))
            lines.append(f"In no group: {gone} in {a}, {new} in {b}.")
        return lines

    def details(self) -> list[str]:
        """Return the first objects of both that are in another group, if any."""
        named = ", ".join(f"{name} ({here} → {there})" for name, here, there in self._first_moved(NAMED))
        more = f" and {grouped(len(self.moved) - NAMED)} more" if len(self.moved) > NAMED else ""
        verb = counted(len(self.moved), "object of both is", "objects of both are")
        return [f"{verb} in another group: {named}{more}"] if self.moved else []

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a data frame, one row per group, with its share of the objects before and after."""
        rows = self._rows()
        return make_frame({name: [row[name] for row in rows] for name in (*GroupChange._fields, *SHARES)}, backend)

    def _rows(self) -> list[dict[str, object]]:
        """Return each group as values by name, with its share of the objects before and after."""
        n, m = self.n_objects
        return [{**one._asdict(), **dict(zip(SHARES, (one.before / n, one.after / m)))} for one in self.groups]

    @property
    def facts(self) -> dict[str, object]:
        """The page's content as data."""
        return {
            "names": list(self.names),
            "n_objects": list(self.n_objects),
            "n_outliers": list(self.n_outliers),
            "groups": self._rows(),
            "moved": len(self.moved),
            "sentences": self.sentences(),
        }

    @property
    def html(self) -> str:
        """One page."""
        n, m = self.n_objects
        rows = [
            (
                one.first or "–",
                (
                    one.second or "–",
                    one.word,
                    _sized(one.before, n),
                    _sized(one.after, m),
                    f"{one.distance:.1f}" if np.isfinite(one.distance) else "",
                ),
            )
            for one in self.groups
        ]
        if any(self.n_outliers):
            gone, new = self.n_outliers
            rows.append(("in no group", ("in no group", "", _sized(gone, n), _sized(new, m), "")))
        return render_page("changes.html", data=self, rows=rows, movers=self._first_moved(LISTED))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page atomically; an existing file is replaced."""
        write_text(path, self.html)

    def _repr_html_(self) -> str:
        """Show the sentences, then the first moved objects; for notebooks."""
        return render("comparison_notebook.html", data=self, movers=self._first_moved(LISTED))

    def __repr__(self) -> str:
        counts = {word: len(self._of(word)) for word in ("same", "grown", "shrunk", "appeared", "vanished")}
        return f"GroupChanges({', '.join(f'{count} {word}' for word, count in counts.items() if count)})"


def group_changes(
    models: tuple[Comparing, Comparing],
    data: tuple[Data, Data] | None,
    ids: tuple[Sequence[object] | None, Sequence[object] | None],
    names: tuple[str, str],
) -> GroupChanges:
    """Match the groups of two models by their prototypes, and count their objects."""
    if data is None:
        raise TypeError(
            "data must be a pair, the objects of the first and of the second model, to measure the spread of groups; got "
            "None. Pass data=(X, Y), or the partitions of the same objects."
        )
    for model, name in zip(models, ("first", "second"), strict=True):
        if not hasattr(model, "model_") or pairwise(model):
            raise TypeError(
                f"{name} must have prototypes in columns or series for a comparison of models; "
                f"{type(model).__name__} has none. Compare partitions of the same objects instead."
            )
    labels = [_labels(model, X) for model, X in zip(models, data, strict=True)]
    distances = _prototype_distances(models, data, labels)
    rows, columns = linear_sum_assignment(np.minimum(distances, MATCHED))  # larger distances are no match
    match = {int(i): int(j) for i, j in zip(rows, columns, strict=True) if distances[i, j] <= MATCHED}
    before, after = (model.partition_.focal_sets.group_names for model in models)
    old, new = (np.bincount(k[k >= 0], minlength=len(c)).tolist() for k, c in zip(labels, (before, after), strict=True))
    both = [names_of(X, n_objects(X), own) for X, own in zip(data, ids, strict=True)]
    groups = []
    for i, name in enumerate(before):
        if (j := match.get(i)) is None:
            groups.append(GroupChange(name, None, np.inf, old[i], 0, "vanished"))
        else:
            word = share_word(old[i], new[j], len(both[0]), len(both[1]))
            groups.append(GroupChange(name, after[j], float(distances[i, j]), old[i], new[j], word))
    unmatched = [j for j in range(len(after)) if j not in match.values()]
    groups += [GroupChange(None, after[j], np.inf, 0, new[j], "appeared") for j in unmatched]
    return GroupChanges(tuple(groups), names, (both[0], both[1]), (labels[0], labels[1]), (before, after))


def share_word(before: int, after: int, n: int, m: int) -> str:
    """Return whether a group's share of n and of m objects changed by a fifth, and significantly.

    Significantly: by three standard errors of the difference of two shares, for samples with a common share.
    """
    share, change = (before + after) / (n + m), after / m - before / n
    error = np.sqrt(share * (1.0 - share) * (1.0 / n + 1.0 / m))
    if abs(change) <= max(CHANGED * before / n, SURE * error):
        return "same"
    return "grown" if change > 0 else "shrunk"


def _sized(count: int, whole: int) -> str:
    """Return a count and its share."""
    return f"{grouped(count)} ({share_of(count, whole)})"


def _labels(model: Comparing, X: Data) -> IntArray:
    """Return the likeliest cluster of each object, -1 for outliers."""
    partition = model.predict_partition(X)
    return np.where(partition.masses.argmax(1) == 0, -1, partition.labels()).astype(np.intp)


def _prototype_distances(models: Sequence[Comparing], data: Sequence[Data], labels: Sequence[IntArray]) -> FloatArray:
    """Return distances (c, c) of prototypes in units of a typical member's, averaged over both models."""
    one, other = models
    if any((one_side < 0).all() for one_side in labels):
        raise ValueError(
            "first and second must have objects in their groups to match them; all objects of one belong nowhere. Fit it "
            "again with a larger delta."
        )
    try:
        by_first = _in_spreads(one, data[0], labels[0], other).T
        by_second = _in_spreads(other, data[1], labels[1], one)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"first and second must be about objects of the same kind, with the same columns, to match their groups: {error}"
        ) from error
    return (by_first + by_second) / 2


def _in_spreads(model: Comparing, X: Data, labels: IntArray, other: Comparing) -> FloatArray:
    """Return distances (their c, own c) of another model's prototypes, in units of the median of a model's members."""
    c, power = model.partition_.n_clusters, 1.0 / max(model.model_.metric.degree, 1e-9)
    own = np.asarray(model.transform(X), dtype=np.float64)[:, :c] ** power
    usual = np.median(own[np.arange(len(own)), np.maximum(labels, 0)][labels >= 0])
    spread = np.array([np.median(own[labels == k, k]) if (labels == k).any() else usual for k in range(c)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # prototypes of numbers are arrays, without the columns' names
        warnings.filterwarnings("default", "X does not have every column", UserWarning)
        theirs = np.asarray(model.transform(other.cluster_centers_), dtype=np.float64)[:, :c] ** power
    ratio: FloatArray = theirs / np.maximum(spread, 1e-12 + 1e-9 * float(np.max(spread)))
    return ratio
