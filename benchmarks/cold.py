"""The first fit of each kind in a new process, relative to ``import torch, sklearn.cluster``.

``python benchmarks/cold.py [REPETITIONS]`` starts new processes with empty cache folders, alternating imports and fits,
and prints the ratios of the minima (including the import of softecm) beside the targets. ``--cpu`` compares CPU time
instead of wall time, for a busy machine.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time

IMPORT = "import torch, sklearn.cluster"
FIT = "import warnings; warnings.simplefilter('ignore'); import numpy as np; r = np.random.default_rng(0)\n"
FIT += "from softecm import SoftECM\n"
BLOBS = "X = r.normal(size=({n}, 4)) + 6 * r.integers(0, 3, ({n}, 1))\n"
#: The code of a process, and the target ratio.
CASES = {
    "150 vectors": (BLOBS.format(n=150) + "SoftECM(3, random_state=0).fit(X)", 2.0),
    "100 000 vectors": (BLOBS.format(n=100_000) + "SoftECM(3, random_state=0).fit(X)", 2.5),
    "mixed table": (
        "g = r.integers(0, 3, 300)\n"
        "X = np.array([[x, 'abc'[k]] for x, k in zip(r.normal(size=300) + 4 * g, g)], dtype=object)\n"
        "SoftECM(3, random_state=0).fit(X)",
        2.8,
    ),
    "series": (
        "X = np.sin(np.linspace(0, 6, 50) * (1 + np.arange(60) % 3)[:, None])[..., None]\n"
        "SoftECM(3, random_state=0).fit(X + 0.1 * r.normal(size=X.shape))",
        2.8,
    ),
    "matrix": (
        BLOBS.format(n=150)
        + "SoftECM(3, metric='precomputed', random_state=0).fit(((X[:, None] - X) ** 2).sum(-1) ** 0.5)",
        1.7,
    ),
}


def seconds(code: str, cpu: bool) -> float:
    """Return the time of a new process that runs the code with empty caches."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "SOFTECM_CACHE": folder, "XDG_CACHE_HOME": folder}
        used, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)
        elapsed, now = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return now.ru_utime - used.ru_utime + now.ru_stime - used.ru_stime if cpu else elapsed


def main(repetitions: int, cpu: bool) -> None:
    """Print a line for each kind of fit."""
    codes = [IMPORT, *(FIT + code for code, _ in CASES.values())]
    seconds(codes[0], cpu)  # load files into the system's cache
    rows = [[seconds(code, cpu) for code in codes] for _ in range(repetitions)]
    base, *fits = map(min, zip(*rows, strict=True))
    print(f"{IMPORT}: {base:.2f} s{' of processor time' if cpu else ''}")
    for (name, (_, asked)), took in zip(CASES.items(), fits, strict=True):
        print(f"{name:16s} {took:6.2f} s   {took / base:5.2f} times   asked: {asked}")


if __name__ == "__main__":
    given = [argument for argument in sys.argv[1:] if argument.isdigit()]
    main(int(given[0]) if given else 3, "--cpu" in sys.argv)
