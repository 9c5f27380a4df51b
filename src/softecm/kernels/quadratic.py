"""One round of evidential c-means on vectors in a single pass over cache-sized blocks of objects.

For squared Euclidean distance a round needs, of every object, its distances to all prototypes, its masses (eq. 7), and
what it adds to the objective and to the weighted sums of the prototype step (eq. 8). Written as tensor operations this is
a dozen passes over an n x f matrix, and memory bandwidth decides. Here a block of objects stays in cache from its
distances to its sums, and the n x f matrix never exists.

With D the distances times |A|^alpha and q the smallest of them and delta^2, put r = q / D <= 1 and u = r^(1/(beta-1)).
Nothing over- or underflows, whatever the unit of the data, and

    m_A = u_A / S,    S = sum of all u (the empty set's too),    cost of the object = q S^(1-beta),
    |A|^alpha m_A^beta = |A|^alpha (u_A / S) r_A S^(1-beta)

so that one power a mass is enough, and none at beta = 2 or 1.5.

Objects are cut into chunks whose number does not depend on the number of threads, and chunks are summed in order: the
same data give the same bits on any number of cores.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numba as nb
import numpy as np

from softecm.kernels.compiling import RELAXED, compiled
from softecm.kernels.entry import FLOAT64, REAL, expect
from softecm.kernels.types import Floats, Reals
from softecm.kernels.vector_math import exp2, log2

BLOCK = 128  # objects that stay in cache together
NARROW = 32  # columns that are written side by side
LINE = 8  # numbers that lie together in cache
CHUNKS = 64  # parts that are summed apart
PARALLEL = 1_000_000  # operations below which one thread is faster than waking a second

jit = compiled(fastmath=RELAXED)
jit_parallel = compiled(fastmath=RELAXED, parallel=True)


class Shares(NamedTuple):
    """A block of objects on its way from distances to masses."""

    d: Floats  # (f, block): distances, then r, then weights
    u: Floats  # (f, block)
    total: Floats  # (block,): S
    least: Floats  # (block,): q
    cost: Floats  # (block,): an object's part of the objective


#: What a round is given: x, weights or none of them, prototypes, those before or none, factors, beta, delta2 (as
#: ``run_round`` has them), tol, objects in a part. Plain tuples: named ones cost Numba 10 us more a call.
Batch: TypeAlias = tuple[Reals, Floats, Floats, Floats, Floats, Floats, Floats, float, int]
#: What a round adds up: costs (runs, parts), mass (runs, parts, f), moment (runs, parts, f, p), changes (runs, parts).
Totals: TypeAlias = tuple[Floats, Floats, Floats, Floats]


@jit
def new_block(f: int) -> Shares:
    """Memory for a block."""
    return Shares(np.empty((f, BLOCK)), np.empty((f, BLOCK)), np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK))


@jit
def load(x: Reals, start: int, size: int, xt: Floats) -> None:
    """Copy a block of objects with objects along the contiguous axis."""
    p = x.shape[1]
    if p <= NARROW:
        for b in range(size):
            for l in range(p):
                xt[l, b] = x[start + b, l]
        return
    for first in range(0, p, LINE):  # what is written at once must not drive itself out of cache
        for b in range(size):
            for l in range(first, min(first + LINE, p)):
                xt[l, b] = x[start + b, l]


@jit
def distances(xt: Floats, v: Floats, size: int, d: Floats) -> None:
    """Squared distances of a block to each prototype, from differences: no cancellation far from the origin."""
    p = xt.shape[0]
    for a in range(v.shape[0]):
        row = d[a, :size]
        row[:] = 0.0
        l = 0
        while l + 4 <= p:
            v0, v1, v2, v3 = v[a, l], v[a, l + 1], v[a, l + 2], v[a, l + 3]
            x0, x1, x2, x3 = xt[l, :size], xt[l + 1, :size], xt[l + 2, :size], xt[l + 3, :size]
            for b in range(size):
                t0, t1, t2, t3 = x0[b] - v0, x1[b] - v1, x2[b] - v2, x3[b] - v3
                row[b] += (t0 * t0 + t1 * t1) + (t2 * t2 + t3 * t3)
            l += 4
        while l < p:
            v0 = v[a, l]
            x0 = xt[l, :size]
            for b in range(size):
                t0 = x0[b] - v0
                row[b] += t0 * t0
            l += 1


@jit
def share(block: Shares, size: int, factors: Floats, beta: float, delta2: float) -> None:
    """From distances to unnormalised masses, in place.

    Where prototypes sit on the object, they share its mass and ``u``, ``r`` hold m and m^(beta-1).
    """
    d, u, total, least, cost = block
    f = d.shape[0]
    e = 1.0 / (beta - 1.0)
    least[:size] = delta2
    for a in range(f):
        row = d[a, :size]
        c = factors[a]
        for b in range(size):
            value = row[b] * c
            row[b] = value
            least[b] = min(least[b], value)
    for b in range(size):
        ratio = least[b] / delta2  # 0 where there is no empty set (delta2 = inf)
        cost[b] = ratio
    if e == 1.0:
        total[:size] = cost[:size]
    elif e == 2.0:
        for b in range(size):
            total[b] = cost[b] * cost[b]
    else:
        for b in range(size):
            total[b] = exp2(e * log2(cost[b])) if cost[b] > 0.0 else 0.0
    for a in range(f):
        row = d[a, :size]
        out = u[a, :size]
        if e == 1.0:
            for b in range(size):
                r = least[b] / row[b]
                row[b] = r
                out[b] = r
                total[b] += r
        elif e == 2.0:
            for b in range(size):
                r = least[b] / row[b]
                row[b] = r
                out[b] = r * r
                total[b] += r * r
        else:
            for b in range(size):
                r = least[b] / row[b]
                row[b] = r
                power = exp2(e * log2(r))
                out[b] = power
                total[b] += power
    if e == 1.0:
        for b in range(size):
            cost[b] = 1.0 / total[b]
    else:
        for b in range(size):
            cost[b] = exp2((1.0 - beta) * log2(total[b]))
    for b in range(size):
        if least[b] == 0.0:
            _share_among_coinciding(d, b, factors, beta, u)
            total[b] = 1.0
            cost[b] = 1.0


@jit
def _share_among_coinciding(d: Floats, b: int, factors: Floats, beta: float, u: Floats) -> None:
    """All mass to the prototypes at distance 0, in proportion to |A|^(-alpha/(beta-1))."""
    e = 1.0 / (beta - 1.0)
    smallest = np.inf
    for a in range(d.shape[0]):
        if np.isnan(d[a, b]):  # 0 / 0 marks a prototype at distance 0
            smallest = min(smallest, factors[a])
    s = 0.0
    for a in range(d.shape[0]):
        u[a, b] = (smallest / factors[a]) ** e if np.isnan(d[a, b]) else 0.0
        s += u[a, b]
    for a in range(d.shape[0]):
        u[a, b] /= s
        d[a, b] = u[a, b] ** (beta - 1.0)


@jit
def weigh(block: Shares, factors: Floats, weights: Floats, start: int, size: int) -> float:
    """From ``share``'s answer to w |A|^alpha m^beta, in place of ``d``; returns the block's part of the objective."""
    d, u, total, least, cost = block
    objective = 0.0
    for b in range(size):
        w = weights[start + b] if weights.shape[0] > 0 else 1.0
        objective += w * least[b] * cost[b]
        total[b] = w * cost[b] / total[b]
    for a in range(d.shape[0]):
        c = factors[a]
        row, share = d[a, :size], u[a, :size]
        for b in range(size):
            row[b] *= c * share[b] * total[b]
    return objective


@jit
def largest_change(now: Shares, before: Shares, size: int) -> float:
    """Largest difference of two sets of masses over a block; the empty set's is what the others leave."""
    u, total, u2, total2 = now.u, now.total, before.u, before.total
    largest = 0.0
    for b in range(size):
        empty = 0.0
        for a in range(u.shape[0]):
            change = u[a, b] / total[b] - u2[a, b] / total2[b]
            empty += change
            largest = max(largest, abs(change))
        largest = max(largest, abs(empty))
    return largest


