"""The objective: its equations, and passes over the objects that evaluate it.

How the constraint of eq. 4 is kept is in ``softecm.objective.relaxations``, which is not loaded here: it needs the
solvers, and these need :class:`Evaluation`.
"""

from softecm.objective.equations import (
    POWER_MASSES,
    MassCost,
    MassRule,
    PowerMasses,
    Shares,
    inertia,
    mass_cost,
    set_members,
    share,
    update_masses,
)
from softecm.objective.evaluate import (
    BLOCK_CELLS,
    GPU_CELLS,
    KEPT_CELLS,
    Evaluation,
    Previous,
    blocks,
    check_distances,
    evaluate,
    evaluate_in_blocks,
    masses_of,
    with_masses,
)

__all__ = [
    "BLOCK_CELLS",
    "GPU_CELLS",
    "KEPT_CELLS",
    "POWER_MASSES",
    "Evaluation",
    "MassCost",
    "MassRule",
    "PowerMasses",
    "Previous",
    "Shares",
    "blocks",
    "check_distances",
    "evaluate",
    "evaluate_in_blocks",
    "inertia",
    "mass_cost",
    "masses_of",
    "set_members",
    "share",
    "update_masses",
    "with_masses",
]
