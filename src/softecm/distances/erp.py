"""Edit distance with real penalty between time series."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn.functional import pad

from softecm._checks import check_number
from softecm.distances.elastic import SoftElastic
from softecm.kernels.elastic import Rule, erp


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

    @property
    def front(self) -> int:
        """The step of zeros."""
        return 1
