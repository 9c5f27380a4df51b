"""Accuracy of explanations about what made the groups, and of comparisons about what changed.

``python benchmarks/statements.py`` draws (1) tables of 400 objects whose groups differ in three numbers and two categories,
beside five columns that say nothing, and the same with numbers only: in how many of 40 objects a table one of the first
three reasons of ``explain_object`` is such a column; and (2) two months of customers, drawn anew, of which the second has
one group that is new, one that is gone and one that has grown by half: in how many draws ``report.compare`` names all
three. Options: ``--first 1000`` (seed of the first draw), ``--draws 20``.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd

from softecm import SoftECM, report

EXPLAINED = 40


def table(seed: int, kind: str, n: int = 400) -> tuple[pd.DataFrame, int]:
    """Return a table with irrelevant columns z…, and its number of groups."""
    rng = np.random.default_rng(seed)
    c = int(rng.integers(2, 5))
    y = rng.integers(0, c, n)
    centers = rng.normal(size=(c, 3)) * 3.5
    numbers = centers[y] + rng.normal(size=(n, 3)) * rng.uniform(0.7, 1.3, (c, 1))[y]
    cells: dict[str, object] = {f"n{j}": numbers[:, j] * 10 ** rng.uniform(-1, 2) for j in range(3)}
    if kind == "mixed":
        for j in range(2):
            chances = rng.dirichlet(np.full(3, 0.4), size=c)
            cells[f"c{j}"] = [("red", "green", "blue")[rng.choice(3, p=chances[k])] for k in y]
        cells |= {"z0": rng.choice(["yes", "no"], n), "z1": rng.normal(size=n), "z2": rng.choice(list("abcde"), n)}
        cells |= {"z3": rng.uniform(size=n), "z4": rng.normal(size=n) * 100}
    else:
        cells |= {f"z{j}": rng.normal(size=n) for j in range(5)}
    return pd.DataFrame(cells), c


def named(seed: int, kind: str) -> float:
    """Return the share of objects with an irrelevant column among the first three reasons."""
    frame, c = table(seed, kind)
    model = SoftECM(c, random_state=0).fit(frame)
    rows = np.random.default_rng(seed).choice(len(frame), EXPLAINED, replace=False)
    hits = 0
    for i in rows.tolist():
        reasons = [pull for pull in model.explain_object(frame, i).pulls if not pull.noise][:3]
        hits += any(pull.column.startswith("z") for pull in reasons)
    return hits / EXPLAINED


def months(seed: int) -> bool:
    """Whether the new, the vanished and the grown group are recognised, and no other is."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(6, 3)) * 6
    while min(np.linalg.norm(centers[i] - centers[j]) for i in range(6) for j in range(i)) < 6:
        centers = rng.normal(size=(6, 3)) * 6
    sizes = np.array([[150, 150, 150, 150, 0], [150, 150, 225, 0, 150]])
    frames = []
    for counts in sizes:
        y = np.repeat(np.arange(5), counts)
        points = centers[y] + rng.normal(size=(len(y), 3))
        order = rng.permutation(len(y))
        frames.append((pd.DataFrame(points[order], columns=["age", "spend", "visits"]), y[order]))
    models = [SoftECM(4, random_state=0).fit(frame) for frame, _ in frames]
    found = report.compare(*models, data=(frames[0][0], frames[1][0]), names=("May", "June"))
    groups = [
        [int(np.bincount(y[m.labels_ == k], minlength=5).argmax()) for k in range(4)]
        for m, (_, y) in zip(models, frames, strict=True)
    ]
    words = [m.focal_sets_.cluster_names for m in models]
    gone, new, grown = words[0][groups[0].index(3)], words[1][groups[1].index(4)], words[1][groups[1].index(2)]
    return found.vanished == (gone,) and found.appeared == (new,) and found.grown == (grown,) and not found.shrunk


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--part", choices=["all", "months"], default="all")
    asked = parser.parse_args()
    seeds = range(asked.first, asked.first + asked.draws)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in ("mixed", "numbers") if asked.part != "months" else ():
            rates = [named(seed, kind) for seed in seeds]
            print(
                f"{kind}: an irrelevant column among the first three reasons of {np.mean(rates):.3f} of the objects",
                flush=True,
            )
        print(
            f"two months: all three changes recognised in {sum(months(seed) for seed in seeds)} of {len(seeds)} draws"
        )
