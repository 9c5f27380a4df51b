"""Rules for credal partitions compared with a decision tree on hard labels.

``python benchmarks/rules.py`` clusters wine, abalone and ERing with SoftECM's defaults (as many clusters as classes; the
classes are used for nothing else) and explains each partition by the table, ERing by summaries of its channels (mean,
deviation, first, last, slope). It prints the evidential mistakeness 1 - R of both trees, on objects that a tree has not seen
(five parts), cautious, exact and bold, with the least that any answer of one set an object could have. The plain tree
(scikit-learn) gets as many leaves as ours has.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from softecm import CredalPartition, SoftECM, datasets
from softecm.explain import ExplanationTree
from softecm.explain.cuts import utilities

Floats, Ints = NDArray[np.float64], NDArray[np.intp]
LAMBDAS = {"cautious (lam 1)": 1.0, "exact (0)": 0.0, "bold (-1)": -1.0}
PARTS = 5
RESULT = Path(__file__).parent / "results" / "rules.md"


def wine() -> tuple[CredalPartition, Floats]:
    bunch = load_wine()
    return SoftECM(3, random_state=0).fit(StandardScaler().fit_transform(bunch.data)).partition_, bunch.data


def abalone() -> tuple[CredalPartition, Floats]:
    bunch = datasets.load_abalone()
    numbers = bunch.data.select_dtypes("number").to_numpy(float)
    return SoftECM(3, random_state=0).fit(StandardScaler().fit_transform(numbers)).partition_, numbers


def ering() -> tuple[CredalPartition, Floats]:
    series = np.asarray(datasets.load_ering(split=None).data)
    steps = np.arange(series.shape[1]) - (series.shape[1] - 1) / 2
    slope = np.einsum("l,nlc->nc", steps, series) / np.square(steps).sum()
    summaries = np.column_stack([series.mean(1), series.std(1), series[:, 0], series[:, -1], slope])
    return SoftECM(6, random_state=0).fit(series).partition_, summaries


def held_out(partition: CredalPartition, fitted: Callable[[Ints, Ints], Ints]) -> Ints:
    """Return the predicted set of each object, by a tree that has not seen it."""
    n = len(partition)
    fold = np.random.default_rng(0).permutation(n) % PARTS
    said = np.empty(n, dtype=np.intp)
    for part in range(PARTS):
        said[fold == part] = fitted(np.flatnonzero(fold != part), np.flatnonzero(fold == part))
    return said


def mistakeness(partition: CredalPartition, said: Ints | None, lam: float) -> float:
    masses = partition.masses[:, 1:]
    gains = masses @ utilities(partition.focal_sets, lam).T
    told = gains.max(1) if said is None else gains[np.arange(len(gains)), said]
    return float(1 - told.sum() / masses.sum())


def lines(name: str, partition: CredalPartition, table: Floats) -> list[str]:
    focal, found = partition.focal_sets, []
    place = {members: k for k, members in enumerate(focal.sets)}
    for title, lam in LAMBDAS.items():
        leaves = len(ExplanationTree(lam, cv=0).fit(partition, table).leaves_)

        def ours(train: Ints, test: Ints, lam: float = lam) -> Ints:
            tree = ExplanationTree(lam, cv=0).fit(partition[train], table[train])
            return np.array([place[members] for members in tree.predict(table[test])])

        def plain(train: Ints, test: Ints, leaves: int = leaves) -> Ints:
            tree = DecisionTreeClassifier(max_leaf_nodes=max(leaves, 2), random_state=0)
            return tree.fit(table[train], partition[train].labels()).predict(table[test])

        scores = [mistakeness(partition, held_out(partition, tree), lam) for tree in (ours, plain)]
        least = mistakeness(partition, None, lam)
        found.append(f"| {name} | {title} | {leaves} | {scores[0]:.3f} | {scores[1]:.3f} | {least:.3f} |")
    return found


def main() -> None:
    rows = []
    for made in (wine, abalone, ering):
        for line in lines(made.__name__, *made()):
            print(line, flush=True)
            rows.append(line)
    head = "| data | judged | leaves | ours | plain tree on hard labels | least possible |\n|---|---|---|---|---|---|"
    words = (__doc__ or "").split("\n\n", 1)[1].replace("``", "`").strip()
    if "--write" in sys.argv:
        RESULT.write_text(
            f"# Rules beside a plain tree\n\n{words}\n\n{head}\n" + "\n".join(rows) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
