"""NumPy files: two dimensions are a table, three are series."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from softecm._text import grouped
from softecm._wording import option
from softecm.readers.base import (
    Column,
    Loaded,
    ReadError,
    ReadOptions,
    Sheet,
    as_names,
    check_unpacked,
    readable,
)
from softecm.readers.series import loaded_series


def read_arrays(path: Path, options: ReadOptions) -> Sheet | Loaded:
    """Read the numbers of an ``.npy`` file or of one array of an ``.npz`` file; its array ``y`` has the labels."""
    check_unpacked(path)
    what = "NumPy arrays of numbers (Python objects are never loaded)"
    with readable(path, what), open(path, "rb") as file, np.errstate(all="ignore"):
        content = np.load(file, allow_pickle=False)
        if isinstance(content, np.ndarray):
            values, labels = content, None
        elif {"format", "shape", "data"} <= set(content.files):  # by scipy.sparse.save_npz
            return _sparse(path)
        else:
            name = _chosen(path, list(content.files), options)
            values = content[name]
            labels = content["y"] if "y" in content.files and name != "y" else None
    labels = None if labels is None or labels.shape[:1] != values.shape[:1] else as_names(labels)
    if values.dtype.kind not in "iufb" or values.ndim not in (2, 3):
        raise ReadError(
            f"{path} must hold numbers of shape (objects, columns) or (series, steps, channels); got {values.dtype} "
            f"of shape {values.shape}."
        )
    if not values.size:
        raise ReadError(f"{path} holds an array without objects: there is nothing to cluster.")
    how = {"format": f"NumPy array of shape {values.shape}"}
    if values.ndim == 3:
        return loaded_series(list(values.astype(np.float64)), None, labels, how)
    names = [f"column {j + 1}" for j in range(values.shape[1])]
    import pandas as pd

    return Sheet(pd.DataFrame(values, columns=names), how, labels)


def _sparse(path: Path) -> Loaded:
    """Return sparse rows, which stay sparse; an array ``names`` beside SciPy's own has the names of the columns."""
    import scipy.sparse

    with readable(path, "a sparse matrix of SciPy's"):
        rows = scipy.sparse.csr_array(scipy.sparse.load_npz(path))
        rows.check_format(full_check=True)
        with np.load(path, allow_pickle=False) as content:
            names = content["names"].astype(str) if "names" in content.files else np.empty(0, dtype=str)
    if rows.dtype.kind not in "iufb" or not all(rows.shape):
        raise ReadError(
            f"{path} must hold sparse numbers of some rows and columns; got {rows.dtype} of shape {rows.shape}."
        )
    n, p = rows.shape
    filled = f"{grouped(rows.nnz)} of {grouped(n * p)} cells are not zero"
    how = {"format": f"sparse matrix of shape {rows.shape}"}
    columns = (Column(f"{p} columns", "number", filled),)
    feature_names = tuple(names.tolist()) if names.shape == (p,) else ()
    return Loaded(rows.astype(np.float64), "table", None, None, columns, how, feature_names=feature_names)


def _chosen(path: Path, names: list[str], options: ReadOptions) -> str:
    wanted = [options.array] if options.array else [*(n for n in ("X", "x", "data", "arr_0") if n in names), *names]
    if not wanted or wanted[0] not in names:
        raise ReadError(
            f"{path} has no array {options.array or ''}: it holds {', '.join(names) or 'none'}. Give {option('array')}."
        )
    return wanted[0]
