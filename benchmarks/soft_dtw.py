"""Soft-DTW, value and gradient for the prototypes, compared with the public implementations in one run.

    python benchmarks/soft_dtw.py [kernels] [--threads 2] [--dtype both] [--seconds 8] [--quick] [--cpu]
    python benchmarks/soft_dtw.py barycenter [--threads 2] [--cpu]

Peers are optional; those that cannot be imported are listed. A peer that would take longer than ``--seconds`` is timed
on its first series and extrapolated (marked ~): all are linear in the number of pairs. Best of several repetitions;
gradients are compared with ours before timing. On a busy machine ``--cpu`` is more stable: CPU time of all threads
together. To install all peers in a separate environment:

    python -m venv /tmp/peers
    /tmp/peers/bin/pip install tslearn aeon pysdtw ott-jax torch numba cython setuptools
    /tmp/peers/bin/pip install --no-deps --no-build-isolation soft-dtw
    PYTHONPATH=src /tmp/peers/bin/python benchmarks/soft_dtw.py
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable

import numpy as np

SHAPES = (
    (128, 6, 64, 1),
    (128, 6, 128, 1),
    (128, 6, 256, 1),
    (128, 6, 640, 1),
    (128, 6, 1024, 1),
    (40, 10, 100, 6),
    (15, 6, 640, 2),
)
Clock = Callable[[], float]
Run = Callable[[np.ndarray, np.ndarray], np.ndarray | None]  # series (n, L, d), prototypes (f, L, d) -> gradient


def ours(args: argparse.Namespace) -> Run:
    import torch

    from softecm.kernels.elastic.engine import solve
    from softecm.kernels.elastic.rules import AlignmentTask, dtw

    def run(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        a, b = torch.from_numpy(x), torch.from_numpy(y)
        weights = torch.ones(len(x), len(y))
        _, sums = solve(a, b, weights, AlignmentTask(dtw(1.0)), n_threads=args.threads)
        return (2 * sums[..., 1:].to(b)).numpy()

    return run


def _torch_loss(loss: Callable) -> Run:
    import torch

    def run(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        n, f = len(x), len(y)
        a = torch.from_numpy(x).repeat_interleave(f, 0)
        b = torch.from_numpy(y).requires_grad_()
        loss(a, b.repeat(n, 1, 1)).sum().backward()
        return b.grad.numpy()

    return run


def tslearn_torch(args: argparse.Namespace) -> Run:
    from tslearn.metrics import SoftDTWLossPyTorch

    return _torch_loss(SoftDTWLossPyTorch(gamma=1.0))


def tslearn_alignment(args: argparse.Namespace) -> Run:
    from tslearn.metrics import soft_dtw_alignment

    def run(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        grad = np.zeros(y.shape)
        for a in x:
            for j, b in enumerate(y):
                e, _ = soft_dtw_alignment(a, b, gamma=1.0)
                grad[j] += 2 * (e.sum(0)[:, None] * b - e.T @ a)
        return grad

    return run


def mblondel(args: argparse.Namespace) -> Run:
    from sdtw import SoftDTW
    from sdtw.distance import SquaredEuclidean

    def run(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        grad = np.zeros(y.shape)
        for j, b in enumerate(y.astype(np.float64)):
            for a in x.astype(np.float64):
                cost = SquaredEuclidean(b, a)
                soft = SoftDTW(cost, gamma=1.0)
                soft.compute()
                grad[j] += cost.jacobian_product(soft.grad())
        return grad

    return run


def pysdtw(args: argparse.Namespace) -> Run:
    from pysdtw import SoftDTW

    return _torch_loss(SoftDTW(gamma=1.0, use_cuda=False))


def ott_jax(args: argparse.Namespace) -> Run:
    import jax
    from ott.geometry.costs import SoftDTW

    jax.config.update("jax_enable_x64", args.dtype == "float64")
    cost = SoftDTW(gamma=1.0)

    def total(y: jax.Array, x: jax.Array) -> jax.Array:
        return jax.vmap(lambda a: jax.vmap(lambda b: cost(a, b))(y))(x).sum()

    step = jax.jit(jax.value_and_grad(total))
    return lambda x, y: np.asarray(step(y, x)[1])


def sdtw_div(args: argparse.Namespace) -> Run:
    from sdtw_div.numba_ops import sdtw_value_and_grad

    def run(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.stack([sum(sdtw_value_and_grad(b, a, gamma=1.0)[1] for a in x) for b in y])

    return run


def aeon_values(args: argparse.Namespace) -> Run:
    from aeon.distances import soft_dtw_pairwise_distance

    def run(x: np.ndarray, y: np.ndarray) -> None:
        soft_dtw_pairwise_distance(x.transpose(0, 2, 1), y.transpose(0, 2, 1), gamma=1.0, n_jobs=args.threads)

    return run


PEERS: dict[str, Callable[[argparse.Namespace], Run]] = {
    "tslearn torch": tslearn_torch,
    "tslearn align": tslearn_alignment,
    "soft-dtw": mblondel,
    "pysdtw": pysdtw,
    "ott-jax": ott_jax,
    "sdtw_div": sdtw_div,
    "aeon (no grad)": aeon_values,
}


def seconds(run: Run, x: np.ndarray, y: np.ndarray, limit: float, clock: Clock) -> tuple[float, bool]:
    """Return the best time for the whole problem, and whether it was extrapolated."""
    part = x[: min(4, len(x))]
    run(part, y)  # compile
    start = time.perf_counter()
    run(part, y)
    guess = (time.perf_counter() - start) * len(x) / len(part)
    rows = len(x) if guess <= limit / 2 else max(4, int(len(x) * limit / 2 / guess))
    part = x[:rows]
    run(part, y)
    times: list[float] = []
    begin = time.perf_counter()
    while len(times) < 2 or (time.perf_counter() - begin < limit and len(times) < 200):
        start = clock()
        run(part, y)
        times.append(clock() - start)
    return min(times) * len(x) / rows, rows < len(x)


COLD = """
import time
import numpy as np, torch
from softecm.kernels.soft_dtw import soft_dtw_sums
one = torch.zeros(1, 2, 1, dtype=torch.{dtype})
start = time.perf_counter()
soft_dtw_sums(one, one, torch.ones(1, 1))
print(time.perf_counter() - start)
"""


def first_call(dtype: str) -> float:
    """Return seconds of a first call without compiled code, in a separate process, without imports."""
    with tempfile.TemporaryDirectory() as folder:
        out = subprocess.run(
            [sys.executable, "-c", COLD.format(dtype=dtype)],
            env={**os.environ, "NUMBA_CACHE_DIR": folder},
            capture_output=True,
            text=True,
            check=True,
        )
    return float(out.stdout.split()[-1])


def heading(args: argparse.Namespace, dtype: str) -> None:
    versions = [f"{m} {importlib.import_module(m).__version__}" for m in ("numpy", "numba", "torch")]
    load = os.getloadavg()[0]
    print(f"{datetime.date.today()}, {dtype}, {args.threads} threads, load {load:.1f}; {', '.join(versions)}")


def kernels(args: argparse.Namespace, clock: Clock) -> None:
    """Compare value and gradient for the prototypes, ours and the peers'."""
    mine = ours(args)
    runs: dict[str, Run] = {}
    for name, make in PEERS.items() if not args.no_peers else ():
        try:
            runs[name] = make(args)
        except ImportError as error:
            print(f"{name}: missing ({error})")
    heading(args, args.dtype)
    print(f"first call of ours with nothing compiled: {first_call(args.dtype):.1f} s (kept on disk from then on)\n")
    print(
        f"{'CPU s' if args.cpu else 'S'}econds, value and gradient for the prototypes; in brackets, how many times ours.\n"
    )
    print("| n × f, L, d | ours | ns a cell | " + " | ".join(runs) + " |")
    print("|---" * (3 + len(runs)) + "|")
    for n, f, length, d in SHAPES[:2] if args.quick else SHAPES:
        rng = np.random.default_rng(0)
        x, y = (rng.normal(size=(k, length, d)).astype(args.dtype) for k in (n, f))
        # Ours before and after the peers, so that it also gets the quietest moment of a shared machine.
        best = seconds(mine, x, y, args.seconds, clock)[0]
        cells = []
        wanted = mine(x[:2], y)
        for name, run in runs.items():
            found = run(x[:2], y)
            if found is not None and not np.allclose(found, wanted, rtol=1e-2, atol=1e-3 * np.abs(wanted).max()):
                print(f"{name}: its gradient differs from ours by {np.abs(found - wanted).max():.1e}")
            cells.append(seconds(run, x, y, args.seconds, clock))
        best = min(best, seconds(mine, x, y, args.seconds, clock)[0])
        columns = [f"{'~' if scaled else ''}{t:.3g} ({t / best:.0f}×)" for t, scaled in cells]
        cell = best * 1e9 / (n * f * length**2)
        print(f"| {n} × {f}, {length}, {d} | {best:.4f} | {cell:.2f} | " + " | ".join(columns) + " |", flush=True)


