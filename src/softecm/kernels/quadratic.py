"""One round of evidential c-means on vectors with squared Euclidean distances: ``kernels.tables`` without categories."""

from __future__ import annotations

from softecm.kernels.tables import masses_of_objects, sum_over_objects, vectors
from softecm.kernels.types import Floats, Reals


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
    """Masses, objective and sums of a batch of runs over all objects ``x`` (n, p); other parameters as for tables.

    Returns
    -------
    costs : (runs,), sum over objects of the minimised cost
    mass : (runs, f), sums of w |A|^alpha m^beta
    moment : (runs, f, p), the same sums of w |A|^alpha m^beta x
    changes : (runs,), largest change of a mass; a lower bound of it where it is above ``tol``; inf without ``previous``
    """
    objects = vectors(x, prototypes.shape[-1])
    costs, mass, moment, _, changes = sum_over_objects(
        objects, weights, prototypes, None, previous, None, factors, beta, delta2, tol
    )
    return costs, mass[..., 0], moment, changes


def masses(x: Reals, prototypes: Floats, factors: Floats, beta: float, delta2: float) -> Floats:
    """The masses (n, f + 1) of all objects for one set of prototypes (f, p), the empty set first."""
    return masses_of_objects(vectors(x, prototypes.shape[-1]), prototypes, None, factors, beta, delta2)
