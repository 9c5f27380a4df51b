r"""The default metric for series: three views, shape, slope and texture, and the choice of their weights.

This uses no labels. A sample of the series is grouped by k-means on their distances in one view. The clarity of the
groups is the share of each series' nearest neighbours in its own group, corrected for chance,

.. math:: \frac{s - e}{1 - e}

with s the mean share of the neighbours that are in the series' own group and e the expected share for random
neighbours. 1: no group has a neighbour outside; 0: groups unrelated to neighbours. It depends only on the order of
distances, so different units are comparable, and an outlier has no advantage. The clearer the groups of a single view,
the larger its weight; none has less than a tenth of the largest weight, and none is ever dropped: a small sample cannot
decide for certain.

The texture is that of short patterns or of frequencies, alignments are sharp or smooth (``gamma`` of Soft-DTW), and
series are unscaled, or z-normalized in each channel, so that level and amplitude don't count: eight combinations. The
one with the clearest groups by all views together is selected.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch
from numpy.typing import NDArray

from softecm.distances.base import SemiMetric
from softecm.distances.convolution_features import ConvolutionFeatures
from softecm.distances.soft_dtw import AUTO, GAMMAS, SMOOTH, SoftDTW
from softecm.distances.view_statistics import Floats, table_of
from softecm.distances.views import Combined
from softecm.spaces.series import SeriesBatch, TimeSeries, in_blocks, to_list
from softecm.spaces.texture import EVERYTHING, FREQUENCIES, PATTERNS
from softecm.spaces.transformed import SLOPE, normalized

SHAPE, TEXTURE = "shape", "texture"
VIEWS = (SHAPE, SLOPE, TEXTURE)
TEXTURES = (PATTERNS, FREQUENCIES)
POWER = 6  # of the clarity of a single view, which gives its weight
LEAST_WEIGHT = 0.1  # of the largest weight
MOST, MOST_EACH = 80, 8  # maximum number of series to compare, and per cluster if that is more
PAIR_CELLS = 1 << 17  # of one alignment: series longer than 362 steps have a band
LEAST_BAND = 8
CELLS = 1e7  # of the alignments of all pairs; longer series are shortened to means over a few steps
TEXTURE_STEPS = 512  # maximum number of steps for comparing textures
UNKNOWN = range(2, 7)  # numbers of clusters to try if unknown
FEWEST = 4  # minimum number of series per cluster for a comparison
ROUNDS = 30  # of k-means
ALIKE = 1e-6  # tolerance for a series to count as z-normalized

Series = Sequence[Floats]  # (steps, channels) each


@dataclass(frozen=True)
class Candidate:
    """A combination of the views, and the clarity of its groups, at most 1; larger is better."""

    name: str
    clarity: float


@dataclass(frozen=True)
class SeriesChoice:
    """The selected metric, as for ``metric=``, the reason, and all candidates, best first."""

    metric: str | SemiMetric
    reason: str
    tried: tuple[Candidate, ...] = ()


@dataclass(frozen=True)
class Option:
    """One combination: whether level and amplitude count, kind of texture, smoothing of alignments, weights."""

    znormalise: bool
    texture: str = EVERYTHING
    gamma: str = AUTO
    weights: tuple[float, ...] = (1.0,) * len(VIEWS)

    @property
    def name(self) -> str:
        """Name in words."""
        smooth = ", smooth" if self.gamma == SMOOTH else ""
        return f"texture of {self.texture}{smooth}{'' if self.znormalise else ', with level'}"

    def description(self) -> str:
        """What is compared, as part of a sentence."""
        texture = "" if self.texture == EVERYTHING else f" of {self.texture}"
        shares = [f"{weight / sum(self.weights):.0%}" for weight in self.weights]
        shape, slope, counts = (f" ({share})" for share in shares)
        if len(set(self.weights)) == 1:
            shape, slope, counts = "", "", ", which count alike"
        smooth = "; alignments are smooth" if self.gamma == SMOOTH else ""
        return f"series are compared by shape{shape}, slope{slope} and texture{texture}{counts}{smooth}; {self.level()}"

    def level(self) -> str:
        """Whether level and amplitude count."""
        return "level and amplitude don't count" if self.znormalise else "level and amplitude count"


def series_views(option: Option, steps: int = 2) -> Combined:
    """Combine shape, slope and texture of series of about this length in one metric; prototypes are shown as series."""
    weights = dict(zip(VIEWS, option.weights, strict=True))
    parts = view_metrics(option.znormalise, option.gamma, option.texture, band_for(steps))
    return Combined(parts, weights="equal" if len(set(option.weights)) == 1 else weights, shown=SHAPE)


def band_for(steps: int) -> int | None:
    """Return the band for alignments of long series, so that cost grows linearly with length; None: no band."""
    return None if steps * steps <= PAIR_CELLS else max(LEAST_BAND, PAIR_CELLS // (2 * steps))


def view_metrics(
    znormalise: bool, gamma: str = AUTO, texture: str = EVERYTHING, band: int | None = None
) -> dict[str, SemiMetric]:
    """Return the three views."""
    return {
        SHAPE: SoftDTW(gamma=gamma, band=band, znormalise=znormalise),
        SLOPE: SoftDTW(gamma=gamma, band=band, of=SLOPE, znormalise=znormalise),
        TEXTURE: ConvolutionFeatures(znormalise=znormalise, of=texture),
    }


def choose_series(X: object, n_clusters: int | None = None, where: str = "") -> SeriesChoice:
    """Return the combination of views with the clearest groups, for a number of clusters, or for 2 to 6 if unknown.

    Parameters
    ----------
    X : series, (n, steps, channels) or a list
        Distinct ones only, at most 80 of them or 8 per cluster, whichever is more.
    n_clusters : int, optional
    where : str
        What the series are part of, for the reason.

    Examples
    --------
    >>> import numpy as np
    >>> t, rng = np.arange(40), np.random.default_rng(0)
    >>> X = [np.sin(2 * np.pi * (f * t / 40 + rng.random())) for f in (2, 5) for _ in range(12)]  # any phase
    >>> choose_series(X, 2).tried[0].clarity
    1.0
    """
    rows = to_list(X)
    if min(len(row) for row in rows) < 3:
        return SeriesChoice("softdtw", "series of two steps have no slope: soft-DTW on their values")
    numbers = UNKNOWN if n_clusters is None else [n_clusters]
    steps = int(np.median([len(row) for row in rows]))
    few = different_series(rows, max(numbers))
    same = all(np.abs(normalized(row) - row).max() < ALIKE for row in few)
    if len(few) < FEWEST * min(numbers) or max(numbers) < 2:
        why = "one cluster gives nothing" if max(numbers) < 2 else "too few different series"
        option = Option(same)
        return SeriesChoice(series_views(option, steps), f"{option.description()} ({why} to judge by)")
    clear = dict(part for znormalise in {True, same} for part in weighted_options(few, znormalise, numbers))
    order = sorted(clear, key=lambda option: (-clear[option], not option.znormalise))
    best = order[0]
    other = next((option for option in order if option.znormalise != best.znormalise), None)
    beside = "" if other is None else f", at most {clear[other]:.2f} if {other.level()}"
    evidence = f"clarity of the groups: {clear[best]:.2f} of 1{beside}; judged on {len(few)} series{where}"
    tried = tuple(Candidate(option.name, clear[option]) for option in order)
    return SeriesChoice(series_views(best, steps), f"{best.description()} ({evidence})", tried)


def weighted_options(rows: Series, znormalise: bool, numbers: Sequence[int]) -> Iterator[tuple[Option, float]]:
    """Return all combinations of a texture and a gamma, views weighted by their own clarity, and the groups' clarity."""
    tables = distance_tables(rows, znormalise)
    own = {name: max(clarity(d, numbers), 0.0) ** POWER for name, d in tables.items()}
    for gamma, texture in product(GAMMAS, TEXTURES):
        views = (SHAPE, gamma), (SLOPE, gamma), (TEXTURE, texture)
        most = max(own[view] for view in views) or 1.0
        weights = tuple(max(own[view] / most, LEAST_WEIGHT) for view in views)
        joint = sum(weight * tables[view] for weight, view in zip(weights, views, strict=True))
        yield Option(znormalise, texture, gamma, weights), clarity(np.asarray(joint), numbers)


