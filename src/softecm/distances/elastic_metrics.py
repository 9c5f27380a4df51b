"""Elastic distances between time series: one engine with different costs of a step."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

from softecm._checks import check_number
from softecm.distances.elastic import Elastic, SoftElastic
from softecm.kernels.elastic import Rule, adtw, erp, msm, twe, wdtw


@dataclass(frozen=True)
class MSM(Elastic):
    r"""Minimum cost of transforming one series into another by moving, splitting and merging values.

    Moving a value costs the distance; splitting one in two, or merging two, costs ``cost`` plus the distance of the new
    value from the interval between its two neighbours. A true metric, hence a semi-metric. The minimum is hard: the
    derivative is that along a best alignment, and lengths have a kink at zero, so that descent uses subgradients;
    `SoftMSM` is smooth. Each channel is aligned by itself and the costs are added (aeon's ``independent=True``; its
    dependent variant is discontinuous, and so has no derivative).

    Parameters
    ----------
    cost : float, default=1.0
        Cost of a split or a merge, at least 0; ``c`` in aeon. Large: almost step by step.
    band : int, optional
        Maximum distance of an alignment from the diagonal (Sakoe-Chiba).
    derivative : bool, default=False
        Compare slopes instead of values (Keogh and Pazzani's estimate).
    znormalise : bool, default=False
        Z-normalize every series and prototype in each channel before comparing.
    length : int, "median" or "max", default="median"
        Length of a prototype.
    layout : {"tslearn", "aeon"}, default="tslearn"

    Examples
    --------
    >>> import torch
    >>> x = torch.tensor([[[0.0], [1.0], [1.0], [0.0]]], dtype=torch.float64)
    >>> MSM(cost=0.5).pairwise(x, torch.tensor([[[0.0], [1.0], [0.0], [0.0]]], dtype=torch.float64))
    tensor([[1.]], dtype=torch.float64)

    References
    ----------
    A. Stefan, V. Athitsos and G. Das, "The move-split-merge metric for time series", IEEE TKDE 25, 2013.
    """

    cost: float = 1.0
    name = "msm"
    by_channel = True
    numbers = (("cost", "1 is usual for z-normalised series."),)

    def rule(self) -> Rule:
        """Moves, splits and merges."""
        return msm(self.cost, 0.0)


@dataclass(frozen=True)
class SoftMSM(SoftElastic):
    r"""Smooth move-split-merge: a weighted sum over all ways to move, split and merge one series into another.

    With :math:`|u|_\gamma` Huber's smoothed length (:math:`u^2/2\gamma` below gamma, :math:`|u| - \gamma/2` beyond), a
    move costs :math:`|x_i - y_j|_\gamma`, and a split or merge ``cost`` and :math:`\tfrac12 (|x_i - x_{i-1}|_\gamma +
    |x_i - y_j|_\gamma - |x_{i-1} - y_j|_\gamma)`, which without smoothing is the distance of :math:`x_i` from the
    interval between its neighbours, as in `MSM`. So one ``gamma`` smooths the minimum over alignments and every kink of
    its costs, there is a derivative everywhere, and the limit for gamma to 0 is `MSM`. (The authors' Soft-MSM squares
    the lengths and blends the cases with a gate.)

    The raw value is negative for similar series and not zero between equal ones, hence no semi-metric; the divergence
    :math:`s(x, y) - \tfrac12 s(x, x) - \tfrac12 s(y, y)`, floored at 0, is one.

    Parameters
    ----------
    cost : float, default=1.0
        Cost of a split or a merge, at least 0; ``c`` in aeon.
    gamma : float or "auto", default=0.3
        Smoothing, in units of values (not of their squares). Small: one alignment dominates. Large: all count. "auto":
        a tenth of the root mean squared difference between steps of different series.
    divergence : bool, default=True
        If gamma is above 0: subtract half of each series' distance to itself, floored at 0. False: the raw value,
        which may be negative; then the fit raises an error.
    band : int, optional
        Maximum distance of an alignment from the diagonal (Sakoe-Chiba).
    derivative : bool, default=False
        Compare slopes instead of values (Keogh and Pazzani's estimate).
    znormalise : bool, default=False
        Z-normalize every series and prototype in each channel before comparing.
    length : int, "median" or "max", default="median"
        Length of a prototype.
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
    numbers = (("cost", "1 is usual for z-normalised series."),)

    def rule(self) -> Rule:
        """Moves, splits and merges."""
        return msm(self.cost, self.smoothing)


@dataclass(frozen=True)
class TWE(Elastic):
    r"""Minimum cost of transforming one series into another by matching and deleting the segments between its steps.

    Matching two segments costs the distances of both their ends and ``stiffness`` for each step of time between them;
    deleting one costs its length, ``stiffness`` and ``penalty``. A true metric for stiffness above 0, always a
    semi-metric. The minimum is hard: the derivative is that along a best alignment, and lengths have a kink at zero, so
    that descent uses subgradients; `SoftTWE` is smooth. Channels are aligned together, lengths are Euclidean (as in
    aeon, whose zeros before the series never count).

    Parameters
    ----------
    stiffness : float, default=0.001
        Cost per step of time between matches, at least 0; ``nu`` in aeon. 0: time is free; large: step by step.
    penalty : float, default=1.0
        Cost of a deletion, at least 0; ``lmbda`` in aeon.
    band : int, optional
        Maximum distance of an alignment from the diagonal (Sakoe-Chiba).
    derivative : bool, default=False
        Compare slopes instead of values (Keogh and Pazzani's estimate).
    znormalise : bool, default=False
        Z-normalize every series and prototype in each channel before comparing.
    length : int, "median" or "max", default="median"
        Length of a prototype.
    layout : {"tslearn", "aeon"}, default="tslearn"

    Examples
    --------
    >>> import torch
    >>> x = torch.tensor([[[1.0], [2.0], [3.0]]], dtype=torch.float64)
    >>> TWE().pairwise(x, x + 3)
    tensor([[11.0040]], dtype=torch.float64)

    References
    ----------
    P.-F. Marteau, "Time warp edit distance with stiffness adjustment for time series matching", IEEE TPAMI 31, 2009.
    """

    stiffness: float = 0.001
    penalty: float = 1.0
    name = "twe"
    numbers = (("stiffness", "0.001 is usual."), ("penalty", "1 is usual for z-normalised series."))

    def rule(self) -> Rule:
        """Matched and deleted segments."""
        return twe(self.stiffness, self.penalty, 0.0)


@dataclass(frozen=True)
class SoftTWE(SoftElastic):
    r"""Smooth time warp edit distance: a weighted sum over all ways to match and delete segments of two series.

    Like `TWE`, with a soft minimum over alignments, and with lengths smoothed at zero (Huber's: :math:`u^2/2\gamma`
    below gamma, :math:`u - \gamma/2` beyond), so that there is a derivative everywhere; the limit for gamma to 0 is
    `TWE`. The raw value is negative for similar series and not zero between equal ones, hence no semi-metric; the
    divergence :math:`s(x, y) - \tfrac12 s(x, x) - \tfrac12 s(y, y)`, floored at 0, is one.

    Parameters
    ----------
    stiffness : float, default=0.001
        Cost per step of time between matches, at least 0; ``nu`` in aeon. 0: time is free; large: step by step.
    penalty : float, default=1.0
        Cost of a deletion, at least 0; ``lmbda`` in aeon.
    gamma : float or "auto", default=0.3
        Smoothing, in units of values (not of their squares). Small: one alignment dominates. Large: all count. "auto":
        a tenth of the root mean squared difference between steps of different series.
    divergence : bool, default=True
        If gamma is above 0: subtract half of each series' distance to itself, floored at 0. False: the raw value,
        which may be negative; then the fit raises an error.
    band : int, optional
        Maximum distance of an alignment from the diagonal (Sakoe-Chiba).
    derivative : bool, default=False
        Compare slopes instead of values (Keogh and Pazzani's estimate).
    znormalise : bool, default=False
        Z-normalize every series and prototype in each channel before comparing.
    length : int, "median" or "max", default="median"
        Length of a prototype.
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
    numbers = (("stiffness", "0.001 is usual."), ("penalty", "1 is usual for z-normalised series."))

    def rule(self) -> Rule:
        """Matched and deleted segments."""
        return twe(self.stiffness, self.penalty, self.smoothing)


@dataclass(frozen=True)
class ADTW(SoftElastic):
    r"""Dynamic time warping with a penalty for every step that only one of the series takes.

    Squared differences along the best alignment, without a root, and ``penalty`` for each of its steps off the
    diagonal: 0 is DTW, a large penalty compares step by step. A semi-metric (no triangle inequality), also with several
    channels, which are aligned together. Hard by default; with ``gamma`` above 0 the minimum over alignments is soft,
    and the distance is the divergence, floored at 0, since the raw value is no semi-metric.

    Parameters
    ----------
    penalty : float, default=1.0
        Penalty of a step off the diagonal, at least 0; ``warp_penalty`` in aeon.
    gamma : float or "auto", default=0.0
        Smoothing, in units of squared differences. 0 is the hard minimum. Small: one alignment dominates. Large: all
        count. "auto": a hundredth of the mean squared difference between steps of different series.
    divergence : bool, default=True
        If gamma is above 0: subtract half of each series' distance to itself, floored at 0. False: the raw value,
        which may be negative; then the fit raises an error.
    band : int, optional
        Maximum distance of an alignment from the diagonal (Sakoe-Chiba).
    derivative : bool, default=False
        Compare slopes instead of values (Keogh and Pazzani's estimate).
    znormalise : bool, default=False
        Z-normalize every series and prototype in each channel before comparing.
    length : int, "median" or "max", default="median"
        Length of a prototype.
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
    numbers = (("penalty", "1 is usual for z-normalised series."),)

    def rule(self) -> Rule:
        """Squares and the penalty."""
        return adtw(self.penalty, self.smoothing)


@dataclass(frozen=True)
class WDTW(SoftElastic):
    r"""Dynamic time warping with larger weights for steps far apart in time.

    Squared differences along the best alignment, each times :math:`1 / (1 + e^{-g (|i - j| - L/2)})`, where L is the
    longer of the two lengths and g the ``steepness``. A semi-metric (no triangle inequality), also with several
    channels, which are aligned together. Hard by default; with ``gamma`` above 0 the minimum over alignments is soft,
    and the distance is the divergence, floored at 0, since the raw value is no semi-metric.

    Parameters
    ----------
    steepness : float, default=0.05
        How fast weights grow with the distance from the diagonal, at least 0; ``g`` in aeon. 0: half of DTW; large:
        almost no weight within half the length, full weight beyond.
    gamma : float or "auto", default=0.0
        Smoothing, in units of squared differences. 0 is the hard minimum. Small: one alignment dominates. Large: all
        count. "auto": a hundredth of the mean squared difference between steps of different series.
    divergence : bool, default=True
        If gamma is above 0: subtract half of each series' distance to itself, floored at 0. False: the raw value,
        which may be negative; then the fit raises an error.
    band : int, optional
        Maximum distance of an alignment from the diagonal (Sakoe-Chiba).
    derivative : bool, default=False
        Compare slopes instead of values (Keogh and Pazzani's estimate).
    znormalise : bool, default=False
        Z-normalize every series and prototype in each channel before comparing.
    length : int, "median" or "max", default="median"
        Length of a prototype.
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
    numbers = (("steepness", "0.05 is usual; 0.01 to 0.6 are tried in the article."),)

    def rule(self) -> Rule:
        """Weighted squares."""
        return wdtw(self.steepness, self.smoothing)


@dataclass(frozen=True)
class ERP(SoftElastic):
    r"""Minimum cost of matching the steps of two series; a skipped step costs its difference to a fixed value.

    Matching costs the (Euclidean) length of the difference; skipping a step, anywhere, also before the first match,
    :math:`\|x_i - g\|` with g the ``reference``. A true metric, hence a semi-metric. (aeon charges a gap before the
    first match with all steps of the series instead of those skipped; elsewhere the two agree.) Hard by default, with
    derivatives along one best alignment; with ``gamma`` above 0 the minimum over alignments is soft, lengths are
    smoothed at zero (Huber's), and the distance is the divergence, floored at 0, since the raw value is no semi-metric.

    Parameters
    ----------
    reference : float, default=0.0
        The value with which a skipped step is compared, in every channel; ``g`` in aeon.
    gamma : float or "auto", default=0.0
        Smoothing, in units of values (not of their squares). 0 is the hard minimum. Small: one alignment dominates.
        Large: all count. "auto": a tenth of the root mean squared difference between steps of different series.
    divergence : bool, default=True
        If gamma is above 0: subtract half of each series' distance to itself, floored at 0. False: the raw value,
        which may be negative; then the fit raises an error.
    band : int, optional
        Maximum distance of an alignment from the diagonal (Sakoe-Chiba).
    derivative : bool, default=False
        Compare slopes instead of values (Keogh and Pazzani's estimate).
    znormalise : bool, default=False
        Z-normalize every series and prototype in each channel before comparing.
    length : int, "median" or "max", default="median"
        Length of a prototype.
    layout : {"tslearn", "aeon"}, default="tslearn"

    Examples
    --------
    >>> import torch
    >>> x = torch.tensor([[[3.0], [1.0], [2.0]]], dtype=torch.float64)
    >>> ERP().pairwise(x, torch.tensor([[[1.0], [2.0]]], dtype=torch.float64))  # the 3 is left out
    tensor([[3.]], dtype=torch.float64)

    References
    ----------
    L. Chen and R. Ng, "On the marriage of Lp-norms and edit distance", VLDB 2004.
    """

    reference: float = 0.0
    name = "erp"
    front = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        value = check_number("reference", self.reference, hint="0, the mean, is usual for z-normalised series.")
        object.__setattr__(self, "reference", value)

    def rule(self) -> Rule:
        """Matches and skipped steps."""
        return erp(self.smoothing)

    def laid_out(self, values: Tensor) -> Tensor:
        """Subtract the reference."""
        return super().laid_out(values - self.reference)
