r"""The default for series: three views of them, shape, slope and texture, and what decides how they count.

Labels are not asked for. Some of the series are grouped by k-means on their distances in one view, and then the nearest
neighbours of each are looked at: how many lie in its own group, beyond what chance would put there,

.. math:: \frac{s - e}{1 - e}

with s the mean share of the neighbours that lie in the series' own group and e that share where neighbours are drawn at
random. 1: no group has a neighbour outside; 0: groups that say nothing about neighbours. It depends on the order of
distances only, so that different units compare, and one far object gains nothing. The clearer the groups of a view by
itself, the more it counts; none counts less than a tenth of the one that counts most, and none is ever dropped: which of
them matters, a small sample does not say for certain.

The texture is that of short patterns or of frequencies, alignments are sharp or smooth (``gamma`` of Soft-DTW), and series
are taken as they are, or z-normalised in each channel, so that level and amplitude don't count: eight combinations. The one
with the clearest groups by all views at once is taken.
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
from softecm.distances.view_statistics import table_of
from softecm.distances.views import Combined
from softecm.spaces.series import SeriesBatch, TimeSeries, in_blocks, to_list
from softecm.spaces.texture import EVERYTHING, FREQUENCIES, PATTERNS
from softecm.spaces.transformed import SLOPE, normalized

SHAPE, TEXTURE = "shape", "texture"
VIEWS = (SHAPE, SLOPE, TEXTURE)
TEXTURES = (PATTERNS, FREQUENCIES)
POWER = 6  # of the clearness of a view by itself, which is what it counts
LEAST_WEIGHT = 0.1  # of that of the view that counts most
MOST, MOST_EACH = 80, 8  # series that are compared: at least so many where there are, and for each cluster
PAIR_CELLS = 1 << 17  # of one alignment: longer series than 362 steps have a band
LEAST_BAND = 8
CELLS = 1e7  # of the alignments of all pairs; longer series are shortened to means over a few steps
TEXTURE_STEPS = 512  # of a series whose texture is compared
UNKNOWN = range(2, 7)  # numbers of clusters that are tried where it is not known
FEWEST = 4  # series for each cluster without which there is nothing to compare
ROUNDS = 30  # of k-means
ALIKE = 1e-6  # how far a z-normalised series may be from being exactly so

Floats = NDArray[np.float64]
Series = Sequence[Floats]  # (steps, channels) each


@dataclass(frozen=True)
class Candidate:
    """A way to combine the views, and how clearly its groups keep neighbours together, at most 1; the larger the better."""

    name: str
    clarity: float


@dataclass(frozen=True)
class SeriesChoice:
    """The metric that was taken, as ``metric=`` has it, why, and all that were tried, best first."""

    metric: str | SemiMetric
    reason: str
    tried: tuple[Candidate, ...] = ()


@dataclass(frozen=True)
class Option:
    """One combination: whether level and amplitude count, whose texture it is, how alignments are smoothed, the weights."""

    znormalise: bool
    texture: str = EVERYTHING
    gamma: str = AUTO
    weights: tuple[float, ...] = (1.0,) * len(VIEWS)

    @property
    def name(self) -> str:
        """In words."""
        smooth = ", smooth" if self.gamma == SMOOTH else ""
        return f"texture of {self.texture}{smooth}{'' if self.znormalise else ', with level'}"

    def description(self) -> str:
        """What is compared, as a part of a sentence."""
        texture = "" if self.texture == EVERYTHING else f" of {self.texture}"
        shares = [f"{weight / sum(self.weights):.0%}" for weight in self.weights]
        counts = "alike" if len(set(self.weights)) == 1 else f"{shares[0]}, {shares[1]} and {shares[2]}"
        smooth = "; alignments are smooth" if self.gamma == SMOOTH else ""
        return f"series are compared by shape, slope and texture{texture}, which count {counts}{smooth}; {self.level()}"

    def level(self) -> str:
        """Whether level and amplitude count."""
        return "level and amplitude don't count" if self.znormalise else "level and amplitude count"


def series_views(option: Option, steps: int = 2) -> Combined:
    """Shape, slope and texture of series of about so many steps as one metric; prototypes are shown as series."""
    weights = dict(zip(VIEWS, option.weights, strict=True))
    parts = view_metrics(option.znormalise, option.gamma, option.texture, band_for(steps))
    return Combined(parts, weights="equal" if len(set(option.weights)) == 1 else weights, shown=SHAPE)


def band_for(steps: int) -> int | None:
    """How far an alignment of long series may stray, so that their length does not count twice; None: as far as it likes."""
    return None if steps * steps <= PAIR_CELLS else max(LEAST_BAND, PAIR_CELLS // (2 * steps))


def view_metrics(
    znormalise: bool, gamma: str = AUTO, texture: str = EVERYTHING, band: int | None = None
) -> dict[str, SemiMetric]:
    """The three views."""
    return {
        SHAPE: SoftDTW(gamma=gamma, band=band, znormalise=znormalise),
        SLOPE: SoftDTW(gamma=gamma, band=band, of=SLOPE, znormalise=znormalise),
        TEXTURE: ConvolutionFeatures(znormalise=znormalise, of=texture),
    }


def choose_series(X: object, n_clusters: int | None = None, where: str = "") -> SeriesChoice:
    """The combination of views with the clearest groups, for so many clusters, or for 2 to 6 where that is not known.

    Parameters
    ----------
    X : series, (n, steps, channels) or a list
        Different ones only, at most 80 of them or 8 for each cluster, whichever are more.
    n_clusters : int, optional
    where : str
        What the series are a part of, for the reason.

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
    """All combinations of a texture and a gamma, views weighed by their own clarity, and how clear their groups are."""
    tables = distance_tables(rows, znormalise)
    own = {name: max(clarity(d, numbers), 0.0) ** POWER for name, d in tables.items()}
    for gamma, texture in product(GAMMAS, TEXTURES):
        views = (SHAPE, gamma), (SLOPE, gamma), (TEXTURE, texture)
        most = max(own[view] for view in views) or 1.0
        weights = tuple(max(own[view] / most, LEAST_WEIGHT) for view in views)
        joint = sum(weight * tables[view] for weight, view in zip(weights, views, strict=True))
        yield Option(znormalise, texture, gamma, weights), clarity(np.asarray(joint), numbers)


