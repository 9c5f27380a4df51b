"""Which of several objects that cost the same becomes a medoid: a choice that does not depend on the order of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from softecm.spaces.checks import BLOCK_ROWS
from softecm.spaces.dissimilarities import HASHES, Dissimilarities

Indices = NDArray[np.int64]
ROUNDS = 8  # of telling objects apart by those around them; two or three are the rule
SAME = 1e-12  # costs that differ by less than this part of themselves are equal but for rounding


@dataclass(frozen=True)
class Ranking:
    """The order of objects that cost the same, from their dissimilarities (n, n) and weights (n,).

    First the object with the least sum of dissimilarities to all; among equals the one nearest to the first cluster's
    medoid, to the second's and so on; then by a number made of all its dissimilarities and those of the objects they lead
    to. Objects that are equal in all that are mirror images of each other: whichever is taken, the masses are the same but
    for the names of such objects.
    """

    dissimilarities: NDArray[np.floating[Any]]
    weights: NDArray[np.floating[Any]] | None = None

    @cached_property
    def _sums(self) -> NDArray[np.float64]:
        """To about ten digits: rounding differs with the order of the rows."""
        d = self.dissimilarities
        sums = (d.sum(1) if self.weights is None else d @ self.weights).astype(np.float64)
        rounded: NDArray[np.float64] = np.round(sums / (sums.max() or 1.0), 10)
        return rounded

    @cached_property
    def _prints(self) -> NDArray[np.uint64]:
        """A number an object from its dissimilarities and the other ends' numbers, until no more are told apart."""
        prints = Dissimilarities().keys(torch.from_numpy(self.dissimilarities))
        for _ in range(ROUNDS):
            told_apart = len(np.unique(prints))
            if told_apart == len(prints):
                break
            prints = self._mixed(prints)
            if len(np.unique(prints)) == told_apart:
                break
        return prints

    def _mixed(self, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """For each object, its key and the pairs of dissimilarity and key of all objects, whatever their order."""
        mixed_in = keys.copy()
        for start in range(0, len(keys), BLOCK_ROWS):
            rows = np.ascontiguousarray(self.dissimilarities[start : start + BLOCK_ROWS], dtype=np.float64)
            mixed = ((rows + 0.0).view(np.uint64) * np.uint64(HASHES[2]) ^ keys) * np.uint64(HASHES[0])
            mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(HASHES[1])
            mixed_in[start : start + BLOCK_ROWS] += (mixed ^ (mixed >> np.uint64(32))).sum(1, dtype=np.uint64)
        return mixed_in

    def ordered(self, objects: Indices, medoids: Indices) -> Indices:
        """Some of the objects, best first; ``medoids`` (c,) are the clusters' present ones."""
        near = [self.dissimilarities[z, objects] for z in medoids[::-1]]
        ordered: Indices = objects[np.lexsort((self._prints[objects], *near, self._sums[objects]))]
        return ordered

    def cheapest(self, prices: NDArray[np.floating[Any]], medoids: Indices) -> int:
        """The object with the least price (n,)."""
        least = prices.min()
        equal = np.flatnonzero(prices <= least + SAME * least)
        return int(equal[0] if len(equal) == 1 else self.ordered(equal, medoids)[0])
