"""All estimators on the same data: planted groups, real numbers, several views, few objects with a large source.

    SOFTECM_DATA=FOLDER python benchmarks/which_algorithm.py           # goes on where it was stopped
    python benchmarks/which_algorithm.py --only EGMM WMVEC             # some of them
    python benchmarks/which_algorithm.py --write docs/measured/which_algorithm.md   # the tables of what is there

Every estimator has its defaults and ``random_state=0``; nothing was tuned on these data. The planted problems are those
of ``planted.py`` with up to 300 objects, in a draw (number 301) without influence on any choice; those of views are
draws 401 to 403 (WMVEC's temperature was chosen knowing draws 301 to 303). CECM and CEVCLUS get 30 true pairs, and are
the only ones to use labels. Algorithms for dissimilarities get the distances between the rows; they run on at most 700
objects, and ECMPlus, with a matrix for each cluster, on at most 30 columns. Each fit is a line of
``benchmarks/results/which_algorithm.jsonl``. Seconds are CPU time on one processor.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from planted import NOISES, SHAPES, SUITE, Problem, gaussian, judge, reshaped
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import adjusted_rand_score

import softecm
from softecm import ECM, TECM, WMVEC, MECMdd, SoftECM
from softecm.constraints import sample_constraints
from softecm.distances import Combined

RESULTS = Path(__file__).resolve().parent / "results" / "which_algorithm.jsonl"
DRAW, VIEWS = 301, 401
MOST, MOST_COMPARED = 300, 700  # objects of a planted problem, and of a real one for algorithms for dissimilarities
MOST_COLUMNS = 30  # for matrices of clusters
OF_VECTORS = ("SoftECM", "ECM", "FCM", "ECMPlus", "CCM", "BCM", "CECM", "BPEC", "EKNNClus", "EGMM", "NNEVCLUS")
OF_DISTANCES = ("RECM", "ECMdd", "EVCLUS", "CEVCLUS")
LINKED = ("CECM", "CEVCLUS")
COLUMNS = ("rand", "clear", "between", "outliers")
Row = dict[str, Any]
Tasks = Iterator[tuple[tuple[str, str, str], Callable[[], Row]]]  # part, data, algorithm, and its measurement


def estimator(name: str, c: int) -> Any:
    """Return an estimator with its defaults."""
    made = getattr(softecm, name)()
    known = made.get_params()
    told = {"n_clusters": c, "random_state": 0, "n_jobs": 1}
    return made.set_params(**{key: value for key, value in told.items() if key in known})


def fitted(name: str, c: int, X: Any, y: Any) -> Any:
    """Return an estimator after its fit."""
    if name in OF_DISTANCES:
        X = squareform(pdist(X))
    if name in LINKED:
        known = np.flatnonzero(y >= 0)
        pairs = sample_constraints(y[known], 30, random_state=0)
        return estimator(name, c).fit(X, must_link=known[pairs.must_link], cannot_link=known[pairs.cannot_link])
    return estimator(name, c).fit(X)


def planted_problems() -> Iterator[tuple[str, Problem]]:
    """Yield kinds of problems and draws of them, of at most 300 objects."""
    for shape in SUITE:
        if shape.group in ("planted", "overlap") and shape.n <= MOST:
            yield shape.group, gaussian(shape, DRAW)
    for shape in SHAPES:
        if shape.n <= MOST:
            problem = gaussian(replace(shape, group=NOISES["long"]), DRAW)
            yield NOISES["long"], reshaped(problem, "long", np.random.default_rng(DRAW + 17))


def on_planted(names: list[str]) -> Tasks:
    """Run groups, objects between them, outliers."""
    names = [name for name in names if name in (*OF_VECTORS, *OF_DISTANCES)]
    for group, problem in planted_problems():
        for name in names:

            def task(problem: Problem = problem, name: str = name) -> Row:
                model = fitted(name, problem.shape.c, problem.X, problem.y)
                members = problem.y >= 0
                found = {"rand": float(adjusted_rand_score(problem.y[members], model.labels_[members]))}
                right = model.focal_sets_.n_clusters == problem.shape.c
                return {**found, **(judge(problem, model) if right else {}), "right number": right}

            yield ("planted", f"{group}: {problem.shape}", name), task


def on_real(names: list[str]) -> Tasks:
    """Run eight sets with known classes."""
    from labelled import numbers

    names = [name for name in names if name in (*OF_VECTORS, *OF_DISTANCES)]
    for data in numbers():
        for name in names:
            if name in LINKED or (name in OF_DISTANCES and len(data.X) > MOST_COMPARED):
                continue
            if name == "ECMPlus" and data.X.shape[1] > MOST_COLUMNS:
                continue

            def task(data: Any = data, name: str = name) -> Row:
                model = fitted(name, data.c, data.X, data.y)
                return {"rand": float(adjusted_rand_score(data.y, model.labels_)), "c": model.focal_sets_.n_clusters}

            yield ("real", data.name, name), task


def views_of(seed: int, kind: str) -> tuple[dict[str, Any], Any]:
    """Return two views, neither of which distinguishes all groups (``views.py``), and a third."""
    from views import planted

    rng = np.random.default_rng(seed)
    views, groups = planted(rng)
    extra = {"noise": rng.normal(size=(len(groups), 4)), "coins": rng.integers(0, 2, (len(groups), 1)).astype(float)}
    return {**views, **({kind: extra[kind]} if kind else {})}, groups


def alike(x: Any) -> Any:
    """Return dissimilarities of rows over their mean, as MECMdd requires."""
    d = squareform(pdist(x, "sqeuclidean"))
    return d / d.mean()


def on_views(names: list[str]) -> Tasks:
    """Run the same objects in several tables."""
    equal = {"random_state": 0, "n_jobs": 1}
    ways: dict[str, Callable[[Any], Any]] = {
        "ECM, columns side by side": lambda X: ECM(3, beta=1.2, **equal).fit(np.hstack(list(X.values()))),
        "SoftECM, Combined": lambda X: SoftECM(3, metric=Combined(dict.fromkeys(X, "sqeuclidean")), **equal).fit(X),
        "WMVEC": lambda X: WMVEC(3, **equal).fit(X),
        "WMVEC, features": lambda X: WMVEC(3, features=True, **equal).fit(X),
        "WMVEC, product": lambda X: WMVEC(3, rule="product", **equal).fit(X),
        "MECMdd": lambda X: MECMdd(3, **equal).fit({k: alike(x) for k, x in X.items()}),
    }
    for kind in ("", "noise", "coins"):
        for seed in range(VIEWS, VIEWS + 3):
            for name, way in ways.items():
                if name.split(",")[0] not in names:
                    continue

                def task(seed: int = seed, kind: str = kind, way: Any = way) -> Row:
                    X, groups = views_of(seed, kind)
                    model = way(X)
                    shares = {k: float(v) for k, v in getattr(model, "view_weights_", {}).items()} if kind else {}
                    third = {"third": shares[kind] / sum(shares.values())} if shares else {}
                    return {"rand": float(adjusted_rand_score(groups, model.labels_)), **third}

                yield ("views", f"{kind or 'two views'} {seed}", name), task


def few_and_many(seed: int, n: int, moved: float) -> tuple[Any, Any, Any]:
    """Return a source of 600 objects in three groups, and n objects of slightly moved groups with twice the noise."""
    rng = np.random.default_rng(seed)
    centers = 5.0 * rng.normal(size=(3, 4))
    many = centers[rng.integers(0, 3, 600)] + rng.normal(size=(600, 4))
    group = np.arange(n) % 3
    few = (centers + moved * rng.normal(size=(3, 4)))[group] + 2.0 * rng.normal(size=(n, 4))
    return many, few, group


def on_transfer(names: list[str]) -> Tasks:
    """Run few objects, with the centres of many."""
    how = {"beta": 1.2, "random_state": 0, "n_jobs": 1}
    ways: dict[str, Callable[[Any, Any], Any]] = {
        "ECM, without the source": lambda x, s: ECM(3, **how).fit(x),
        "ECM, predicting from the source": lambda x, s: s.predict(x),
        "TECM, sets": lambda x, s: TECM(3, source=s.cluster_centers_, **how).fit(x),
        "TECM, clusters": lambda x, s: TECM(3, source=s.cluster_centers_, form="clusters", **how).fit(x),
        "TECM, matched": lambda x, s: TECM(3, source=s.cluster_centers_, form="matched", **how).fit(x),
    }
    if "TECM" not in names:
        return
    for n in (15, 60):
        for moved in (0.0, 2.0):
            for seed in range(DRAW, DRAW + 5):
                for name, way in ways.items():

                    def task(seed: int = seed, n: int = n, moved: float = moved, way: Any = way) -> Row:
                        many, few, group = few_and_many(seed, n, moved)
                        found = way(few, ECM(3, **how).fit(many))
                        labels = getattr(found, "labels_", found)
                        return {"rand": float(adjusted_rand_score(group, labels))}

                    yield ("transfer", f"{n} objects, moved {moved:g}, draw {seed}", name), task


def read(path: Path) -> list[Row]:
    """Return the existing lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def run(path: Path, names: list[str], parts: list[str]) -> None:
    """Run every missing fit, one line each."""
    done = {(row["part"], row["data"], row["algorithm"]) for row in read(path)}
    makers = {"planted": on_planted, "real": on_real, "views": on_views, "transfer": on_transfer}
    for part in parts:
        for key, task in makers[part](names):
            if key in done:
                continue
            began = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # merged or unconverged results count as they are
                found = task()
            row = dict(zip(("part", "data", "algorithm"), key, strict=True)) | found
            row["cpu"] = round(time.process_time() - began, 3)
            values = {k: round(v, 4) if isinstance(v, float) and not math.isnan(v) else v for k, v in row.items()}
            kept = {k: v for k, v in values.items() if not (isinstance(v, float) and math.isnan(v))}
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(kept, ensure_ascii=False) + "\n")
            print(" | ".join(key), f"{row['rand']:.2f}", f"{row['cpu']:.1f} s", flush=True)


