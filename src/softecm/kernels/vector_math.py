"""Powers that a compiler can vectorise: ``2**x`` and ``log2(x)`` from arithmetic and bit patterns alone.

The C library's ``exp`` and ``log`` are calls the compiler cannot put into vector lanes, and they cost most of a mass
update. These two are straight-line code: a split into exponent and mantissa by bit pattern, and a polynomial. Relative
error of ``exp2`` and absolute error of ``log2`` are within a few units of 1e-16 (checked in the tests).
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir
from numba import types
from numba.core.base import BaseContext
from numba.core.typing.context import Context
from numba.core.typing.templates import Signature
from numba.extending import intrinsic

from softecm.kernels.compiling import compiled
from softecm.kernels.types import Intrinsic

# Rounds a double in |x| < 2**51 to the nearest integer when added, and leaves that integer in its low bits.
_ROUND = 6755399441055744.0  # 1.5 * 2**52
_LN2 = 0.6931471805599453
_INV_LN2 = 1.4426950408889634
_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
_ONE_BITS = 0x3FF0000000000000


# No re-association here, whatever the caller allows: adding and taking off _ROUND is what rounds.
_jit = compiled(fastmath=frozenset({"contract", "nsz"}), cache=False)


@intrinsic
def to_bits(typingctx: Context, value: types.Type) -> Intrinsic:
    """The 64 bits of a double as an integer."""

    def codegen(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, args: Sequence[ir.Value]
    ) -> ir.Value:
        return builder.bitcast(args[0], context.get_value_type(types.int64))

    return types.int64(types.float64), codegen


@intrinsic
def from_bits(typingctx: Context, value: types.Type) -> Intrinsic:
    """The double that has these 64 bits."""

    def codegen(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, args: Sequence[ir.Value]
    ) -> ir.Value:
        return builder.bitcast(args[0], context.get_value_type(types.float64))

    return types.float64(types.int64), codegen


@_jit
def exp2(x: float) -> float:
    """``2**x`` for x <= 0 (0 below -1020: what is that small is nothing beside the largest term)."""
    clipped = max(x, -1020.0)
    shifted = clipped + _ROUND
    whole = shifted - _ROUND
    t = (clipped - whole) * _LN2  # |t| <= ln(2) / 2
    # Taylor's polynomial of exp to the 13th power: the remainder is below 4e-17 there.
    p = 1.6059043836821613e-10
    p = p * t + 2.08767569878681e-09
    p = p * t + 2.505210838544172e-08
    p = p * t + 2.755731922398589e-07
    p = p * t + 2.7557319223985893e-06
    p = p * t + 2.48015873015873e-05
    p = p * t + 1.984126984126984e-04
    p = p * t + 1.388888888888889e-03
    p = p * t + 8.333333333333333e-03
    p = p * t + 4.1666666666666664e-02
    p = p * t + 1.6666666666666666e-01
    p = p * t + 0.5
    p = p * t + 1.0
    p = p * t + 1.0
    scale = from_bits((to_bits(shifted) + 1023) << 52)
    return p * scale if x > -1020.0 else 0.0


@_jit
def log2(x: float) -> float:
    """Binary logarithm of a positive normal number."""
    bits = to_bits(x)
    # Split so that the mantissa lies in [sqrt(1/2), sqrt(2)).
    offset = bits - _SQRT_HALF_BITS
    exponent = offset >> 52
    mantissa = from_bits(bits - (exponent << 52))
    s = (mantissa - 1.0) / (mantissa + 1.0)  # |s| <= 0.1716
    z = s * s
    # 2 atanh(s) = 2 s (1 + z/3 + z^2/5 + ...)
    p = 1.0 / 23.0
    p = p * z + 1.0 / 21.0
    p = p * z + 1.0 / 19.0
    p = p * z + 1.0 / 17.0
    p = p * z + 1.0 / 15.0
    p = p * z + 1.0 / 13.0
    p = p * z + 1.0 / 11.0
    p = p * z + 1.0 / 9.0
    p = p * z + 1.0 / 7.0
    p = p * z + 1.0 / 5.0
    p = p * z + 1.0 / 3.0
    p = p * z
    result: float = float(exponent) + (2.0 * _INV_LN2) * (s + s * p)
    return result
