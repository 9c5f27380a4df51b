"""Problems with a planted truth: groups, objects between two of them, outliers; and scores of an answer.

``gaussian(shape, seed)`` makes one problem. Lists of them: ``SUITE`` (clean, planted, unequal, overlapping groups; many
outliers, many objects between), ``SHAPES`` (heavy tails, balls, elongated groups) and ``SIZES`` (groups of 1 : 20 objects).
The same seed gives the same problem everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.stats import chi2
from sklearn.metrics import adjusted_rand_score

Floats = NDArray[np.float64]
MEMBER, BETWEEN, OUTLIER = range(3)
SURE = 0.99  # posterior of the true group from which a member is clear
NOISE_BETWEEN = 0.25  # deviation of objects planted between two groups
AWAY = 3.0  # how much farther than nearly all members (0.9999) an outlier is, in deviations


@dataclass(frozen=True)
class Shape:
    """The kind of a problem: groups, columns, smallest distance of centres in deviations, objects."""

    group: str
    c: int
    columns: int
    apart: float
    n: int
    between: float = 0.0  # shares of the objects
    outliers: float = 0.0
    unequal: float = 1.0  # the largest group over the smallest; above 1 the spreads differ, too
    far: bool = False  # outliers far around all groups instead of among them
    position: float = 0.5  # of objects between two groups: 0.5 is midway

    def __str__(self) -> str:
        far = "far" if self.far else "near"
        return f"{self.group}: c={self.c}, {self.columns} columns, {self.apart:g} apart, n={self.n}, {far}"


@dataclass(frozen=True)
class Problem:
    """Objects and their truth."""

    shape: Shape
    X: Floats
    y: NDArray[np.int64]  # group of members, else -1
    kind: NDArray[np.int64]  # MEMBER, BETWEEN or OUTLIER
    clear: NDArray[np.bool_]  # members that belong to their group almost certainly
    pairs: list[tuple[int, int]]  # of the objects between, in order
    centers: Floats


def gaussian(shape: Shape, seed: int) -> Problem:
    """Return Gaussian groups, objects between neighbouring ones, outliers outside all."""
    c, d, n = shape.c, shape.columns, shape.n
    rng = np.random.default_rng(1000 * seed + 7 * c + 13 * d + int(31 * shape.apart) + n)
    centers = _centers(rng, c, d, shape.apart)
    share, spread = _sizes(rng, c, shape.unequal)
    n_between, n_out = round(n * shape.between), round(n * shape.outliers)
    y = rng.choice(c, n - n_between - n_out, p=share)
    y[: 3 * c] = np.arange(3 * c) % c  # at least three of each
    X = centers[y] + spread[y][:, None] * rng.normal(size=(len(y), d))
    posterior = _posterior(X, centers, share, spread)
    clear = (posterior.max(1) >= SURE) & (posterior.argmax(1) == y)
    neighbours = _neighbours(centers)
    pairs = [neighbours[i] for i in rng.integers(0, len(neighbours), n_between)] if n_between else []
    middle = _between(rng, centers, pairs, shape.position)
    out = _outliers(rng, X, centers, spread, neighbours, n_out, shape.far)
    rest = n_between + n_out
    return Problem(
        shape,
        np.concatenate([X, middle, out]),
        np.r_[y, np.full(rest, -1)],
        np.repeat([MEMBER, BETWEEN, OUTLIER], [len(y), n_between, n_out]),
        np.r_[clear, np.zeros(rest, bool)],
        pairs,
        centers,
    )


def _centers(rng: np.random.Generator, c: int, d: int, apart: float) -> Floats:
    """Return centres with nearest neighbours at similar distances."""
    flat = 5.0 if c > 5 else 3.5
    most = flat if d == 2 and c > 3 else 2.5 if c > 5 else 2.0 if c > 2 else 9.0
    for _ in range(20_000):
        centers = rng.normal(size=(c, d))
        distances = np.linalg.norm(centers[:, None] - centers, axis=-1)[~np.eye(c, dtype=bool)]
        if distances.max() / distances.min() < most:
            spaced: Floats = centers * apart / distances.min()
            return spaced
    raise RuntimeError(f"no {c} centres in {d} columns that are about equally far apart were found")


def _sizes(rng: np.random.Generator, c: int, unequal: float) -> tuple[Floats, Floats]:
    """Return share of the objects and deviation of each group."""
    differ = unequal > 1
    share = np.linspace(1, unequal, c) if differ else np.ones(c)
    share = rng.permutation(share / share.sum())
    return share, rng.permutation(np.linspace(0.6, 1.4, c)) if differ else np.ones(c)


def _posterior(X: Floats, centers: Floats, share: Floats, spread: Floats) -> Floats:
    squares = np.square(X[:, None] - centers).sum(-1)
    log = np.log(share) - X.shape[1] * np.log(spread) - 0.5 * squares / spread**2
    odds = np.exp(log - log.max(1, keepdims=True))
    posterior: Floats = odds / odds.sum(1, keepdims=True)
    return posterior


def _neighbours(centers: Floats) -> list[tuple[int, int]]:
    """Return pairs of groups without a third centre near their middle."""
    c, pairs = len(centers), []
    for a in range(c):
        for b in range(a + 1, c):
            middle, radius = (centers[a] + centers[b]) / 2, np.linalg.norm(centers[a] - centers[b]) / 2
            others = [np.linalg.norm(centers[k] - middle) for k in range(c) if k not in (a, b)]
            if not others or min(others) > 1.2 * radius:
                pairs.append((a, b))
    return pairs


def _between(rng: np.random.Generator, centers: Floats, pairs: list[tuple[int, int]], position: float) -> Floats:
    d = centers.shape[1]
    if not pairs:
        return np.empty((0, d))
    middle = np.array([position * centers[a] + (1 - position) * centers[b] for a, b in pairs])
    return middle + NOISE_BETWEEN * rng.normal(size=(len(pairs), d))


def _outliers(
    rng: np.random.Generator,
    X: Floats,
    centers: Floats,
    spread: Floats,
    neighbours: list[tuple[int, int]],
    count: int,
    far: bool,
) -> Floats:
    """Return objects outside every group, and not midway between two."""
    d = X.shape[1]
    edge = np.sqrt(chi2.ppf(0.9999, d)) + AWAY
    middles = np.array([(centers[a] + centers[b]) / 2 for a, b in neighbours])
    room = np.array([0.35 * np.linalg.norm(centers[a] - centers[b]) for a, b in neighbours])
    found: list[Floats] = []
    while len(found) < count:
        z = _far_place(rng, centers, edge) if far else _near_place(rng, X)
        beyond = (np.linalg.norm(z - centers, axis=1) > edge * spread).all()
        if beyond and (np.linalg.norm(z - middles, axis=1) > room).all():
            found.append(z)
    return np.array(found).reshape(-1, d)


def _near_place(rng: np.random.Generator, X: Floats) -> Floats:
    """Return a point in the box of the members, twice as wide."""
    low, high = X.min(0), X.max(0)
    return rng.uniform(low - (high - low) / 2, high + (high - low) / 2)


def _far_place(rng: np.random.Generator, centers: Floats, edge: float) -> Floats:
    """Return a point three to five times as far from the middle as the outermost centre."""
    direction = rng.normal(size=centers.shape[1])
    direction /= np.linalg.norm(direction)
    middle = centers.mean(0)
    radius = np.linalg.norm(centers - middle, axis=1).max()
    place: Floats = middle + direction * radius * rng.uniform(3, 5) + direction * edge
    return place


def reshaped(problem: Problem, noise: str, rng: np.random.Generator) -> Problem:
    """Replace the members' Gaussian noise: "heavy" (Student, 4), "ball" (uniform), "long" (one axis longer)."""
    y, centers, d = problem.y, problem.centers, problem.X.shape[1]
    members = y >= 0
    e = rng.normal(size=(int(members.sum()), d))
    if noise == "heavy":
        e = rng.standard_t(4, size=e.shape) / np.sqrt(2)
    elif noise == "ball":
        radius = rng.random((len(e), 1)) ** (1 / d)
        e = e / np.linalg.norm(e, axis=1, keepdims=True) * radius * np.sqrt(d + 2)
    elif noise == "long":
        e *= np.r_[2.0, np.full(d - 1, 0.7)]
    X = problem.X.copy()
    X[members] = centers[y[members]] + e
    distances = np.linalg.norm(X[:, None] - centers, axis=-1)
    first, second = np.sort(distances, 1)[:, :2].T
    near = (first < 0.5 * second) & (first < 3.0 * np.sqrt(d))
    return replace(problem, X=X, clear=members & near & (distances.argmin(1) == y))


