"""Arrays of any library as NumPy's: labels, links, weights, masses and whatever else is given beside the data."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


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
