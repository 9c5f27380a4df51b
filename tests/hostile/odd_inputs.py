"""One array in every form that data come in, sound ones and broken ones: what the gate for input has to tell apart."""

import datetime
import decimal
import fractions
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
import torch

FORMATS = ("csr", "csc", "coo", "dok", "lil", "bsr", "dia")


def odd_inputs(X: np.ndarray) -> dict[str, Callable[[], Any]]:
    """Makers of the same rows (n, p) in many forms and of what is no table at all, by name."""
    n, p = X.shape
    made: dict[str, Callable[[], Any]] = {
        "Fortran order": lambda: np.asfortranarray(X),
        "negative strides": lambda: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
        "every second": lambda: np.repeat(np.repeat(X, 2, 0), 2, 1)[::2, ::2],
        "one row repeated": lambda: np.broadcast_to(X[:1], X.shape),
        "read-only": lambda: _read_only(X),
        "subclass": lambda: X.view(type("Own", (np.ndarray,), {})),
        "no dimension": lambda: np.array(1.0),
        "one dimension": lambda: X[:, 0],
        "three dimensions": lambda: X[:, :, None],
        "no rows": lambda: X[:0],
        "no columns": lambda: X[:, :0],
        "nothing": lambda: np.empty((0, 0)),
        "one row": lambda: X[:1],
        "one column": lambda: X[:, :1],
        "list": X.tolist,
        "tuple of tuples": lambda: tuple(map(tuple, X)),
        "rows of unequal length": lambda: [row[: 1 + i % p].tolist() for i, row in enumerate(X)],
        "empty list": list,
        "list of an empty list": lambda: [[]],
        "None": lambda: None,
        "empty dict": dict,
        "dict of a table": lambda: {"a": X},
        "text": lambda: "abc",
        "generator": lambda: (row for row in X),
        "range": lambda: range(10),
        "set": lambda: {1, 2, 3},
        "list that holds itself": _endless,
        "array-like": lambda: type("Own", (), {"__array__": lambda self, dtype=None, copy=None: X})(),
        "raw bytes": lambda: np.zeros(n, dtype="V8"),
        "records": lambda: np.zeros(n, dtype=[("a", "f8"), ("b", "f8")]),
        "texts": lambda: X.astype(str),
        "bytes": lambda: X.astype(str).astype("S"),
        "dates": lambda: np.arange(X.size).reshape(X.shape).astype("M8[D]"),
        "no dates": lambda: np.full(X.shape, np.datetime64("NaT")),
        "date objects": lambda: np.full(X.shape, datetime.date(2020, 1, 1), dtype=object),
    }
    made |= _frames(X, np.random.default_rng(0))
    if X.dtype.kind == "f":
        made |= _numbers(X) | _tensors(X) | _sparse(X)
    return made


def _read_only(X: np.ndarray) -> np.ndarray:
    own = X.copy()
    own.flags.writeable = False
    return own


def _endless() -> list[Any]:
    own: list[Any] = [1, 2]
    own.append(own)
    return own


def _numbers(X: np.ndarray) -> dict[str, Callable[[], Any]]:
    corner = np.eye(*X.shape) > 0
    column = np.arange(X.shape[1]) == 0
    kinds = ("float16", "longdouble", ">f8", "complex128", "clongdouble", "bool", "int8")
    return {kind: lambda kind=kind: X.astype(kind) for kind in kinds} | {
        "uint8": lambda: np.abs(X).astype(np.uint8),
        "uint64 beyond int64": lambda: np.abs(X).astype(np.uint64) + np.uint64(2**63),
        "least int64": lambda: np.full(X.shape, np.iinfo(np.int64).min),
        "objects": lambda: X.astype(object),
        "objects and None": lambda: np.where(corner, None, X.astype(object)),
        "decimals": lambda: np.vectorize(decimal.Decimal, otypes=[object])(X),
        "fractions": lambda: np.vectorize(fractions.Fraction, otypes=[object])(X),
        "integers beyond floats": lambda: np.where(corner, 10**400, X.astype(object)),
        "some masked": lambda: np.ma.masked_greater(X, np.quantile(X, 0.9)),
        "all masked": lambda: np.ma.masked_array(X, np.ones(X.shape, dtype=bool)),
        "a NaN": lambda: np.where(corner, np.nan, X),
        "a column of NaN": lambda: np.where(column, np.nan, X),
        "all NaN": lambda: np.full(X.shape, np.nan),
        "infinity": lambda: np.where(corner, np.inf, X),
        "1e-300": lambda: X * 1e-300,
        "1e300": lambda: X * 1e300,
        "subnormal": lambda: X * 1e-320,
        "all zero": lambda: X * 0.0,
        "matrix": lambda: np.asmatrix(X),
    }


