"""Elastic distances between time series: one engine, other costs of a step."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor
from torch.nn.functional import pad

from softecm._checks import check_number
from softecm.distances.elastic import Elastic, SoftElastic
from softecm.kernels.elastic import Rule, adtw, erp, msm, twe, wdtw


@dataclass(frozen=True)
class MSM(Elastic):
    r"""Least cost of turning one series into another by moving, splitting and merging values.

    Moving a value costs how far; splitting one in two, or merging two, costs ``cost`` and how far the new value lies
    outside the interval between its two neighbours. A true metric, so a semi-metric as it is. One alignment decides: the
    derivative is that along a best one, and lengths bend at zero, so that descent is by subgradients; `SoftMSM` is the
    smooth one. Each channel is aligned for itself and the costs are added (aeon's ``independent=True``; its dependent
    variant jumps, and so has no derivative).

    Parameters
    ----------
    cost : float, default=1.0
        Of a split or a merge, at least 0; ``c`` in aeon. Large: as if step by step.
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
    numbers = (("cost", "1 is usual for z-normalised series."),)

    def rule(self) -> Rule:
        """Moves, splits and merges."""
        return msm(self.cost, self.smoothing)


@dataclass(frozen=True)
class TWE(Elastic):
    r"""Least cost of turning one series into another by matching and deleting the segments between its steps.

    Matching two segments costs the distances of both their ends and ``stiffness`` for each step of time between them;
    deleting one its length, ``stiffness`` and ``penalty``. A true metric where stiffness is above 0, a semi-metric in any
    case. One alignment decides: the derivative is that along a best one, and lengths bend at zero, so that descent is by
    subgradients; `SoftTWE` is the smooth one. Channels are aligned together, lengths are Euclidean (as in aeon, whose
    zeros in front of the series never count).

    Parameters
    ----------
    stiffness : float, default=0.001
        Price of matching a step of time apart, at least 0; ``nu`` in aeon. 0: time is free; large: step by step.
    penalty : float, default=1.0
        Of a deletion, at least 0; ``lmbda`` in aeon.
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
    numbers = (("stiffness", "0.001 is usual."), ("penalty", "1 is usual for z-normalised series."))

    def rule(self) -> Rule:
        """Matched and deleted segments."""
        return twe(self.stiffness, self.penalty, self.smoothing)


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
    numbers = (("penalty", "1 is usual for z-normalised series."),)

    def rule(self) -> Rule:
        """Squares, and the fine."""
        return adtw(self.penalty, self.smoothing)


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
    numbers = (("steepness", "0.05 is usual; 0.01 to 0.6 are tried in the article."),)

    def rule(self) -> Rule:
        """Weighted squares."""
        return wdtw(self.steepness, self.smoothing)


@dataclass(frozen=True)
class ERP(SoftElastic):
    r"""Least cost of matching the steps of two series, where a step left out costs its difference to a fixed value.

    Matching costs the (Euclidean) length of the difference; leaving a step out, anywhere, also before the first match,
    :math:`\|x_i - g\|` with g the ``reference``. A true metric, so a semi-metric as it is. (aeon charges a gap before the
    first match with all steps of the series instead of those left out; elsewhere the two agree.) Hard as it is, with
    derivatives along one best alignment; with ``gamma`` above 0 the minimum over alignments is soft, lengths are rounded
    off at zero (Huber's), and then the divergence, floored at 0, is what is taken, since the raw value is no semi-metric.

    Parameters
    ----------
    reference : float, default=0.0
        The value a step left out is compared with, in every channel; ``g`` in aeon.
    gamma : float or "auto", default=0.0
        Smoothing, in units of values (not of their squares). 0 is the hard minimum. Small: one alignment decides.
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
        """Matches, and steps left out."""
        return erp(self.smoothing)

    def laid_out(self, values: Tensor) -> Tensor:
        """Less the reference, and with a step of zeros in front: what may be left out before the first match."""
        return pad(values - self.reference, (0, 0, 1, 0))
