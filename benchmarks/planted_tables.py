"""Mixed tables with planted groups, objects between two groups, outliers, and columns that are irrelevant to the groups.

``planted_table(seed, c, irrelevant)`` makes one table of three numbers in different units and two categories;
``judge_table`` compares a fitted model with the truth. With ``c=1`` the table has no groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from planted import BETWEEN, MEMBER, OUTLIER
from sklearn.metrics import adjusted_rand_score

Floats = NDArray[np.float64]
NUMBERS, CATEGORIES = 3, 2
NOISE_BETWEEN = 0.3  # standard deviation around the midpoint of two groups
BEYOND = 8.0  # how far outliers may be outside the outermost center, in standard deviations


@dataclass(frozen=True)
class PlantedTable:
    """Rows, their groups, and whether they are members, between two groups, or outliers."""

    X: pd.DataFrame
    y: NDArray[np.int64]
    kind: NDArray[np.int64]
    c: int


def planted_table(
    seed: int, c: int, irrelevant: int, n: int = 400, *, apart: float = 4.0, share: float = 0.03
) -> PlantedTable:
    """Return one table; ``share`` of the rows are between two groups, and as many are outliers."""
    rng = np.random.default_rng([seed, c, irrelevant, n])
    y = rng.choice(c, n, p=0.8 * rng.dirichlet(np.full(c, 6.0)) + 0.2 / c)
    centers = _centers(rng, c, apart)
    X = centers[y] + rng.uniform(0.7, 1.3, size=(c, 1))[y] * rng.normal(size=(n, NUMBERS))
    kind = np.full(n, MEMBER)
    if c > 1:
        between = rng.random(n) < share
        kind[between] = BETWEEN
        neighbor = np.argsort(_squares(centers), axis=1)[:, 1][y[between]]
        middle = (centers[y[between]] + centers[neighbor]) / 2
        X[between] = middle + NOISE_BETWEEN * rng.normal(size=middle.shape)
    outliers = (rng.random(n) < share) & (kind == MEMBER)
    kind[outliers] = OUTLIER
    X[outliers] = rng.uniform(-1, 1, size=(outliers.sum(), NUMBERS)) * (np.abs(centers).max() + BEYOND)
    columns: dict[str, Any] = {f"number{j}": X[:, j] * 10 ** rng.uniform(-1, 3) for j in range(NUMBERS)}
    columns |= {f"category{j}": _category(rng, y, c) for j in range(CATEGORIES)}
    columns |= {f"irrelevant{j}": _irrelevant(rng, j, n) for j in range(irrelevant)}
    return PlantedTable(pd.DataFrame(columns), y, kind, c)


def _squares(centers: Floats) -> Floats:
    squares: Floats = np.square(centers[:, None] - centers).sum(-1)
    return squares


def _centers(rng: np.random.Generator, c: int, apart: float) -> Floats:
    """Return random centers, the nearest two at a distance of about ``apart``."""
    while True:
        centers = rng.normal(size=(c, NUMBERS)) * apart / 1.6
        least = (_squares(centers) + np.diag(np.full(c, np.inf))).min()
        if least > 0.8 * apart**2:
            return centers
        apart *= 0.999  # many groups have less room


def _category(rng: np.random.Generator, y: NDArray[np.int64], c: int) -> NDArray[np.object_]:
    """Return two to four levels, distributed differently in each group."""
    levels = int(rng.integers(2, 5))
    chances = rng.dirichlet(np.full(levels, 0.35), size=c)
    return np.array([f"v{rng.choice(levels, p=chances[k])}" for k in y], object)


def _irrelevant(rng: np.random.Generator, j: int, n: int) -> Any:
    """Return in turn: a coin, a normal number, a category with five levels, a uniform number."""
    draws = (
        lambda: rng.choice(["yes", "no"], n),
        lambda: rng.normal(size=n),
        lambda: rng.choice(list("abcde"), n),
        lambda: rng.uniform(size=n),
    )
    return draws[j % len(draws)]()


def judge_table(table: PlantedTable, model: Any) -> dict[str, float]:
    """Return the ARI of members; shares of planted between objects and outliers found, and of members (false)."""
    size = np.array([len(s) for s in model.partition_.sets()])
    members, between, outliers = (table.kind == kind for kind in (MEMBER, BETWEEN, OUTLIER))
    return {
        "ARI": float(adjusted_rand_score(table.y[members], model.labels_[members])),
        "between found": float((size[between] > 1).mean()) if between.any() else np.nan,
        "between false": float((size[members] > 1).mean()),
        "outliers found": float((size[outliers] == 0).mean()) if outliers.any() else np.nan,
        "outliers false": float((size[members] == 0).mean()),
    }
