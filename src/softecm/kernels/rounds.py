"""One iteration of evidential c-means, for tables and vectors.

Tables compare numbers by differences and categories by lookup, and skip missing values. Vectors are tables without
categories and missing values. ``native/rounds.c`` has both; ``native/nearest.c`` finds the nearest of several points
without storing all distances. Objects are split into parts whose number does not depend on the number of threads, and
the parts are summed in order: results are bitwise equal on any number of cores.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from softecm.kernels.types import Bools, Codes, Floats, Ints, Reals
from softecm.native.library import (
    CODE,
    FLOAT64,
    INDEX,
    REAL,
    TRUTH,
    Array,
    Float,
    Int,
    Tasks,
    expect,
    expect_within,
    function,
    kind,
    share_out,
    status,
)

BLOCK = 128  # objects per block, which fits in the cache; as in native/block.h
CHUNKS = 64  # parts that are summed separately
PARALLEL = 1_000_000  # operations below which one thread is faster than waking another
LANES = 4  # prototypes of a lookup table are padded to a multiple of this
SUM_BYTES = 1 << 26  # memory for the parts' sums; limits the number of parts if there are many levels

_TABLE = (Array, Int, Int, Int, Array, Int, Int, Array, Array, Array, Int, Int, Int)
_rounds = function("rounds", Tasks, *_TABLE, *[Array] * 8, Float, *[Int] * 4, *[Array] * 5, result=status)
_masses = function("masses", Tasks, *_TABLE, Array, Array, Int, Array, Float, Float, Array, result=status)
_distances = function("table_distances", Tasks, *_TABLE, Array, Array, Int, Array, result=status)
_nearest = function("nearest", Tasks, Array, Int, Int, Int, Array, Int, Array, Array, result=status)

#: Objects as the kernels take them: the arrays of `TableData` with sizes and kinds; None for missing arrays.
Arguments: TypeAlias = tuple[Reals | Codes | Bools | Ints | int | None, ...]


class TableData(NamedTuple):
    """Objects of a table as the kernels read them; absent arrays are empty."""

    numbers: Reals  # (n, p)
    codes: Codes  # (n, q)
    observed: Bools  # (n, p), or (0, p) without missing values
    scale: Reals  # (n,), or (0,) without missing values
    slots: Ints  # (q,): first row of each column in a lookup table
    size: int  # rows of a lookup table


class RoundSums(NamedTuple):
    """Sums over all objects in one iteration."""

    costs: Floats  # (runs,): sum over objects of the minimized cost
    mass: Floats  # (runs, f, p): sums of w |A|^alpha m^beta over known numbers; (runs, f, 1) if none is missing
    moment: Floats  # (runs, f, p): the same sums of w |A|^alpha m^beta x
    counts: Floats  # (runs, slots, f): the same sums over the objects with the level
    changes: Floats  # (runs,): largest change of a mass; a lower bound if above ``tol``; inf without ``previous``


class RoundPrices(NamedTuple):
    """Parameters of the cost of mass in a batch of runs, the objects' weights and the convergence threshold."""

    weights: Floats | None  # (n,)
    factors: Floats  # (runs, f), the values of |A|^alpha
    beta: Floats  # (runs,)
    delta2: Floats  # (runs,), inf if the empty set is switched off
    tol: float


