"""Rows of the table with generated data, so that no file is needed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from softecm.datasets import make_blobs
from softecm_paper.rows import Row
from softecm_paper.runs import Options


def blobs() -> Bunch:
    return make_blobs(40, n_clusters=3, distance=9, random_state=0)


def letters() -> Bunch:
    """Two groups of rows of letters, with one missing value."""
    import pandas as pd

    rng = np.random.default_rng(0)
    group = np.arange(24) % 2
    cells = np.where(rng.random((24, 5)) < 0.9, np.where(group, "a", "b")[:, None], "c").astype(object)
    cells[0, 0] = None
    return Bunch(data=pd.DataFrame(cells, columns=list("vwxyz")).astype("category"), target=group)


def waves() -> Bunch:
    rng = np.random.default_rng(0)
    t = np.linspace(0, 6, 12)
    group = np.arange(12) % 2
    data = np.where(group[:, None], np.sin(t), np.cos(t)) + 0.1 * rng.normal(size=(12, 12))
    return Bunch(data=data[..., None], target=group)


def row(key: str, kind: str, metric: str, n_clusters: int, loader: Callable[[], Any]) -> Row:
    return Row(key, key.title(), kind, metric, n_clusters, loader)


GLASS = row("glass", "numerical", "sqeuclidean", 3, blobs)
LUNG = row("lung", "categorical", "hamming", 2, letters)
ERING = row("ering_l2", "series", "series-euclidean", 2, waves)
STRETCHED = row("ering_softdtw", "series", "softdtw", 2, waves)


def options(folder: Path, *rows: Row, seeds: int = 2) -> Options:
    return Options(rows, folder, grid="small", seeds=seeds)