def different_series(rows: Series, n_clusters: int) -> list[Floats]:
    """Return distinct series interpolated to one length: not too many, independent of their order."""
    space = TimeSeries().fit(list(rows), dtype=torch.float64)
    batch = space.encode(list(rows))
    _, first = np.unique(space.keys(batch), return_index=True)  # ordered by a hash
    values = space.starts(batch, torch.as_tensor(first[: max(MOST, MOST_EACH * n_clusters)]))
    return list(values.numpy())


def shortened(rows: Series, steps: float) -> list[Floats]:
    """Return means over segments so that about this many steps remain."""
    values = torch.from_numpy(np.stack(rows))
    size = max(1, int(np.ceil(values.shape[1] / max(4.0, steps))))
    return list(in_blocks(SeriesBatch(values), size).values.numpy())


def distance_tables(rows: Series, znormalise: bool) -> dict[tuple[str, str], Floats]:
    """Return all distances (n, n) of series of one length by view and its gamma or texture, with mean 1."""
    n, channels = len(rows), rows[0].shape[1]
    short, long = shortened(rows, np.sqrt(CELLS / (0.5 * n * n * channels))), shortened(rows, TEXTURE_STEPS)
    tables = {}
    for gamma, view in product(GAMMAS, (SHAPE, SLOPE)):
        tables[view, gamma] = distances(view_metrics(znormalise, gamma)[view], short)
    for texture in TEXTURES:
        tables[TEXTURE, texture] = distances(ConvolutionFeatures(znormalise=znormalise, of=texture), long)
    return {key: d / d.mean() if d.mean() > 0 else d for key, d in tables.items()}


