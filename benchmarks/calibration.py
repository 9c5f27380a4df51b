"""Calibration of masses: coverage on planted problems, and cost.

``python benchmarks/calibration.py`` draws data sets from mixtures (2 to 4 groups, 2 to 5 columns, 300 objects, centres
3 to 5 deviations apart): 200 of round Gaussians of about one size (gaussian), and 50 each of round Gaussians with sizes
from a half to two and shares from 5 % on (uneven), of Gaussians with axes from a half to two, turned anyhow
(elongated), of t distributions with 4 degrees of freedom (tails), of uniform boxes (boxes), and of Gaussians beside two
informative categories and four columns that say nothing, in any unit (tables). SoftECM and ECM (numbers only) are
fitted with their defaults and the right number of clusters; over random pairs of objects it is counted how often the
pair's probability of belonging together under the generating mixture lies in the stated interval of 90 %, and between
belief and plausibility of the calibrated masses (after) and of the model's own (before). Then: widths; the interval
widened by 0.01 on both sides (nearly); and how far off the refits' mean is. Masses are fitted to some of the pairs.
``--between`` counts planted objects between two groups: how many the model calls so, how many of those have an interval
for the pair of groups that excludes 0, how many are still between after calibration; and the same of members.
``--speed`` times 100 refits of 10000 objects in 10 columns, 5 clusters, beside default fits, in CPU seconds and on the
clock; ``--large`` one calibration of 100000 objects, with its memory.
Options: ``--sets 20``, ``--first 1000`` (seed of the first set), ``--shape tails``, ``--model SoftECM``, ``--write``.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from softecm import ECM, SoftECM, calibrate
from softecm.calibration.calibrating import _said
from softecm.calibration.intervals import bounds, resolved
from softecm.calibration.refitting import Refitting, refits
from softecm.datasets import make_blobs

Floats = NDArray[np.float64]
RESULT = Path(__file__).parent / "results" / "calibration.md"
TAIL = 4.0  # degrees of freedom of heavy tails
NEARLY = 0.01
SHAPES = {"gaussian": 200, "uneven": 50, "elongated": 50, "tails": 50, "boxes": 50, "tables": 50}  # number of sets
HEAD = (
    "| groups | model | sets | in the interval of 90 % | between belief and plausibility, after | before | width of the "
    "interval | after | before | nearly in the interval | off by |\n|---|---|---|---|---|---|---|---|---|---|---|"
)


def planted(seed: int, shape: str = "gaussian", n: int = 300) -> tuple[Floats, Floats]:
    """Return objects, and their probabilities under the generating mixture."""
    rng = np.random.default_rng(seed)
    c, p = int(rng.integers(2, 5)), int(rng.integers(2, 6))
    centers = rng.normal(size=(c, p))
    centers *= rng.uniform(3, 5) / pdist(centers).min()
    uneven = shape == "uneven"
    share = rng.dirichlet(np.full(c, 2.0 if uneven else 10.0))
    if uneven:
        share = np.maximum(share, 0.05) / np.maximum(share, 0.05).sum()
    size = np.exp(rng.uniform(-0.7, 0.7, c)) if uneven else rng.uniform(0.8, 1.2, c)
    forms = [np.eye(p) * one for one in size]
    if shape == "elongated":
        forms = [_elongated(rng, p) for _ in range(c)]
    y = rng.choice(c, n, p=share)
    raw = _drawn(rng, shape, (n, p))
    X = centers[y] + np.einsum("npq,nq->np", np.stack(forms)[y], raw)
    logs = np.stack(
        [_log_density(shape, np.linalg.solve(f, (X - m).T).T, f) for f, m in zip(forms, centers, strict=True)], 1
    )
    logs = logs + np.log(share)
    odds = np.exp(logs - logs.max(1, keepdims=True))
    return X, odds / odds.sum(1, keepdims=True)


def planted_table(seed: int, n: int = 400) -> tuple[pd.DataFrame, Floats]:
    """Return a table with three informative numbers and two categories, four irrelevant columns; and probabilities."""
    rng = np.random.default_rng(seed)
    c = int(rng.integers(2, 5))
    centers = rng.normal(size=(c, 3))
    centers *= rng.uniform(3, 4.5) / pdist(centers).min()
    share, size = rng.dirichlet(np.full(c, 10.0)), rng.uniform(0.7, 1.3, c)
    y = rng.choice(c, n, p=share)
    X = centers[y] + size[y, None] * rng.normal(size=(n, 3))
    logs = np.log(share) - 3 * np.log(size) - 0.5 * (np.square(X[:, None] - centers).sum(2) / size**2)
    cells: dict[str, object] = {f"n{j}": X[:, j] * 10 ** rng.uniform(-1, 3) for j in range(3)}
    for j in range(2):
        chances = rng.dirichlet(np.full(3, 0.5), size=c) * 0.97 + 0.01
        codes = np.array([rng.choice(3, p=chances[k]) for k in y])
        logs += np.log(chances.T[codes])
        cells[f"c{j}"] = np.array(["red", "green", "blue"], dtype=object)[codes]
    cells |= {"z0": rng.choice(["yes", "no"], n), "z1": rng.normal(size=n) * 50}
    cells |= {"z2": rng.choice(list("abcde"), n), "z3": rng.uniform(size=n)}
    odds = np.exp(logs - logs.max(1, keepdims=True))
    return pd.DataFrame(cells), odds / odds.sum(1, keepdims=True)


def _elongated(rng: np.random.Generator, p: int) -> Floats:
    """Return a covariance factor with axes from a half to two, randomly rotated."""
    turn, _ = np.linalg.qr(rng.normal(size=(p, p)))
    form: Floats = turn * np.exp(rng.uniform(-0.7, 0.7, p))
    return form


def _drawn(rng: np.random.Generator, shape: str, size: tuple[int, int]) -> Floats:
    """Draw objects of a centred group: variance about one in every column."""
    if shape == "boxes":
        return rng.uniform(-np.sqrt(3), np.sqrt(3), size)
    normal: Floats = rng.normal(size=size)
    return normal / np.sqrt(rng.chisquare(TAIL, (size[0], 1)) / TAIL) if shape == "tails" else normal


def _log_density(shape: str, z: Floats, form: Floats) -> Floats:
    """Return the log-density of a group up to a common constant."""
    p, inner = z.shape[1], np.square(z).sum(1)
    volume = np.linalg.slogdet(form)[1]
    if shape == "boxes":
        return np.where((np.abs(z) <= np.sqrt(3) + 1e-9).all(1), 0.0, -np.inf) - volume
    if shape == "tails":
        return -0.5 * (TAIL + p) * np.log1p(inner / TAIL) - volume
    return -0.5 * inner - volume


def row(kind: type, seed: int, shape: str) -> list[float]:
    """Return shares of pairs inside, and mean widths: interval, after, before; widened by ``NEARLY``; mean error."""
    X, truth = planted_table(seed) if shape == "tables" else planted(seed, shape)
    model = kind(truth.shape[1], random_state=0).fit(X)
    if model.collapsed_:
        return [np.nan] * 8
    found = calibrate(model, X, pairs="some")
    rng = np.random.default_rng(seed + 1)
    i = rng.integers(0, len(X), 3000)
    j = (i + rng.integers(1, len(X), 3000)) % len(X)
    together = (truth[i] * truth[j]).sum(1)
    stated = resolved(*bounds(found.memberships, i, j, 0.9), len(X))
    ends = [stated, _said(found.partition, i, j), _said(model.partition_, i, j)]
    inside = [float(((together >= low) & (together <= high)).mean()) for low, high in ends]
    low, high = ends[0]
    nearly = float(((together >= low - NEARLY) & (together <= high + NEARLY)).mean())
    middle = np.einsum("bik,bik->bi", found.memberships[:, i], found.memberships[:, j]).mean(0)
    return [
        *inside,
        *(float((high - low).mean()) for low, high in ends),
        nearly,
        float(np.abs(middle - together).mean()),
    ]


def between(sets: int, first: int) -> None:
    """Evaluate planted objects between two of 2 to 4 groups, in blobs of 300 objects."""
    counts = np.zeros(7)
    for seed in range(first, first + sets):
        rng = np.random.default_rng(seed)
        c = int(rng.integers(2, 5))
        made = make_blobs(300, n_clusters=c, distance=rng.uniform(5, 9), between=12, outliers=3, random_state=seed)
        model = SoftECM(c, random_state=0).fit(made.data)
        found = calibrate(model, made.data, pairs="none", random_state=seed)
        said, after = model.decisions().words == "between", found.decisions().words == "between"
        planted_between, member, sure = made.target == -1, made.target >= 0, found.said[0] > 0
        counts += [
            *(12, (said & planted_between).sum(), (said & sure & planted_between).sum()),
            *(
                (after & planted_between).sum(),
                (said & member).sum(),
                (said & sure & member).sum(),
                (after & member).sum(),
            ),
        ]
    names = ("planted between", "called so", "of these, interval excludes 0", "between after calibration")
    names += ("members called between", "of these, interval excludes 0", "members between after calibration")
    for name, count in zip(names, counts, strict=True):
        print(f"{name}: {count:.0f}")
    print(f"share of those called between whose interval excludes 0: {counts[2] / max(counts[1], 1):.3f}")


def coverage(sets: int | None, first: int, shapes: list[str], models: list[str], write: bool) -> None:
    rows = []
    for shape in shapes:
        many = sets or SHAPES[shape]
        for kind in (SoftECM, ECM):
            if kind.__name__ not in models or (shape == "tables" and kind is ECM):
                continue
            found = []
            for seed in range(first, first + many):
                found.append(row(kind, seed, shape))
                if len(found) % 20 == 0:
                    print(shape, kind.__name__, len(found), np.nanmean(found, 0).round(3).tolist(), flush=True)
            cells = " | ".join(f"{value:.3f}" for value in np.nanmean(found, 0))
            rows.append(f"| {shape} | {kind.__name__} | {many} | {cells} |")
            print(rows[-1], flush=True)
    if write:
        words = (__doc__ or "").split("\n\n", 1)[1].replace("``", "`").strip()
        RESULT.write_text(f"# Calibrated masses\n\n{words}\n\n{HEAD}\n" + "\n".join(rows) + "\n", encoding="utf-8")


def speed() -> None:
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(5, 10)) * 2.2)[rng.integers(0, 5, 10_000)] + rng.normal(size=(10_000, 10))
    SoftECM(5, random_state=0).fit(X)  # compile
    fits, models = [], []
    for seed in range(5):
        found, taken = timed(lambda seed=seed: SoftECM(5, random_state=seed).fit(X))
        fits.append(taken)
        models.append(found)
    model, fit = models[-1], np.min(fits, 0)
    refits(Refitting(model, X), 2)
    taken = np.min([timed(lambda: refits(Refitting(model, X), 100))[1] for _ in range(3)], 0)
    told("100 refits", taken, fit)
    told("calibrate, masses included", timed(lambda: calibrate(model, X))[1], fit)


def timed(work: Callable[[], Any]) -> tuple[Any, tuple[float, float]]:
    """Return the result, and seconds: CPU time of this process, and wall time."""
    cpu, clock = time.process_time(), time.perf_counter()
    found = work()
    return found, (time.process_time() - cpu, time.perf_counter() - clock)


def told(what: str, taken: Sequence[float], fit: Sequence[float]) -> None:
    cpu, clock = (f"{t:.2f} s, {t / one:.1f} default fits" for t, one in zip(taken, fit, strict=True))
    print(f"{what}: {cpu} (CPU); {clock} (clock); a fit {fit[0]:.3f} and {fit[1]:.3f} s", flush=True)


def large() -> None:
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(5, 10)) * 2.2)[rng.integers(0, 5, 100_000)] + rng.normal(size=(100_000, 10))
    model, fit = timed(lambda: SoftECM(5, random_state=0).fit(X))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found, taken = timed(lambda: calibrate(model, X, progress=True))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    told("calibrate 100000 x 10", taken, fit)
    print(f"most memory {before / 1024:.0f} MB before, {after / 1024:.0f} MB after; {found}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--shape", nargs="*", choices=list(SHAPES), default=list(SHAPES))
    parser.add_argument("--model", nargs="*", choices=["SoftECM", "ECM"], default=["SoftECM", "ECM"])
    parser.add_argument("--between", action="store_true")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if asked.between:
            between(asked.sets or 20, asked.first)
        elif asked.speed or asked.large:
            speed() if asked.speed else large()
        else:
            coverage(asked.sets, asked.first, asked.shape, asked.model, asked.write)
