"""The default SoftECM(c).fit(X): on planted problems, on labelled data, in time, and under transformations of the data.

    python benchmarks/defaults.py planted --draws 2001-2010
    python benchmarks/defaults.py shapes --draws 2001-2010
    python benchmarks/defaults.py invariance
    python benchmarks/defaults.py real          # needs the folder SOFTECM_DATA
    python benchmarks/defaults.py speed         # on an idle machine
    python benchmarks/defaults.py words         # needs the folder SOFTECM_DATA

Each prints a Markdown table; ``--write`` writes it to ``benchmarks/results/defaults_*.md``. Problems are in
``planted.py`` and ``labelled.py``. k-prototypes and k-modes (package kmodes) and tslearn are included if installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import labelled
import numpy as np
import planted
from labelled import Labelled
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score, roc_auc_score

from softecm import SoftECM
from softecm.belief import CredalPartition, FocalSets

RESULTS = Path(__file__).resolve().parent / "results"
STATES = (0, 1, 2)
BEFORE = 2  # draws for 0.1's defaults, which are slow
Row = dict[str, Any]
Part = Callable[[argparse.Namespace], list[str]]


def table(head: str, rows: Iterable[Iterable[str]]) -> list[str]:
    """Return lines of a Markdown table."""
    return [f"| {head} |", "|" + "---|" * len(head.split(" | ")), *[f"| {' | '.join(row)} |" for row in rows]]


def mean(rows: Iterable[Row], key: str) -> float:
    """Return the mean of existing values; NaN without any."""
    values = np.array([row[key] for row in rows], float)
    values = values[~np.isnan(values)]
    return float(values.mean()) if len(values) else float("nan")


def shown(value: float, digits: int = 3) -> str:
    """Return a number, or a dash if there is none."""
    return "–" if np.isnan(value) else f"{value:.{digits}f}"


# ---------------------------------------------------------------------- planted problems
COLUMNS = ("rand", "score", "called between", "between", "between precision", "outliers", "outliers precision")
HEAD = (
    "problems | n | adjusted Rand | balanced score | clear called between | between: found / right | "
    "outliers: found / right | converged | merged"
)


def judged(problems: Iterable[planted.Problem], fit: Callable[[planted.Problem], Any], draw: int) -> Iterator[Row]:
    """Yield one row per problem."""
    for problem in problems:
        model = fit(problem)
        state = {"converged": float(model.converged_), "merged": float(model.collapsed_)}
        yield {"draw": draw, "problem": problem.shape, **planted.judge(problem, model), **state}


def by_default(problem: planted.Problem) -> Any:
    return SoftECM(problem.shape.c, random_state=0).fit(problem.X)


def as_in_0_1(problem: planted.Problem) -> Any:
    """Fit with version 0.1's defaults: all pairs from the start, the penalty at 1, delta from distances to the mean."""
    squares = np.square(problem.X - problem.X.mean(0)).sum(1)
    options: Row = {"lam": 1.0, "relaxation": "penalty", "init": "k-means++"}
    options |= {"focal_sets": FocalSets.up_to(problem.shape.c, 2), "delta": float(np.sqrt(np.quantile(squares, 0.95)))}
    return SoftECM(problem.shape.c, random_state=0, **options).fit(problem.X)


def summary(name: str, rows: list[Row]) -> list[str]:
    """Return a row of the table."""
    rand, score, called, *found = (mean(rows, key) for key in COLUMNS)
    between, outliers = (f"{shown(found[i], 2)} / {shown(found[i + 1], 2)}" for i in (0, 2))
    state = [shown(mean(rows, "converged")), f"{sum(row['merged'] for row in rows):.0f}"]
    return [name, str(len(rows)), shown(rand), shown(score), f"{100 * called:.2f} %", between, outliers, *state]