@jit
def add_sums(xt: Floats, size: int, w: Floats, mass: Floats, moment: Floats) -> None:
    """Add the block to sum of weights (f,) and weighted sum of objects (f, p)."""
    p = xt.shape[0]
    for a in range(w.shape[0]):
        row = w[a, :size]
        s = 0.0
        for b in range(size):
            s += row[b]
        mass[a] += s
        l = 0
        while l + 4 <= p:
            x0, x1, x2, x3 = xt[l, :size], xt[l + 1, :size], xt[l + 2, :size], xt[l + 3, :size]
            s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
            for b in range(size):
                s0 += row[b] * x0[b]
                s1 += row[b] * x1[b]
                s2 += row[b] * x2[b]
                s3 += row[b] * x3[b]
            moment[a, l] += s0
            moment[a, l + 1] += s1
            moment[a, l + 2] += s2
            moment[a, l + 3] += s3
            l += 4
        while l < p:
            x0 = xt[l, :size]
            s0 = 0.0
            for b in range(size):
                s0 += row[b] * x0[b]
            moment[a, l] += s0
            l += 1


@jit
def write_masses(block: Shares, beta: float, delta2: float, start: int, size: int, out: Floats) -> None:
    """A block's masses as rows of (n, f + 1), the empty set first."""
    e = 1.0 / (beta - 1.0)
    for b in range(size):
        total = block.total[b]
        out[start + b, 0] = (block.least[b] / delta2) ** e / total
        for a in range(block.u.shape[0]):
            out[start + b, a + 1] = block.u[a, b] / total


