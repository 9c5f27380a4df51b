"""What can be drawn of the objects, by their kind: tables, series, dissimilarities, others, or none at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import issparse

from softecm.belief import CredalPartition
from softecm.report import inputs, reasons
from softecm.report.columns import TableColumns, columns_of, thin_columns, unknown_columns
from softecm.report.inputs import MOST_DRAWN, Comparing, Data, FittedModel, FloatArray, IntArray
from softecm.report.map import Map, dissimilarity_map, guessed_map, metric_map, plane_map, thin_map
from softecm.report.reasons import Attributes, Explanation, Teller
from softecm.spaces.views import Views

MOST_SERIES = 3_000
MOST_DISTANCES = 1_000_000  # of the drawn objects to all prototypes, which the page may hold
GONE = "The objects are not available, so positions are estimated from the masses and nothing is explained."


@dataclass(frozen=True)
class View:
    """The objects that are drawn one by one, and what is known of them."""

    rows: IntArray
    map: Map
    distances: FloatArray | None = None  # (rows, f), to the prototypes of all sets
    columns: TableColumns | None = None
    series: Sequence[FloatArray] | None = None
    prototype_series: Sequence[FloatArray] | None = None
    channels: Sequence[str] = ()  # of series
    explanations: Mapping[int, Explanation] = field(default_factory=dict)


def look(
    model: FittedModel,
    X: Data,
    partition: CredalPartition,
    names: Sequence[str] | None,
    units: Mapping[str, str] | None = None,
) -> View:
    """The view of some objects; ``names`` are those of columns, where the data have none, ``units`` theirs."""
    most = MOST_SERIES if inputs.of_series(model) else min(MOST_DRAWN, MOST_DISTANCES // len(partition.focal_sets))
    rows = inputs.choose_rows(partition, np.concatenate(inputs.noteworthy(partition)), most)
    fitted = inputs.comparing(model)
    if X is None:
        return _without_objects(model, partition, rows, names)
    if fitted is None or inputs.pairwise(model):
        return _by_dissimilarities(model, X, partition, rows)
    some = inputs.take(X, rows)
    distances = np.asarray(fitted.transform(some), dtype=np.float64)
    if issparse(X):
        return View(rows, thin_map(fitted, partition[rows], distances), distances, thin_columns(fitted, some, names))
    explained = _explained_rows(partition, rows, distances)
    if inputs.of_series(model):
        own, prototypes = inputs.series_of(fitted, some)
        teller = reasons.series_teller(fitted, inputs.take(X, explained))
        why = reasons.explanations(fitted, X, partition, explained, teller)
        drawn, channels = metric_map(fitted, some, partition[rows]), inputs.channels_of(fitted)
        return View(rows, drawn, distances, None, own, prototypes, channels, why)
    columns = columns_of(fitted, some, names, units)
    plane = columns is not None and columns.is_plane and not isinstance(fitted.model_.space, Views)
    drawn = plane_map(columns, fitted) if plane and columns is not None else metric_map(fitted, some, partition[rows])
    why = reasons.explanations(fitted, X, partition, explained, _teller(fitted, X, explained, names, units))
    return View(rows, drawn, distances, columns, explanations=why)


def to_nearest(distances: FloatArray, n_clusters: int) -> FloatArray:
    """Of each object to the nearest cluster's prototype."""
    nearest: FloatArray = distances[:, :n_clusters].min(1)
    return nearest


def _explained_rows(partition: CredalPartition, rows: IntArray, distances: FloatArray) -> IntArray:
    nearest = to_nearest(distances, partition.n_clusters)
    explained: IntArray = rows[np.unique(np.concatenate(inputs.noteworthy(partition[rows], nearest)))]
    return explained


def _teller(
    model: Comparing, X: Data, rows: IntArray, names: Sequence[str] | None, units: Mapping[str, str] | None
) -> Teller | None:
    columns = columns_of(model, inputs.take(X, rows), names, units)
    return None if columns is None else Attributes(columns, reasons.noise_of(model, X))


def _by_dissimilarities(model: FittedModel, X: Data, partition: CredalPartition, rows: IntArray) -> View:
    """Objects known by how much they differ from those of the fit."""
    D = np.asarray(X, dtype=np.float64)
    square = D.ndim == 2 and is_square(D)
    drawn = dissimilarity_map(model, D, rows, partition[rows]) if square else guessed_map(model, partition[rows])
    fitted = inputs.comparing(model)
    if fitted is None:
        return View(rows, drawn)
    distances = np.asarray(fitted.transform(D[rows]), dtype=np.float64)
    why = reasons.explanations(fitted, D, partition, _explained_rows(partition, rows, distances), None)
    if square:
        why = {i: replace(one, nearest=reasons.nearest_objects(D[i], i)) for i, one in why.items()}
    return View(rows, drawn, distances, explanations=why)


def is_square(D: FloatArray) -> bool:
    """Whether dissimilarities are among the objects themselves rather than to others."""
    return D.shape[0] == D.shape[1] and not np.diagonal(D).any()


def _without_objects(
    model: FittedModel, partition: CredalPartition, rows: IntArray, names: Sequence[str] | None
) -> View:
    """What can be drawn without the objects: the sets, and places guessed from masses."""
    fitted = inputs.comparing(model)
    drawn = guessed_map(model, partition[rows])._replace(map_note=GONE)
    if fitted is None or inputs.pairwise(model) or fitted.model_.space.sparse:
        return View(rows, drawn)
    if inputs.of_series(model):
        return View(rows, drawn, prototype_series=inputs.prototype_series(fitted), channels=inputs.channels_of(fitted))
    return View(rows, drawn, columns=unknown_columns(fitted, names, len(rows)))
