"""Arrays of any library as NumPy's: labels, links, weights, masses and whatever else is given beside the data."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from softecm._text import number_of
from softecm._wording import literal

LARGEST = 1e150  # above this, squares and their sums overflow float64


def plain_array(values: object, name: str, dtype: DTypeLike = None) -> NDArray[Any]:
    """Return values of any library as an array: tensors lose their gradients, masked cells become missing values.

    Rows of different lengths become an array of objects, which the caller refuses by its shape.

    Examples
    --------
    >>> plain_array([[1, 2], [3]], "must_link").shape
    (2,)
    """
    if isinstance(values, np.ma.MaskedArray):
        return unmasked(values).astype(dtype, copy=False)
    if is_tensor(values):
        return detached(values, name).astype(dtype, copy=False)
    if _is_a("scipy.sparse", "sparray", values) or _is_a("scipy.sparse", "spmatrix", values):
        raise TypeError(f"{name} must be an array or a list; got a sparse matrix. Give {name}.toarray().")
    if isinstance(values, list | tuple) and any(isinstance(one, np.ma.MaskedArray) or is_tensor(one) for one in values):
        values = [plain_array(one, name) for one in values]
    try:
        return np.asarray(values, dtype=dtype)
    except ValueError:
        if dtype not in (None, object) or not isinstance(values, list | tuple):
            raise
        rows = np.empty(len(values), dtype=object)
        for i, one in enumerate(values):
            rows[i] = one
        return rows


def as_numbers(values: object, name: str) -> NDArray[np.float64]:
    """Return numeric values given in addition to the data as an array."""
    plain = plain_array(values, name)
    try:
        if plain.dtype.kind in "cmM":
            raise TypeError
        return np.asarray(plain, dtype=np.float64, order="C")  # torch takes no negative strides
    except OverflowError:
        refuse_huge(plain, name)
        raise
    except (TypeError, ValueError) as error:
        got = getattr(values, "dtype", type(values).__name__)
        raise ValueError(f"{name} must hold numbers only; got {got}. Pass an array of floats.") from error


def refuse_huge(X: object, name: str = "X") -> None:
    """Raise ValueError naming an integer beyond the range of floats."""
    cells = np.asarray(X, dtype=object)
    for at, cell in zip(np.ndindex(cells.shape), cells.ravel(), strict=True):
        if isinstance(cell, int) and abs(cell) > LARGEST:
            where = "".join(f"[{i}]" for i in at)
            raise ValueError(
                f"{name} must hold numbers of at most {LARGEST:g} in size; got {literal(cell)} in {name}{where}. Divide "
                "by a constant first, or leave it out."
            )


def refuse_ragged(rows: object, name: str) -> None:
    """Raise ValueError naming a row that has not as many cells as the first, or a cell that holds several values."""
    if not isinstance(rows, list | tuple) or not rows:
        return
    shapes = [_shape(row) for row in rows]
    odd = next((i for i, shape in enumerate(shapes) if shape != shapes[0]), None)
    if odd is None:
        return
    first, other = (
        number_of(shape[0], "cell") if len(shape) == 1 else f"shape {shape}" for shape in (shapes[0], shapes[odd])
    )
    raise ValueError(
        f"{name} must have rows of the same length, one number in each cell; got {first} in row 1 ({name}[0]) and {other} "
        f"in row {odd + 1} ({name}[{odd}]). Mark missing cells with NaN, or leave such rows out."
    )


def _shape(row: Any) -> tuple[int, ...]:
    try:
        return tuple(np.shape(row))
    except ValueError:  # cells of different shapes
        return (-1,)


def aligned(X: Any, name: str = "X") -> Any:
    """Order a data frame's columns of dissimilarities like its rows; raise an error if they name other objects."""
    index, columns = getattr(X, "index", None), getattr(X, "columns", None)
    if index is None or columns is None or callable(index) or len(index) != len(columns):
        return X
    rows, names = list(index), list(columns)
    if rows == names or _are_positions(rows) or _are_positions(names):
        return X
    if set(rows) != set(names):
        odd = next((one for one in names if one not in set(rows)), names[0])
        raise ValueError(
            f"{name} must have the same names in its index and its columns, which are the same objects; got column {odd!r}, "
            f"which the index does not have. If they are in the same order, give {name}.to_numpy() or set {name}.columns = "
            f"{name}.index."
        )
    return X[rows]


def _are_positions(names: Sequence[object]) -> bool:
    """Whether names only count the objects, like default pandas labels."""
    return any([str(name) for name in names] == [str(first + i) for i in range(len(names))] for first in (0, 1))


def is_tensor(X: object) -> bool:
    """Whether a value is a torch tensor; torch is not imported for it."""
    return _is_a("torch", "Tensor", X)


def _is_a(module: str, kind: str, X: object) -> bool:
    """Whether a value is of a class of a module; there are no values of one that was never imported."""
    return module in sys.modules and isinstance(X, getattr(sys.modules[module], kind, ()))


def unmasked(X: np.ma.MaskedArray[Any, Any]) -> NDArray[Any]:
    """Return a masked array as a plain one: NaN among numbers and None elsewhere where a cell is masked."""
    plain, masked = np.asarray(X.data), np.asarray(X.mask)  # type: ignore[no-untyped-call]
    if not masked.any():
        return plain
    numbers = plain.dtype.kind in "iuf"
    plain = plain.astype(np.result_type(plain, np.float32) if numbers else object)
    plain[masked] = np.nan if numbers else None
    return plain


def detached(X: Any, name: str) -> NDArray[Any]:
    """Return a torch tensor as an array without gradients."""
    if X.is_nested or X.is_meta:
        raise TypeError(f"{name} must be a dense tensor with data; got one that is nested or on the device 'meta'.")
    if str(X.layout) != "torch.strided" or X.is_quantized:
        raise TypeError(
            f"{name} must be a dense tensor; got layout {X.layout}. Use X.to_dense(), or a SciPy sparse array."
        )
    dense = X.detach().cpu()
    dense = dense.float() if str(dense.dtype) == "torch.bfloat16" else dense
    array: NDArray[Any] = dense.resolve_conj().resolve_neg().numpy()
    return array
