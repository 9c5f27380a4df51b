"""Small data for the recorded fits; NumPy guarantees the stream of ``RandomState``."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@cache
def points() -> Floats:
    """(45, 2): three groups, two objects between, one outlier."""
    rng = np.random.RandomState(11)
    centers = np.array([[0.0, 0.0], [4.0, 0.5], [1.5, 4.0]])
    groups = centers[np.arange(42) % 3] + 0.7 * rng.normal(size=(42, 2))
    return np.concatenate([groups, [[2.0, 0.3], [0.8, 2.1], [11.0, 9.0]]])


@cache
def directions() -> Floats:
    """(40, 4): positive rows in three directions, of very different lengths."""
    rng = np.random.RandomState(12)
    towards = np.array([[3.0, 1.0, 0.2, 0.1], [0.2, 3.0, 1.0, 0.3], [0.5, 0.2, 0.4, 3.0]])
    return (towards[np.arange(40) % 3] + 0.4 * rng.uniform(size=(40, 4))) * rng.uniform(0.5, 5.0, size=(40, 1))


@cache
def ellipses() -> Floats:
    """(40, 3): two elongated groups and one round one."""
    rng = np.random.RandomState(13)
    stretch = np.array([[3.0, 0.4, 0.5], [0.4, 2.5, 0.5], [0.7, 0.7, 0.7]])
    centers = np.array([[0.0, 0.0, 0.0], [6.0, 2.0, 1.0], [-2.0, 5.0, 3.0]])
    which = np.arange(40) % 3
    return centers[which] + stretch[which] * rng.normal(size=(40, 3))


@cache
def categories() -> NDArray[np.object_]:
    """(48, 5): words, a tenth of them redrawn, a few missing."""
    rng = np.random.RandomState(14)
    own = np.array([list("aaaaa"), list("bbbab"), list("ccbcc")], dtype=object)
    table = own[np.arange(48) % 3].copy()
    drawn = rng.uniform(size=table.shape)
    table[drawn < 0.2] = rng.choice(list("abcd"), size=int((drawn < 0.2).sum()))
    table[drawn > 0.97] = None
    return table


@cache
def table() -> pd.DataFrame:
    """48 rows of two numbers and two categories, with missing cells in both kinds."""
    numbers = points()[np.r_[0:45, 0:3]].copy()
    numbers[[4, 17], [0, 1]] = np.nan
    words = categories()
    return pd.DataFrame({"width": numbers[:, 0], "height": numbers[:, 1], "kind": words[:, 0], "mark": words[:, 3]})


@cache
def series() -> Floats:
    """(12, 16, 1): bumps early, in the middle and late, shifted and noisy."""
    rng = np.random.RandomState(15)
    time = np.arange(16)
    places = np.array([4.0, 8.0, 12.0])[np.arange(12) % 3] + rng.uniform(-0.8, 0.8, size=12)
    bumps = np.exp(-((time - places[:, None]) ** 2) / 4.0) * rng.uniform(1.5, 2.5, size=(12, 1))
    return (bumps + 0.05 * rng.normal(size=bumps.shape))[:, :, None]


@cache
def short() -> Floats:
    """(6, 8, 1): some of them, every other step."""
    return series()[:6, ::2]


@cache
def channels() -> Floats:
    """(10, 12, 2): the same with a second channel."""
    rng = np.random.RandomState(16)
    first = series()[:10, 2:14]
    return np.concatenate([first, np.cumsum(0.2 * rng.normal(size=first.shape), 1)], 2)


@cache
def ragged() -> list[Floats]:
    """Ten series of lengths 10 to 16."""
    return [row[: 10 + i % 7] for i, row in enumerate(series()[:10])]


@cache
def gappy() -> Floats:
    """(12, 16, 1) with missing steps inside."""
    holes = series().copy()
    holes[[1, 5, 9], [3, 7, 11]] = np.nan
    return holes


@cache
def distances() -> Floats:
    """(45, 45) Euclidean distances of ``points``."""
    x = points()
    return np.sqrt(((x[:, None] - x) ** 2).sum(-1))


@cache
def squared() -> Floats:
    """(45, 45) squared distances of ``points``."""
    return distances() ** 2


@cache
def weights(n: int) -> Floats:
    """Weights of n objects, some zero and some large."""
    drawn = np.random.RandomState(17).uniform(0.2, 3.0, size=n)
    drawn[::11] = 0.0
    return drawn


def rows(data: Any, *which: int) -> Any:
    """Some objects of any of these data, as initial prototypes."""
    if isinstance(data, pd.DataFrame):
        return data.iloc[list(which)].reset_index(drop=True)
    return [data[i] for i in which] if isinstance(data, list) else data[list(which)]
