"""Reasons for the position of objects: contributions to distances, by columns or by segments of a series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from typing import ClassVar, NamedTuple, Self, cast

import numpy as np
import torch
from numpy.typing import NDArray

from softecm.belief import CredalPartition
from softecm.belief.assignments import belonging
from softecm.distances import Combined
from softecm.report.columns import TableColumns, keys_of_views
from softecm.report.inputs import Comparing, Data, FloatArray, IntArray, every, in_views, take, views_of
from softecm.spaces.states import States
from softecm.spaces.views import EncodedViews, Views, n_objects

MOST_PARTS = 8
SEGMENTS = 8
OUTLYING = 0.2  # minimum mass on the empty set for explaining an object's distance
MUCH = 0.1  # of a distance: minimum worth naming
SMALL = 0.01  # of a distance: weaker pulls are none
JUDGED, FEWEST = 500, 5  # objects for estimating noise, and minimum in each of two groups
BEYOND = 3.5  # standard errors by which a column must distinguish two groups
MOST_JUDGED = 200  # columns; with more, such as words of texts, all count
MOST_PAGES = 3  # named for one segment of a path
NO_COLUMNS = TableColumns((), (), ())
NEIGHBOURS = 3  # of an object of a matrix, to be named


@dataclass(frozen=True)
class Part:
    """The pull of one attribute, or one segment of a series, on an object between two clusters."""

    name: str
    value: str
    at_first: str
    at_second: str
    pull: float  # above 0: nearer to the first; below: nearer to the second


@dataclass(frozen=True)
class Pulls:
    """The pull of one column (or segment of a series) on an object among several clusters, the candidates."""

    column: str
    value: str
    towards: tuple[float, ...]  # one per candidate; above 0: the object is nearer to it than to the others
    at: tuple[str, ...]  # the values of the candidates' prototypes
    noise: bool = False  # whether it distinguishes these groups no better than noise


@dataclass(frozen=True)
class Explanation:
    """The explanation of an object's position: its two nearest clusters, and what pulls it to each."""

    first: int  # columns of the mass matrix
    second: int
    distance_first: float
    distance_second: float
    parts: tuple[Part, ...] = ()
    distance_set: float | None = None  # to the prototype of its set of several clusters, if that is nearest
    to_set: tuple[str, ...] = ()  # the strongest arguments for that prototype
    #: Of an outlier: the largest contributions to its distance to the first, with their shares.
    far: tuple[tuple[str, float], ...] = ()
    kind: str = ""  # prefix of the parts' names: "steps"
    idle: tuple[str, ...] = ()  # columns that distinguish the two no better than noise
    nearest: tuple[tuple[int, float], ...] = ()  # other objects of a matrix, with their distances
    #: Of an outlier: a column, and the cluster where it clearly is apart from that.
    otherwise: tuple[str, int] | None = None

    @property
    def negligible(self) -> float:
        """The pull below which an object is as near to one cluster as to the other; 0 if distances are unknown."""
        return SMALL * float(np.nan_to_num(max(self.distance_first, self.distance_second)))


def nearest_objects(distances: FloatArray, i: int) -> tuple[tuple[int, float], ...]:
    """Return the nearest others of object i, from its row of a matrix of dissimilarities."""
    order = [j for j in np.argsort(distances, kind="stable").tolist() if j != i][:NEIGHBOURS]
    return tuple((j, float(distances[j])) for j in order)


