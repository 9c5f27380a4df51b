"""Validation of parameters; arrays and data frames of any library.

Every message names the parameter, the rule, the value received and a remedy.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import DTypeLike, NDArray

from softecm._text import meant, number_of
from softecm._wording import literal, option

if TYPE_CHECKING:
    from torch import Tensor

Array: TypeAlias = NDArray[Any]
LARGEST = 1e150  # above this, squares and their sums overflow float64
#: The remedy for an invalid number of clusters.
HOW_MANY = "Pass the number of groups; softecm.choose_n_clusters(X) can find it."


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a number, including NumPy's; booleans are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: object) -> TypeGuard[int]:
    """Whether a value is an integer, including NumPy's; booleans are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def as_float(number: float) -> float:
    """Return a number as a float; infinite on overflow."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def check_number(
    name: str,
    value: object,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    most: float | None = None,
    hint: str,
) -> float:
    """Return a finite number greater than ``above`` or at least ``least``, and less than ``below`` or at most ``most``."""
    low = f"greater than {above:g}" if above is not None else f"at least {least:g}" if least is not None else ""
    high = f"less than {below:g}" if below is not None else f"at most {most:g}" if most is not None else ""
    rule = " and ".join(filter(None, (low, high)))
    number = as_float(value) if is_number(value) else math.nan
    outside = (
        (most is not None and number > most)
        or (below is not None and not number < below)
        or (above is not None and not number > above)
        or (least is not None and not number >= least)
    )
    if not math.isfinite(number) or outside:
        kind = "a finite number" if math.isinf(number) or not rule else "" if math.isfinite(number) else "a number"
        raise ValueError(f"{option(name)} must be {' '.join(filter(None, (kind, rule)))}; got {literal(value)}. {hint}")
    return number


MOST = 10**9  # of any count


def check_count(name: str, value: object, *, least: int = 1, most: int = MOST, hint: str) -> int:
    """Return an integer of at least ``least``."""
    if not is_whole(value) or value < least:
        raise ValueError(f"{option(name)} must be a whole number of at least {least}; got {literal(value)}. {hint}")
    number = int(value)
    if number > most:
        raise ValueError(f"{option(name)} must be a whole number of at most {most}; got {literal(number)}. {hint}")
    return number


def check_choice(name: str, value: object, choices: Collection[str], hint: str = "") -> str:
    """Return one of a few words."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(map(literal, choices))
        remedy = f"{meant(value, choices)}{' ' + hint if hint else ''}"
        raise ValueError(f"{option(name)} must be one of {listed}; got {literal(value)}.{remedy}")
    return value


def check_flag(name: str, value: object, hint: str) -> bool:
    """Return a boolean, also from NumPy's."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False; got {value!r}. {hint}")
    return bool(value)


def is_several(value: object) -> TypeGuard[Iterable[Any]]:
    """Whether a value holds several ones, such as a list or an array; a text and a mapping are single ones."""
    return (
        isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping) and getattr(value, "ndim", 1) > 0
    )


def check_list(name: str, value: object, of: str) -> list[Any]:
    """Return several values as a list; raise TypeError for a single one, also for a text."""
    if not is_several(value):
        raise TypeError(f"{option(name)} must be a list of {of}; got {literal(value)}. Write [..., ...].")
    return list(value)


def check_pair(name: str, value: object, of: str) -> tuple[Any, Any]:
    """Return two values."""
    pair = check_list(name, value, of)
    if len(pair) != 2:
        raise ValueError(f"{option(name)} must be a pair of {of}; got {len(pair)} values. Write (..., ...).")
    return pair[0], pair[1]


def check_function(name: str, value: object, call: str) -> None:
    """Raise TypeError for what is neither None nor callable; ``call`` shows how it is called."""
    if value is not None and not callable(value):
        raise TypeError(f"{name} must be a function, called as {call}, or None; got {literal(value)}.")


def plain_array(values: Any, name: str, dtype: DTypeLike = None) -> Array:
    """Return an array or list of any library as an array: tensors lose their gradients, masked cells become missing.

    Rows of different lengths become an array of objects, which the caller refuses by its shape.

    Examples
    --------
    >>> plain_array([[1, 2], [3]], "must_link").shape
    (2,)
    """
    tensors = getattr(sys.modules.get("torch"), "Tensor", ())  # torch is not imported for it
    rows = isinstance(values, list | tuple)
    if isinstance(values, np.ma.MaskedArray):
        values = _unmasked(values)
    elif isinstance(values, tensors):
        values = _detached(values, name)
    elif hasattr(values, "toarray"):
        raise TypeError(f"{name} must be an array or a list; got a sparse matrix. Give {name}.toarray().")
    elif rows:
        values = [plain_array(one, name) if isinstance(one, (np.ma.MaskedArray, tensors)) else one for one in values]
    try:
        return np.asarray(values, dtype=dtype)
    except OverflowError:
        refuse_huge(values, name)
        raise
    except (TypeError, ValueError) as error:
        if dtype is np.float64:
            raise ValueError(
                f"{name} must be a table of numbers with rows of equal length; got {type(values).__name__} that is not one."
            ) from None
        if not rows or isinstance(error, TypeError):
            raise
        table = np.empty(len(values), dtype=object)
        for i, one in enumerate(values):
            table[i] = one
        return table


def _unmasked(X: Array) -> Array:
    """Return a masked array as a plain one: NaN among numbers and None elsewhere where a cell is masked."""
    plain, masked = np.ma.getdata(X), np.ma.getmaskarray(X)  # type: ignore[no-untyped-call]
    numbers = plain.dtype.kind in "iuf"
    if masked.any():
        plain = plain.astype(np.result_type(plain, np.float32) if numbers else object)
        plain[masked] = np.nan if numbers else None
    return np.asarray(plain)


def _detached(X: Tensor, name: str) -> Array:
    """Return a torch tensor as an array without gradients."""
    if X.is_nested or X.is_meta:
        raise TypeError(f"{name} must be a dense tensor with data; got one that is nested or on the device 'meta'.")
    if str(X.layout) != "torch.strided" or X.is_quantized:
        raise TypeError(
            f"{name} must be a dense tensor; got layout {X.layout}. Use X.to_dense(), or a SciPy sparse array."
        )
    dense = X.detach().cpu()
    return (dense.float() if str(dense.dtype) == "torch.bfloat16" else dense).resolve_conj().resolve_neg().numpy()


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


BACKENDS = ("pandas", "polars", "pyarrow")


def frame_of(X: object) -> nw.DataFrame[Any] | None:
    """Return a data frame of any library as narwhals'; None for anything else."""
    frame: object = nw.from_native(X, eager_only=True, pass_through=True)  # type: ignore[call-overload]
    return frame if isinstance(frame, nw.DataFrame) else None


def make_frame(columns: Mapping[str, object], backend: str | None = None) -> Any:
    """Return a frame of these columns; by default pandas."""
    backend = backend or "pandas"
    if backend not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(map(repr, BACKENDS))}; got {backend!r}.")
    if not find_spec(backend):
        raise ImportError(f"backend {backend!r} is not installed: pip install {backend}.")
    library = import_module(backend)
    return (library.table if backend == "pyarrow" else library.DataFrame)(dict(columns))
