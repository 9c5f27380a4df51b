"""Data prepared for clustering: checked, encoded, on its device, with what all runs share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight
from torch import Tensor

from softecm._engine import LARGE_WORK, check_memory, choose_device
from softecm._text import place
from softecm.distances.auto import try_metric
from softecm.distances.base import SemiMetric, blocks, distances_of, nearest_of
from softecm.fit.checkpoints import content_number
from softecm.fit.settings import PrototypeModel, Settings, check_size
from softecm.objective.problem import has_barycenters
from softecm.spaces.base import (
    LARGEST,
    Encoded,
    Space,
    check_enough,
    refuse_dissimilarities,
    systematic,
    weighted_quantile,
)
from softecm.spaces.dissimilarities import Dissimilarities
from softecm.spaces.raw import RawData, as_numbers
from softecm.spaces.real import RealVectors
from softecm.spaces.sparse import SparseRows, WholeRows

GROUP_CELLS = 1 << 22  # maximum number of distances to the nearest start in memory


class Draw(NamedTuple):
    """How initial prototypes are drawn.

    Attributes
    ----------
    kind : "k-means++", with the metric itself, or "random" objects
    runs : number of initializations
    cap : maximum distance, so that outliers are not drawn for being far
    greedy : number of candidates for each cluster, of which the best is taken
    """

    kind: str
    runs: int
    cap: float = np.inf
    greedy: int = 1


def seed(
    draw: Draw,
    metric: SemiMetric,
    space: Space,
    x: Encoded,
    weights: NDArray[np.float64],
    n_clusters: int,
    rng: np.random.RandomState,
) -> Tensor:
    """Return initial prototypes (runs, c, *shape).

    Objects are drawn in an order that depends only on their content (``Space.keys``), so that an initialization depends
    on the objects and their weights, not on the order of rows, nor on whether an object occurs twice or has weight 2.
    """
    order = np.argsort(space.keys(x), kind="stable")
    shape = (draw.runs, n_clusters) if draw.greedy == 1 else (draw.runs, n_clusters, draw.greedy)
    draws = rng.random_sample(shape).reshape(draw.runs, n_clusters, draw.greedy)
    spread = draw.kind == "k-means++"
    size = max(1, GROUP_CELLS // (len(order) * draw.greedy)) if spread else draw.runs
    pool = _Pool(metric, space, x, weights, order, draw.cap, {})
    chosen = np.empty((draw.runs, n_clusters), dtype=np.int64)
    for first in range(0, draw.runs, size):
        chosen[first : first + size] = (_spread if spread else _at_random)(pool, draws[first : first + size])
    rows = torch.as_tensor(chosen)
    starts = space.starts(x, rows.reshape(-1))
    return starts.reshape(draw.runs, n_clusters, *starts.shape[1:])


class _Pool(NamedTuple):
    metric: SemiMetric
    space: Space
    x: Encoded
    weights: NDArray[np.float64]
    order: NDArray[np.int64]
    cap: float
    known: dict[int, NDArray[np.float64]]  # distances of all objects to some, if all would fit

    def drawn(self, nearest: NDArray[np.float64] | None, draws: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return an object for each draw, in proportion to weight, times distance to the nearest start if there is one."""
        chance = (self.weights if nearest is None else self.weights * nearest)[self.order]
        if not chance.any():  # every object is a start already
            chance = self.weights[self.order]
        return self.order[pick(chance, draws)]

    def distances(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return distances of all objects to some of them (n, k), at most ``cap``."""
        new = sorted(set(rows.tolist()).difference(self.known))
        if new:
            places = self.space.starts(self.x, torch.as_tensor(new))
            far: NDArray[np.float64] = distances_of(self.metric, self.x, places).double().cpu().numpy()
            self.known.update(zip(new, np.minimum(far, self.cap).T, strict=True))
        picked = np.stack(list(map(self.known.__getitem__, rows.tolist())), 1)
        if len(self.order) ** 2 > GROUP_CELLS:
            self.known.clear()
        return picked


def _spread(pool: _Pool, draws: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return k-means++ indices (runs, c); of several candidates per cluster, the one that leaves the least distance."""
    runs, c, greedy = draws.shape
    chosen = np.empty((runs, c), dtype=np.int64)
    nearest: NDArray[np.float64] | None = None  # (n, runs)
    for k in range(c):
        few = 1 if k == 0 else greedy  # the first is drawn by weight alone
        if nearest is None:
            rows = pool.drawn(None, draws[:, k, :few])
        else:
            rows = np.stack(list(map(pool.drawn, nearest.T, draws[:, k, :few])))
        if few == 1 and k + 1 == c:
            return np.concatenate([chosen[:, :k], rows], 1)
        left = pool.distances(rows.reshape(-1)).reshape(-1, runs, few)
        if nearest is not None:
            left = np.minimum(left, nearest[..., None])
        best = np.zeros(runs, dtype=np.int64) if few == 1 else np.einsum("n,nrj->rj", pool.weights, left).argmin(1)
        chosen[:, k] = rows[np.arange(runs), best]
        nearest = left[:, np.arange(runs), best]
    return chosen


def _at_random(pool: _Pool, draws: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return indices (runs, c) of random objects, without repetition in a run if there are enough."""
    runs, c, _ = draws.shape
    chosen = np.empty((runs, c), dtype=np.int64)
    for run in range(runs):
        free = np.ones(len(pool.order))
        for k in range(c):
            chosen[run, k] = pool.drawn(free, draws[run, k])[0]
            free[chosen[run, k]] = 0.0
    return chosen


def pick(chance: NDArray[np.float64], draws: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the positions at which the cumulative sum of ``chance`` passes each of ``draws`` times its total."""
    steps = np.cumsum(chance)
    positions = np.searchsorted(steps, draws * steps[-1], side="right")
    clipped: NDArray[np.int64] = np.minimum(positions, np.flatnonzero(chance)[-1])
    return clipped


COMPARED_PROTOTYPES = 30  # typical number compared at once with objects of less detail: ten starts of three clusters
ABSURD = 100.0  # times the median distance to the barycentre: objects beyond don't affect the usual distance


X = TypeVar("X", covariant=True)
E = TypeVar("E", bound=Encoded, covariant=True)
P = TypeVar("P", contravariant=True)


class Preparation(ABC, Generic[P]):
    """What an algorithm decides before its problem is defined."""

    #: Whether objects may be sparse rows, if the metric supports them.
    takes_sparse: ClassVar[bool] = False
    #: Whether the first stage may use a sample of the objects.
    samples: ClassVar[bool] = True
    #: Whether weights of several views can be learned with the clusters.
    weighs: ClassVar[bool] = False
    #: Whether it needs the dissimilarities between all objects.
    compares: ClassVar[bool] = False
    #: What can't run on a GPU, for the message; empty if all of it can.
    cpu_only: ClassVar[str] = ""

    @abstractmethod
    def from_center(self, objects: Objects[P]) -> NDArray[np.float64]:
        """Return distances (n,) of the objects to the barycentre of all."""


@dataclass(frozen=True)
class Columns:
    """What scikit-learn needs to know about the data given to ``fit``."""

    n_features: int
    names: NDArray[np.object_] | None


@dataclass(frozen=True)
class Objects(ABC, Generic[X]):
    """All objects of a fit, in memory or elsewhere."""

    metric: SemiMetric  # fitted
    space: Space  # fitted
    x: X
    device: torch.device
    weight: float  # sum of the objects' weights
    spread: float  # their mean distance to the barycentre of all
    columns: Columns
    counts: NDArray[np.float64]  # (n,), weight of each object; empty for blocks, which have their own
    weights: Tensor | None  # the same on the device, unless all are 1; None for blocks
    #: Whether they are in this process's memory; otherwise they are blocks, on disk or on a cluster.
    are_here: ClassVar[bool] = False

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    def has_barycenters(self) -> bool:
        """Whether the metric has a closed form for barycentres."""
        return not self.metric.discrete and has_barycenters(self.metric, self.like())

    @abstractmethod
    def like(self) -> Tensor:
        """Return any prototype (1, *shape)."""

    @abstractmethod
    def sample(self, size: int) -> InMemory[Any]:
        """Return a sample of this size in memory that represents all objects, with weights."""

    @abstractmethod
    def nearest_spread(self, model: PrototypeModel) -> tuple[float, float]:
        """Weighted median of distances to the nearest prototype (``scale_power``), and of absolute deviations from it."""

    @abstractmethod
    def second_nearest(self, model: PrototypeModel) -> NDArray[np.float64]:
        """Return the weight of the objects whose two nearest prototypes are a and b, a < b: (c, c)."""

    @abstractmethod
    def from_center(self, q: float) -> float:
        """Return the weighted quantile of the distances to the barycentre of all."""

    @abstractmethod
    def seeded(self, n_clusters: int, draw: Draw, rng: np.random.RandomState) -> Tensor:
        """Return initial prototypes (runs, c, *shape)."""

    @abstractmethod
    def content(self) -> int:
        """Return a digest of all objects and their weights that ignores their order."""

    def distinct(self, enough: int) -> int | None:
        """Return the number of distinct objects if they are in memory and fewer than ``enough``."""
        return None

    def quicker(self, algorithm: Preparation[object], *, rounded: bool) -> Version:
        """Return cheaper objects for choosing between initializations; ``rounded``: in single precision if it suffices."""
        return Version(self)

    def rounded(self) -> Version | None:
        """Return the objects in single precision; None if that doesn't suffice."""
        return None


@dataclass(frozen=True)
class Version:
    """Cheaper objects that represent others, and the way back for prototypes found with them."""

    objects: Objects[object]
    space: Space | None = None  # of the full objects; None: these are they
    coarser: bool = False  # with less detail, in units of their own: the full objects must decide

    def back(self, prototypes: Tensor) -> Tensor:
        """Return prototypes (runs, c, ...) for the full objects."""
        if self.space is None:
            return prototypes
        finer = self.space.finer(prototypes.flatten(0, 1), self.objects.space)
        return finer.reshape(*prototypes.shape[:2], *finer.shape[1:])


@dataclass(frozen=True)
class InMemory(Objects[E]):
    """Objects in this process's memory."""

    distances: NDArray[np.float64]  # (n,), to the barycentre of all objects
    are_here: ClassVar[bool] = True

    def __len__(self) -> int:
        return len(self.x)

    def from_center(self, q: float) -> float:
        """Return the smallest distance at which the share of weight reaches ``q``."""
        return weighted_quantile(self.distances, q, self.counts)

    def seeded(self, n_clusters: int, draw: Draw, rng: np.random.RandomState) -> Tensor:
        """Draw depending on the objects and their weights, not on the order of rows."""
        return seed(draw, self.metric, self.space, self.x.cpu(), self.counts, n_clusters, rng)

    def like(self) -> Tensor:
        """Return the first object as a prototype."""
        return self.space.starts(self.x, torch.zeros(1, dtype=torch.int64, device=self.device))

    def distinct(self, enough: int) -> int | None:
        """Return the number of distinct objects if there are fewer than ``enough``."""
        count = len(np.unique(self.space.keys(self.x.cpu())))
        return count if count < enough else None

    @cached_property
    def _samples(self) -> dict[int, tuple[NDArray[np.int64], NDArray[np.float64]]]:
        return {}

    def sample_rows(self, size: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the indices of a sample of this size, and the weight of each."""
        if size not in self._samples:
            self._samples[size] = systematic(self.space.keys(self.x.cpu()), self.counts, size)
        return self._samples[size]

    def sample(self, size: int) -> InMemory[E]:
        """Sample evenly over the weights in the order of the objects' keys."""
        rows, counts = self.sample_rows(size)
        part = self.part(torch.as_tensor(rows, device=self.device))
        weights = torch.as_tensor(counts, dtype=self.dtype, device=self.device)
        return replace(part, counts=counts, weights=weights, weight=float(counts.sum()))

    def nearest_spread(self, model: PrototypeModel) -> tuple[float, float]:
        """Compute them from the distances of all objects."""
        power = model.metric.scale_power(self.x)
        nearest = nearest_of(model.metric, self.x.cpu(), model.prototypes)[0].numpy()
        distances = np.sqrt(nearest) if power == 0.5 else nearest**power
        median = weighted_quantile(distances, 0.5, self.counts)
        return median, weighted_quantile(np.abs(distances - median), 0.5, self.counts)

    def second_nearest(self, model: PrototypeModel) -> NDArray[np.float64]:
        """Compute it from the distances of all objects."""
        return two_nearest(model, self.x.cpu(), self.counts)

    def content(self) -> int:
        """Return the sum of the objects' keys."""
        return content_number(self.space, self.x, None if self.weights is None else self.counts)

    @property
    def dtype(self) -> torch.dtype:
        """Dtype of the objects' numbers."""
        return self.like().dtype

    def part(self, rows: Tensor) -> InMemory[E]:
        """Return some of the objects, with the metric of all."""
        index = rows.cpu().numpy()
        counts, weights = self.counts[index], None if self.weights is None else self.weights[rows]
        weight, distances = float(counts.sum()), self.distances[index]
        return replace(self, x=self.x[rows], counts=counts, weights=weights, weight=weight, distances=distances)

    def quicker(self, algorithm: Preparation[object], *, rounded: bool) -> Version:
        """Return combinations of objects, fewer steps, or half the digits: the first of these that applies."""
        combined = self.metric.closed_form.combined(self.x) if self.space.sparse else None
        if combined is not None:
            space = combined.make_space()
            return Version(replace(self, metric=combined, space=space, x=WholeRows(self.x)), space)  # type: ignore[arg-type]
        if not algorithm.samples or self.metric.closed_form.quadratic:
            return Version(self)
        return self.coarsened(algorithm) or (self.rounded() if rounded else None) or Version(self)

    def coarsened(self, algorithm: Preparation[object]) -> Version | None:
        """Return the objects with less detail if their space supports it, in units of their own."""
        fewer = self.space.coarser(self.x)
        if fewer is None:
            return None
        coarse = self._near(*fewer)._encoded_as(*fewer)
        coarse = coarse._in_single() or coarse
        distances = algorithm.from_center(coarse)
        spread = float(np.average(distances, weights=self.counts))
        return Version(replace(coarse, distances=distances, spread=spread), self.space, coarser=True)

    def _near(self, space: Space, x: Encoded) -> InMemory[E]:
        """Encode in main memory if so little computation is left that a GPU would take longer."""
        device = device_of_fewer(self.metric, space, x, self.device)
        weights = None if self.weights is None else self.weights.to(device)
        return replace(self, device=device, weights=weights)

    def rounded(self) -> Version | None:
        """Return the objects in single precision if it suffices for the metric and the objects."""
        light = self._in_single()
        return None if light is None else Version(light, self.space)

    def _in_single(self) -> InMemory[Encoded] | None:
        half = self.space.single(self.x) if self.metric.single else None
        if half is None:
            return None
        weights = None if self.weights is None else self.weights.float()
        return replace(self, weights=weights)._encoded_as(*half)

    def _encoded_as(self, space: Space, x: Encoded) -> InMemory[Encoded]:
        """Return the same objects in another encoding, with the metric's results about them."""
        weights, near = None if self.weights is None else self.weights.cpu(), x.cpu()
        return replace(self, metric=self.metric.fitted(near, weights), space=space, x=near.to(self.device))  # type: ignore[arg-type]


def in_memory(
    algorithm: Preparation[object],
    chosen: Settings,
    metric: SemiMetric,
    owner: object,
    raw: RawData,
    sample_weight: object,
    *,
    runs: int,
    known: Space | None = None,
) -> InMemory[Encoded]:
    """Check, encode and measure data for this number of simultaneous runs; ``owner`` is the estimator, unchanged.

    ``known`` is the space of an earlier batch, whose columns these objects must have; they may then be few.
    """
    space = space_for(algorithm, metric, raw) if known is None else known
    checked = object.__new__(type(owner))
    vars(checked).update(vars(owner))
    rows = space.check(checked, raw, reset=known is None)
    if not isinstance(space, Dissimilarities):
        refuse_dissimilarities(rows)
    columns = Columns(int(vars(checked)["n_features_in_"]), vars(checked).get("feature_names_in_"))
    own_weights = None if sample_weight is None else check_weights(sample_weight, rows)
    if known is None:
        space = (space if own_weights is None else space.weighted(own_weights)).fit(rows, dtype=chosen.dtype)
        space = space if columns.names is None else space.named(list(columns.names))
    x = space.encode(rows)
    try_metric(metric, space, x)
    n = len(x)
    if known is None:
        check_enough(chosen.n_clusters, n)
    check_size(chosen, n, quadratic=metric.closed_form.quadratic, compares=metric.discrete or algorithm.compares)
    if isinstance(x, SparseRows):
        check_memory(
            3 * 8.0 * chosen.n_sets * x.width,
            f"up to {chosen.n_sets} prototypes of {x.width} columns",
            "Leave columns without numbers out, or use fewer: sklearn.decomposition.TruncatedSVD.",
        )
    cpu_only = algorithm.cpu_only or ("" if metric.gpu else f"metric {metric.name or type(metric).__name__}")
    each = metric.cost_of_distance(space.starts(x, torch.zeros(1, dtype=torch.int64)).shape[1:])
    work = float(n) * chosen.n_sets * runs * each
    device = choose_device(chosen.device, work, "sparse rows" if space.sparse else cpu_only)
    counts = np.ones(n) if own_weights is None else own_weights
    weights = None if own_weights is None else torch.as_tensor(counts, dtype=chosen.dtype, device=device)
    learner = metric.for_clusters(chosen.n_clusters).learner
    if learner is not None:
        own = None if weights is None else weights.cpu()
        suited = None if known is not None else learner.suited(space, partial(learner.describe, x, own))
        if suited is not None:
            learner, space = suited.learner, space_for(algorithm, suited, raw).weighted(own_weights)
            space = space.fit(rows, dtype=chosen.dtype)
            x = space.encode(rows)
        assert learner is not None
        metric = learner.fitted(x, own)
        space = metric.open_space(space)
    x = x.to(device)
    objects = InMemory(metric, space, x, device, float(counts.sum()), 0.0, columns, counts, weights, np.empty(0))
    distances = algorithm.from_center(objects)
    usual = weighted_quantile(distances, 0.5, counts)
    usual_counts = counts * (distances <= ABSURD * usual)
    if usual > 0 and usual_counts.sum() < counts.sum():  # a few extreme objects attract the barycentre of all
        few = torch.as_tensor(usual_counts, dtype=chosen.dtype, device=device)
        distances = algorithm.from_center(replace(objects, weights=few))
    else:
        usual_counts = counts
    return replace(objects, distances=distances, spread=float(np.average(distances, weights=usual_counts)))


def device_of_fewer(metric: SemiMetric, space: Space, x: Encoded, device: torch.device) -> torch.device:
    """Return the device for objects of less detail: the CPU if a GPU would take longer to launch."""
    first = torch.zeros(1, dtype=torch.int64, device=device)
    work = COMPARED_PROTOTYPES * len(x) * metric.cost_of_distance(space.starts(x, first).shape[1:])
    return device if work >= LARGE_WORK else torch.device("cpu")


def space_for(algorithm: Preparation[object], metric: SemiMetric, raw: RawData) -> Space:
    """Return the metric's unfitted space; raise an error for sparse rows that would have to be made dense."""
    if metric.weighing is not None and not algorithm.weighs:
        raise ValueError(
            f"weights must be fixed for {type(algorithm).__name__.removesuffix('Algorithm')}; got "
            f"weights={metric.weighing.rule!r}, which are learned with the clusters. Use SoftECM, or 'equal' or "
            "'agreement'."
        )
    space = metric.make_space()
    if not raw.is_sparse:
        return space
    if not (metric.sparse and algorithm.takes_sparse and isinstance(space, RealVectors)):
        name, whose = metric.name or type(metric).__name__, type(algorithm).__name__.removesuffix("Algorithm")
        raise TypeError(
            f"X must not be sparse for metric {name!r} of {whose}; got a sparse matrix. Use SoftECM, ECM or FCM with "
            "'sqeuclidean' or 'cosine', or, if it fits in memory, X.toarray()."
        )
    return replace(space, sparse=True)


def check_weights(sample_weight: object, X: Any) -> NDArray[np.float64]:
    """Return weights (n,), checked to be not negative and not all zero."""
    weights = as_numbers(sample_weight, "sample_weight")
    if weights.size and (weights < 0).any():
        raise ValueError(
            f"sample_weight must not be negative; got {weights.min():g} for {place('object', int(weights.argmin()))}. "
            "Leave an object out by giving it weight 0."
        )
    if weights.size and weights.max() > LARGEST:
        raise ValueError(
            f"sample_weight must hold numbers of at most {LARGEST:g}; got {weights.max():g} for "
            f"{place('object', int(weights.argmax()))}. Only ratios of weights matter: divide all by the largest."
        )
    if weights.size and not weights.any():
        raise ValueError("sample_weight must not be zero for every object; got only zeros. Leave it out to count all.")
    checked: NDArray[np.float64] = np.asarray(
        _check_sample_weight(weights if weights.ndim else float(weights), X, dtype=np.float64)
    )
    return checked


def two_nearest(model: PrototypeModel, x: Encoded, counts: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return the weight of the objects whose two nearest prototypes are a and b, a < b: (c, c)."""
    c = len(model.prototypes)
    table = np.zeros((c, c))
    if c < 2:
        return table
    for rows in blocks(x, model.prototypes):
        d = distances_of(model.metric, x[rows], model.prototypes)
        pair = d.topk(2, largest=False).indices.sort(1).values.cpu().numpy()
        np.add.at(table, (pair[:, 0], pair[:, 1]), 1.0 if counts is None else counts[rows])
    return table


def start_rows(n: int) -> Tensor:
    """Return up to 256 evenly spread objects: the search for the barycentre of all starts at their mean."""
    # Single precision is not exact for indices of many rows.
    return torch.linspace(0, n - 1, min(n, 256), dtype=torch.float64 if n > 1 << 22 else torch.float32).long()
