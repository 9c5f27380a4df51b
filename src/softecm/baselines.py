"""Hard clusterings by other libraries, as credal partitions for comparison with evidential clustering.

K-means comes from scikit-learn, k-modes and k-prototypes from kmodes, k-means of series from tslearn. A method whose
library is missing raises an error that says what to install.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

import numpy as np
from numpy.typing import ArrayLike

from softecm._checks import check_choice, check_count, frame_of
from softecm.belief import CredalPartition

__all__ = ["BASELINES", "hard_partition"]

#: Method -> its package, as named by pip and by Python.
BASELINES = {
    "kmeans": ("scikit-learn", "sklearn"),
    "kmodes": ("kmodes", "kmodes"),
    "kprototypes": ("kmodes", "kmodes"),
    "timeseries-kmeans": ("tslearn", "tslearn"),
}


def hard_partition(
    method: str,
    X: object,
    n_clusters: int,
    *,
    categorical: Sequence[int] | None = None,
    random_state: int | np.random.RandomState | None = None,
    **options: object,
) -> CredalPartition:
    """Cluster with a hard method of another library; every object gets mass 1 on its cluster.

    Parameters
    ----------
    method : {"kmeans", "kmodes", "kprototypes", "timeseries-kmeans"}
    X : data for the method
        Numbers (n, p) for k-means; categories (n, p) for k-modes; a table of both for k-prototypes; series (n, length,
        channels) or a list of them for series.
    n_clusters : int
    categorical : sequence of int, optional
        Categorical columns, for k-prototypes; by default the non-numeric columns of a data frame.
    random_state : int, RandomState or None
    options : passed to the library's class, for example ``n_init`` or ``metric="dtw"``

    Returns
    -------
    partition : CredalPartition

    Examples
    --------
    >>> from softecm.baselines import hard_partition
    >>> hard_partition("kmeans", [[0.0], [0.1], [5.0]], 2, random_state=0).labels().tolist() in ([0, 0, 1], [1, 1, 0])
    True
    """
    check_choice("method", method, tuple(BASELINES))
    c = check_count("n_clusters", n_clusters, hint="Pass the number of groups.")
    package, module = BASELINES[method]
    if find_spec(module) is None:
        raise ImportError(f"method {method!r} needs {package}, which is not installed: pip install {package}.")
    options = {"random_state": random_state, **options}
    labels: ArrayLike
    if method == "kmeans":
        from sklearn.cluster import KMeans

        labels = KMeans(c, **{"n_init": 10, **options}).fit_predict(X)
    elif method == "kmodes":
        from kmodes.kmodes import KModes

        labels = KModes(c, **options).fit_predict(X)
    elif method == "kprototypes":
        from kmodes.kprototypes import KPrototypes

        columns = _categorical(X) if categorical is None else list(categorical)
        labels = KPrototypes(c, **options).fit_predict(np.asarray(X), categorical=columns)
    else:
        from tslearn.clustering import TimeSeriesKMeans
        from tslearn.utils import to_time_series_dataset

        labels = TimeSeriesKMeans(c, **options).fit_predict(to_time_series_dataset(X))
    return CredalPartition.from_hard(np.asarray(labels, dtype=np.intp), n_clusters=c)


def _categorical(X: object) -> list[int]:
    """Return the non-numeric columns of a data frame."""
    from narwhals.stable.v1 import selectors as cs

    frame = frame_of(X)
    if frame is None:
        raise ValueError(
            f"categorical must name the columns that hold categories; got None for a {type(X).__name__}. Pass their "
            "numbers, counted from 0, or pass a data frame."
        )
    others = set(frame.select(~cs.numeric()).columns)
    return [j for j, name in enumerate(frame.columns) if name in others]
