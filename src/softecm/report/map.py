"""Where objects and prototypes lie on the map, and which part of the plane it shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor

from softecm.belief import CredalPartition, FocalSets
from softecm.distances.base import distances_of
from softecm.report.columns import Attribute, TableColumns
from softecm.report.model_interface import Comparing, Data, FittedModel, FloatArray, IntArray, comparing
from softecm.report.objects import every

if TYPE_CHECKING:
    from softecm.distances.base import SemiMetric
    from softecm.fit.model import PrototypeModel
    from softecm.spaces.base import Encoded

LANDMARKS = 150
FEWEST_LANDMARKS = 12
MAP_WORK = 2e9
SLIM = 8.0  # times longer than the other, beyond which an axis has a scale of its own
SELF = 0.01  # distances of objects to themselves, as a part of those to others, up to which they count as none
PLANE = "The two axes keep distances as well as a plane can; they have no unit."
ONE_SCALE = "Equal lengths are equal distances, along both axes."
OWN_SCALES = "Each axis has a scale of its own, or one would be too short to see."
OWN_WAYS = "Every set measures in a way of its own, so the map shows plain Euclidean distances."
GUESSED = (
    "Places are guessed from the masses: each group has a corner, and an object lies between those it may belong to."
)
MANY = 200  # objects, of which the outermost are always left beyond the edge
FEWEST = 10  # objects, of which one is too many to leave there
EDGE = 0.02  # of the objects at each end of an axis
EMPTY = 4.0  # times as long as what the others need, beyond which a map would be mostly empty


class Map(NamedTuple):
    """Places of the drawn objects and, where there are any, of the sets' prototypes."""

    points: FloatArray
    stars: FloatArray | None
    axes: tuple[str, str] = ("", "")
    units: tuple[float, float] = (1.0, 1.0)  # how much one step along each axis counts for the metric
    note: str = ""


def plane_map(columns: TableColumns, model: Comparing) -> Map:
    """Two columns of numbers are a map already, each as long as the metric makes it."""
    points = np.column_stack([np.asarray(a.values, dtype=np.float64) for a in columns.attributes])
    stars = np.array(columns.prototypes, dtype=np.float64).reshape(-1, 2)
    first, second = (_axis(attribute) for attribute in columns.attributes)
    known = {str(c.name): math.sqrt(c.weight) / c.scale for c in getattr(model.model_.space, "columns", ())}
    ux, uy = (known.get(key, 1.0) for key in columns.keys)
    low, high = window(points)
    wide, tall = (high - low) * (ux, uy)
    if not SLIM * wide > tall > wide / SLIM:
        return Map(points, stars, (first, second), (0.0, 0.0), OWN_SCALES)
    return Map(points, stars, (first, second), (ux, uy), ONE_SCALE)


def _axis(attribute: Attribute) -> str:
    return f"{attribute.name} ({attribute.unit})" if attribute.unit else attribute.name


def metric_map(model: Comparing, some: Data) -> Map:
    """From distances to landmarks: the clusters' prototypes and some of the objects."""
    fitted = model.model_
    x = model._encode(some)  # type: ignore[attr-defined]
    with torch.no_grad():
        marks = _landmarks(fitted, x)
        metric, between = _between_objects(fitted.metric, marks, vectors=isinstance(x, Tensor) and x.ndim == 2)
        to, at = _in_blocks(metric, x, marks), _distances(metric, fitted.prototypes, marks)
    both = landmark_mds(between, np.vstack([to, at]))
    note = f"{PLANE} {OWN_WAYS}" if metric is None else PLANE
    return Map(both[: len(to)], both[len(to) :], note=note)


def _landmarks(fitted: PrototypeModel, x: Encoded) -> Tensor:
    count = _landmark_count(len(x), fitted.prototypes[0].shape)
    chosen = torch.from_numpy(every(len(x), count).astype(np.int64))
    clusters: Tensor = fitted.prototypes[: fitted.focal.n_clusters]
    return torch.cat([clusters, fitted.space.starts(x, chosen).to(clusters.dtype)])


