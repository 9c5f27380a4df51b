"""Clustering algorithms: one a file."""

from softecm.algorithms.ecm import ECM
from softecm.algorithms.soft_ecm import SoftECM

__all__ = ["ECM", "SoftECM"]
