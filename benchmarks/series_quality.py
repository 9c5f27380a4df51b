"""Series: how well the classes are found, and how long a fit takes.

    python benchmarks/series_quality.py ering basic-motions atrial-fibrillation --device cuda
    python benchmarks/series_quality.py japanese-vowels cbf cbf-speed

Each word is one part; its table replaces the part of that name in ``benchmarks/results/series_quality.md`` (``--write`` for
another file). Data: the folder ``SOFTECM_DATA``, else what aeon downloads. Labels are compared with at the end and choose
nothing. TimeSeriesKMeans is added where tslearn can be imported.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import os
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from softecm import SoftECM
from softecm._engine import choose_device
from softecm.belief import CredalPartition, FocalSets
from softecm.datasets import load_series, make_cbf
from softecm.distances import DTW, SoftDTW
from softecm.fit.algorithm import soft_ecm
from softecm.fit.loop import MERGED, separation
from softecm.fit.prepare import Draw, barycenter, distances_to, seed, weighted_quantile
from softecm.objective import KEPT_CELLS, mass_cost, masses_of
from softecm.scores import adjusted_rand_index, rand_index
from softecm.selection import guarded_nonspecificity
from softecm.series import SeriesScaler

RESULTS = Path(__file__).parent / "results" / "series_quality.md"
ALPHA, TOL = 2.0, 1e-3  # the paper's
PROTOTYPE_COPIES = 24  # the descent's memory: two tensors a remembered step, and its trials
DELTAS = ("auto", None)


@dataclass(frozen=True)
class Outcome:
    """What one run came to; the fields that ``guarded_nonspecificity`` reads are named as an estimator names them."""

    partition_: CredalPartition
    collapsed_: bool
    separation: float
    objective: float
    converged: bool
    rounds: int


class Encoded:
    """Series as tensors on a device, with what a fit takes from them once."""

    def __init__(self, X: Any, metric: Any, dtype: torch.dtype, device: torch.device) -> None:
        space = metric.make_space()
        rows = space.check(self, X, reset=True)
        self.space = space.fit(rows, dtype=dtype)
        self.on_cpu = self.space.encode(rows)
        self.metric = metric.fitted(self.on_cpu, None)
        self.x, self.device = self.on_cpu.to(device), device
        from_center = distances_to(self.metric, self.x, barycenter(self.metric, self.space, self.x, None, device))
        self.spread = float(from_center.mean())
        self.delta = float(np.sqrt(weighted_quantile(from_center, 0.95, np.ones(len(from_center)))))

    def starts(self, c: int, n_init: int, random_state: int) -> torch.Tensor:
        """The k-means++ starts that an estimator with this seed would take."""
        rng = np.random.RandomState(random_state)
        draw = Draw("k-means++", n_init)
        return seed(draw, self.metric, self.space, self.on_cpu, np.ones(len(self.on_cpu)), c, rng)


def chunk_size(n: int, focal: FocalSets, start: torch.Tensor, device: torch.device) -> int:
    """How many runs fit in memory at once."""
    room = 8 * 2**30 if device.type == "cuda" else 2**30
    one = PROTOTYPE_COPIES * len(focal) * start[0, 0].numel() * start.element_size()
    return max(1, min(room // one, KEPT_CELLS // (n * (len(focal) + 1))))


def outcomes(data: Encoded, c: int, grid: list[tuple[Any, ...]], starts: torch.Tensor, max_iter: int) -> list[Outcome]:
    """All runs of a grid of (beta, lam, delta, start) in as few batches as memory allows."""
    focal = FocalSets.up_to(c, 2)
    size = chunk_size(len(data.x), focal, starts, data.device)
    found: list[Outcome] = []
    for first in range(0, len(grid), size):
        part = grid[first : first + size]
        beta, lam, delta = ([row[i] for row in part] for i in range(3))
        radius = [data.delta if kind == "auto" else np.inf for kind in delta]
        init = starts[[row[3] for row in part]].to(data.device)
        solution = soft_ecm(
            data.x, data.metric, focal, init, alpha=ALPHA, beta=beta, lam=lam, delta=radius, max_iter=max_iter, tol=TOL
        )
        for i in range(len(part)):
            v = solution.prototypes[i]
            cost = mass_cost(focal, ALPHA, beta[i], radius[i], like=v)
            masses = masses_of(data.metric, data.x, v, cost).double().cpu().numpy()
            with torch.no_grad():
                between = data.metric.pairwise(v[:c], v[:c]).clamp_min(0.0).double().cpu().numpy()
            apart = separation(between, data.spread)
            partition = CredalPartition(masses / masses.sum(1, keepdims=True), focal)  # float32 sums to 1 only nearly
            found.append(
                Outcome(partition, apart < MERGED, apart, float(solution.objective[i]), bool(solution.converged[i]),
                        int(solution.n_iter[i]))
            )  # fmt: skip
        print(f"  {first + len(part)} of {len(grid)} runs", flush=True)
    return found


def lowest(runs: Iterable[Outcome]) -> Outcome:
    """What the estimator keeps: the lowest objective among the runs that have not merged, if any."""
    runs = list(runs)
    return min([run for run in runs if not run.collapsed_] or runs, key=lambda run: run.objective)


def paper_protocol(name: str, *, scale: bool, args: argparse.Namespace) -> list[str]:
    """(beta, lambda) by the smallest guarded N* for each seed; mean Rand index over the seeds."""
    bunch = load_series(name)
    c = len(bunch.target_names)
    device = choose_device("cuda" if args.device == "auto" and torch.cuda.is_available() else args.device, 0.0)
    X = SeriesScaler().fit_transform(bunch.data) if scale else bunch.data
    begin = time.perf_counter()
    data = Encoded(X, SoftDTW(gamma=args.gamma), getattr(torch, args.dtype), device)
    starts = torch.cat([data.starts(c, args.n_init, s) for s in range(args.seeds)])
    cells = list(itertools.product(args.betas, args.lams))
    grid = [(b, l, d, s) for d in DELTAS for b, l in cells for s in range(len(starts))]
    runs = outcomes(data, c, grid, starts, args.max_iter)
    seconds = time.perf_counter() - begin
    by = dict(zip(grid, runs, strict=True))
    betas, lams = (", ".join(f"{value:g}" for value in values) for values in (args.betas, args.lams))
    lines = [
        f"{name}, training part, {'z-normalised' if scale else 'raw'}: {len(X)} series, c = {c}. "
        f"SoftDTW(gamma={args.gamma:g}), alpha = {ALPHA:g}, pairs, {args.dtype}, tol = {TOL:g}, at most {args.max_iter} "
        f"rounds. beta in {betas}; lambda in {lams}; {args.seeds} seeds, {args.n_init} k-means++ starts each. "
        f"{len(grid)} runs in {seconds:.0f} s on {where(device)}.",
        "",
        "| delta | starts | Rand | adjusted | lowest to highest | beta, lambda chosen | converged | no sound setting |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for delta in DELTAS:
        for label, count in (("one", 1), (f"best of {args.n_init}", args.n_init)):
            rows = []
            for s in range(args.seeds):
                first = s * args.n_init
                kept = {cell: lowest(by[(*cell, delta, first + k)] for k in range(count)) for cell in cells}
                value = {cell: guarded_nonspecificity(run) for cell, run in kept.items()}
                best = min(cells, key=lambda cell: (value[cell], -kept[cell].separation))
                labels = kept[best].partition_.labels()
                rows.append((rand_index(bunch.target, labels), adjusted_rand_index(bunch.target, labels), best,
                             kept[best].converged, np.isinf(value[best])))  # fmt: skip
            scores = np.array([row[0] for row in rows])
            chosen = sorted({row[2] for row in rows}, key=lambda cell: -sum(row[2] == cell for row in rows))
            picks = ", ".join(f"{b:g}/{l:g} ({sum(row[2] == (b, l) for row in rows)})" for b, l in chosen)
            lines.append(
                f"| {'auto (default)' if delta == 'auto' else 'None'} | {label} | {scores.mean():.3f} | "
                f"{np.mean([row[1] for row in rows]):.3f} | {scores.min():.3f} to {scores.max():.3f} | {picks} | "
                f"{sum(row[3] for row in rows)} of {len(rows)} | {sum(row[4] for row in rows)} |"
            )
    return lines


def where(device: torch.device) -> str:
    """The device in words."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else f"a CPU, {torch.get_num_threads()} threads"


