"""Data sets: small embedded ones, generated ones, and public ones read through loaders or from a folder."""

from softecm.datasets.series import load_atrial_fibrillation as load_atrial_fibrillation
from softecm.datasets.series import load_basic_motions as load_basic_motions
from softecm.datasets.series import load_ering as load_ering
from softecm.datasets.series import load_series as load_series
from softecm.datasets.series import make_bell_funnel_mixture as make_bell_funnel_mixture
from softecm.datasets.series import make_cbf as make_cbf
from softecm.datasets.tables import load_abalone as load_abalone
from softecm.datasets.tables import load_breast_cancer as load_breast_cancer
from softecm.datasets.tables import load_cleveland as load_cleveland
from softecm.datasets.tables import load_cmc as load_cmc
from softecm.datasets.tables import load_credit as load_credit
from softecm.datasets.tables import load_ecoli as load_ecoli
from softecm.datasets.tables import load_glass as load_glass
from softecm.datasets.tables import load_heart as load_heart
from softecm.datasets.tables import load_hepatitis as load_hepatitis
from softecm.datasets.tables import load_lung as load_lung
from softecm.datasets.tables import load_soybean as load_soybean
from softecm.datasets.toy import load_diamond as load_diamond
from softecm.datasets.toy import make_bananas as make_bananas
from softecm.datasets.toy import make_blobs as make_blobs
from softecm.datasets.toy import make_mixed_blobs as make_mixed_blobs
