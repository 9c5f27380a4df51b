"""One clusterer fitted to a resample of its objects, and what that fit says of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import clone

from softecm._engine import threads
from softecm.algorithms.base import EvidentialClusterer
from softecm.algorithms.family import PrototypeFamily
from softecm.belief import CredalPartition
from softecm.belief.combination import matching
from softecm.calibration.mixture import AT_ONCE, GaussianGroups
from softecm.calibration.posterior import from_distances
from softecm.distances.auto import choose_for, resolve_metric
from softecm.fit.algorithm import Algorithm, Fit
from softecm.fit.model import PrototypeModel
from softecm.fit.prepare import InMemory, in_memory
from softecm.fit.stages import known_stage
from softecm.selection.batch import takes_dissimilarities
from softecm.selection.stability import part_of
from softecm.spaces.base import Encoded
from softecm.spaces.column_roles import without

FloatArray = NDArray[np.float64]
Resample: TypeAlias = Literal["auto", "bootstrap", "half"]
MOST_AT_ONCE = 32


@dataclass(frozen=True)
class Refitting:
    """What is refitted, and how: sent to a worker once, prepared there once."""

    model: Any
    X: Any
    resample: Resample = "auto"
    warm: bool = True
    random_state: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        """Objects and clusters."""
        return len(self.model.labels_), int(self.model.focal_sets_.n_clusters)

    @cached_property
    def ready(self) -> EncodedModel | None:
        """The model with its objects, where refits can go on from it; None where each begins anew."""
        if not self.warm or not _weighable(self.model):
            return None
        found = _ready(self.model, self.X)
        return found if found.moves else None

    @property
    def bootstrap(self) -> bool:
        """Whether objects are drawn with replacement; where copies are no other objects, halves of them are the default."""
        return self.resample == "bootstrap" or (self.resample == "auto" and self.ready is not None)

    @property
    def form(self) -> str:
        """What groups are taken for."""
        if self.ready is not None and self.ready.mixture is not None:
            return str(self.ready.mixture.form)
        return "objects around a prototype" if _has_prototypes(self.model) else "what the model's masses say"

    @property
    def way(self) -> str:
        """All that changes the numbers, beside model and objects."""
        kind = "anew" if self.ready is None else "moved"
        return f"{'bootstrap' if self.bootstrap else 'half'} {kind} {self.random_state} {self.form}"

    @property
    def at_once(self) -> int:
        """Refits of a batch."""
        if self.ready is None or self.ready.mixture is None:
            return 1
        return int(np.clip(AT_ONCE // (self.shape[0] * self.shape[1]), 1, MOST_AT_ONCE))

    def memberships(self, numbers: Sequence[int]) -> FloatArray:
        """Probabilities (len(numbers), n, c) in the refits of these numbers."""
        counts = np.stack([_counts(self.shape[0], b, self.random_state, self.bootstrap) for b in numbers])
        ready = self.ready
        if ready is None:
            return np.stack([_anew(self.model, self.X, one, b) for one, b in zip(counts, numbers, strict=True)])
        if ready.mixture is not None:
            return ready.mixture.fitted(ready.start, counts * ready.inside)
        return np.stack([_moved(ready, one) for one in counts])


def _counts(n: int, b: int, random_state: int, bootstrap: bool) -> FloatArray:
    """How often each object is in resample b: drawn with replacement, or half of them once, which vary as much."""
    rng = np.random.default_rng((random_state, b))
    if bootstrap:
        return rng.multinomial(n, np.full(n, 1.0 / n)).astype(np.float64)
    counts = np.zeros(n)
    counts[rng.permutation(n)[: max(2, n // 2)]] = 1.0
    return counts


@dataclass(frozen=True)
class EncodedModel:
    """A fitted model with its objects, encoded once for all refits."""

    model: Any
    algorithm: Algorithm[Any]
    objects: InMemory[Encoded]
    fitted: PrototypeModel
    inside: FloatArray  # (n,), how far each object belongs anywhere
    mixture: GaussianGroups | None  # where distances are squares, and some mixture has these groups
    start: FloatArray  # (n, c), probabilities by the model's own clusters

    @property
    def moves(self) -> bool:
        """Whether a fit can go on from the prototypes of another."""
        return not self.objects.metric.discrete and not self.algorithm.starts_at_masses


def _weighable(model: object) -> bool:
    return isinstance(model, PrototypeFamily) and model.batches and not takes_dissimilarities(model)


def _ready(model: Any, X: object) -> EncodedModel:
    chosen = model._settings()
    choice = choose_for(chosen.metric, X, chosen.n_clusters)
    metric = resolve_metric(choice.metric, None)
    algorithm = model._algorithm(metric)
    objects = in_memory(algorithm, chosen, metric, model, without(X, choice.left_out), None, runs=1)
    inside, x = 1.0 - model.partition_.masses[:, 0], objects.x.cpu()
    c, mixture = chosen.n_clusters, GaussianGroups.of(objects.metric, x)
    distances = np.asarray(model.model_.distances(x), dtype=np.float64)[:, :c]
    start = from_distances(distances, inside)
    if mixture is not None:
        mixture = mixture.likeliest(start, inside, distances.argmin(1))
    if mixture is not None:
        start = mixture.fitted(start, inside[None])[0]
    return EncodedModel(model, algorithm, objects, model.model_, inside, mixture, start)


def _moved(ready: EncodedModel, counts: FloatArray) -> FloatArray:
    """The model's clusters moved to where these weights want them, and what the distances to them say."""
    learned = counts * ready.inside
    objects, c = ready.objects, ready.fitted.focal.n_clusters
    weights = torch.as_tensor(counts, dtype=objects.dtype, device=objects.device)
    weighed = replace(objects, each=counts, on_device=weights, weight=float(counts.sum()))
    chosen = ready.model._settings()
    with threads(chosen.n_jobs):
        fit = Fit(ready.algorithm, weighed, chosen)
        found = fit.model_of(known_stage(fit, ready.fitted).single)
        distances = np.asarray(found.distances(objects.x.cpu()), dtype=np.float64)[:, :c]
    return from_distances(distances, learned)


