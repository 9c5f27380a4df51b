"""Default fits of tables: planted tables with irrelevant columns, and labelled ones, compared with equal weights.

    python benchmarks/tables_default.py planted --seeds 7000-7014
    python benchmarks/tables_default.py labelled        # needs the folder SOFTECM_DATA
    python benchmarks/tables_default.py speed           # on an idle machine

Three generators of tables: ``clinic`` (normal groups in three numbers, two categories; irrelevant coins, categories and
numbers), ``shop`` (skewed, rounded and heavy-tailed numbers, categories of up to 30 levels, missing cells in every
column; irrelevant ids, codes and uniform numbers) and ``bank`` (incomes, counts, ratings, flags, groups of 5 to 60 % of
the rows; irrelevant correlated numbers; missing cells, and cells a hundred times too large). A row of the table: ARI of
the members, planted rows between two groups and outliers found, members labelled between; means and standard errors.
The rule was chosen on seeds below 60 of an earlier version of the first two, and fixed with knowledge of tables of
``bank`` of seeds 100 to 303; nothing was chosen on the default seeds. ``--write`` writes the table of planted problems
to ``docs/measured/tables_default.md``.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import labelled
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from softecm import SoftECM
from softecm.distances import Mixed

MEASURED = Path(__file__).resolve().parent.parent / "docs" / "measured" / "tables_default.md"
MEMBER, BETWEEN, OUTLIER = 0, 1, 2
WAYS: dict[str, Any] = {"by default": "auto", "all columns alike": Mixed(weights=None)}


class Planted(NamedTuple):
    """A table, the group of each row, and whether it is a member, between two groups, or an outlier."""

    X: pd.DataFrame
    y: NDArray[np.int64]
    kind: NDArray[np.int64]


def centers(rng: np.random.Generator, c: int, columns: int, apart: float) -> NDArray[np.float64]:
    """Return group means with smallest distance about ``apart``."""
    while True:
        found = rng.normal(size=(c, columns)) * apart / 1.6
        if squares(found).min() > 0.8 * apart**2:
            return found
        apart *= 0.999


def squares(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return squared distances between different means; infinite from a mean to itself."""
    found = ((means[:, None] - means) ** 2).sum(-1)
    np.fill_diagonal(found, np.inf)
    return found


def clinic(seed: int, c: int, noise: int, n: int = 400) -> Planted:
    """Return normal groups, equal in all columns; noise of four simple kinds."""
    rng = np.random.default_rng(seed)
    y = rng.choice(c, n, p=rng.dirichlet(np.full(c, 6.0)) * 0.8 + 0.2 / c)
    means = centers(rng, c, 3, 4.0)
    X = means[y] + rng.normal(size=(n, 3)) * rng.uniform(0.7, 1.3, size=(c, 1))[y]
    kind = with_kinds(rng, X, means, y, np.abs(means).max() + 8.0)
    cells: dict[str, Any] = {f"n{j}": X[:, j] * 10 ** rng.uniform(-1, 3) for j in range(3)}
    for j in range(2):
        cells[f"c{j}"] = category(rng, y, c, int(rng.integers(2, 5)), 0.35)
    kinds: list[Callable[[], Any]] = [
        lambda: rng.choice(["yes", "no"], n),
        lambda: rng.normal(size=n),
        lambda: rng.choice(list("abcde"), n),
        lambda: rng.uniform(size=n),
    ]
    cells |= {f"z{j}": kinds[j % 4]() for j in range(noise)}
    return Planted(pd.DataFrame(cells), y, kind)


def shop(seed: int, c: int, noise: int, n: int = 500) -> Planted:
    """Return heavy-tailed groups in two to four numbers, some skewed or rounded; realistic noise; missing cells."""
    rng = np.random.default_rng(seed)
    y = rng.choice(c, n, p=rng.dirichlet(np.full(c, 4.0)) * 0.7 + 0.3 / c)
    p, q = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    means = centers(rng, c, p, 4.2)
    X = means[y] + rng.uniform(0.6, 1.4, size=(c, p))[y] * rng.standard_t(8, size=(n, p))
    kind = with_kinds(rng, X, means, y, 30.0)
    shapes: list[Callable[[Any], Any]] = [
        lambda z: 10.0 * np.exp(np.clip(z, -40, 9) / 3),
        lambda z: np.round(7 * z + 40),
        lambda z: z * 10 ** rng.uniform(-2, 4),
    ]
    cells: dict[str, Any] = {f"n{j}": shapes[int(rng.integers(3))](X[:, j]) for j in range(p)}
    for j in range(q):
        levels = int(rng.choice([2, 3, 4, 6, 30]))
        cells[f"c{j}"] = category(rng, y, c, levels, 0.5 if levels < 30 else 0.08)
    kinds: list[Callable[[], Any]] = [
        lambda: 100 * rng.uniform(size=n),
        lambda: np.array([f"u{v}" for v in rng.integers(30, size=n)], object),
        lambda: 50 * rng.lognormal(0, 1.2, n),
        lambda: rng.choice(["m", "f"], n),
        lambda: rng.permutation(n) + 1000.0,
        lambda: rng.choice(["x", "y", "z"], n, p=[0.8, 0.15, 0.05]),
        lambda: rng.standard_t(3, n),
    ]
    cells |= {f"z{j}": kinds[j % 7]() for j in range(noise)}
    frame = pd.DataFrame(cells)
    frame = frame.mask(rng.random(frame.shape) < 0.04)[list(rng.permutation(frame.columns))]
    kept = frame.notna().any(axis=1).to_numpy()
    return Planted(frame[kept].reset_index(drop=True), y[kept], kind[kept])


