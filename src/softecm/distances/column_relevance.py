r"""The columns of a table that are informative about c groups, and the spread of rows within groups.

Distances should be in units of the spread *within* groups, and uninformative columns should not count. Neither is known
before the groups are, so a mixture model (:mod:`softecm.distances.group_mixture`) finds them together, on a sample.
Columns that don't pay there are removed. The weight of a number is one over the geometric mean of its variances over
all rows and within groups, without outliers; categories keep theirs. Weighting categories by their spread within groups
as well was worse on labelled tables: if two columns nearly agree, a category has almost no spread within the groups of
the two, and then dominates.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softecm.distances.group_mixture import TableMixture, fitted
from softecm.distances.table_sample import Floats, TableSample, names_of, weighted_quantile
from softecm.spaces.columns import Name

FAR = 20.0  # robust deviations from the median at which numbers are clipped
THIN, AMPLE = 1.0, 3.0  # rows per group and column: below, all columns have equal weights; above, the estimated ones
TINY = 1e-300
NEARLY_ALL = 0.95  # of the deviations, or between the extremes of a column
RATIO = 4.0  # of such extremes
GAIN, SURE = 0.2, 10.0  # gain in log-likelihood of a row, and of all, for logarithms
MOST = 6.0  # maximum weight of a number, relative to that from its spread over all rows


class Relevance(NamedTuple):
    """The weight of each column, numbers first."""

    spreads: Floats  # half the mean distance between two rows without outliers, in the table's own units
    factors: Floats  # factors of the distances
    pays: NDArray[np.bool_]  # whether the column is informative about the groups
    trust: float  # from 0, too few rows, to 1


def relevance(sample: TableSample, n_clusters: int, *, scales: bool) -> Relevance:
    """Remove columns that don't pay, and measure numbers in units of their spread within groups.

    Unless ``scales``, numbers keep the unit that they have.

    With less than ``AMPLE`` rows per group and column, weights are shrunk towards equal weights.
    """
    sample = sample.ordered()
    varies = sample.varies
    alike, shown = np.ones(len(varies)), int(varies.sum())
    trust = float(np.clip((sample.rows / (n_clusters * max(shown, 1)) - THIN) / (AMPLE - THIN), 0.0, 1.0))
    if n_clusters < 2 or shown < 2 or trust == 0.0:
        return Relevance(spreads(sample, None), alike, varies, 0.0)
    columns = in_order(sample, varies)
    mixture, pays = fitted(TableMixture.of(sample, columns), n_clusters), np.zeros(len(varies), dtype=bool)
    pays[columns] = mixture.pays
    if not pays.any():
        return Relevance(spreads(sample, None), alike, pays, trust)
    everywhere, within = spreads(sample, mixture.groups.sum(1)[:, None]), spreads(sample, mixture.groups)
    ratio = np.sqrt(np.divide(everywhere, within, out=np.full(len(alike), MOST**2), where=within > 0))
    numeric = (np.arange(len(alike)) < sample.numbers.shape[1]) & scales
    unit = np.where(everywhere > 0, everywhere, 1.0)
    factors = np.where(numeric, np.minimum(ratio, MOST) / unit, alike) * pays
    return Relevance(everywhere, trust * factors + (1.0 - trust) * alike, pays, trust)


def log_columns(sample: TableSample, n_clusters: int, zeros: Floats) -> list[int]:
    """Return the numbers that spread more evenly over groups by their logarithms than by themselves.

    ``zeros`` (p,) are the coordinates of 0, NaN for columns that are no candidates.
    """
    sample = sample.ordered()
    varies, sizes, alike = sample.varies, sample.numbers - zeros, np.zeros(len(sample.counts), dtype=np.intp)
    if n_clusters < 2 or sample.rows < AMPLE * n_clusters * varies.sum():
        return []
    positive = [j for j, x in enumerate(sizes.T) if np.nanmin(x, initial=np.inf) > 0 and _is_wide(x, sample.counts)]
    wide = [j for j in positive if _gain_of_log(sizes[:, j], alike, sample.counts) > 0.0]  # with groups it can be more
    if not wide:
        return []
    columns = in_order(sample, varies)
    found = fitted(TableMixture.of(sample, columns), n_clusters)
    pays = [j for j, yes in zip(columns, found.pays, strict=True) if yes]
    counts, groups = sample.counts * (found.groups.sum(1) > 0.5), found.groups.argmax(1)
    gains = {j: _gain_of_log(sizes[:, j], groups, counts) for j in wide if j in pays}
    return [j for j, gain in gains.items() if gain > GAIN and gain * counts.sum() > SURE]


def _is_wide(x: Floats, counts: Floats) -> bool:
    """Whether large numbers are several times as large as small ones."""
    return weighted_quantile(x, counts, NEARLY_ALL) > RATIO * weighted_quantile(x, counts, 1.0 - NEARLY_ALL)


def _gain_of_log(x: Floats, groups: NDArray[np.intp], counts: Floats) -> float:
    """Return the gain in log-likelihood of a number by equal spread of logarithms in all groups (Laplace distributions)."""
    there = ~np.isnan(x) & (counts > 0)
    x, groups, counts = x[there], groups[there], counts[there]
    if not len(x) or not np.isfinite(x).all():
        return -np.inf
    by_size, by_log = _deviation(x, groups, counts), _deviation(np.log(x), groups, counts)
    return float(np.log(by_size) - np.log(by_log) - np.average(np.log(x), weights=counts))


def _deviation(x: Floats, groups: NDArray[np.intp], counts: Floats) -> float:
    """Return the mean deviation from the medians of the groups, a few extreme ones clipped."""
    middle = np.array([weighted_quantile(x[groups == k], counts[groups == k], 0.5) for k in range(groups.max() + 1)])
    far = np.abs(x - middle[groups])
    return float(np.average(np.minimum(far, weighted_quantile(far, counts, NEARLY_ALL)), weights=counts)) + TINY


def log_names(columns: Mapping[Name, Floats], n_clusters: int, counts: Floats) -> list[Name]:
    """Return the names of numeric columns (n,) without missing values that :func:`log_columns` selects."""
    sample = TableSample.of_numbers(columns, counts)
    return [list(columns)[j] for j in log_columns(sample, n_clusters, np.zeros(len(columns)))]


def in_order(sample: TableSample, varies: NDArray[np.bool_]) -> list[int]:
    """Return the columns that vary, numbers first, by name, so that their order in the table doesn't matter."""
    names, width = names_of(sample.layout), sample.numbers.shape[1]
    return sorted(np.flatnonzero(varies).tolist(), key=lambda j: (j >= width, names[j]))


