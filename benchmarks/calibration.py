"""Do the masses mean what they say? Coverage on planted problems, and what it costs.

``python benchmarks/calibration.py`` draws 200 data sets from mixtures of Gaussians (2 to 4 groups, 2 to 5 columns, 300
objects, unequal shares and sizes, centres 3 to 5 deviations apart), fits SoftECM and ECM with their defaults and the right
number of clusters, and counts over random pairs of objects how often the pair's probability of belonging together under
the generating mixture lies between belief and plausibility: of the model's own masses (before), of the calibrated ones
(after), and in the stated interval of 90 % itself. ``--speed`` times 100 refits of 10000 objects in 10 columns, 5
clusters, beside default fits.
Options: ``--sets 20``, ``--first 1000`` (seed of the first set), ``--write``.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from softecm import ECM, SoftECM, calibrate
from softecm.calibration.calibrating import _said
from softecm.calibration.intervals import bounds
from softecm.calibration.refits import refits

Floats = NDArray[np.float64]
RESULT = Path(__file__).parent / "results" / "calibration.md"
HEAD = (
    "| model | sets | in the interval of 90 % | between belief and plausibility, after | before | width of the interval | "
    "after | before |\n|---|---|---|---|---|---|---|---|"
)


def planted(seed: int, n: int = 300) -> tuple[Floats, Floats]:
    """Objects, and their probabilities under the mixture that made them."""
    rng = np.random.default_rng(seed)
    c, p = int(rng.integers(2, 5)), int(rng.integers(2, 6))
    centers = rng.normal(size=(c, p))
    centers *= rng.uniform(3, 5) / pdist(centers).min()
    share, size = rng.dirichlet(np.full(c, 10.0)), rng.uniform(0.8, 1.2, c)
    y = rng.choice(c, n, p=share)
    X = centers[y] + size[y][:, None] * rng.normal(size=(n, p))
    logs = np.log(share) - p * np.log(size) - np.square(X[:, None] - centers).sum(-1) / (2 * size**2)
    odds = np.exp(logs - logs.max(1, keepdims=True))
    return X, odds / odds.sum(1, keepdims=True)


def row(kind: type, seed: int) -> list[float]:
    """Shares of pairs inside, and mean widths: interval, after, before."""
    X, truth = planted(seed)
    model = kind(truth.shape[1], random_state=0).fit(X)
    if model.collapsed_:
        return [np.nan] * 6
    found = calibrate(model, X)
    rng = np.random.default_rng(seed + 1)
    i = rng.integers(0, len(X), 3000)
    j = (i + rng.integers(1, len(X), 3000)) % len(X)
    together = (truth[i] * truth[j]).sum(1)
    ends = [bounds(found.memberships, i, j, 0.9), _said(found.partition, i, j), _said(model.partition_, i, j)]
    inside = [float(((together >= low) & (together <= high)).mean()) for low, high in ends]
    return [*inside, *(float((high - low).mean()) for low, high in ends)]


def coverage(sets: int, first: int, write: bool) -> None:
    rows = []
    for kind in (SoftECM, ECM):
        found = []
        for seed in range(first, first + sets):
            found.append(row(kind, seed))
            if len(found) % 20 == 0:
                print(kind.__name__, len(found), np.nanmean(found, 0).round(3).tolist(), flush=True)
        cells = " | ".join(f"{value:.3f}" for value in np.nanmean(found, 0))
        rows.append(f"| {kind.__name__} | {sets} | {cells} |")
    print(HEAD, *rows, sep="\n")
    if write:
        words = (__doc__ or "").split("\n\n", 1)[1].replace("``", "`").strip()
        RESULT.write_text(f"# Calibrated masses\n\n{words}\n\n{HEAD}\n" + "\n".join(rows) + "\n", encoding="utf-8")


def speed() -> None:
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(5, 10)) * 2.2)[rng.integers(0, 5, 10_000)] + rng.normal(size=(10_000, 10))
    SoftECM(5, random_state=0).fit(X)  # compiled
    fits = []
    for seed in range(5):
        began = time.perf_counter()
        model = SoftECM(5, random_state=seed).fit(X)
        fits.append(time.perf_counter() - began)
    options = {"resample": "auto", "warm": True, "random_state": 0, "journal": None, "progress": False}
    refits(model, X, 2, **options)
    began = time.perf_counter()
    refits(model, X, 100, **options)
    taken = time.perf_counter() - began
    print(f"default fit {min(fits):.3f} s, 100 refits {taken:.2f} s: {taken / min(fits):.1f} default fits")
    began = time.perf_counter()
    calibrate(model, X)
    print(f"calibrate, masses included: {(time.perf_counter() - began) / min(fits):.1f} default fits")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if asked.speed:
            speed()
        else:
            coverage(asked.sets, asked.first, asked.write)