def _landmark_count(n: int, shape: Sequence[int]) -> int:
    """As many landmarks as the map is worth: comparing long series costs the square of their length."""
    work = float(n) * math.prod(shape) * (shape[0] if len(shape) > 1 else 1)
    return min(n, int(min(max(MAP_WORK / max(work, 1.0), FEWEST_LANDMARKS), LANDMARKS)))


def _between_objects(metric: SemiMetric, marks: Tensor, *, vectors: bool) -> tuple[SemiMetric | None, FloatArray]:
    """A metric for any two objects, and its distances among the landmarks: the model's, or the one it is made of.

    ECM+, CCM and BCM measure differently to every set, and ECMdd mixes distances to several medoids: an object is then at
    some distance from itself, which tells. Where nothing else will do, None stands for Euclid's.
    """
    candidates = [metric, *([metric.base] if hasattr(metric, "base") else [])]
    for candidate in candidates:
        try:
            between = _distances(candidate, marks, marks)
        except RuntimeError:  # as many distances as the model has sets, whatever it is given
            continue
        if candidate is candidates[-1] and not vectors:
            return candidate, between
        if np.diagonal(between).mean() <= SELF * between.mean():
            return candidate, between
    return None, _distances(None, marks, marks)


def _distances(metric: SemiMetric | None, x: Encoded, marks: Tensor) -> FloatArray:
    d = torch.cdist(cast("Tensor", x), marks).square() if metric is None else metric.pairwise(x, marks)
    found: FloatArray = d.double().clamp_min(0).cpu().numpy()
    return found