def grouped(rows: list[Row]) -> list[list[str]]:
    """Return a row for each kind of problem, and one for all."""
    names = list(dict.fromkeys(row["problem"].group for row in rows))
    return [
        *[summary(name, [row for row in rows if row["problem"].group == name]) for name in names],
        [f"**{cell}**" for cell in summary("all", rows)],
    ]


def remarks(rows: list[Row]) -> list[str]:
    """Return how much draws differ, and the problems that failed."""
    draws = sorted({row["draw"] for row in rows})
    apart = []
    for key, name in (("rand", "adjusted Rand"), ("score", "balanced score")):
        means = [mean([row for row in rows if row["draw"] == draw], key) for draw in draws]
        apart.append(f"{name} from {min(means):.3f} to {max(means):.3f}")
    bad = [f"draw {row['draw']}, {row['problem']} ({row['score']:.2f})" for row in rows if row["score"] < 0.9]
    said = f"Problems with a balanced score below 0.9: {'; '.join(bad)}." if bad else "No problem scored below 0.9."
    return ["", f"Draws {draws[0]} to {draws[-1]}, means of each: {'; '.join(apart)}. {said}"]


def on_planted(args: argparse.Namespace) -> list[str]:
    """Run the suite, and 0.1's defaults on its first draws."""
    ours = _over(args.draws, planted.suite, by_default)
    rows, first = grouped(ours), args.draws[: args.before]
    if first:
        before = _over(first, planted.suite, as_in_0_1)
        same = [row for row in ours if row["draw"] in first]
        which = f"draws {', '.join(map(str, first))}"
        rows += [summary(f"now, {which}", same), summary(f"0.1's defaults, {which}", before)]
    return [*table(HEAD, rows), *remarks(ours)]


def on_shapes(args: argparse.Namespace) -> list[str]:
    """Run groups that are not Gaussian balls of similar size."""
    rows = _over(args.draws, planted.shapes, by_default)
    return [*table(HEAD, grouped(rows)), *remarks(rows)]


def _over(
    draws: list[int],
    problems: Callable[[int], Iterable[planted.Problem]],
    fit: Callable[[planted.Problem], Any],
) -> list[Row]:
    rows: list[Row] = []
    for draw in draws:
        begin = time.perf_counter()
        rows += judged(problems(draw), fit, draw)
        print(f"draw {draw}, {fit.__name__}: {time.perf_counter() - begin:.0f} s", file=sys.stderr, flush=True)
    return rows


# ---------------------------------------------------------------------- labelled data
Peer = Callable[[Labelled, int], "tuple[Any, Any]"]  # labels, and doubt if available


def errors(data: Labelled, labels: Any) -> Any:
    """Return objects that are not in the cluster of their class."""
    return planted.matched(data.y, labels, data.c)[data.y] != labels


def detects(wrong: Any, doubt: Any) -> float:
    """Return the area under the ROC curve of doubt for the errors; NaN if nearly all or nearly none are wrong."""
    return float(roc_auc_score(wrong, doubt)) if 2 < wrong.sum() < len(wrong) - 2 else float("nan")


def doubt_of(partition: CredalPartition) -> Any:
    return partition.doubt() if hasattr(partition, "doubt") else 1.0 - partition.pignistic().max(1)


def kmeans(data: Labelled, state: int) -> tuple[Any, Any]:
    """Return labels, and as doubt the relative nearness of the second centre."""
    model = KMeans(data.c, n_init=10, random_state=state).fit(data.X)
    near = np.sort(model.transform(data.X), 1)
    return model.labels_, near[:, 0] / near[:, 1]


