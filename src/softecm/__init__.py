"""Evidential clustering of numbers, categories, mixed tables and time series.

Which groups are there, which objects clearly belong to one, which lie between which, and which to none? The answer is a
:class:`CredalPartition`.

>>> from softecm import SoftECM
>>> from softecm.datasets import load_diamond
>>> model = SoftECM(n_clusters=2, random_state=0).fit(load_diamond().data)
>>> len(model.partition_)
12
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from softecm._version import __version__

# Loaded when first used: `import softecm` and `softecm --help` must not wait for torch and scikit-learn.
_WHERE = {
    "SoftECM": "softecm.algorithms.soft_ecm",
    "ECM": "softecm.algorithms.ecm",
    "CredalPartition": "softecm.belief",
    "FocalSets": "softecm.belief",
    "load_model": "softecm.models",
    "CollapseWarning": "softecm._warnings",
    "EmptyClusterWarning": "softecm._warnings",
    "GradientDescent": "softecm.optim",
}
_MODULES = ("belief", "datasets", "distances", "plots", "scores", "testing")

__all__ = [
    "ECM",
    "CollapseWarning",
    "CredalPartition",
    "EmptyClusterWarning",
    "FocalSets",
    "GradientDescent",
    "SoftECM",
    "__version__",
    "belief",
    "datasets",
    "distances",
    "load_model",
    "plots",
    "scores",
    "testing",
]

if TYPE_CHECKING:
    from softecm import belief, datasets, distances, plots, scores, testing
    from softecm._warnings import CollapseWarning, EmptyClusterWarning
    from softecm.algorithms.ecm import ECM
    from softecm.algorithms.soft_ecm import SoftECM
    from softecm.belief import CredalPartition, FocalSets
    from softecm.models import load_model
    from softecm.optim import GradientDescent


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    if name in _MODULES:
        return import_module(f"softecm.{name}")
    raise AttributeError(f"module 'softecm' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
