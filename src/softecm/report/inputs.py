"""The input of a report: a fitted estimator, and its objects in any form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from softecm._checks import check_list, frame_of
from softecm.belief import CredalPartition
from softecm.spaces.dissimilarities import Dissimilarities
from softecm.spaces.raw import ids_of, is_views
from softecm.spaces.series import SeriesSpace
from softecm.spaces.views import Views

if TYPE_CHECKING:
    from softecm.algorithms.base import EvidentialClusterer, PrototypeClusterer

#: Any input of an estimator: a data frame of any library, an array, a list of series, dissimilarities.
Data: TypeAlias = Any
FittedModel: TypeAlias = "EvidentialClusterer"
Comparing: TypeAlias = "PrototypeClusterer"  # with prototypes, to compare objects with
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


def comparing(model: FittedModel) -> Comparing | None:
    """Return the model if it has prototypes; None for others, such as EVCLUS."""
    return cast("Comparing", model) if hasattr(model, "model_") else None


def fitted_partition(model: FittedModel) -> CredalPartition | None:
    """Return the partition of the fit; None if it is distributed over blocks."""
    return model.partition_ if isinstance(model.partition_, CredalPartition) else None


def pairwise(model: FittedModel) -> bool:
    """Whether its objects are rows of dissimilarities, from the fit or else scikit-learn's tag."""
    fitted = comparing(model)
    if fitted is not None:
        return isinstance(fitted.model_.space, Dissimilarities)
    tags = getattr(model, "__sklearn_tags__", None)
    return bool(tags is not None and tags().input_tags.pairwise)


def of_series(model: FittedModel) -> bool:
    """Whether its objects, and so its prototypes, are series."""
    fitted = comparing(model)
    if fitted is None or pairwise(model):
        return False
    return fitted.model_.space.visible.of_series


def noun_of(model: FittedModel) -> str:
    """Return the noun for its objects, in the singular."""
    fitted = comparing(model)
    return "object" if fitted is None or pairwise(model) else fitted.model_.space.visible.noun


def in_views(model: Comparing) -> bool:
    """Whether one set of objects has several views, of which one is shown."""
    return model.model_.space.visible is not model.model_.space


def views_of(model: Comparing) -> Views | None:
    """Return the space of a model with several views; None for other models."""
    space = model.model_.space
    return space if isinstance(space, Views) else None


def merged(model: FittedModel) -> bool:
    """Whether prototypes of different clusters have merged."""
    return bool(getattr(model, "collapsed_", False))


# ------------------------------------------------------------------ objects

MOST_DRAWN = 20_000
MOST_EXPLAINED = 30  # of each kind: uncertain, typical, extreme
COMPARED = 200  # objects to check whether the data are those of the fit
SAME = 1e-3


def noteworthy(
    partition: CredalPartition, distances: FloatArray | None = None, most: int = MOST_EXPLAINED
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the most uncertain, most typical (the best of each cluster in turn) and most extreme objects.

    Uncertainty is :meth:`CredalPartition.doubt`; outliers come last there, since they have their own list.

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
    second = np.zeros(len(partition)) if distances is None else distances
    each = [np.lexsort((second, -single[:, k]))[:most] for k in range(c)]
    turns = np.array([rows[i] for i in range(min(most, len(partition))) for rows in each], dtype=np.intp)
    typical = turns[np.sort(np.unique(turns, return_index=True)[1])][:most]
    return in_doubt, typical, np.lexsort((-second, -partition.masses[:, 0]))[:most]


def choose_rows(partition: CredalPartition, keep: IntArray, most: int = MOST_DRAWN) -> IntArray:
    """Return the objects to draw: all, or those to keep and an even sample of the rest, in order.

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


def names_of(X: Data, count: int, own_names: Iterable[object] | None) -> list[str]:
    """Return names of the objects: as given, from a pandas index that does not just count, or numbers from 1."""
    known = ids_of(X) if own_names is None else own_names
    if known is None:
        return [str(i + 1) for i in range(count)]
    names = [str(name) for name in check_list("names", known, "one name per object")]
    if len(names) != count:
        raise ValueError(
            f"names must have one entry for each of the {count} objects; got {len(names)}. Leave none out."
        )
    return names


def take(X: Data, rows: IntArray) -> Data:
    """Return some objects of a frame, an array, a list, or views, in its own type."""
    if is_views(X):
        return {name: take(part, rows) for name, part in X.items()}
    if issparse(X):
        return X.tocsr()[rows]
    frame = frame_of(X)
    if frame is not None:
        return frame[rows.tolist()].to_native()
    return X[rows] if isinstance(X, np.ndarray) else [X[int(i)] for i in rows]


def every(count: int, most: int) -> IntArray:
    """Return at most ``most`` objects, evenly spread."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.intp))


def same_masses(model: FittedModel, X: Data, fitted: CredalPartition) -> bool:
    """Whether most of equally many objects have the fit's own masses: then they are its objects, possibly linked."""
    rows = every(len(fitted), COMPARED)
    differences = np.abs(model.predict_partition(take(X, rows)).masses - fitted.masses[rows]).max(1)
    return bool(np.median(differences) <= SAME)


def series_of(model: Comparing, some: Data) -> tuple[list[FloatArray], list[FloatArray]]:
    """Return series and prototypes as (length, channels) arrays, whatever their layout."""
    space = cast(SeriesSpace, model.model_.space.visible)
    return space.drawn(space.check(model, some, reset=False)), prototype_series(model)


def channels_of(model: Comparing) -> Sequence[str]:
    """Return the names of the channels of its series."""
    return cast(SeriesSpace, model.model_.space.visible).channels


def prototype_series(model: Comparing) -> list[FloatArray]:
    """Return the prototypes as (length, channels) arrays."""
    space = model.model_.space
    return cast(SeriesSpace, space.visible).curves(space.visible_part(model.model_.whole()))