@dataclass(frozen=True)
class Teller:
    """Turns contributions to a distance into a few named parts; this one, for metrics that are no sums, into none."""

    kind: ClassVar[str] = ""  # prefix of the parts' names
    keys: Sequence[str] = field(default=(), kw_only=True)  # names of the terms

    def named(self, part: str) -> str:
        """Return a part with what it is called: "step 3", "steps 4–6"."""
        kind = self.kind if "–" in part else self.kind.removesuffix("s")
        return f"{kind} {part}".lstrip()

    def about(self, keys: Sequence[str]) -> Self:
        """Return the same for terms of these columns, steps or views."""
        return replace(self, keys=keys)

    def pulls(self, i: int, chosen: Sequence[int], terms: FloatArray) -> list[Pulls]:
        """Return what pulls object i to each of these sets rather than to the others, by its terms (f, attributes)."""
        return []

    def parts(self, i: int, a: int, b: int, terms: FloatArray) -> list[Part]:
        """Return what pulls object i to a rather than to b, without noise."""
        pulls = [one for one in self.pulls(i, (a, b), terms) if not one.noise]
        return [Part(one.column, one.value, one.at[0], one.at[1], one.towards[0]) for one in pulls]

    def far(self, terms: FloatArray) -> list[tuple[str, float]]:
        """Return the largest contributions to a distance, with their shares."""
        return []

    def most_deviating(self, terms: FloatArray) -> tuple[str, int] | None:
        """Return the part that is farthest from all clusters, by terms (clusters, parts); None if none can be left out."""
        return None

    def idle(self, a: int, b: int) -> list[str]:
        """Return what distinguishes a and b no better than noise."""
        return []

    def for_set(self, i: int, own: int, other: int, terms: FloatArray) -> list[str]:
        """Return the strongest arguments for an object's own set rather than for another."""
        parts = [part for part in self.parts(i, own, other, terms) if part.pull > 0]
        parts = sorted(parts, key=lambda part: -part.pull)[:3]
        return [f"{part.name}: {part.value}" if part.value else part.name for part in parts]


@dataclass(frozen=True)
class Attributes(Teller):
    """Terms of a table, one per column."""

    columns: TableColumns  # of the objects explained
    noise: Noise | None = None

    def parts(self, i: int, a: int, b: int, terms: FloatArray) -> list[Part]:
        """Return the columns with the strongest pull."""
        return super().parts(i, a, b, terms)[:MOST_PARTS]

    def pulls(self, i: int, chosen: Sequence[int], terms: FloatArray) -> list[Pulls]:
        """Return all columns with a weight, the strongest first, noise last."""
        towards = towards_each(terms[list(chosen)])
        idle = aside = np.zeros(len(self.keys), dtype=bool)
        if self.noise is not None:
            aside = self.noise.aside
            idle = np.all([self.noise.between(a, b) for a, b in combinations(chosen, 2)] or [aside], axis=0)
        order = np.lexsort((-np.abs(towards).max(0), idle))
        return [self._pull(i, j, chosen, towards, noise=bool(idle[j])) for j in order.tolist() if not aside[j]]

    def _pull(self, i: int, j: int, chosen: Sequence[int], towards: FloatArray, *, noise: bool) -> Pulls:
        columns, key = self.columns, self.keys[j]
        at = tuple(columns.at_prototype(key, k, i) for k in chosen)
        return Pulls(columns.name(key), columns.value(key, i), tuple(towards[:, j].tolist()), at, noise)

    def idle(self, a: int, b: int) -> list[str]:
        """Return such columns, without those of weight 0."""
        if self.noise is None:
            return []
        noisy = self.noise.between(a, b) & ~self.noise.aside
        return [self.columns.name(self.keys[j]) for j in np.flatnonzero(noisy)]

    def far(self, terms: FloatArray) -> list[tuple[str, float]]:
        """Return the columns with the largest contributions, without those of weight 0."""
        if self.noise is not None:
            terms = np.where(self.noise.aside, 0.0, terms)
        return _largest_shares([self.columns.name(key) for key in self.keys], terms, 3)

    def most_deviating(self, terms: FloatArray) -> tuple[str, int] | None:
        """Return the column that is farthest from all clusters, if at least two others have a weight."""
        aside = np.zeros(len(self.keys), dtype=bool) if self.noise is None else self.noise.aside
        j = int(np.where(aside, -1.0, terms.min(0)).argmax())
        return (self.columns.name(self.keys[j]), j) if (~aside).sum() > 2 else None