def kprototypes(data: Labelled, state: int) -> tuple[Any, Any]:
    """Use k-modes if all columns are categories; missing cells filled by the median or mode, numbers scaled."""
    from kmodes.kmodes import KModes
    from kmodes.kprototypes import KPrototypes

    X = data.X.copy()
    numeric = [name for name in X.columns if X[name].dtype.kind in "fiu"]
    for name in X.columns:
        X[name] = X[name].fillna(X[name].median() if name in numeric else X[name].mode()[0])
    for name in numeric:
        X[name] = (X[name] - X[name].mean()) / (X[name].std(ddof=0) or 1.0)
    texts = [i for i, name in enumerate(X.columns) if name not in numeric]
    for name in X.columns[texts]:
        X[name] = X[name].astype(str)
    if not numeric:
        return KModes(data.c, n_init=10, random_state=state).fit_predict(X.to_numpy()), None
    return KPrototypes(data.c, n_init=10, random_state=state).fit_predict(X.to_numpy(), categorical=texts), None


def dtw_kmeans(data: Labelled, state: int) -> tuple[Any, Any]:
    from tslearn.clustering import TimeSeriesKMeans

    return TimeSeriesKMeans(data.c, metric="dtw", n_init=10, random_state=state).fit_predict(data.X), None


KINDS: dict[str, tuple[Callable[[], Iterator[Labelled]], Peer, str, str]] = {
    "numbers": (labelled.numbers, kmeans, "KMeans(n_init=10)", "sklearn"),
    "tables": (labelled.tables, kprototypes, "k-prototypes, k-modes (10 starts)", "kmodes"),
    "series": (labelled.series, dtw_kmeans, "tslearn's DTW k-means (10 starts)", "tslearn"),
}


def on_real(args: argparse.Namespace) -> list[str]:
    """Run every set with three random states, with the simple alternative in the same run."""
    _needs_data()
    lines: list[str] = []
    for kind in args.kinds:
        sets, peer, name, package = KINDS[kind]
        runs = peer if importlib.util.find_spec(package) else None
        rows = [_on_set(data, runs) for data in sets()]
        head = f"{kind} | objects | clusters | default fit | {name} | states agree | converged | between | nowhere"
        cells = [
            *[[row["name"], str(row["n"]), str(row["c"]), *_cells(row)] for row in rows],
            ["**mean**", "", "", *_cells({key: mean(rows, key) for key in rows[0] if key not in ("name", "n", "c")})],
        ]
        lines += ["", *table(head, cells)]
        if runs is None:
            lines += ["", f"{name}: not run, the package {package} is not installed."]
        elif kind == "numbers":
            found = f"{mean(rows, 'doubt'):.3f} (k-means margin {mean(rows, 'peer doubt'):.3f})"
            lines += ["", f"Area under the ROC curve of doubt for the errors: {found}."]
    return ["Adjusted Rand index with the classes, means of three random states.", *lines]


def _cells(row: Row) -> list[str]:
    keys = ("rand", "peer", "agree", "converged", "between", "nowhere")
    return [shown(row[key], 2 if key in keys[3:] else 3) for key in keys]


def _on_set(data: Labelled, peer: Peer | None) -> Row:
    runs, labels = [], []
    for state in STATES:
        model = SoftECM(data.c, metric=data.metric, random_state=state).fit(data.X)
        sizes = np.array([len(s) for s in model.partition_.sets()])
        run = {
            "rand": adjusted_rand_score(data.y, model.labels_),
            "converged": float(model.converged_),
            "doubt": detects(errors(data, model.labels_), doubt_of(model.partition_)),
            "between": (sizes > 1).mean(),
            "nowhere": (sizes == 0).mean(),
            "peer": np.nan,
            "peer doubt": np.nan,
        }
        if peer is not None:
            other, doubt = peer(data, state)
            run["peer"] = adjusted_rand_score(data.y, other)
            run["peer doubt"] = np.nan if doubt is None else detects(errors(data, other), doubt)
        runs.append(run)
        labels.append(model.labels_)
    print(f"{data.name}: {mean(runs, 'rand'):.3f}, {mean(runs, 'peer'):.3f}", file=sys.stderr, flush=True)
    agree = np.mean([adjusted_rand_score(a, b) for i, a in enumerate(labels) for b in labels[:i]])
    means = {key: mean(runs, key) for key in runs[0]}
    return {"name": data.name, "n": len(data.y), "c": data.c, "agree": agree, **means}