def fitted(X: Any, c: int, **options: Any) -> tuple[SoftECM, float, float]:
    """A fitted estimator, its wall time and its processor time."""
    begin, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what did not converge is said in the table
        model = SoftECM(c, **options).fit(X)
    return model, time.perf_counter() - begin, time.process_time() - cpu


def japanese_vowels(args: argparse.Namespace) -> list[str]:
    """Unequal lengths as they are, beside the same series cut to the shortest."""
    bunch = load_series("JapaneseVowels")
    shortest = min(len(row) for row in bunch.data)
    forms = {
        f"{shortest} to {max(len(row) for row in bunch.data)} steps, as they are": bunch.data,
        f"cut to {shortest} steps": [row[:shortest] for row in bunch.data],
    }
    lines = [
        f"JapaneseVowels, training part: {len(bunch.data)} series, 12 channels, c = 9. SoftDTW(gamma='auto'), all other "
        f"settings the defaults (pairs, 10 starts) but tol = {TOL:g}, on {where(torch.device('cpu'))}, load "
        f"{os.getloadavg()[0]:.1f} before; mean over {args.vowel_seeds} seeds.",
        "",
        "| series | Rand | adjusted | wall s | CPU s | converged |",
        "|---|---|---|---|---|---|",
    ]
    for label, X in forms.items():
        rows = []
        for s in range(args.vowel_seeds):
            model, wall, cpu = fitted(X, 9, metric=SoftDTW(gamma="auto"), tol=TOL, random_state=s, device=args.device)
            rows.append((rand_index(bunch.target, model.labels_), adjusted_rand_index(bunch.target, model.labels_),
                         wall, cpu, model.converged_))  # fmt: skip
            print(f"  {label}, seed {s}: {rows[-1]}", flush=True)
        m = np.mean(rows, 0)
        lines.append(f"| {label} | {m[0]:.3f} | {m[1]:.3f} | {m[2]:.0f} | {m[3]:.0f} | {m[4]:.0%} |")
    return lines