# ---------------------------------------------------------------------- lists of problems: (c, columns, apart, n)
_CLEAN = [
    (2, 2, 6, 100),
    (3, 2, 8, 300),
    (3, 2, 8, 3000),
    (5, 2, 6, 1000),
    (8, 2, 6, 1000),
    (3, 5, 6, 300),
    (5, 5, 8, 1000),
]
_CLEAN += [(8, 5, 8, 1000), (2, 10, 6, 300), (3, 10, 8, 100), (5, 10, 10, 300), (3, 30, 8, 300), (5, 30, 10, 1000)]
_CLEAN += [(8, 10, 8, 3000)]
_PLANTED = [
    (2, 2, 6, 100),
    (2, 2, 8, 1000),
    (3, 2, 8, 300),
    (3, 2, 8, 3000),
    (5, 2, 8, 1000),
    (8, 2, 8, 1000),
    (3, 5, 8, 100),
]
_PLANTED += [(3, 5, 8, 300), (5, 5, 8, 1000), (8, 5, 10, 1000), (2, 10, 8, 300), (3, 10, 8, 1000), (5, 10, 10, 300)]
_PLANTED += [(3, 30, 10, 300), (5, 30, 10, 1000), (5, 5, 10, 3000)]
_UNEQUAL = [
    (2, 2, 6, 300),
    (3, 2, 7, 300),
    (3, 2, 7, 3000),
    (5, 2, 7, 1000),
    (3, 5, 7, 300),
    (5, 5, 8, 1000),
    (8, 5, 8, 1000),
]
_UNEQUAL += [(3, 10, 8, 300), (5, 10, 8, 1000), (3, 30, 10, 300)]
_OVERLAP = [
    (2, 2, 3, 300),
    (2, 2, 4, 1000),
    (3, 2, 3.5, 300),
    (3, 2, 4, 3000),
    (5, 2, 4, 1000),
    (3, 5, 4, 300),
    (5, 5, 4, 1000),
]
_OVERLAP += [(8, 5, 4, 1000), (3, 10, 4, 300), (5, 10, 4, 1000), (3, 30, 5, 300)]
_DIRTY = [(2, 2, 8, 300), (3, 2, 8, 300), (3, 5, 8, 1000), (5, 5, 10, 300), (3, 10, 8, 300), (5, 2, 8, 1000)]
_FOUR = [(2, 2, 8, 300), (3, 2, 8, 1000), (3, 5, 10, 300), (5, 10, 10, 1000)]


