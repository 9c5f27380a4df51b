"""Beyond memory: a file out of core, iterations in and out of memory, weak scaling on Dask, faults; and a cost model.

One command each, a few minutes on two idle cores; each saves its numbers in ``benchmarks/results/scaling.json`` and
rewrites ``benchmarks/results/scaling.md`` from all of them:

``python benchmarks/scaling.py calibrate``  (1 min)    what the model of the cost is made of
``python benchmarks/scaling.py rounds``     (3 min)    10^6 to 10^7 objects, in memory and streamed
``python benchmarks/scaling.py memory``     (10 min)   5 x 10^7 objects through ``softecm cluster``; needs 12 GB of disk
``python benchmarks/scaling.py weak``       (3 min)    one and two worker processes, the same load for each
``python benchmarks/scaling.py faults``     (6 min)    ten killed workers, ten interrupted fits

Every command takes ``--objects`` (and ``--times`` for faults) for small trials, and ``--folder`` for large files.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from datetime import date
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "scaling.json"
PAGE = HERE / "results" / "scaling.md"
COLUMNS, CLUSTERS = 10, 8
SETS = CLUSTERS + CLUSTERS * (CLUSTERS - 1) // 2  # 36 prototypes: single clusters and pairs
CENTERS = np.random.default_rng(0).normal(size=(CLUSTERS, COLUMNS)).astype(np.float32) * 3
BLOCK = 250_000  # rows per block on workers

warnings.simplefilter("ignore")


def some_rows(n, seed):
    rng = np.random.default_rng(seed)
    return CENTERS[rng.integers(CLUSTERS, size=n)] + rng.standard_normal((n, COLUMNS), dtype=np.float32)


def make_file(path, n, step=500_000):
    import pyarrow as pa
    import pyarrow.parquet as parquet

    names = [f"x{j}" for j in range(COLUMNS)]
    with parquet.ParquetWriter(path, pa.schema([(name, pa.float32()) for name in names]), use_dictionary=False) as out:
        for first in range(0, n, step):
            rows = some_rows(min(step, n - first), first)
            out.write_table(pa.table([np.ascontiguousarray(c) for c in rows.T], names=names), row_group_size=step)


def estimator(**options):
    from softecm import SoftECM

    fixed = {"init": CENTERS, "max_cardinality": 2, "relaxation": "penalty", "lam": 1.0, "tol": 0.0, "delta": 10.0}
    return SoftECM(CLUSTERS, n_init=1, **{**fixed, **options})


def seconds_a_round(data, rounds=5):
    """Return the median time between callbacks of one fit."""
    times = []
    estimator(max_iter=rounds, callback=lambda _: times.append(time.perf_counter())).fit(data)
    return statistics.median(np.diff(times).tolist())


def keep(name, value):
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    kept[name] = {**value, "date": date.today().isoformat(), "machine": f"{platform.machine()}, {os.cpu_count()} cores"}
    RESULTS.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    print(json.dumps({name: value}, indent=1))
    write_page(kept)


# ------------------------------------------------------------------ parts of the model


def calibrate(arguments):
    """Measure seconds per object for an iteration and for reading, on small data; and the overhead of a cluster's pass."""
    from softecm._engine import threads
    from softecm.distributed import ParquetBlocks
    from softecm.spaces.real import RealVectors

    n = arguments.objects or 2_000_000  # more than a processor's cache holds
    found = {}
    for count in (1, os.cpu_count() or 1):
        with threads(count):
            memory_round(n, 3)
            found[f"compute_{count}"] = min(memory_round(n, 8) for _ in range(3)) / n
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        file = Path(folder) / "x.parquet"
        make_file(file, n)
        blocks, space = ParquetBlocks(file), RealVectors(COLUMNS)

        def read():
            for block in blocks.read():
                space.tensor(block)

        read()
        found["read"] = min(timed(read) for _ in range(5)) / n
    keep("calibrate", {"objects": n, **found, **pass_cost()})


def timed(job):
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def pass_cost():
    """Return seconds per task and seconds per pass of the cluster, from empty passes."""
    import dask.array as da

    from distributed import Client, LocalCluster

    took = {}
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        for blocks in (4, 64):
            data = da.from_array(np.tile(CENTERS, (blocks, 1)), chunks=(CLUSTERS, COLUMNS))
            seconds_a_round(data, 3)
            took[blocks] = min(seconds_a_round(data, 8) for _ in range(3))
    task = (took[64] - took[4]) / 60
    return {"task": task, "pass": max(took[4] - 4 * task, 0.0)}