def bank(seed: int, c: int, noise: int, n: int = 600) -> Planted:
    """Return groups of unequal sizes in incomes, counts, ratings, flags and a region; correlated noise; errors, gaps."""
    rng = np.random.default_rng(seed)
    sizes = unequal(rng, c)
    y = rng.choice(c, n, p=sizes)
    means = centers(rng, c, 4, 4.0)
    X = means[y] + rng.uniform(0.7, 1.3, size=(c, 4))[y] * rng.normal(size=(n, 4))
    kind = with_kinds(rng, X, means, y, np.abs(means).max() + 10.0)
    cells: dict[str, Any] = {
        "income": np.exp(10 + 0.35 * X[:, 0]).round(-1),
        "visits": rng.poisson(np.exp(np.clip(2.2 + 0.4 * X[:, 1], -5, 8))),
        "rating": np.clip(np.round(3 + 0.5 * X[:, 2]), 1, 5),
        "balance": 250 * X[:, 3] * np.exp(0.1 * rng.normal(size=n)),
        "member": np.where(rng.random(n) < rng.beta(0.4, 0.4, size=c)[y], "yes", "no"),
        "region": category(rng, y, c, 5, 0.4),
    }
    shared = rng.normal(size=n)  # common to the irrelevant numbers
    kinds: list[Callable[[], Any]] = [
        lambda: 20 * (shared + 0.7 * rng.normal(size=n)),
        lambda: np.exp(shared + 0.8 * rng.normal(size=n)),
        lambda: rng.choice(["a", "b"], n, p=[0.9, 0.1]),
        lambda: rng.poisson(3.0, n),
        lambda: rng.integers(1, 6, n),
        lambda: rng.choice([f"t{k}" for k in range(12)], n, p=rng.dirichlet(np.full(12, 1.0))),
    ]
    cells |= {f"z{j}": kinds[j % 6]() for j in range(noise)}
    frame = pd.DataFrame(cells)
    numbers = [name for name in frame if frame[name].dtype.kind in "fi"]
    frame[numbers] = frame[numbers].astype(float)
    for i in np.flatnonzero(rng.random(n) < rng.uniform(0.01, 0.03)):  # a misplaced decimal point
        frame.loc[i, rng.choice(numbers)] *= 100
    frame = frame.mask(rng.random(frame.shape) < rng.uniform(0.03, 0.08))[list(rng.permutation(frame.columns))]
    kept = frame.notna().any(axis=1).to_numpy()
    return Planted(frame[kept].reset_index(drop=True), y[kept], kind[kept])


def unequal(rng: np.random.Generator, c: int) -> NDArray[np.float64]:
    """Return shares of the groups, from 5 to 60 %."""
    while True:
        shares: NDArray[np.float64] = rng.dirichlet(np.full(c, 1.5))
        if shares.min() >= 0.05 and shares.max() <= 0.6:
            return shares


def with_kinds(rng: np.random.Generator, X: Any, means: Any, y: Any, reach: float) -> NDArray[np.int64]:
    """Move three per cent of rows between two groups, and as many anywhere; changes X."""
    n, p = X.shape
    kind = np.zeros(n, dtype=np.int64)
    between = rng.random(n) < 0.03
    near = squares(means).argmin(1)
    X[between] = (means[y[between]] + means[near[y[between]]]) / 2 + 0.3 * rng.normal(size=(between.sum(), p))
    out = (rng.random(n) < 0.03) & ~between
    X[out] = rng.uniform(-1, 1, size=(out.sum(), p)) * reach
    kind[between], kind[out] = BETWEEN, OUTLIER
    return kind


def category(rng: np.random.Generator, y: Any, c: int, levels: int, concentration: float) -> Any:
    """Return a category with a distribution for each group."""
    shares = rng.dirichlet(np.full(levels, concentration), size=c)
    return np.array([f"v{rng.choice(levels, p=shares[k])}" for k in y], object)


