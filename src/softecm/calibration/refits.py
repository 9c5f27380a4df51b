"""The same clusterer fitted again and again to resamples of the objects, and what each fit says of all of them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import clone

from softecm._engine import threads
from softecm._fingerprint import warn_unseen
from softecm._interrupts import interruptible
from softecm._progress import bar
from softecm._version import __version__
from softecm.algorithms.base import EvidentialClusterer, PrototypeFamily
from softecm.belief import CredalPartition
from softecm.belief.combination import matching
from softecm.calibration.posterior import Mixture, from_distances
from softecm.distances.auto import choose_for
from softecm.distances.registry import resolve_metric
from softecm.files.journal import Journal
from softecm.fit import pipeline
from softecm.fit.algorithm import Algorithm
from softecm.fit.model import PrototypeModel
from softecm.fit.prepare import InMemory, in_memory
from softecm.fit.stages import refined
from softecm.selection.batch import takes_dissimilarities
from softecm.selection.grid import describe, digest
from softecm.selection.stability import part_of

FloatArray = NDArray[np.float64]
Resample: TypeAlias = Literal["auto", "bootstrap", "half"]
WITHOUT_EFFECT = ("callback", "device", "n_jobs", "verbose")
Refit: TypeAlias = Callable[[int], FloatArray]


class CalibrationInterrupted(KeyboardInterrupt):
    """Refits were stopped by Ctrl-C; the text says how many were done and how to go on."""


def refits(
    model: Any,
    X: Any,
    n_boot: int,
    *,
    resample: Resample,
    warm: bool,
    random_state: int,
    journal: str | os.PathLike[str] | None,
    progress: bool,
) -> FloatArray:
    """Memberships (n_boot, n, c) of all objects in each refit, clusters numbered as the model's."""
    refit, way = _refit(model, X, resample, warm, random_state)
    if journal is None:
        return _all(refit, n_boot, None, progress)
    warn_unseen(getattr(model, "metric", None), f"journal {journal}")
    work = {
        "data": digest(X),
        "model": hashlib.sha256(repr((type(model).__name__, _described(model), way)).encode()).hexdigest()[:16],
        "version of softecm": __version__,
    }
    shape = (len(model.labels_), int(model.focal_sets_.n_clusters))
    with Journal(journal, work, lambda _, row: _read(row, shape) is not None, "calibration") as book:
        return _all(refit, n_boot, book, progress, shape)


def _described(model: Any) -> list[tuple[str, str]]:
    own = sorted(
        (name, describe(value)) for name, value in model.get_params(False).items() if name not in WITHOUT_EFFECT
    )
    return [*own, ("masses", describe(np.asarray(model.partition_.masses)))]


def _all(
    refit: Refit, n_boot: int, book: Journal | None, progress: bool, shape: tuple[int, int] = (0, 0)
) -> FloatArray:
    done: dict[int, FloatArray] = {}
    if book is not None:
        kept = {int(item): _read(row, shape) for item, row in book.done.items() if item.isdecimal()}
        done = {b: found for b, found in kept.items() if found is not None and b < n_boot}
    with _counted(progress, n_boot, len(done)) as advance, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a refit that has not quite converged says what it says
        for b in range(n_boot):
            if b in done:
                continue
            try:
                with interruptible():
                    done[b] = refit(b)
            except KeyboardInterrupt as error:
                go_on = (
                    "give journal= a name to be able to go on"
                    if book is None
                    else f"with journal {book.path} the same call goes on"
                )
                raise CalibrationInterrupted(
                    f"interrupted with {len(done)} of {n_boot} refits done; {go_on}."
                ) from error
            if book is not None:
                book.write([str(b)], [_row(done[b])])
            advance()
    return np.stack([done[b] for b in range(n_boot)])


def _row(memberships: FloatArray) -> Mapping[str, str]:
    return {"memberships": base64.b64encode(np.ascontiguousarray(memberships).tobytes()).decode("ascii")}


def _read(row: Mapping[str, Any], shape: tuple[int, int]) -> FloatArray | None:
    """What a journal's row holds; None where it is something else."""
    try:
        numbers = np.frombuffer(base64.b64decode(row["memberships"], validate=True), dtype=np.float64)
        return numbers.reshape(shape)
    except (KeyError, TypeError, ValueError, binascii.Error):
        return None


@contextmanager
def _counted(shown: bool, total: int, done: int) -> Iterator[Callable[[], None]]:
    if not shown:
        yield lambda: None
        return
    with bar() as shown_bar:
        number = shown_bar.add_task("refits", total=total, completed=done)
        yield lambda: shown_bar.advance(number)


# ---------------------------------------------------------------------------------------------------- one refit


