r"""``metric="series-auto"``: a few distances between series are tried, and the one with the clearest groups is taken.

Labels are not asked for. Under each distance some of the series are grouped around medoids, and then the nearest neighbours
of each are looked at: how many lie in its own group, beyond what chance would put there,

.. math:: \frac{s - e}{1 - e}

with s the mean share of the neighbours that lie in the series' own group and e that share where neighbours are drawn at
random. 1: no group has a neighbour outside; 0: groups that say nothing about neighbours. It depends on the order of
distances only, so that those of different units compare, and one far object gains nothing.

The rule was chosen among some forty (silhouettes, ranks, eigenvalues, agreement between distances, stability on halves) on
made-up series: shifts, warps, amplitudes, frequencies, timing, textures, bursts, drift, with strays, unequal groups and
unequal noise (``docs/series.md``). No archive set was looked at for that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm.distances.base import SemiMetric
from softecm.distances.elastic_metrics import ADTW, SoftMSM
from softecm.distances.sbd import SBD
from softecm.distances.series_euclidean import SeriesEuclidean
from softecm.distances.soft_dtw import SoftDTW
from softecm.spaces.series import SeriesBatch, TimeSeries, in_blocks, to_list

#: What is tried, the first where there is nothing to tell them by. Slopes have no name for ``metric=``.
CANDIDATES: Mapping[str, SemiMetric] = MappingProxyType(
    {
        "softdtw": SoftDTW(),
        "softmsm": SoftMSM(),
        "sbd": SBD(),
        "series-euclidean": SeriesEuclidean(),
        "slopes": ADTW(0.0, gamma="auto", derivative=True),
    }
)
MOST, MOST_EACH = 100, 12  # series that are compared: at least so many where there are, and for each cluster
CELLS = 2.5e8  # of the alignments of all pairs; longer series are shortened to means over a few steps
UNKNOWN = range(2, 7)  # numbers of clusters that are tried where it is not known
FEWEST = 4  # series for each cluster without which there is nothing to compare
ROWS = 16  # of the matrix at once


@dataclass(frozen=True)
class Tried:
    """A distance and how clearly its groups keep neighbours together, at most 1; the larger the better."""

    name: str
    clear: float


@dataclass(frozen=True)
class Found:
    """The distance that was taken, as ``metric=`` has it, why, and all that were tried, best first."""

    metric: str | SemiMetric
    reason: str
    tried: tuple[Tried, ...]


def choose_series(X: object, n_clusters: int | None = None) -> Found:
    """The distance with the clearest groups among a few, for so many clusters, or for 2 to 6 where that is not known.

    Parameters
    ----------
    X : series, (n, steps, channels) or a list
        Different ones only, at most 100 of them or 12 for each cluster, whichever are more.
    n_clusters : int, optional

    Examples
    --------
    >>> import numpy as np
    >>> t, rng = np.arange(40), np.random.default_rng(0)
    >>> X = [np.sin(2 * np.pi * (f * t / 40 + rng.random())) for f in (2, 5) for _ in range(12)]  # any phase
    >>> found = choose_series(X, 2)
    >>> found.tried[0].clear
    1.0
    """
    rows = to_list(X)
    equal = len({len(row) for row in rows}) == 1
    numbers = UNKNOWN if n_clusters is None else [n_clusters]
    values = some_series(rows, max(numbers))
    few = len(values) < FEWEST * min(numbers)
    if few or max(numbers) < 2:
        why = "too few different series" if few else "one cluster is no group"
        return Found("softdtw", f"{why} to compare distances by: soft-DTW, as usual", ())
    fitting = [name for name, metric in CANDIDATES.items() if _suits(metric, equal, values.shape[1])]
    clear = {name: _clear(distances(CANDIDATES[name], values), numbers) for name in fitting}
    best = max(clear, key=lambda name: clear[name])  # the first of equals
    tried = tuple(sorted((Tried(name, value) for name, value in clear.items()), key=lambda one: -one.clear))
    others = ", ".join(f"{one.name} {one.clear:.2f}" for one in tried if one.name != best)
    told = f"neighbours lie in one group most clearly by {best}: {clear[best]:.2f} ({others}), on {len(values)} series"
    return Found(CANDIDATES[best] if best == "slopes" else best, told, tried)


def _suits(metric: SemiMetric, equal: bool, steps: int) -> bool:
    """Whether series of these lengths can be compared."""
    if isinstance(metric, SeriesEuclidean):
        return equal
    return not getattr(metric, "derivative", False) or steps >= 3


def some_series(rows: list[NDArray[np.float64]], n_clusters: int) -> Tensor:
    """Different series (n, steps, channels) drawn over one length: not too many, not too long, whatever their order."""
    space = TimeSeries().fit(rows, dtype=torch.float64)
    batch = space.encode(rows)
    _, first = np.unique(space.keys(batch), return_index=True)  # in the order of a hash
    chosen = torch.as_tensor(first[: max(MOST, MOST_EACH * n_clusters)])
    values = space.starts(batch, chosen)
    n, steps, channels = values.shape
    longest = max(2.0, np.sqrt(CELLS / (0.5 * n * n * channels)))
    return in_blocks(SeriesBatch(values), max(1, int(np.ceil(steps / longest)))).values


def distances(metric: SemiMetric, x: Tensor) -> NDArray[np.float64]:
    """All distances (n, n) between series of one length, each pair measured once."""
    metric, n = metric.fitted(SeriesBatch(x), None), len(x)
    out = np.zeros((n, n))
    with torch.no_grad():
        for at in range(0, n, ROWS):
            out[at : at + ROWS, at:] = metric.pairwise(x[at : at + ROWS], x[at:]).numpy()
    upper = np.triu(out, 1)
    both: NDArray[np.float64] = upper + upper.T
    return np.maximum(both, 0.0) ** (1.0 / metric.degree)  # lengths, not squares: medoids mind


def _clear(d: NDArray[np.float64], numbers: range | list[int]) -> float:
    return float(np.mean([kept_together(d, around_medoids(d, c), c) for c in numbers]))


def kept_together(d: NDArray[np.float64], labels: NDArray[np.intp], n_clusters: int) -> float:
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


def around_medoids(d: NDArray[np.float64], n_clusters: int) -> NDArray[np.intp]:
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