def on_words(args: argparse.Namespace) -> list[str]:
    """Return how often the label is right, for each decision."""
    if not hasattr(CredalPartition, "decisions"):
        return ["Not run: this version has no `CredalPartition.decisions`."]
    _needs_data()
    rows = []
    for kind in args.kinds:
        pooled: dict[str, list[bool]] = {}
        for data in KINDS[kind][0]():
            model = SoftECM(data.c, metric=data.metric, random_state=0).fit(data.X)
            right = ~errors(data, model.labels_)
            for word, ok in zip(model.partition_.decisions().words, right, strict=True):
                pooled.setdefault(word, []).append(bool(ok))
                if word != "clearly":
                    pooled.setdefault("all but clearly", []).append(bool(ok))
        for word in ("clearly", "all but clearly", "rather", "undecided", "between", "nowhere"):
            ok = pooled.get(word, [])
            rows.append([kind, word, str(len(ok)), shown(float(np.mean(ok)) if ok else np.nan)])
    return table("data | word | objects | accuracy of the label", rows)


def _needs_data() -> None:
    if "SOFTECM_DATA" not in os.environ:
        sys.exit("SOFTECM_DATA must be set to the folder of the data sets; it is not. See the README of the data.")


# ---------------------------------------------------------------------- time
JOBS = (
    (100_000, 8, 2.0),
    (100_000, 8, 3.5),
    (1_000_000, 8, 2.0),
    (1_000_000, 8, 3.5),
    (100_000, 30, 2.0),
    (100_000, 30, 3.5),
)


def on_speed(args: argparse.Namespace) -> list[str]:
    """Time whole fits beside KMeans(n_init=10), alternating in one process."""
    for n in (1000, 20_000):  # compiles passes of one thread and of all
        SoftECM(8, random_state=0).fit(make_blobs(n, 10, centers=8, random_state=0)[0])
    rows = []
    for n, c, spread in JOBS:
        if n > args.most:
            continue
        X, y = make_blobs(n, 10, centers=c, cluster_std=spread, center_box=(-6, 6), random_state=1)
        (ours, model), (theirs, other) = (
            _timed(m, X) for m in (SoftECM(c, random_state=0), KMeans(c, n_init=10, random_state=0))
        )
        rand = [adjusted_rand_score(y, labels) for labels in (model.labels_, other.labels_)]
        cells = [f"{n:,}", str(c), f"{spread:g}", f"{ours:.2f}", f"{theirs:.2f}", f"{ours / theirs:.2f}"]
        rows.append([*cells, *map(shown, rand), "yes" if model.converged_ else "no"])
        print(rows[-1], file=sys.stderr, flush=True)
    head = "objects | clusters | spread | default fit, s | KMeans(n_init=10), s | ratio | adjusted Rand | of KMeans"
    head += " | converged"
    load = f"{os.getloadavg()[0]:.1f}"
    return [*table(head, rows), "", f"{os.cpu_count()} cores; load of the machine at the end {load}."]


def _timed(model: Any, X: Any) -> tuple[float, Any]:
    begin = time.perf_counter()
    model.fit(X)
    return time.perf_counter() - begin, model


# ---------------------------------------------------------------------- invariance
def on_invariance(args: argparse.Namespace) -> list[str]:
    """Transform the data without changing the answer: the largest difference of any mass."""
    small, iris = (
        planted.gaussian(planted.Shape("", 4, 3, 7, 600, between=0.05, outliers=0.03), 2001).X,
        load_iris().data,
    )
    large = make_blobs(6000, 5, centers=5, cluster_std=1.5, center_box=(-6, 6), random_state=1)[0]
    rows = []
    for name, X, c in (
        ("planted, 600 × 3", small, 4),
        ("iris, 150 × 4", iris, 3),
        ("blobs, 6000 × 5 (sampled)", large, 5),
    ):
        for tol in (1e-4, 1e-9):
            for change, model, other, same in _changes(X, c, tol):
                off, sets = _difference(model, other, same)
                rows.append([name, change, f"{tol:g}", f"{off:.1g}", str(sets)])
    return table("data | change | tol | largest difference of a mass | objects on another set", rows)


