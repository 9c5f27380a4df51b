"""Soft-DTW, DTW and the elastic distances on the GPU: cells per second, memory and error, with an optional peer.

``python benchmarks/gpu.py [--write benchmarks/results/gpu_soft_dtw.md] [--peer FILE]``

A peer is a Python file with a class ``SoftDTW(use_cuda, gamma)`` as in Maghoumi/pytorch-softdtw-cuda.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from softecm.kernels import elastic as el
from softecm.kernels.soft_dtw import cuda as soft_dtw_cuda
from softecm.kernels.soft_dtw import cuda_hard, dtw_sums

# n, f, L (or lengths of series and of prototypes), d, target (10^9 cells per second), Maghoumi's kernel there (speed,
# MB)
SHAPES: list[tuple[int, int, int | tuple[int, int], int, int | None, float | None, int | None]] = [
    (128, 6, 64, 1, 40, 1.3, 75),
    (128, 6, 128, 1, 70, 4.7, 359),
    (128, 6, 256, 1, 130, 8.9, 1230),
    (128, 6, 640, 1, 180, 9.5, 7292),
    (128, 6, 1024, 1, 150, None, None),
    (1024, 8, 128, 1, 250, 10.7, 3193),
    (8192, 8, 128, 1, 320, 12.5, 25094),
    (15, 6, 640, 2, 50, 5.5, 1331),
    (40, 10, 100, 6, 40, 1.7, 447),
    (1024, 8, 640, 1, 450, None, None),
    (4, 3, 5000, 1, 150, None, None),
    (64, 6, 300, 64, 80, None, None),
    (16, 1, (512, 128), 88, None, None, None),
]

# n, f, L, d, band, type, target (10^9 cells of the whole table per second)
HARD = [
    (8192, 8, 128, 1, None, torch.float32, 2000),
    (512, 8, 1024, 1, None, torch.float32, 2000),
    (1024, 8, 640, 1, None, torch.float32, None),
    (128, 6, 128, 1, None, torch.float32, None),
    (8192, 8, 128, 3, None, torch.float32, None),
    (512, 8, 1024, 1, 100, torch.float32, None),
    (64, 6, 300, 64, None, torch.float32, None),
    (4, 3, 5000, 1, None, torch.float32, None),
    (8192, 8, 128, 1, None, torch.float64, None),
    (512, 8, 1024, 1, None, torch.float64, None),
]

# From a profile of an H200 (`ncu --clock-control none`): to be updated when the kernels or the card change.
LIMITS = [
    "What limits them (Nsight Compute, same card, 2026-11-18). 8192 pairs of 640: 65 % of the memory's bandwidth (the",
    "table of shares is written and read, 8 bytes a cell) and 72 % of the L2 cache's; a third of the stalls wait at",
    "barriers between five warps. 384 pairs of 64 channels: 384 blocks of three warps fill 13 % of the card, and the",
    "recursion is 38 % of the time; costs and moments are the rest. 12 pairs of 5000: 240 blocks fill 11 %, and each",
    "wavefront waits for the one before. Other heights, warps, strips and stages were no faster in any of these.",
]

RULES = {
    "SoftMSM": el.msm(1.0, 0.3),
    "MSM": el.msm(1.0, 0.0),
    "SoftTWE": el.twe(0.001, 1.0, 0.3),
    "TWE": el.twe(0.001, 1.0, 0.0),
    "ADTW, γ = 0.3": el.adtw(0.5, 0.3),
    "WDTW, γ = 0.3": el.wdtw(0.05, 0.3),
    "ERP, γ = 0.3": el.erp(0.3),
    "DTW": None,
}


def milliseconds(work: Callable[[], object], cells: int) -> float:
    """Return the median of seven timings with events around a series of calls, including launches and Python."""
    calls = max(2, min(200, int(8e9 / cells)))
    begun = time.perf_counter()
    while time.perf_counter() - begun < 0.3:  # small shapes cost as much Python as GPU: let both clocks ramp up
        work()
        torch.cuda.synchronize()
    times = []
    for _ in range(7):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(calls):
            work()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / calls)
    return sorted(times)[3]


def peak(work: Callable[[], object]) -> float:
    """Return the peak of allocated GPU memory during one call in MB, including the data."""
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    work()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() / 1e6


def gradient(x: torch.Tensor, y: torch.Tensor, weights: torch.Tensor, gamma: float) -> torch.Tensor:
    _, mass, moment = soft_dtw_cuda.forward_backward(x, None, y, None, None, weights, gamma, None)
    return 2 * (mass.double()[..., None] * y.double() - moment.double())


def relative_error(x: torch.Tensor, y: torch.Tensor, weights: torch.Tensor, gamma: float) -> float:
    exact = gradient(x.double(), y.double(), weights.double(), gamma)
    return float((gradient(x, y, weights, gamma) - exact).norm() / exact.norm())


def measured(n: int, f: int, steps: tuple[int, int], d: int, peer: type | None) -> dict[str, float]:
    g = torch.Generator(device="cuda").manual_seed(0)
    x = torch.randn(n, steps[0], d, device="cuda", generator=g)
    y = torch.randn(f, steps[1], d, device="cuda", generator=g)
    weights = torch.rand(n, f, device="cuda", generator=g)
    cells = n * f * steps[0] * steps[1]

    def both() -> object:
        return soft_dtw_cuda.forward_backward(x, None, y, None, None, weights, 1.0, None)

    out = {"ms": milliseconds(both, cells), "MB": peak(both)}
    out["value"] = milliseconds(lambda: soft_dtw_cuda.forward(x, None, y, None, None, 1.0, None), cells)
    out["error"] = relative_error(x[:512], y, weights[:512], 1.0)
    if peer is not None and max(steps) <= 1024:
        loss = peer(True, gamma=1.0)
        repeated = x.repeat_interleave(f, 0)
        prototypes = y.repeat(n, 1, 1).requires_grad_()

        def theirs() -> object:
            return torch.autograd.grad((loss(repeated, prototypes) * weights.reshape(-1)).sum(), prototypes)

        try:
            out["peer"], out["peer MB"] = milliseconds(theirs, cells * 20), peak(theirs)
        except Exception as error:
            print(f"peer at {n * f} x {steps}, d = {d}: {type(error).__name__}", file=sys.stderr)
        torch.cuda.empty_cache()
    return out


def hard_table() -> list[str]:
    """Return a table of DTW values: speed, share of the card's limit, error."""
    processors = torch.cuda.get_device_properties(0).multi_processor_count
    asked_for = ["nvidia-smi", "--query-gpu=clocks.max.sm", "--format=csv,noheader,nounits", "--id=0"]
    clock = float(subprocess.run(asked_for, capture_output=True, check=True, text=True).stdout)  # MHz
    lines = [
        "",
        "## DTW, values",
        "",
        "Speeds in 10^9 cells a second, of the whole table (a band computes fewer). Limit: one channel in float32 takes at",
        "least three instructions a cell (a difference, a minimum of three, a multiply and add), of which the card's",
        f"{processors} multiprocessors issue 128 each a clock of {clock:.0f} MHz. Error: largest, relative, to float64.",
        "",
        "| pairs | L | d | band | type | ms | speed | asked | of the limit | error |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    limit = processors * 128 * clock / 3 / 1e3
    for n, f, steps, d, band, dtype, asked in HARD:
        g = torch.Generator(device="cuda").manual_seed(0)
        x, y = (torch.randn(k, steps, d, device="cuda", generator=g, dtype=dtype) for k in (n, f))
        cells = n * f * steps * steps
        ms = milliseconds(partial(cuda_hard.forward, x, None, y, None, None, band), cells)
        speed = cells / ms / 1e6
        exact = cuda_hard.forward(x[:512].double(), None, y.double(), None, None, band)
        error = ((cuda_hard.forward(x[:512], None, y, None, None, band) - exact).abs() / exact).max()
        share = f"{speed / limit:.0%}" if d == 1 and band is None and dtype == torch.float32 else "–"
        lines.append(
            f"| {n * f} | {steps} | {d} | {band or '–'} | {str(dtype)[6:]} | {ms:.3f} | {speed:.0f} | {asked or '–'} | "
            f"{share} | {float(error):.1e} |"
        )
        print(lines[-1], flush=True)
    return lines


def elastic_table() -> list[str]:
    """Return a table of elastic distances: speed of values, and of values and gradients."""
    lines = [
        "",
        "## Elastic distances, one channel, float32",
        "",
        "Speeds in 10^9 cells a second, of values alone / of values and gradients.",
        "",
        "| distance | 65 536 pairs of 128 | 8 192 pairs of 640 | 768 pairs of 128 |",
        "|---|---|---|---|",
    ]
    for name, rule in RULES.items():
        speeds = []
        for n, f, steps in ((8192, 8, 128), (1024, 8, 640), (128, 6, 128)):
            g = torch.Generator(device="cuda").manual_seed(0)
            x, y = (torch.randn(k, steps, 1, device="cuda", generator=g) for k in (n, f))
            weights = torch.rand(n, f, device="cuda", generator=g)
            cells = n * f * steps * steps
            if rule is None:
                alone = partial(cuda_hard.forward, x, None, y, None, None, None)
                both = partial(dtw_sums, x, y, weights)
            else:
                alone, both = partial(el.elastic, x, y, rule), partial(el.elastic_sums, x, y, weights, rule)
            speeds.append(" / ".join(f"{cells / milliseconds(work, cells) / 1e6:.0f}" for work in (alone, both)))
        lines.append(f"| {name} | {' | '.join(speeds)} |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", type=Path)
    parser.add_argument("--peer", type=Path)
    chosen = parser.parse_args()
    peer = None
    if chosen.peer:
        spec = importlib.util.spec_from_file_location("peer", chosen.peer)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        peer = module.SoftDTW
    lines = [
        "# Soft-DTW, DTW and the elastic distances on the GPU",
        "",
        "## Soft-DTW, value and gradient, float32",
        "",
        f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {datetime.date.today()},",
        f"`python benchmarks/gpu.py{' --peer FILE' if peer else ''}`. Noise, γ = 1. Speeds in 10^9 cells a second, time of",
        "the public call, launches and Python included; error: relative, of the gradient, against float64.",
        "Memory: peak of what torch allocated, data included. Maghoumi's: this run, else (in brackets)",
        "an earlier run on the same kind of card.",
        "",
        "| pairs | L | d | ms | speed | asked | value alone | MB | error | Maghoumi: speed | MB |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for n, f, steps, d, asked, before, before_mb in SHAPES:
        lengths = steps if isinstance(steps, tuple) else (steps, steps)
        length = " x ".join(map(str, dict.fromkeys(lengths)))
        r = measured(n, f, lengths, d, peer)
        cells = n * f * lengths[0] * lengths[1] / 1e6
        theirs = f"{cells / r['peer']:.1f}" if "peer" in r else f"({before or '–'})"
        theirs_mb = f"{r['peer MB']:.0f}" if "peer MB" in r else f"({before_mb or '–'})"
        lines.append(
            f"| {n * f} | {length} | {d} | {r['ms']:.3f} | {cells / r['ms']:.0f} | {asked or '–'} | "
            f"{cells / r['value']:.0f} | {r['MB']:.0f} | {r['error']:.1e} | {theirs} | {theirs_mb} |"
        )
        print(lines[-1], flush=True)
    lines += ["", *LIMITS]
    lines += ["", "Error where values are large (walks: cumulated noise over √L, times the factor):", ""]
    lines += ["| pairs | L | d | kind | factor | γ | largest value/γ | error |", "|---|---|---|---|---|---|---|---|"]
    for n, f, steps, d, walk, factor, gamma in [
        (40, 10, 100, 6, False, 1.0, 1.0),
        (40, 10, 100, 6, False, 3.0, 1.0),
        (40, 10, 100, 6, True, 2.0, 1.0),
        (40, 6, 640, 1, True, 1.0, 1.0),
        (40, 6, 640, 1, True, 2.0, 1.0),
        (40, 6, 640, 1, False, 1.0, 0.1),
        (20, 6, 1024, 1, True, 1.0, 1.0),
        (4, 3, 5000, 1, True, 1.0, 1.0),
    ]:
        g = torch.Generator(device="cuda").manual_seed(1)
        x = torch.randn(n, steps, d, device="cuda", generator=g)
        y = torch.randn(f, steps, d, device="cuda", generator=g)
        x, y = ((t.cumsum(1) / steps**0.5 if walk else t) * factor for t in (x, y))
        weights = torch.rand(n, f, device="cuda", generator=g)
        largest = float(soft_dtw_cuda.forward(x, None, y, None, None, gamma, None).max()) / gamma
        lines.append(
            f"| {n * f} | {steps} | {d} | {'walk' if walk else 'noise'} | {factor} | {gamma} | {largest:.0f} | "
            f"{relative_error(x, y, weights, gamma):.1e} |"
        )
        print(lines[-1], flush=True)
    lines += hard_table() + elastic_table()
    if chosen.write:
        chosen.write.parent.mkdir(parents=True, exist_ok=True)
        chosen.write.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
