"""Members and outliers of few objects labelled nowhere with delta="auto".

    python benchmarks/few_objects.py --draws 1000 1001 --write

Two to four groups, 8 to 60 objects (and 300, where nothing should change), without outliers and with one or two extreme
ones: vectors, their distances as a matrix (medoids, and means of relations), strings by edit distance, mixed tables,
tables of categories, short series. The rule was chosen among several on draws below 1000, knowing groups and outliers;
rows are saved as they complete, and the same command resumes.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import sys
import warnings
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd

from softecm import ECM, RECM, CatECM, ECMdd, SoftECM
from softecm.distances.base import SemiMetric
from softecm.distances.precomputed import Precomputed
from softecm.fit import stages
from softecm.scores import adjusted_rand_index

RESULTS = Path(__file__).parent / "results"
SIZES, CLUSTERS = (8, 12, 16, 24, 40, 60), (2, 3, 4)
MANY = 300
RULES = ("before", "now")
KEYS = ("kind", "draw", "n", "c", "with outliers", "rule")
NAMES = {"members nowhere": "members", "most nowhere": "most", "outliers found": "outliers", "ARI": "ari"}


def places(rng, n, c, outliers, p, apart=8.0, far=(20.0, 30.0)):
    """Return groups of normal vectors, at least ``apart`` deviations from each other, and far outliers, labelled -1."""
    centers = np.empty((0, p))
    while len(centers) < c:
        new = rng.uniform(-apart, apart, p) * (1 if p > 1 else 2)
        if not len(centers) or np.linalg.norm(centers - new, axis=1).min() >= apart:
            centers = np.vstack([centers, new])
    y = np.arange(n) % c
    x = centers[y] + rng.normal(size=(n, p))
    for i in range(n - outliers, n):
        way = rng.normal(size=p)
        x[i], y[i] = rng.uniform(*far) * way / np.linalg.norm(way), -1
    return x, y


def edits(a, b):
    """Return the edit distance of two words."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        above, row = row, [i + 1]
        for j, y in enumerate(b):
            row.append(min(above[j] + (x != y), above[j + 1] + 1, row[j] + 1))
    return row[-1]


def edited(rng, word, letters, times):
    """Return a word after ``times`` random edits."""
    word = list(word)
    for _ in range(times):
        at, kind = rng.integers(len(word) + 1), rng.integers(3)
        if kind == 0:
            word.insert(at, rng.choice(letters))
        elif len(word) > 1:
            word[at % len(word) : at % len(word) + 1] = [rng.choice(letters)] if kind == 1 else []
    return "".join(word)


def strings(rng, n, c, outliers, times):
    """Return edit distances of words, ``times`` edits from each group's word; outliers are long random words."""
    letters = list("abcdefghijklmnopqrst")
    first = ["".join(rng.choice(letters, rng.integers(7, 11))) for _ in range(c)]
    y = np.arange(n) % c
    y[n - outliers :] = -1
    words = [
        edited(rng, first[k], letters, times(rng)) if k >= 0 else "".join(rng.choice(letters, rng.integers(14, 18)))
        for k in y
    ]
    half = np.array([[edits(a, b) if i < j else 0 for j, b in enumerate(words)] for i, a in enumerate(words)], float)
    return half + half.T, y


def tables(rng, n, c, outliers, p, q, noise=0.15):
    """Return tables of numbers and categories that are partly random; outliers in numbers, and in all categories."""
    x, y = places(rng, n, c, outliers, p) if p else (np.empty((n, 0)), np.arange(n) % c)
    typical = np.array([rng.permutation(max(5, c))[:c] for _ in range(q)]).T.reshape(c, q)
    words = np.where(rng.random((n, q)) < noise, rng.integers(0, 5, (n, q)), typical[y])
    if not p:
        y[n - outliers :] = -1
    words[y < 0] = 5 + np.arange(q)
    columns = {f"x{j}": x[:, j] for j in range(p)} | {f"k{j}": [f"v{v}" for v in words[:, j]] for j in range(q)}
    return pd.DataFrame(columns), y


