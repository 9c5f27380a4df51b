"""A clusterer refitted to resamples of its objects, batch by batch, resumable, locally or on a cluster."""

from __future__ import annotations

import base64
import binascii
import math
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import torch
from sklearn.base import clone
from torch import Tensor

from softecm._engine import check_memory, interruptible, threads
from softecm._fingerprint import warn_unseen
from softecm._progress import Counter, counted
from softecm._version import __version__
from softecm.algorithms.family import PrototypeFamily
from softecm.belief import CredalPartition, FocalSets
from softecm.belief.combination import matching
from softecm.calibration.column_groups import ColumnGroups
from softecm.calibration.intervals import AT_ONCE, FloatArray, IntArray
from softecm.calibration.mixture import GaussianGroups
from softecm.calibration.posterior import from_distances
from softecm.distances.auto import choose_for, resolve_metric
from softecm.distances.estimator_metrics import SetQuadratic
from softecm.distances.squared_euclidean import SquaredEuclidean
from softecm.files.journal import Journal
from softecm.fit.algorithm import Algorithm, Fit
from softecm.fit.prepare import InMemory, in_memory
from softecm.fit.settings import PrototypeModel
from softecm.fit.stages import known_stage
from softecm.objective.problem import set_barycenters
from softecm.selection.batch import prototypes_of, takes_dissimilarities
from softecm.selection.grid import describe, described, digest, short_hash
from softecm.selection.stability import part_of
from softecm.spaces.base import Encoded
from softecm.spaces.raw import raw_data

Resample: TypeAlias = Literal["auto", "bootstrap", "half"]
MOST_AT_ONCE = 32
CONCERNED = 0.01  # mass outside single clusters from which an object may be between them, or nowhere


