r"""Soft-DTW and DTW on the CPU: values, and the sums that give gradients and barycentres.

**The recursion.** With :math:`Z_{ij} = e^{-R_{ij}/\gamma}` the soft minimum becomes a plain sum,

.. math:: Z_{ij} = e^{-c_{ij}/\gamma}\,(Z_{i-1,j} + Z_{i,j-1} + Z_{i-1,j-1}),

with one exponential and no logarithm a cell. :math:`Z` leaves the range of any float, so it is kept as
mantissa × 2^exponent, in two numbers of the working type. The exponent is a float with an integer value: it cannot
overflow (float32 merely rounds it beyond 2^24, which costs a relative 6e-8 of the value, as rounding the costs does).
Mantissas drift and are brought back to [1, 2) every eighth diagonal. A far smaller relative error than in the log
domain comes for free, since the size of :math:`R` no longer eats the digits of its differences.

**The gradient.** Each of the three terms over their sum is the probability of having come from that neighbour; the
backward pass pushes a unit of mass from the last cell to the first along them: two are stored, the third is what
remains. Mass below 1e-12 (float32; 1e-140 in float64) is dropped: nothing depends on it, and denormal numbers would
cost a hundred cycles each.

**Lanes.** Cells of an anti-diagonal do not depend on each other. Series are copied so that the same step of several
pairs lies side by side, the second series of each pair reversed; a diagonal of a group of pairs is then one run of
memory in all operands, and the neighbours of a cell are the same run shifted by one group. Groups are sized so that a
diagonal's state stays in the first-level cache. Pairs in a group may differ in length: a cell beyond a pair's own end
is computed and never looked at, for dependencies only point back.

**Memory.** The table of probabilities is cut into parts that fit the second-level cache or the limit asked for; with
more than one part a first pass keeps the state at the cuts and a second recomputes part after part from the end.

Vector code is written out (`Lanes` below, 64 bytes wide; LLVM splits it where registers are narrower) instead of hoping
for LLVM's vectoriser, which needs alias checks, remainder loops and three times the compile time. For the same reason
threads are Python's around a kernel without the interpreter lock, not Numba's `parallel=True`. Blocks of pairs and the
order in which their sums are added do not depend on the number of threads, so neither do results.
"""

from __future__ import annotations

import itertools
import math
import operator
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import torch
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model
from numpy.typing import NDArray
from torch import Tensor

MAX_BYTES = 256 * 2**20
"""Default limit on working memory, all threads together."""

Pairs = tuple[Tensor, Tensor] | None
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# ---------------------------------------------------------------------------------------------------------------------
# Lanes: 64 bytes of floats that the kernels below add, multiply, load and store as one value
# ---------------------------------------------------------------------------------------------------------------------


class Lanes(types.Type):  # type: ignore[misc]
    """Numba type of a vector of floats, with the constants its arithmetic needs."""

    def __init__(self, scalar: Any, mantissa_bits: int, bias: int, least: int, tiny: float, poly: tuple[float, ...]):
        self.scalar, self.mantissa_bits, self.bias = scalar, mantissa_bits, bias
        self.least, self.tiny, self.poly = least, tiny, poly
        self.width = 512 // scalar.bitwidth
        self.real = ir.VectorType(ir.FloatType() if scalar.bitwidth == 32 else ir.DoubleType(), self.width)
        self.int = ir.VectorType(ir.IntType(scalar.bitwidth), self.width)
        super().__init__(name=f"Lanes({scalar})")

    def const(self, value: float) -> Any:
        """Return the vector with one value in all lanes."""
        return ir.Constant(self.real, [float(value)] * self.width)

    def bits(self, value: int) -> Any:
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
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, lanes: Lanes):
        super().__init__(manager, lanes, lanes.real)


def _register(op: Callable[..., Any], instruction: str) -> None:
    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return getattr(builder, instruction)(*args)

    infer_global(op)(type(instruction, (ConcreteTemplate,), {"cases": [signature(t, t, t) for t in (F32, F64)]}))
    for t in (F32, F64):
        lower_builtin(op, t, t)(lower)


for _op, _instruction in ((operator.add, "fadd"), (operator.sub, "fsub"), (operator.mul, "fmul")):
    _register(_op, _instruction)


def _address(context: Any, builder: Any, sig: Any, args: Any, lanes: Lanes) -> Any:
    data = context.make_array(sig.args[0])(context, builder, args[0]).data
    return builder.bitcast(builder.gep(data, [args[1]]), lanes.real.as_pointer())


def _spread(builder: Any, scalar: Any, vector: Any) -> Any:
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, undefined, zeros)


