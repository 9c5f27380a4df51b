"""Weighted dynamic time warping between time series."""

from __future__ import annotations

from dataclasses import dataclass

from softecm.distances.elastic import SoftElastic, checked
from softecm.kernels.elastic import Rule, wdtw


@dataclass(frozen=True)
class WDTW(SoftElastic):
    r"""Dynamic time warping in which steps far apart in time count more.

    Squared differences along the best alignment, each times :math:`1 / (1 + e^{-g (|i - j| - L/2)})`, where L is the longer
    of the two lengths and g the ``steepness``. A semi-metric (no triangle inequality), also with several channels, which
    are aligned together. Hard as it is; with ``gamma`` above 0 the minimum over alignments is soft, and then the
    divergence, floored at 0, is what is taken, since the raw value is no semi-metric.

    Parameters
    ----------
    steepness : float, default=0.05
        How fast weights grow with the distance from the diagonal, at least 0; ``g`` in aeon. 0: half of DTW; large: next to
        nothing within half the length, all beyond.
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
    >>> x = torch.tensor([[[0.0], [1.0], [2.0]]], dtype=torch.float64)
    >>> WDTW(steepness=0.0).pairwise(x, x + 1)
    tensor([[1.]], dtype=torch.float64)

    References
    ----------
    Y.-S. Jeong, M. K. Jeong and O. A. Omitaomu, "Weighted dynamic time warping for time series classification", Pattern
    Recognition 44, 2011.
    """

    steepness: float = 0.05
    name = "wdtw"
    degree = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        checked(self, "steepness", hint="0.05 is usual; 0.01 to 0.6 are tried in the article.")

    def rule(self) -> Rule:
        """Weighted squares."""
        return wdtw(self.steepness, self.smoothing)
