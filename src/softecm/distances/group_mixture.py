r"""A mixture of c groups over the columns of a table that selects the columns with a distribution per group.

1. Numbers become normal scores under the best *unimodal* distribution: skewed, uniform or heavy-tailed columns are then
   normal, whatever their unit, and only further modes remain. Categories are unchanged, rare ones merged.
2. For each of several initializations, fit a mixture of c groups, with independent normals and distributions over
   categories, and a wide background for outliers. Missing cells are skipped.
3. A column pays if a distribution per group increases the likelihood of the rows by more than the BIC penalty of its
   parameters, *given the other columns*: splitting rows by a column with which no other agrees gains nothing, and a
   number must gain more than linear regression on other numbers does, because correlated columns alone make no groups.
   Columns that don't pay share one distribution; the mixture is refitted until the selection is stable.
4. The initialization supported by most columns wins, :math:`\max \sum_l \sqrt{\text{gain}_l}`: two nearly equal
   columns have a large gain from each other, but make no groups.
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

from softecm.distances.table_sample import Floats, TableSample, mixed_bits, names_of, weighted_quantile

MOST_LEVELS = 30  # categories with their own distribution; rarer ones are merged
STARTS, KEPT = 20, 6  # initializations, and how many of them are fitted to the end
# EM iterations: of all initializations, after a selection, of the kept ones, of the best.
FIRST, NEXT, LAST, FINAL = 15, 25, 50, 300
CHOICES = 8  # maximum number of selections
FLOOR = 0.02  # minimum variance of normal scores within a group
WIDE = 3.0  # standard deviation of the background
MOST_LINES = 5  # maximum predictors in a regression
LEAST_LEFT = FLOOR  # minimum share of a column's variance left by a regression
TINY = 1e-300


def normal_scores(z: Floats, counts: Floats, ties: NDArray[np.uint64]) -> Floats:
    """Return each number as a standard normal deviate under the best unimodal distribution.

    Numbers in a bin are spread evenly in their order, ties in the order of ``ties``, so that a number shared by many
    rows is spread over their probability.
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
    """Return bin edges: one bin per value if there are few, else equal widths between the tails, with one bin per tail."""
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
    """Return the maximum-likelihood unimodal probabilities of the bins."""
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

    features: Floats  # (n, d): for numbers whether observed, the score, its square; then an indicator for each level
    column: NDArray[np.int64]  # (d,), column of each feature
    n_numbers: int
    levels: tuple[int, ...]
    shared: Floats  # (n, columns), log-density of each cell under one shared distribution
    far: Floats  # (n,), log-density of the row under the background
    counts: Floats  # (n,)
    explained: Floats  # (columns,), twice the log-likelihood gained by regression on other numbers, minus its penalty

    @staticmethod
    def of(sample: TableSample, columns: Sequence[int]) -> TableMixture:
        """Compute features from a sample's cells in ``columns`` (numbers first), each with more than one value."""
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
        """Number of columns of both kinds."""
        return self.n_numbers + len(self.levels)

    @cached_property
    def price(self) -> Floats:
        """Parameters that one more group adds in each column."""
        return np.array([2.0] * self.n_numbers + [size - 1.0 for size in self.levels])

    @cached_property
    def log_rows(self) -> float:
        """Penalty of a parameter in twice the log-likelihood."""
        return float(np.log(max(self.counts.sum(), len(self.counts), 2.0)))

    def statistics(self, groups: Floats) -> Floats:
        """Return sums (runs, c, d) over rows, weighted by their memberships (runs, c, n)."""
        runs, c, n = groups.shape
        return ((groups * self.counts).reshape(-1, n) @ self.features).reshape(runs, c, -1)

    def parameters(self, sums: Floats) -> Floats:
        """Return coefficients (runs, c, d) of the features; variances and frequencies are shrunk to those of all groups."""
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
        """Return log-densities (runs, c + 1, n) of rows, with group weights, background last, and the coefficients."""
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
        """Run expectation-maximization until no run improves."""
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
        """Return twice the log-likelihood (runs, columns) gained by each column's own distributions, minus the penalty."""
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
        """Return the log-likelihood (runs,) of all rows, from the densities."""
        top = logs.max(1)
        summed: Floats = (np.log(np.exp(logs - top[:, None]).sum(1)) + top) @ self.counts
        return summed


def by_straight_lines(z: Floats, there: NDArray[np.bool_], counts: Floats) -> Floats:
    """Return the gain in twice the log-likelihood (p,) from regressing each column on others, minus the penalty.

    Forward selection: columns are added one by one while they pay.
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
    """Return the share of a column's variance that a regression on others leaves, from correlations."""
    own = alike[np.ix_(by, by)] + 1e-6 * np.eye(len(by))
    return float(1.0 - alike[j, by] @ np.linalg.solve(own, alike[j, by]))


def _few_levels(sample: TableSample, columns: Sequence[int]) -> tuple[list[NDArray[np.int64]], tuple[int, ...]]:
    """Return codes of categorical columns with rare levels merged, and the remaining number of levels."""
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
    """The mixture that most columns support."""

    groups: Floats  # (n, c)
    pays: NDArray[np.bool_]  # (columns,)


def fitted(mixture: TableMixture, n_clusters: int) -> FoundGroups:
    """Return the groups and the columns that pay, from the best of several initializations."""
    rng = np.random.default_rng(0)  # rows are sorted by key, so draws don't depend on their order
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
    """Return how much the columns of each run support its groups (runs,), favouring many columns over a few."""
    support: Floats = (np.sqrt(np.maximum(mixture.gains(groups, on), 0.0)) * on).sum(1)
    return support


def start(mixture: TableMixture, c: int, number: int, rng: np.random.Generator) -> Floats:
    """Return initial memberships (c, n) by the nearest of c centres: of all columns, of numbers, or of half the columns."""
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
    """Run a few iterations of k-means from k-means++."""
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
