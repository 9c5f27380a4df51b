"""Groups of numbers that are not equal spheres, and columns in other units, by default: adjusted Rand index of members.

    python benchmarks/group_shapes.py --first 1000 --draws 20 --write

Overlapping groups (2 to 5, centres 2.5 to 4 standard deviations apart, 2 to 8 columns, 300 to 2000 objects): round, of
unequal width, with common elongation, with individual elongation, with heavy tails (Student, 3 degrees of freedom), and
round ones with five columns of noise. For comparison: equal spheres (``metric="sqeuclidean"``), and the best of
scikit-learn's four Gaussian mixtures, chosen with the true labels. Then planted problems with columns multiplied by e^1
or e^-1, and by e^4 or e^-4, compared with the better of unscaled columns and columns in units of their spread. The
constants of the rule were set on draws 0 to 29 and 100 to 109.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from planted import SUITE, gaussian
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from softecm import SoftECM

RESULTS = Path(__file__).parent / "results"
KINDS = ("round", "unequal width", "elongated alike", "elongated each its own way", "heavy tails", "columns of noise")
COVARIANCES = ("spherical", "diag", "tied", "full")


def centers(rng, c, p, apart):
    """Return centres with this smallest distance, none of them far from all others."""
    most = 9.0 if c == 2 else 3.5 if p == 2 and c > 3 else 2.0
    while True:
        places = rng.normal(size=(c, p))
        distances = np.linalg.norm(places[:, None] - places, axis=-1)[~np.eye(c, dtype=bool)]
        if distances.max() < most * distances.min():
            return places * apart / distances.min()


def problem(kind, seed):
    """Return objects, their groups, and the number of groups."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    c, p, n = int(rng.integers(2, 6)), int(rng.integers(2, 9)), int(rng.choice([300, 600, 1000, 2000]))
    places, y = centers(rng, c, p, rng.uniform(2.5, 4.0)), rng.integers(0, c, n)
    noise = rng.normal(size=(n, p))
    if kind == "heavy tails":
        noise = rng.standard_t(3, size=(n, p)) / np.sqrt(3)
    if kind == "unequal width":
        noise *= rng.permutation(np.geomspace(0.4, 1.3, c))[y][:, None]
    lengths = np.geomspace(2.0, 0.3, p)
    turns = [np.linalg.qr(rng.normal(size=(p, p)))[0] * lengths for _ in range(c)]
    for k in range(c):
        if kind == "elongated alike":
            noise[y == k] @= turns[0].T
        if kind == "elongated each its own way":
            noise[y == k] @= turns[k].T
    X = places[y] + noise
    if kind == "columns of noise":
        X = np.column_stack([X, rng.normal(size=(n, 5)) * rng.uniform(1.0, 3.0, 5)])
    return X, y, c


def shapes(first, draws):
    """Return one row per kind of group."""
    for kind in KINDS:
        rows = []
        for seed in range(first, first + draws):
            X, y, c = problem(kind, seed)
            spheres = SoftECM(c, metric="sqeuclidean", random_state=0).fit(X).labels_
            mixtures = [
                GaussianMixture(c, covariance_type=shape, n_init=3, random_state=0).fit_predict(X)
                for shape in COVARIANCES
            ]
            default = SoftECM(c, random_state=0).fit(X).labels_
            rows.append(
                [
                    adjusted_rand_score(y, spheres),
                    max(adjusted_rand_score(y, labels) for labels in mixtures),
                    adjusted_rand_score(y, default),
                ]
            )
        yield kind, np.array(rows)


def units(first, draws):
    """Return one row per factor: unscaled columns, in units of spread, the better of both, and the default."""
    for power in (1, 4):
        rows = []
        for seed in range(first, first + max(1, draws // 10)):
            rng = np.random.default_rng([seed, power])
            for shape in SUITE[::2]:
                made = gaussian(shape, seed)
                members = made.y >= 0
                X, y = made.X * np.exp(rng.choice([-power, power], made.X.shape[1])), made.y[members]
                scaled = (X - X.mean(0)) / X.std(0)
                found = [
                    SoftECM(shape.c, metric=metric, random_state=0).fit(data).labels_[members]
                    for metric, data in (("sqeuclidean", X), ("sqeuclidean", scaled), ("auto", X))
                ]
                raw, spread, default = (adjusted_rand_score(y, labels) for labels in found)
                rows.append([raw, spread, max(raw, spread), default])
        yield f"e^±{power}", np.array(rows)


def line(name, rows):
    """Return means with standard errors."""
    errors = rows.std(0, ddof=1) / np.sqrt(len(rows))
    return f"| {name} | " + " | ".join(f"{m:.3f} ± {e:.3f}" for m, e in zip(rows.mean(0), errors, strict=True)) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--first", type=int, default=1000, help="first draw")
    parser.add_argument("--draws", type=int, default=20, help="problems of each kind")
    parser.add_argument("--write", action="store_true", help="results/group_shapes.md")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = [f"`python benchmarks/group_shapes.py --first {asked.first} --draws {asked.draws} --write`", ""]
    lines += ["| groups | equal spheres | best mixture, by the labels | default |", "|---|---|---|---|"]
    for kind, rows in shapes(asked.first, asked.draws):
        lines.append(line(kind, rows))
        print(lines[-1], flush=True)
    lines += [
        "",
        "| columns times | as they are | in units of spread | the better | default |",
        "|---|---|---|---|---|",
    ]
    for power, rows in units(asked.first, asked.draws):
        lines.append(line(power, rows))
        print(lines[-1], flush=True)
    if asked.write:
        (RESULTS / "group_shapes.md").write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
