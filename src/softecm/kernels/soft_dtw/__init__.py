r"""Soft-DTW and DTW between series, as torch functions: values, gradients, alignments.

.. math:: \mathrm{sdtw}_\gamma(x, y) = -\gamma \log \sum_{\pi} e^{-\sum_{(s,t) \in \pi} \|x_s - y_t\|^2 / \gamma}

over all alignments :math:`\pi` (monotone paths of single steps from corner to corner); the limit for :math:`\gamma \to
0` is DTW, the minimum cost, here a sum of squares without a root. It is symmetric, may be negative, and is not zero
between equal series.

Series are (n, L, d), steps before channels; with lengths, steps beyond are padding and never read. Compiled C runs on a
CPU, CUDA kernels on a GPU, in float32 or float64. Gradients recompute the alignment, so that memory does not grow with
the number of pairs.
"""

from softecm.kernels.series_checks import Pairs, Rows, check, check_band
from softecm.kernels.soft_dtw.api import (
    alignment,
    dtw,
    dtw_sums,
    soft_dtw,
    soft_dtw_each,
    soft_dtw_paired,
    soft_dtw_self,
    soft_dtw_sums,
)

__all__ = [
    "Pairs",
    "Rows",
    "alignment",
    "check",
    "check_band",
    "dtw",
    "dtw_sums",
    "soft_dtw",
    "soft_dtw_each",
    "soft_dtw_paired",
    "soft_dtw_self",
    "soft_dtw_sums",
]
