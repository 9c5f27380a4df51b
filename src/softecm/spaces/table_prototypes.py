"""Prototypes of one table as those of another with the same columns: other scales, other categories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm.spaces.category_levels import Positions
from softecm.spaces.columns import UNSEEN, CategoryColumn, Cells, NumberColumn

if TYPE_CHECKING:
    from softecm.spaces.tables import Table


def pairs(own: Table, other: Table) -> list[tuple[NumberColumn | CategoryColumn, NumberColumn | CategoryColumn]] | None:
    """Each column and that of the other table, by name, or by position from arrays; None where they are others."""
    if own.backend is None or other.backend is None:
        theirs = dict(zip([c.name for c in own.columns], other.columns, strict=False))
    else:
        theirs = {c.name: c for c in other.columns}
    if len(own.columns) != len(other.columns) or any(c.name not in theirs for c in own.columns):
        return None
    both = [(c, theirs[c.name]) for c in own.columns]
    return both if all(type(a) is type(b) for a, b in both) else None


def carried(own: Table, other: Table, prototypes: Tensor) -> Tensor:
    """Prototypes (k, width) of another table as those of ``own``.

    A category that the other has not seen has no share; one that is not there any more leaves its share to the others of
    its column.
    """
    rows = prototypes.detach().double().cpu().numpy()
    there = {c.name: values for c, values in zip(other.numbers, rows.T, strict=False)}
    shares = {c.name: found for c, found in zip(other.categories, other.shares(rows), strict=True)}
    heights = iter(own.layout.heights)
    both = pairs(own, other)
    assert both is not None
    numbers = [
        _number(a, b, there[b.name]) for a, b in both if isinstance(a, NumberColumn) and isinstance(b, NumberColumn)
    ]
    found = {a.name: _shares(a, b, shares[b.name]) for a, b in both if isinstance(a, CategoryColumn)}
    parts = [np.stack(numbers, 1)] if numbers else []
    parts += [found[c.name] * next(heights) for c in own.categories]
    return torch.from_numpy(np.concatenate(parts, 1)).to(own.dtype)


def _number(own: NumberColumn, other: NumberColumn, coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
    if own.kind == "ordinal" and own.levels != other.levels:
        return own.encode(Cells.of(own.name, np.array(other.decode(coordinates), dtype=object)))
    return own.coordinates(other.numbers(coordinates))


def _shares(
    own: CategoryColumn, other: NumberColumn | CategoryColumn, shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    place = Positions(own.levels, UNSEEN)
    kept = np.zeros((len(shares), len(own.levels)))
    for level, share in zip(other.levels, shares.T, strict=True):
        if place[level] != UNSEEN:
            kept[:, place[level]] += share
    total = kept.sum(1, keepdims=True)
    return np.where(total > 0, kept / np.where(total > 0, total, 1.0), np.asarray(own.frequencies))
