"""Time until a fit stops after Ctrl-C, for every estimator and some searches, at sizes with long fits.

``python benchmarks/interrupts.py [NAME ...]`` runs each case in a separate process, sends it SIGINT some seconds after
its fit has begun, and prints how long it continued, in wall time and CPU time (of all its threads, more informative on
a busy machine).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

DELAYS = (0.5, 2.0, 5.0)  # seconds after the fit begins
GIVEN_UP = 120.0
ENDS = ("KeyboardInterrupt", "done")
Floats = NDArray[np.float64]


def vectors(n: int, p: int) -> Floats:
    """Return points without groups: fits take long."""
    return np.random.default_rng(0).normal(size=(n, p))


def apart(n: int) -> Floats:
    """Return distances between such points."""
    from scipy.spatial.distance import cdist

    x = vectors(n, 5)
    d: Floats = cdist(x, x)
    return d


def series(n: int, length: int) -> Floats:
    """Return random walks."""
    return np.random.default_rng(0).normal(size=(n, length, 1)).cumsum(1)


def table(n: int) -> object:
    """Return text columns."""
    import pandas as pd

    rng = np.random.default_rng(0)
    return pd.DataFrame({f"c{j}": rng.choice(list("abcdefgh"), n) for j in range(12)})


def _fit(name: str, make: Callable[[], object], **settings: object) -> Callable[[], Callable[[], object]]:
    """Prepare the data first; the returned function is the fit alone."""

    def prepared() -> Callable[[], object]:
        import softecm

        data = make()
        model = getattr(softecm, name)(random_state=0, **settings) if name != "BPEC" else softecm.BPEC(**settings)
        return lambda: model.fit(data)

    return prepared


def _choose() -> Callable[[], object]:
    from softecm import SoftECM, selection

    x = vectors(100_000, 10)
    return lambda: selection.choose_n_clusters(x, estimator=SoftECM(random_state=0), candidates=range(2, 12))


def _sweep(n_jobs: int | None) -> Callable[[], Callable[[], object]]:
    def prepared() -> Callable[[], object]:
        from softecm import SoftECM, selection

        x = vectors(50_000, 10)
        grid = {"beta": [1.1, 1.2, 1.5, 2.0], "n_clusters": [5, 6, 7, 8, 9, 10]}
        return lambda: selection.sweep(x, grid, estimator=SoftECM(), n_jobs=n_jobs)

    return prepared


def _stability() -> Callable[[], object]:
    from softecm import SoftECM, selection

    x = vectors(50_000, 10)
    return lambda: selection.sweep(x, {"beta": [1.2, 1.5, 2.0]}, estimator=SoftECM(5), resamples=50)


def _report() -> Callable[[], object]:
    from softecm import ECM

    x = vectors(200_000, 20)
    model = ECM(4, random_state=0, max_iter=5).fit(x)
    folder = tempfile.mkdtemp()
    return lambda: [model.report(x, Path(folder) / f"{i}.html") for i in range(100)]


def _soft_dtw() -> Callable[[], object]:
    import torch

    from softecm.distances import SoftDTW

    x = torch.from_numpy(series(64, 6000))
    return lambda: SoftDTW().pairwise(x, x)


CASES: dict[str, Callable[[], Callable[[], object]]] = {
    "SoftECM": _fit("SoftECM", lambda: vectors(400_000, 20), n_clusters=12),
    "SoftECM all sets": _fit("SoftECM", lambda: vectors(20_000, 10), n_clusters=10, focal_sets="full", n_init=2),
    "SoftECM penalty": _fit(
        "SoftECM", lambda: vectors(20_000, 10), n_clusters=8, max_cardinality=2, relaxation="penalty"
    ),
    "SoftECM gap": _fit("SoftECM", lambda: vectors(20_000, 10), n_clusters=8, max_cardinality=2, relaxation="gap"),
    "SoftECM manhattan": _fit("SoftECM", lambda: vectors(100_000, 10), n_clusters=8, metric="manhattan"),
    "SoftECM mixed": _fit("SoftECM", lambda: table(100_000), n_clusters=8, metric="mixed"),
    "SoftECM soft-DTW": _fit("SoftECM", lambda: series(300, 1000), n_clusters=5, metric="softdtw"),
    "SoftECM DTW": _fit("SoftECM", lambda: series(300, 1000), n_clusters=5, metric="dtw"),
    "SoftECM precomputed": _fit("SoftECM", lambda: apart(5_000), n_clusters=8, metric="precomputed", max_cardinality=2),
    "ECM": _fit("ECM", lambda: vectors(400_000, 20), n_clusters=12, max_cardinality=2),
    "FCM": _fit("FCM", lambda: vectors(1_000_000, 20), n_clusters=20),
    "CECM": _fit("CECM", lambda: vectors(100_000, 10), n_clusters=6, max_cardinality=2),
    "ECMPlus": _fit("ECMPlus", lambda: vectors(100_000, 20), n_clusters=8, max_cardinality=2),
    "CCM": _fit("CCM", lambda: vectors(200_000, 20), n_clusters=8, max_cardinality=2),
    "BCM": _fit("BCM", lambda: vectors(200_000, 20), n_clusters=8, max_cardinality=2),
    "CatECM": _fit("CatECM", lambda: table(200_000), n_clusters=8, max_cardinality=2),
    "RECM": _fit("RECM", lambda: apart(5_000), n_clusters=8, max_cardinality=2),
    "ECMdd": _fit("ECMdd", lambda: apart(5_000), n_clusters=8, max_cardinality=2, n_init=50),
    "ECMdd vectors": _fit("ECMdd", lambda: vectors(8_000, 50), n_clusters=8, metric="manhattan"),
    "EVCLUS": _fit("EVCLUS", lambda: apart(5_000), n_clusters=6),
    "EVCLUS some": _fit("EVCLUS", lambda: apart(5_000), n_clusters=6, n_neighbors=500),
    "BPEC": _fit("BPEC", lambda: vectors(60_000, 30), n_clusters=8),
    "BPEC adaptive": _fit("BPEC", lambda: vectors(20_000, 20), n_clusters=8, metric="adaptive", tol=0.0),
    "choose_n_clusters": _choose,
    "sweep": _sweep(None),
    "sweep, 2 jobs": _sweep(2),
    "stability": _stability,
    "report": _report,
    "soft_dtw": _soft_dtw,
}


def child(name: str) -> None:
    """Run one case, and report when it begins."""
    warnings.simplefilter("ignore")
    work = CASES[name]()
    print("begun", flush=True)
    try:
        work()
        print("done", flush=True)
    except KeyboardInterrupt:
        print("KeyboardInterrupt", time.process_time(), flush=True)


def measured(name: str, delay: float) -> str:
    """Return the seconds from the signal to the end of the process, and how it ended."""
    process = subprocess.Popen(
        [sys.executable, __file__, "--child", name],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    watch = threading.Timer(GIVEN_UP, process.kill)
    watch.start()
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(delay)
    used = cpu_seconds(process.pid)
    process.send_signal(signal.SIGINT)
    sent = time.perf_counter()
    said, *then = process.stdout.readline().split() or [""]
    seconds = time.perf_counter() - sent
    cpu = float(then[0]) - used if said == "KeyboardInterrupt" and then else float("nan")
    rest = process.communicate()[0].strip().splitlines()
    watch.cancel()
    return f"{seconds:6.2f} s, CPU {cpu:5.2f} s ({said if said in ENDS or not rest else rest[-1]})"


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of all threads of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(names: list[str]) -> None:
    """Print a line per case."""
    for name in names or list(CASES):
        print(f"{name:22s}", *(f"{measured(name, delay):48s}" for delay in DELAYS), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2])
    else:
        main(sys.argv[1:])
