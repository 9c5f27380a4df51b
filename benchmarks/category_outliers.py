"""Members and outliers of mixed tables labelled nowhere, with and without delta's minimum of one category.

    python benchmarks/category_outliers.py --draws 201 202 --write

Generated tables of 60 and 300 rows: two or three groups, up to two numeric columns, up to six categorical ones that are
partly random, with and without five per cent of outliers in the numbers. The minimum was chosen among several on other
draws of similar tables, knowing their outliers.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd

from softecm import SoftECM
from softecm.scores import adjusted_rand_index
from softecm.spaces.tables import Table

RESULTS = Path(__file__).parent / "results"
GROUPS, FAR = 5.0, (10.0, 20.0)  # between groups in each number; of outliers from their group
SHAPES = ((1, 1), (2, 1), (1, 3), (2, 2), (2, 4), (0, 4), (1, 6))  # numbers of numeric and categorical columns
GRID = list(itertools.product((60, 300), (2, 3), SHAPES, (0.05, 0.1, 0.2, 0.4), (3, 5), (0.0, 0.05)))


def table(rng, n, c, shape, noise, levels, outliers):
    """Return a table, and the group of each row; -1 for outliers."""
    p, q = shape
    y = np.arange(n) % c
    centers = np.array([rng.permutation(c) * GROUPS for _ in range(p)]).T.reshape(c, p)
    X = centers[y] + rng.normal(size=(n, p))
    typical = np.array([rng.permutation(max(levels, c))[:c] % levels for _ in range(q)]).T
    words = np.where(rng.random((n, q)) < noise, rng.integers(0, levels, (n, q)), typical[y])
    far = np.arange(n) >= n - round(n * outliers)
    if p:
        X[far] = centers[y[far]] + rng.choice([-1, 1], (far.sum(), p)) * rng.uniform(*FAR, (far.sum(), p))
    words[far] = rng.integers(0, levels, (far.sum(), q))
    columns = {f"x{j}": X[:, j] for j in range(p)} | {f"k{j}": [f"v{v}" for v in words[:, j]] for j in range(q)}
    return pd.DataFrame(columns), np.where(far & bool(p), -1, y)


def measured(draw, number, setting):
    """Return shares labelled nowhere and the adjusted Rand index of one table."""
    X, y = table(np.random.default_rng([draw, number]), *setting)
    model = SoftECM(setting[1], metric="mixed", random_state=0).fit(X)
    nowhere = np.asarray(model.partition_.decisions().words) == "nowhere"
    inside = y >= 0
    found = nowhere[~inside].mean() if (~inside).any() else np.nan
    return nowhere[inside].mean(), found, adjusted_rand_index(y[inside], model.labels_[inside])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--draws", type=int, nargs="+", default=[201, 202])
    parser.add_argument("--write", action="store_true", help="results/category_outliers.md")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = [
        "| draw | rule | members nowhere | tables with more than a tenth | outliers found | ARI |",
        "|---|---|---|---|---|---|",
    ]
    for draw in asked.draws:
        for rule in ("five deviations", "at least one category"):
            with mock.patch.object(Table, "step", 0.0) if rule == "five deviations" else mock.MagicMock():
                rows = np.array([measured(draw, k, setting) for k, setting in enumerate(GRID)])
            inside, found, rand = np.nanmean(rows, axis=0)
            many = (rows[:, 0] > 0.1).mean()
            lines.append(f"| {draw} | {rule} | {inside:.1%} | {many:.1%} | {found:.3f} | {rand:.3f} |")
            print(lines[-1], flush=True)
    if asked.write:
        title = f"`python benchmarks/category_outliers.py --draws {' '.join(map(str, asked.draws))} --write`"
        text = "\n".join([f"{len(GRID)} made-up tables a draw: {title}", "", *lines, ""])
        (RESULTS / "category_outliers.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
