"""Objects with several views: planted groups that need all views, noise, missing views; the cost of an iteration.

``python benchmarks/views.py [--draws 10] [--first 1000] [--cost] [--write docs/measured/views.md]``

Some minutes on two idle cores with 10 draws; ``--cost`` alone takes one. Three groups of about 100 objects. In the view
*left* the first group is far from the others and split in two by a nuisance, the other two are four deviations apart;
in *right* the same with the last group: c-means in one view follows the nuisance. Weights never use the groups. The
rule "agreement" was designed on draws 0 to 7; the numbers are of unseen draws from ``--first`` on. "Said" is the share
of the draws with a ViewWarning.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score

from softecm import SoftECM, ViewWarning
from softecm.distances import Combined

NEAR, FAR, NUISANCE = 4.0, 14.0, 5.0  # deviations of the noise


def planted(rng, n=300):
    """Return two views, neither of which distinguishes all three groups."""
    groups, views = rng.integers(0, 3, n), {}
    for name, lone, first, second in (("left", 0, 1, 2), ("right", 2, 0, 1)):
        x = rng.normal(size=(n, 2))
        x[:, 0] += NEAR / 2 * ((groups == second).astype(float) - (groups == first))
        x[:, 1] += FAR * (groups == lone)
        x[:, 0] += NUISANCE * rng.choice([-1, 1], n) * (groups == lone)
        views[name] = x
    return views, groups


def with_gaps(views, rng, part=0.2):
    """Remove random views; every object keeps one."""
    n = len(next(iter(views.values())))
    gone = rng.random((n, len(views))) < part
    gone[gone.all(1), 0] = False
    return {name: np.where(gone[:, j, None], np.nan, x) for j, (name, x) in enumerate(views.items())}


def columns(rng, n=300, told=10, noise=10):
    """Return a table of columns with a little information on three groups, and columns of noise."""
    groups = rng.integers(0, 3, n)
    centers = rng.normal(size=(3, told))
    return np.hstack([1.6 * centers[groups] + rng.normal(size=(n, told)), rng.normal(size=(n, noise))]), groups


def series(rng, n=150, steps=60):
    """Return days of load and a table of customers: the day tells who is out at noon, the table who heats with power."""
    groups, hours = rng.integers(0, 3, n), np.linspace(0, 24, steps)
    moved = hours + rng.normal(0, 0.7, (n, 1))
    evening, noon = np.exp(-((moved - 19) ** 2) / 4), np.exp(-((moved - 12.5) ** 2) / 4)
    load = evening + np.where((groups == 0)[:, None], noon, 0.0) + rng.normal(0, 0.25, (n, steps))
    heated = np.column_stack([rng.normal(np.where(groups == 2, 9.0, 3.0), 1.0), rng.normal(100, 25, n)])
    return {"load": load[:, :, None], "customer": heated}, groups


def fit(views, weights="equal", metrics=None):
    """Return labels, and whether there was a warning about a view."""
    metric = Combined(metrics or dict.fromkeys(views, "sqeuclidean"), weights=weights)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = SoftECM(3, metric=metric, random_state=0, n_jobs=1).fit(views)
    return model, any(issubclass(w.category, ViewWarning) for w in caught)


def score(groups, views, weights="equal", metrics=None):
    """Return the adjusted Rand index, and whether there was a warning about a view."""
    model, said = fit(views, weights, metrics)
    return adjusted_rand_score(groups, model.labels_), said


def draw(seed):
    """Return index and warning for all settings (data, weights) of one draw."""
    rng = np.random.default_rng(seed)
    views, groups = planted(rng)
    n, rows = len(groups), {}
    for name, x in views.items():
        rows[f"{name} alone", "-"] = score(groups, {name: x})
    rows["both", "equal"] = score(groups, views)
    rows["both", "agreement"] = score(groups, views, "agreement")
    rows["both", "product"] = score(groups, views, "product")
    third = {
        "and Gaussian noise in four columns": rng.normal(size=(n, 4)),
        "and one random yes/no column": rng.integers(0, 2, (n, 1)).astype(float),
        "and one random column of three categories": np.eye(3)[rng.integers(0, 3, n)],
    }
    for name, x in third.items():
        for weights in ("equal", "agreement", "product"):
            rows[f"both, {name}", weights] = score(groups, {**views, "third": x}, weights)
    gaps = with_gaps(views, rng)
    rows["both, a fifth of the views removed", "equal"] = score(groups, gaps)
    table, groups = columns(rng)
    rows["ten columns, a view each", "equal"] = score(groups, {f"x{j}": table[:, [j]] for j in range(10)})
    for weights in ("equal", "agreement", "product"):
        every = {f"x{j}": table[:, [j]] for j in range(20)}
        rows["ten columns and ten of noise, a view each", weights] = score(groups, every, weights)
    days, groups = series(rng)
    kinds = {"load": "softdtw", "customer": "mixed"}
    for name, x in days.items():
        rows[f"{name} alone", "-"] = score(groups, {name: x}, metrics={name: kinds[name]})
    rows["load and customer", "equal"] = score(groups, days, metrics=kinds)
    return rows


def table_of(draws):
    """Return one line per setting."""
    lines = ["| data | weights | mean ARI | least ARI | said |", "|---|---|---|---|---|"]
    for data, weights in draws[0]:
        values, said = zip(*(rows[data, weights] for rows in draws), strict=True)
        lines.append(f"| {data} | {weights} | {np.mean(values):.3f} | {min(values):.3f} | {np.mean(said):.2f} |")
    return "\n".join(lines)


def seconds(metric, x, v, prices, repeats=15):
    """Return CPU seconds of one evaluation on one thread: the minimum of several."""
    from softecm.objective.equations import evaluate

    least = np.inf
    for _ in range(repeats + 1):
        start = time.process_time()
        evaluate(metric, x, v, prices)
        least = min(least, time.process_time() - start)
    return least


def cost():
    """Compare an iteration over several views with the sum of iterations over each, for ten runs of three clusters."""
    import torch

    from softecm.belief import FocalSets
    from softecm.objective.equations import mass_cost

    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    n, focal = 1000, FocalSets.up_to(3, 1)
    data = {"series": rng.normal(size=(n, 40, 1)), "table": rng.normal(size=(n, 8)), "note": rng.normal(size=(n, 50))}
    lines = ["| views | together, ms | sum of the parts, ms | ratio |", "|---|---|---|---|"]
    settings = {
        "softdtw 40 steps, mixed 8 columns, cosine 50 columns": ("softdtw", "mixed", "cosine"),
        "series-euclidean 40 steps, mixed 8 columns, sqeuclidean 50 columns": (
            "series-euclidean",
            "mixed",
            "sqeuclidean",
        ),
    }
    for title, names in settings.items():
        metrics = dict(zip(data, names, strict=True))
        total = 0.0
        for own in ({name: metrics[name]} for name in data):
            total += evaluated(own, {name: data[name] for name in own}, n, focal, mass_cost)
        together = evaluated(metrics, data, n, focal, mass_cost)
        lines.append(f"| {title} | {1e3 * together:.1f} | {1e3 * total:.1f} | {together / total:.2f} |")
    return "\n".join(lines)


def evaluated(metrics, data, n, focal, mass_cost):
    """Return one evaluation of a batch of ten runs."""
    import torch

    space = Combined(metrics).make_space()
    raw = space.check(SoftECM(), data, reset=True)
    space = space.fit(raw, dtype=torch.float64)
    x = space.encode(raw)
    metric = Combined(metrics).fitted(x, None)
    starts = space.starts(x, torch.arange(30) * (n // 30))
    v = starts.reshape(10, 3, *starts.shape[1:])
    prices = mass_cost(focal, 1.0, 1.2, 5.0, like=v, runs=10)
    return seconds(metric, x, v, prices)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=1000)
    parser.add_argument("--cost", action="store_true", help="the cost of a round alone, which nothing is written of")
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    if given.cost:
        print(cost())
        return
    draws = []
    for seed in range(given.first, given.first + given.draws):
        draws.append(draw(seed))
        print(f"draw {seed} done", file=sys.stderr, flush=True)
    how = f"{given.draws} draws, from number {given.first} on: `python benchmarks/views.py`."
    page = f"{how}\n\n" + table_of(draws) + "\n"
    print(page)
    if given.write:
        given.write.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
