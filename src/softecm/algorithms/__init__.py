"""Clustering algorithms: one a file."""

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
    "CatECM",
    "ECMPlus",
    "ECMdd",
    "EKNNClus",
    "MECMdd",
    "SoftECM",
]
