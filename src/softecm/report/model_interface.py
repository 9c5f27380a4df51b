"""What a report asks of an estimator: little that must be there, and what only some have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softecm.belief import CredalPartition
from softecm.spaces import TimeSeries

if TYPE_CHECKING:
    from softecm.fit.settings import PrototypeModel

#: Whatever an estimator takes: a data frame of any library, an array, a list of series, dissimilarities.
Data: TypeAlias = Any
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


class FittedModel(Protocol):
    """A fitted estimator."""

    partition_: CredalPartition

    def predict_partition(self, X: Data) -> CredalPartition:
        """The partition of other objects."""
        ...

    def get_params(self, deep: bool = True) -> Mapping[str, object]:
        """Its parameters."""
        ...


class Comparing(FittedModel, Protocol):
    """A fitted estimator with prototypes, to which objects can be compared."""

    model_: PrototypeModel
    prototypes_: Data
    cluster_centers_: Data

    def transform(self, X: Data) -> ArrayLike:
        """Distances to the prototypes."""
        ...

    def explain(self, X: Data) -> ArrayLike:
        """What each attribute adds to them."""
        ...


def comparing(model: FittedModel) -> Comparing | None:
    """The model as one with prototypes; None for those without, such as EVCLUS."""
    return cast("Comparing", model) if hasattr(model, "model_") else None


def pairwise(model: FittedModel) -> bool:
    """Whether its objects are rows of dissimilarities (scikit-learn's tag)."""
    tags = getattr(model, "__sklearn_tags__", None)
    return bool(tags is not None and tags().input_tags.pairwise)


def of_series(model: FittedModel) -> bool:
    """Whether its objects are series: then its prototypes are."""
    fitted = comparing(model)
    if fitted is None or pairwise(model):
        return False
    return isinstance(fitted.model_.space.visible, TimeSeries)


def in_views(model: Comparing) -> bool:
    """Whether one set of objects is compared in several ways, of which one is shown."""
    return model.model_.space.visible is not model.model_.space


def merged(model: FittedModel) -> bool:
    """Whether prototypes of different clusters have come together."""
    return bool(getattr(model, "collapsed_", False))


def history(model: FittedModel) -> list[float]:
    """The objective after each round."""
    return [float(v) for v in getattr(model, "history_", ())]


def restarts(model: FittedModel) -> dict[str, Sequence[object]]:
    """One entry a run, column by column."""
    runs: Mapping[str, Sequence[object]] = getattr(model, "_runs", {})
    return {name: list(values) for name, values in runs.items()}
