"""Positions of objects and prototypes on the map, and the visible part of the plane."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm.belief import CredalPartition, FocalSets
from softecm.distances.base import distances_of
from softecm.report.columns import TableColumns
from softecm.report.inputs import Comparing, Data, FittedModel, FloatArray, IntArray, comparing, every
from softecm.report.projection import DIMENSIONS, landmark_mds, separating_axes, spread

if TYPE_CHECKING:
    from softecm.distances.base import SemiMetric
    from softecm.fit.settings import PrototypeModel
    from softecm.spaces.base import Encoded

LANDMARKS = 150
FEWEST_LANDMARKS = 12
MAP_WORK = 2e9
SLIM = 8.0  # ratio of lengths above which each axis has its own scale
SELF = 0.01  # distances of objects to themselves, relative to those to others, that count as zero
PLANE = "The two axes preserve distances as well as a plane can; they have no units."
TURNED = "The map is rotated to separate the groups; its axes have no units."
SEEN = "On the map, {:.0%} of those in a group are closest to the centre of their own group."
ONE_SCALE = "Both axes have the same scale: equal lengths are equal distances."
OWN_SCALES = "Each axis has its own scale; otherwise one would be too short to see."
OWN_WAYS = "Each set has its own distance, so the map shows plain Euclidean distances."
FILLED = "Objects with missing values are drawn where the usual values of their groups would put them."
GUESSED = (
    "Positions are estimated from the masses: groups lie in corners, and objects between those they may belong to."
)
MANY = 200  # objects above which quantiles are taken
FEWEST = 10  # objects, below which none is left outside
EDGE = 0.02  # of the objects at each end of an axis
ROOM = 0.2  # of the length of the rest, as a margin
EMPTY = 2.0  # times the length of the rest, above which a map would be mostly empty


class Map(NamedTuple):
    """Positions of the drawn objects and of the sets' prototypes, if any: fields of a report."""

    points: FloatArray
    prototype_points: FloatArray | None
    axis_names: tuple[str, str] = ("", "")
    axis_units: tuple[float, float] = (1.0, 1.0)  # the metric's weight of one step along each axis
    map_note: str = ""


def plane_map(columns: TableColumns, model: Comparing) -> Map:
    """Use two numeric columns as a map, each scaled by the metric."""
    points = np.column_stack([np.asarray(a.values, dtype=np.float64) for a in columns.attributes])
    stars = np.array(columns.prototypes, dtype=np.float64).reshape(-1, 2)
    first, second = (f"{a.name} ({a.unit})" if a.unit else a.name for a in columns.attributes)
    known = {str(c.name): c.unit for c in getattr(model.model_.space, "numbers", ())}
    ux, uy = (known.get(key, 1.0) for key in columns.keys)
    low, high = window(points)
    wide, tall = (high - low) * (ux, uy)
    if not SLIM * wide > tall > wide / SLIM:
        return Map(points, stars, (first, second), (0.0, 0.0), OWN_SCALES)
    return Map(points, stars, (first, second), (ux, uy), ONE_SCALE)


def metric_map(model: Comparing, some: Data, drawn: CredalPartition) -> Map:
    """Compute a map from distances to landmarks: the clusters' prototypes and some of the objects."""
    fitted = model.model_
    encoded = model._encode(some)
    x = fitted.space.filled(encoded, torch.from_numpy(drawn.pignistic()), fitted.prototypes[: drawn.n_clusters])
    with torch.no_grad():
        marks = _landmarks(fitted, x)
        metric, between = _between_objects(fitted.metric, marks, vectors=isinstance(x, Tensor) and x.ndim == 2)
        to, at = _in_blocks(metric, x, marks), _distances(metric, fitted.prototypes, marks)
    placed = _placed(between, to, at, drawn)
    notes = [placed.map_note, *([OWN_WAYS] if metric is None else []), *([] if x is encoded else [FILLED])]
    return placed._replace(map_note=" ".join(notes))


