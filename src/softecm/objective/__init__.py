"""The objective: its equations, passes over the objects that evaluate it, and the problems that solvers see."""

from softecm.objective.equations import (
    KEPT_CELLS,
    POWER_MASSES,
    MassCost,
    MassRule,
    PowerMasses,
    Previous,
    Shares,
    evaluate,
    evaluate_in_blocks,
    inertia,
    mass_cost,
    masses_of,
    set_members,
    share,
    update_masses,
    with_masses,
)

__all__ = [
    "KEPT_CELLS",
    "POWER_MASSES",
    "MassCost",
    "MassRule",
    "PowerMasses",
    "Previous",
    "Shares",
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
