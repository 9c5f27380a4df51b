"""Objects between two groups given by a matrix of dissimilarities: members labelled between, planted ones found.

    python benchmarks/matrix_between.py --draws 1000 1001 --write

Points of two to four groups in two and in five columns, given as distances, and misspelt words by edit distance; with
and without planted midpoints (words: half of one stem, half of another's). "medoid": a set's prototype is the object
nearest to its clusters' medoids, the earlier rule; "middle": it is their middle, with or without an object there; ECMdd
for comparison. The middle was chosen among five rules on draws 100 and 101, knowing the truth. A minute.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import sys
import warnings
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
from few_objects import distances, edited, edits, places

from softecm import ECMdd, SoftECM
from softecm.algorithms import precomputed
from softecm.fit.algorithm import Algorithm
from softecm.fit.loop import extended
from softecm.scores import adjusted_rand_index

RESULTS = Path(__file__).parent / "results"
RULES = ("medoid", "middle", "ECMdd")
LETTERS = list("abcdefghijklmnopqrst")


def words(rng, n, c, between, rate):
    """Return edit distances of misspelt stems, then of words that are half of two, and the set of each."""
    stems = ["".join(rng.choice(LETTERS, rng.integers(8, 11))) for _ in range(c)]
    found, sets = (
        [edited(rng, stems[i % c], LETTERS, rng.poisson(rate)) for i in range(n)],
        [(i % c,) for i in range(n)],
    )
    for _ in range(between):
        a, b = sorted(rng.choice(c, 2, replace=False).tolist())
        found.append(stems[a][: len(stems[a]) // 2] + stems[b][len(stems[b]) // 2 :])
        sets.append((a, b))
    return np.array([[edits(a, b) for b in found] for a in found], dtype=float), sets


def points(rng, n, c, between, p):
    """Return distances of points in groups, then of midpoints of neighbouring groups, and the set of each."""
    x, y = places(rng, n, c, 0, p, apart=10.0)
    centers = np.array([x[y == k].mean(0) for k in range(c)])
    apart, sets = distances(centers) + 1e9 * np.eye(c), [(int(k),) for k in y]
    for _ in range(between):
        a = int(rng.integers(c))
        b = int(apart[a].argmin())
        x = np.vstack([x, centers[[a, b]].mean(0) + 0.5 * rng.normal(size=p)])
        sets.append((min(a, b), max(a, b)))
    return distances(x), sets


KINDS = {
    "points, 2 columns": lambda *a: points(*a, 2),
    "points, 5 columns": lambda *a: points(*a, 5),
    "words, one edit": lambda *a: words(*a, 1.0),
    "words, two edits": lambda *a: words(*a, 2.0),
}


def to_medoids(self, objects, chosen, prices, singles):
    """Apply the earlier rule."""
    problem = precomputed.discrete_problem(objects.x, chosen.focal, prices, objects.weights, "exact", chosen.tol)
    return extended(singles, problem.begin(singles.prototypes[:, : chosen.n_clusters]))


def measured(kind, draw, n, c, planted, rule):
    """Return the share of members labelled between, that of planted objects in their set, and the adjusted Rand index."""
    number = list(KINDS).index(kind)
    d, sets = KINDS[kind](np.random.default_rng([draw, n, c, planted, number]), n, c, planted * n // 12)
    model = ECMdd(c, random_state=0) if rule == "ECMdd" else SoftECM(c, metric="precomputed", random_state=0)
    old = {"with_sets": to_medoids, "metric_of": Algorithm.metric_of}
    with mock.patch.multiple(precomputed.SoftECMdd, **old) if rule == "medoid" else contextlib.nullcontext():
        model.fit(d)
    said, y = model.partition_.sets(), np.array([members[0] for members in sets[:n]])
    named = [int(np.bincount(model.labels_[:n][y == k], minlength=c).argmax()) for k in range(c)]
    right = [set(said[i]) == {named[k] for k in sets[i]} for i in range(n, len(sets))]
    return {
        "members": float(np.mean([len(members) > 1 for members in said[:n]])),
        "planted": float(np.mean(right)) if planted else np.nan,
        "ari": float(adjusted_rand_index(y, model.labels_[:n])),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--draws", type=int, nargs="+", default=[1000, 1001])
    parser.add_argument("--write", action="store_true", help="results/matrix_between.md")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = ["| objects | rule | members called between | planted found | ARI |", "|---|---|---|---|---|"]
    for kind, rule in itertools.product(KINDS, RULES):
        cells = itertools.product(asked.draws, (24, 120), (2, 3, 4), (False, True))
        mean = pd.DataFrame([measured(kind, *cell, rule) for cell in cells]).mean()
        lines.append(f"| {kind} | {rule} | {mean.members:.3f} | {mean.planted:.3f} | {mean.ari:.3f} |")
        print(lines[-1], file=sys.stderr, flush=True)
    title = f"`python benchmarks/matrix_between.py --draws {' '.join(map(str, asked.draws))} --write`"
    page = "\n".join([f"Means over {12 * len(asked.draws)} matrices a line: {title}", "", *lines, ""])
    print(page)
    if asked.write:
        (RESULTS / "matrix_between.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
