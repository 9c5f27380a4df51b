"""Data sets: small ones embedded, made ones, and public ones read through their loaders or from a folder."""

from softecm.datasets.series import (
    load_atrial_fibrillation,
    load_basic_motions,
    load_ering,
    load_series,
    make_bell_funnel_mixture,
    make_cbf,
)
from softecm.datasets.tables import (
    load_abalone,
    load_breast_cancer,
    load_cleveland,
    load_cmc,
    load_credit,
    load_ecoli,
    load_glass,
    load_heart,
    load_hepatitis,
    load_lung,
    load_soybean,
)
from softecm.datasets.toy import load_diamond, make_bananas, make_blobs, make_mixed_blobs

__all__ = [
    "load_abalone",
    "load_atrial_fibrillation",
    "load_basic_motions",
    "load_breast_cancer",
    "load_cleveland",
    "load_cmc",
    "load_credit",
    "load_diamond",
    "load_ecoli",
    "load_ering",
    "load_glass",
    "load_heart",
    "load_hepatitis",
    "load_lung",
    "load_series",
    "load_soybean",
    "make_bananas",
    "make_bell_funnel_mixture",
    "make_blobs",
    "make_cbf",
    "make_mixed_blobs",
]
