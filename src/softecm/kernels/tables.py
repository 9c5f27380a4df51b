"""One round of evidential c-means on tables: numbers by differences, categories by lookup, gaps left out.

What a category adds to the distances of an object is one row of a small table (a level for row, a prototype for column):
with the prototypes along the contiguous axis a lookup is one vector addition, and so is the way back, where an object's
weights are added to the row of its category. One-hot matrices never exist. Numbers, masses and the layout of the sums
are those of ``kernels.quadratic``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from softecm.kernels.quadratic import (
    BLOCK,
    CHUNKS,
    _add_sums,
    _distances,
    _jit,
    _jit_parallel,
    _largest_change,
    _load,
    shares,
    weigh,
)

LANES = 4  # prototypes are padded to whole vectors
SUM_BYTES = 1 << 26  # the parts' own sums, all together; bounds the number of parts where there are many levels


class TableData(NamedTuple):
    """Objects of a table as the kernels read them; empty arrays stand for what there is none of."""

    numbers: NDArray[np.floating[Any]]  # (n, p)
    codes: NDArray[np.integer[Any]]  # (n, q)
    observed: NDArray[np.bool_]  # (n, p), or (0, p) without gaps
    scale: NDArray[np.floating[Any]]  # (n,), or (0,) without gaps
    slots: NDArray[np.int64]  # (q,): first row of each column in a lookup table


@_jit
def _load_gaps(observed: Any, scale: Any, start: int, size: int, ot: Any) -> None:
    """How much each number of a block counts: the object's scale, or 0 for a gap."""
    for b in range(size):
        s = scale[start + b]
        for l in range(observed.shape[1]):
            ot[l, b] = s if observed[start + b, l] else 0.0


@_jit
def _distances_with_gaps(xt: Any, ot: Any, v: Any, size: int, d: Any) -> None:
    """Weighted squared distances of a block to each prototype."""
    for a in range(v.shape[0]):
        row = d[a, :size]
        row[:] = 0.0
        for l in range(xt.shape[0]):
            v0 = v[a, l]
            x0, o0 = xt[l, :size], ot[l, :size]
            for b in range(size):
                t = x0[b] - v0
                row[b] += o0[b] * (t * t)


@_jit
def _look_up(codes: Any, slots: Any, start: int, size: int, table: Any, out: Any) -> None:
    """Sum of the rows of ``table`` (slots, lanes) for each object's categories: (block, lanes)."""
    q = codes.shape[1]
    lanes = table.shape[1]
    for b in range(size):
        row = out[b]
        row[:] = 0.0
        j = 0
        while j + 4 <= q:
            r0 = table[slots[j] + np.int64(codes[start + b, j])]
            r1 = table[slots[j + 1] + np.int64(codes[start + b, j + 1])]
            r2 = table[slots[j + 2] + np.int64(codes[start + b, j + 2])]
            r3 = table[slots[j + 3] + np.int64(codes[start + b, j + 3])]
            for a in range(lanes):
                row[a] += (r0[a] + r1[a]) + (r2[a] + r3[a])
            j += 4
        while j < q:
            r0 = table[slots[j] + np.int64(codes[start + b, j])]
            for a in range(lanes):
                row[a] += r0[a]
            j += 1


@_jit
def _add_categories(looked: Any, scale: Any, start: int, size: int, d: Any) -> None:
    """Add the categories' part to the distances (f, block)."""
    f = d.shape[0]
    if scale.shape[0] > 0:
        for b in range(size):
            s = scale[start + b]
            for a in range(f):
                d[a, b] += s * looked[b, a]
    else:
        for b in range(size):
            for a in range(f):
                d[a, b] += looked[b, a]


@_jit
def _table_distances(
    codes: Any, scale: Any, slots: Any, start: int, size: int, xt: Any, ot: Any, v: Any, table: Any, looked: Any, d: Any
) -> None:
    """Distances of a block to each prototype, numbers and categories."""
    if scale.shape[0] > 0:
        _distances_with_gaps(xt, ot, v, size, d)
    else:
        _distances(xt, v, size, d)
    if codes.shape[1] > 0:
        _look_up(codes, slots, start, size, table, looked)
        _add_categories(looked, scale, start, size, d)


@_jit
def _add_sums_with_gaps(xt: Any, ot: Any, size: int, w: Any, mass: Any, moment: Any) -> None:
    """Add the block to sums of weights (f, p) and of weighted numbers (f, p)."""
    for a in range(w.shape[0]):
        row = w[a, :size]
        for l in range(xt.shape[0]):
            x0, o0 = xt[l, :size], ot[l, :size]
            s0, s1 = 0.0, 0.0
            for b in range(size):
                t = row[b] * o0[b]
                s0 += t
                s1 += t * x0[b]
            mass[a, l] += s0
            moment[a, l] += s1