def _placed(between: FloatArray, to: FloatArray, at: FloatArray, drawn: CredalPartition) -> Map:
    """Place objects and prototypes by their distances to landmarks; rotate if the main axes put groups in one place."""
    both = landmark_mds(between, np.vstack([to, at]), min(DIMENSIONS, len(between)))
    places, stars = both[: len(to)], both[len(to) :]
    best = drawn.masses.argmax(1)
    groups = np.where((best > 0) & (best <= drawn.n_clusters), best - 1, -1)
    axes, seen = separating_axes(places, stars[: drawn.n_clusters], groups)
    note = PLANE if axes is None else TURNED
    note += f" {SEEN.format(seen)}" if drawn.n_clusters > 1 else ""
    if axes is None:
        return Map(_two(places), _two(stars), map_note=note)
    return Map(places @ axes, stars @ axes, map_note=note)


def _two(places: FloatArray) -> FloatArray:
    """Return the first two axes, padded with zeros."""
    return np.column_stack([places, np.zeros((len(places), 2))])[:, :2]


def _landmarks(fitted: PrototypeModel, x: Encoded) -> Tensor:
    """Return the clusters' prototypes and some objects, with bounded cost: series cost the square of their length."""
    shape = fitted.space.visible_part(fitted.prototypes[:1])[0].shape
    work = float(len(x)) * math.prod(shape) * (shape[0] if len(shape) > 1 else 1)
    count = int(min(max(MAP_WORK / max(work, 1.0), FEWEST_LANDMARKS), LANDMARKS))
    chosen = torch.from_numpy(every(len(x), count).astype(np.int64))
    clusters: Tensor = fitted.prototypes[: fitted.focal.n_clusters]
    return torch.cat([clusters, fitted.space.starts(x, chosen).to(clusters.dtype)])


def _between_objects(metric: SemiMetric, marks: Tensor, *, vectors: bool) -> tuple[SemiMetric | None, FloatArray]:
    """Return a metric between objects, and its distances among the landmarks: the model's, or its base metric.

    ECM+, CCM and BCM have a metric per set, and ECMdd mixes distances to several medoids: an object then has a nonzero
    distance to itself, which shows it. None means that only Euclidean distance works.
    """
    candidates = [metric, *([metric.base] if hasattr(metric, "base") else [])]
    for candidate in candidates:
        try:
            between = _distances(candidate, marks, marks)
        except RuntimeError:  # as many distances as the model has sets, for any input
            continue
        if candidate is candidates[-1] and not vectors:
            return candidate, between
        if np.diagonal(between).mean() <= SELF * between.mean():
            return candidate, between
    return None, _distances(None, marks, marks)


def _distances(metric: SemiMetric | None, x: Encoded, marks: Tensor) -> FloatArray:
    d = torch.cdist(cast("Tensor", x), marks).square() if metric is None else metric.pairwise(x, marks)
    return d.double().clamp_min(0).cpu().numpy()


