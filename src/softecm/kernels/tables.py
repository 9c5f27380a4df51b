"""One round of evidential c-means on tables: numbers by differences, categories by lookup, gaps left out.

What a category adds to the distances of an object is one row of a small table (a level for row, a prototype for column):
with the prototypes along the contiguous axis a lookup is one vector addition, and so is the way back, where an object's
weights are added to the row of its category. One-hot matrices never exist. Numbers, masses and the layout of the sums
are those of ``kernels.quadratic``.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numba as nb
import numpy as np

from softecm.kernels.entry import CODE, FLOAT64, INDEX, REAL, TRUTH, expect, expect_within
from softecm.kernels.quadratic import (
    BLOCK,
    CHUNKS,
    add_sums,
    jit,
    jit_parallel,
    largest_change,
    load,
    new_block,
    share,
    weigh,
    write_masses,
)
from softecm.kernels.quadratic import distances as number_distances
from softecm.kernels.types import Bools, Codes, Floats, Ints, Reals

LANES = 4  # prototypes are padded to whole vectors
SUM_BYTES = 1 << 26  # the parts' own sums, all together; bounds the number of parts where there are many levels


class TableData(NamedTuple):
    """Objects of a table as the kernels read them; empty arrays stand for what there is none of."""

    numbers: Reals  # (n, p)
    codes: Codes  # (n, q)
    observed: Bools  # (n, p), or (0, p) without gaps
    scale: Reals  # (n,), or (0,) without gaps
    slots: Ints  # (q,): first row of each column in a lookup table
    size: int  # rows of a lookup table


#: A `TableData` as a kernel takes it: named tuples cost Numba 10 us more a call.
Columns: TypeAlias = tuple[Reals, Codes, Bools, Reals, Ints]
#: What a round is given: weights or none, prototypes, lookup tables, both of the round before or none, factors, beta,
#: delta2, tol, objects in a part.
Batch: TypeAlias = tuple[Floats, Floats, Floats, Floats, Floats, Floats, Floats, Floats, float, int]
#: What a round adds up, part by part: costs, mass, moment, counts, changes.
Totals: TypeAlias = tuple[Floats, Floats, Floats, Floats, Floats]


@jit
def _load_gaps(observed: Bools, scale: Reals, start: int, size: int, ot: Floats) -> None:
    """How much each number of a block counts: the object's scale, or 0 for a gap."""
    for b in range(size):
        s = scale[start + b]
        for l in range(observed.shape[1]):
            ot[l, b] = s if observed[start + b, l] else 0.0


@jit
def _distances_with_gaps(xt: Floats, ot: Floats, v: Floats, size: int, d: Floats) -> None:
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


@jit
def _look_up(codes: Codes, slots: Ints, start: int, size: int, table: Floats, out: Floats) -> None:
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


@jit
def _add_categories(looked: Floats, scale: Reals, start: int, size: int, d: Floats) -> None:
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


@jit
def _table_distances(
    data: Columns, start: int, size: int, xt: Floats, ot: Floats, v: Floats, table: Floats, looked: Floats, d: Floats
) -> None:
    """Distances of a block to each prototype, numbers and categories."""
    _, codes, _, scale, slots = data
    if scale.shape[0] > 0:
        _distances_with_gaps(xt, ot, v, size, d)
    else:
        number_distances(xt, v, size, d)
    if codes.shape[1] > 0:
        _look_up(codes, slots, start, size, table, looked)
        _add_categories(looked, scale, start, size, d)


@jit
def _load_table(data: Columns, start: int, size: int, xt: Floats, ot: Floats) -> None:
    """Copy a block of numbers, and how much each counts where there are gaps."""
    numbers, _, observed, scale, _ = data
    load(numbers, start, size, xt)
    if scale.shape[0] > 0:
        _load_gaps(observed, scale, start, size, ot)


@jit
def _add_sums_with_gaps(xt: Floats, ot: Floats, size: int, w: Floats, mass: Floats, moment: Floats) -> None:
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


@jit
def _count(
    codes: Codes, scale: Reals, slots: Ints, start: int, size: int, w: Floats, wt: Floats, counts: Floats
) -> None:
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


