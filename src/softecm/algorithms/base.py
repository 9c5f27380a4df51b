"""What all estimators share: scikit-learn's manners, decisions from masses, warnings, saving."""

from __future__ import annotations

import os
import warnings
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from softecm._frames import make_frame
from softecm._warnings import CollapseWarning, EmptyClusterWarning
from softecm.algorithms.model import PrototypeModel
from softecm.belief import CredalPartition, FocalSets
from softecm.spaces.base import Space

MERGED = 0.0025  # clusters closer than this part of the data's own spread count as one


class EvidentialClusterer(ClusterMixin, BaseEstimator):
    """An estimator whose answer is a credal partition.

    A subclass provides ``fit``, which ends in ``_store``, and ``predict_partition``.
    """

    partition_: CredalPartition
    focal_sets_: FocalSets
    objective_: float
    history_: NDArray[np.float64]
    n_iter_: int
    converged_: bool
    labels_: NDArray[np.intp]
    outlier_scores_: NDArray[np.float64]

    @abstractmethod
    def predict_partition(self, X: Any) -> CredalPartition:
        """The credal partition of other objects."""

    def predict(self, X: Any) -> NDArray[np.intp]:
        """The cluster of largest pignistic probability for each object; never -1.

        Parameters
        ----------
        X : data like that given to ``fit``

        Returns
        -------
        labels : ndarray of shape (n,)
        """
        return self.predict_partition(X).labels()

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Pignistic probabilities: each set's mass shared equally by its clusters, the empty set's by all.

        Parameters
        ----------
        X : data like that given to ``fit``

        Returns
        -------
        probabilities : ndarray of shape (n, c)
        """
        return self.predict_partition(X).pignistic()

    @property
    def runs_(self) -> Any:
        """One row a restart: objective, rounds, whether it converged, whether its prototypes merged."""
        check_is_fitted(self)
        return make_frame(self._runs)

    _runs: Mapping[str, NDArray[Any]]

    def _store(self, partition: CredalPartition) -> None:
        self.partition_ = partition
        self.focal_sets_ = partition.focal_sets
        self.labels_ = partition.labels()
        self.outlier_scores_ = partition.masses[:, 0].copy()

    def _warn_if_unconverged(self) -> None:
        if not self.converged_:
            warnings.warn(
                f"{type(self).__name__} has not converged after {self.n_iter_} rounds: masses still move by more than "
                f"tol={self.tol:g}. Raise max_iter, or tol if a rougher answer will do.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _warn_if_empty(self, held: NDArray[np.float64] | None = None) -> None:
        if held is None:
            held = self.partition_.plausibility(normalise=None).sum(0)
        empty = np.flatnonzero(held < 1e-6 * len(self.partition_) / len(held))
        if len(empty):
            warnings.warn(
                f"clusters {empty.tolist()} hold no mass: fewer groups were found than n_clusters={len(held)}. "
                "Use fewer clusters, a larger delta, or more restarts (n_init).",
                EmptyClusterWarning,
                stacklevel=3,
            )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a safetensors file; ``softecm.load_model`` reads it without running code.

        Parameters
        ----------
        path : path of the file, usually ending in ``.safetensors``
        """
        from softecm.models import save_model

        check_is_fitted(self)
        save_model(self, path)

    def report(self, X: Any, path: str | os.PathLike[str], **shown: Any) -> None:
        """Write a report: one HTML page, offline, with the groups, what lies between, and why.

        Parameters
        ----------
        X : the objects given to ``fit``, or others like them
        path : where to write; an existing file is replaced
        **shown : ``names`` of the objects, known ``labels``, ``title``, ``feature_names`` and the rest of
            :func:`softecm.report.build`, which gives the report without writing it
        """
        from softecm.report import build

        check_is_fitted(self)
        build(self, X, **shown).write(path)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if hasattr(self, "partition_") and "text/html" in bundle:
            bundle["text/html"] += self.partition_._repr_html_()
        return bundle


class PrototypeClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, EvidentialClusterer):
    """An evidential clusterer whose clusters and sets have prototypes to which objects can be compared."""

    model_: PrototypeModel
    delta_: float | None
    separation_: float
    collapsed_: bool
    n_features_in_: int

    def _encode(self, X: Any) -> Any:
        check_is_fitted(self)
        return self.model_.space.encode(self.model_.space.check(self, X, reset=False))

    @property
    def prototypes_(self) -> Any:
        """Prototypes of all non-empty sets in the order of ``focal_sets_``, as the data had them."""
        check_is_fitted(self)
        return self.model_.space.decode(self.model_.prototypes)

    @property
    def cluster_centers_(self) -> Any:
        """Prototypes of the single clusters."""
        check_is_fitted(self)
        return self.model_.space.decode(self.model_.prototypes[: self.focal_sets_.n_clusters])

    @property
    def prototype_distributions_(self) -> Any:
        """For each categorical column of a table, the probability of each category in every prototype.

        A dict of columns, each a dict from category to an array of shape (f,), in the order of ``focal_sets_``.
        """
        check_is_fitted(self)
        distributions = getattr(self.model_.space, "distributions", None)
        if distributions is None:
            raise AttributeError(
                "prototype_distributions_ is for tables with categories (metric 'hamming' or 'mixed')."
            )
        return distributions(self.model_.prototypes)

    @property
    def _n_features_out(self) -> int:
        return len(self.focal_sets_)

    def predict_partition(self, X: Any) -> CredalPartition:
        """The credal partition of other objects: the prototypes stay, each object gets its masses (eq. 7).

        Parameters
        ----------
        X : data like that given to ``fit``

        Returns
        -------
        partition : CredalPartition
            For data in blocks (Dask, Parquet) a :class:`softecm.distributed.ScatteredPartition`, computed block by block
            when it is asked for.
        """
        if in_blocks(X) and hasattr(self, "model_"):
            from softecm.distributed import predict_scattered

            return predict_scattered(self, X)  # type: ignore[return-value]
        return self.model_.partition(self._encode(X)) if hasattr(self, "model_") else self._unfitted()

    def _unfitted(self) -> CredalPartition:
        check_is_fitted(self)
        raise AttributeError("model_")

    def transform(self, X: Any) -> NDArray[np.floating[Any]]:
        """Distances to the prototypes of all sets.

        Parameters
        ----------
        X : data like that given to ``fit``

        Returns
        -------
        distances : ndarray of shape (n, f)
        """
        x = self._encode(X)
        return self.model_.distances(x)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the objective per object at the fitted prototypes; on the training data, ``-objective_ / n``.

        Comparable between fits with the same ``alpha``, ``beta``, ``delta``, number of clusters and metric: the
        objective falls with every set, cluster or larger beta that is allowed, whether or not the partition is better.
        For choosing those, see :mod:`softecm.selection`.

        Parameters
        ----------
        X : data like that given to ``fit``
        y : ignored
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        score : float
        """
        x = self._encode(X)
        weights = None if sample_weight is None else check_weights(sample_weight, X)
        return -self.model_.mean_cost(x, weights)

    def explain(self, X: Any) -> NDArray[np.floating[Any]]:
        """What each attribute adds to an object's distance to each prototype; sums over the last axis to ``transform``.

        Parameters
        ----------
        X : data like that given to ``fit``

        Returns
        -------
        parts : ndarray of shape (n, f, attributes)
        """
        return self.model_.terms(self._encode(X))

    def _warn_if_merged(self, remedy: str) -> None:
        if self.collapsed_:
            warnings.warn(
                f"prototypes of different clusters have merged (separation_ {self.separation_:.2g}, below {MERGED:g}): the "
                f"partition does not tell them apart. {remedy}",
                CollapseWarning,
                stacklevel=3,
            )


def in_blocks(X: Any) -> bool:
    """Whether ``X`` is a Dask value, a list of them, or a source of blocks; looks at types only, loads nothing."""
    first = X[0] if isinstance(X, list | tuple) and len(X) else X
    return type(first).__module__.startswith(("dask.", "distributed.", "softecm.distributed."))


def check_weights(sample_weight: Any, X: Any) -> NDArray[np.float64]:
    """Weights (n,): not negative, not all zero."""
    weights: NDArray[np.float64] = np.asarray(sample_weight, dtype=np.float64)
    if weights.size and (weights < 0).any():
        raise ValueError(
            f"sample_weight must not be negative; got {weights.min():g} for object {int(weights.argmin())}. "
            "Leave an object out by giving it weight 0."
        )
    if weights.size and not weights.any():
        raise ValueError("sample_weight must not be zero for every object; got only zeros. Leave it out to count all.")
    checked: NDArray[np.float64] = np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64))
    return checked


def weighted_quantile(values: NDArray[np.floating[Any]], q: float, weights: NDArray[np.float64]) -> float:
    """The smallest value at which the share of weight reaches ``q`` (inverted CDF)."""
    order = np.argsort(values, kind="stable")
    steps = np.cumsum(weights[order])
    position = int(np.searchsorted(steps, q * steps[-1] * (1.0 - 1e-12)))
    return float(values[order[min(position, len(order) - 1)]])


def separation(distances: NDArray[np.float64], spread: float) -> float:
    """Least off-diagonal distance between clusters over the data's spread; inf for one cluster, 0 without spread."""
    c = len(distances)
    if c < 2:
        return float("inf")
    least = float(distances[~np.eye(c, dtype=bool)].min())
    return least / spread if spread > 0 else 0.0


def fitted_space(
    space: Space, raw: Any, names: Any, dtype: torch.dtype, weights: NDArray[np.float64] | None = None
) -> Space:
    """The space fitted on checked data, with the columns' names where there are any."""
    from dataclasses import fields, replace

    fitted = space.weighted(weights).fit(raw, dtype=dtype)
    if names is not None and any(f.name == "names" for f in fields(fitted)):  # type: ignore[arg-type]
        fitted = replace(fitted, names=tuple(map(str, names)))  # type: ignore[type-var]
    return fitted
