"""EGMM, EKNNClus and NNEVCLUS on planted problems, and the cost of many objects.

    python benchmarks/relatives.py                      # all of it; goes on where it was stopped
    python benchmarks/relatives.py eknnclus nnevclus    # some of it; also egmm
    python benchmarks/relatives.py --write benchmarks/results/relatives.md    # the tables of what is there

The constants of EKNNClus were chosen on problems of seeds below 20 with known groups; here seeds begin at 101.
"Seconds" are wall time, valid on an idle machine only; "CPU s" are those of all processors together. Each fit is a line
of ``benchmarks/results/relatives.jsonl``; ``--rows`` names another file.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import multivariate_normal
from sklearn.datasets import make_moons

from softecm import EGMM, NNEVCLUS, EKNNClus
from softecm.datasets import make_blobs
from softecm.scores import adjusted_rand_index

RESULTS = Path(__file__).resolve().parent / "results" / "relatives.jsonl"
FIRST = 101
Floats, Ints = NDArray[np.float64], NDArray[np.int64]
Row = dict[str, Any]
Tasks = Iterator[tuple[str, Callable[[], Row]]]  # a name, and its measurement


def gaussians(seed: int, n: int = 600) -> tuple[Floats, Ints, Ints]:
    """Return objects of 2 to 5 overlapping Gaussians with one covariance, their groups, and the oracle's labels."""
    rng = np.random.default_rng(seed)
    c, p = int(rng.integers(2, 6)), int(rng.integers(2, 5))
    shape = rng.normal(size=(p, p))
    covariance = np.eye(p) + 0.3 * shape @ shape.T
    root = np.linalg.cholesky(covariance)
    centers: list[Floats] = []
    while len(centers) < c:  # at least three and a half deviations apart, by the covariance
        new = rng.uniform(-5, 5, p)
        if all(np.linalg.norm(new - old) >= 3.5 for old in centers):
            centers.append(new)
    means = np.array(centers) @ root.T
    group = rng.integers(0, c, n)
    x = means[group] + rng.normal(size=(n, p)) @ root.T
    oracle = np.stack([multivariate_normal(m, covariance).pdf(x) for m in means]).argmax(0)
    return x, group, oracle


def four_classes(n: int, seed: int) -> Floats:
    """Like R's fourclass: Student's t with five degrees of freedom around the corners of a square of side four."""
    rng = np.random.default_rng(seed)
    corners = 4.0 * np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    heavy = rng.normal(size=(n, 2)) / np.sqrt(rng.chisquare(5, (n, 1)) / 5)
    return corners[np.arange(n) % 4] + heavy


#: Data for EKNNClus, and their number of groups.
SHAPES: dict[str, tuple[Callable[[int, int], Floats], int]] = {
    "moons, noise 0.06": (lambda n, s: make_moons(n, noise=0.06, random_state=s)[0], 2),
    "moons, noise 0.1": (lambda n, s: make_moons(n, noise=0.1, random_state=s)[0], 2),
    "like fourclass": (four_classes, 4),
    "3 blobs": (lambda n, s: make_blobs(n, random_state=s).data, 3),
    "5 blobs in 5 columns": (lambda n, s: make_blobs(n, n_clusters=5, n_features=5, random_state=s).data, 5),
}


def egmm() -> Tasks:
    """Measure the number of groups by the criterion, the groups compared with the oracle's, and mass on pairs."""

    def one(seed: int) -> Row:
        x, group, oracle = gaussians(seed)
        c = len(np.unique(group))
        found = EGMM("auto", random_state=0).fit(x).n_clusters_
        told = EGMM(c, random_state=0).fit(x)
        sure = np.sort(told.partition_.pignistic(), 1)[:, -1]
        on_pairs = told.partition_.masses[:, c + 1 :].sum(1)
        lost = adjusted_rand_index(group, oracle) - adjusted_rand_index(group, told.labels_)
        wrong = oracle != group  # even with known parameters
        pairs = {"on pairs, wrong": float(on_pairs[wrong].mean())} if wrong.any() else {}
        falls = bool(np.diff(told.history_).max(initial=0.0) > 1e-9 * abs(told.history_[-1]))
        return {"c": c, "found": found, "lost": lost, "sure": float(sure.mean()), "falls": falls, **pairs} | {
            "on pairs, right": float(on_pairs[~wrong].mean())
        }

    for seed in range(FIRST, FIRST + 50):
        yield f"EGMM {seed}", lambda seed=seed: one(seed)


def eknnclus() -> Tasks:
    """Measure the number of groups of any shape, and 100 000 objects."""

    def one(name: str, n: int, seed: int) -> Row:
        make, c = SHAPES[name]
        return {"c": c, "found": EKNNClus(random_state=seed).fit(make(n, seed)).n_clusters_}

    def many() -> Row:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        x = make_moons(100_000, noise=0.07, random_state=0)[0]
        row = timed(lambda: EKNNClus(random_state=0).fit(x))
        model = row.pop("value")
        peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        return {"c": 2, "found": model.n_clusters_, "k": model.n_neighbors_, "MB": round(peak), **row}

    for n in (400, 1500):
        for name in SHAPES:
            for seed in range(FIRST, FIRST + 5):
                yield f"EKNNClus, {n} objects, {name}, {seed}", lambda a=(name, n, seed): one(*a)
    yield "EKNNClus, 100 000 objects", many


