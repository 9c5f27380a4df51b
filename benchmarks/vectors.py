"""ECM and Soft-ECM on vectors compared with scikit-learn's KMeans and Python's evclust: time, memory, growth.

``python benchmarks/vectors.py [--quick] [--write benchmarks/results/vectors.md]``

evclust is measured if installed (``pip install evclust``); otherwise its column is empty. Times are minima of several
repetitions; peer and ours run in the same process with the same threads.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import threading
import time
import warnings
from datetime import date
from pathlib import Path

import numpy as np
import torch
from penalty_runs import penalty_run
from sklearn.cluster import KMeans

from softecm import SoftECM
from softecm.belief import FocalSets

warnings.simplefilter("ignore")

ROUNDS = {"init": "k-means++", "max_cardinality": 2, "delta": 5.0, "lam": 1.0}  # iterations of all pairs


def least(job, repeat=5):
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return min(times)


def our_round(X, focal, beta, rounds=6):
    """Return seconds per iteration: the difference between a long and a short run, without set-up."""
    x = torch.from_numpy(X)
    start = x[None, : focal.n_clusters].clone()

    def run(n):
        return lambda: penalty_run(x, focal, start, beta=beta, delta=5.0, max_iter=n)

    run(1)()
    return (least(run(1 + rounds), 3) - least(run(1), 3)) / rounds


def lloyd_round(X, k, rounds=10):
    def run(n):
        return lambda: KMeans(k, init=X[:k], n_init=1, max_iter=n, tol=0.0, algorithm="lloyd").fit(X)

    return (least(run(1 + rounds), 3) - least(run(1), 3)) / rounds


def evclust_round(X, c, pairs):
    try:
        from evclust.ecm import ecm
    except ImportError:
        return None
    start = time.perf_counter()
    ecm(X, c, type="pairs" if pairs else "full", disp=False, epsi=1e30, g0=X[:c])
    return time.perf_counter() - start


def peak_above(job):
    """Return the largest growth of this process's memory during a job, in MB."""
    page = os.sysconf("SC_PAGE_SIZE")

    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * page

    base, top, stop = resident(), 0, threading.Event()

    def watch():
        nonlocal top
        while not stop.is_set():
            top = max(top, resident())
            time.sleep(0.005)

    thread = threading.Thread(target=watch)
    thread.start()
    job()
    stop.set()
    thread.join()
    return (max(top, base) - base) / 1e6


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a tenth of the objects")
    parser.add_argument("--write", type=Path)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    n = 100_000 if args.quick else 1_000_000
    focal = FocalSets.up_to(8, 2)
    lines = [
        "# Vectors: seconds a round",
        "",
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, {date.today()}, "
        f"`python benchmarks/vectors.py`.",
        "",
        "| job | ours | peer | ours / peer |",
        "|---|---|---|---|",
    ]
    X = rng.normal(size=(n, 10))
    lloyd = lloyd_round(X, len(focal))
    for beta in (2.0, 1.5, 1.2):
        ours = our_round(X, focal, beta)
        lines.append(
            f"| {n} × 10, c = 8 with pairs, β = {beta} | {ours:.4f} | {lloyd:.4f} (KMeans, one iteration, 36 centres) "
            f"| {ours / lloyd:.2f} |"
        )
    for rows, p, c, pairs in ((4177, 8, 3, False), (20_000, 8, 8, True)):
        Z = rng.normal(size=(rows, p))
        sets = FocalSets.up_to(c, 2) if pairs else FocalSets.full(c)
        ours = our_round(Z, sets, 2.0, rounds=50)
        peer = evclust_round(Z, c, pairs)
        shown = "not installed" if peer is None else f"{peer:.2f} (evclust for Python)"
        ratio = "" if peer is None else f"1 / {peer / ours:.0f}"
        lines.append(
            f"| {rows} × {p}, c = {c}{' with pairs' if pairs else ''}, β = 2 | {ours:.5f} | {shown} | {ratio} |"
        )
    lines += ["", "| objects | seconds a round | ns an object and set |", "|---|---|---|"]
    for size in (10_000, 100_000, n):
        seconds = our_round(X[:size], focal, 2.0)
        lines.append(f"| {size} | {seconds:.5f} | {1e9 * seconds / size / len(focal):.2f} |")
    lines += ["", "| fit of " + f"{n} × 10, c = 8 with pairs | memory above data and masses, MB |", "|---|---|"]
    masses = n * (len(focal) + 1) * 8 / 1e6
    for starts in (1, 10):
        grown = peak_above(
            lambda s=starts: SoftECM(
                8, init="k-means++", max_cardinality=2, delta=5.0, lam=1.0, n_init=s, max_iter=2, random_state=0
            ).fit(X)
        )
        lines.append(f"| n_init = {starts} | {max(grown - masses, 0):.0f} |")
    lines += ["", f"Peak of the whole process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f} MB."]
    text = "\n".join(lines) + "\n"
    print(text)
    if args.write:
        args.write.parent.mkdir(exist_ok=True)
        args.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