def table_round(
    data: TableData,
    prototypes: Floats,
    tables: Floats,
    previous: Floats | None,
    previous_tables: Floats | None,
    prices: RoundPrices,
) -> RoundSums:
    """Compute masses, objective and sums of a batch of runs over all objects of a table.

    Parameters
    ----------
    data : TableData
    prototypes, previous : (runs, f, p), the numbers' coordinates; ``previous`` is None in the first iteration
    tables, previous_tables : (runs, slots, f), contribution of each level to the distance to each prototype
    prices : RoundPrices
    """
    runs, f, p = prototypes.shape
    slots, lanes = tables.shape[1], -(-f // LANES) * LANES
    padded = _padded(expect("tables", tables, FLOAT64, (runs, slots, f)), lanes)
    before = None
    if previous is not None and previous_tables is not None:
        before = _padded(expect("previous tables", previous_tables, FLOAT64, (runs, slots, f)), lanes)
    return sum_over_objects(_arguments(data, p, slots, lanes), prototypes, padded, previous, before, prices)


def sum_over_objects(
    objects: Arguments,
    prototypes: Floats,
    tables: Floats | None,
    previous: Floats | None,
    previous_tables: Floats | None,
    prices: RoundPrices,
) -> RoundSums:
    """`table_round` for objects as the kernel takes them and padded lookup tables; ``tables`` is None for vectors."""
    runs, f, p = prototypes.shape
    n, q, has_gaps = int(objects[2]), int(objects[6]), objects[9] is not None  # type: ignore[arg-type]
    slots, lanes = (0, 0) if tables is None else tables.shape[1:]
    prototypes = expect("prototypes", prototypes, FLOAT64, (runs, f, p))
    before = None if previous is None else expect("previous", previous, FLOAT64, (runs, f, p))
    weights = None if prices.weights is None else expect("weights", prices.weights, FLOAT64, (n,))
    factors = expect("factors", prices.factors, FLOAT64, (runs, f))
    beta, delta2 = expect("beta", prices.beta, FLOAT64, (runs,)), expect("delta2", prices.delta2, FLOAT64, (runs,))
    parts = max(1, min(CHUNKS, n // 1024, SUM_BYTES // (8 * runs * (slots * lanes + 2 * f * (p + 1)))))
    chunk = -(-n // (parts * BLOCK)) * BLOCK
    costs, changes = np.zeros((runs, parts)), np.zeros((runs, parts))
    mass, moment = np.zeros((runs, parts, f, p if has_gaps else 1)), np.zeros((runs, parts, f, p))
    counts = np.zeros((runs, parts, slots, lanes))
    is_large, points = runs * n * f * (p + q) > PARALLEL, (prototypes, tables, before, previous_tables)
    numbers = (factors, beta, delta2, prices.tol, runs, f, chunk, parts)
    sums = (costs, mass, moment, counts if slots else None, changes)
    share_out(_rounds, is_large, *objects, weights, *points, *numbers, *sums)
    if previous is None:
        changes[:] = np.inf
    if parts == 1:
        return RoundSums(costs[:, 0], mass[:, 0], moment[:, 0], counts[:, 0, :, :f], changes[:, 0])
    return RoundSums(costs.sum(1), mass.sum(1), moment.sum(1), counts.sum(1)[..., :f], changes.max(1))


def table_distances(data: TableData, prototypes: Floats, table: Floats) -> Floats:
    """Return distances (n, k) of all objects to prototypes (k, p) with their lookup table (slots, k)."""
    k = len(prototypes)
    objects, prototypes, padded = _one_run(data, prototypes, table)
    out = np.empty((len(data.numbers), k))
    is_large = (data.numbers.size + data.codes.size) * k > PARALLEL
    share_out(_distances, is_large, *objects, prototypes, padded, k, out)
    return out


def table_masses(
    data: TableData, prototypes: Floats, table: Floats, factors: Floats, beta: float, delta2: float
) -> Floats:
    """Return the masses (n, f + 1) of all objects for prototypes (f, p) with their lookup table (slots, f)."""
    objects, prototypes, padded = _one_run(data, prototypes, table)
    return masses_of_objects(objects, prototypes, padded, factors, beta, delta2)


def masses_of_objects(
    objects: Arguments, prototypes: Floats, table: Floats | None, factors: Floats, beta: float, delta2: float
) -> Floats:
    """`table_masses` for objects as the kernel takes them."""
    n, (f, p) = int(objects[2]), prototypes.shape  # type: ignore[arg-type]
    prototypes, factors = expect("prototypes", prototypes, FLOAT64, (f, p)), expect("factors", factors, FLOAT64, (f,))
    out = np.empty((n, f + 1))
    share_out(_masses, n * f * (p + 1) > PARALLEL, *objects, prototypes, table, f, factors, beta, delta2, out)
    return out


def vectors(x: Reals, p: int) -> Arguments:
    """Return vectors (n, p) as the kernels take them."""
    n = len(x)
    x = expect("objects", x, REAL, (n, p))
    return x, kind(x), n, p, None, 0, 0, None, None, None, 0, 0, 0


def nearest(x: Reals, v: Floats) -> tuple[Floats, Ints]:
    """Return squared distances of rows ``x`` (n, p) to the nearest of ``v`` (k, p), and its index; ties go to the first.

    Examples
    --------
    >>> import numpy as np
    >>> nearest(np.array([[0.0], [3.0]]), np.array([[1.0], [2.0], [3.0]]))
    (array([1., 0.]), array([0, 2]))
    """
    n, p = x.shape
    x = expect("objects", x, REAL, (n, p))
    v = expect("points", v, FLOAT64, (max(1, len(v)), p))
    distances, which = np.empty(n), np.empty(n, dtype=np.int64)
    share_out(_nearest, n * v.size > PARALLEL, x, kind(x), n, p, v, len(v), distances, which)
    return distances, which


def _one_run(data: TableData, prototypes: Floats, table: Floats) -> tuple[Arguments, Floats, Floats]:
    """Validate and return the kernels' arguments for prototypes (k, p) and their lookup table (slots, k)."""
    (k, p), lanes = prototypes.shape, -(-len(prototypes) // LANES) * LANES
    table = expect("table", table, FLOAT64, (len(table), k))
    objects = _arguments(data, p, len(table), lanes)
    return objects, expect("prototypes", prototypes, FLOAT64, (k, p)), _padded(table, lanes)


def _arguments(data: TableData, p: int, slots: int, lanes: int) -> Arguments:
    """Return a table's arrays, validated for p numbers and lookup tables with ``slots`` rows."""
    n, q = data.codes.shape
    if data.size != slots:
        raise ValueError(
            f"the lookup table must have {data.size} rows, as the columns have categories; got {slots}. The model has been "
            "damaged, or the data were encoded for another."
        )
    firsts = expect("slots", data.slots, INDEX, (q,))
    expect_within("slots", firsts, slots)
    numbers = expect("numbers", data.numbers, REAL, (n, p))
    codes = expect("codes", data.codes, CODE, (n, q))
    gaps = n if len(data.scale) else 0
    observed, scale = expect("observed", data.observed, TRUTH, (gaps, p)), expect("scale", data.scale, REAL, (gaps,))
    weights = (observed, scale, kind(scale)) if gaps else (None, None, 0)
    return numbers, kind(numbers), n, p, codes, kind(codes), q, firsts, *weights, slots, lanes


def _padded(tables: Floats, lanes: int) -> Floats:
    """Pad lookup tables with zeros to ``lanes`` columns."""
    out = np.zeros((*tables.shape[:-1], lanes))
    out[..., : tables.shape[-1]] = tables
    return out