def series(rng, n, c, outliers, steps=20):
    """Return waves of c shapes with noise; outliers are independent noise."""
    t = np.linspace(0, 1, steps)
    shapes = np.array([2 * np.sin(2 * np.pi * (k % 2 + 1) * t + (k // 2) * np.pi / 2) for k in range(c)])
    y = np.arange(n) % c
    x = shapes[y] + 0.3 * rng.normal(size=(n, steps))
    y[n - outliers :] = -1
    x[n - outliers :] = 8 * rng.normal(size=(outliers, steps))
    return x[..., None], y


def distances(x):
    """Return the matrix of distances."""
    return np.linalg.norm(x[:, None] - x, axis=-1)


def matrix(rng, n, c, outliers, p):
    """Return distances of vectors."""
    x, y = places(rng, n, c, outliers, p)
    return distances(x), y


def one(rng):
    """Return one edit."""
    return 1


def some(rng):
    """Return a random number of edits with mean one."""
    return rng.poisson(1.0)


def more(rng):
    """Return a random number of edits with mean three."""
    return rng.poisson(3.0)


KINDS = {
    "vectors": (lambda *a: places(*a, 2), lambda c: SoftECM(c, random_state=0)),
    "10 columns": (lambda *a: places(*a, 10), lambda c: SoftECM(c, random_state=0)),
    "vectors, ECM": (lambda *a: places(*a, 2), lambda c: ECM(c, random_state=0)),
    "matrix": (lambda *a: matrix(*a, 2), lambda c: SoftECM(c, metric="precomputed", random_state=0)),
    "matrix, ECMdd": (lambda *a: matrix(*a, 5), lambda c: ECMdd(c, random_state=0)),
    "matrix, RECM": (lambda *a: matrix(*a, 5), lambda c: RECM(c, random_state=0)),
    "strings": (lambda *a: strings(*a, some), lambda c: SoftECM(c, metric="precomputed", random_state=0)),
    "strings, ECMdd": (lambda *a: strings(*a, some), lambda c: ECMdd(c, random_state=0)),
    "strings, RECM": (lambda *a: strings(*a, some), lambda c: RECM(c, random_state=0)),
    "strings, more edits": (lambda *a: strings(*a, more), lambda c: SoftECM(c, metric="precomputed", random_state=0)),
    "typos": (lambda *a: strings(*a, one), lambda c: SoftECM(c, metric="precomputed", random_state=0)),
    "typos, ECMdd": (lambda *a: strings(*a, one), lambda c: ECMdd(c, random_state=0)),
    "typos, RECM": (lambda *a: strings(*a, one), lambda c: RECM(c, random_state=0)),
    "mixed table": (lambda *a: tables(*a, 2, 2), lambda c: SoftECM(c, random_state=0)),
    "categories": (lambda *a: tables(*a, 0, 6), lambda c: SoftECM(c, random_state=0)),
    "categories, CatECM": (lambda *a: tables(*a, 0, 6), lambda c: CatECM(c, random_state=0)),
    "series": (series, lambda c: SoftECM(c, random_state=0)),
}


def planted(n, with_outliers):
    """Return the number of outliers: one, or one in twenty for more objects."""
    return 0 if not with_outliers else 1 if n < 20 else max(2, n // 20)


def measured(kind, draw, n, c, with_outliers):
    """Return shares of members and outliers labelled nowhere, whether that is most objects, and the ARI."""
    make, model = KINDS[kind]
    rng = np.random.default_rng([draw, n, c, with_outliers, list(KINDS).index(kind)])
    X, y = make(rng, n, c, planted(n, with_outliers))
    fitted = model(c).fit(X)
    nowhere = np.asarray(fitted.partition_.decisions().words) == "nowhere"
    inside = y >= 0
    rand = adjusted_rand_index(y[inside], fitted.labels_[inside])
    return {
        "members": float(nowhere[inside].mean()),
        "outliers": float(nowhere[~inside].mean()) if with_outliers else None,
        "most": bool(nowhere.mean() > 0.5),
        "ari": float(rand),
        "delta": float(fitted.delta_),
    }


def before(median, mad, deviations, power=0.5):
    """Return the earlier delta, also for deviations of zero."""
    return median + deviations * stages.MAD * mad


@contextlib.contextmanager
def as_it_was():
    """Use deviations of roots, also for a matrix of dissimilarities."""
    with (
        mock.patch.object(stages, "beyond", before),
        mock.patch.object(Precomputed, "scale_power", SemiMetric.scale_power),
    ):
        yield


def rows_of(draws, path):
    """Return all rows, from the file if they exist; append new ones as they complete."""
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    known = {tuple(row[name] for name in KEYS) for row in rows}
    few = itertools.product(KINDS, draws, SIZES, CLUSTERS, (False, True), RULES)
    many = itertools.product(KINDS, draws, (MANY,), (3,), (False, True), RULES)
    wanted = [key for key in (*few, *many) if key not in known]
    with path.open("a") as file:
        for number, key in enumerate(wanted):
            with as_it_was() if key[-1] == "before" else contextlib.nullcontext():
                rows.append(dict(zip(KEYS, key, strict=True)) | measured(*key[:-1]))
            file.write(json.dumps(rows[-1]) + "\n")
            file.flush()
            print(f"\r{number + 1} of {len(wanted)}: {key[0]}, {key[2]} objects" + " " * 20, end="", file=sys.stderr)
    print(file=sys.stderr)
    return [row for row in rows if row["draw"] in draws]


def lines_of(rows):
    """Return a table with one line per kind."""
    frame = pd.DataFrame(rows).astype({"outliers": float})
    shown = [f"{name} {rule}" for name in NAMES for rule in RULES]
    lines = [f"| objects | {' | '.join(shown)} |", "|" + "---|" * (len(shown) + 1)]
    for kind in (*KINDS, "all"):
        part = frame if kind == "all" else frame[frame.kind == kind]
        means = part.groupby("rule")[list(NAMES.values())].mean()
        cells = [f"{means.loc[rule, column]:.3f}" for column in NAMES.values() for rule in RULES]
        lines.append(f"| {kind} | {' | '.join(cells)} |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--draws", type=int, nargs="+", default=[1000, 1001])
    parser.add_argument("--rows", type=Path, default=RESULTS / "few_objects.jsonl", help="kept, and gone on from")
    parser.add_argument("--write", action="store_true", help="results/few_objects.md")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = rows_of(asked.draws, asked.rows)
    few, many = ([row for row in rows if (row["n"] == MANY) == large] for large in (False, True))
    title = f"`python benchmarks/few_objects.py --draws {' '.join(map(str, asked.draws))} --write`"
    parts = [
        f"Before, and with deviations of dissimilarities themselves and twice the median where there are none: {title}.",
        f"## {min(SIZES)} to {max(SIZES)} objects, {len(few) // len(RULES)} fits each",
        "\n".join(lines_of(few)),
        f"## {MANY} objects, {len(many) // len(RULES)} fits each",
        "\n".join(lines_of(many)),
    ]
    page = "\n\n".join(parts) + "\n"
    print(page)
    if asked.write:
        (RESULTS / "few_objects.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