@jit
def _part(task: int, data: Columns, batch: Batch, totals: Totals) -> None:
    """One run's pass over one chunk of objects."""
    numbers, codes, _, scale, slots = data
    weights, v, tables, previous, previous_tables, factors, beta, delta2, tol, chunk = batch
    costs, mass, moment, counts, changes = totals
    n, p = numbers.shape
    runs, f, _ = v.shape
    lanes = tables.shape[2]
    run = task // costs.shape[1]
    part = task % costs.shape[1]
    xt, ot = np.empty((p, BLOCK)), np.empty((p, BLOCK))
    looked, wt = np.zeros((BLOCK, lanes)), np.zeros((BLOCK, lanes))
    now, before = new_block(f), new_block(f)
    largest = 0.0
    compared = previous.shape[0] == runs
    objective = 0.0
    for start in range(part * chunk, min((part + 1) * chunk, n), BLOCK):
        size = min(BLOCK, n - start)
        _load_table(data, start, size, xt, ot)
        _table_distances(data, start, size, xt, ot, v[run], tables[run], looked, now.d)
        share(now, size, factors[run], beta[run], delta2[run])
        if compared:  # as in `quadratic`
            _table_distances(data, start, size, xt, ot, previous[run], previous_tables[run], looked, before.d)
            share(before, size, factors[run], beta[run], delta2[run])
            largest = max(largest, largest_change(now, before, size))
            compared = largest <= tol
        objective += weigh(now, factors[run], weights, start, size)
        if scale.shape[0] > 0:
            _add_sums_with_gaps(xt, ot, size, now.d, mass[run, part], moment[run, part])
        else:
            add_sums(xt, size, now.d, mass[run, part, :, 0], moment[run, part])
        if codes.shape[1] > 0:
            _count(codes, scale, slots, start, size, now.d, wt, counts[run, part])
    costs[run, part] = objective
    changes[run, part] = largest


@jit_parallel
def _round(tasks: int, data: Columns, batch: Batch, totals: Totals) -> None:
    for task in nb.prange(tasks):
        _part(task, data, batch, totals)