def cbf(args: argparse.Namespace) -> list[str]:
    """Raw Cylinder-Bell-Funnel: Soft-DTW, DTW, and tslearn's k-means with DTW in the same run."""
    metrics = {f"SoftDTW(gamma={g!r})": SoftDTW(gamma=g) for g in (1.0, "auto")} | {"DTW()": DTW()}
    lines = [
        f"Raw Cylinder-Bell-Funnel, 3 × 50, 128 steps; {args.cbf_sets} made sets. Defaults (alpha = 1, beta = 1.2, pairs, "
        "lowest objective of 10 starts), float32. N*: what the partition leaves unsaid, with the empty set counted.",
        "",
        "| | adjusted Rand, a number a set | mean | N* | CPU s |",
        "|---|---|---|---|---|",
    ]
    sets = [make_cbf(50, length=128, random_state=s) for s in range(args.cbf_sets)]
    for label, metric in metrics.items():
        rows = []
        for s, bunch in enumerate(sets):
            model, _, cpu = fitted(bunch.data, 3, metric=metric, dtype="float32", random_state=s, device=args.device)
            rows.append((adjusted_rand_index(bunch.target, model.labels_), guarded_nonspecificity(model), cpu))
            print(f"  {label}, set {s}: {rows[-1]}", flush=True)
        ari, star, cpu = np.array(rows).T
        lines.append(f"| {label} | {listed(ari)} | {ari.mean():.3f} | {star.mean():.3f} | {cpu.mean():.0f} |")
    try:
        from tslearn.clustering import TimeSeriesKMeans
    except ImportError:
        return [*lines, "", "tslearn is not installed: its row is left out (pip install tslearn)."]
    rows = []
    for s, bunch in enumerate(sets):
        cpu = time.process_time()
        labels = TimeSeriesKMeans(3, metric="dtw", n_init=args.peer_init, random_state=s).fit_predict(bunch.data)
        rows.append((adjusted_rand_index(bunch.target, labels), time.process_time() - cpu))
        print(f"  tslearn, set {s}: {rows[-1]}", flush=True)
    ari, cpu = np.array(rows).T
    name = f"tslearn TimeSeriesKMeans(metric='dtw', n_init={args.peer_init})"
    return [*lines, f"| {name} | {listed(ari)} | {ari.mean():.3f} | – | {cpu.mean():.0f} |"]