def barycenter(args: argparse.Namespace, clock: Clock) -> None:
    """Time the Soft-DTW barycentre of 50 series of Cylinder-Bell-Funnel, at most 100 L-BFGS iterations from the mean."""
    import torch

    from softecm.barycenters import soft_dtw_barycenter
    from softecm.datasets import make_cbf
    from softecm.kernels.soft_dtw import soft_dtw

    X = make_cbf(50, length=128, random_state=0).data[:50]  # one class: cylinders
    ways: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "ours": lambda x: soft_dtw_barycenter(x, gamma=1.0, max_iter=100).series,
    }
    try:
        from tslearn.barycenters import softdtw_barycenter

        ways["tslearn"] = lambda x: softdtw_barycenter(x, gamma=1.0, max_iter=100)
        ways["tslearn, tol=1e-6"] = lambda x: softdtw_barycenter(x, gamma=1.0, max_iter=100, tol=1e-6)
        ways["tslearn, tol=1e-6, n_jobs=2"] = lambda x: softdtw_barycenter(
            x, gamma=1.0, max_iter=100, tol=1e-6, n_jobs=2
        )
    except ImportError as error:
        print(f"tslearn: missing ({error})")
    heading(args, "float64")
    print(
        f"\n| 50 series, 128 steps | {'CPU ' if args.cpu else ''}seconds | times ours | mean Soft-DTW |\n|---|---|---|---|"
    )
    first = 0.0
    for name, run in ways.items():
        run(X[:3, ::4])  # compile
        times = []
        for _ in range(3 if name == "ours" else 1):
            start = clock()
            found = run(X)
            times.append(clock() - start)
        first = first or min(times)
        value = float(soft_dtw(torch.from_numpy(X), torch.from_numpy(np.asarray(found))[None], gamma=1.0).mean())
        print(f"| {name} | {min(times):.3f} | {min(times) / first:.1f} | {value:.4f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", choices=("kernels", "barycenter"), default="kernels")
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--dtype", choices=("float32", "float64", "both"), default="float32")
    parser.add_argument("--seconds", type=float, default=8.0, help="time for one peer and shape")
    parser.add_argument("--quick", action="store_true", help="the two shortest shapes only")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--cpu", action="store_true", help="processor time instead of wall time")
    args = parser.parse_args()

    clock = time.process_time if args.cpu else time.perf_counter
    os.environ["NUMBA_NUM_THREADS"] = str(args.threads)
    warnings.simplefilter("ignore")  # the peers' own
    import torch

    torch.set_num_threads(args.threads)
    if args.part == "barycenter":
        barycenter(args, clock)
        return
    for dtype in ("float32", "float64") if args.dtype == "both" else (args.dtype,):
        args.dtype = dtype
        kernels(args, clock)
        print()


if __name__ == "__main__":
    main()
