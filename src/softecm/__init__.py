"""Evidential clustering of numbers, categories, mixed tables and time series.

Which groups are there, and which objects clearly belong to one, are ambiguous between several, or belong to none? The
answer is a :class:`CredalPartition`.

>>> from softecm import SoftECM
>>> from softecm.datasets import load_diamond
>>> model = SoftECM(n_clusters=2, random_state=0).fit(load_diamond().data)
>>> len(model.partition_)
12
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from softecm._version import __version__

# Threads that wait by spinning take cores from others: on a shared machine that costs far more than waking them up.
# Read when OpenMP is loaded; the user's setting has priority.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# Imported on demand: `import softecm` and `softecm --help` must not wait for torch and scikit-learn.
_WHERE = {
    "SoftECM": "softecm.algorithms.soft_ecm",
    "ECM": "softecm.algorithms.ecm",
    "FCM": "softecm.algorithms.fcm",
    "ECMPlus": "softecm.algorithms.ecm_plus",
    "CCM": "softecm.algorithms.ccm",
    "BCM": "softecm.algorithms.bcm",
    "CECM": "softecm.algorithms.cecm",
    "WMVEC": "softecm.algorithms.wmvec",
    "TECM": "softecm.algorithms.tecm",
    "BPEC": "softecm.algorithms.bpec",
    "EKNNClus": "softecm.algorithms.eknnclus",
    "EGMM": "softecm.algorithms.egmm",
    "NNEVCLUS": "softecm.algorithms.nnevclus",
    "RECM": "softecm.algorithms.recm",
    "ECMdd": "softecm.algorithms.ecmdd",
    "MECMdd": "softecm.algorithms.mecmdd",
    "EVCLUS": "softecm.algorithms.evclus",
    "CEVCLUS": "softecm.algorithms.cevclus",
    "CatECM": "softecm.algorithms.catecm",
    "CredalPartition": "softecm.belief",
    "FocalSets": "softecm.belief",
    "consensus": "softecm.belief",
    "calibrate": "softecm.calibration",
    "load_model": "softecm.models",
    "read_table": "softecm.readers.reading",
    "BetaWarning": "softecm._warnings",
    "CollapseWarning": "softecm._warnings",
    "DriftWarning": "softecm._warnings",
    "EmptyClusterWarning": "softecm._warnings",
    "NoGroupsWarning": "softecm._warnings",
    "NowhereWarning": "softecm._warnings",
    "NumberOfGroupsWarning": "softecm._warnings",
    "ReadingWarning": "softecm._warnings",
    "UnseenCategoryWarning": "softecm._warnings",
    "ViewWarning": "softecm._warnings",
    "GradientDescent": "softecm.optim",
    "choose_n_clusters": "softecm.selection.n_clusters",
    "soft_dtw": "softecm.distances.functions",
}
_MODULES = (
    "barycenters",
    "baselines",
    "belief",
    "calibration",
    "constraints",
    "datasets",
    "distances",
    "distributed",
    "explain",
    "losses",
    "plots",
    "report",
    "scores",
    "selection",
    "series",
    "testing",
)

__all__ = ["__version__", *_WHERE, *_MODULES]

if TYPE_CHECKING:
    from softecm import barycenters as barycenters
    from softecm import baselines as baselines
    from softecm import belief as belief
    from softecm import calibration as calibration
    from softecm import constraints as constraints
    from softecm import datasets as datasets
    from softecm import distances as distances
    from softecm import distributed as distributed
    from softecm import explain as explain
    from softecm import losses as losses
    from softecm import plots as plots
    from softecm import report as report
    from softecm import scores as scores
    from softecm import selection as selection
    from softecm import series as series
    from softecm import testing as testing
    from softecm._warnings import BetaWarning as BetaWarning
    from softecm._warnings import CollapseWarning as CollapseWarning
    from softecm._warnings import DriftWarning as DriftWarning
    from softecm._warnings import EmptyClusterWarning as EmptyClusterWarning
    from softecm._warnings import NoGroupsWarning as NoGroupsWarning
    from softecm._warnings import NowhereWarning as NowhereWarning
    from softecm._warnings import NumberOfGroupsWarning as NumberOfGroupsWarning
    from softecm._warnings import ReadingWarning as ReadingWarning
    from softecm._warnings import UnseenCategoryWarning as UnseenCategoryWarning
    from softecm._warnings import ViewWarning as ViewWarning
    from softecm.algorithms.bcm import BCM as BCM
    from softecm.algorithms.bpec import BPEC as BPEC
    from softecm.algorithms.catecm import CatECM as CatECM
    from softecm.algorithms.ccm import CCM as CCM
    from softecm.algorithms.cecm import CECM as CECM
    from softecm.algorithms.cevclus import CEVCLUS as CEVCLUS
    from softecm.algorithms.ecm import ECM as ECM
    from softecm.algorithms.ecm_plus import ECMPlus as ECMPlus
    from softecm.algorithms.ecmdd import ECMdd as ECMdd
    from softecm.algorithms.egmm import EGMM as EGMM
    from softecm.algorithms.eknnclus import EKNNClus as EKNNClus
    from softecm.algorithms.evclus import EVCLUS as EVCLUS
    from softecm.algorithms.fcm import FCM as FCM
    from softecm.algorithms.mecmdd import MECMdd as MECMdd
    from softecm.algorithms.nnevclus import NNEVCLUS as NNEVCLUS
    from softecm.algorithms.recm import RECM as RECM
    from softecm.algorithms.soft_ecm import SoftECM as SoftECM
    from softecm.algorithms.tecm import TECM as TECM
    from softecm.algorithms.wmvec import WMVEC as WMVEC
    from softecm.belief import CredalPartition as CredalPartition
    from softecm.belief import FocalSets as FocalSets
    from softecm.belief import consensus as consensus
    from softecm.calibration import calibrate as calibrate
    from softecm.distances.functions import soft_dtw as soft_dtw
    from softecm.models import load_model as load_model
    from softecm.optim import GradientDescent as GradientDescent
    from softecm.readers.reading import read_table as read_table
    from softecm.selection.n_clusters import choose_n_clusters as choose_n_clusters


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    if name in _MODULES:
        return import_module(f"softecm.{name}")
    from softecm._text import meant

    raise AttributeError(f"module 'softecm' has no attribute {name!r}.{meant(name, __all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
