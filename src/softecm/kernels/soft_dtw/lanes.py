"""Lanes: 64 bytes of floats that the Soft-DTW kernels add, multiply, load and store as one value.

Vector code is written out (64 bytes wide; LLVM splits it where registers are narrower) instead of hoping for LLVM's
vectoriser, which needs alias checks, remainder loops and three times the compile time.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.base import BaseContext
from numba.core.typing.context import Context
from numba.core.typing.templates import ConcreteTemplate, Signature, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

from softecm.kernels.compiling import BOUNDS
from softecm.kernels.types import Intrinsic


class Lanes(types.Type):
    """Numba type of a vector of floats, with the constants its arithmetic needs."""

    def __init__(
        self, scalar: types.Float, mantissa_bits: int, bias: int, least: int, tiny: float, poly: tuple[float, ...]
    ):
        self.scalar, self.mantissa_bits, self.bias = scalar, mantissa_bits, bias
        self.least, self.tiny, self.poly = least, tiny, poly
        self.width = 512 // scalar.bitwidth
        self.real = ir.VectorType(ir.FloatType() if scalar.bitwidth == 32 else ir.DoubleType(), self.width)
        self.int = ir.VectorType(ir.IntType(scalar.bitwidth), self.width)
        super().__init__(name=f"Lanes({scalar})")

    def const(self, value: float) -> ir.Constant:
        """Return the vector with one value in all lanes."""
        return ir.Constant(self.real, [float(value)] * self.width)

    def bits(self, value: int) -> ir.Constant:
        """Return the integer vector with one value in all lanes."""
        return ir.Constant(self.int, [value] * self.width)


# Polynomials: Chebyshev fits of 2^t on [-1/2, 1/2], highest power first, errors 8e-8 and 2e-16.
F32 = Lanes(
    types.float32,
    23,
    127,
    -60,
    1e-12,
    (
        0.0013390863364671234381,
        0.0096760319183220540794,
        0.055503571142190778186,
        0.24022107485308337545,
        0.69314718802622878106,
        1.000000075454897193,
    ),
)
F64 = Lanes(
    types.float64,
    52,
    1023,
    -500,
    1e-140,
    (
        7.0725859492692236999e-9,
        1.0208690299958305835e-7,
        1.3215442587921689653e-6,
        0.000015252657260200837064,
        0.00015403530441736050155,
        0.0013333558230164973899,
        0.0096181291076068885273,
        0.055504108664447719166,
        0.2402265069591009822,
        0.69314718055994998286,
        1.0,
    ),
)
_LANES = {types.float32: F32, types.float64: F64}


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: models.DataModelManager, lanes: Lanes):
        super().__init__(manager, lanes, lanes.real)


def _register(op: Callable[..., object], instruction: str) -> None:
    def lower(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        return getattr(builder, instruction)(*args)

    infer_global(op)(type(instruction, (ConcreteTemplate,), {"cases": [signature(t, t, t) for t in (F32, F64)]}))
    for t in (F32, F64):
        lower_builtin(op, t, t)(lower)


for _op, _instruction in ((operator.add, "fadd"), (operator.sub, "fsub"), (operator.mul, "fmul")):
    _register(_op, _instruction)


def _address(
    context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value], lanes: Lanes
) -> ir.Value:
    array = context.make_array(sig.args[0])(context, builder, args[0])
    data = array.data
    if BOUNDS:
        last = builder.sub(array.nitems, context.get_constant(types.intp, lanes.width))
        outside = builder.or_(
            builder.icmp_signed("<", args[1], context.get_constant(types.intp, 0)),
            builder.icmp_signed(">", args[1], last),
        )
        with builder.if_then(outside, likely=False):
            context.call_conv.return_user_exc(builder, IndexError, ("lanes outside the workspace",))
    return builder.bitcast(builder.gep(data, [args[1]]), lanes.real.as_pointer())


def _spread(builder: ir.IRBuilder, scalar: ir.Value, vector: ir.VectorType) -> ir.Value:
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, undefined, zeros)


def _call(builder: ir.IRBuilder, name: str, lanes: Lanes, *args: ir.Value) -> ir.Value:
    kind = ir.FunctionType(lanes.real, [lanes.real] * len(args))
    full = f"llvm.{name}.v{lanes.width}f{lanes.scalar.bitwidth}"
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, full), args)


def _larger(builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


@intrinsic
def load(typingctx: Context, array: types.Array, index: types.Integer) -> Intrinsic:
    """Lanes of an array from an index on (no wrap-around; bounds only under SOFTECM_BOUNDS)."""
    lanes = _LANES[array.dtype]

    def codegen(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        return builder.load(_address(context, builder, sig, args, lanes), align=lanes.scalar.bitwidth // 8)

    return lanes(array, types.intp), codegen


@intrinsic
def store(typingctx: Context, array: types.Array, index: types.Integer, value: Lanes) -> Intrinsic:
    """Write lanes into an array from an index on."""
    lanes = _LANES[array.dtype]

    def codegen(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        address = _address(context, builder, sig, args, lanes)
        builder.store(args[2], address, align=lanes.scalar.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), codegen


@intrinsic
def splat(typingctx: Context, value: types.Type) -> Intrinsic:
    """One scalar in all lanes."""
    lanes = _LANES[value]

    def codegen(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        return _spread(builder, args[0], lanes.real)

    return lanes(value), codegen


@intrinsic
def fma(typingctx: Context, a: Lanes, b: Lanes, c: Lanes) -> Intrinsic:
    """Multiply and add, a × b + c, in one instruction where there is one."""

    def codegen(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        return _call(builder, "fmuladd", sig.return_type, *args)

    return a(a, a, a), codegen


@intrinsic
def rint(typingctx: Context, a: Lanes) -> Intrinsic:
    """Nearest whole number."""

    def codegen(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        return _call(builder, "rint", sig.return_type, *args)

    return a(a), codegen


@intrinsic
def maximum(typingctx: Context, a: Lanes, b: Lanes) -> Intrinsic:
    """Larger of two, lane by lane."""

    def codegen(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        return _larger(builder, *args)

    return a(a, a), codegen


@intrinsic
def minimum(typingctx: Context, a: Lanes, b: Lanes) -> Intrinsic:
    """Smaller of two, lane by lane."""

    def codegen(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        return builder.select(builder.fcmp_ordered("<", *args), *args)

    return a(a, a), codegen


@intrinsic
def below(typingctx: Context, a: Lanes, b: Lanes) -> Intrinsic:
    """1 where a < b, else 0."""

    def codegen(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        lanes = sig.return_type
        return builder.select(builder.fcmp_ordered("<", *args), lanes.const(1.0), lanes.const(0.0))

    return a(a, a), codegen


@intrinsic
def magnitude(typingctx: Context, a: Lanes) -> Intrinsic:
    """Absolute value."""

    def codegen(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        return _call(builder, "fabs", sig.return_type, *args)

    return a(a), codegen


@intrinsic
def root(typingctx: Context, a: Lanes) -> Intrinsic:
    """Square root."""

    def codegen(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        return _call(builder, "sqrt", sig.return_type, *args)

    return a(a), codegen


@intrinsic
def exp2_fraction(typingctx: Context, a: Lanes) -> Intrinsic:
    """2^a for a in [-1/2, 1/2]."""

    def codegen(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        lanes = sig.return_type
        value = lanes.const(lanes.poly[0])
        for coefficient in lanes.poly[1:]:
            value = _call(builder, "fmuladd", lanes, value, args[0], lanes.const(coefficient))
        return value

    return a(a), codegen


@intrinsic
def exp2_whole(typingctx: Context, a: Lanes) -> Intrinsic:
    """2^a for whole a ≤ 0; everything below `least` counts as `least`, whose weight is nothing beside 1."""

    def codegen(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        lanes = sig.return_type
        # Adding 1.5 × 2^(mantissa bits) leaves the integer in the lowest bits; the bias rides along.
        magic = lanes.const(1.5 * 2.0**lanes.mantissa_bits + lanes.bias)
        shifted = builder.fadd(_larger(builder, args[0], lanes.const(lanes.least)), magic)
        bits = builder.shl(builder.bitcast(shifted, lanes.int), lanes.bits(lanes.mantissa_bits))
        return builder.bitcast(bits, lanes.real)

    return a(a), codegen


@intrinsic
def reciprocal(typingctx: Context, a: Lanes) -> Intrinsic:
    """1 / a."""

    def codegen(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        return builder.fdiv(sig.return_type.const(1.0), args[0], flags=("fast",))

    return a(a), codegen


@intrinsic
def mantissa(typingctx: Context, a: Lanes) -> Intrinsic:
    """Part of a in [1, 2)."""

    def codegen(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        lanes = sig.return_type
        bits = builder.and_(builder.bitcast(args[0], lanes.int), lanes.bits(2**lanes.mantissa_bits - 1))
        bits = builder.or_(bits, lanes.bits(lanes.bias << lanes.mantissa_bits))
        return builder.bitcast(bits, lanes.real)

    return a(a), codegen


@intrinsic
def exponent(typingctx: Context, a: Lanes) -> Intrinsic:
    """Whole number with a = mantissa(a) × 2^exponent(a)."""

    def codegen(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        lanes = sig.return_type
        m = lanes.mantissa_bits
        bits = builder.lshr(builder.bitcast(args[0], lanes.int), lanes.bits(m))
        bits = builder.or_(bits, lanes.bits((lanes.bias + m) << m))  # now 2^m + biased exponent, as a float
        return builder.fsub(builder.bitcast(bits, lanes.real), lanes.const(2.0**m + lanes.bias))

    return a(a), codegen


@intrinsic
def keep(typingctx: Context, a: Lanes, count: types.Integer) -> Intrinsic:
    """First `count` lanes of a where they matter; zero in the others."""

    def codegen(context: BaseContext, builder: ir.IRBuilder, sig: Signature, args: Sequence[ir.Value]) -> ir.Value:
        lanes = sig.return_type
        vector = ir.VectorType(ir.IntType(32), lanes.width)
        limit = _spread(builder, builder.trunc(args[1], ir.IntType(32)), vector)
        inside = builder.icmp_signed("<", ir.Constant(vector, list(range(lanes.width))), limit)
        matters = builder.fcmp_ordered(">", args[0], lanes.const(lanes.tiny))
        return builder.select(builder.and_(inside, matters), args[0], lanes.const(0.0))

    return a(a, types.intp), codegen