def _suite() -> Iterator[Shape]:
    for at in _CLEAN:
        yield Shape("clean", *at)
    for at in _PLANTED:
        yield Shape("planted", *at, between=0.05, outliers=0.03, far=at[3] not in (100, 1000))
    for at in _UNEQUAL:
        yield Shape("unequal", *at, between=0.03, outliers=0.03, unequal=5.0, far=at[3] != 300)
    for at in _OVERLAP:
        yield Shape("overlap", *at)
    for at in _DIRTY:
        for far in (False, True):
            yield Shape("10 % outliers", *at, between=0.05, outliers=0.1, far=far)
    for c, d, apart, n in _FOUR:
        yield Shape("off the middle", c, d, apart, n, between=0.08, position=0.4)
        yield Shape("many between", c, d, apart, n, between=0.25)
        yield Shape("small clusters", c, d, 2 * apart, n, unequal=5.0)


SUITE = list(_suite())
_SHAPED = [(2, 2, 10, 300), (3, 2, 10, 1000), (5, 2, 12, 1000), (3, 5, 12, 300), (5, 5, 12, 1000), (3, 10, 14, 300)]
SHAPES = [Shape("shaped", *at, between=0.04, outliers=0.03, far=True) for at in _SHAPED]
_SIZED = [(2, 2, 8, 1000), (3, 2, 8, 1000), (5, 2, 10, 1000), (3, 5, 10, 1000), (5, 5, 10, 3000), (3, 10, 10, 1000)]
SIZES = [Shape("sizes 1 : 20", *at, outliers=0.02, unequal=20.0, far=True) for at in _SIZED]
NOISES = {"heavy": "heavy tails", "ball": "uniform balls", "long": "elongated"}