def _anew(model: Any, X: object, counts: FloatArray, b: int) -> FloatArray:
    """A fit of the resample from scratch, its clusters numbered as the model's."""
    rows = np.repeat(np.arange(len(counts)), counts.astype(np.int64))
    again = clone(model)
    if "random_state" in again.get_params(False):
        again.set_params(random_state=b)
    relational = takes_dissimilarities(model)
    again.fit(part_of(X, rows, rows if relational else None))
    everyone = part_of(X, np.arange(len(counts)), rows) if relational else X
    found = _memberships(again, everyone, counts * (1.0 - model.partition_.masses[:, 0]))
    return _numbered(found, model.partition_.pignistic())


def _numbered(found: FloatArray, own: FloatArray) -> FloatArray:
    """Memberships with the clusters of a model, (n, c); those it has not go to where most of their objects are."""
    into, overlap = matching(found, own), found.T @ own
    into = np.where(into < own.shape[1], into, overlap.argmax(1))
    matched = np.zeros_like(own)
    np.add.at(matched.T, into, found.T)
    return matched


def _memberships(model: Any, X: object, counts: FloatArray) -> FloatArray:
    """Probabilities of clusters: by distances to prototypes where there are some, else pignistic."""
    if _has_prototypes(model):
        c = model.model_.focal.n_clusters
        return from_distances(np.asarray(model.transform(X), dtype=np.float64)[:, :c], counts)
    assert isinstance(model, EvidentialClusterer)
    partition = model.predict_partition(X)
    assert isinstance(partition, CredalPartition)
    return partition.pignistic()


def _has_prototypes(model: object) -> bool:
    return isinstance(getattr(model, "model_", None), PrototypeModel) and hasattr(model, "transform")
