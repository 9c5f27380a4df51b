r"""A mixture of c groups over the columns of a table, and which of the columns pay for a distribution of their own in each.

1. Numbers become normal scores under the best distribution with *one hill*: skewed, uniform or heavy-tailed columns are then
   normal, whatever their unit, and only a second hill is left of their shape. Categories stay as they are, rare ones in one.
2. For each of several starts a mixture of c groups is fitted, of independent normals and distributions over categories, and
   a wide background that takes outliers. Gaps are left out cell by cell.
3. A column pays for itself if a distribution for each group makes the rows likelier than one distribution for all, by more
   than its parameters cost (BIC), *given the other columns*: splitting rows by a column that no other agrees with gains
   nothing, and a number must gain more than a straight line in other numbers does, for columns that are correlated make no
   groups by that. Columns that don't pay share one distribution; the mixture is fitted anew, until nothing changes.
4. Of the starts the one wins of which most columns speak, :math:`\max \sum_l \sqrt{\text{gain}_l}`: two columns that say
   nearly the same have a large gain with each other, but make no groups.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from softecm.distances.table_sample import TableSample, mixed_bits, names_of, weighted_quantile

MOST_LEVELS = 30  # categories with a distribution of their own; rarer ones count as one
STARTS, KEPT = 20, 6  # starts, and how many of them are fitted to the end
FIRST, NEXT, LAST, FINAL = (
    15,
    25,
    50,
    300,
)  # EM iterations: of all starts, after a choice of columns, of the kept, of the best
CHOICES = 8  # at most so many choices of columns
FLOOR = 0.02  # least variance of normal scores within a group
WIDE = 3.0  # deviation of the background
MOST_LINES = 5  # columns in a straight line
LEAST_LEFT = FLOOR  # of a column's variance that a straight line leaves
TINY = 1e-300

Floats = NDArray[np.float64]


def normal_scores(z: Floats, counts: Floats, ties: NDArray[np.uint64]) -> Floats:
    """Where each number lies under the best distribution with one hill, as a standard normal deviate.

    Within a bin of the histogram numbers lie evenly in their order, equal ones in the order of ``ties``: a number that many
    rows share is spread over what it takes up.
    """
    edges = _edges(z, counts)
    at = np.clip(np.searchsorted(edges, z, side="right") - 1, 0, len(edges) - 2)
    heights = np.bincount(at, counts, len(edges) - 1).astype(np.float64)
    steps = np.concatenate([[0.0], np.cumsum(_one_hill(heights, np.diff(edges)))])
    order = np.lexsort((ties, z, at))
    before = np.cumsum(counts[order]) - 0.5 * counts[order]
    start = np.concatenate([[0.0], np.cumsum(heights)])[at[order]]
    place = np.empty(len(z))
    place[order] = (before - start) / heights[at[order]]
    least = 0.25 / max(float(counts.sum()), float(len(counts)))
    scores: Floats = ndtri(np.clip(steps[at] + place * (steps[at + 1] - steps[at]), least, 1.0 - least))
    return scores


def _edges(z: Floats, counts: Floats) -> Floats:
    """Bins: one for each of few values, else of equal width between the tails, which are one bin each."""
    values = np.unique(z)
    if len(values) <= 20:
        middles = (values[1:] + values[:-1]) / 2
        return np.concatenate([[2 * values[0] - middles[0]], middles, [2 * values[-1] - middles[-1]]])
    low, high = weighted_quantile(z, counts, 0.02), weighted_quantile(z, counts, 0.98)
    bins = int(np.clip(2 * len(z) ** (1 / 3), 8, 40))
    edges = np.unique(np.concatenate([[values[0]], np.linspace(low, high, bins + 1), [values[-1]]]))
    edges[-1] = np.nextafter(edges[-1], np.inf)
    return edges


def _one_hill(heights: Floats, widths: Floats) -> Floats:
    """The likeliest probabilities of the bins that rise to one of them and fall from there."""
    from sklearn.isotonic import isotonic_regression

    density, best, best_shares = heights / widths, -np.inf, heights
    for top in np.argsort(-density, kind="stable")[:6]:
        rise = isotonic_regression(density[: top + 1], sample_weight=widths[: top + 1])
        fall = isotonic_regression(density[top:], sample_weight=widths[top:], increasing=False)
        share = np.concatenate([rise[:-1], [max(rise[-1], fall[0])], fall[1:]]) * widths
        share /= share.sum()
        likelihood = float(heights[share > 0] @ np.log(share[share > 0] / widths[share > 0]))
        if likelihood > best:
            best, best_shares = likelihood, share
    return best_shares


@dataclass(frozen=True)
class TableMixture:
    """Rows as sufficient statistics: a group's log-density of a row is linear in ``features``."""

    features: Floats  # (n, d): for numbers whether there, the score, its square; then a mark for each level
    column: NDArray[np.int64]  # (d,), of which column
    n_numbers: int
    levels: tuple[int, ...]
    shared: Floats  # (n, columns), log-density of each cell under one distribution for all
    far: Floats  # (n,), log-density of the row under the background
    counts: Floats  # (n,)
    explained: Floats  # (columns,), twice the log-likelihood that a straight line in other numbers adds, less its price

    @staticmethod
    def of(sample: TableSample, columns: Sequence[int]) -> TableMixture:
        """Scores and marks of a sample's cells in some of its columns, numbers first; more than one value is in each."""
        names, width, n = names_of(sample.layout), sample.numbers.shape[1], len(sample.counts)
        numeric = [j for j in columns if j < width]
        p, there = len(numeric), ~np.isnan(sample.numbers[:, numeric])
        z = np.zeros((n, p))
        for j, own in enumerate(there.T):
            ties = mixed_bits(sample.keys ^ np.uint64(zlib.crc32(names[numeric[j]].encode()) + 1))
            z[own, j] = normal_scores(sample.numbers[own, numeric[j]], sample.counts[own], ties[own])
        codes, levels = _few_levels(sample, [j - width for j in columns if j >= width])
        marks = [np.eye(size)[np.maximum(c, 0)] * (c >= 0)[:, None] for c, size in zip(codes, levels, strict=True)]
        seen = there.astype(np.float64)
        features = np.concatenate([seen, z, z**2 * seen, *marks], 1)
        column = np.concatenate([np.tile(np.arange(p), 3), *[np.full(s, p + j) for j, s in enumerate(levels)]])
        far = -0.5 * ((z / WIDE) ** 2 + np.log(2 * np.pi * WIDE**2)) @ np.ones(p) if p else np.zeros(n)
        far = far + 0.5 * np.log(2 * np.pi * WIDE**2) * (~there).sum(1)
        far = far - sum((np.log(s) * (c >= 0) for c, s in zip(codes, levels, strict=True)), np.zeros(n))
        explained = np.concatenate([by_straight_lines(z, there, sample.counts), np.zeros(len(levels))])
        shared = np.zeros((n, p + len(levels)))
        blank = TableMixture(features, column, p, levels, shared, far, sample.counts, explained)
        everyone = blank.parameters(blank.statistics(np.ones((1, 1, n))))[0, 0]
        cells = [features[:, column == j] @ everyone[column == j] for j in range(p + len(levels))]
        return replace(blank, shared=np.stack(cells, 1) if cells else blank.shared)

    @property
    def n_columns(self) -> int:
        """Of both kinds."""
        return self.n_numbers + len(self.levels)

    @cached_property
    def price(self) -> Floats:
        """Parameters of each column that one more group costs."""
        return np.array([2.0] * self.n_numbers + [size - 1.0 for size in self.levels])

    @cached_property
    def log_rows(self) -> float:
        """What a parameter costs in twice the log-likelihood."""
        return float(np.log(max(self.counts.sum(), len(self.counts), 2.0)))

    def statistics(self, groups: Floats) -> Floats:
        """Sums (runs, c, d) over rows, by how much (runs, c, n) each belongs to a group."""
        runs, c, n = groups.shape
        sums: Floats = ((groups * self.counts).reshape(-1, n) @ self.features).reshape(runs, c, -1)
        return sums

    def parameters(self, sums: Floats) -> Floats:
        """Coefficients (runs, c, d) of the features; variances and frequencies are drawn to those of all groups."""
        p, coefficients = self.n_numbers, np.empty_like(sums)
        weight = sums[..., :p] + 1e-9
        mean = sums[..., p : 2 * p] / weight
        scatter = np.maximum(sums[..., 2 * p : 3 * p] - weight * mean**2, 0.0)
        pooled = scatter.sum(1, keepdims=True) / weight.sum(1, keepdims=True)
        variance = np.maximum((scatter + 5.0 * pooled) / (weight + 5.0), FLOOR)
        coefficients[..., :p] = -0.5 * (np.log(2 * np.pi * variance) + mean**2 / variance)
        coefficients[..., p : 2 * p], coefficients[..., 2 * p : 3 * p] = mean / variance, -0.5 / variance
        start = 3 * p
        for size in self.levels:
            own = sums[..., start : start + size]
            all_groups = own.sum(1, keepdims=True) + 0.5
            drawn = own + 0.5 * size * all_groups / all_groups.sum(-1, keepdims=True)
            coefficients[..., start : start + size] = np.log(drawn / drawn.sum(-1, keepdims=True))
            start += size
        return coefficients

    def densities(self, groups: Floats, on: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Log-densities (runs, c + 1, n) of rows, weights included and the background last, and the coefficients."""
        runs, c, n = groups.shape
        coefficients = self.parameters(self.statistics(groups))
        held, total = groups @ self.counts + 1e-9, float(self.counts.sum())
        rest = np.maximum(total - held.sum(1, keepdims=True), 1e-6 * total)
        shares = np.log(np.concatenate([held, rest], 1) / total)
        densities = np.empty((runs, c + 1, n))
        by = (coefficients * on[:, None, self.column]).reshape(runs * c, -1)
        densities[:, :c] = (by @ self.features.T).reshape(runs, c, n)
        densities[:, :c] += (~on @ self.shared.T)[:, None]
        densities[:, c] = self.far
        return densities + shares[..., None], coefficients

    def improved(self, groups: Floats, on: NDArray[np.bool_], steps: int, tol: float = 1e-5) -> Floats:
        """Expectation and maximisation, until no run gains any more."""
        last = np.full(len(groups), -np.inf)
        for _ in range(steps):
            logs = self.densities(groups, on)[0]
            top = logs.max(1)
            shares = np.exp(logs - top[:, None])
            sums = shares.sum(1)
            likelihood = (np.log(sums) + top) @ self.counts
            groups = shares[:, :-1] / sums[:, None]
            if (likelihood - last < tol * np.abs(likelihood)).all():
                break
            last = likelihood
        return groups

    def gains(self, groups: Floats, on: NDArray[np.bool_]) -> Floats:
        """Twice the log-likelihood (runs, columns) that each column's own distributions add, less their price."""
        runs, c, n = groups.shape
        logs, coefficients = self.densities(groups, on)
        now = self.likelihood(logs)
        gains = np.empty((runs, self.n_columns))
        for j in range(self.n_columns):
            at = np.flatnonzero(self.column == j)
            cells = (coefficients[..., at].reshape(runs * c, -1) @ self.features[:, at].T).reshape(runs, c, n)
            other, sign = logs.copy(), np.where(on[:, j], 1.0, -1.0)
            other[:, :c] -= sign[:, None, None] * (cells - self.shared[:, j])
            gains[:, j] = 2.0 * sign * (now - self.likelihood(other)) - (c - 1) * self.price[j] * self.log_rows
        return gains - self.explained

    def likelihood(self, logs: Floats) -> Floats:
        """Log-likelihood (runs,) of all rows, from the densities."""
        top = logs.max(1)
        summed: Floats = (np.log(np.exp(logs - top[:, None]).sum(1)) + top) @ self.counts
        return summed


def by_straight_lines(z: Floats, there: NDArray[np.bool_], counts: Floats) -> Floats:
    """What the best straight line in other columns adds to twice the log-likelihood of each (p,), less its price.

    Columns are taken in one after the other, as long as one pays for itself.
    """
    p = z.shape[1]
    held, seen = (there * counts[:, None]).T @ there, np.where(there, z, 0.0)
    middle = (seen * counts[:, None]).sum(0) / np.maximum(held.diagonal(), TINY)
    seen = np.where(there, z - middle, 0.0)
    products = (seen * counts[:, None]).T @ seen / np.maximum(held, TINY)
    deviations = np.sqrt(np.maximum(products.diagonal(), TINY))
    alike = products / np.outer(deviations, deviations)
    return np.array([_by_straight_line(alike, j, float(held[j, j])) for j in range(p)])


def _by_straight_line(alike: Floats, j: int, rows: float) -> float:
    taken: list[int] = []
    others = [k for k in range(len(alike)) if k != j]
    left, explained = 1.0, 0.0
    while others and len(taken) < MOST_LINES:
        rests = {k: _unexplained(alike, j, [*taken, k]) for k in others}
        best = min(rests, key=lambda k: rests[k])
        gain = rows * np.log(left / max(rests[best], LEAST_LEFT)) - np.log(max(rows, 2.0))
        if not gain > 0:
            break
        taken.append(best)
        others.remove(best)
        left, explained = max(rests[best], LEAST_LEFT), explained + gain
    return float(explained)


def _unexplained(alike: Floats, j: int, by: list[int]) -> float:
    """The part of a column's variance that a straight line in others leaves, from correlations."""
    own = alike[np.ix_(by, by)] + 1e-6 * np.eye(len(by))
    return float(1.0 - alike[j, by] @ np.linalg.solve(own, alike[j, by]))


def _few_levels(sample: TableSample, columns: Sequence[int]) -> tuple[list[NDArray[np.int64]], tuple[int, ...]]:
    """Codes of categorical columns with their rare levels in one, and how many levels that leaves of each."""
    recoded, sizes = [], []
    for j in columns:
        column, size = sample.codes[:, j], sample.layout.levels[j]
        often = np.bincount(column[column >= 0], sample.counts[column >= 0], size)
        shown = int(np.count_nonzero(often))
        common = np.argsort(-often, kind="stable")[: min(shown, MOST_LEVELS - 1)]
        to = np.full(size + 1, len(common))
        to[common] = np.arange(len(common))
        to[-1] = -1
        recoded.append(to[column])
        sizes.append(min(shown, MOST_LEVELS))
    return recoded, tuple(sizes)


class FoundGroups(NamedTuple):
    """The mixture that most columns speak of."""

    groups: Floats  # (n, c)
    pays: NDArray[np.bool_]  # (columns,)


def fitted(mixture: TableMixture, n_clusters: int) -> FoundGroups:
    """Groups and the columns that pay for them, from the best of several starts."""
    rng = np.random.default_rng(0)  # rows lie in the order of their keys: the draws don't depend on theirs
    groups = np.stack([start(mixture, n_clusters, number, rng) for number in range(STARTS)])
    on = np.ones((STARTS, mixture.n_columns), dtype=bool)
    groups = mixture.improved(groups, on, FIRST)
    for choice in range(CHOICES):
        pays = mixture.gains(groups, on) > 0
        pays[~pays.any(1)] = on[~pays.any(1)]
        unchanged = bool((pays == on).all())
        if not unchanged:
            on, groups = pays, mixture.improved(groups, pays, NEXT)
        if len(on) > KEPT and (unchanged or choice == 1):
            first = np.argsort(-_support(mixture, groups, on), kind="stable")[:KEPT]
            groups, on = groups[first], on[first]
        if unchanged:
            break
    groups = mixture.improved(groups, on, LAST, 1e-6)
    best = [int(_support(mixture, groups, on).argmax())]
    groups, on = mixture.improved(groups[best], on[best], FINAL, 1e-11), on[best]
    return FoundGroups(groups[0].T, (on & (mixture.gains(groups, on) > 0))[0])


def _support(mixture: TableMixture, groups: Floats, on: NDArray[np.bool_]) -> Floats:
    """How much the columns of each run speak for its groups (runs,): many columns rather than a few."""
    support: Floats = (np.sqrt(np.maximum(mixture.gains(groups, on), 0.0)) * on).sum(1)
    return support


def start(mixture: TableMixture, c: int, number: int, rng: np.random.Generator) -> Floats:
    """Rows by the nearest of c centres (c, n): of all columns, of all numbers, or of half of the columns."""
    p, columns = mixture.n_numbers, np.arange(mixture.n_columns)
    if number % 3 == 1 and p > 1:
        columns = columns[columns < p]
    elif number % 3 == 2 and len(columns) > 3:
        columns = rng.choice(columns, max(2, len(columns) // 2), replace=False)
    features = np.isin(mixture.column, columns)
    features[:p] = features[2 * p : 3 * p] = False
    rows = np.clip(mixture.features[:, features], -WIDE, WIDE)
    return 0.97 * (0.9 * np.eye(c)[:, _nearest_centers(rows, mixture.counts, c, rng)] + 0.1 / c)


def _nearest_centers(rows: Floats, counts: Floats, c: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """A few iterations of k-means from k-means++."""
    centers = [rows[_draw(counts, rng)]]
    nearest_squares = ((rows - centers[0]) ** 2).sum(1)
    for _ in range(c - 1):
        centers.append(rows[_draw(counts * nearest_squares if nearest_squares.any() else counts, rng)])
        nearest_squares = np.minimum(nearest_squares, ((rows - centers[-1]) ** 2).sum(1))
    places = np.array(centers)
    for _ in range(6):
        nearest: NDArray[np.intp] = ((places**2).sum(1) - 2 * rows @ places.T).argmin(1)
        for k in np.unique(nearest):
            own = nearest == k
            places[k] = counts[own] @ rows[own] / counts[own].sum()
    return nearest


def _draw(chances: Floats, rng: np.random.Generator) -> int:
    steps = np.cumsum(chances)
    return min(int(np.searchsorted(steps, rng.random() * steps[-1], side="right")), len(steps) - 1)
