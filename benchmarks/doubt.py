"""Doubt as a detector of errors, and accuracy of "clearly", on numeric data sets with known classes.

``python benchmarks/doubt.py`` fits SoftECM with its defaults and k-means, with three random states each, and prints for
every set the AUROC with which doubt ranks wrongly labelled objects first, and the accuracy of "clearly".
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn import datasets as sk
from sklearn.cluster import KMeans
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from softecm import SoftECM, datasets

Floats, Ints, Flags = NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]
STATES = (0, 1, 2)


def sets() -> Iterator[tuple[str, Floats, Ints]]:
    """Yield sets with columns scaled to unit variance, without rare classes and most of the large sets."""
    rng = np.random.default_rng(0)
    for name in ("iris", "wine", "breast_cancer"):
        bunch = getattr(sk, f"load_{name}")()
        yield name, StandardScaler().fit_transform(bunch.data), bunch.target
    digits = sk.load_digits()
    some = rng.permutation(len(digits.data))[:600]
    yield "digits", digits.data[some] / 16, digits.target[some]
    for name in ("ecoli", "glass"):
        bunch = getattr(datasets, f"load_{name}")()
        kept = np.isin(bunch.target, np.flatnonzero(np.bincount(bunch.target) >= 20))
        X = bunch.data.to_numpy(float)[kept]
        yield (
            name,
            StandardScaler().fit_transform(X[:, X.std(0) > 0]),
            np.unique(bunch.target[kept], return_inverse=True)[1],
        )


def wrong(classes: Ints, labels: Ints) -> Flags:
    """Return objects outside the class of their cluster, after matching one to one."""
    table = np.zeros((labels.max() + 1, classes.max() + 1))
    np.add.at(table, (labels, classes), 1)
    rows, columns = linear_sum_assignment(-table)
    stands_for = dict(zip(rows.tolist(), columns.tolist(), strict=True))
    return np.array([stands_for.get(int(k), -1) != y for k, y in zip(labels, classes, strict=True)])


def ours(X: Floats, y: Ints, state: int) -> tuple[float, float, float, float]:
    """Return the AUROC of doubt and of a margin of root distances; the accuracy of "clearly", and of the rest."""
    c = int(y.max()) + 1
    model = SoftECM(c, random_state=state).fit(X)
    partition, error = model.partition_, wrong(y, model.labels_)
    near = np.sqrt(np.sort(model.transform(X)[:, :c], 1))
    clearly = partition.decisions().words == "clearly"
    both = (float(1 - error[rows].mean()) if rows.any() else np.nan for rows in (clearly, ~clearly))
    return roc_auc_score(error, partition.doubt()), roc_auc_score(error, near[:, 0] - near[:, 1]), *both


def theirs(X: Floats, y: Ints, state: int) -> float:
    """Return the AUROC of the margin between the two nearest centres of k-means."""
    found = KMeans(int(y.max()) + 1, n_init=10, random_state=state).fit(X)
    near = np.sort(found.transform(X), 1)
    return float(roc_auc_score(wrong(y, found.labels_), near[:, 0] - near[:, 1]))


def main() -> None:
    """Print a line per set, and the means."""
    lines = []
    for name, X, y in sets():
        line = [*np.mean([ours(X, y, s) for s in STATES], 0), np.mean([theirs(X, y, s) for s in STATES])]
        lines.append(line)
        print(f"{name:14s}" + "".join(f"{v:9.3f}" for v in line), flush=True)
    print(f"{'mean':14s}" + "".join(f"{v:9.3f}" for v in np.nanmean(lines, 0)))


if __name__ == "__main__":
    print("set              doubt  roots    clearly  others   k-means")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
