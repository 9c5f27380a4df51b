"""Initialization for distributed objects: k-means|| with the metric itself.

A few passes draw many candidates at once, each object with probability proportional to its distance to the candidates
so far; each candidate gets the weight of the objects nearest to it, and every run draws its starts among the candidates
like k-means++ (Bahmani and others, "Scalable k-means++", 2012). A pass takes a fixed number of candidates: the first
arrivals of clocks, one per object, with rates proportional to the probabilities. An object's clock depends only on its
content and the seed, so that neither the blocks nor their order affect a start.
"""

from __future__ import annotations

import operator
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm.distances.base import SemiMetric, nearest_of
from softecm.distances.squared_euclidean import SquaredEuclidean
from softecm.distributed.passes import weights_of
from softecm.fit.prepare import pick
from softecm.spaces.base import Space
from softecm.spaces.scattered import Block, Scattered

PASSES = 4
SAMPLE_SALT = 0x9E3779B97F4A7C15  # the sample is the same for all seeds
OVERSAMPLING = 2  # candidates per pass and cluster


class Candidates(NamedTuple):
    """Objects drawn so far, ordered by content."""

    keys: NDArray[np.uint64]
    places: Tensor  # (k, *shape)

    def merge(self, other: Candidates) -> Candidates:
        """Merge both, each content once."""
        keys = np.concatenate([self.keys, other.keys])
        _, first = np.unique(keys, return_index=True)
        return Candidates(keys[first], torch.cat([self.places, other.places])[torch.from_numpy(first)])


def seed_scattered(
    kind: str,
    metric: SemiMetric,
    space: Space,
    x: Scattered,
    n_clusters: int,
    runs: int,
    rng: np.random.RandomState,
) -> Tensor:
    """Return initial prototypes (runs, c, *shape)."""
    salts = rng.randint(0, 1 << 62, size=PASSES + 2, dtype=np.int64).astype(np.uint64)
    draws = rng.random_sample((runs, n_clusters))
    if kind == "random":
        return _random(space, x, n_clusters, runs, salts[0], rng)
    drawn = _arrivals(x, metric, space, None, salts[0], 1)
    for salt in salts[1 : PASSES + 1]:
        drawn = drawn.merge(_arrivals(x, metric, space, drawn.places, salt, OVERSAMPLING * n_clusters))
    held = x.total(partial(_held, metric=metric, places=drawn.places), operator.add)
    between = metric.pairwise(drawn.places, drawn.places).detach().clamp_min(0.0).double().numpy()
    return drawn.places[torch.from_numpy(np.stack([_plus_plus(between, held, row) for row in draws]))]


def arrivals(x: Scattered, metric: SemiMetric, space: Space, size: int) -> Tensor:
    """Return objects drawn in proportion to their weights, as prototypes (k, *shape)."""
    return _arrivals(x, metric, space, None, np.uint64(SAMPLE_SALT), size).places


def _arrivals(
    x: Scattered, metric: SemiMetric, space: Space, places: Tensor | None, salt: np.uint64, count: int
) -> Candidates:
    """Return objects drawn by weight, times distance to the nearest of ``places`` if given."""
    of_block = partial(_first, metric=metric, space=space, places=places, salt=salt, count=count)
    arrivals: Arrivals = x.total(of_block, partial(_earliest, count=count))
    return arrivals.candidates