def mean(rows: list[Row], column: str) -> str:
    """Return the mean over the rows that have it."""
    values = [row[column] for row in rows if column in row]
    return f"{np.mean(values):.2f}" if values else "–"


def table(head: str, rows: list[list[str]]) -> list[str]:
    """Return a Markdown table."""
    return [f"| {head} |", "|" + "---|" * len(head.split(" | ")), *[f"| {' | '.join(row)} |" for row in rows], ""]


def grouped(rows: list[Row], key: Callable[[Row], str]) -> dict[str, list[Row]]:
    """Group rows by key, in order of appearance."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def in_order(rows: list[Row]) -> list[tuple[str, list[Row]]]:
    """Return rows by algorithm, those with the highest index first."""
    return sorted(grouped(rows, lambda row: row["algorithm"]).items(), key=lambda pair: -float(mean(pair[1], "rand")))


def page(rows: list[Row]) -> str:
    """Return all tables."""
    by_part = grouped(rows, lambda row: row["part"])
    planted, real = by_part.get("planted", []), by_part.get("real", [])
    kinds = list(grouped(planted, lambda row: row["data"].split(":")[0]))
    lines = ["### Planted groups", ""]
    body = []
    for name, own in in_order(planted):
        each = [mean([row for row in own if row["data"].startswith(f"{kind}:")], "rand") for kind in kinds]
        body.append([f"`{name}`", mean(own, "rand"), *each, *[mean(own, c) for c in COLUMNS[1:]], mean(own, "cpu")])
    lines += table(f"estimator | ARI | {' | '.join(kinds)} | clear | between | outliers | CPU s", body)
    lines += ["### Real numbers", ""]
    sets, body = list(grouped(real, lambda row: row["data"])), []
    for name, own in in_order([row for row in real if row["algorithm"] not in OF_DISTANCES]) + in_order(
        [row for row in real if row["algorithm"] in OF_DISTANCES]
    ):
        each = [mean([row for row in own if row["data"] == data], "rand") for data in sets]
        whole = mean(own, "rand") if len(own) == len(sets) else "–"
        body.append([f"`{name}`", *each, whole, mean(own, "cpu")])
    lines += table(f"estimator | {' | '.join(sets)} | mean | CPU s", body)
    lines += ["### Several views", ""]
    kinds_of_views, body = {"two views": "two views", "noise": "and noise", "coins": "and coin tosses"}, []
    for name, own in in_order(by_part.get("views", [])):
        parts = [[row for row in own if row["data"].startswith(kind)] for kind in kinds_of_views]
        body.append([name, *[mean(part, "rand") for part in parts], *[mean(part, "third") for part in parts[1:]]])
    lines += table(f"way | {' | '.join(kinds_of_views.values())} | weight of noise | weight of coins", body)
    lines += ["### Few objects, and a source", ""]
    settings, body = list(grouped(by_part.get("transfer", []), lambda row: row["data"].split(", draw")[0])), []
    for name, own in in_order(by_part.get("transfer", [])):
        body.append([name, *[mean([row for row in own if row["data"].startswith(s)], "rand") for s in settings]])
    lines += table(f"way | {' | '.join(settings)}", body)
    lines.append(
        "Made by `python benchmarks/which_algorithm.py`, which keeps a line for each fit beside the other results."
    )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the requested parts, or write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=Path, default=RESULTS)
    parser.add_argument("--only", nargs="*", help="names of estimators")
    parser.add_argument("--parts", nargs="*", default=["planted", "real", "views", "transfer"])
    parser.add_argument("--write", type=Path, help="write the tables instead of running")
    given = parser.parse_args()
    if given.write:
        given.write.write_text(page(read(given.rows)), encoding="utf-8")
        return
    every = [*OF_VECTORS, *OF_DISTANCES, "WMVEC", "TECM", "MECMdd"]
    names = given.only or every
    if set(names) - set(every):
        sys.exit(f"unknown: {', '.join(sorted(set(names) - set(every)))}; use {', '.join(every)}.")
    run(given.rows, names, given.parts)


if __name__ == "__main__":
    main()
