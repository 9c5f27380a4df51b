"""Pairs of objects that are together: counted, never listed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softecm.scores.checks import IntArray


@dataclass(frozen=True)
class PairCounts:
    """Pairs of objects together in the first partition, in the second, in both; and all pairs."""

    first: int
    second: int
    both: int
    total: int


def pair_counts(first: IntArray, second: IntArray, alone: NDArray[np.bool_] | None = None) -> PairCounts:
    """Count pairs; objects `alone` are together with nobody in the second partition."""
    kept = slice(None) if alone is None else ~alone
    cell = (second * (first.max() + 1) + first)[kept]
    n = len(first)
    return PairCounts(_pairs_in(first), _pairs_in(second[kept]), _pairs_in(cell), n * (n - 1) // 2)


def _pairs_in(labels: IntArray) -> int:
    counts = np.unique(labels, return_counts=True)[1].astype(np.int64)
    return int((counts * (counts - 1) // 2).sum())