@dataclass(frozen=True)
class Stretches(Teller):
    """Terms of a series, one per step, combined in a few segments."""

    kind: ClassVar[str] = "steps"
    paths: Sequence[Sequence[str]] = ()  # of the explained objects, if steps are states, such as pages of a visit

    def pulls(self, i: int, chosen: Sequence[int], terms: FloatArray) -> list[Pulls]:
        """Return all segments in order."""
        own, nothing = np.nan_to_num(terms[list(chosen)]), ("",) * len(chosen)
        cuts = spans(np.abs(own).sum(0))
        towards = towards_each(np.stack([own[:, s:e].sum(1) for _, s, e in cuts], 1)).T.tolist()
        named = zip(cuts, towards, strict=True)
        return [Pulls(name, self.pages(i, s, e), tuple(pull), nothing) for (name, s, e), pull in named]

    def pages(self, i: int, begin: int, end: int) -> str:
        """Return the distinct states of an object in a segment, in order; empty if steps are numbers."""
        if self.paths and begin >= len(self.paths[i]):
            return "ended"
        some = list(dict.fromkeys(self.paths[i][begin:end])) if self.paths else []
        return ", ".join(some[:MOST_PAGES]) + (" …" if len(some) > MOST_PAGES else "")

    def for_set(self, i: int, own: int, other: int, terms: FloatArray) -> list[str]:
        """Return segments by their steps."""
        return [self.named(one) for one in super().for_set(i, own, other, terms)]

    def far(self, terms: FloatArray) -> list[tuple[str, float]]:
        """Return the two segments with the largest contributions."""
        cuts = spans(np.abs(terms))
        sums = np.array([np.nansum(terms[s:e]) for _, s, e in cuts])
        return _largest_shares([name for name, _, _ in cuts], np.maximum(sums, 0.0), 2)


@dataclass(frozen=True)
class Voices(Teller):
    """Terms of an object with several views: each view names its nearest cluster."""

    clusters: Sequence[str]

    def parts(self, i: int, a: int, b: int, terms: FloatArray) -> list[Part]:
        """Return all views in order."""
        pull = terms[b] - terms[a]
        nearest = terms[: len(self.clusters)].argmin(0)
        return [
            Part(key, f"closest to {self.clusters[nearest[j]]}", "", "", float(pull[j]))
            for j, key in enumerate(self.keys)
        ]

    def pulls(self, i: int, chosen: Sequence[int], terms: FloatArray) -> list[Pulls]:
        """Return all views, the strongest first."""
        return Attributes(NO_COLUMNS, keys=self.keys).pulls(i, chosen, terms)

    def far(self, terms: FloatArray) -> list[tuple[str, float]]:
        """Return the views with the largest contributions."""
        return _largest_shares(self.keys, terms, 2)

    def for_set(self, i: int, own: int, other: int, terms: FloatArray) -> list[str]:
        """Return the views that favour an object's own set, the strongest first."""
        pull = terms[other] - terms[own]
        return [self.keys[j] for j in largest(pull, len(self.keys)) if pull[j] > 0]


def towards_each(terms: FloatArray) -> FloatArray:
    """Return the mean of the others minus the own, (candidates, parts); zeros for a single candidate."""
    others = max(len(terms) - 1, 1)
    return (terms.sum(0) - terms) / others - terms if len(terms) > 1 else np.zeros_like(terms)


def _largest_shares(names: Sequence[str], terms: FloatArray, most: int) -> list[tuple[str, float]]:
    """Return the largest terms with their shares of the sum, without negligible ones."""
    total = float(terms.sum())
    return [(names[j], float(terms[j] / total)) for j in largest(terms, most) if terms[j] > MUCH * total > 0]


def series_teller(model: Comparing, some: Data) -> Teller:
    """Return the teller for series: by views if there are several, otherwise by steps."""
    return Voices(model.partition_.focal_sets.group_names) if in_views(model) else Stretches(paths_of(model, some))


@dataclass(frozen=True)
class Noise:
    """The columns that distinguish pairs of clusters no better than noise."""

    keys: tuple[str, ...]  # of the columns
    idle: NDArray[np.bool_]  # (c, c, columns)
    aside: NDArray[np.bool_]  # (columns,), without weight in the metric

    def of(self, keys: Sequence[str]) -> Noise:
        """Return the same for the columns of one object: a missing view is one column, and no noise."""
        known = np.array([key in self.keys for key in keys])
        at = [self.keys.index(key) if key in self.keys else 0 for key in keys]
        return Noise(tuple(keys), self.idle[..., at] & known, self.aside[at] & known)

    def between(self, a: int, b: int) -> NDArray[np.bool_]:
        """Return which columns (columns,) are noise between a and b; sets of several clusters are not tested."""
        return self.idle[a, b] if max(a, b) < len(self.idle) else self.aside


