"""Imitates the other columns: evclust for Python at the beta of Soft-ECM, and hard methods at their libraries' defaults.

ECMdd gets plain distances of numbers, squared ones of series, the share of differing columns, or raw Soft-DTW with
gamma 1 between series with swapped axes. ECM, ECMdd and CatECM consider all pairs and the whole.
"""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softecm_paper.as_coded.labels import Labels, single_labels
from softecm_paper.as_coded.preparing import Prepared
from softecm_paper.rows import Row

logger = logging.getLogger("softecm")

EVCLUST = {"ECM": "ecm", "ECMdd": "ecmdd", "CatECM": "catecm"}
PACKAGE = {
    **dict.fromkeys(EVCLUST, "evclust"),
    "K-Means": "scikit-learn",
    "K-Modes": "kmodes",
    "TSKmeans": "tslearn",
}
COMMON = {"alpha": 2.0, "delta": 10.0, "type": "pairs", "disp": False}


def evidential_labels(row: Row, method: str, data: Prepared, beta: float, seed: int) -> Labels | None:
    """Return labels by evclust's actual pignistic probabilities; None if it fails."""
    from importlib import import_module

    function = getattr(import_module(f"evclust.{EVCLUST[method]}"), EVCLUST[method])
    options: dict[str, Any] = {**COMMON, "beta": beta}
    if method == "ECMdd":
        options |= {"x": matrix(row, data), "epsi": 1e-3}
    else:
        options |= {"x" if method == "ECM" else "X": data.X}
    with _quiet(seed):
        try:
            result = function(c=row.n_clusters, **options)
        except Exception as error:  # for any error, the experiment counts the run as missing
            logger.warning("%s of evclust on %s, seed %d: %s: %s", method, row.key, seed, type(error).__name__, error)
            return None
    return single_labels(np.asarray(result["betp"], dtype=np.float64))


def matrix(row: Row, data: Prepared) -> NDArray[np.float64]:
    """Return the dissimilarities for ECMdd."""
    from scipy.spatial.distance import pdist, squareform

    flat = data.numbers.reshape(len(data.y), -1)
    if row.metric != "softdtw":
        kind = {"sqeuclidean": "euclidean", "series-euclidean": "sqeuclidean", "hamming": "hamming"}[row.metric]
        return np.asarray(squareform(pdist(flat, kind)), dtype=np.float64)
    from tslearn.metrics import soft_dtw

    upper = np.array([[soft_dtw(a, b) if i <= j else 0.0 for j, b in enumerate(data.X)] for i, a in enumerate(data.X)])
    return np.asarray(np.triu(upper) + np.triu(upper, 1).T, dtype=np.float64)


def hard_labels(row: Row, method: str, data: Prepared, seed: int) -> Labels:
    """Return labels of a hard method limited to 20 iterations, with its library's other defaults."""
    from softecm.baselines import hard_partition

    options: dict[str, dict[str, Any]] = {
        "K-Means": {"n_init": 1, "tol": 1e-3},
        "K-Modes": {},
        "TSKmeans": {"metric": "softdtw" if row.metric == "softdtw" else "euclidean", "tol": 1e-3},
    }
    name = {"K-Means": "kmeans", "K-Modes": "kmodes", "TSKmeans": "timeseries-kmeans"}[method]
    with _quiet(seed):
        partition = hard_partition(name, data.X, row.n_clusters, random_state=seed, max_iter=20, **options[method])
    return np.asarray(partition.labels(), dtype=np.intp)


@contextlib.contextmanager
def _quiet(seed: int) -> Iterator[None]:
    """Seed and restore NumPy's global generator, which evclust uses; suppress other libraries' warnings."""
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(seed)  # noqa: NPY002
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        np.random.set_state(state)  # noqa: NPY002