def _tensors(X: np.ndarray) -> dict[str, Callable[[], Any]]:
    def tensor() -> torch.Tensor:
        return torch.tensor(X)

    return {
        "float32 tensor": lambda: tensor().float(),
        "bfloat16 tensor": lambda: tensor().bfloat16(),
        "tensor with gradient": lambda: tensor().requires_grad_(),
        "conjugate tensor": lambda: tensor().to(torch.complex128).conj(),
        "negated tensor": lambda: torch._neg_view(tensor()),
        "transposed tensor": lambda: torch.tensor(X.T.copy()).T,
        "sparse tensor": lambda: tensor().to_sparse(),
        "meta tensor": lambda: torch.empty(X.shape, device="meta"),
        "quantized tensor": lambda: torch.quantize_per_tensor(tensor().float(), 0.1, 0, torch.qint8),
        "list of tensors": lambda: list(tensor().requires_grad_()),
    }


def _sparse(X: np.ndarray) -> dict[str, Callable[[], Any]]:
    def changed(part: str, change: Callable[[np.ndarray], Any]) -> Callable[[], Any]:
        def make() -> Any:
            rows = scipy.sparse.csr_array(X)
            setattr(rows, part, change(getattr(rows, part).copy() if part != "_shape" else rows.shape))
            return rows

        return make

    def first(value: float) -> Callable[[np.ndarray], np.ndarray]:
        return lambda data: np.concatenate([[value], data[1:]])

    def of_format(form: str, rows: np.ndarray) -> Callable[[], Any]:
        return lambda: getattr(scipy.sparse, f"{form}_array")(rows)

    made: dict[str, Callable[[], Any]] = {}
    for form in FORMATS:
        made[form] = of_format(form, X)
        made[f"{form} of bytes"] = of_format(form, np.abs(X).astype(np.uint8))
        made[f"{form} of complex numbers"] = of_format(form, X + 1j)
    return made | {
        "sparse NaN": changed("data", first(np.nan)),
        "sparse infinity": changed("data", first(np.inf)),
        "sparse objects": changed("data", lambda data: data.astype(object)),
        "cells in two dimensions": changed("data", lambda data: data[None]),
        "columns as floats": changed("indices", lambda indices: indices.astype(float)),
        "a column twice": changed("indices", lambda indices: np.concatenate([indices[1:2], indices[1:]])),
        "more rows than there are": changed("_shape", lambda shape: (shape[0] + 5, shape[1])),
        "fewer columns than there are": changed("_shape", lambda shape: (shape[0], 1)),
        "a negative number of rows": changed("_shape", lambda shape: (-shape[0], shape[1])),
        "cells added up": lambda: scipy.sparse.coo_array(
            (np.ones(4), (np.array([0, 0, 0, 0]), np.array([0, 0, 1, 1]))), shape=X.shape
        ),
        "sparse zeros": lambda: scipy.sparse.csr_array(X.shape),
        "sparse, no rows": lambda: scipy.sparse.csr_array((0, X.shape[1])),
    }


def _frames(X: np.ndarray, rng: np.random.Generator) -> dict[str, Callable[[], Any]]:
    n, p = X.shape
    corner = np.eye(n, p) > 0

    def frame(columns: Any = None, index: Any = None) -> pd.DataFrame:
        return pd.DataFrame(X, columns=columns, index=index)

    others = [str(k) for k in range(1, p)]
    made: dict[str, Callable[[], Any]] = {
        "columns named by numbers": frame,
        "columns of one name": lambda: frame(["a"] * p),
        "names of two levels": lambda: frame(pd.MultiIndex.from_product([["a"], range(p)])),
        "numbers and words as names": lambda: frame([0, *others]),
        "None as a name": lambda: frame([None, *others]),
        "an empty name": lambda: frame(["", *others]),
        "a name with commands": lambda: frame(["\x1b[31m\n\0", *others]),
        "one index for all": lambda: frame(index=[0] * n),
        "another order in the index": lambda: frame(index=rng.permutation(n)),
        "categories": lambda: frame().astype("category"),
        "strings": lambda: frame().astype("string"),
        "periods": lambda: pd.DataFrame({k: pd.period_range("2020", periods=n) for k in range(p)}),
        "time zones": lambda: pd.DataFrame({k: pd.date_range("2020", periods=n, tz="Europe/Paris") for k in range(p)}),
        "a column of a frame": lambda: pd.Series(X[:, 0]),
    }
    if X.dtype.kind != "f":
        return made
    pl, pa = __import__("polars"), __import__("pyarrow")
    columns = {f"c{k}": X[:, k] for k in range(p)}
    return made | {
        "nullable": lambda: frame().astype("Float64"),
        "nullable, some missing": lambda: frame().astype("Float64").mask(corner),
        "Int64, some missing": lambda: frame().round().astype("Int64").mask(corner),
        "Arrow in pandas": lambda: frame().astype("float64[pyarrow]").mask(corner),
        "sparse frame": lambda: pd.DataFrame.sparse.from_spmatrix(scipy.sparse.csr_matrix(X)),
        "polars": lambda: pl.DataFrame(columns),
        "lazy polars": lambda: pl.LazyFrame(columns),
        "Arrow": lambda: pa.table(columns),
        "record batch": lambda: pa.record_batch({name: pa.array(cells) for name, cells in columns.items()}),
        "Arrow dictionaries": lambda: pa.table(
            {k: pa.array(v.round(1)).dictionary_encode() for k, v in columns.items()}
        ),
        "Arrow structs": lambda: pa.table({"c0": pa.array([{"a": 1.0}] * n)}),
    }
