"""Sparse rows in a report: the columns that tell the groups apart, and a map that needs no other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from softecm.belief import CredalPartition
from softecm.distances.blocks import distances_of
from softecm.report.asked import Comparing, Data, FloatArray, Model, comparing
from softecm.report.chosen import IntArray
from softecm.report.data import Attribute
from softecm.report.embedding import landmark_mds
from softecm.report.objects import Columns
from softecm.report.places import GUESSED, Map, mass_map

MOST_TERMS = 30


def telling_terms(centers: FloatArray, most: int = MOST_TERMS) -> IntArray:
    """The columns in which the clusters' prototypes (c, p) differ most, at least one of each cluster's own."""
    apart = centers - centers.mean(0)
    each = max(1, most // len(centers))
    own = [np.argsort(-row, kind="stable")[:each] for row in apart]
    order = np.argsort(-np.square(apart).sum(0), kind="stable")
    found: IntArray = np.array(list(dict.fromkeys(np.concatenate([*own, order]).tolist()))[:most], dtype=np.intp)
    return found


def thin_columns(model: Comparing, some: Data, names: Sequence[str] | None) -> Columns:
    """The telling columns of some sparse rows, and of all sets' prototypes."""
    fitted = model.model_
    prototypes = fitted.prototypes.double().numpy()
    terms = telling_terms(prototypes[: fitted.focal.n_clusters])
    known = [str(name) for name in (fitted.space.attributes if names is None else names)]
    keys = tuple(known[j] for j in terms)
    cells = some[:, terms].toarray()
    attributes = tuple(Attribute(key, "number", cells[:, j]) for j, key in enumerate(keys))
    rows = prototypes[:, terms]
    if len(rows) < len(fitted.focal):
        rows = fitted.focal.shares @ rows
    return Columns(keys, attributes, tuple(tuple(row) for row in rows.tolist()))


def thin_map(model: Comparing, drawn: CredalPartition) -> Map:
    """Clusters by the distances between them, sets midway between theirs, objects by their masses."""
    fitted, focal = model.model_, drawn.focal_sets
    centers = fitted.prototypes[: focal.n_clusters]
    between = distances_of(fitted.metric, centers, centers).double().numpy()
    stars = focal.shares @ landmark_mds(between, between)
    return Map(drawn.masses[:, 1:] @ stars, stars, note=GUESSED)


def guessed_map(model: Model, drawn: CredalPartition) -> Map:
    """Places from masses alone, whether the prototypes of sets are written down or not."""
    fitted = comparing(model)
    if fitted is not None and fitted.model_.space.wide:
        return thin_map(fitted, drawn)
    return mass_map(model, drawn)