def _refit(model: Any, X: Any, resample: Resample, warm: bool, random_state: int) -> tuple[Refit, str]:
    """What refits a model to a resample, by the resample's number, and a word for the way."""
    bootstrap = resample != "half"
    if warm and _weighable(model):
        ready = _ready(model, X)
        if ready.moves:
            kind = "bootstrap" if bootstrap else "half"
            return lambda b: _moved(
                ready, _weights(len(ready.inside), b, random_state, bootstrap)
            ), f"{kind} moved {random_state}"
    bootstrap = resample == "bootstrap"  # copies of an object are no other objects: half of them each by default
    way = f"{'bootstrap' if bootstrap else 'half'} anew {random_state}"
    return lambda b: _anew(model, X, _weights(len(model.labels_), b, random_state, bootstrap), b), way


def _weights(n: int, b: int, random_state: int, bootstrap: bool) -> FloatArray:
    """How often each object is in resample b: drawn with replacement, or half of them once, which vary as much."""
    rng = np.random.default_rng((random_state, b))
    if bootstrap:
        return rng.multinomial(n, np.full(n, 1.0 / n)).astype(np.float64)
    counts = np.zeros(n)
    counts[rng.permutation(n)[: max(2, n // 2)]] = 1.0
    return counts


@dataclass(frozen=True)
class _Ready:
    """A fitted model with its objects, encoded once for all refits."""

    model: Any
    algorithm: Algorithm[Any]
    objects: InMemory[Any]
    fitted: PrototypeModel
    inside: FloatArray  # (n,), how far each object belongs anywhere
    mixture: Mixture | None  # where distances are squares
    start: FloatArray  # (n, c), probabilities by the model's own clusters

    @property
    def moves(self) -> bool:
        """Whether a fit can go on from the prototypes of another."""
        return not self.objects.metric.discrete and not self.algorithm.starts_at_masses


def _weighable(model: Any) -> bool:
    return isinstance(model, PrototypeFamily) and model.batches and not takes_dissimilarities(model)


def _ready(model: Any, X: Any) -> _Ready:
    chosen = model._settings()
    choice = choose_for(chosen.metric, X, chosen.n_clusters)
    metric = resolve_metric(choice.metric, None)
    algorithm = model._algorithm(metric)
    objects = in_memory(algorithm, chosen, metric, model, choice.kept(X), None, runs=1)
    inside, x = 1.0 - model.partition_.masses[:, 0], objects.x.cpu()
    c, mixture = chosen.n_clusters, Mixture.of(objects.metric, x)
    start = from_distances(np.asarray(model.model_.distances(x), dtype=np.float64)[:, :c], inside)
    if mixture is not None:
        start = mixture.fitted(start, inside)
    return _Ready(model, algorithm, objects, model.model_, inside, mixture, start)


def _moved(ready: _Ready, counts: FloatArray) -> FloatArray:
    """The model's clusters moved to where these weights want them, and what the distances to them say."""
    learned = counts * ready.inside
    if ready.mixture is not None:
        return ready.mixture.fitted(ready.start, learned)
    objects, c = ready.objects, ready.fitted.focal.n_clusters
    weights = torch.as_tensor(counts, dtype=objects.dtype, device=objects.device)
    weighed = replace(objects, each=counts, on_device=weights, weight=float(counts.sum()))
    chosen = ready.model._settings()
    with threads(chosen.n_jobs):
        single = refined(ready.algorithm, weighed, chosen, ready.fitted, None).single
        found = pipeline.model_of(ready.algorithm, weighed, single)
        distances = np.asarray(found.distances(objects.x.cpu()), dtype=np.float64)[:, :c]
    return from_distances(distances, learned)


def _anew(model: Any, X: Any, counts: FloatArray, b: int) -> FloatArray:
    """A fit of the resample from scratch, its clusters numbered as the model's."""
    rows = np.repeat(np.arange(len(counts)), counts.astype(np.int64))
    again = clone(model)
    if "random_state" in again.get_params(False):
        again.set_params(random_state=b)
    relational = takes_dissimilarities(model)
    again.fit(part_of(X, rows, rows if relational else None))
    everyone = np.asarray(X)[:, rows] if relational else X
    found = _memberships(again, everyone, counts * (1.0 - model.partition_.masses[:, 0]))
    into = matching(found, model.partition_.pignistic())
    matched = np.zeros((len(found), max(found.shape[1], model.focal_sets_.n_clusters)))
    matched[:, into] = found
    return matched[:, : model.focal_sets_.n_clusters]


def _memberships(model: Any, X: Any, counts: FloatArray) -> FloatArray:
    """Probabilities of clusters: by distances to prototypes where there are some, else pignistic."""
    fitted = getattr(model, "model_", None)
    if isinstance(fitted, PrototypeModel) and hasattr(model, "transform"):
        c = fitted.focal.n_clusters
        return from_distances(np.asarray(model.transform(X), dtype=np.float64)[:, :c], counts)
    assert isinstance(model, EvidentialClusterer)
    partition = model.predict_partition(X)
    assert isinstance(partition, CredalPartition)
    return partition.pignistic()