# ------------------------------------------------------------------ measurements


def rounds(arguments):
    """Measure seconds per iteration in memory and out of core."""
    from softecm.distributed import ParquetBlocks

    rows = []
    for n in [10**6, 3 * 10**6, 10**7] if arguments.objects is None else [arguments.objects]:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            file = Path(folder) / "x.parquet"
            make_file(file, n)
            streamed = seconds_a_round(ParquetBlocks(file), 8)
            in_memory = memory_round(n, 8)
        rows.append({"objects": n, "in_memory": in_memory, "streamed": streamed})
    keep("rounds", {"rows": rows})


def memory_round(n, count):
    """Return seconds per iteration on a tensor, without the masses of all objects at the end."""
    import torch
    from penalty_runs import penalty_run

    from softecm.belief import FocalSets

    x = torch.from_numpy(np.concatenate([some_rows(min(500_000, n - i), i) for i in range(0, n, 500_000)])).double()
    focal = FocalSets.make(CLUSTERS, 2, None)
    times = []
    start = torch.from_numpy(CENTERS).double()[None]
    penalty_run(x, focal, start, delta=10.0, max_iter=count, callback=lambda _: times.append(time.perf_counter()))
    return statistics.median(np.diff(times).tolist())


def tree_memory(pid):
    """Return the resident bytes of a process and its children."""
    import psutil

    total = 0
    try:
        top = psutil.Process(pid)
        for process in [top, *top.children(recursive=True)]:
            total += process.memory_info().rss
    except psutil.NoSuchProcess:
        pass
    return total