def _call(builder: Any, name: str, lanes: Lanes, *args: Any) -> Any:
    kind = ir.FunctionType(lanes.real, [lanes.real] * len(args))
    full = f"llvm.{name}.v{lanes.width}f{lanes.scalar.bitwidth}"
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, full), args)


def _larger(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


@intrinsic
def load(typingctx: Any, array: Any, index: Any) -> Any:
    """Lanes of an array from an index on (no bounds, no wrap-around)."""
    lanes = _LANES[array.dtype]

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.load(_address(context, builder, sig, args, lanes), align=lanes.scalar.bitwidth // 8)

    return lanes(array, types.intp), codegen


@intrinsic
def store(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """Write lanes into an array from an index on."""
    lanes = _LANES[array.dtype]

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        address = _address(context, builder, sig, args, lanes)
        builder.store(args[2], address, align=lanes.scalar.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), codegen


@intrinsic
def splat(typingctx: Any, value: Any) -> Any:
    """One scalar in all lanes."""
    lanes = _LANES[value]

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _spread(builder, args[0], lanes.real)

    return lanes(value), codegen


@intrinsic
def fma(typingctx: Any, a: Any, b: Any, c: Any) -> Any:
    """Multiply and add, a × b + c, in one instruction where there is one."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _call(builder, "fmuladd", sig.return_type, *args)

    return a(a, a, a), codegen


@intrinsic
def rint(typingctx: Any, a: Any) -> Any:
    """Nearest whole number."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _call(builder, "rint", sig.return_type, *args)

    return a(a), codegen


@intrinsic
def maximum(typingctx: Any, a: Any, b: Any) -> Any:
    """Larger of two, lane by lane."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _larger(builder, *args)

    return a(a, a), codegen


@intrinsic
def exp2_fraction(typingctx: Any, a: Any) -> Any:
    """2^a for a in [-1/2, 1/2]."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        lanes = sig.return_type
        value = lanes.const(lanes.poly[0])
        for coefficient in lanes.poly[1:]:
            value = _call(builder, "fmuladd", lanes, value, args[0], lanes.const(coefficient))
        return value

    return a(a), codegen


@intrinsic
def exp2_whole(typingctx: Any, a: Any) -> Any:
    """2^a for whole a ≤ 0; everything below `least` counts as `least`, whose weight is nothing beside 1."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        lanes = sig.return_type
        # Adding 1.5 × 2^(mantissa bits) leaves the integer in the lowest bits; the bias rides along.
        magic = lanes.const(1.5 * 2.0**lanes.mantissa_bits + lanes.bias)
        shifted = builder.fadd(_larger(builder, args[0], lanes.const(lanes.least)), magic)
        bits = builder.shl(builder.bitcast(shifted, lanes.int), lanes.bits(lanes.mantissa_bits))
        return builder.bitcast(bits, lanes.real)

    return a(a), codegen


@intrinsic
def reciprocal(typingctx: Any, a: Any) -> Any:
    """1 / a."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.fdiv(sig.return_type.const(1.0), args[0], flags=("fast",))

    return a(a), codegen


@intrinsic
def mantissa(typingctx: Any, a: Any) -> Any:
    """Part of a in [1, 2)."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        lanes = sig.return_type
        bits = builder.and_(builder.bitcast(args[0], lanes.int), lanes.bits(2**lanes.mantissa_bits - 1))
        bits = builder.or_(bits, lanes.bits(lanes.bias << lanes.mantissa_bits))
        return builder.bitcast(bits, lanes.real)

    return a(a), codegen


@intrinsic
def exponent(typingctx: Any, a: Any) -> Any:
    """Whole number with a = mantissa(a) × 2^exponent(a)."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        lanes = sig.return_type
        m = lanes.mantissa_bits
        bits = builder.lshr(builder.bitcast(args[0], lanes.int), lanes.bits(m))
        bits = builder.or_(bits, lanes.bits((lanes.bias + m) << m))  # now 2^m + biased exponent, as a float
        return builder.fsub(builder.bitcast(bits, lanes.real), lanes.const(2.0**m + lanes.bias))

    return a(a), codegen


@intrinsic
def keep(typingctx: Any, a: Any, count: Any) -> Any:
    """First `count` lanes of a where they matter; zero in the others."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        lanes = sig.return_type
        vector = ir.VectorType(ir.IntType(32), lanes.width)
        limit = _spread(builder, builder.trunc(args[1], ir.IntType(32)), vector)
        inside = builder.icmp_signed("<", ir.Constant(vector, list(range(lanes.width))), limit)
        matters = builder.fcmp_ordered(">", args[0], lanes.const(lanes.tiny))
        return builder.select(builder.and_(inside, matters), args[0], lanes.const(0.0))

    return a(a, types.intp), codegen


# ---------------------------------------------------------------------------------------------------------------------
# Kernels. One array holds everything: offsets x0, y0, z0 … into it, each channel or buffer a stride apart.
# ---------------------------------------------------------------------------------------------------------------------


@njit  # type: ignore[untyped-decorator]
def _span(k, lx, ly, reach):  # type: ignore[no-untyped-def]
    """First and last row on anti-diagonal k; |i (m-1) - j (n-1)| ≤ reach solved for i. Empty: last = first - 1."""
    lo = max(0, k - ly + 1)
    hi = min(lx - 1, k)
    if reach >= 0 and lx + ly > 2:
        lo = max(lo, -((reach - k * (lx - 1)) // (lx + ly - 2)))
        hi = min(hi, (k * (lx - 1) + reach) // (lx + ly - 2))
    return lo, hi


@njit  # type: ignore[untyped-decorator]
def _fill(ws, begin, end, value):  # type: ignore[no-untyped-def]
    v = splat(value)
    width = 64 // ws.itemsize
    for q in range(begin, end - width + 1, width):
        store(ws, q, v)
    for q in range(max(begin, end - width), end):
        ws[q] = value


@njit  # type: ignore[untyped-decorator]
def _forward(ws, begin, end, lx, ly, reach, group, d, scale, xs, ys, z0, zs, table, stored):  # type: ignore[no-untyped-def]
    """Diagonals begin to end; returns where the table of probabilities now ends.

    Buffers hold row i in slot i + 1. After each diagonal the slots next to its two ends are emptied: a neighbour that
    is outside the rectangle or the band is read as zero, and what the last vector wrote beyond never counts.
    """
    width = 64 // ws.itemsize
    scales = splat(scale)
    zero = ws.dtype.type(0)
    far = ws.dtype.type(-1e38)
    costs = z0 + 6 * zs
    for k in range(begin, end):
        lo, hi = _span(k, lx, ly, reach)
        count = (hi - lo + 1) * group
        size = (count + width - 1) // width * width
        x = lo * group
        y = d * xs + (ly - 1 - k + lo) * group
        for q in range(0, size, width):
            gap = load(ws, x + q) - load(ws, y + q)
            store(ws, costs + q, gap * gap)
        for c in range(1, d):
            for q in range(0, size, width):
                gap = load(ws, x + c * xs + q) - load(ws, y + c * ys + q)
                store(ws, costs + q, fma(gap, gap, load(ws, costs + q)))

        slot = (lo + 1) * group
        new = z0 + (k % 3) * 2 * zs + slot
        one = z0 + ((k + 2) % 3) * 2 * zs + slot
        two = z0 + ((k + 1) % 3) * 2 * zs + slot - group
        for q in range(0, size, width):
            up = load(ws, one + zs - group + q)
            left = load(ws, one + zs + q)
            across = load(ws, two + zs + q)
            top = maximum(maximum(up, left), across)
            a = load(ws, one - group + q) * exp2_whole(up - top)
            b = load(ws, one + q) * exp2_whole(left - top)
            total = fma(load(ws, two + q), exp2_whole(across - top), a + b)
            cost = load(ws, costs + q) * scales  # in powers of two
            whole = rint(cost)
            store(ws, new + q, total * exp2_fraction(whole - cost))
            store(ws, new + zs + q, top - whole)
            if stored:
                r = reciprocal(total)
                store(ws, table + q, a * r)
                store(ws, table + size + q, b * r)
        if stored:
            table += 2 * size
        if k % 8 == 7:
            for q in range(new, new + size, width):
                m = load(ws, q)
                store(ws, q, mantissa(m))
                store(ws, q + zs, load(ws, q + zs) + exponent(m))
            for q in range(one, one + size, width):
                m = load(ws, q)
                store(ws, q, mantissa(m))
                store(ws, q + zs, load(ws, q + zs) + exponent(m))
        for q in range(new - group, new):
            ws[q] = zero
            ws[q + zs] = far
        for q in range(new + count, new + count + group):
            ws[q] = zero
            ws[q + zs] = far
    return table


@njit  # type: ignore[untyped-decorator]
def _backward(ws, begin, end, lx, ly, reach, group, d, xs, f0, zs, w0, ys, table, ends, rows):  # type: ignore[no-untyped-def]
    """Diagonals end - 1 down to begin: the mass E of each cell, added to the sums of its column, pushed on.

    Three flows: to the row above, to the column before, across. Each is written at the slot it comes from, over what
    the diagonal before (two before, for the last) left there, which has just been read.
    """
    width = 64 // ws.itemsize
    zero = ws.dtype.type(0)
    mass, up, left = f0, f0 + zs, f0 + 2 * zs
    for k in range(end - 1, begin - 1, -1):
        for lane in range(group):
            if ends[lane] == k:
                ws[up + (rows[lane] + 1) * group + lane] = 1
        lo, hi = _span(k, lx, ly, reach)
        slot = (lo + 1) * group
        across = f0 + (3 + k % 2) * zs
        x = lo * group
        w = w0 + (ly - 1 - k + lo) * group
        count = (hi - lo + 1) * group
        size = (count + width - 1) // width * width
        table -= 2 * size
        for q in range(0, size, width):
            e = load(ws, up + slot + group + q) + load(ws, left + slot + q)
            e = keep(e + load(ws, across + slot + group + q), count - q)
            a = e * load(ws, table + q)
            b = e * load(ws, table + size + q)
            store(ws, up + slot + q, a)
            store(ws, left + slot + q, b)
            store(ws, across + slot + q, e - a - b)
            store(ws, w + q, load(ws, w + q) + e)
            store(ws, w + ys + q, fma(e, load(ws, x + q), load(ws, w + ys + q)))
            store(ws, mass + q, e)
        for c in range(1, d):
            for q in range(0, size, width):
                o = w + (c + 1) * ys + q
                store(ws, o, fma(load(ws, mass + q), load(ws, x + c * xs + q), load(ws, o)))
        for q in range(slot - group, slot):
            ws[up + q] = zero
            ws[left + q] = zero
            ws[across + q] = zero
        for q in range(slot + count, slot + count + group):
            ws[up + q] = zero
            ws[left + q] = zero
            ws[across + q] = zero


@njit  # type: ignore[untyped-decorator]
def _cut(last, lx, ly, reach, group, width, capacity, cuts):  # type: ignore[no-untyped-def]
    """Diagonals at which the table of probabilities would overflow; returns the number of parts."""
    parts = 1
    used = 0
    cuts[0] = 0
    for k in range(last):
        lo, hi = _span(k, lx, ly, reach)
        size = 2 * (((hi - lo + 1) * group + width - 1) // width * width)
        if used > 0 and used + size > capacity:
            cuts[parts] = k
            parts += 1
            used = 0
        used += size
    cuts[parts] = last
    return parts


@njit(nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _soft_dtw(  # type: ignore[no-untyped-def]
    x, y, x_lengths, y_lengths, ix, iy, target, weights, starts, gamma, band, ws, capacity, backward, values, sums
):
    """Groups of pairs one after the other. Row `target[p]` of `sums` receives W in channel 0 and Y in the others."""
    d = x.shape[2]
    width = 64 // ws.itemsize
    scale = ws.dtype.type(1.0 / (gamma * np.log(2.0)))
    zero = ws.dtype.type(0)
    one = ws.dtype.type(1)
    for g in range(len(starts) - 1):
        first = starts[g]
        group = starts[g + 1] - first
        ends = np.empty(group, np.int64)
        rows = np.empty(group, np.int64)
        lx = x_lengths[ix[first]]  # not 0: Numba would compile what it is passed to for the literal as well
        ly = y_lengths[iy[first]]
        last = lx + ly - 1
        for lane in range(group):
            n = x_lengths[ix[first + lane]]
            m = y_lengths[iy[first + lane]]
            rows[lane] = n
            ends[lane] = n + m - 2
            lx = max(lx, n)
            ly = max(ly, m)
            last = max(last, n + m - 1)
        reach = band * (max(lx, ly) - 1) if band >= 0 else band
        xs = (lx * group + 2 * width - 1) // width * width
        ys = (ly * group + 2 * width - 1) // width * width
        zs = ((lx + 2) * group + 2 * width - 1) // width * width
        y0 = d * xs
        z0 = y0 + d * ys
        f0 = z0 + 6 * zs
        w0 = f0 + 5 * zs
        t0 = w0 + (d + 1) * ys
        _fill(ws, np.int64(0), z0, zero)
        for lane in range(group):
            a = x[ix[first + lane]]
            for c in range(d):
                for i in range(rows[lane]):
                    ws[c * xs + i * group + lane] = a[i, c]
            a = y[iy[first + lane]]
            for c in range(d):
                for j in range(ends[lane] - rows[lane] + 2):
                    ws[y0 + c * ys + (ly - 1 - j) * group + lane] = a[j, c]
        for b in range(3):
            _fill(ws, z0 + 2 * b * zs, z0 + (2 * b + 1) * zs, zero)
            _fill(ws, z0 + (2 * b + 1) * zs, z0 + (2 * b + 2) * zs, ws.dtype.type(-1e38))
        _fill(ws, z0 + 2 * zs, z0 + 2 * zs + group, one)  # the start: row -1 of diagonal -2, in buffer 1
        _fill(ws, z0 + 3 * zs, z0 + 3 * zs + group, zero)

        cuts = np.empty(last + 1, np.int64)
        parts = _cut(last, lx, ly, reach, group, width, capacity if backward else 2**62, cuts)
        saved = np.empty((parts if parts > 1 else 0, 6 * zs), ws.dtype)
        k = cuts[0]
        part = 0
        table = t0
        stored = backward and parts == 1
        while k < last:
            if parts > 1 and k == cuts[part]:
                for q in range(6 * zs):
                    saved[part, q] = ws[z0 + q]
                part += 1
            end = cuts[part] if parts > 1 else last
            for lane in range(group):
                if ends[lane] >= k:
                    end = min(end, ends[lane] + 1)
            table = _forward(ws, k, end, lx, ly, reach, group, d, scale, xs, ys, z0, zs, table, stored)
            k = end
            for lane in range(group):
                if ends[lane] == k - 1:
                    o = z0 + (k - 1) % 3 * 2 * zs + rows[lane] * group + lane
                    log2 = np.log(np.float64(ws[o])) / np.log(2.0) + np.float64(ws[o + zs])
                    values[first + lane] = -gamma * np.log(2.0) * log2
        if not backward:
            continue

        _fill(ws, f0, t0, zero)
        for part in range(parts - 1, -1, -1):
            begin, end = cuts[part], cuts[part + 1]
            if parts > 1:
                for q in range(6 * zs):
                    ws[z0 + q] = saved[part, q]
                table = _forward(ws, begin, end, lx, ly, reach, group, d, scale, xs, ys, z0, zs, t0, backward)
            _backward(ws, begin, end, lx, ly, reach, group, d, xs, f0, zs, w0, ys, table, ends, rows)
        for lane in range(group):
            added = sums[target[first + lane]]
            weight = weights[first + lane]
            for c in range(d + 1):
                for j in range(ends[lane] - rows[lane] + 2):
                    added[j, c] += weight * ws[w0 + c * ys + (ly - 1 - j) * group + lane]


@njit(nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _dtw(  # type: ignore[no-untyped-def]
    x, y, x_lengths, y_lengths, ix, iy, target, weights, starts, gamma, band, ws, capacity, backward, values, sums
):
    """Hard alignment, one pair at a time, in the same frame. Ties: the diagonal step, then a step in x."""
    d = x.shape[2]
    far = ws.dtype.type(np.inf)
    for p in range(starts[0], starts[-1]):
        a = x[ix[p]]
        b = y[iy[p]]
        n = x_lengths[ix[p]]
        m = y_lengths[iy[p]]
        steps = np.empty((n if backward else 0, m), np.uint8)
        reach = band * (max(n, m) - 1) if band >= 0 else -1
        for j in range(m + 1):
            ws[j] = far
        ws[0] = 0  # ws[j + 1]: cell (i - 1, j), overwritten by (i, j)
        for i in range(n):
            lo = 0
            hi = m - 1
            if reach >= 0 and n > 1:
                lo = max(lo, -((reach - i * (m - 1)) // (n - 1)))
                hi = min(hi, (i * (m - 1) + reach) // (n - 1))
            corner = ws[lo]
            ws[lo] = far
            for j in range(lo, hi + 1):
                cost = ws.dtype.type(0)
                for c in range(d):
                    gap = a[i, c] - b[j, c]
                    cost += gap * gap
                above = ws[j + 1]
                best = corner
                step = 0
                if above < best:
                    best = above
                    step = 1
                if ws[j] < best:
                    best = ws[j]
                    step = 2
                corner = above
                ws[j + 1] = cost + best
                if backward:
                    steps[i, j] = step
        values[p] = ws[m]
        if backward:
            i = n - 1
            j = m - 1
            while i >= 0 and j >= 0:
                sums[target[p], j, 0] += weights[p]
                for c in range(d):
                    sums[target[p], j, c + 1] += weights[p] * a[i, c]
                step = steps[i, j]
                if step != 2:
                    i -= 1
                if step != 1:
                    j -= 1


# ---------------------------------------------------------------------------------------------------------------------
# Blocks of pairs, and threads over them
# ---------------------------------------------------------------------------------------------------------------------

_CHUNK_PAIRS = 2**20  # pairs whose indices are held at once
_BLOCK_CELLS = (2**18, 2**24)  # cells a call of a kernel handles: enough to pay for the call, few enough for Ctrl-C
_TABLE_BYTES = 16 * 2**20  # a table this large is kept whole


def _lane_count(cells: int, itemsize: int) -> int:
    """Pairs to a group, so that a diagonal of `cells` fills vectors while its state stays in the first-level cache."""
    fit = max(1, 8000 // itemsize // cells)
    most = (64 if cells > 32 else 256) // itemsize  # very short ones: several vectors, to pay for the loop around them
    return min(most, 1 << (fit.bit_length() - 1))


@dataclass(frozen=True)
class _Room:
    """Memory for a group of pairs: lanes, elements of the table, bytes of the workspace, bytes of everything."""

    lanes: int
    table: int
    workspace: int
    total: int


def _room(lx: int, ly: int, d: int, itemsize: int, backward: bool, max_bytes: int) -> _Room:
    """Fit a group into max_bytes, or else one pair into as little as it needs.

    Where the table must be cut, it and the states kept at its cuts are balanced: they grow as the length to the power
    1.5, not 2.
    """
    lanes = _lane_count(min(lx, ly), itemsize)
    while True:
        width = 64 // itemsize
        slots = (lx + 2) * lanes + 2 * width
        linear = (3 * d + 1) * (max(lx, ly) * lanes + 2 * width) + 11 * slots
        table = 2 * (lx * ly * lanes + width * (lx + ly)) if backward else 0
        states = 0
        if table * itemsize > min(_TABLE_BYTES, max_bytes // 2):
            whole, row = table, 8 * (min(lx, ly) * lanes + width)
            table = max(2**20 // itemsize, int((6.0 * slots * whole) ** 0.5), row)
            states = 6 * slots * (2 * whole // table + 2)
        total = (linear + table + states) * itemsize
        if lanes == 1 or total <= max_bytes:
            return _Room(lanes, table, (linear + table) * itemsize, total)
        lanes //= 2


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _groups(lx, ly, lanes, same):  # type: ignore[no-untyped-def]
    """Where to cut sorted pairs into groups of up to `lanes` whose common rectangle is at most half empty."""
    starts = np.zeros(len(lx) + 1, np.int64)
    count = 0
    n, m = lx[0], ly[0]
    for p in range(1, len(lx)):
        first = starts[count]
        wide, tall = max(n, lx[p]), max(m, ly[p])
        if same:
            fits = n == wide and m == tall and lx[p] == n and ly[p] == m
        else:
            fits = wide * tall <= 2 * min(lx[first] * ly[first], lx[p] * ly[p])
        if fits and p - first < lanes:
            n, m = wide, tall
        else:
            count += 1
            starts[count] = p
            n, m = lx[p], ly[p]
    starts[count + 1] = len(lx)
    return starts[: count + 2]


def _chunks(n: int, f: int, pairs: Pairs) -> Iterator[tuple[Any, Ints, Ints]]:
    """Parts of the pairs: where their values go, and their two indices."""
    if pairs is None:
        rows = max(1, _CHUNK_PAIRS // max(f, 1))
        for first in range(0, n, rows):
            part = np.arange(first, min(n, first + rows))
            ix, iy = np.tile(part, f), np.repeat(np.arange(f), len(part))  # prototype by prototype
            yield (ix, iy), ix, iy
    else:
        ix, iy = (index.numpy() for index in pairs)
        for first in range(0, len(ix), _CHUNK_PAIRS):
            part = np.arange(first, min(len(ix), first + _CHUNK_PAIRS))
            yield part, ix[part], iy[part]


def _ranks(index: Ints) -> tuple[Ints, Ints]:
    """Different values of an index, and which of them each is."""
    first, last = int(index[0]), int(index[-1])
    if 0 <= last - first < len(index) and np.all(index[1:] >= index[:-1]):  # sorted and dense: no need to look closer
        return np.arange(first, last + 1), index - first
    touched, rank = np.unique(index, return_inverse=True)
    return touched, rank


@dataclass(frozen=True)
class _Job:
    """All that a call of a kernel shares with the others."""

    kernel: Any
    x: NDArray[Any]
    y: NDArray[Any]
    x_lengths: Ints
    y_lengths: Ints
    gamma: float
    band: int  # -1: none
    n_threads: int
    max_bytes: int

    def run(self, ix: Ints, iy: Ints, weights: Floats | None, sums: Floats | None) -> Floats:
        """Values of the given pairs; what they add to the sums is added there."""
        lx, ly = self.x_lengths[ix], self.y_lengths[iy]
        ragged = lx.min() < lx.max() or ly.min() < ly.max()
        order = np.lexsort((iy, lx, ly)) if ragged else np.argsort(iy, kind="stable")
        ix, iy, lx, ly = ix[order], iy[order], lx[order], ly[order]
        weights = np.zeros(0) if weights is None else np.ascontiguousarray(weights[order])

        itemsize, d = self.x.itemsize, self.x.shape[2]
        cells = float(np.mean(lx.astype(np.float64) * ly))
        block = math.ceil(np.clip(cells * len(ix) / 64, *_BLOCK_CELLS) / cells)
        block = -(-block // 32) * 32 if block > 16 else 1 << (block - 1).bit_length()
        blocks = np.arange(0, len(ix), block)
        n_threads = max(1, min(self.n_threads, len(blocks)))
        tall, wide = np.maximum.reduceat(lx, blocks).tolist(), np.maximum.reduceat(ly, blocks).tolist()
        limit = self.max_bytes // n_threads
        rooms = {(n, m): _room(n, m, d, itemsize, sums is not None, limit) for n, m in set(zip(tall, wide))}
        n_threads = max(1, min(n_threads, self.max_bytes // max(room.total for room in rooms.values())))

        values = np.empty(len(ix))

        def solve(b: int, ws: NDArray[Any]) -> tuple[Ints, Floats] | None:
            part = slice(blocks[b], blocks[b] + block)
            room = rooms[tall[b], wide[b]]
            starts = _groups(lx[part], ly[part], room.lanes, self.band >= 0)
            touched, target = _ranks(iy[part])
            added = np.zeros((len(touched), wide[b], d + 1) if sums is not None else (0, 0, 0))
            self.kernel(
                self.x, self.y, self.x_lengths, self.y_lengths, ix[part], iy[part], target, weights[part], starts,
                self.gamma, self.band, ws, room.table, sums is not None, values[part], added,
            )  # fmt: skip
            return None if sums is None else (touched, added)

        def collect(result: tuple[Ints, Floats] | None) -> None:
            if result is not None and sums is not None:
                touched, added = result
                sums[touched, : added.shape[1]] += added

        memory = max(room.workspace for room in rooms.values())
        _in_order(solve, collect, len(blocks), n_threads, memory, self.x.dtype)
        unsorted = np.empty_like(values)
        unsorted[order] = values
        return unsorted


_spare: list[NDArray[np.uint8]] = []  # working memory of past calls: fresh pages cost as much as a small problem
_spare_lock = threading.Lock()


def _borrow(size: int) -> NDArray[np.uint8]:
    with _spare_lock:
        for i, memory in enumerate(_spare):
            if memory.nbytes >= size:
                return _spare.pop(i)
    return np.empty(size, np.uint8)


def _give_back(memory: NDArray[np.uint8]) -> None:
    if memory.nbytes <= 32 * 2**20:
        with _spare_lock:
            _spare.append(memory)
            del _spare[:-16]


def _in_order(
    solve: Callable[[int, NDArray[Any]], Any],
    collect: Callable[[Any], None],
    count: int,
    n_threads: int,
    size: int,
    dtype: Any,
) -> None:
    """Call solve(i, memory) for i < count on several threads, and collect(result) one at a time in the order of i."""
    todo = iter(range(count))
    done: dict[int, Any] = {}
    turn = itertools.count()
    waiting = [next(turn)]
    lock = threading.Lock()
    failed: list[BaseException] = []

    def work() -> None:
        memory = _borrow(size + 64)
        start = -memory.ctypes.data % 64
        ws = memory[start : start + size].view(dtype)
        try:
            for i in todo:
                if failed:
                    break
                result = solve(i, ws)
                with lock:
                    done[i] = result
                    while waiting[0] in done:
                        collect(done.pop(waiting[0]))
                        waiting[0] = next(turn)
        except BaseException as error:
            failed.append(error)
        _give_back(memory)

    helpers = [threading.Thread(target=work, daemon=True) for _ in range(n_threads - 1)]
    try:
        for helper in helpers:
            helper.start()
        work()
    except BaseException as error:  # Ctrl-C between two blocks
        failed.append(error)
    for helper in helpers:
        helper.join()
    if failed:
        raise failed[0]


def _lengths(lengths: Tensor | None, series: Tensor) -> Ints:
    if lengths is None:
        return np.full(series.shape[0], series.shape[1], dtype=np.int64)
    return np.ascontiguousarray(lengths.numpy(), dtype=np.int64)


def _solve(
    kernel: Any,
    x: Tensor,
    x_lengths: Tensor | None,
    y: Tensor,
    y_lengths: Tensor | None,
    pairs: Pairs,
    weights: Tensor | None,
    gamma: float,
    band: int | None,
    n_threads: int | None,
    max_bytes: int,
) -> tuple[Tensor, Tensor]:
    if x.dtype not in (torch.float32, torch.float64) or y.dtype != x.dtype:
        raise TypeError(
            f"x and y must both be float32 or both be float64; got {x.dtype} and {y.dtype}. Convert one of them."
        )
    if n_threads is None:
        n_threads = min(torch.get_num_threads(), numba.config.NUMBA_NUM_THREADS)
    (n, _, d), (f, steps, _) = x.shape, y.shape
    if band is not None and band >= max(x.shape[1], steps) - 1:
        band = None  # everything is inside
    job = _Job(
        kernel,
        x.detach().contiguous().numpy(),
        y.detach().contiguous().numpy(),
        _lengths(x_lengths, x),
        _lengths(y_lengths, y),
        float(gamma),
        -1 if band is None else int(band),
        n_threads,
        max_bytes,
    )
    values = np.empty((n, f) if pairs is None else len(pairs[0]), dtype=job.x.dtype)
    sums = None if weights is None else np.zeros((f, steps, d + 1))
    factors = None if weights is None else weights.detach().to(torch.float64).numpy()
    for where, ix, iy in _chunks(n, f, pairs):
        if len(ix) == 0:
            continue
        if factors is None:
            values[where] = job.run(ix, iy, None, None)
            continue
        part, w = np.empty(len(ix)), factors[where]
        if w.any():
            part[w != 0] = job.run(ix[w != 0], iy[w != 0], w[w != 0], sums)
        if not w.all():  # no gradient flows: the value alone is cheaper
            part[w == 0] = job.run(ix[w == 0], iy[w == 0], None, None)
        values[where] = part
    out = np.zeros((0, 0, d + 1)) if sums is None else sums
    return torch.from_numpy(values), torch.from_numpy(out)


def forward(
    x: Tensor,
    x_lengths: Tensor | None,
    y: Tensor,
    y_lengths: Tensor | None,
    pairs: Pairs,
    gamma: float,
    band: int | None,
    *,
    hard: bool = False,
    n_threads: int | None = None,
    max_bytes: int = MAX_BYTES,
) -> Tensor:
    """Soft-DTW (or, if `hard`, DTW) values of pairs of series.

    Parameters
    ----------
    x : Tensor (n, Lx, d)
        Series, padded; float32 or float64. What lies beyond a length is never read.
    x_lengths : Tensor (n,) of int64, or None
        Steps of each series; None: all of them.
    y, y_lengths
        The same for the f prototypes, (f, Ly, d).
    pairs : (Tensor, Tensor) or None
        Indices into x and y; None: every x with every y.
    gamma : float
        Smoothing, above 0.
    band : int or None
        Radius of the band (see `soft_dtw_reference`).
    hard : bool
        Take the least cost instead of the soft minimum.
    n_threads : int or None
        Threads; None: as many as torch uses. Results do not depend on it.
    max_bytes : int
        Working memory of all threads together. Long series need some all the same (about 50 L^1.5 bytes a thread, twice
        that in float64; if `hard`, a byte a cell).

    Returns
    -------
    Tensor
        (n, f) without ``pairs``, else (P,).
    """
    kernel = _dtw if hard else _soft_dtw
    return _solve(kernel, x, x_lengths, y, y_lengths, pairs, None, gamma, band, n_threads, max_bytes)[0]


def forward_backward(
    x: Tensor,
    x_lengths: Tensor | None,
    y: Tensor,
    y_lengths: Tensor | None,
    pairs: Pairs,
    weights: Tensor,
    gamma: float,
    band: int | None,
    *,
    hard: bool = False,
    n_threads: int | None = None,
    max_bytes: int = MAX_BYTES,
) -> tuple[Tensor, Tensor, Tensor]:
    r"""Values, and the weighted sums over pairs that gradients and barycentres are made of.

    With E the expected alignment of a pair (an optimal one, if `hard`),
    :math:`W_{jt} = \sum_p w_p \sum_s E^p_{st}` and :math:`Y_{jt} = \sum_p w_p \sum_s E^p_{st} x_s` over the pairs p
    of prototype j; the gradient of the weighted sum of values in y is 2 (W y - Y), and Y / W is the next prototype of
    a majorise-minimise step. Parameters as in `forward`.

    Returns
    -------
    values : Tensor (n, f) or (P,)
    W : Tensor (f, Ly)
    Y : Tensor (f, Ly, d)
    """
    kernel = _dtw if hard else _soft_dtw
    values, sums = _solve(kernel, x, x_lengths, y, y_lengths, pairs, weights, gamma, band, n_threads, max_bytes)
    sums = sums.to(x.dtype)
    return values, sums[..., 0], sums[..., 1:]
