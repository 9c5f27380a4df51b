"""Raw data on one side, tensors on the other."""

from softecm.spaces.base import Encoded, Space
from softecm.spaces.real import RealVectors

__all__ = ["Encoded", "RealVectors", "Space"]
