"""Honesty of the answer: "no groups", the right number, detection of wrong numbers, calibrated words.

    python benchmarks/honest.py                                   # everything, one draw after the other: an hour
    python benchmarks/honest.py none number --first 7000 --draws 6
    python benchmarks/honest.py customers --draws 20

Sections: number (tables of ``planted_tables.py`` and ``tables_default.shop``, numbers of several shapes), none (data
without groups), given (a number of clusters that is one too small, right, or one too large), words (accuracy of each
decision), customers (a realistic file), sizes (numbers such as prices), cost (of the search relative to one fit).
Constants were chosen on draws below 1000; the default begins at 7000. Every line: mean, standard error, number of
problems.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from planted_tables import PlantedTable, judge_table, planted_table
from tables_default import shop

Floats = NDArray[np.float64]


def say(name: str, values: list[float]) -> None:
    """Print one line."""
    found = np.array(values, dtype=float)
    error = found.std(ddof=1) / len(found) ** 0.5 if len(found) > 1 else float("nan")
    print(f"{name:58s} {found.mean():6.3f} ± {error:.3f}  ({len(found)})", flush=True)


def chosen(X: Any) -> Any:
    """Return the default choice of choose_n_clusters."""
    from softecm import choose_n_clusters

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return choose_n_clusters(X, random_state=0)


# ---------------------------------------------------------------------- how many
def number(draws: range) -> None:
    """Measure how often the number is right."""
    for irrelevant in (0, 2, 5):
        right = [chosen(planted_table(s, c, irrelevant).X).n_clusters == c for s in draws for c in (2 + s % 4,)]
        say(f"number right: tables, {irrelevant} irrelevant columns", right)
    for irrelevant in (0, 5, 10):
        right = [chosen(shop(s, c, irrelevant).X).n_clusters == c for s in draws for c in (2 + s % 4,)]
        say(f"number right: shop, {irrelevant} irrelevant columns", right)
    for name, make in GROUPS.items():
        right = []
        for s in draws:
            X, c = make(np.random.default_rng([s, 1]))
            right.append(chosen(X).n_clusters == c)
        say(f"number right: numbers, {name}", right)


def centers(rng: np.random.Generator, c: int, p: int, apart: float) -> Floats:
    """Return random positions, the nearest two at this distance."""
    places = rng.normal(size=(c, p))
    distances = np.sqrt(((places[:, None] - places) ** 2).sum(-1)) + 1e9 * np.eye(c)
    found: Floats = places * apart / distances.min()
    return found


def groups(
    rng: np.random.Generator, apart: float = 5.0, kind: str = "round", c: int | None = None
) -> tuple[Floats, NDArray[np.int64]]:
    """Return two to five groups in two to ten columns."""
    c = int(rng.integers(2, 6)) if c is None else c
    p, each = int(rng.choice([2, 5, 10])), int(rng.choice([40, 100, 300]))
    y = np.repeat(np.arange(c), each)
    noise = rng.normal(size=(len(y), p))
    if kind == "heavy":
        noise = noise / np.sqrt(rng.chisquare(4, size=(len(y), 1)) / 4)
    elif kind == "unequal":
        noise = noise * rng.uniform(0.5, 1.5, size=c)[y, None]
    elif kind == "elongated":
        stretch = np.stack([np.linalg.qr(rng.normal(size=(p, p)))[0] * rng.uniform(0.4, 1.8, size=p) for _ in range(c)])
        noise = np.einsum("np,npq->nq", noise, stretch[y])
    return centers(rng, c, p, apart)[y] + noise, y


def _kind(kind: str, apart: float = 6.0) -> Callable[[np.random.Generator], tuple[Floats, int]]:
    def make(rng: np.random.Generator) -> tuple[Floats, int]:
        X, y = groups(rng, apart, kind)
        return X, int(y.max()) + 1

    return make


def _very_unequal(rng: np.random.Generator) -> tuple[Floats, int]:
    small = int(rng.choice([20, 30, 50]))
    return np.concatenate([rng.normal(size=(400, 2)), 0.6 * rng.normal(size=(small, 2)) + [7.0, 0.0]]), 2


GROUPS = {
    "round": _kind("round"),
    "unequal widths": _kind("unequal"),
    "elongated": _kind("elongated"),
    "heavy tails": _kind("heavy"),
    "two of very unequal size": _very_unequal,
}


# ---------------------------------------------------------------------- no groups
def heaps(rng: np.random.Generator, seed: int) -> Iterator[tuple[str, Any]]:
    """Yield objects without groups."""
    n, p = int(rng.choice([100, 300, 800])), int(rng.choice([1, 2, 5, 10]))
    yield "normal", rng.normal(size=(n, p))
    yield "uniform", rng.uniform(size=(n, p))
    yield "heavy-tailed", rng.normal(size=(n, p)) / np.sqrt(rng.chisquare(3, size=(n, 1)) / 3)
    yield "skewed", np.exp(0.7 * rng.normal(size=(n, p)))
    yield "table", planted_table(seed, 1, seed % 6).X
    line = rng.normal(size=(300, 1)) + 0.35 * rng.normal(size=(300, 3))
    yield "table of correlated columns", pd.DataFrame(line, columns=list("abc")).assign(k=rng.choice(list("xyz"), 300))
    steps = rng.normal(size=(50, 30, 1))
    yield "series, white noise", steps
    yield "series, random walks", rng.normal(size=(50, 30, 1)).cumsum(1)
    yield "table, a category follows a number", with_followers(rng, 1)
    yield "table, categories follow numbers", with_followers(rng, int(rng.integers(2, 4)))


def with_followers(rng: np.random.Generator, categories: int) -> pd.DataFrame:
    """A heap of correlated numbers, normal, heavy-tailed or skewed, with categories that are bins of one or nearly so."""
    n, p = int(rng.choice([150, 300, 800])), int(rng.integers(2, 5))
    x = rng.uniform(0.5, 1.2) * rng.normal(size=(n, 1)) + rng.uniform(0.3, 1, size=p) * rng.normal(size=(n, p))
    x = (x, x / np.sqrt(rng.chisquare(3, size=(n, 1)) / 3), np.exp(0.7 * x))[rng.integers(3)]
    table = pd.DataFrame(x, columns=[f"number{j}" for j in range(p)])
    for j in range(categories):
        place = pd.Series(x[:, rng.integers(p)]).rank(pct=True) + rng.choice([0.0, 0.1, 0.25]) * rng.normal(size=n)
        table[f"category{j}"] = pd.qcut(place, int(rng.integers(2, 5)), labels=False).map("level {}".format)
    return table


def in_categories(rng: np.random.Generator) -> pd.DataFrame:
    """Two to four groups that differ in three to six categories only, beside a heap of correlated numbers."""
    c, n, p = int(rng.integers(2, 5)), int(rng.choice([300, 600])), int(rng.integers(1, 4))
    y = rng.integers(c, size=n)
    x = rng.normal(size=(n, 1)) + rng.normal(size=(n, p))
    table = pd.DataFrame(np.exp(x) if rng.random() < 0.5 else x, columns=[f"number{j}" for j in range(p)])
    for j in range(int(rng.integers(3, 7))):
        levels = rng.permutation(list("abcde"))
        own = rng.random(n) < 0.85
        table[f"category{j}"] = np.where(own, levels[y], rng.choice(levels, n))
    return table


def none(draws: range) -> None:
    """Measure how often "no groups" is the answer, with and without groups."""
    found: dict[str, list[float]] = {}
    for s in draws:
        for name, X in heaps(np.random.default_rng([s, 2]), s):
            found.setdefault(name, []).append(chosen(X).no_groups)
    for name, values in found.items():
        say(f"no groups said: {name}", values)
    say(
        "no groups said, falsely: 5 deviations apart",
        [chosen(_kind("round", 5.0)(_rng(s, 3))[0]).no_groups for s in draws],
    )
    said = [chosen(in_categories(_rng(s, 11))).no_groups for s in draws]
    say("no groups said, falsely: groups in categories alone", said)
    from sklearn.datasets import make_moons

    moons = [make_moons(300, noise=0.06, random_state=s)[0] for s in draws]
    say("no groups said, falsely: moons", [chosen(X).no_groups for X in moons])


def _rng(seed: int, part: int) -> np.random.Generator:
    return np.random.default_rng([seed, part])


# ---------------------------------------------------------------------- a number that is given
def given(draws: range) -> None:
    """Measure how often a given number is doubted: one too small, right, one too large."""
    from softecm import SoftECM
    from softecm._warnings import NumberOfGroupsWarning

    def doubted(X: Any, c: int) -> bool:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            SoftECM(c, random_state=0).fit(X)
        return any(issubclass(one.category, NumberOfGroupsWarning) for one in said)

    for kind, apart in (("round", 5.0), ("round", 3.0), ("elongated", 5.0), ("heavy", 5.0)):
        found: dict[int, list[float]] = {-1: [], 0: [], 1: []}
        for s in draws:
            X, y = groups(_rng(s, 4), apart, kind)
            for change, values in found.items():
                if y.max() + 1 + change > 1:
                    values.append(doubted(X, int(y.max()) + 1 + change))
        for change, values in found.items():
            say(f"doubted: {kind}, {apart:g} deviations, c {change:+d}", values)


# ---------------------------------------------------------------------- words
def words(draws: range) -> None:
    """Measure how often the label is right, by decision; for "between", the set in brackets, too."""
    from scipy.optimize import linear_sum_assignment

    from softecm import SoftECM

    for kind in ("round", "unequal", "heavy", "elongated"):
        right: dict[str, list[bool]] = {}
        for s in draws:
            X, y = groups(_rng(s, 5), float(_rng(s, 6).uniform(3.0, 4.5)), kind)
            c = int(y.max()) + 1
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = SoftECM(c, random_state=0).fit(X)
            table = np.zeros((c, c))
            np.add.at(table, (model.labels_, y), 1)
            to = linear_sum_assignment(-table)[1]
            said = model.partition_.decisions()
            for word, members, label, group in zip(said.words, said.sets, model.labels_, y, strict=True):
                right.setdefault(word, []).append(group == to[label])
                if word == "between":
                    right.setdefault("between, set", []).append(group in {int(to[k]) for k in members})
        share = {word: f"{np.mean(v):.3f} ({len(v)})" for word, v in right.items()}
        order = {word: share.get(word, "-") for word in ("clearly", "rather", "between", "undecided", "between, set")}
        print(f"words right: {kind:12s} {order}", flush=True)


# ---------------------------------------------------------------------- a file as people have it
def customers(seed: int, *, noise: bool, codes: bool = True, n: int = 400) -> tuple[pd.DataFrame, Floats, Floats]:
    """Return a table of customers: money, dates, ids, typos, -999; four groups, 5 % between two, 3 % outliers; truth."""
    rng = np.random.default_rng([seed, 7])
    y = rng.choice(4, n, p=[0.35, 0.3, 0.2, 0.15])
    places = np.array([[0, 0, 0, 0, 0], [5, 0, 5, 0, 3], [0, 5, 5, 5, 0], [5, 5, 0, 5, 3]], float)
    z = places[y] + rng.normal(size=(n, 5))
    kind = np.zeros(n)
    between = rng.random(n) < 0.05
    other = (y + rng.integers(1, 4, size=n)) % 4
    z[between] = ((places[y] + places[other]) / 2)[between] + 0.3 * rng.normal(size=(int(between.sum()), 5))
    kind[between] = 1
    out = (rng.random(n) < 0.03) & ~between
    z[out] = rng.uniform(12, 20, size=(int(out.sum()), 5)) * rng.choice([-1, 1], size=(int(out.sum()), 5))
    kind[out] = 2
    channel = np.where(rng.random(n) < 0.9, np.array(["web", "store", "phone", "web"])[y], "store").astype(object)
    for rows, slip in ((rng.choice(np.flatnonzero(channel == "web"), 2, replace=False), "wbe"),):
        channel[rows] = slip
    income = 30000 + 4000 * z[:, 0]
    table = pd.DataFrame(
        {
            "customer": [f"C{1000 + i}" for i in range(n)],
            "income": income.round(2),
            "spent": (200 + 60 * z[:, 1]).round(2),
            "visits": (20 + 4 * z[:, 2]).round(),
            "age": (40 + 6 * z[:, 3]).round(),
            "since": pd.Timestamp("2018-01-01") + pd.to_timedelta((400 + 60 * z[:, 4]).round(), unit="D"),
            "channel": channel,
            "plan": np.where(rng.random(n) < 0.85, np.array(["basic", "plus", "pro", "plus"])[y], "basic"),
        }
    )
    if codes:
        table.loc[rng.choice(np.flatnonzero(kind == 0), 15, replace=False), "age"] = -999.0
    if noise:
        table = table.assign(coin=rng.choice(["heads", "tails"], n), lucky=rng.integers(1, 50, n))
    return table, y, kind


def customer_file(draws: range) -> None:
    """Print the inferred number, ambiguous objects and outliers found, and whether -999 raises a question."""
    for noise in (False, True):
        for codes in (True, False):
            right, betweens, outliers, asked = [], [], [], []
            for s in draws:
                from softecm import choose_n_clusters, read_table

                table, _, kind = customers(s, noise=noise, codes=codes)
                with warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always")
                    choice = choose_n_clusters(read_table(table).data, random_state=0)
                word = choice.model.partition_.decisions().words
                right.append(choice.n_clusters == 4)
                betweens.append(float(np.mean(word[kind == 1] == "between")))
                outliers.append(float(np.mean(word[kind == 2] == "nowhere")))
                asked.append(any("-999" in str(one.message) for one in said))
            name = f"customers{', noise columns' if noise else ''}{', -999' if codes else ''}"
            say(f"{name}: 4 groups", right)
            say(f"{name}: between found", betweens)
            say(f"{name}: outliers found", outliers)
            if codes:
                say(f"{name}: asked about -999", asked)


# ---------------------------------------------------------------------- cost
def by_size(table: PlantedTable, rng: np.random.Generator, share: float) -> PlantedTable:
    """Return the table with about this share of the numbers as sizes: their logarithms have the groups, as prices do."""
    X, members = table.X.copy(), table.kind == 0
    for name in [name for name in X if name.startswith("number")]:
        z = X[name] / X[name][members].groupby(table.y[members]).std().mean()
        if rng.random() < share:
            X[name] = np.exp(float(rng.uniform(0.2, 0.6)) * z + rng.uniform(1, 5)).clip(lower=1e-3)
        else:
            X[name] = z - z.min() + 1.0
    return replace(table, X=X)


def sizes(draws: range) -> None:
    """Measure fits and numbers of groups where numbers spread in proportion to their size, or evenly."""
    from softecm import SoftECM

    for name, share, irrelevant, only_numbers in (
        ("tables, some sizes", 0.6, 3, False),
        ("tables, no sizes", 0.0, 3, False),
        ("numbers, all sizes", 1.0, 0, True),
        ("numbers, no sizes", 0.0, 0, True),
    ):
        found: dict[str, list[float]] = {}
        right = []
        for s in draws:
            rng, c = np.random.default_rng([s, 77]), 2 + s % 4
            table = by_size(planted_table(s, c, irrelevant, apart=6.0 if only_numbers else 4.0), rng, share)
            X = table.X.filter(like="number") if only_numbers else table.X
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = SoftECM(c, random_state=0).fit(X)
            for measure, value in judge_table(table, model).items():
                found.setdefault(measure, []).append(value)
            right.append(chosen(X).n_clusters == c)
        for measure, values in found.items():
            say(f"{name}: {measure}", values)
        say(f"{name}: number right", right)


def cost(draws: range) -> None:
    """Measure CPU time of the search relative to one default fit, 10^4 x 10."""
    from softecm import SoftECM

    ratios = []
    for s in draws[:3]:
        y = _rng(s, 8).integers(5, size=10_000)
        X = centers(_rng(s, 9), 5, 10, 5.0)[y] + _rng(s, 10).normal(size=(10_000, 10))
        SoftECM(5, random_state=0).fit(X)
        began = time.process_time()
        SoftECM(5, random_state=0).fit(X)
        one, began = time.process_time() - began, time.process_time()
        chosen(X)
        ratios.append((time.process_time() - began) / one)
    say("cost of the search, in default fits", ratios)


SECTIONS: dict[str, Callable[[range], None]] = {
    "number": number,
    "none": none,
    "given": given,
    "words": words,
    "customers": customer_file,
    "sizes": sizes,
    "cost": cost,
}


def main() -> None:
    """Run the sections."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sections", nargs="*", choices=[[], *SECTIONS], default=[])
    parser.add_argument("--first", type=int, default=7000)
    parser.add_argument("--draws", type=int, default=24)
    asked = parser.parse_args()
    for name in asked.sections or SECTIONS:
        SECTIONS[name](range(asked.first, asked.first + asked.draws))


if __name__ == "__main__":
    main()