def spreads(sample: TableSample, groups: Floats | None) -> Floats:
    """Return half the mean distance between rows within groups (n, c), or of all, per column, with numbers clipped."""
    shares = sample.counts[:, None] if groups is None else sample.counts[:, None] * groups
    numbers = [_variance(column, sample.counts, shares) for column in sample.numbers.T]
    weights, levels = sample.layout.category_weights, sample.layout.levels
    categories = [w * _impurity(c, s, shares) for c, s, w in zip(sample.codes.T, levels, weights, strict=True)]
    return np.array([*numbers, *categories])


def _variance(column: Floats, counts: Floats, shares: Floats) -> float:
    """Return the variance within groups of numbers at most ``FAR`` robust deviations from their median."""
    low, middle, high = (weighted_quantile(column, counts, q) for q in (0.25, 0.5, 0.75))
    reach = FAR * (high - low) / 1.349 if high > low else np.inf
    there = ~np.isnan(column)
    z, part = np.clip(column[there], middle - reach, middle + reach), shares[there]
    sums = part.sum(0) + TINY
    return float((part * (z[:, None] - part.T @ z / sums) ** 2).sum() / sums.sum())


def _impurity(column: NDArray[np.int64], levels: int, shares: Floats) -> float:
    """Return half the probability that two rows of a group differ."""
    table = np.stack([np.bincount(column[column >= 0], part[column >= 0], levels) for part in shares.T])
    sums = table.sum(1) + TINY
    return float(0.5 * (sums - (table**2).sum(1) / sums).sum() / sums.sum())
