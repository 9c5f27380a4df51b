"""Data without files: the paper's Diamond, blobs with outliers, missing cells and categories, and bananas."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch, check_random_state

from softecm._checks import check_count, check_number
from softecm._engine import check_memory

DIAMOND = (
    (-5.0, 0.0), (-3.34, 1.67), (-3.34, 0.0), (-3.34, -1.67), (-1.67, 0.0), (0.0, 0.0),
    (1.67, 0.0), (3.34, -1.67), (3.34, 0.0), (3.34, 1.67), (5.0, 0.0), (10.0, 10.0),
)  # fmt: skip


def load_diamond() -> Bunch:
    """Load the twelve points of the paper's section 5.1: two diamonds, two objects between them, one outlier.

    Returns
    -------
    bunch : Bunch
        ``data`` (12, 2); ``target``: 0 and 1 for the two diamonds, -1 for objects 6 (between) and 12 (outlier);
        ``feature_names``; ``DESCR``.

    Examples
    --------
    >>> load_diamond().data[5]
    array([0., 0.])
    """
    target = np.array([0] * 5 + [-1] + [1] * 5 + [-1])
    description = (
        "Diamond (also 'butterfly'), Masson and Denœux 2008: objects 1 to 5 and 7 to 11 form two diamonds, object 6 lies "
        "midway, object 12 far off. Objects are counted from 1 in the papers, from 0 here."
    )
    return Bunch(data=np.array(DIAMOND), target=target, feature_names=["x", "y"], DESCR=description)


def make_blobs(
    n_samples: int = 300,
    *,
    n_clusters: int = 3,
    n_features: int = 2,
    spread: float = 1.0,
    distance: float = 6.0,
    between: int = 0,
    outliers: int = 0,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Generate Gaussian groups around equidistant centres, objects midway between pairs of them, and outliers.

    Parameters
    ----------
    n_samples : int, default=300
        Objects in the groups, of sizes as equal as possible.
    n_clusters, n_features : int
        With at least ``n_clusters - 1`` features all centres are equidistant; with fewer they are on a circle.
    spread : float, default=1.0
        Standard deviation of a group.
    distance : float, default=6.0
        Distance between neighbouring centres.
    between, outliers : int, default=0
        Number of objects midway between two random centres, and far from everything.
    random_state : int, RandomState or None

    Returns
    -------
    bunch : Bunch
        ``data`` (n, p); ``target``: the group, -1 for objects between groups, -2 for outliers; ``centers``; ``DESCR``.

    Examples
    --------
    >>> make_blobs(30, between=2, outliers=1, random_state=0).data.shape
    (33, 2)
    """
    rng = check_random_state(random_state)
    for name, count in (("n_samples", n_samples), ("n_clusters", n_clusters), ("n_features", n_features)):
        check_count(name, count, hint="It is a count.")
    for name, count in (("between", between), ("outliers", outliers)):
        check_count(name, count, least=0, hint="It is a number of objects.")
    check_number("spread", spread, least=0, hint="1 is usual.")
    check_number("distance", distance, least=0, hint="6 is usual.")
    check_memory(8.0 * n_samples * n_features, f"{n_samples} objects of {n_features} numbers", "Use fewer.")
    centers = _centers(n_clusters, n_features, distance)
    group = np.arange(n_samples) % n_clusters
    data = [centers[group] + spread * rng.standard_normal((n_samples, n_features))]
    target = [group]
    if between:
        if n_clusters < 2:
            raise ValueError(f"between must be 0 with one cluster; got {between}. Use at least 2 clusters.")
        pairs = np.array([rng.choice(n_clusters, 2, replace=False) for _ in range(between)])
        data.append(centers[pairs].mean(1) + 0.1 * spread * rng.standard_normal((between, n_features)))
        target.append(np.full(between, -1))
    if outliers:
        direction = rng.standard_normal((outliers, n_features))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        data.append(centers.mean(0) + direction * distance * rng.uniform(3, 5, (outliers, 1)))
        target.append(np.full(outliers, -2))
    description = f"{n_clusters} Gaussian groups, {between} objects between two of them, {outliers} outliers."
    return Bunch(data=np.concatenate(data), target=np.concatenate(target), centers=centers, DESCR=description)


def _centers(n_clusters: int, n_features: int, distance: float) -> NDArray[np.float64]:
    if n_features >= n_clusters:
        corners: NDArray[np.float64] = np.eye(n_clusters, n_features) * distance / np.sqrt(2.0)
        return corners
    angle = 2.0 * np.pi * np.arange(n_clusters) / n_clusters
    radius = distance / (2.0 * np.sin(np.pi / max(n_clusters, 2)))
    centers = np.zeros((n_clusters, n_features))
    centers[:, 0] = radius * np.cos(angle)
    if n_features > 1:
        centers[:, 1] = radius * np.sin(angle)
    else:
        centers[:, 0] = distance * np.arange(n_clusters)
    return centers


