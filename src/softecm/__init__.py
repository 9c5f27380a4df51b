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

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from softecm._version import __version__

# Threads that wait by spinning take the cores from whoever has work: on a shared machine that costs far more than waking
# them up. Read when OpenMP is loaded; whoever sets it decides.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# Loaded when first used: `import softecm` and `softecm --help` must not wait for torch and scikit-learn.
_WHERE = {
    "SoftECM": "softecm.algorithms.soft_ecm",
    "ECM": "softecm.algorithms.ecm",
    "BCM": "softecm.algorithms.bcm",
    "CCM": "softecm.algorithms.ccm",
    "CECM": "softecm.algorithms.cecm",
    "ECMPlus": "softecm.algorithms.ecm_plus",
    "FCM": "softecm.algorithms.fcm",
    "RECM": "softecm.algorithms.recm",
    "ECMdd": "softecm.algorithms.ecmdd",
    "MECMdd": "softecm.algorithms.mecmdd",
    "CatECM": "softecm.algorithms.catecm",
    "EVCLUS": "softecm.algorithms.evclus",
    "CEVCLUS": "softecm.algorithms.cevclus",
    "BPEC": "softecm.algorithms.bpec",
    "EKNNClus": "softecm.algorithms.eknnclus",
    "EGMM": "softecm.algorithms.egmm",
    "TECM": "softecm.algorithms.tecm",
    "WMVEC": "softecm.algorithms.wmvec",
    "NNEVCLUS": "softecm.algorithms.nnevclus",
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

__all__ = [
    "BCM",
    "BPEC",
    "CCM",
    "CECM",
    "CEVCLUS",
    "ECM",
    "EGMM",
    "EVCLUS",
    "FCM",
    "NNEVCLUS",
    "RECM",
    "TECM",
    "WMVEC",
    "BetaWarning",
    "CatECM",
    "CollapseWarning",
    "CredalPartition",
    "DriftWarning",
    "ECMPlus",
    "ECMdd",
    "EKNNClus",
    "EmptyClusterWarning",
    "FocalSets",
    "GradientDescent",
    "MECMdd",
    "NoGroupsWarning",
    "NowhereWarning",
    "NumberOfGroupsWarning",
    "ReadingWarning",
    "SoftECM",
    "UnseenCategoryWarning",
    "ViewWarning",
    "__version__",
    "barycenters",
    "baselines",
    "belief",
    "calibrate",
    "calibration",
    "choose_n_clusters",
    "consensus",
    "constraints",
    "datasets",
    "distances",
    "distributed",
    "explain",
    "load_model",
    "losses",
    "plots",
    "read_table",
    "report",
    "scores",
    "selection",
    "series",
    "soft_dtw",
    "testing",
]

if TYPE_CHECKING:
    from softecm import (
        barycenters,
        baselines,
        belief,
        calibration,
        constraints,
        datasets,
        distances,
        distributed,
        explain,
        losses,
        plots,
        report,
        scores,
        selection,
        series,
        testing,
    )
    from softecm._warnings import (
        BetaWarning,
        CollapseWarning,
        DriftWarning,
        EmptyClusterWarning,
        NoGroupsWarning,
        NowhereWarning,
        NumberOfGroupsWarning,
        ReadingWarning,
        UnseenCategoryWarning,
        ViewWarning,
    )
    from softecm.algorithms.bcm import BCM
    from softecm.algorithms.bpec import BPEC
    from softecm.algorithms.catecm import CatECM
    from softecm.algorithms.ccm import CCM
    from softecm.algorithms.cecm import CECM
    from softecm.algorithms.cevclus import CEVCLUS
    from softecm.algorithms.ecm import ECM
    from softecm.algorithms.ecm_plus import ECMPlus
    from softecm.algorithms.ecmdd import ECMdd
    from softecm.algorithms.egmm import EGMM
    from softecm.algorithms.eknnclus import EKNNClus
    from softecm.algorithms.evclus import EVCLUS
    from softecm.algorithms.fcm import FCM
    from softecm.algorithms.mecmdd import MECMdd
    from softecm.algorithms.nnevclus import NNEVCLUS
    from softecm.algorithms.recm import RECM
    from softecm.algorithms.soft_ecm import SoftECM
    from softecm.algorithms.tecm import TECM
    from softecm.algorithms.wmvec import WMVEC
    from softecm.belief import CredalPartition, FocalSets, consensus
    from softecm.calibration import calibrate
    from softecm.distances.functions import soft_dtw
    from softecm.models import load_model
    from softecm.optim import GradientDescent
    from softecm.readers.reading import read_table
    from softecm.selection.n_clusters import choose_n_clusters


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    if name in _MODULES:
        return import_module(f"softecm.{name}")
    from softecm._text import meant

    raise AttributeError(f"module 'softecm' has no attribute {name!r}.{meant(name, __all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