def peak_of(command):
    """Return the peak memory of a command's process tree, and its exit code."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    peak = 0
    while process.poll() is None:
        peak = max(peak, tree_memory(process.pid))
        time.sleep(0.05)
    if process.returncode:
        raise SystemExit(process.stderr.read().decode())
    return peak


IMPORTS = (
    "import torch, pandas, pyarrow.parquet, pyarrow.compute, sklearn.cluster, softecm.cli.source, "
    "softecm.distributed, softecm.kernels.rounds, softecm.report, time; torch.zeros(1); time.sleep(1)"
)


def memory(arguments):
    """Measure peak memory of ``softecm cluster`` on large files, above that of the imports."""
    rows = []
    base = peak_of([sys.executable, "-c", IMPORTS])
    for n in [5 * 10**6, 5 * 10**7] if arguments.objects is None else [arguments.objects]:
        rows.append({"objects": n, "imports_mb": base / 1e6, **clustered(n, arguments)})
        rows[-1]["above_mb"] = rows[-1]["peak_mb"] - base / 1e6
    keep("memory", {"rows": rows})


def clustered(n, arguments):
    """Cluster one large file from end to end."""
    folder = Path(tempfile.mkdtemp(dir=arguments.folder))
    try:
        make_file(folder / "big.parquet", n)
        command = [sys.executable, "-m", "softecm", "cluster", str(folder / "big.parquet"), "-o", str(folder / "out")]
        options = ["-c", str(CLUSTERS), "--n-init", "1", "--max-iter", str(arguments.rounds), "--tol", "0"]
        start = time.perf_counter()
        peak = peak_of([*command, *options, "--memory", "1GB"])
        total = time.perf_counter() - start
        summary = json.loads((folder / "out" / "summary.json").read_text(encoding="utf-8"))
        assert summary["streamed"]
        return {
            "rounds": summary["n_iter"],
            "file_mb": (folder / "big.parquet").stat().st_size / 1e6,
            "written_mb": (folder / "out" / "partition.parquet").stat().st_size / 1e6,
            "peak_mb": peak / 1e6,
            "seconds_a_round": summary["seconds_a_round"],
            "seconds": total,
        }
    finally:
        shutil.rmtree(folder)


def weak(arguments):
    """Measure seconds per iteration with one and with two workers, the same number of objects for each."""
    from dask import delayed

    from distributed import Client, LocalCluster

    load = arguments.objects or 4_000_000
    took = {}
    for workers in (1, 2):
        blocks = [delayed(some_rows)(BLOCK, i) for i in range(workers * load // BLOCK)]
        options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
        with LocalCluster(**options) as cluster, Client(cluster):
            took[workers] = min(seconds_a_round(blocks, 8) for _ in range(arguments.times or 3))
    value = {"load": load, "one": took[1], "two": took[2], "efficiency": took[1] / took[2]}
    keep("weak", {**value, "blocks": load // BLOCK})


def faults(arguments):
    """Count identical fits whose worker is killed at a random iteration, or that are interrupted and resumed."""
    import dask.array as da

    from distributed import Client, LocalCluster

    n, times = arguments.objects or 200_000, arguments.times or 10
    data = da.from_array(some_rows(n, 0).astype(np.float64), chunks=(n // 16, COLUMNS))
    start = some_rows(CLUSTERS, 5)
    chance = random.Random(0)
    options = {"init": start, "tol": 1e-3, "delta": "auto", "max_iter": 12}
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        undisturbed = estimator(**options).fit(data)
        killed = sum(same(undisturbed, with_kill(client, data, options, chance, undisturbed)) for _ in range(times))
        resumed = sum(same(undisturbed, with_stop(data, options, chance, undisturbed)) for _ in range(times))
    keep("faults", {"objects": n, "times": times, "killed": killed, "resumed": resumed, "rounds": undisturbed.n_iter_})


def same(one, other):
    return bool(
        np.array_equal(one.prototypes_, other.prototypes_)
        and one.objective_ == other.objective_
        and one.n_iter_ == other.n_iter_
    )


def with_kill(client, data, options, chance, undisturbed):
    at = chance.randint(1, max(1, undisturbed.n_iter_ - 1))
    victim = chance.choice(list(client.run(os.getpid).values()))

    def kill(progress):
        if progress.iteration == at:
            os.kill(victim, signal.SIGKILL)

    return estimator(**options, callback=kill).fit(data)


def with_stop(data, options, chance, undisturbed):
    at = chance.randint(1, max(1, undisturbed.n_iter_ - 1))

    def stop(progress):
        if progress.iteration == at:
            raise KeyboardInterrupt

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "fit.checkpoint"
        with contextlib.suppress(KeyboardInterrupt):
            estimator(**options, callback=stop).fit(data, checkpoint=file)
        return estimator(**options).fit(data, resume=file)


# ------------------------------------------------------------------ the page


def streamed_model(parts, n):
    """Computation and reading share the cores: their CPU times add up and are divided among them."""
    cores = os.cpu_count() or 1
    return n * max(parts["read"], parts[f"compute_{cores}"] + parts["read"] / cores)


def cluster_model(parts, n, workers, block=BLOCK):
    """Return the cost of the slowest worker's objects, its share of the tasks, and a pass's overhead.

    Workers that share a machine slow each other down as its threads do.
    """
    blocks, cores = max(1, n // block), os.cpu_count() or 1
    each = parts[f"compute_{cores}"] * cores if workers == cores else parts["compute_1"]
    return n / workers * each + blocks * parts["task"] + parts["pass"]


def write_page(kept):
    lines = ["# Beyond memory: rounds out of core and on Dask", ""]
    last = max(kept.values(), key=lambda v: v["date"])
    lines += [
        f"{last['machine']}, {last['date']}, `python benchmarks/scaling.py`; {COLUMNS} columns, c = {CLUSTERS} with pairs "
        f"({SETS} prototypes), β = 1.2, one start, float64.",
        "",
    ]
    parts = kept.get("calibrate")
    lines += rounds_lines(kept, parts) + memory_lines(kept, parts) + weak_lines(kept, parts) + fault_lines(kept)
    if parts:
        lines += model_lines(parts)
    PAGE.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def told(n):
    return f"{n:,}".replace(",", " ")


def off(model, measured):
    return f"{model:.3g} ({100 * (model / measured - 1):+.0f} %)"


def rounds_lines(kept, parts):
    if "rounds" not in kept:
        return []
    head = ["| objects | in memory, s a round | model | out of core, s a round | model | out of core / in memory |"]
    lines = [*head, "|---|---|---|---|---|---|"]
    for row in kept["rounds"]["rows"]:
        n, one, other = row["objects"], row["in_memory"], row["streamed"]
        cores = os.cpu_count() or 1
        models = (
            ["", ""] if not parts else [off(n * parts[f"compute_{cores}"], one), off(streamed_model(parts, n), other)]
        )
        lines.append(f"| {told(n)} | {one:.3g} | {models[0]} | {other:.3g} | {models[1]} | {other / one:.2f} |")
    return [*lines, ""]


def memory_lines(kept, parts):
    if "memory" not in kept:
        return []
    lines = [
        "| `softecm cluster --memory 1GB`, objects | file, MB | peak memory, MB | **above the imports, MB** | s a round "
        "| model | rounds | s in all | masses written, MB |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for m in kept["memory"]["rows"]:
        model = "" if not parts else off(streamed_model(parts, m["objects"]), m["seconds_a_round"])
        lines.append(
            f"| {told(m['objects'])} | {m['file_mb']:.0f} | {m['peak_mb']:.0f} | **{m['above_mb']:.0f}** | "
            f"{m['seconds_a_round']:.3g} | {model} | {m['rounds']} | {m['seconds']:.0f} | {m['written_mb']:.0f} |"
        )
    return [*lines, ""]


def weak_lines(kept, parts):
    if "weak" not in kept:
        return []
    w = kept["weak"]
    models = ["", ""] if not parts else [
        off(cluster_model(parts, k * w["load"], k), w[name]) for k, name in ((1, "one"), (2, "two"))
    ]  # fmt: skip
    return [
        f"| workers, {told(w['load'])} objects each | s a round | model |",
        "|---|---|---|",
        f"| 1 | {w['one']:.3g} | {models[0]} |",
        f"| 2 | {w['two']:.3g} | {models[1]} |",
        f"| efficiency | {100 * w['efficiency']:.0f} % | |",
        "",
    ]


def fault_lines(kept):
    if "faults" not in kept:
        return []
    f = kept["faults"]
    return [
        f"| faults: {told(f['objects'])} objects, 16 blocks, 2 workers, {f['rounds']} rounds | same bits as undisturbed |",
        "|---|---|",
        f"| a worker killed at a random round | {f['killed']} of {f['times']} |",
        f"| interrupted at a random round and resumed | {f['resumed']} of {f['times']} |",
        "",
    ]


def model_lines(parts):
    cores = os.cpu_count() or 1
    n, workers, block = 10**9, 100, 1_000_000
    tasks, message = n // block, 8 * SETS * (2 * COLUMNS + 1)
    total = cluster_model(parts, n, workers, block)
    compute = n / workers * parts["compute_1"]
    depth = int(np.ceil(np.log(tasks) / np.log(8)))
    rows = [
        ("compute, ns an object, one thread", f"{1e9 * parts['compute_1']:.0f}"),
        (f"compute, ns an object, {cores} threads", f"{1e9 * parts[f'compute_{cores}']:.0f}"),
        ("read and decode Parquet, ns an object, one thread", f"{1e9 * parts['read']:.0f}"),
        ("a task of a cluster, ms", f"{1e3 * parts['task']:.2f}"),
        ("a pass of a cluster by itself, ms", f"{1e3 * parts['pass']:.1f}"),
    ]
    return [
        f"The model, from {told(parts['objects'])} objects and passes that do nothing:",
        "",
        "| part | |",
        "|---|---|",
        *[f"| {name} | {value} |" for name, value in rows],
        f"| operations an object: distances and sums, 4 f p | {4 * SETS * COLUMNS} |",
        f"| bytes an object and round, float64 | {8 * COLUMNS} |",
        f"| bytes of a block's answer, 8 f (2 p + 1) | {message} |",
        "",
        f"For {told(n)} objects on {workers} workers of one thread, {told(block)} objects a block: {compute:.2g} s of "
        f"compute a round, {tasks * parts['task']:.2g} s for {told(tasks)} tasks through one scheduler, "
        f"{tasks * message / 1e6:.0f} MB of answers merged in a tree of depth {depth}: **about {total:.2g} s a round**, and "
        f"{8 * COLUMNS * n / workers / 1e9:.1f} GB of encoded objects on each worker.",
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    jobs = {"calibrate": calibrate, "rounds": rounds, "memory": memory, "weak": weak, "faults": faults}
    parser.add_argument("job", choices=[*jobs, "page"])
    parser.add_argument("--objects", type=lambda text: int(float(text)), help="how many, to try it small")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--times", type=int)
    parser.add_argument("--folder", help="where large files go; the temporary folder by default")
    arguments = parser.parse_args()
    if arguments.job == "page":
        write_page(json.loads(RESULTS.read_text()))
    else:
        jobs[arguments.job](arguments)


if __name__ == "__main__":
    main()