def make_bananas(
    n_samples: int = 400,
    *,
    radius: float = 5.0,
    noise: float = 1.0,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Generate two interlocking arcs: round clusters don't fit them, links or neighbours help.

    Parameters
    ----------
    n_samples : int, default=400
        At least 2; the second group gets an odd one.
    radius : float, default=5.0
        Radius of the arcs.
    noise : float, default=1.0
        Standard deviation of the distance from an arc, in each direction.
    random_state : int, RandomState or None

    Returns
    -------
    bunch : Bunch
        ``data`` (n, 2); ``target`` (n,); ``DESCR``.

    Examples
    --------
    >>> bananas = make_bananas(100, random_state=0)
    >>> bananas.data.shape, int(bananas.target.sum())
    ((100, 2), 50)

    References
    ----------
    The data set of that name in R's evclust.
    """
    n = check_count("n_samples", n_samples, least=2, hint="400 is usual.")
    for name, size in (("radius", radius), ("noise", noise)):
        check_number(name, size, least=0, hint="5 and 1 are usual.")
    rng = check_random_state(random_state)
    target = np.repeat([0, 1], [n // 2, n - n // 2])
    data = arcs(rng.random_sample(n), target, radius) + noise * rng.standard_normal((n, 2))
    return Bunch(data=data, target=target, DESCR=f"Two arcs of radius {radius:g} with noise {noise:g}.")


def arcs(along: NDArray[np.float64], target: NDArray[np.int64], radius: float) -> NDArray[np.float64]:
    """Return points at these positions along the first or the second arc, from 0 to 1."""
    angle = np.pi * np.where(target == 0, 0.125 + 1.25 * along, 0.375 - 1.25 * along)
    points: NDArray[np.float64] = radius * np.column_stack([np.sin(angle), np.cos(angle)])
    return points - 0.75 * radius * target[:, None]


def make_mixed_blobs(
    n_samples: int = 300,
    *,
    n_clusters: int = 3,
    n_numeric: int = 3,
    n_categorical: int = 3,
    n_levels: int = 4,
    purity: float = 0.8,
    missing: float = 0.0,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Generate groups in a table of numbers and categories, with cells missing at random.

    Parameters
    ----------
    n_samples, n_clusters, n_numeric, n_categorical : int
    n_levels : int, default=4
        Categories of each categorical column, one of which is each group's favourite.
    purity : float, default=0.8
        Probability that an object has its group's favourite; otherwise any category.
    missing : float, default=0.0
        Share of missing cells.
    random_state : int, RandomState or None

    Returns
    -------
    bunch : Bunch
        ``data``: a pandas data frame with columns ``number1`` ... and ``category1`` ...; ``target`` (n,); ``DESCR``.

    Examples
    --------
    >>> list(make_mixed_blobs(10, n_numeric=1, n_categorical=1, random_state=0).data.columns)
    ['number1', 'category1']
    """
    import pandas as pd

    for name, share in (("purity", purity), ("missing", missing)):
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"{name} must lie between 0 and 1; got {share!r}. It is a share, not a count.")
    rng = check_random_state(random_state)
    group = np.arange(n_samples) % n_clusters
    columns: dict[str, NDArray[np.float64] | NDArray[np.object_]] = {}
    centers = 4.0 * np.stack([rng.permutation(n_clusters) for _ in range(n_numeric)], 1) if n_numeric else None
    for j in range(n_numeric):
        assert centers is not None
        values = centers[group, j] + rng.standard_normal(n_samples)
        columns[f"number{j + 1}"] = np.where(rng.random_sample(n_samples) < missing, np.nan, values)
    for j in range(n_categorical):
        favourite = rng.permutation(max(n_levels, n_clusters))[:n_clusters] % n_levels
        anything = rng.randint(n_levels, size=n_samples)
        code = np.where(rng.random_sample(n_samples) < purity, favourite[group], anything)
        names = np.array([chr(ord("a") + int(k) % 26) + str(int(k) // 26 or "") for k in code], dtype=object)
        names[rng.random_sample(n_samples) < missing] = None
        columns[f"category{j + 1}"] = names
    description = (
        f"{n_clusters} groups, {n_numeric} numeric and {n_categorical} categorical columns, {missing:.0%} missing."
    )
    return Bunch(data=pd.DataFrame(columns), target=group, DESCR=description)
