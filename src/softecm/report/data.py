"""What a report is drawn from: plain values, no estimator."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from softecm.belief import CredalPartition
from softecm.belief.decided import CLEAR

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

MOST_DRAWN = 20_000
MOST_EXPLAINED = 30  # of each kind: in doubt, typical, far out


@dataclass(frozen=True)
class Attribute:
    """A column of the table, for the objects that are drawn."""

    name: str
    kind: Literal["number", "category"]
    values: Sequence[object] | FloatArray  # numbers (nan: missing), or words (None: missing)


@dataclass(frozen=True)
class Part:
    """What one attribute, or one stretch of a series, says about an object between two clusters."""

    name: str
    value: str
    at_first: str
    at_second: str
    pull: float  # above 0: nearer to the first; below: nearer to the second


@dataclass(frozen=True)
class Explanation:
    """Why an object is where it is: the two clusters nearest to it, and what pulls it to which."""

    first: int  # columns of the mass matrix
    second: int
    distance_first: float
    distance_second: float
    parts: tuple[Part, ...] = ()
    distance_set: float | None = None  # to the prototype of its set of several clusters, where that is nearest
    to_set: tuple[str, ...] = ()  # what speaks most for that prototype
    far: tuple[
        tuple[str, float], ...
    ] = ()  # of an outlier: what makes most of its distance to the first, and its share


@dataclass(frozen=True)
class ReportData:
    """Everything a report shows.

    Parameters
    ----------
    title : str
        What was clustered, such as a file's name.
    partition : CredalPartition
        Of all n objects.
    ids : sequence of str of length n
    rows : ndarray of int
        The objects drawn one by one (all, or a sample of many); the arrays below have one entry for each.
    points : ndarray of shape (len(rows), 2)
        Their places on the map.
    distances : ndarray of shape (len(rows),), optional
        Distance of each to its nearest cluster's prototype.
    attributes : sequence of Attribute
        Their values; empty for series.
    prototypes : sequence of rows
        For tables: the cells of each set's prototype, in the order of the focal sets.
    prototype_points : ndarray of shape (f, 2), optional
    series, prototype_series : sequences of (L, d) arrays, optional
        For series instead of attributes and prototypes.
    medoids : sequence of str
        For dissimilarities instead of prototypes: the object that stands for each set.
    explanations : mapping from object to Explanation
    """

    title: str
    partition: CredalPartition
    ids: Sequence[str]
    rows: IntArray
    points: FloatArray
    distances: FloatArray | None = None
    attributes: Sequence[Attribute] = ()
    prototypes: Sequence[Sequence[object]] = ()
    prototype_points: FloatArray | None = None
    series: Sequence[FloatArray] | None = None
    prototype_series: Sequence[FloatArray] | None = None
    medoids: Sequence[str] = ()
    explanations: Mapping[int, Explanation] = field(default_factory=dict)
    axis_names: tuple[str, str] = ("", "")
    map_note: str = ""
    merged: bool = False
    noun: str = "object"
    clear: float = CLEAR  # belief from which an object is said to belong clearly
    candidates: Mapping[int, float | None] = field(default_factory=dict)  # numbers of groups that were tried
    candidates_note: str = ""  # how one of them was chosen
    history: Sequence[float] = ()
    runs: Mapping[str, Sequence[object]] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    reading: Mapping[str, str] = field(default_factory=dict)
    scores: Mapping[str, float] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    code: str = ""
    made_by: str = ""

    @property
    def html(self) -> str:
        """The report as one self-contained page."""
        from softecm.report.page import render

        return render(self)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page; the file appears whole or not at all.

        Parameters
        ----------
        path : str or path
            Where to write; an existing file is replaced.
        """
        from softecm.report.page import write

        write(self, path)

    def _repr_html_(self) -> str:
        """The page in a frame of its own, for notebooks."""
        page = escape(self.html)
        return (
            f'<iframe srcdoc="{page}" title="{escape(self.title)}" style="width:100%;height:720px;border:0"></iframe>'
        )


def noteworthy(
    partition: CredalPartition, distances: FloatArray | None = None, most: int = MOST_EXPLAINED
) -> tuple[IntArray, IntArray, IntArray]:
    """The objects most in doubt, most typical (the best of each cluster in turn), and farthest out.

    Doubt is :meth:`CredalPartition.doubt`; what belongs nowhere comes last there, since it has a list of its own.

    Examples
    --------
    >>> from softecm import CredalPartition, FocalSets
    >>> p = CredalPartition([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]], FocalSets.full(2))
    >>> [int(rows[0]) for rows in noteworthy(p)]
    [2, 0, 3]
    """
    in_doubt = np.lexsort((-partition.doubt(), partition.masses.argmax(1) == 0))[:most]
    c = partition.n_clusters
    single = partition.masses[:, 1 : c + 1]
    tie = np.zeros(len(partition)) if distances is None else distances
    each = [np.lexsort((tie, -single[:, k]))[:most] for k in range(c)]
    turns = np.array([rows[i] for i in range(min(most, len(partition))) for rows in each], dtype=np.intp)
    typical = turns[np.sort(np.unique(turns, return_index=True)[1])][:most]
    far = np.lexsort((-tie, -partition.masses[:, 0]))[:most]
    return in_doubt, typical, far


def choose_rows(partition: CredalPartition, keep: IntArray, most: int = MOST_DRAWN) -> IntArray:
    """The objects to draw: all, or those to keep and an even sample of the rest, in their order.

    Examples
    --------
    >>> choose_rows(CredalPartition.from_hard([0] * 100), np.array([3]), most=5).size
    5
    """
    n = len(partition)
    if n <= most:
        return np.arange(n)
    keep = np.unique(keep)[:most]
    others = np.setdiff1d(np.arange(n), keep)
    sample = np.random.default_rng(0).choice(others, most - len(keep), replace=False)
    return np.sort(np.concatenate([keep, sample]))