def different_series(rows: Series, n_clusters: int) -> list[Floats]:
    """Different series drawn over one length: not too many, whatever their order."""
    space = TimeSeries().fit(list(rows), dtype=torch.float64)
    batch = space.encode(list(rows))
    _, first = np.unique(space.keys(batch), return_index=True)  # in the order of a hash
    values = space.starts(batch, torch.as_tensor(first[: max(MOST, MOST_EACH * n_clusters)]))
    return list(values.numpy())


def shortened(rows: Series, steps: float) -> list[Floats]:
    """Means over so many steps that about this many are left."""
    values = torch.from_numpy(np.stack(rows))
    size = max(1, int(np.ceil(values.shape[1] / max(4.0, steps))))
    return list(in_blocks(SeriesBatch(values), size).values.numpy())


def distance_tables(rows: Series, znormalise: bool) -> dict[tuple[str, str], Floats]:
    """All distances (n, n) of series of one length by view and its gamma or texture, of mean 1."""
    n, channels = len(rows), rows[0].shape[1]
    short, long = shortened(rows, np.sqrt(CELLS / (0.5 * n * n * channels))), shortened(rows, TEXTURE_STEPS)
    tables = {}
    for gamma, view in product(GAMMAS, (SHAPE, SLOPE)):
        tables[view, gamma] = distances(view_metrics(znormalise, gamma)[view], short)
    for texture in TEXTURES:
        tables[TEXTURE, texture] = distances(ConvolutionFeatures(znormalise=znormalise, of=texture), long)
    return {key: d / d.mean() if d.mean() > 0 else d for key, d in tables.items()}


def distances(metric: SemiMetric, rows: Series) -> Floats:
    """All distances (n, n) between series of one length, each pair measured once."""
    space = metric.make_space().fit(list(rows), dtype=torch.float64)
    x, n = space.encode(list(rows)), len(rows)
    return table_of(metric.fitted(x, None), x, space.starts(x, torch.arange(n)))


def clarity(squares: Floats, numbers: Sequence[int]) -> float:
    """How clearly groups keep neighbours together, on average over numbers of clusters."""
    return float(np.mean([neighbours_together(squares, k_means_labels(squares, c), c) for c in numbers]))


def neighbours_together(d: Floats, labels: NDArray[np.intp], n_clusters: int) -> float:
    """How far nearest neighbours lie in one group, beyond chance: 1 all of them, 0 as chance has it.

    As many neighbours as the root of the number of objects, or half of a group, whichever are fewer; at least three.
    """
    n = len(d)
    k = min(n - 1, max(3, round(min(np.sqrt(n), n / (2 * n_clusters)))))
    far = d + np.diag(np.full(n, np.inf))
    near = np.argsort(far, axis=1, kind="stable")[:, :k]
    kept = float((labels[near] == labels[:, None]).mean())
    chance = float((np.bincount(labels)[labels] - 1).mean() / (n - 1))
    return (kept - chance) / (1.0 - chance) if chance < 1.0 else 0.0


def k_means_labels(squares: Floats, n_clusters: int) -> NDArray[np.intp]:
    """K-means on squared distances (n, n), begun at medoids; no random numbers."""
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
    """Groups around the medoids of least total distance that adding one by one and then swapping finds (PAM)."""
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