def _fit(X: Any, c: int, tol: float, metric: str = "sqeuclidean", weights: Any = None) -> Any:
    return SoftECM(c, metric=metric, tol=tol, max_iter=2000, random_state=0).fit(X, sample_weight=weights)


def _changes(X: Any, c: int, tol: float) -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield the change, the models before and after, and which rows of the second are the objects of the first."""
    rng, n, plain = np.random.default_rng(0), len(X), _fit(X, c, tol)
    yield "every row four times", plain, _fit(np.repeat(X, 4, axis=0), c, tol), np.arange(0, 4 * n, 4)
    yield "weight 4 for every row", plain, _fit(X, c, tol, weights=np.full(n, 4.0)), np.arange(n)
    copies = rng.integers(1, 5, n)
    weighted, first = _fit(X, c, tol, weights=copies.astype(float)), np.cumsum(copies) - copies
    yield "weights 1 to 4, and as many copies", weighted, _fit(np.repeat(X, copies, axis=0), c, tol), first
    order = rng.permutation(n)
    yield "rows permuted", plain, _fit(X[order], c, tol), np.argsort(order)
    yield "units: all columns × 1000", plain, _fit(X * 1000.0, c, tol), np.arange(n)


def _difference(a: Any, b: Any, rows: Any) -> tuple[float, int]:
    """Return the largest difference of masses and the number of objects on another set, after matching clusters."""
    c = a.n_clusters
    first, second = a.partition_.masses, b.partition_.masses[rows]
    to = linear_sum_assignment(-(first[:, 1 : c + 1].T @ second[:, 1 : c + 1]))[1]
    back = np.argsort(to)
    ours = {(): first[:, 0], **dict(zip(a.focal_sets_.sets, first[:, 1:].T, strict=True))}
    named = [tuple(sorted(int(back[k]) for k in s)) for s in b.focal_sets_.sets]
    theirs = {(): second[:, 0], **dict(zip(named, second[:, 1:].T, strict=True))}
    every, none = sorted({*ours, *theirs}), np.zeros(len(first))
    left, right = (np.stack([masses.get(s, none) for s in every], 1) for masses in (ours, theirs))
    return float(np.abs(left - right).max()), int((left.argmax(1) != right.argmax(1)).sum())


# ---------------------------------------------------------------------- the command
PARTS: dict[str, Part] = {
    "planted": on_planted,
    "shapes": on_shapes,
    "real": on_real,
    "speed": on_speed,
    "invariance": on_invariance,
    "words": on_words,
}


def draws(text: str) -> list[int]:
    """Parse numbers such as 2001-2010 or 2001,2005."""
    first, _, last = text.partition("-")
    return list(range(int(first), int(last) + 1)) if last else [int(part) for part in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--draws", type=draws, default=draws("2001-2010"), help="of planted and shapes")
    parser.add_argument("--before", type=int, default=BEFORE, help="draws on which 0.1's defaults are run, too")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), help="of real and words")
    parser.add_argument("--most", type=int, default=1_000_000, help="objects in the largest problem of speed")
    parser.add_argument("--write", action="store_true", help="into benchmarks/results/")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = PARTS[args.part](args)
    typed = " ".join(word for word in sys.argv[1:] if word != "--write")
    text = "\n".join([*lines, "", f"Made by `python benchmarks/defaults.py {typed}`, {date.today()}."]).strip() + "\n"
    print(text)
    if args.write:
        (RESULTS / f"defaults_{args.part}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
