"""The twelve rows of Table 2: data, metric, number of clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softecm import datasets

if TYPE_CHECKING:
    from sklearn.utils import Bunch


@dataclass(frozen=True)
class Row:
    """One row of the table."""

    key: str
    title: str
    kind: str  # numerical, categorical, series
    metric: str
    n_clusters: int
    loader: Callable[[], Bunch]

    @property
    def words(self) -> tuple[str, ...]:
        """The words that select this row in ``--rows``."""
        return (self.key, self.kind, self.metric, self.key.rsplit("_", 1)[0])

    @property
    def is_slow(self) -> bool:
        """Whether a run takes seconds instead of milliseconds."""
        return self.metric == "softdtw"


@dataclass(frozen=True)
class Objects:
    """The objects, and the classes for scoring."""

    X: Any
    y: NDArray[np.generic]


_TABLES = (
    Row("abalone", "Abalone", "numerical", "sqeuclidean", 3, datasets.load_abalone),
    Row("ecoli", "Ecoli", "numerical", "sqeuclidean", 8, datasets.load_ecoli),
    Row("glass", "Glass", "numerical", "sqeuclidean", 6, datasets.load_glass),
    Row("breast_cancer", "Breast Cancer", "categorical", "hamming", 2, datasets.load_breast_cancer),
    Row("lung", "Lung", "categorical", "hamming", 3, datasets.load_lung),
    Row("soybean", "Soybean", "categorical", "hamming", 4, datasets.load_soybean),
)
_SERIES = (
    ("ering", "ERing", 6, datasets.load_ering),
    ("motions", "BasicMotions", 4, datasets.load_basic_motions),
    ("fibrillation", "AtrialFibrillation", 3, datasets.load_atrial_fibrillation),
)
_METRICS = (("l2", "L2", "series-euclidean"), ("softdtw", "Soft-DTW", "softdtw"))
ROWS: tuple[Row, ...] = _TABLES + tuple(
    Row(f"{key}_{short}", f"{title} ({name})", "series", metric, c, load)
    for short, name, metric in _METRICS
    for key, title, c, load in _SERIES
)
KINDS = ("numerical", "categorical", "series")


def choose_rows(words: Iterable[str]) -> tuple[Row, ...]:
    """Return the rows selected by the words, in the table's order; all of them without words.

    Parameters
    ----------
    words : iterable of str, such as "numerical", "glass", "softdtw" or "ering_l2"
    """
    words = list(words)
    known = {word for row in ROWS for word in row.words}
    for word in words:
        if word not in known:
            names = ", ".join(dict.fromkeys(row.key for row in ROWS))
            raise ValueError(f"rows must be {', '.join(KINDS)}, a metric or a row's name; got {word!r}. Rows: {names}.")
    return tuple(row for row in ROWS if not words or set(words) & set(row.words))


def load_raw(row: Row) -> Objects:
    """Return the unscaled data, as used by the paper."""
    bunch = row.loader()
    X = np.asarray(bunch.data, dtype=np.float64) if row.kind == "numerical" else bunch.data
    return Objects(X, bunch.target)


def load_scaled(row: Row) -> Objects:
    """Return numeric columns with unit spread, channels of series with mean 0 and unit spread, categories unchanged."""
    raw = load_raw(row)
    if row.kind == "numerical":
        spread = raw.X.std(0)
        return Objects((raw.X - raw.X.mean(0)) / np.where(spread > 0, spread, 1.0), raw.y)
    if row.kind == "series":
        from softecm.series import SeriesScaler

        return Objects(SeriesScaler().fit_transform(raw.X), raw.y)
    return raw
