"""Moved to ``softecm.objective.relaxations``."""

from softecm.objective.relaxations import (
    ConstraintCost,
    Exact,
    Gap,
    Penalty,
    Relaxation,
    has_barycenters,
    set_barycenters,
)

__all__ = ["ConstraintCost", "Exact", "Gap", "Penalty", "Relaxation", "has_barycenters", "set_barycenters"]
