"""Time warp edit distance between time series with a soft minimum, as a divergence."""

from __future__ import annotations

from dataclasses import dataclass, field

from softecm.distances.elastic import SoftElastic, checked
from softecm.kernels.elastic import Rule, twe


@dataclass(frozen=True)
class SoftTWE(SoftElastic):
    r"""Smooth time warp edit distance: all ways to match and delete segments of two series, weighed.

    As `TWE`, with a soft minimum over alignments, and with lengths rounded off at zero (Huber's: :math:`u^2/2\gamma` below
    gamma, :math:`u - \gamma/2` beyond), so that there is a derivative everywhere; as gamma goes to 0 this is `TWE`. The
    raw value is negative for similar series and not zero between equal ones, hence no semi-metric; the divergence
    :math:`s(x, y) - \tfrac12 s(x, x) - \tfrac12 s(y, y)`, floored at 0, is one.

    Parameters
    ----------
    stiffness : float, default=0.001
        Price of matching a step of time apart, at least 0; ``nu`` in aeon. 0: time is free; large: step by step.
    penalty : float, default=1.0
        Of a deletion, at least 0; ``lmbda`` in aeon.
    gamma : float or "auto", default=0.3
        Smoothing, in units of values (not of their squares). Small: one alignment decides.
        Large: all count. "auto": a tenth of the root mean squared difference between steps of different series.
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
    >>> x = torch.tensor([[[1.0], [2.0], [3.0]]], dtype=torch.float64)
    >>> SoftTWE(gamma=0.01).pairwise(x, x + 3).round(decimals=2)
    tensor([[10.9600]], dtype=torch.float64)

    References
    ----------
    P.-F. Marteau, "Time warp edit distance with stiffness adjustment for time series matching", IEEE TPAMI 31, 2009.
    """

    stiffness: float = 0.001
    penalty: float = 1.0
    gamma: float | str = field(default=0.3, kw_only=True)
    name = "softtwe"
    may_be_hard = False

    def __post_init__(self) -> None:
        super().__post_init__()
        checked(self, "stiffness", hint="0.001 is usual.")
        checked(self, "penalty", hint="1 is usual for z-normalised series.")

    def rule(self) -> Rule:
        """Matched and deleted segments."""
        return twe(self.stiffness, self.penalty, self.smoothing)