def columns_set_aside(model: object) -> frozenset[str]:
    """Return columns of a table without a weight in the distance, because they are uninformative."""
    weights = getattr(getattr(getattr(model, "model_", None), "metric", None), "feature_weights", None)
    return frozenset(name for name, share in (weights or {}).items() if not np.any(share))


def noise_of(model: Comparing, X: Data) -> Noise | None:
    """Test columns for equal pull on the objects of two clusters, by a sample; None if the metric is not a sum.

    A column's pull is the difference of its terms at two prototypes. The difference of its means over the objects of
    the two clusters is compared with its standard error: prototypes also differ in a noise column, but by no more than
    a few standard errors. Objects are weighted by membership, without outliers.
    """
    some = take(X, every(n_objects(X), JUDGED))
    terms = terms_of(model, some)
    if terms is None or len(terms.keys) > MOST_JUDGED:
        return None
    no_weight = columns_set_aside(model)
    aside = np.array([key in no_weight for key in terms.keys])
    c = model.partition_.n_clusters
    members = belonging(model.predict_partition(some).masses)[:, 1 : c + 1]
    idle = np.tile(aside, (c, c, 1))
    for a, b in combinations(range(c), 2):
        if members[:, [a, b]].sum(0).min() < FEWEST:
            continue
        pulls = terms.values[:, b] - terms.values[:, a]
        (here, error), (there, other) = (_mean_and_error(pulls, members[:, k]) for k in (a, b))
        idle[a, b] |= np.abs(here - there) <= BEYOND * np.hypot(error, other)
        idle[b, a] = idle[a, b]
    return Noise(tuple(terms.keys), idle, aside)


