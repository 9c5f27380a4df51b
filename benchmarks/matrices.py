"""Several matrices of dissimilarities: the three forms of MECMdd, and the sum of the matrices.

``python benchmarks/matrices.py [--draws 20] [--first 1000] [--write docs/measured/matrices.md]``

A few minutes. Two kinds of data, Euclidean distances, 90 objects in three groups. "One view knows": groups in the first
view, noise in the second and third. "Two views know": each of two views distinguishes one group and splits it by a
nuisance, the third is noise. The default form "monotone" was chosen on six draws of a toy problem; the numbers are of
unseen draws from ``--first`` on.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics import adjusted_rand_score

from softecm import MECMdd, SoftECM

FORMS = ("monotone", "free", "published")
KINDS = ("one view knows", "two views know")


def matrices(*views):
    """Return distances in each view."""
    return {f"view {j}": cdist(x, x) for j, x in enumerate(views)}


def drawn(kind, rng, n=90):
    """Return matrices and groups."""
    groups = rng.integers(0, 3, n)
    if kind == KINDS[0]:
        centers = 5.0 * np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.87]])
        known = centers[groups] + rng.normal(size=(n, 2))
        return matrices(known, 2.0 * rng.normal(size=(n, 2)), 2.0 * rng.normal(size=(n, 2))), groups
    views = []
    for lone, first, second in ((0, 1, 2), (2, 0, 1)):
        x = rng.normal(size=(n, 2))
        x[:, 0] += 2.0 * ((groups == second).astype(float) - (groups == first))
        x[:, 1] += 14.0 * (groups == lone)
        x[:, 0] += 3.0 * rng.choice([-1, 1], n) * (groups == lone)
        views.append(x)
    return matrices(*views, 3.0 * rng.normal(size=(n, 2))), groups


def draw(seed):
    """Return the index of every form and constraint, and the number of iterations that raised the objective."""
    rng, rows = np.random.default_rng(seed), {}
    for kind in KINDS:
        X, groups = drawn(kind, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for form in FORMS:
                for rule in ("sum", "product"):
                    model = MECMdd(3, form=form, constraint=rule, random_state=0, n_jobs=1).fit(X)
                    rows[kind, form, rule] = adjusted_rand_score(groups, model.labels_), model.n_rises_ > 0
            both = sum(d / d.mean() for d in X.values())
            plain = SoftECM(3, metric="precomputed", random_state=0, n_jobs=1).fit(both)
        rows[kind, "SoftECM on the sum", "-"] = adjusted_rand_score(groups, plain.labels_), False
    return rows


def table_of(draws):
    """Return one line per form."""
    lines = ["| data | form | constraint | mean ARI | least ARI | rose |", "|---|---|---|---|---|---|"]
    for key in draws[0]:
        values, rose = zip(*(rows[key] for rows in draws), strict=True)
        lines.append(f"| {' | '.join(key)} | {np.mean(values):.3f} | {min(values):.3f} | {np.mean(rose):.2f} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--first", type=int, default=1000)
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    draws = []
    for seed in range(given.first, given.first + given.draws):
        draws.append(draw(seed))
        print(f"draw {seed} done", file=sys.stderr, flush=True)
    how = f"{given.draws} draws, from number {given.first} on: `python benchmarks/matrices.py`."
    page = f"{how}\n\n{table_of(draws)}\n"
    print(page)
    if given.write:
        given.write.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
