"""Time warp edit distance between time series."""

from __future__ import annotations

from dataclasses import dataclass

from softecm.distances.elastic import Elastic, checked
from softecm.kernels.elastic import Rule, twe


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

    def __post_init__(self) -> None:
        super().__post_init__()
        checked(self, "stiffness", hint="0.001 is usual.")
        checked(self, "penalty", hint="1 is usual for z-normalised series.")

    def rule(self) -> Rule:
        """Matched and deleted segments."""
        return twe(self.stiffness, self.penalty, 0.0)
