"""Names inside the library that tests of behaviour need: when a module moves, only this file follows it."""

from softecm.distances.squared_euclidean import SquaredEuclidean
from softecm.fit.loop import MERGED, choose
from softecm.objective import evaluate, mass_cost, share
from softecm.optim import Closed

__all__ = ["MERGED", "Closed", "SquaredEuclidean", "choose", "evaluate", "mass_cost", "share"]