def _in_blocks(metric: SemiMetric | None, x: Encoded, marks: Tensor) -> FloatArray:
    step = max(1, 2_000_000 // max(len(marks) * max(marks[0].numel(), 1), 1))
    return np.concatenate([_distances(metric, x[i : i + step], marks) for i in range(0, len(x), step)])


def dissimilarity_map(model: FittedModel, D: FloatArray, rows: IntArray) -> Map:
    """From the dissimilarities (n, n) of the fitted objects, taken as the algorithm takes them."""
    marks = rows[every(len(rows), LANDMARKS)]
    squares = _squares(model, D[rows])[:, marks]
    between = _squares(model, D[marks])[:, marks]
    fitted = comparing(model)
    if fitted is None:
        return Map(landmark_mds(between, squares), None, note=PLANE)
    medoids = np.asarray(fitted.prototypes_)
    if medoids.ndim == 1:
        at = _squares(model, D[medoids])[:, marks]
    else:
        at = np.asarray(fitted.transform(D[marks]), dtype=np.float64).T
    both = landmark_mds(between, np.vstack([squares, at]))
    return Map(both[: len(rows)], both[len(rows) :], note=PLANE)


def _squares(model: FittedModel, D: FloatArray) -> FloatArray:
    """What plays the part of squared lengths: squares in RECM and EVCLUS, elsewhere the dissimilarities themselves."""
    fitted = comparing(model)
    if fitted is None:
        return np.square(D)
    squares = getattr(fitted.model_.metric, "squares", None)
    found: FloatArray = D if squares is None else squares(torch.as_tensor(D)).numpy()
    return found


def mass_map(model: FittedModel, drawn: CredalPartition) -> Map:
    """Objects at the mass-weighted mean of the sets' places: all there is to draw when they can't be compared."""
    stars = _star_places(model, drawn.focal_sets)
    return Map(drawn.masses[:, 1:] @ stars, stars if comparing(model) is not None else None, note=GUESSED)


def _star_places(model: FittedModel, focal: FocalSets) -> FloatArray:
    """The prototypes' places by the distances between them, or a corner for each cluster."""
    fitted = comparing(model)
    if fitted is not None and fitted.model_.prototypes.ndim > 1 and len(fitted.model_.space.attributes):
        metric, prototypes = fitted.model_.metric, fitted.model_.prototypes
        with torch.no_grad():
            between = _between_objects(metric, prototypes, vectors=prototypes.ndim == 2)[1]
        return landmark_mds(between, between)
    angles = [2 * math.pi * k / focal.n_clusters for k in range(focal.n_clusters)]
    corners = np.array([[math.cos(a), math.sin(a)] for a in angles])
    places: FloatArray = focal.shares @ corners
    return places


def thin_map(model: Comparing, drawn: CredalPartition) -> Map:
    """Clusters by the distances between them, sets midway between theirs, objects by their masses."""
    fitted, focal = model.model_, drawn.focal_sets
    centers = fitted.prototypes[: focal.n_clusters]
    between = distances_of(fitted.metric, centers, centers).double().numpy()
    stars = focal.shares @ landmark_mds(between, between)
    return Map(drawn.masses[:, 1:] @ stars, stars, note=GUESSED)


def guessed_map(model: FittedModel, drawn: CredalPartition) -> Map:
    """Places from masses alone, whether the prototypes of sets are written down or not."""
    fitted = comparing(model)
    if fitted is not None and fitted.model_.space.wide:
        return thin_map(fitted, drawn)
    return mass_map(model, drawn)


def landmark_mds(between: FloatArray, to: FloatArray) -> FloatArray:
    r"""Places in the plane for objects known by their distances to a few landmarks.

    Distances play the part of *squared* lengths, as they do in the objective of Soft-ECM: with squared Euclidean distance
    the map is the projection on the landmarks' two main axes.

    Parameters
    ----------
    between : ndarray of shape (m, m)
        Distances among the landmarks.
    to : ndarray of shape (n, m)
        Distances of the objects to the landmarks.

    Returns
    -------
    ndarray of shape (n, 2)

    References
    ----------
    V. de Silva and J. Tenenbaum, "Sparse multidimensional scaling using landmark points", 2004.

    Examples
    --------
    >>> x = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 1.0]])
    >>> d = ((x[:, None] - x) ** 2).sum(-1)
    >>> y = landmark_mds(d, d)
    >>> np.allclose(((y[:, None] - y) ** 2).sum(-1), d)
    True
    """
    d = np.nan_to_num((between + between.T) / 2, nan=0.0, posinf=0.0, neginf=0.0)
    far = np.nan_to_num(to, nan=0.0, posinf=0.0, neginf=0.0)
    column = d.mean(0)
    gram = -0.5 * (d - column - column[:, None] + d.mean())
    values, vectors = np.linalg.eigh(gram)
    values, vectors = values[::-1][:2], vectors[:, ::-1][:, :2]
    usable = values > 1e-9 * max(float(values[0]), 1e-300)
    axes = np.where(usable, vectors / np.sqrt(np.where(usable, values, 1.0)), 0.0)
    places = np.zeros((len(far), 2))
    places[:, : axes.shape[1]] = -0.5 * (far - column) @ axes
    # The sign of an axis is free: let the farther end point right and up, so that the same data give the same picture.
    flip = np.where(np.abs(places.min(0)) > places.max(0), -1.0, 1.0)
    turned: FloatArray = places * flip + 0.0
    return turned


def window(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Lower and upper corner: of all points, or of nearly all where they are many or the rest would fill it with nothing.

    Examples
    --------
    >>> low, high = window(np.array([[float(i % 5), float(i % 3)] for i in range(30)] + [[500.0, 1.0]]))
    >>> low.tolist(), high.tolist()
    ([0.0, 0.0], [6.0, 2.0])
    """
    finite = points[np.isfinite(points).all(1)]
    if not len(finite):
        return np.zeros(2), np.ones(2)
    low, high = finite.min(0), finite.max(0)
    if len(finite) < FEWEST:
        return low, high
    inner_low, inner_high = _inner(finite)
    room = 0.5 * (inner_high - inner_low)
    near_low, near_high = np.maximum(low, inner_low - room), np.minimum(high, inner_high + room)
    if len(finite) > MANY:
        return near_low, near_high
    stretched = (high - low > EMPTY * (near_high - near_low)) & (near_high > near_low)
    return np.where(stretched, near_low, low), np.where(stretched, near_high, high)


def _inner(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Between which values most of the points lie: all but one in fifty, at least one, at each end."""
    if len(points) > MANY:
        low, high = np.quantile(points, (EDGE, 1.0 - EDGE), axis=0)
        return low, high
    ordered, few = np.sort(points, axis=0), max(1, int(EDGE * len(points)))
    return ordered[few], ordered[-few - 1]
