"""Moved to ``softecm.distances.set_quadratic``."""

from softecm.distances.set_quadratic import SetQuadratic

__all__ = ["SetQuadratic"]
