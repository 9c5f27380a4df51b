"""Amerced dynamic time warping between time series."""

from __future__ import annotations

from dataclasses import dataclass

from softecm.distances.elastic import SoftElastic, checked
from softecm.kernels.elastic import Rule, adtw


@dataclass(frozen=True)
class ADTW(SoftElastic):
    r"""Dynamic time warping with a fine for every step that only one of the series takes.

    Squared differences along the best alignment, without a root, and ``penalty`` for each step of it that is not across:
    0 is DTW, a large one compares step by step. A semi-metric (no triangle inequality), also with several channels, which
    are aligned together. Hard as it is; with ``gamma`` above 0 the minimum over alignments is soft, and then the
    divergence, floored at 0, is what is taken, since the raw value is no semi-metric.

    Parameters
    ----------
    penalty : float, default=1.0
        Fine for a step off the diagonal, at least 0; ``warp_penalty`` in aeon.
    gamma : float or "auto", default=0.0
        Smoothing, in units of squared differences. 0 is the hard minimum. Small: one alignment decides.
        Large: all count. "auto": a hundredth of the mean squared difference between steps of different series.
    divergence : bool, default=True
        Where gamma is above 0: take half of each series' distance to itself off, floored at 0. False: the raw value,
        which may be negative; then the fit is refused.
    band : int, optional
        How many steps an alignment may stray from the diagonal (Sakoe-Chiba).
    derivative : bool, default=False
        Compare slopes instead of values (Keogh and Pazzani's estimate).
    znormalise : bool, default=False
        Compare every series, and every prototype, brought to mean 0 and standard deviation 1 in each channel.
    length : int, "median" or "max", default="median"
        Steps of a prototype.
    layout : {"tslearn", "aeon"}, default="tslearn"

    Examples
    --------
    >>> import torch
    >>> x = torch.tensor([[[0.0], [0.0], [1.0], [0.0]]], dtype=torch.float64)
    >>> early = torch.tensor([[[0.0], [1.0], [0.0], [0.0]]], dtype=torch.float64)
    >>> ADTW(penalty=0.1).pairwise(x, early), ADTW(penalty=5.0).pairwise(x, early)
    (tensor([[0.2000]], dtype=torch.float64), tensor([[2.]], dtype=torch.float64))

    References
    ----------
    M. Herrmann and G. I. Webb, "Amercing: an intuitive and effective constraint for dynamic time warping", Pattern
    Recognition 137, 2023.
    """

    penalty: float = 1.0
    name = "adtw"
    degree = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        checked(self, "penalty", hint="1 is usual for z-normalised series.")

    def rule(self) -> Rule:
        """Squares, and the fine."""
        return adtw(self.penalty, self.smoothing)
