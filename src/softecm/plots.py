"""Figures of a credal partition, under the name they are known by: all of ``softecm.figures``."""

from softecm.figures import *  # noqa: F403
from softecm.figures import __all__ as __all__