def nnevclus() -> Tasks:
    """Fit 10 000 objects, predict a million, R's own sizes."""

    def fit(n: int, c: int, columns: int) -> Row:
        made = make_blobs(n, n_clusters=c, n_features=columns, random_state=FIRST)
        row = timed(lambda: NNEVCLUS(c, random_state=0).fit(made.data))
        model = row.pop("value")
        return {**row, "rand": adjusted_rand_index(made.target, model.labels_), "steps": model.n_iter_}

    def predict() -> Row:
        made = make_blobs(500, n_clusters=4, n_features=10, random_state=FIRST)
        model = NNEVCLUS(4, random_state=0).fit(made.data)
        many = np.tile(made.data, (2000, 1))
        row = timed(lambda: model.predict_partition(many))
        row.pop("value")
        return row

    yield "NNEVCLUS, 400 objects, 4 groups, 2 columns", lambda: fit(400, 4, 2)
    yield "NNEVCLUS, 10 000 objects, 4 groups, 10 columns", lambda: fit(10_000, 4, 10)
    yield "NNEVCLUS, predicts 1 000 000 objects", predict


def timed(task: Callable[[], Any]) -> Row:
    """Return the result of a task, and its cost."""
    wall, cpu = time.perf_counter(), time.process_time()
    value = task()
    return {"value": value, "seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


PARTS = {"eknnclus": eknnclus, "nnevclus": nnevclus, "egmm": egmm}


def read(path: Path) -> list[Row]:
    """Return the existing lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def run(path: Path, parts: list[str]) -> None:
    """Run everything that is missing, one line each."""
    done = {row["name"] for row in read(path)}
    for part in parts:
        for name, task in PARTS[part]():
            if name in done:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = task()
            row = {"part": part, "name": name} | {
                k: round(v, 4) if isinstance(v, float) else v for k, v in found.items()
            }
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            print(row, flush=True)


def table(head: str, rows: list[list[str]]) -> list[str]:
    """Return a Markdown table."""
    return [f"| {head} |", "|" + "---|" * len(head.split(" | ")), *[f"| {' | '.join(row)} |" for row in rows], ""]


def page(rows: list[Row]) -> str:
    """Return the tables."""
    lines = ["# What the newer estimators promise", "", "## EKNNClus: the number of clusters", ""]
    small = [row for row in rows if row["part"] == "eknnclus" and "cpu" not in row]
    body = []
    for n in (400, 1500):
        for name, (_, c) in SHAPES.items():
            own = [row["found"] for row in small if row["name"].startswith(f"EKNNClus, {n} objects, {name}, ")]
            if own:
                right = sum(found == c for found in own)
                body.append([str(n), name, str(c), ", ".join(map(str, own)), f"{right}", f"{len(own)}"])
    lines += table("objects | data | groups | found | right | of", body)
    lines += ["## What many objects cost", ""]
    big = [row for row in rows if "cpu" in row]
    body = [[row["name"], f"{row['cpu']:.1f}", f"{row['MB']}" if "MB" in row else "–"] for row in big]
    lines += table("task | CPU s | MB more at the peak", body)
    mixtures = [row for row in rows if row["part"] == "egmm"]
    if mixtures:
        lines += ["## EGMM: overlapping Gaussians, 600 objects", ""]
        right = sum(row["found"] == row["c"] for row in mixtures)
        wrong = [row["on pairs, wrong"] for row in mixtures if "on pairs, wrong" in row]
        body = [
            ["problems", f"{len(mixtures)}"],
            ["number of groups right by the criterion", f"{right}"],
            ["ARI below the oracle's, mean", f"{np.mean([row['lost'] for row in mixtures]):.4f}"],
            ["ARI below the oracle's, median", f"{np.median([row['lost'] for row in mixtures]):.4f}"],
            ["fits in which the likelihood fell", f"{sum(row['falls'] for row in mixtures)}"],
            ["mass on pairs where the oracle errs", f"{np.mean(wrong):.2f}"],
            ["mass on pairs elsewhere", f"{np.mean([row['on pairs, right'] for row in mixtures]):.2f}"],
        ]
        lines += table("what | value", body)
    lines.append("Made by `python benchmarks/relatives.py`; seeds from 101 on, on which no constant was chosen.")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the requested parts, or write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--rows", type=Path, default=RESULTS)
    parser.add_argument("--write", type=Path, help="write the tables instead of running")
    given = parser.parse_args()
    if given.write:
        given.write.write_text(page(read(given.rows)), encoding="utf-8")
        return
    run(given.rows, given.parts or list(PARTS))


if __name__ == "__main__":
    main()