@jit_parallel
def _masses(data: Columns, v: Floats, table: Floats, factors: Floats, beta: float, delta2: float, out: Floats) -> None:
    n, p = data[0].shape
    for block in nb.prange((n + BLOCK - 1) // BLOCK):
        start = block * BLOCK
        size = min(BLOCK, n - start)
        xt, ot = np.empty((p, BLOCK)), np.empty((p, BLOCK))
        looked = np.zeros((BLOCK, table.shape[1]))
        now = new_block(v.shape[0])
        _load_table(data, start, size, xt, ot)
        _table_distances(data, start, size, xt, ot, v, table, looked, now.d)
        share(now, size, factors, beta, delta2)
        write_masses(now, beta, delta2, start, size, out)


@jit_parallel
def _all_distances(data: Columns, v: Floats, table: Floats, out: Floats) -> None:
    n, p = data[0].shape
    f = v.shape[0]
    for block in nb.prange((n + BLOCK - 1) // BLOCK):
        start = block * BLOCK
        size = min(BLOCK, n - start)
        xt, ot = np.empty((p, BLOCK)), np.empty((p, BLOCK))
        looked = np.zeros((BLOCK, table.shape[1]))
        d = np.empty((f, BLOCK))
        _load_table(data, start, size, xt, ot)
        _table_distances(data, start, size, xt, ot, v, table, looked, d)
        for b in range(size):
            for a in range(f):
                out[start + b, a] = d[a, b]


def run_round(
    data: TableData,
    weights: Floats | None,
    prototypes: Floats,
    tables: Floats,
    previous: Floats | None,
    previous_tables: Floats | None,
    factors: Floats,
    beta: Floats,
    delta2: Floats,
    tol: float,
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
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
    columns = _columns(data, p, slots)
    prototypes = expect("prototypes", prototypes, FLOAT64, (runs, f, p))
    tables = expect("tables", tables, FLOAT64, (runs, slots, f))
    factors = expect("factors", factors, FLOAT64, (runs, f))
    beta = expect("beta", beta, FLOAT64, (runs,))
    delta2 = expect("delta2", delta2, FLOAT64, (runs,))
    weights = np.empty(0) if weights is None else expect("weights", weights, FLOAT64, (n,))
    first = previous is None or previous_tables is None
    before = np.empty((0, f, p)) if previous is None or first else expect("previous", previous, FLOAT64, (runs, f, p))
    most = max(1, SUM_BYTES // (8 * runs * (slots * lanes + 2 * f * (p + 1))))
    n_chunks = max(1, min(CHUNKS, n // 1024, most))
    chunk = -(-n // (n_chunks * BLOCK)) * BLOCK
    costs = np.zeros((runs, n_chunks))
    mass = np.zeros((runs, n_chunks, f, p if len(data.scale) else 1))
    moment = np.zeros((runs, n_chunks, f, p))
    counts = np.zeros((runs, n_chunks, slots, lanes))
    changes = np.zeros((runs, n_chunks))
    batch = (
        weights,
        prototypes,
        _padded(tables, lanes),
        before,
        np.empty((0, slots, lanes))
        if previous_tables is None or first
        else _padded(expect("previous tables", previous_tables, FLOAT64, (runs, slots, f)), lanes),
        factors,
        beta,
        delta2,
        tol,
        chunk,
    )
    _round(runs * n_chunks, columns, batch, (costs, mass, moment, counts, changes))
    if first:
        changes[:] = np.inf
    return costs.sum(1), mass.sum(1), moment.sum(1), counts.sum(1)[..., :f], changes.max(1)


def distances(data: TableData, prototypes: Floats, table: Floats) -> Floats:
    """Distances (n, k) of all objects to prototypes (k, p) with their lookup table (slots, k)."""
    k = len(prototypes)
    columns, prototypes, padded = _one_run(data, prototypes, table)
    out = np.empty((data.numbers.shape[0], k))
    _all_distances(columns, prototypes, padded, out)
    return out


def masses(
    data: TableData,
    prototypes: Floats,
    table: Floats,
    factors: Floats,
    beta: float,
    delta2: float,
) -> Floats:
    """The masses (n, f + 1) of all objects for one set of prototypes (f, p) with its lookup table (slots, f)."""
    f = prototypes.shape[0]
    columns, prototypes, padded = _one_run(data, prototypes, table)
    out = np.empty((data.numbers.shape[0], f + 1))
    _masses(columns, prototypes, padded, expect("factors", factors, FLOAT64, (f,)), beta, delta2, out)
    return out


def _one_run(data: TableData, prototypes: Floats, table: Floats) -> tuple[Columns, Floats, Floats]:
    """What the kernels take, held to its sizes, for prototypes (k, p) and their lookup table (slots, k)."""
    k, p = prototypes.shape
    columns = _columns(data, p, len(table))
    table = expect("table", table, FLOAT64, (len(table), k))
    return columns, expect("prototypes", prototypes, FLOAT64, (k, p)), _padded(table, -(-k // LANES) * LANES)


def _columns(data: TableData, p: int, slots: int) -> Columns:
    """A table's arrays, held to p numbers and to lookup tables of so many rows."""
    n, q = data.codes.shape
    gaps = n if len(data.scale) else 0
    if data.size != slots:
        raise ValueError(
            f"the lookup table must have {data.size} rows, as the columns have categories; got {slots}. The model has been "
            "damaged, or the data were encoded for another."
        )
    firsts = expect("slots", data.slots, INDEX, (q,))
    expect_within("slots", firsts, slots)
    return (
        expect("numbers", data.numbers, REAL, (n, p)),
        expect("codes", data.codes, CODE, (n, q)),
        expect("observed", data.observed, TRUTH, (gaps, p)),
        expect("scale", data.scale, REAL, (gaps,)),
        firsts,
    )


def _padded(tables: Floats, lanes: int) -> Floats:
    """Lookup tables with zeros up to whole vectors."""
    out = np.zeros((*tables.shape[:-1], lanes))
    out[..., : tables.shape[-1]] = tables
    return out
