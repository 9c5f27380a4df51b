"""Tables: quality and speed. ``python benchmarks/tables.py [quality] [speed]``; by default both.

Quality needs the data (``SOFTECM_DATA``, or ``../shared/data`` beside the repository) and, for its baselines, ``kmodes``.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from softecm import SoftECM, datasets
from softecm.belief import FocalSets
from softecm.distances import Hamming, Mixed, SquaredEuclidean
from softecm.objective.equations import mass_cost
from softecm.scores import adjusted_rand_index, rand_index

SETS = ["soybean", "lung", "breast_cancer", "cleveland", "heart", "credit", "hepatitis", "cmc"]
ROUNDS = {"init": "k-means++", "max_cardinality": 2, "n_init": 1, "delta": 3.0, "lam": 1.0}  # rounds of all pairs
SEED = 0


def quality() -> None:
    """Print one row per data set: adjusted Rand index (Rand index) against the classes, not used in the fit."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    if "SOFTECM_DATA" not in os.environ and beside.is_dir():
        os.environ["SOFTECM_DATA"] = str(beside)
    try:
        import kmodes  # noqa: F401
    except ImportError:
        print("kmodes is not installed: its columns are skipped (pip install kmodes).")
    print(
        "| data | rows | complete | k-modes / k-prototypes | SoftECM, same rows | all rows, with gaps | total variation |"
    )
    print("|---|---|---|---|---|---|---|")
    for name in SETS:
        bunch = getattr(datasets, f"load_{name}")()
        whole = bunch.data.notna().all(axis=1).to_numpy()
        classes = len(bunch.target_names)
        numeric = any(t.kind == "f" for t in bunch.data.dtypes if isinstance(t, np.dtype))
        metric: Any = Mixed() if numeric else Hamming()
        cells = [
            baseline(bunch.data[whole], bunch.target[whole], classes),
            ours(metric, bunch.data[whole], bunch.target[whole], classes),
            ours(metric, bunch.data, bunch.target, classes),
            "" if numeric else ours(Hamming(kind="total-variation"), bunch.data, bunch.target, classes),
        ]
        print(f"| {name} | {len(whole)} | {whole.sum()} | {' | '.join(cells)} |", flush=True)


def ours(metric: Any, data: pd.DataFrame, target: Any, classes: int) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = SoftECM(classes, metric=metric, random_state=SEED).fit(data).labels_
    return scored(target, labels)


def scored(target: Any, labels: Any) -> str:
    return f"{adjusted_rand_index(target, labels):.3f} ({rand_index(target, labels):.3f})"


def baseline(data: pd.DataFrame, target: Any, classes: int) -> str:
    """Run k-modes or k-prototypes: standardized numbers and ranks, its default gamma, best of 10 starts by its cost."""
    try:
        from kmodes.kmodes import KModes
        from kmodes.kprototypes import KPrototypes
    except ImportError:
        return "skipped"
    numbers = []
    categories = []
    for column in data:
        cells = data[column]
        if isinstance(cells.dtype, pd.CategoricalDtype) and not cells.cat.ordered:
            categories.append(cells.astype(str).to_numpy(dtype=object))
        else:
            values = (cells.cat.codes if isinstance(cells.dtype, pd.CategoricalDtype) else cells).to_numpy(dtype=float)
            numbers.append((values - values.mean()) / (values.std() or 1.0))
    table = np.stack([*numbers, *categories], 1).astype(object)
    places = list(range(len(numbers), table.shape[1]))
    if numbers:
        return scored(target, KPrototypes(classes, n_init=10, random_state=SEED).fit(table, categorical=places).labels_)
    return scored(target, KModes(classes, n_init=10, random_state=SEED).fit(table).labels_)


def speed(n: int = 1_000_000) -> None:
    """Compare one iteration for 10 numbers and 10 categories of 8 levels with one for 20 numbers; c = 5 with pairs."""
    focal = FocalSets.up_to(5, 2)
    numbers = np.random.default_rng(1).normal(size=(n, 20))
    table = mixed_table(n)
    cost = mass_cost(focal, 1.0, 1.2, 5.0, like=torch.zeros(1, dtype=torch.float64))
    prices: dict[str, Any] = {"factors": cost.factors, "beta": cost.beta, "delta2": cost.delta2}
    times = {}
    for name, metric, data in (("20 numbers", SquaredEuclidean(), numbers), ("10 + 10", Mixed(), table)):
        space = metric.make_space()
        raw = space.check(SoftECM(), data, reset=True)
        space = space.fit(raw, dtype=torch.float64)
        x = space.encode(raw)
        starts = torch.stack([space.starts(x, torch.arange(k * 99, k * 99 + 99)).mean(0) for k in range(len(focal))])
        times[name] = min(once(metric, x, starts[None], prices) for _ in range(5))
        print(f"{name}: {times[name]:.3f} s a round")
        del x
    print(f"ratio {times['10 + 10'] / times['20 numbers']:.2f} (at most 4)")
    subprocess.run([sys.executable, __file__, "memory"], check=True)


def memory(n: int = 1_000_000) -> None:
    """Measure a whole fit in a separate process: time, and peak memory above the table and the masses."""
    table = mixed_table(n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        SoftECM(5, n_init=1, max_iter=1, random_state=SEED).fit(table[:2000])  # compile first
        before = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6
        began = time.perf_counter()
        model = SoftECM(
            5, init="k-means++", max_cardinality=2, n_init=1, delta=3.0, lam=1.0, max_iter=5, random_state=SEED
        ).fit(table)
    wall = time.perf_counter() - began
    masses = model.partition_.masses.nbytes / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6 - before
    print(f"fit of 5 rounds: {wall:.1f} s; peak {peak - masses:.0f} MB above table and masses (under 300)")


def mixed_table(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(n, 10)), columns=[f"n{j}" for j in range(10)])
    for j in range(10):
        table[f"c{j}"] = pd.Categorical.from_codes(rng.integers(0, 8, n), list("abcdefgh"))
    return table


def once(metric: Any, x: Any, v: torch.Tensor, prices: dict[str, Any]) -> float:
    began = time.perf_counter()
    metric.compiled.round(x, v, 0.99 * v, weights=None, tol=1e-4, **prices)
    return time.perf_counter() - began


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["quality", "speed"]
    for word in wanted:
        {"quality": quality, "speed": speed, "memory": memory}[word]()
