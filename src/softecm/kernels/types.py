"""Types of what kernels take and give: arrays by what they hold, and compiled functions that keep their signature.

Single numbers are plain ``int`` and ``float``, as Numba sees them; `Real` where the size is that of an array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from llvmlite import ir
    from numba.core.base import BaseContext
    from numba.core.typing.templates import Signature

Floats: TypeAlias = NDArray[np.float64]
Real: TypeAlias = np.float32 | np.float64
Reals: TypeAlias = NDArray[np.float32 | np.float64]
"""Floats of either size: a kernel is compiled for the one it is called with."""
Ints: TypeAlias = NDArray[np.int64]
Codes: TypeAlias = NDArray[np.integer]
"""Whole numbers of any size."""
Bools: TypeAlias = NDArray[np.bool_]
Bytes: TypeAlias = NDArray[np.uint8]

Function = TypeVar("Function", bound=Callable[..., object])


class Compiler(Protocol):
    """What ``numba.njit(...)`` is: a decorator, after which a function is called as before."""

    def __call__(self, function: Function, /) -> Function:
        """The compiled function."""
        ...


#: How an intrinsic writes its instructions: (context, builder, signature, arguments) -> value.
Lowering: TypeAlias = "Callable[[BaseContext, ir.IRBuilder, Signature, Sequence[ir.Value]], ir.Value]"
#: What an intrinsic answers: its signature for these argument types, and how it is written.
Intrinsic: TypeAlias = "tuple[Signature, Lowering]"