@jit
def _part(task: int, batch: Batch, totals: Totals) -> None:
    """One run's pass over one chunk of objects."""
    x, weights, v, previous, factors, beta, delta2, tol, chunk = batch
    costs, mass, moment, changes = totals
    n, p = x.shape
    runs, f, _ = v.shape
    n_chunks = costs.shape[1]
    run = task // n_chunks
    part = task % n_chunks
    xt = np.empty((p, BLOCK))
    now, before = new_block(f), new_block(f)
    largest = 0.0
    compared = previous.shape[0] == runs
    objective = 0.0
    for start in range(part * chunk, min((part + 1) * chunk, n), BLOCK):
        size = min(BLOCK, n - start)
        load(x, start, size, xt)
        distances(xt, v[run], size, now.d)
        share(now, size, factors[run], beta[run], delta2[run])
        if compared:
            # Only until one difference above the tolerance is found: then the run goes on anyway.
            distances(xt, previous[run], size, before.d)
            share(before, size, factors[run], beta[run], delta2[run])
            largest = max(largest, largest_change(now, before, size))
            compared = largest <= tol
        objective += weigh(now, factors[run], weights, start, size)
        add_sums(xt, size, now.d, mass[run, part], moment[run, part])
    costs[run, part] = objective
    changes[run, part] = largest


@jit
def _round(tasks: int, batch: Batch, totals: Totals) -> None:
    """One part after another: for small problems, which threads would only delay."""
    for task in range(tasks):
        _part(task, batch, totals)


@jit_parallel
def _round_parallel(tasks: int, batch: Batch, totals: Totals) -> None:
    for task in nb.prange(tasks):
        _part(task, batch, totals)