def listed(values: Any) -> str:
    """Numbers in a cell."""
    return ", ".join(f"{v:.2f}" for v in values)


def cbf_speed(args: argparse.Namespace) -> list[str]:
    """One default fit of raw Cylinder-Bell-Funnel, ten starts."""
    bunch = make_cbf(50, length=128, random_state=0)
    lines = [
        f"Raw Cylinder-Bell-Funnel, 3 × 50, 128 steps, c = 3, pairs, 10 starts, defaults; {os.cpu_count()} cores, load "
        f"{os.getloadavg()[0]:.1f} before.",
        "",
        "| | wall s | CPU s | rounds | objective | adjusted Rand |",
        "|---|---|---|---|---|---|",
    ]
    for dtype in ("float32", "float64"):
        options: dict[str, Any] = {"metric": SoftDTW(gamma=1.0), "dtype": dtype, "device": args.device}
        fitted(bunch.data[::10], 3, n_init=1, max_iter=2, **options)  # compile
        model, wall, cpu = fitted(bunch.data, 3, random_state=0, **options)
        ari = adjusted_rand_index(bunch.target, model.labels_)
        lines.append(f"| {dtype} | {wall:.1f} | {cpu:.1f} | {model.n_iter_} | {model.objective_:.2f} | {ari:.3f} |")
    return lines


PARTS: dict[str, Callable[[argparse.Namespace], list[str]]] = {
    "ering": lambda args: paper_protocol("ERing", scale=True, args=args),
    "basic-motions": lambda args: paper_protocol("BasicMotions", scale=True, args=args),
    "atrial-fibrillation": lambda args: paper_protocol("AtrialFibrillation", scale=False, args=args),
    "japanese-vowels": japanese_vowels,
    "cbf": cbf,
    "cbf-speed": cbf_speed,
}


def replace_part(path: Path, name: str, lines: list[str]) -> None:
    """Write a part into the file, in the order of ``PARTS``, leaving the others."""
    parts: dict[str, str] = {}
    if path.exists():
        for block in path.read_text(encoding="utf-8").split("\n## ")[1:]:
            title, _, body = block.partition("\n")
            parts[title.strip()] = body.strip()
    parts[name] = "\n".join(lines)
    head = "# Series: quality and time of a fit\n\nMade by `python benchmarks/series_quality.py PART …`.\n"
    text = head + "".join(f"\n## {part}\n\n{parts[part]}\n" for part in PARTS if part in parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def numbers(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=[*PARTS, "all"], metavar="PART", help=f"{', '.join(PARTS)} or all")
    parser.add_argument("--device", default="auto", help="cpu, cuda or auto")
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32", help="of the three UEA sets")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--n-init", type=int, default=10)
    parser.add_argument("--betas", type=numbers, default=[1.1, 1.2, 1.3, 1.5])
    parser.add_argument("--lams", type=numbers, default=[1.0, 3.0, 10.0])
    parser.add_argument("--gamma", type=float, default=1.0)
    parser.add_argument("--max-iter", type=int, default=200)
    parser.add_argument("--vowel-seeds", type=int, default=2)
    parser.add_argument("--cbf-sets", type=int, default=3)
    parser.add_argument(
        "--peer-init", type=int, default=10, help="starts of tslearn's k-means; as many as ours are fair"
    )
    parser.add_argument("--write", type=Path, default=RESULTS)
    args = parser.parse_args()
    for name in PARTS if "all" in args.parts else args.parts:
        print(f"## {name}", flush=True)
        lines = [f"{datetime.date.today()}. " + (made := PARTS[name](args))[0], *made[1:]]
        print("\n".join(lines), flush=True)
        replace_part(args.write, name, lines)


if __name__ == "__main__":
    main()