@_jit
def _count(codes: Any, scale: Any, slots: Any, start: int, size: int, w: Any, wt: Any, counts: Any) -> None:
    """Add the objects' weights (f, block) to the rows of their categories in ``counts`` (slots, lanes)."""
    f = w.shape[0]
    lanes = counts.shape[1]
    for b in range(size):
        s = scale[start + b] if scale.shape[0] > 0 else 1.0
        for a in range(f):
            wt[b, a] = s * w[a, b]
    for b in range(size):
        row = wt[b]
        for j in range(codes.shape[1]):
            out = counts[slots[j] + np.int64(codes[start + b, j])]
            for a in range(lanes):
                out[a] += row[a]


@_jit_parallel
def _round(
    numbers: Any,
    codes: Any,
    observed: Any,
    scale: Any,
    slots: Any,
    weights: Any,
    v: Any,
    tables: Any,
    previous: Any,
    previous_tables: Any,
    factors: Any,
    beta: Any,
    delta2: Any,
    tol: float,
    chunk: int,
    costs: Any,
    mass: Any,
    moment: Any,
    counts: Any,
    changes: Any,
) -> None:
    n, p = numbers.shape
    runs, f, _ = v.shape
    lanes = tables.shape[2]
    n_chunks = costs.shape[1]
    for task in nb.prange(runs * n_chunks):
        run = task // n_chunks
        part = task % n_chunks
        xt = np.empty((p, BLOCK))
        ot = np.empty((p, BLOCK))
        looked = np.zeros((BLOCK, lanes))
        wt = np.zeros((BLOCK, lanes))
        d = np.empty((f, BLOCK))
        u = np.empty((f, BLOCK))
        d2 = np.empty((f, BLOCK))
        u2 = np.empty((f, BLOCK))
        total = np.empty(BLOCK)
        total2 = np.empty(BLOCK)
        least = np.empty(BLOCK)
        cost = np.empty(BLOCK)
        least2 = np.empty(BLOCK)
        cost2 = np.empty(BLOCK)
        largest = 0.0
        compared = previous.shape[0] == runs
        objective = 0.0
        for start in range(part * chunk, min((part + 1) * chunk, n), BLOCK):
            size = min(BLOCK, n - start)
            _load(numbers, start, size, xt)
            if scale.shape[0] > 0:
                _load_gaps(observed, scale, start, size, ot)
            _table_distances(codes, scale, slots, start, size, xt, ot, v[run], tables[run], looked, d)
            shares(d, size, factors[run], beta[run], delta2[run], u, total, least, cost)
            if compared:
                # Only until one difference above the tolerance is found: then the run goes on anyway.
                _table_distances(
                    codes, scale, slots, start, size, xt, ot, previous[run], previous_tables[run], looked, d2
                )
                shares(d2, size, factors[run], beta[run], delta2[run], u2, total2, least2, cost2)
                largest = max(largest, _largest_change(u, total, u2, total2, size))
                compared = largest <= tol
            objective += weigh(d, u, total, least, cost, factors[run], weights, start, size)
            if scale.shape[0] > 0:
                _add_sums_with_gaps(xt, ot, size, d, mass[run, part], moment[run, part])
            else:
                _add_sums(xt, size, d, mass[run, part, :, 0], moment[run, part])
            if codes.shape[1] > 0:
                _count(codes, scale, slots, start, size, d, wt, counts[run, part])
        costs[run, part] = objective
        changes[run, part] = largest