def _in_blocks(metric: SemiMetric | None, x: Encoded, marks: Tensor) -> FloatArray:
    step = max(1, 2_000_000 // max(len(marks) * max(marks[0].numel(), 1), 1))
    return np.concatenate([_distances(metric, x[i : i + step], marks) for i in range(0, len(x), step)])


def dissimilarity_map(model: FittedModel, D: FloatArray, rows: IntArray, drawn: CredalPartition) -> Map:
    """Compute a map from the dissimilarities (n, n) of the fitted objects, as used by the algorithm."""
    marks = rows[every(len(rows), LANDMARKS)]
    squares = _squares(model, D[rows])[:, marks]
    between = _squares(model, D[marks])[:, marks]
    fitted = comparing(model)
    if fitted is None:
        return Map(landmark_mds(between, squares), None, map_note=PLANE)
    medoids = np.asarray(fitted.prototypes_)
    if medoids.ndim == 1:
        at = _squares(model, D[medoids])[:, marks]
    else:
        at = np.asarray(fitted.transform(D[marks]), dtype=np.float64).T
    return _placed(between, squares, at, drawn)


def _squares(model: FittedModel, D: FloatArray) -> FloatArray:
    """Return the equivalent of squared lengths: squares in RECM and EVCLUS, otherwise the dissimilarities."""
    fitted = comparing(model)
    if fitted is None:
        return np.square(D)
    squares = getattr(fitted.model_.metric, "squares", None)
    return D if squares is None else squares(torch.as_tensor(D)).numpy()


def guessed_map(model: FittedModel, drawn: CredalPartition) -> Map:
    """Place objects at the mass-weighted mean of the sets' positions: the only option without comparable objects."""
    stars = _star_places(model, drawn.focal_sets)
    return Map(drawn.masses[:, 1:] @ stars, stars if comparing(model) is not None else None, map_note=GUESSED)


def _star_places(model: FittedModel, focal: FocalSets) -> FloatArray:
    """Return the sets' positions between their clusters', placed by the distances between them, or in corners."""
    fitted = comparing(model)
    if fitted is not None and fitted.model_.prototypes.ndim > 1 and len(fitted.model_.space.attributes):
        metric, prototypes = fitted.model_.metric, fitted.model_.prototypes
        with torch.no_grad():
            if fitted.model_.space.sparse:
                between = distances_of(metric, prototypes, prototypes).double().numpy()
            else:
                between = _between_objects(metric, prototypes, vectors=prototypes.ndim == 2)[1]
        clusters = between[: focal.n_clusters, : focal.n_clusters]
        return np.asarray(focal.shares @ spread(clusters))
    angles = [2 * math.pi * k / focal.n_clusters for k in range(focal.n_clusters)]
    corners = np.array([[math.cos(a), math.sin(a)] for a in angles])
    places: FloatArray = focal.shares @ corners
    return places


def thin_map(model: Comparing, drawn: CredalPartition, distances: FloatArray) -> Map:
    """Compute a map from the distances of sparse rows to the clusters' prototypes as landmarks."""
    fitted, focal = model.model_, drawn.focal_sets
    centers = fitted.prototypes[: focal.n_clusters]
    between = distances_of(fitted.metric, centers, centers).double().numpy()
    placed = _placed(between, distances[:, : focal.n_clusters], between, drawn)
    assert placed.prototype_points is not None
    points = placed.points
    if focal.n_clusters == 2:  # two landmarks have one axis: the other shows a row's distance from it
        along = np.square(points[:, 0] - placed.prototype_points[0, 0])
        points = np.column_stack([points[:, 0], np.sqrt(np.maximum(distances[:, 0] - along, 0.0))])
    return placed._replace(points=points, prototype_points=np.asarray(focal.shares @ placed.prototype_points))


def window(points: FloatArray, outliers: NDArray[np.bool_] | None = None) -> tuple[FloatArray, FloatArray]:
    """Return the lower and upper corner: of all points, or of nearly all if the outermost would leave most of the map empty.

    Outliers don't extend the window, unless most objects are outliers.

    Examples
    --------
    >>> low, high = window(np.array([[float(i % 5), float(i % 3)] for i in range(30)] + [[500.0, 1.0]]))
    >>> low.tolist(), high.tolist()
    ([0.0, 0.0], [4.8, 2.0])
    """
    known = np.isfinite(points).all(1)
    finite = points[known]
    if not len(finite):
        return np.zeros(2), np.ones(2)
    low, high = finite.min(0), finite.max(0)
    near = known if outliers is None else known & ~outliers
    if near.sum() < max(FEWEST, len(finite) / 2):
        near = known
    inner_low, inner_high = bulk(points[near])
    room = 0.0 if near.sum() == len(finite) else ROOM * (inner_high - inner_low)
    return np.maximum(low, inner_low - room), np.minimum(high, inner_high + room)


def bulk(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the range of all points, or of nearly all if the outermost would leave most of the map empty."""
    low, high = points.min(0), points.max(0)
    if len(points) < FEWEST:
        return low, high
    inner_low, inner_high = _inner(points)
    room = ROOM * (inner_high - inner_low)
    near_low, near_high = np.maximum(low, inner_low - room), np.minimum(high, inner_high + room)
    stretched = (high - low > EMPTY * (near_high - near_low)) & (near_high > near_low)
    return np.where(stretched, near_low, low), np.where(stretched, near_high, high)


def _inner(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the range of most of the points: without one in fifty, at least one, at each end."""
    if len(points) > MANY:
        low, high = np.quantile(points, (EDGE, 1.0 - EDGE), axis=0)
        return low, high
    ordered, few = np.sort(points, axis=0), max(1, int(EDGE * len(points)))
    return ordered[few], ordered[-few - 1]
