"""Fits of every kind, repeated in other processes or threads: ``python processes.py REPETITIONS WAY ...``.

Prints a line per fit, which ``tests/test_processes.py`` reads.
"""

import hashlib
import multiprocessing
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np


def vectors() -> np.ndarray:
    """Enough for several threads: kernels use them above a million operations, torch above some 30 000 numbers."""
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(size=(12_000, 6)) + shift for shift in (0.0, 6.0, -6.0)])


def table() -> list[list[object]]:
    rng = np.random.default_rng(1)
    return [
        [float(rng.normal() + 4 * (i % 2)), "abc"[i % 2 + (i % 7 == 0)], None if i % 11 == 0 else 1.0]
        for i in range(3000)
    ]


def series() -> np.ndarray:
    t = np.linspace(0, 6, 60)
    rng = np.random.default_rng(2)
    return np.stack([np.sin(t * (1 + i % 2)) + 0.1 * rng.normal(size=60) for i in range(60)])[..., None]


def matrix() -> np.ndarray:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(300, 2)) + 5 * np.repeat(np.eye(3, 2), 100, 0)
    return np.sqrt(((x[:, None] - x) ** 2).sum(-1))


def fit(kind: str) -> str:
    """A digest of the masses of one kind of fit."""
    from scipy.sparse import csr_array

    from softecm import EGMM, EVCLUS, NNEVCLUS, ECMdd, EKNNClus, SoftECM

    makers: dict[str, Callable[[], object]] = {
        "vectors": lambda: SoftECM(3, n_init=2, random_state=0).fit(vectors()),
        "table": lambda: SoftECM(2, metric="mixed", n_init=2, random_state=0).fit(np.array(table(), dtype=object)),
        "series": lambda: SoftECM(2, metric="softdtw", n_init=2, max_iter=3, random_state=0).fit(series()),
        "matrix": lambda: SoftECM(3, metric="precomputed", n_init=2, random_state=0).fit(matrix()),
        "conflicts": lambda: EVCLUS(3, n_init=2, max_iter=5, random_state=0).fit(matrix()),
        "network": lambda: NNEVCLUS(3, n_init=2, max_iter=5, random_state=0).fit(vectors()[::100]),
        "mixture": lambda: EGMM(3, n_init=2, max_iter=5, random_state=0).fit(vectors()),
        "votes": lambda: EKNNClus(n_init=2, max_iter=5, random_state=0).fit(vectors()[::20]),
        "medoids": lambda: ECMdd(3, n_init=2, max_iter=5, random_state=0).fit(matrix()),
        "sparse": lambda: SoftECM(3, n_init=2, random_state=0).fit(csr_array(vectors()[::10].clip(min=0.0))),
        "steps": lambda: SoftECM(2, metric="dtw", n_init=2, max_iter=3, random_state=0).fit(series()),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        masses = makers[kind]().partition_.masses
    return hashlib.sha256(np.round(masses, 9).tobytes()).hexdigest()


class Fits:
    """A data set for torch's loader whose items are digests of fits."""

    def __init__(self, kinds: list[str]):
        self.kinds = kinds

    def __len__(self) -> int:
        return len(self.kinds)

    def __getitem__(self, i: int) -> str:
        return fit(self.kinds[i])


KINDS = ["vectors", "table", "series", "matrix", "conflicts"]
KINDS += ["network", "mixture", "votes", "medoids", "sparse", "steps"]


def run(way: str, kinds: list[str]) -> list[str]:
    """Digests of those fits, computed in the other way."""
    if way == "threads":
        with ThreadPoolExecutor(8) as threads:
            return list(threads.map(fit, kinds))
    if way in ("multiprocessing", "loky"):
        from joblib import Parallel, delayed

        return list(Parallel(n_jobs=2, backend=way)(delayed(fit)(kind) for kind in kinds))
    if way == "loader":
        from torch.utils.data import DataLoader

        return [item[0] for item in DataLoader(Fits(kinds), num_workers=2)]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(way)) as processes:
        return list(processes.map(fit, kinds))


if __name__ == "__main__":
    expected = {kind: fit(kind) for kind in KINDS}
    for way in sys.argv[2:]:
        for _ in range(int(sys.argv[1])):
            kinds = KINDS + KINDS[:3]
            for kind, digest in zip(kinds, run(way, kinds), strict=True):
                print(way, kind, "same" if digest == expected[kind] else "different", flush=True)