@_jit_parallel
def _masses(
    numbers: Any,
    codes: Any,
    observed: Any,
    scale: Any,
    slots: Any,
    v: Any,
    table: Any,
    factors: Any,
    beta: float,
    delta2: float,
    out: Any,
) -> None:
    n, p = numbers.shape
    f = v.shape[0]
    for block in nb.prange((n + BLOCK - 1) // BLOCK):
        start = block * BLOCK
        size = min(BLOCK, n - start)
        xt = np.empty((p, BLOCK))
        ot = np.empty((p, BLOCK))
        looked = np.zeros((BLOCK, table.shape[1]))
        d = np.empty((f, BLOCK))
        u = np.empty((f, BLOCK))
        total = np.empty(BLOCK)
        least = np.empty(BLOCK)
        cost = np.empty(BLOCK)
        e = 1.0 / (beta - 1.0)
        _load(numbers, start, size, xt)
        if scale.shape[0] > 0:
            _load_gaps(observed, scale, start, size, ot)
        _table_distances(codes, scale, slots, start, size, xt, ot, v, table, looked, d)
        shares(d, size, factors, beta, delta2, u, total, least, cost)
        for b in range(size):
            out[start + b, 0] = (least[b] / delta2) ** e / total[b]
            for a in range(f):
                out[start + b, a + 1] = u[a, b] / total[b]


@_jit_parallel
def _all_distances(
    numbers: Any, codes: Any, observed: Any, scale: Any, slots: Any, v: Any, table: Any, out: Any
) -> None:
    n, p = numbers.shape
    f = v.shape[0]
    for block in nb.prange((n + BLOCK - 1) // BLOCK):
        start = block * BLOCK
        size = min(BLOCK, n - start)
        xt = np.empty((p, BLOCK))
        ot = np.empty((p, BLOCK))
        looked = np.zeros((BLOCK, table.shape[1]))
        d = np.empty((f, BLOCK))
        _load(numbers, start, size, xt)
        if scale.shape[0] > 0:
            _load_gaps(observed, scale, start, size, ot)
        _table_distances(codes, scale, slots, start, size, xt, ot, v, table, looked, d)
        for b in range(size):
            for a in range(f):
                out[start + b, a] = d[a, b]


def run_round(
    data: TableData,
    weights: NDArray[np.float64] | None,
    prototypes: NDArray[np.float64],
    tables: NDArray[np.float64],
    previous: NDArray[np.float64] | None,
    previous_tables: NDArray[np.float64] | None,
    factors: NDArray[np.float64],
    beta: NDArray[np.float64],
    delta2: NDArray[np.float64],
    tol: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Masses, objective and sums of a batch of runs over all objects of a table.

    Parameters
    ----------
    data : TableData
    weights : (n,) or None
    prototypes, previous : (runs, f, p), the numbers' coordinates; ``previous`` None on the first round
    tables, previous_tables : (runs, slots, f), what each level adds to the distance to each prototype
    factors, beta, delta2, tol : as in ``kernels.quadratic.run_round``

    Returns
    -------
    costs : (runs,)
    mass : (runs, f, p), sums of w |A|^alpha m^beta over the objects that have the number; (runs, f, 1) without gaps
    moment : (runs, f, p)
    counts : (runs, slots, f), the same sums over the objects that have the level
    changes : (runs,), as in ``kernels.quadratic.run_round``
    """
    runs, f, p = prototypes.shape
    n = data.numbers.shape[0]
    slots = tables.shape[1]
    lanes = -(-f // LANES) * LANES
    most = max(1, SUM_BYTES // (8 * runs * (slots * lanes + 2 * f * (p + 1))))
    n_chunks = max(1, min(CHUNKS, n // 1024, most))
    chunk = -(-n // (n_chunks * BLOCK)) * BLOCK
    costs = np.zeros((runs, n_chunks))
    mass = np.zeros((runs, n_chunks, f, p if len(data.scale) else 1))
    moment = np.zeros((runs, n_chunks, f, p))
    counts = np.zeros((runs, n_chunks, slots, lanes))
    changes = np.zeros((runs, n_chunks))
    first = previous is None or previous_tables is None
    _round(
        *data,
        np.empty(0) if weights is None else weights,
        np.ascontiguousarray(prototypes),
        _padded(tables, lanes),
        np.empty((0, f, p)) if first else np.ascontiguousarray(previous),
        np.empty((0, slots, lanes)) if first else _padded(previous_tables, lanes),
        factors,
        beta,
        delta2,
        tol,
        chunk,
        costs,
        mass,
        moment,
        counts,
        changes,
    )
    if first:
        changes[:] = np.inf
    return costs.sum(1), mass.sum(1), moment.sum(1), counts.sum(1)[..., :f], changes.max(1)


def distances(data: TableData, prototypes: NDArray[np.float64], table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distances (n, k) of all objects to prototypes (k, p) with their lookup table (slots, k)."""
    k = prototypes.shape[0]
    out = np.empty((data.numbers.shape[0], k))
    lanes = -(-k // LANES) * LANES
    _all_distances(*data, np.ascontiguousarray(prototypes), _padded(table, lanes), out)
    return out


def masses(
    data: TableData,
    prototypes: NDArray[np.float64],
    table: NDArray[np.float64],
    factors: NDArray[np.float64],
    beta: float,
    delta2: float,
) -> NDArray[np.float64]:
    """The masses (n, f + 1) of all objects for one set of prototypes (f, p) with its lookup table (slots, f)."""
    f = prototypes.shape[0]
    out = np.empty((data.numbers.shape[0], f + 1))
    lanes = -(-f // LANES) * LANES
    _masses(*data, np.ascontiguousarray(prototypes), _padded(table, lanes), factors, beta, delta2, out)
    return out


def _padded(tables: Any, lanes: int) -> NDArray[np.float64]:
    """Lookup tables with zeros up to whole vectors."""
    out = np.zeros((*tables.shape[:-1], lanes))
    out[..., : tables.shape[-1]] = tables
    return out
