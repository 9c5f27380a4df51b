"""Internal names that tests of behaviour need: when a module moves, only this file changes."""

import re
from pathlib import Path

import softecm
from softecm.distances.squared_euclidean import SquaredEuclidean
from softecm.fit.loop import MERGED, choose
from softecm.kernels import rounds
from softecm.objective.equations import evaluate, mass_cost, share
from softecm.optim import Closed

__all__ = ["MERGED", "POINTS", "Closed", "SquaredEuclidean", "choose", "evaluate", "mass_cost", "share", "vector_round"]

#: The named points at which a writing process can be killed.
POINTS = [
    name
    for path in sorted(Path(softecm.__file__).parent.rglob("*.py"))
    for name in re.findall(r'reached\("([^"]*)"\)', path.read_text(encoding="utf-8"))
]


def vector_round(x, weights, prototypes, previous, factors, beta, delta2, tol):
    """An iteration of vectors (n, p) on the CPU, as summed by the kernel."""
    objects = rounds.vectors(x, prototypes.shape[-1])
    prices = rounds.RoundPrices(weights, factors, beta, delta2, tol)
    return rounds.sum_over_objects(objects, prototypes, None, previous, None, prices)