def _plus_plus(
    between: NDArray[np.float64], held: NDArray[np.float64], draws: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Run k-means++ among weighted candidates."""
    chosen: list[int] = []
    nearest = np.ones(len(held))
    for k, draw in enumerate(draws):
        chance = held * nearest
        if not chance.any():  # every candidate is a start already
            chance = np.maximum(held, np.finfo(np.float64).tiny)
        chosen.append(int(pick(chance, np.array([draw]))[0]))
        nearest = between[:, chosen[-1]] if k == 0 else np.minimum(nearest, between[:, chosen[-1]])
    return np.array(chosen, dtype=np.int64)


def _random(space: Space, x: Scattered, c: int, runs: int, salt: np.uint64, rng: np.random.RandomState) -> Tensor:
    """Return random objects, without repetition in a run if there are enough."""
    places = _arrivals(x, SquaredEuclidean(), space, None, salt, c * runs).places
    places = places.repeat(-(-c // len(places)), *(1,) * (places.ndim - 1))
    order = [rng.permutation(len(places))[:c] for _ in range(runs)]
    return places[torch.from_numpy(np.stack(order))]


# ------------------------------------------------------------------ for a block


def chances(keys: NDArray[np.uint64], salt: np.uint64) -> NDArray[np.float64]:
    """Return a number in (0, 1) for each object, from its content and the salt."""
    mixed = keys ^ salt
    for multiplier, shift in ((0xBF58476D1CE4E5B9, 30), (0x94D049BB133111EB, 27), (0x9E3779B97F4A7C15, 31)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(multiplier)
    mixed ^= mixed >> np.uint64(32)
    return ((mixed >> np.uint64(11)).astype(np.float64) + 0.5) / float(1 << 53)


def _nearest(block: Block, metric: SemiMetric, places: Tensor) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the distance to the nearest candidate (n,), and its index."""
    distances, which = nearest_of(metric, block.objects, places.to(block.device), first=block.first)
    return distances.numpy(), which.numpy()


def _held(block: Block, *, metric: SemiMetric, places: Tensor) -> NDArray[np.float64]:
    """Return the weight of the objects nearest to each candidate."""
    _, which = _nearest(block, metric, places)
    return np.bincount(which, weights_of(block), len(places)).astype(np.float64)


class Arrivals(NamedTuple):
    """The objects with the first arrivals, and their times; ordered by content."""

    times: NDArray[np.float64]
    candidates: Candidates


def _first(
    block: Block, *, metric: SemiMetric, space: Space, places: Tensor | None, salt: np.uint64, count: int
) -> Arrivals:
    keys = space.keys(block.objects.cpu())
    rate = np.ones(len(keys)) if places is None else _nearest(block, metric, places)[0]
    w = weights_of(block)
    with np.errstate(divide="ignore"):  # never, for an object on a candidate
        times = -np.log(chances(keys, salt)) / (rate if w is None else rate * w)
    rows = _once(keys, times, np.flatnonzero(np.isfinite(times)), count)
    rows = rows[np.argsort(keys[rows])]
    starts = space.starts(block.objects, torch.from_numpy(rows).to(block.device)).cpu()
    return Arrivals(times[rows], Candidates(keys[rows], starts))


def _once(
    keys: NDArray[np.uint64], times: NDArray[np.float64], rows: NDArray[np.int64], count: int
) -> NDArray[np.int64]:
    """Return the earliest ``count`` of these rows, each content once."""
    few = 8 * count
    early = rows[np.argpartition(times[rows], few)[:few]] if len(rows) > few else rows
    order = early[np.lexsort((keys[early], times[early]))]
    _, first = np.unique(keys[order], return_index=True)
    earliest: NDArray[np.int64] = order[np.sort(first)][:count]
    if len(earliest) == count or len(early) == len(rows):
        return earliest
    return _once(keys, times, rows[np.unique(keys[rows], return_index=True)[1]], count)  # many rows are equal


def _earliest(a: Arrivals, b: Arrivals, *, count: int) -> Arrivals:
    both = a.candidates.merge(b.candidates)
    times = dict(zip(b.candidates.keys.tolist(), b.times.tolist(), strict=True))
    times |= dict(zip(a.candidates.keys.tolist(), a.times.tolist(), strict=True))
    at = np.array([times[key] for key in both.keys.tolist()])
    first = np.sort(np.argsort(at, kind="stable")[:count])
    return Arrivals(at[first], Candidates(both.keys[first], both.places[torch.from_numpy(first)]))