@dataclass(frozen=True)
class Refitting:
    """What is refitted, and how: sent to and prepared by each worker once."""

    model: Any
    X: Any
    resample: Resample = "auto"
    warm: bool = True
    random_state: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        """Number of objects and clusters."""
        return len(self.model.labels_), int(self.model.focal_sets_.n_clusters)

    @cached_property
    def ready(self) -> EncodedModel | None:
        """The model with its objects, if refits can continue from it; None if each starts anew."""
        if not self.warm or not _weighable(self.model):
            return None
        encoded = _ready(self.model, self.X)
        return encoded if encoded.moves else None

    @property
    def bootstrap(self) -> bool:
        """Whether to draw objects with replacement; the default is halves if copies count as separate objects."""
        return self.resample == "bootstrap" or (self.resample == "auto" and self.ready is not None)

    @property
    def form(self) -> str:
        """The assumed form of groups, and why."""
        if self.ready is not None and self.ready.smooth is not None:
            return self.ready.form
        return "objects around a prototype" if _has_prototypes(self.model) else "what the model's masses say"

    @property
    def way(self) -> str:
        """Everything that changes the numbers, except model and objects."""
        kind = "anew" if self.ready is None else "moved"
        return f"{'bootstrap' if self.bootstrap else 'half'} {kind} {self.random_state} {self.form}"

    @property
    def at_once(self) -> int:
        """Number of refits per batch."""
        if self.ready is None or self.ready.smooth is None:
            return 1
        return int(np.clip(AT_ONCE // (self.shape[0] * self.shape[1]), 1, MOST_AT_ONCE))

    @cached_property
    def concerned(self) -> IntArray:
        """The objects with any mass outside single clusters in the model."""
        masses = self.model.partition_.masses
        return np.flatnonzero(1.0 - masses[:, 1 : self.shape[1] + 1].sum(1) > CONCERNED).astype(np.int64)

    @property
    def set_shape(self) -> tuple[int, int]:
        """Number of objects whose masses on sets come from refits, and of columns of the mass matrix."""
        return len(self.concerned), len(self.model.focal_sets_) + 1

    def refitted(self, numbers: Sequence[int]) -> tuple[FloatArray, FloatArray]:
        """Return probabilities (len(numbers), n, c) of these refits, and masses of the objects concerned."""
        counts = np.stack([_counts(self.shape[0], b, self.random_state, self.bootstrap) for b in numbers])
        ready = self.ready
        if ready is None:
            both = [_anew(self.model, self.X, one, b, self.concerned) for one, b in zip(counts, numbers, strict=True)]
        elif ready.smooth is None:
            both = [_moved(ready, one, self.concerned) for one in counts]
        else:
            shares = ready.memberships(counts, numbers)
            sets = [ready.moved_masses(one, w, self.concerned) for one, w in zip(shares, counts, strict=True)]
            return shares, np.stack(sets)
        return np.stack([one for one, _ in both]), np.stack([masses for _, masses in both])


def _counts(n: int, b: int, random_state: int, bootstrap: bool) -> FloatArray:
    """Return the count of each object in resample b: with replacement, or half of them once, with equal variance."""
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
    inside: FloatArray  # (n,), mass outside the empty set
    learned: FloatArray  # (n,), weight of each object in a fit: tails of t distributions include outliers
    smooth: GaussianGroups | ColumnGroups | None  # for squared distances
    sharp: ColumnGroups | None  # nonparametric groups, if no mixture describes them
    start: FloatArray  # (n, c), probabilities by the model's own clusters

    @property
    def moves(self) -> bool:
        """Whether a fit can continue from the prototypes of another."""
        return not self.objects.metric.discrete and not self.algorithm.starts_at_masses

    @property
    def form(self) -> str:
        """The assumed form of groups."""
        smooth = "" if self.smooth is None else str(self.smooth.form)
        sharp = self.sharp is not None and smooth != self.sharp.form
        return f"{smooth} and, where these fit poorly, {ColumnGroups.form}" if sharp else smooth

    def memberships(self, counts: FloatArray, numbers: Sequence[int]) -> FloatArray:
        """Return probabilities (runs, n, c) of groups of resamples; every second one with sharp borders, if possible."""
        assert self.smooth is not None
        shares = self.smooth.fitted(self.start, counts * self.learned)
        odd = np.flatnonzero(np.asarray(numbers) % 2)
        if self.sharp is not None and len(odd):
            shares[odd] = self.sharp.fitted(shares[odd], counts[odd] * self.inside)
        return shares

    def moved_masses(self, memberships: FloatArray, counts: FloatArray, rows: IntArray) -> FloatArray:
        """Return masses of some objects after moving the model's prototypes like a refit moves the groups' means."""
        moved = self._means(memberships, counts) - self._own_means
        last = self.fitted.prototypes
        return self.masses_at(last[: moved.shape[0]] + moved.to(last), rows)

    def masses_at(self, clusters: Tensor, rows: IntArray) -> FloatArray:
        """Return masses (rows, f + 1) of some objects by the model with other clusters, and sets between them."""
        model, places = self.fitted, clusters
        if not model.follows and len(model.focal) > len(clusters):
            middles = set_barycenters(self.objects.metric, model.focal, clusters[None], None)[0]
            places = torch.cat([clusters, middles])
        some = self.objects.x.cpu()[torch.from_numpy(rows)]
        return np.asarray(replace(model, prototypes=places).masses(some), dtype=np.float64)

    @cached_property
    def _own_means(self) -> Tensor:
        return self._means(self.start, np.ones_like(self.inside))

    def _means(self, memberships: FloatArray, counts: FloatArray) -> Tensor:
        """Return the means of the groups (c, *shape)."""
        weights = torch.as_tensor(memberships * (counts * self.inside)[:, None]).to(self.objects.dtype)
        like = self.fitted.prototypes[: weights.shape[1]].to(self.objects.dtype)
        sums = self.objects.metric.closed_form.sums(self.objects.x.cpu(), like, weights)
        assert sums is not None  # distances are quadratic if groups are densities
        return sums.moment / sums.curvature.clamp_min(1e-30)


def _weighable(model: object) -> bool:
    return isinstance(model, PrototypeFamily) and model.batches and not takes_dissimilarities(model)


def _ready(model: Any, X: object) -> EncodedModel:
    chosen = model._settings()
    raw = raw_data(X)
    choice = choose_for(chosen.metric, raw, chosen.n_clusters)
    metric, own = resolve_metric(choice.metric, None), model.model_
    if type(metric.make_space()) is not type(own.space):  # the fit's choice was for other units of the columns
        metric = SquaredEuclidean() if isinstance(own.metric, SetQuadratic) else own.metric
    algorithm = model._algorithm(metric)
    objects = in_memory(algorithm, chosen, metric, model, raw.without(choice.left_out), None, runs=1)
    inside, x = 1.0 - model.partition_.masses[:, 0], objects.x.cpu()
    distances = model.model_.distances(x).double().numpy()[:, : chosen.n_clusters]
    start, learned = from_distances(distances, inside), inside
    mixture = GaussianGroups.of(objects.metric, x)
    if mixture is not None:
        mixture = mixture.likeliest(start, inside, distances.argmin(1))
    quadratic = objects.metric.closed_form.quadratic
    sharp = ColumnGroups.of(x, start, inside) if quadratic else None
    smooth: GaussianGroups | ColumnGroups | None = mixture
    if mixture is not None:
        learned = np.ones_like(inside) if mixture.form.heavy else inside
        sharp = None if mixture.describes(start, learned) else sharp
    elif quadratic:
        smooth = ColumnGroups.of(x, start, inside, smooth=True)
    if smooth is not None:
        start = smooth.fitted(start, learned[None])[0]
    return EncodedModel(model, algorithm, objects, model.model_, inside, learned, smooth, sharp, start)


def _moved(ready: EncodedModel, counts: FloatArray, rows: IntArray) -> tuple[FloatArray, FloatArray]:
    """Refit the model's clusters to these weights; return probabilities from the distances, and masses."""
    learned = counts * ready.inside
    objects, c = ready.objects, ready.fitted.focal.n_clusters
    weights = torch.as_tensor(counts, dtype=objects.dtype, device=objects.device)
    weighed = replace(objects, counts=counts, weights=weights, weight=float(counts.sum()))
    chosen = ready.model._settings()
    with threads(chosen.n_jobs):
        fit = Fit(ready.algorithm, weighed, chosen)
        moved = fit.model_of(known_stage(fit, ready.fitted).single)
        distances = moved.distances(objects.x.cpu()).double().numpy()[:, :c]
    masses = ready.model.partition_.masses[rows]
    if objects.metric.closed_form.barycenters(moved.prototypes[:c], torch.ones(1, c).to(moved.prototypes)) is not None:
        masses = ready.masses_at(moved.prototypes[:c].to(ready.fitted.prototypes), rows)
    return from_distances(distances, learned), masses


def _anew(model: Any, X: object, counts: FloatArray, b: int, concerned: IntArray) -> tuple[FloatArray, FloatArray]:
    """Fit a resample from scratch and match its clusters; return probabilities, and masses of some."""
    rows = np.repeat(np.arange(len(counts)), counts.astype(np.int64))
    again = clone(model)
    if "random_state" in again.get_params(False):
        again.set_params(random_state=b)
    relational = takes_dissimilarities(model)
    again.fit(part_of(X, rows, rows if relational else None))
    everyone = part_of(X, np.arange(len(counts)), rows) if relational else X
    partition = again.predict_partition(everyone)
    assert isinstance(partition, CredalPartition)
    shares = partition.pignistic()
    if _has_prototypes(again):
        distances = np.asarray(again.transform(everyone), dtype=np.float64)[:, : partition.n_clusters]
        shares = from_distances(distances, counts * (1.0 - model.partition_.masses[:, 0]))
    own = model.partition_.pignistic()
    into = _into(shares, own)
    return _numbered(shares, own), _on_sets(partition.masses[concerned], partition.focal_sets, into, model.focal_sets_)


def _into(shares: FloatArray, own: FloatArray) -> IntArray:
    """Return the model's cluster for each cluster of a refit; extra ones map to the cluster of most of their objects."""
    into = matching(shares, own)
    return np.where(into < own.shape[1], into, (shares.T @ own).argmax(1)).astype(np.int64)


def _numbered(shares: FloatArray, own: FloatArray) -> FloatArray:
    """Return memberships with the clusters of a model, (n, c)."""
    matched = np.zeros_like(own)
    np.add.at(matched.T, _into(shares, own), shares.T)
    return matched


def _on_sets(masses: FloatArray, focal: FocalSets, into: IntArray, own: FocalSets) -> FloatArray:
    """Return masses on the model's sets; clusters share the mass of other sets."""
    place = {members: j + 1 for j, members in enumerate(own.sets)}
    moved = np.zeros((len(masses), len(own) + 1))
    moved[:, 0] = masses[:, 0]
    for j, members in enumerate(focal.sets):
        there = tuple(sorted({int(into[k]) for k in members}))
        at = [place[there]] if there in place else [place[(k,)] for k in there]
        moved[:, at] += masses[:, j + 1, None] / len(at)
    return moved


def _has_prototypes(model: object) -> bool:
    return prototypes_of(model) is not None and hasattr(model, "transform")


class Refits(NamedTuple):
    """The results of refits."""

    memberships: FloatArray  # (n_boot, n, c), clusters numbered like the model's
    masses: FloatArray  # (n_boot, concerned, f + 1), of the objects that may be between clusters or nowhere


Batch = tuple[Sequence[int], Refits]  # numbers of refits, and their results


class CalibrationInterrupted(KeyboardInterrupt):
    """Refits were stopped by Ctrl-C; the message says how many were done and how to resume."""


def refits(
    refitting: Refitting,
    n_boot: int,
    *,
    journal: str | os.PathLike[str] | None = None,
    progress: bool = False,
    client: object = None,
) -> Refits:
    """Return all refits."""
    if journal is None:
        return _all(refitting, n_boot, None, progress, client)
    model = refitting.model
    own = [*described(model.get_params(False)), ("masses", describe(np.asarray(model.partition_.masses)))]
    warn_unseen(getattr(model, "metric", None), f"journal {journal}")
    work = {
        "data": digest(refitting.X),
        "model": short_hash((type(model).__name__, own, refitting.way)),
        "version of softecm": __version__,
    }
    with Journal(journal, work, lambda _, row: _read(row, refitting) is not None, "calibration") as book:
        return _all(refitting, n_boot, book, progress, client)


def _all(refitting: Refitting, n_boot: int, book: Journal | None, progress: bool, client: object) -> Refits:
    """Run what the journal does not have yet, batch by batch."""
    size = 8.0 * n_boot * (math.prod(refitting.shape) + math.prod(refitting.set_shape))
    check_memory(2.0 * size, f"what {n_boot} refits say of {refitting.shape[0]} objects", "100 refits are usual.")
    refits = Refits(np.empty((n_boot, *refitting.shape)), np.empty((n_boot, *refitting.set_shape)))
    done = np.zeros(n_boot, dtype=bool)
    for item, row in {} if book is None else book.done.items():
        known = _read(row, refitting)
        if known is not None and item.isdecimal() and int(item) < n_boot:
            _put(refits, [int(item)], Refits(*(part[None] for part in known)))
            done[int(item)] = True
    with counted("refits", n_boot, int(done.sum())) if progress else nullcontext(Counter()) as counter:
        try:
            for numbers, batch in _run(refitting, np.flatnonzero(~done).tolist(), client):
                _put(refits, numbers, batch)
                done[list(numbers)] = True
                if book is not None:
                    rows = [_row(Refits(*one)) for one in zip(*batch, strict=True)]
                    book.write([str(b) for b in numbers], rows)
                counter.advance(len(numbers))
        except KeyboardInterrupt as error:
            go_on = "give journal= a name to be able to resume"
            if book is not None:
                go_on = f"with journal {book.path} the same call resumes"
            message = f"interrupted with {int(done.sum())} of {n_boot} refits done; {go_on}."
            raise CalibrationInterrupted(message) from error
    return refits


def _put(refits: Refits, numbers: Sequence[int], batch: Refits) -> None:
    for whole, part in zip(refits, batch, strict=True):
        whole[list(numbers)] = part


def _run(refitting: Refitting, todo: Sequence[int], client: Any) -> Iterator[Batch]:
    """Yield batches as they complete: locally, or on a cluster."""
    step = refitting.at_once
    batches = [todo[a : a + step] for a in range(0, len(todo), step)]
    if client is None:
        for numbers in batches:
            with interruptible():
                done = run_batch(refitting, numbers)
            yield done
        return
    from softecm.distributed.waiting import as_done

    shared = client.scatter(refitting, broadcast=True)
    yield from as_done(client, run_batch, [(shared, numbers) for numbers in batches])


def run_batch(refitting: Refitting, numbers: Sequence[int]) -> Batch:
    """Run some refits; a plain function, so that other processes can run it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nearly converged refits are fine
        return numbers, Refits(*refitting.refitted(numbers))


def _row(one: Refits) -> Mapping[str, str]:
    return {
        name: base64.b64encode(np.ascontiguousarray(part).tobytes()).decode("ascii")
        for name, part in one._asdict().items()
    }


def _read(row: Mapping[str, Any], refitting: Refitting) -> Refits | None:
    """Return the content of a journal's row; None if it is not a refit."""
    shapes = {"memberships": refitting.shape, "masses": refitting.set_shape}
    try:
        parts = {
            name: np.frombuffer(base64.b64decode(row[name], validate=True), dtype=np.float64).reshape(shape)
            for name, shape in shapes.items()
        }
    except (KeyError, TypeError, ValueError, binascii.Error):
        return None
    return Refits(**parts)
