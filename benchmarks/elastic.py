"""Elastic distances, nanoseconds per cell: soft ones beside our Soft-DTW, hard ones beside aeon's, in one run.

    python benchmarks/elastic.py [--threads 1] [--dtype float64] [--seconds 2] [--wall] [--write]

A cell is one pair of steps (MSM aligns every channel for itself, and so has more of them). Processor time of all threads
(``--wall``: wall time), best of several repetitions, ours and the peers' in turn; on a busy machine only the ratios count.
aeon computes in float64 and is timed on the first few series; its parameters are ours. Its Soft-DTW has no gradient.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

SHAPES = ((128, 6, 128, 1), (64, 6, 128, 3), (32, 6, 640, 1))
RESULTS = Path(__file__).parent / "results" / "elastic.md"
Run = Callable[[], object]


def best_of(runs: dict[str, tuple[Run, float]], seconds: float, clock: Callable[[], float]) -> dict[str, float]:
    """Return nanoseconds per cell of each run, alternating until the time is over."""
    for run, _ in runs.values():
        run()  # compile
    best = dict.fromkeys(runs, np.inf)
    begin = time.perf_counter()
    rounds = 0
    while rounds < 3 or time.perf_counter() - begin < seconds * len(runs):
        for name, (run, cells) in runs.items():
            start = clock()
            run()
            best[name] = min(best[name], (clock() - start) * 1e9 / cells)
        rounds += 1
    return best


def measured(shape: tuple[int, int, int, int], args: argparse.Namespace, clock: Callable[[], float]) -> list[str]:
    """Return rows of the table for one shape."""
    import aeon.distances as aeon
    import torch

    from softecm.distances import ADTW, DTW, ERP, MSM, TWE, WDTW, SoftDTW, SoftMSM, SoftTWE
    from softecm.distances.elastic import aligned
    from softecm.kernels.soft_dtw import soft_dtw_sums
    from softecm.spaces.series import SeriesBatch

    n, f, length, d = shape
    rng = np.random.default_rng(0)
    x, y = (torch.from_numpy(rng.normal(size=(k, length, d))).to(getattr(torch, args.dtype)) for k in (n, f))
    weights = x.new_ones(n, f)
    few = 8 if length > 300 else 32
    a, b = (np.ascontiguousarray(t.double().numpy().transpose(0, 2, 1)) for t in (x[:few], y))
    cells, few_cells = float(n * f * length**2), float(few * f * length**2)
    raw = {"divergence": False, "gamma": 1.0}

    def value(metric) -> tuple[Run, float]:
        return lambda: metric.pairwise(x, y), cells

    def gradient(metric) -> tuple[Run, float]:
        return lambda: aligned(metric, SeriesBatch(x), y, weights, None), cells

    def peer(name: str, **options: float) -> tuple[Run, float]:
        pairwise = getattr(aeon, f"{name}_pairwise_distance")
        return lambda: pairwise(a, b, n_jobs=args.threads, **options), few_cells

    runs = {
        "softdtw": value(SoftDTW(**raw)),
        "softdtw'": (lambda: soft_dtw_sums(x, y, weights, gamma=1.0), cells),
        "aeon soft_dtw": peer("soft_dtw", gamma=1.0),
        "dtw": value(DTW()),
        "aeon dtw": peer("dtw"),
    }
    kinds = {
        "msm": (SoftMSM(**raw), MSM(), {"c": 1.0}),
        "twe": (SoftTWE(**raw), TWE(), {"nu": 0.001, "lmbda": 1.0}),
        "adtw": (ADTW(**raw), ADTW(), {"warp_penalty": 1.0}),
        "wdtw": (WDTW(**raw), WDTW(), {"g": 0.05}),
        "erp": (ERP(**raw), ERP(), {"g": 0.0}),
    }
    for name, (soft, hard, options) in kinds.items():
        four = value(soft), gradient(soft), value(hard), peer(name, **options)
        tables = d if hard.by_channel else 1
        names = f"soft {name}", f"soft {name}'", name, f"aeon {name}"
        runs |= {key: (run, count * tables) for key, (run, count) in zip(names, four, strict=True)}
    t = best_of(runs, args.seconds, clock)

    def ratio(other: str, ours: str) -> str:
        return f"{t[other] / t[ours]:.1f}"

    where = f"{n} × {f}, {length}, {d}"
    base, slope, soft_peer = t["softdtw"], t["softdtw'"], "aeon soft_dtw"
    rows = [
        f"| {where} | dtw | {base:.2f} | | {ratio(soft_peer, 'softdtw')} | {slope:.2f} | | {t['dtw']:.2f} "
        f"| {t['aeon dtw']:.1f} | {ratio('aeon dtw', 'dtw')} |"
    ]
    for name in kinds:
        soft, with_slope = t[f"soft {name}"], t[f"soft {name}'"]
        rows.append(
            f"| {where} | {name} | {soft:.2f} | {soft / base:.2f} | {ratio(soft_peer, f'soft {name}')} | {with_slope:.2f} "
            f"| {with_slope / slope:.2f} | {t[name]:.2f} | {t[f'aeon {name}']:.1f} | {ratio(f'aeon {name}', name)} |"
        )
    return rows


def main() -> None:
    """Measure, print, and save if requested."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float64")
    parser.add_argument("--seconds", type=float, default=2.0, help="time for one distance and shape")
    parser.add_argument("--wall", action="store_true", help="wall time instead of processor time")
    parser.add_argument("--write", action="store_true", help=f"into {RESULTS.name}")
    args = parser.parse_args()
    os.environ["NUMBA_NUM_THREADS"] = str(args.threads)
    warnings.simplefilter("ignore")  # the peer's own
    import torch

    torch.set_num_threads(args.threads)
    versions = [f"{m} {importlib.import_module(m).__version__}" for m in ("numpy", "numba", "torch", "aeon")]
    first = os.getloadavg()[0]
    clock = time.perf_counter if args.wall else time.process_time
    lines = [
        "| n × f, L, d | distance | soft: value, ns a cell | times Soft-DTW | faster than aeon's Soft-DTW, times "
        "| value and gradient, ns | times Soft-DTW | hard: value, ns | aeon, ns | faster, times |",
        "|---" * 10 + "|",
    ]
    for shape in SHAPES:
        lines += measured(shape, args, clock)
        print("\n".join(lines), "\n", flush=True)
    about = (
        f"{datetime.date.today()}: {args.dtype}, {args.threads} thread{'s' * (args.threads > 1)}, "
        f"{'wall' if args.wall else 'processor'} time, load {first:.1f} to {os.getloadavg()[0]:.1f} on {os.cpu_count()} "
        f"cores; {', '.join(versions)}."
    )
    print(about)
    if args.write:
        head = (
            RESULTS.read_text(encoding="utf-8").rstrip() if RESULTS.exists() else f"# Elastic distances\n\n{__doc__}"
        ).rstrip()
        RESULTS.write_text("\n\n".join([head, about, "\n".join(lines)]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
