"""Masses of linked objects, one object after another (``native/linked.c``; plain references in ``objective/links.py``)."""

from __future__ import annotations

from typing import TypeAlias

from softecm.kernels.types import Bools, Floats, Ints
from softecm.native.library import (
    FLOAT64,
    INDEX,
    TRUTH,
    Array,
    Float,
    Int,
    Tasks,
    expect,
    expect_rows,
    expect_within,
    expect_writable,
    function,
    share_out,
    status,
)

Prices: TypeAlias = tuple[float, float, float]

PARALLEL = 10_000  # number of masses below which one thread is faster than waking another

_LINKS = (Float, Float, Float, Array, Array, Array, Int, Array)
_descend = function(
    "linked_descend", Tasks, Array, Array, Array, Int, Int, Int, *_LINKS, Float, Int, Int, result=status
)


def descend(
    a: Floats,
    beta: Floats,
    masses: Floats,
    prices: Prices,
    starts: Ints,
    partners: Ints,
    together: Bools,
    c: int,
    meets: Bools,
    tol: float,
    sweeps: int,
    joint: int = 0,
) -> None:
    """Lower the objective of linked objects in place until no object alone can by changing masses more than ``tol``.

    Parameters
    ----------
    a, masses : (runs, m, f + 1), the empty set first; ``a`` is inf without it
    beta : (runs,)
    prices : of a violated must-link, a violated cannot-link, and of a must-linked object's mass on the empty set (NaN:
    as in the article)
    starts, partners, together : the links of object i are entries ``starts[i]`` to ``starts[i + 1]``: the other object,
    and whether it is a must-link
    joint : number of first steps in which all objects move part of the way at once, so that none has the advantage of
    being first
    """
    runs, m, f = masses.shape
    expect_writable("masses", masses, FLOAT64, (runs, m, f))
    a = expect("prices", a, FLOAT64, (runs, m, f))
    beta = expect("beta", beta, FLOAT64, (runs,))
    meets = expect("meets", meets, TRUTH, (f, f))
    partners = expect("partners", partners, INDEX, partners.shape[:1])
    together = expect("together", together, TRUTH, partners.shape)
    starts = expect_rows("starts", starts, m, len(partners))
    expect_within("partners", partners, m)
    if not 0 <= c < f:
        raise ValueError(f"c must lie between 0 and {f - 1}, the number of sets; got {c}.")
    links = (*prices, starts, partners, together, c, meets)
    share_out(_descend, runs > 1 and masses.size > PARALLEL, a, beta, masses, runs, m, f, *links, tol, sweeps, joint)
