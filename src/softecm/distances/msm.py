"""Move-split-merge between time series."""

from __future__ import annotations

from dataclasses import dataclass

from softecm.distances.elastic import Elastic, checked
from softecm.kernels.elastic import Rule, msm


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

    def __post_init__(self) -> None:
        super().__post_init__()
        checked(self, "cost", hint="1 is usual for z-normalised series.")

    def rule(self) -> Rule:
        """Moves, splits and merges."""
        return msm(self.cost, 0.0)
