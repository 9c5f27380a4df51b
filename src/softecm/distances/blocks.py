"""Objects go through a distance in blocks, and what comes out is looked at."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from softecm._text import place
from softecm.distances.base import SemiMetric
from softecm.spaces.base import Encoded
from softecm.spaces.sparse import SparseRows, WholeRows

BLOCK_CELLS = 1 << 20  # numbers held at once while objects stream through a CPU: 8 MB
GPU_CELLS = 1 << 27  # the same on a GPU, where a block must be large enough to fill it


def blocks(x: Encoded, prototypes: Tensor) -> list[slice]:
    """Cut objects so that a block's distances to all prototypes (k, *shape) fit in a block."""
    # A pair costs as many numbers as a prototype has: differences taken by broadcasting, or sums over alignments. Sparse
    # rows are multiplied as they are.
    if isinstance(x, WholeRows):
        return [slice(0, len(x))]
    each = len(prototypes) if isinstance(x, SparseRows) else prototypes.numel()
    n, size = len(x), max(1, (GPU_CELLS if prototypes.is_cuda else BLOCK_CELLS) // max(1, each))
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def distances_of(metric: SemiMetric, x: Encoded, v: Tensor, *, first: int = 0) -> Tensor:
    """Distances (n, k) of objects to prototypes, block by block, looked at; ``first`` is the first object's number."""
    parts = [v.new_empty(0, len(v))]
    with torch.no_grad():
        for rows in blocks(x, v):
            block = x[rows]
            d = metric.pairwise(block, v)
            check_distances(metric, d, len(block), len(v), first + rows.start)
            parts.append(d.clamp_min(0.0))
    return torch.cat(parts)


def nearest_of(metric: SemiMetric, x: Encoded, v: Tensor, *, first: int = 0) -> tuple[Tensor, Tensor]:
    """Distance to the nearest prototype and its number, (n,) each, on the CPU; ``first`` is the first object's number."""
    compiled = metric.compiled.nearest(x, v)
    if compiled is not None:
        return compiled[0].double().cpu(), compiled[1].cpu()
    distances, which = [v.new_empty(0).double().cpu()], [torch.empty(0, dtype=torch.int64)]
    with torch.no_grad():
        for rows in blocks(x, v):
            block = x[rows]
            d = metric.pairwise(block, v)
            check_distances(metric, d, len(block), len(v), first + rows.start)
            least = d.clamp_min(0.0).min(1)
            distances.append(least.values.double().cpu())
            which.append(least.indices.cpu())
    return torch.cat(distances), torch.cat(which)


def check_distances(metric: SemiMetric, d: Tensor, n: int, k: int, first: int = 0) -> None:
    """Refuse what no semi-metric may return, saying which object and prototype it was."""
    name = metric.name or type(metric).__name__
    if d.shape != (n, k):
        raise ValueError(
            f"metric {name} must return distances of shape (n, f); got shape {tuple(d.shape)} for {n} objects and {k} "
            "prototypes. Broadcast x[:, None] against v and reduce the last axes."
        )
    values = d.detach()
    if not values.numel():
        return
    low, high = torch.stack(torch.aminmax(values)).tolist()  # one look: NaN comes through
    if math.isfinite(low) and math.isfinite(high) and low >= -1e-6 * max(high, -low):
        return
    bad = ~torch.isfinite(values)
    if bool(bad.any()):
        i, j = (int(v) for v in bad.nonzero()[0])
        raise ValueError(
            f"metric {name} must return finite distances; got {float(values[i, j])} for {place('object', first + i)} and "
            f"{place('prototype', j, 'prototypes_')}. Look for a division by zero or a root of zero; "
            "softecm.testing.check_semimetric shows more."
        )
    i, j = (int(v) for v in (values == low).nonzero()[0])
    raise ValueError(
        f"metric {name} must never be negative; got {low} for {place('object', first + i)} and "
        f"{place('prototype', j, 'prototypes_')}. "
        "Subtract the distances of each object to itself (as the Soft-DTW divergence does), or square it."
    )