def suite(seed: int) -> Iterator[Problem]:
    """Yield one draw of all problems of the suite."""
    return (gaussian(shape, seed) for shape in SUITE)


def shapes(seed: int) -> Iterator[Problem]:
    """Yield one draw of groups of other shapes and of very different sizes."""
    for shape in SHAPES:
        for noise, name in NOISES.items():
            problem = gaussian(replace(shape, group=name), seed)
            yield reshaped(problem, noise, np.random.default_rng(seed + 17))
    yield from (gaussian(shape, seed) for shape in SIZES)


# ---------------------------------------------------------------------- scores
def matched(y: NDArray[np.int64], labels: NDArray[np.int64], c: int) -> NDArray[np.int64]:
    """Return the cluster matched to each class, maximizing agreement."""
    size = max(c, int(y.max()) + 1)
    table = np.zeros((size, size))
    np.add.at(table, (y, labels), 1)
    to: NDArray[np.int64] = linear_sum_assignment(-table)[1]
    return to


def judge(problem: Problem, model: Any) -> dict[str, float]:
    """Return shares of objects with the right decision; NaN without such objects.

    ``score`` (balanced) is the mean of: clear members in their cluster, objects between in their pair, outliers
    nowhere.
    """
    members, y, clear = problem.kind == MEMBER, problem.y, problem.clear
    said = np.concatenate([np.zeros((1, problem.shape.c), bool), model.focal_sets_.membership.astype(bool)])
    said = said[model.partition_.masses.argmax(1)]  # (n, c): the clusters of the set of largest mass
    size, to = said.sum(1), matched(y[members], model.labels_[members], problem.shape.c)
    own = np.zeros(len(y), bool)
    own[members] = (size[members] == 1) & said[members, to[y[members]]]
    middle = np.flatnonzero(problem.kind == BETWEEN)
    ends = to[np.array(problem.pairs, dtype=int).reshape(-1, 2)]
    hit = (size[middle] == 2) & said[middle, ends[:, 0]] & said[middle, ends[:, 1]]
    out, nowhere = problem.kind == OUTLIER, size == 0
    counted = (size > 1) & ~(members & ~clear)  # members in an overlap may be ambiguous
    result = {
        "rand": float(adjusted_rand_score(y[members], model.labels_[members])),
        "clear": _mean(own[clear]),
        "called between": _mean(size[clear] > 1),
        "between": _mean(hit),
        "between precision": hit.sum() / max(counted.sum(), 1) if len(middle) else np.nan,
        "outliers": _mean(nowhere[out]),
        "outliers precision": (nowhere & out).sum() / max(nowhere.sum(), 1) if out.any() else np.nan,
    }
    result["score"] = float(np.nanmean([result["clear"], result["between"], result["outliers"]]))
    return result


def _mean(values: NDArray[np.bool_]) -> float:
    return float(values.mean()) if values.size else float("nan")
