"""Labelled data not made for clustering: eight sets of numbers, eleven tables, eight sets of series.

Most are read from the folder ``SOFTECM_DATA``; the others come with scikit-learn or are generated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets as sk
from sklearn.preprocessing import StandardScaler

import softecm.datasets as ds
from softecm.distances import SoftDTW
from softecm.series import SeriesScaler


@dataclass(frozen=True)
class Labelled:
    """Objects, the classes for scoring, and the metric."""

    name: str
    X: Any
    y: NDArray[np.int64]
    metric: Any

    @property
    def c(self) -> int:
        """The number of classes."""
        return int(self.y.max()) + 1


def numbers() -> Iterator[Labelled]:
    """Yield eight sets of numbers, scaled to deviation 1 except the pixels of the digits, without further scaling."""
    for data in unscaled_numbers():
        X = data.X if "digits" in data.name else StandardScaler().fit_transform(data.X)
        yield Labelled(data.name, X, data.y, "sqeuclidean")


def unscaled_numbers() -> Iterator[Labelled]:
    """Yield the same sets in their original units, with everything left to ``metric="auto"``."""
    for name in ("iris", "wine", "breast_cancer"):
        bunch = getattr(sk, f"load_{name}")()
        yield Labelled(name, bunch.data, bunch.target, "auto")
    yield _digits("digits", range(10), 600)
    yield _digits("four digits", (0, 1, 7, 8), 400)
    bunch = ds.load_ecoli()
    keep = np.isin(bunch.target, np.flatnonzero(np.bincount(bunch.target) >= 20))  # without tiny classes
    X = bunch.data.to_numpy(float)[keep]
    yield Labelled("ecoli", X[:, X.std(0) > 0], _numbered(bunch.target[keep]), "auto")
    bunch = ds.load_glass()
    yield Labelled("glass", bunch.data.to_numpy(float), bunch.target, "auto")
    bunch = ds.load_abalone()
    rows = np.random.default_rng(0).permutation(len(bunch.target))[:1500]
    yield Labelled("abalone", bunch.data.to_numpy(float)[rows], bunch.target[rows], "auto")


def _digits(name: str, which: Any, n: int) -> Labelled:
    bunch, rng = sk.load_digits(), np.random.default_rng(0)
    of_them = np.flatnonzero(np.isin(bunch.target, list(which)))
    rows = rng.permutation(of_them)[:n]
    return Labelled(name, bunch.data[rows] / 16, _numbered(bunch.target[rows]), "auto")


def _numbered(y: Any) -> NDArray[np.int64]:
    numbered: NDArray[np.int64] = np.unique(y, return_inverse=True)[1].astype(np.int64)
    return numbered


def tables() -> Iterator[Labelled]:
    """Yield eleven tables of categories, or of both kinds of columns, some with missing cells; at most 800 rows each."""
    for name in ("heart", "cleveland", "hepatitis", "credit", "cmc", "breast_cancer", "soybean", "lung"):
        bunch = getattr(ds, f"load_{name}")()
        X, y = bunch.data, np.asarray(bunch.target)
        if len(X) > 800:
            rows = np.random.default_rng(0).permutation(len(X))[:800]
            X, y = X.iloc[rows].reset_index(drop=True), y[rows]
        yield Labelled(f"{name} (table)" if name == "breast_cancer" else name, X, y, "auto")
    for n, c, missing in ((300, 3, 5), (1000, 5, 0), (2000, 3, 10)):
        bunch = ds.make_mixed_blobs(n, n_clusters=c, missing=missing / 100, random_state=n + c)
        yield Labelled(f"made, n={n}, c={c}, {missing} % gaps", bunch.data, bunch.target, "auto")


def series() -> Iterator[Labelled]:
    """Yield eight sets of short series; those of several channels are scaled."""
    for name, X, y in _series():
        scaled = SeriesScaler().fit_transform(X) if X.shape[2] > 1 else X
        yield Labelled(f"{name}, {len(X)} × {X.shape[1]}", scaled, np.asarray(y), SoftDTW(gamma="auto"))


def _series() -> Iterator[tuple[str, Any, Any]]:
    bunch = ds.make_cbf(15, length=48, random_state=3)
    yield "made CBF", bunch.data, bunch.target
    for name, step in (("ERing", 2), ("GunPoint", 4), ("CBF", 2)):
        bunch = ds.load_series(name)
        yield name, _coarser(bunch.data, step), bunch.target
    bunch = ds.load_series("Libras")
    five = bunch.target < 5
    yield "Libras, 5 of its classes", _coarser(bunch.data[five], 2), bunch.target[five]
    bunch = ds.make_cbf(60, length=32, random_state=4)
    yield "made CBF", bunch.data, bunch.target
    bunch = ds.load_series("BasicMotions")
    yield "BasicMotions", _coarser(bunch.data, 4), bunch.target
    bunch = ds.make_cbf(150, length=24, random_state=5)
    yield "made CBF", bunch.data, bunch.target


def _coarser(x: Any, step: int) -> Any:
    """Return means of ``step`` steps."""
    return x[:, : x.shape[1] // step * step].reshape(len(x), -1, step, x.shape[2]).mean(2)