def _mean_and_error(values: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the weighted mean of each column, and its standard error."""
    shares = (weights / weights.sum())[:, None]
    mean = (shares * values).sum(0)
    return mean, np.sqrt(np.square(shares * (values - mean)).sum(0))


def paths_of(model: Comparing, some: Data) -> list[list[str]]:
    """Return the states of each object in order; none if steps are numbers."""
    if not isinstance(model.model_.space, States):
        return []
    rows = some.to_numpy().tolist() if hasattr(some, "to_numpy") else list(some)
    return [[str(state) for state in row if state is not None and state == state] for row in rows]


def largest(values: FloatArray, most: int) -> list[int]:
    """Return the indices of the largest values, the first of ties first."""
    return [int(j) for j in np.argsort(-values, kind="stable")[:most]]


def spans(size: FloatArray) -> list[tuple[str, int, int]]:
    """Return a few segments of equal length over the steps, with their names."""
    filled = np.flatnonzero(np.nan_to_num(size) > 0)
    length = int(filled[-1]) + 1 if len(filled) else len(size)
    edges = np.unique(np.linspace(0, length, min(SEGMENTS, length) + 1).round().astype(int)).tolist()
    return [(f"{s + 1}–{e}" if e > s + 1 else str(e), s, e) for s, e in pairwise(edges)]


def explanations(
    model: Comparing, X: Data, partition: CredalPartition, rows: IntArray, teller: Teller | None
) -> dict[int, Explanation]:
    """Explain what pulls each of these objects where.

    ``teller`` numbers the objects like ``rows``; None if only distances are known.
    """
    some = take(X, rows)
    distances = np.asarray(model.transform(some), dtype=np.float64)
    terms = None if teller is None else terms_of(model, some)
    about = Teller() if terms is None or teller is None else teller.about(terms.keys)
    values = np.empty((*distances.shape, 0)) if terms is None else terms.values
    explained = {}
    for i, ((a, b), row) in enumerate(zip(_ends(partition[rows], distances), rows.tolist(), strict=True)):
        masses, own = partition.masses[row], values[i]
        best = int(masses.argmax())
        near = _own_set(best, partition.n_clusters, distances[i])
        most = about.most_deviating(own[: partition.n_clusters]) if best == 0 else None
        otherwise = None if most is None else _otherwise(model, own, *most)
        if otherwise is not None and otherwise[1] != a + 1:
            b = otherwise[1] - 1
        explained[row] = Explanation(
            a + 1,
            b + 1,
            float(distances[i, a]),
            float(distances[i, b]),
            tuple(about.parts(i, a, b, own)) if a != b else (),
            near,
            tuple(about.for_set(i, best - 1, a, own)) if near is not None else (),
            tuple(about.far(own[a])) if best == 0 or masses[0] > OUTLYING else (),
            about.kind,
            tuple(about.idle(a, b)) if a != b and best > 0 else (),
            otherwise=otherwise,
        )
    return explained


def _otherwise(model: Comparing, terms: FloatArray, name: str, j: int) -> tuple[str, int] | None:
    """Return the column and the cluster, if without this term an object would clearly belong to one."""
    d = torch.as_tensor(np.delete(terms, j, axis=1).sum(1))[None]
    masses = model.model_.cost(like=d).select(0).shares(d).masses.double().numpy()
    decision = CredalPartition(masses, model.partition_.focal_sets).decisions()
    return (name, int(decision.columns[0])) if decision.words[0] == "clearly" else None


def _own_set(column: int, n_clusters: int, distances: FloatArray) -> float | None:
    """Return the distance to the prototype of an object's set of several clusters, if that is the nearest of all."""
    if column <= n_clusters or distances[column - 1] > distances[:n_clusters].min():
        return None
    return float(distances[column - 1])


def _ends(some: CredalPartition, distances: FloatArray) -> list[tuple[int, int]]:
    """Return the two clusters of each explanation: the likeliest of its set, then of the others; outliers' nearest."""
    likely = some.pignistic() + some.set_indicators()
    outside = some.masses.argmax(1) == 0
    likely[outside] = -distances[outside, : some.n_clusters]
    order = np.argsort(-likely, axis=1, kind="stable")
    return [(int(row[0]), int(row[min(1, len(row) - 1)])) for row in order]


class Terms(NamedTuple):
    """The contribution of each attribute to each distance, and the attributes' names."""

    keys: list[str]
    values: FloatArray  # (n, f, attributes)


def terms_of(model: Comparing, some: Data) -> Terms | None:
    """Return the contributions to each distance; None if the metric is not a sum."""
    try:
        values: FloatArray = np.asarray(model.explain(some), dtype=np.float64)
    except ValueError:  # the metric is not a sum over attributes
        return None
    space = model.model_.space
    terms = Terms([str(key) for key in space.attributes], values)
    views = views_of(model)
    if views is None or views.alone is not None or views.shown is not None:
        return terms
    return _split(model, views, some, terms)


def _split(model: Comparing, space: Views, some: Data, whole: Terms) -> Terms:
    """Divide the views' contributions among the columns of those that are tables with names."""
    metric = cast(Combined, model.model_.metric)
    x = cast(EncodedViews, space.encode(space.check(model, some, reset=False)))
    keys, values = [], []
    views = zip(keys_of_views(space), metric.parts, x.parts, space.split(model.model_.whole()), strict=True)
    for j, (columns, part, own, at) in enumerate(views):
        each = part.terms(own, at) if columns and space.feature_names[j] else None
        if each is not None and each.shape[-1] != len(columns):  # no object has the view: zeros like its prototypes
            each = None
        keys += [whole.keys[j]] if each is None else list(columns.values())
        values.append(whole.values[:, :, j : j + 1] * (1.0 if each is None else _shares(each.double().numpy())))
    return Terms(keys, np.concatenate(values, 2))


def _shares(terms: FloatArray) -> FloatArray:
    """Return terms as shares of their sum; zeros for a sum of 0."""
    total = terms.sum(-1, keepdims=True)
    shares: FloatArray = np.divide(terms, total, out=np.zeros_like(terms), where=total > 0)
    return shares