def judged(problem: Planted, model: SoftECM) -> list[float]:
    """Return the ARI of members; between and outliers found; members labelled between."""
    words, member = model.decisions().words, problem.kind == MEMBER
    rates = [float((words[problem.kind == kind] == word).mean()) if (problem.kind == kind).any() else np.nan
             for kind, word in ((BETWEEN, "between"), (OUTLIER, "nowhere"), (MEMBER, "between"))]  # fmt: skip
    return [float(adjusted_rand_score(problem.y[member], model.labels_[member])), *rates]


MAKERS: dict[Callable[[int, int, int], Planted], tuple[int, ...]] = {clinic: (0, 2, 5), shop: (0, 10), bank: (0, 5, 10)}


def on_planted(seeds: list[int], only: list[str] | None) -> list[str]:
    """Run each generator, with and without irrelevant columns, c = 2 to 5."""
    lines = [
        "| tables | irrelevant columns | weights | n | ARI of members | between found | outliers found | called between |"
    ]
    lines.append("|---|---|---|---|---|---|---|---|")
    for make, noises in MAKERS.items():
        if only and make.__name__ not in only:
            continue
        for noise in noises:
            problems = [(make(10 * seed + c, c, noise), c) for seed in seeds for c in (2, 3, 4, 5)]
            for way, metric in WAYS.items():
                rows = [
                    judged(problem, SoftECM(c, metric=metric, random_state=0).fit(problem.X)) for problem, c in problems
                ]
                table = np.array(rows)
                errors = np.nanstd(table, 0, ddof=1) / np.sqrt((~np.isnan(table)).sum(0))
                cells = [f"{m:.3f} ± {e:.3f}" for m, e in zip(np.nanmean(table, 0), errors, strict=True)]
                lines.append(f"| {make.__name__} | {noise} | {way} | {len(rows)} | {' | '.join(cells)} |")
                print(lines[-1], flush=True)
    return lines


def on_labelled() -> None:
    """Run the eleven tables."""
    means: dict[str, list[float]] = {way: [] for way in WAYS}
    for data in labelled.tables():
        for way, metric in WAYS.items():
            labels = SoftECM(data.c, metric=metric, random_state=0).fit(data.X).labels_
            means[way].append(float(adjusted_rand_score(data.y, labels)))
        print(data.name, {way: round(found[-1], 3) for way, found in means.items()}, flush=True)
    print("mean", {way: round(float(np.mean(found)), 3) for way, found in means.items()})


def on_speed() -> None:
    """Time 200 000 rows of five numbers and three categories, compared with k-means on one-hot columns."""
    rng, n = np.random.default_rng(5), 200_000
    y = rng.integers(4, size=n)
    numbers = 3 * rng.normal(size=(4, 5))[y] + rng.normal(size=(n, 5))
    codes = [
        (rng.dirichlet(np.full(4, 0.4), size=4).cumsum(1)[y] < rng.random(n)[:, None]).sum(1).clip(0, 3)
        for _ in range(3)
    ]
    frame = pd.DataFrame(numbers).rename(columns="n{}".format)
    for j, own in enumerate(codes):
        frame[f"c{j}"] = np.array(list("abcd"))[own]
    hot = np.concatenate([(numbers - numbers.mean(0)) / numbers.std(0), *[np.eye(4)[own] for own in codes]], 1)
    for state in range(3):
        fits = {"k-means": lambda s=state: KMeans(4, n_init=10, random_state=s).fit(hot)}
        fits |= {way: lambda s=state, m=m: SoftECM(4, metric=m, random_state=s).fit(frame) for way, m in WAYS.items()}
        print({way: round(cpu(fit), 2) for way, fit in fits.items()}, "s of CPU time", flush=True)
    y = rng.integers(5, size=n)
    five = pd.DataFrame(6 * rng.normal(size=(5, 4))[y] + rng.normal(size=(n, 4))).rename(columns="n{}".format)
    five["random"] = rng.choice(list("abc"), n)
    found = {
        way: adjusted_rand_score(y, SoftECM(5, metric=m, random_state=0).fit(five).labels_) for way, m in WAYS.items()
    }
    print("five groups and a random category, ARI:", {way: round(float(value), 4) for way, value in found.items()})


def cpu(fit: Callable[[], Any]) -> float:
    """Return CPU seconds."""
    began = time.process_time()
    fit()
    return time.process_time() - began


def main() -> None:
    """Run the requested part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["planted", "labelled", "speed"])
    parser.add_argument("--seeds", default="7000-7014")
    parser.add_argument(
        "--only", nargs="*", choices=[make.__name__ for make in MAKERS], help="generators; default: all"
    )
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.part == "planted":
        first, last = map(int, asked.seeds.split("-"))
        lines = on_planted(list(range(first, last + 1)), asked.only)
        if asked.write:
            about = f"`python benchmarks/tables_default.py planted --seeds {asked.seeds}`, seeds that nothing was chosen on."
            MEASURED.write_text("\n".join([about, "", *lines]) + "\n", encoding="utf-8")
    elif asked.part == "labelled":
        on_labelled()
    else:
        on_speed()


if __name__ == "__main__":
    main()