@jit
def _mass_block(block: int, x: Reals, v: Floats, factors: Floats, beta: float, delta2: float, out: Floats) -> None:
    """The masses of one block of objects."""
    n, p = x.shape
    start = block * BLOCK
    size = min(BLOCK, n - start)
    xt = np.empty((p, BLOCK))
    now = new_block(v.shape[0])
    load(x, start, size, xt)
    distances(xt, v, size, now.d)
    share(now, size, factors, beta, delta2)
    write_masses(now, beta, delta2, start, size, out)


@jit
def _masses(n_blocks: int, x: Reals, v: Floats, factors: Floats, beta: float, delta2: float, out: Floats) -> None:
    for block in range(n_blocks):
        _mass_block(block, x, v, factors, beta, delta2, out)


@jit_parallel
def _masses_parallel(
    n_blocks: int, x: Reals, v: Floats, factors: Floats, beta: float, delta2: float, out: Floats
) -> None:
    for block in nb.prange(n_blocks):
        _mass_block(block, x, v, factors, beta, delta2, out)


def run_round(
    x: Reals,
    weights: Floats | None,
    prototypes: Floats,
    previous: Floats | None,
    factors: Floats,
    beta: Floats,
    delta2: Floats,
    tol: float,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Masses, objective and sums of a batch of runs over all objects.

    Parameters
    ----------
    x : (n, p)
    weights : (n,) or None
    prototypes, previous : (runs, f, p); ``previous`` None on the first round
    factors : (runs, f), the values of |A|^alpha
    beta, delta2 : (runs,); delta2 is inf where the empty set is switched off
    tol : how far the masses may move in a converged run

    Returns
    -------
    costs : (runs,), sum over objects of the minimised cost
    mass : (runs, f), sums of w |A|^alpha m^beta
    moment : (runs, f, p), the same sums of w |A|^alpha m^beta x
    changes : (runs,), largest change of a mass; a lower bound of it where it is above ``tol``; inf without ``previous``
    """
    (n, p), (runs, f, _) = x.shape, prototypes.shape
    x = expect("objects", x, REAL, (n, p))
    prototypes = expect("prototypes", prototypes, FLOAT64, (runs, f, p))
    factors = expect("factors", factors, FLOAT64, (runs, f))
    beta = expect("beta", beta, FLOAT64, (runs,))
    delta2 = expect("delta2", delta2, FLOAT64, (runs,))
    weighed = np.empty(0) if weights is None else expect("weights", weights, FLOAT64, (n,))
    before = np.empty((0, f, p)) if previous is None else expect("previous", previous, FLOAT64, (runs, f, p))
    n_chunks = max(1, min(CHUNKS, n // 1024))
    chunk = -(-n // (n_chunks * BLOCK)) * BLOCK
    costs, changes = np.zeros((runs, n_chunks)), np.zeros((runs, n_chunks))
    mass, moment = np.zeros((runs, n_chunks, f)), np.zeros((runs, n_chunks, f, p))
    batch = (x, weighed, prototypes, before, factors, beta, delta2, tol, chunk)
    large = runs * n * f * p > PARALLEL
    (_round_parallel if large else _round)(runs * n_chunks, batch, (costs, mass, moment, changes))
    if previous is None:
        changes[:] = np.inf
    return costs.sum(1), mass.sum(1), moment.sum(1), changes.max(1)


def masses(
    x: Reals,
    prototypes: Floats,
    factors: Floats,
    beta: float,
    delta2: float,
) -> Floats:
    """The masses (n, f + 1) of all objects for one set of prototypes (f, p), the empty set first."""
    (n, p), f = x.shape, len(prototypes)
    x = expect("objects", x, REAL, (n, p))
    prototypes = expect("prototypes", prototypes, FLOAT64, (f, p))
    factors = expect("factors", factors, FLOAT64, (f,))
    out = np.empty((n, f + 1))
    large = x.size * f > PARALLEL
    n_blocks = -(-n // BLOCK)
    (_masses_parallel if large else _masses)(n_blocks, x, prototypes, factors, beta, delta2, out)
    return out
