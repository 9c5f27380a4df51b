"""Move-split-merge between time series with a soft minimum, as a divergence."""

from __future__ import annotations

from dataclasses import dataclass, field

from softecm.distances.elastic import SoftElastic, checked
from softecm.kernels.elastic import Rule, msm


@dataclass(frozen=True)
class SoftMSM(SoftElastic):
    r"""Smooth move-split-merge: all ways to move, split and merge one series into another, weighed.

    With :math:`|u|_\gamma` Huber's rounded length (:math:`u^2/2\gamma` below gamma, :math:`|u| - \gamma/2` beyond), a move
    costs :math:`|x_i - y_j|_\gamma`, and a split or merge ``cost`` and :math:`\tfrac12 (|x_i - x_{i-1}|_\gamma +
    |x_i - y_j|_\gamma - |x_{i-1} - y_j|_\gamma)`, which without the rounding is how far :math:`x_i` lies outside the
    interval between its neighbours, as in `MSM`. So the one ``gamma`` smooths both the minimum over alignments and every
    corner of its costs, there is a derivative everywhere, and as gamma goes to 0 this is `MSM` itself. (Soft-MSM as its
    authors have it squares the lengths and blends the cases with a gate.)

    The raw value is negative for similar series and not zero between equal ones, hence no semi-metric; the divergence
    :math:`s(x, y) - \tfrac12 s(x, x) - \tfrac12 s(y, y)`, floored at 0, is one.

    Parameters
    ----------
    cost : float, default=1.0
        Of a split or a merge, at least 0; ``c`` in aeon.
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
    >>> x = torch.tensor([[[0.0], [1.0], [1.0], [0.0]]], dtype=torch.float64)
    >>> late = torch.tensor([[[0.0], [1.0], [0.0], [0.0]]], dtype=torch.float64)
    >>> SoftMSM(cost=0.5, gamma=0.01).pairwise(x, torch.cat([x, late])).round(decimals=2)
    tensor([[0.0000, 0.9900]], dtype=torch.float64)

    References
    ----------
    A. Stefan, V. Athitsos and G. Das, "The move-split-merge metric for time series", IEEE TKDE 25, 2013. A. Bagnall and
    C. Holder, "Soft-MSM: differentiable context-aware elastic alignment for time series", arXiv 2605.00069, 2026.
    """

    cost: float = 1.0
    gamma: float | str = field(default=0.3, kw_only=True)
    name = "softmsm"
    by_channel = True
    may_be_hard = False

    def __post_init__(self) -> None:
        super().__post_init__()
        checked(self, "cost", hint="1 is usual for z-normalised series.")

    def rule(self) -> Rule:
        """Moves, splits and merges."""
        return msm(self.cost, self.smoothing)
