"""Whole fits on the GPU: an iteration on many vectors, batches of Soft-DTW runs, the paper's grid, default fits.

``python benchmarks/gpu_fits.py vectors [--n 10000000] [--threads 2]``
``python benchmarks/gpu_fits.py runs [--arrays FILE]``
``python benchmarks/gpu_fits.py grid [--arrays FILE]``
``python benchmarks/gpu_fits.py defaults [--arrays FILE]``

Series come from ``softecm.datasets`` (SOFTECM_DATA or a download), or from an ``.npz`` file with one array per name.
``--write FILE`` appends the output as Markdown.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import numpy as np
import torch
from penalty_runs import penalty_run

from softecm import FocalSets, SoftECM
from softecm.datasets import make_cbf
from softecm.distances import SoftDTW
from softecm.selection import sweep

SETS = ("BasicMotions", "ERing", "CBF", "AtrialFibrillation")
DEFAULT_AIMS = {"CBF": 0.2, "ERing": 0.2, "BasicMotions": 0.25}  # seconds for a default fit
AIMS = {"BasicMotions": 2.0, "ERing": 2.0, "CBF": 4.0, "AtrialFibrillation": 6.0}  # seconds for 120 runs


def load(name: str, arrays: str | None) -> tuple[np.ndarray, int]:
    if name == "CBF":
        return make_cbf(50, random_state=0).data, 3
    if arrays is None:
        from softecm.datasets import load_series

        found = load_series(name)
        return np.asarray(found.data), len(found.target_names)
    with np.load(arrays) as file:
        return file[name], len(np.unique(file[f"{name}_y"]))


def round_seconds(x: torch.Tensor, beta: float, rounds: int) -> float:
    """Return seconds per iteration: the difference of a long and a short fit, without one-time costs."""
    focal, start = FocalSets.up_to(8, 2), x[:8][None].double().clone()
    times = []
    for count in (1, 1, 1 + rounds):  # the first warms up
        if x.is_cuda:
            torch.cuda.synchronize()
        begun = time.perf_counter()
        penalty_run(x, focal, start, beta=beta, delta=5.0, max_iter=count)
        if x.is_cuda:
            torch.cuda.synchronize()
        times.append(time.perf_counter() - begun)
    return (times[2] - times[1]) / rounds


def vectors(n: int, threads: int) -> list[str]:
    from softecm.native.library import set_threads

    set_threads(threads)
    torch.set_num_threads(threads)
    lines = ["", f"| {n:,} x 10, c = 8 with pairs | CPU, {threads} threads | GPU | ratio |", "|---|---|---|---|"]
    generator = torch.Generator().manual_seed(0)
    for dtype in (torch.float64, torch.float32):
        x = torch.randn(n, 10, generator=generator, dtype=dtype)
        for beta in (2.0, 1.2):
            slow, fast = round_seconds(x, beta, 2), round_seconds(x.cuda(), beta, 10)
            name = str(dtype).rsplit(".", 1)[-1]
            lines.append(f"| {name}, beta = {beta} | {slow:.2f} s | {1000 * fast:.1f} ms | {slow / fast:.0f} |")
            print(lines[-1], flush=True)
    return lines


def estimator(c: int, **options: Any) -> SoftECM:
    given: dict[str, Any] = {"n_init": 1, "tol": 1e-3, "max_iter": 200}
    return SoftECM.as_in_paper(c, metric=SoftDTW(), device="cuda", dtype="float32", **{**given, **options})


def timed_sweep(X: np.ndarray, grid: dict[str, Any], model: SoftECM) -> tuple[Any, float]:
    torch.cuda.synchronize()
    begun = time.perf_counter()
    found = sweep(X, grid, estimator=model, seeds=10)
    torch.cuda.synchronize()
    return found, time.perf_counter() - begun


def runs(arrays: str | None) -> list[str]:
    lines = ["", "| 120 runs (4 beta x 3 lambda x 10 starts), Soft-DTW | seconds | aim | converged | rounds |"]
    lines.append("|---|---|---|---|---|")
    grid = {"beta": [1.1, 1.2, 1.5, 2.0], "lam": [1.0, 3.0, 10.0]}
    for name in SETS:
        X, c = load(name, arrays)
        timed_sweep(X, grid, estimator(c, max_iter=2))  # compiles
        found, seconds = timed_sweep(X, grid, estimator(c))
        done, rounds = float(found["converged"].mean()), float(found["n_iter"].mean())
        lines.append(f"| {name} | {seconds:.2f} | {AIMS[name]:g} | {done:.0%} | {rounds:.0f} on average |")
        print(lines[-1], flush=True)
    return lines


def grid(arrays: str | None) -> list[str]:
    lines = [
        "",
        "| the paper's grid, 1000 runs each (10 beta x 10 lambda x 10 starts), Soft-DTW | seconds | converged |",
    ]
    lines.append("|---|---|---|")
    values = {"beta": np.round(np.linspace(1.1, 2.0, 10), 1), "lam": [float(v) for v in range(1, 11)]}
    total = 0.0
    for name in ("BasicMotions", "ERing", "AtrialFibrillation"):
        X, c = load(name, arrays)
        timed_sweep(X, values, estimator(c, max_iter=2))
        found, seconds = timed_sweep(X, values, estimator(c))
        total += seconds
        lines.append(f"| {name} | {seconds:.1f} | {float(found['converged'].mean()):.0%} |")
        print(lines[-1], flush=True)
    lines.append(f"| all | {total:.1f} (aim: 300) | |")
    print(lines[-1], flush=True)
    return lines


def defaults(arrays: str | None) -> list[str]:
    lines = ["", "| one fit, float32, z-normalised | metric | GPU, s | CPU here, s | aim | same labels |"]
    lines.append("|---|---|---|---|---|---|")
    for name, metric in product(("CBF", "ERing", "BasicMotions"), ("auto", "softdtw")):
        X, c = load(name, arrays)
        X = (X - X.mean(1, keepdims=True)) / X.std(1, keepdims=True)
        (gpu, labels), (cpu, expected) = (default_fit(X, c, metric, device) for device in ("cuda", "cpu"))
        aim = DEFAULT_AIMS[name] if metric == "auto" else "–"
        same = np.mean(labels == expected)
        lines.append(f"| {name} | `{metric}` | {gpu:.3f} | {cpu:.3f} | {aim} | {same:.0%} |")
        print(lines[-1], flush=True)
    return lines


def default_fit(X: np.ndarray, c: int, metric: str, device: str) -> tuple[float, np.ndarray]:
    """Return the minimum time of seven fits after one that compiles, and the labels."""
    times = []
    for _ in range(8):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        model = SoftECM(c, metric=metric, random_state=0, device=device, dtype="float32").fit(X)
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begun)
    return min(times[1:]), model.labels_


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("vectors", "runs", "grid", "defaults"))
    parser.add_argument("--n", type=int, default=10_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--arrays")
    parser.add_argument("--write")
    given = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("this benchmark needs an NVIDIA GPU that torch can see.")
    lines = vectors(given.n, given.threads) if given.what == "vectors" else globals()[given.what](given.arrays)
    if given.write:
        card = f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {datetime.date.today()}"
        command = f"`python benchmarks/gpu_fits.py {given.what}`"
        with Path(given.write).open("a", encoding="utf-8") as file:
            file.write("\n".join(["", f"{command}: {card}.", *lines, ""]))


if __name__ == "__main__":
    main()