def distances(metric: SemiMetric, rows: Series) -> Floats:
    """Return all distances (n, n) between series of one length, each pair computed once."""
    space = metric.make_space().fit(list(rows), dtype=torch.float64)
    x, n = space.encode(list(rows)), len(rows)
    return table_of(metric.fitted(x, None), x, space.starts(x, torch.arange(n)))


def clarity(squares: Floats, numbers: Sequence[int]) -> float:
    """Return how clearly groups keep neighbours together, averaged over numbers of clusters."""
    return float(np.mean([neighbours_together(squares, k_means_labels(squares, c), c) for c in numbers]))


def neighbours_together(d: Floats, labels: NDArray[np.intp], n_clusters: int) -> float:
    """Return the share of nearest neighbours in the same group, corrected for chance: 1 all of them, 0 as by chance.

    The number of neighbours is the root of the number of objects, or half of a group if that is less; at least three.
    """
    n = len(d)
    k = min(n - 1, max(3, round(min(np.sqrt(n), n / (2 * n_clusters)))))
    far = d + np.diag(np.full(n, np.inf))
    near = np.argsort(far, axis=1, kind="stable")[:, :k]
    kept = float((labels[near] == labels[:, None]).mean())
    chance = float((np.bincount(labels)[labels] - 1).mean() / (n - 1))
    return (kept - chance) / (1.0 - chance) if chance < 1.0 else 0.0


def k_means_labels(squares: Floats, n_clusters: int) -> NDArray[np.intp]:
    """Run k-means on squared distances (n, n), initialized at medoids; deterministic."""
    labels = k_medoids_labels(squares, n_clusters)
    for _ in range(ROUNDS):
        inside = np.eye(n_clusters)[labels]
        inside /= np.maximum(inside.sum(0), 1.0)
        to_means = squares @ inside
        to_means -= 0.5 * (inside * to_means).sum(0)
        new = to_means.argmin(1)
        if (new == labels).all():
            break
        labels = new
    return labels


def k_medoids_labels(d: Floats, n_clusters: int) -> NDArray[np.intp]:
    """Return groups around medoids of minimum total distance, found by adding one by one and then swapping (PAM)."""
    medoids = [int(d.sum(0).argmin())]
    while len(medoids) < n_clusters:
        near = d[:, medoids].min(1)
        medoids.append(int(np.minimum(near[:, None], d).sum(0).argmin()))
    cost = float(d[:, medoids].min(1).sum())
    for _ in range(10 * n_clusters):
        kept = [medoids[:k] + medoids[k + 1 :] for k in range(n_clusters)]
        costs = np.stack([np.minimum(d[:, rest].min(1, initial=np.inf)[:, None], d).sum(0) for rest in kept])
        k, new = np.unravel_index(costs.argmin(), costs.shape)
        if costs[k, new] >= cost * (1 - 1e-12):
            break
        medoids[k], cost = int(new), float(costs[k, new])
    labels: NDArray[np.intp] = d[:, medoids].argmin(1)
    return labels
