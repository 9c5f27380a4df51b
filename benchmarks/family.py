"""Times of the family: ECM against R evclust's 8.4 s, RECM and EVCLUS with 2 000 objects, and the others.

    python benchmarks/family.py

R evclust 2.0.3 needs 8.4 s for 7 iterations of ECM on 20 000 x 10 numbers with 4 clusters, single clusters and pairs.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from softecm import BCM, CCM, CECM, ECM, EVCLUS, FCM, RECM, ECMPlus
from softecm.constraints import sample_constraints
from softecm.datasets import make_blobs

R_EVCLUST = 8.4  # seconds


def fastest(task: Callable[[], Any], repeats: int = 5) -> float:
    task()  # compiles
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    warnings.simplefilter("ignore")  # seven iterations need not converge
    data = make_blobs(20_000, n_clusters=4, n_features=10, spread=2.0, random_state=0)
    X, start = data.data, data.data[:4]
    rounds = {"max_iter": 7, "tol": 0.0, "init": start}
    seconds = fastest(lambda: ECM(4, **rounds).fit(X))
    print(
        f"ECM      20 000 x 10, c = 4 with pairs, 7 rounds: {seconds:7.3f} s, {R_EVCLUST / seconds:5.0f} x R evclust's 8.4 s"
    )
    for cls in FCM, CCM, BCM, ECMPlus:
        seconds = fastest(lambda cls=cls: cls(4, **rounds).fit(X), 2)
        print(f"{cls.__name__:8} the same:                                {seconds:7.3f} s")
    pairs = sample_constraints(data.target, 200, random_state=0)
    seconds = fastest(lambda: CECM(4, **rounds).fit(X, **pairs._asdict()), 2)
    print(f"CECM     the same, 200 links:                     {seconds:7.3f} s")
    small = make_blobs(2_000, n_clusters=4, n_features=10, spread=2.0, random_state=0).data
    d = np.sqrt(((small[:, None] - small) ** 2).sum(-1))
    for model in RECM(4, n_init=1, random_state=0), EVCLUS(4, n_init=1, n_neighbors=100, random_state=0):
        seconds = fastest(lambda model=model: model.fit(d), 1)
        print(f"{type(model).__name__:8} 2 000 objects, one start, {model.n_iter_:4d} rounds:     {seconds:7.3f} s")


if __name__ == "__main__":
    main()
