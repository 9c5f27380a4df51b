"""Distances between series as losses for torch: one number for each pair of rows of two batches.

Each is a ``torch.nn.Module`` that maps two batches (B, N, D) and (B, M, D), on a CPU or a GPU, to (B,), with gradients
in both. **First derivatives only**: differentiating a gradient made with ``create_graph=True`` raises an error.
`SoftDTW` and `SoftDTWLossPyTorch` have the interface of the classes of these names elsewhere, so that only the import
changes.
"""

from __future__ import annotations

import torch
from torch import Tensor

from softecm._checks import check_flag, check_number
from softecm.distances.auto import resolve_metric
from softecm.distances.base import SemiMetric
from softecm.distances.functions import check_lengths, refuse_gaps, soft_dtw
from softecm.distances.soft_dtw import check_band

__all__ = ["SeriesLoss", "SoftDTW", "SoftDTWLoss", "SoftDTWLossPyTorch"]


class _Rows(torch.nn.Module):
    """Soft-DTW of matching rows."""

    def __init__(self, gamma: float, normalize: bool, band: int | None) -> None:
        super().__init__()
        self.gamma = check_number("gamma", gamma, above=0, hint="1 is usual for z-normalised series.")
        self.normalize = check_flag("normalize", normalize, hint="True takes the divergence.")
        check_band(band)
        self.band = band

    def forward(self, x: Tensor, y: Tensor, x_lengths: Tensor | None = None, y_lengths: Tensor | None = None) -> Tensor:
        """Return values (B,) for series (B, N, D) and (B, M, D); lengths (B,), int64, mark where padding begins."""
        return soft_dtw(
            x, y, gamma=self.gamma, band=self.band, x_lengths=x_lengths, y_lengths=y_lengths, paired=True,
            divergence=self.normalize,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """Return the parameters, for ``print``."""
        return f"gamma={self.gamma:g}, normalize={self.normalize}, band={self.band}"


class SoftDTWLoss(_Rows):
    """Soft-DTW of matching rows of two batches, with lengths for padded series.

    Parameters
    ----------
    gamma : float, default=1.0
        Smoothing, above 0, in units of squared differences.
    normalize : bool, default=False
        Subtract half of each series' value with itself: the divergence, which is never negative and 0 between equal series.
    band : int, optional
        Maximum distance of an alignment from the diagonal (Sakoe-Chiba).

    Examples
    --------
    >>> import torch
    >>> from softecm.losses import SoftDTWLoss
    >>> x = torch.zeros(2, 5, 1, requires_grad=True)
    >>> loss = SoftDTWLoss(gamma=0.1, normalize=True)(x, torch.ones(2, 8, 1))
    >>> loss.mean().backward()
    >>> loss.shape, x.grad.shape
    (torch.Size([2]), torch.Size([2, 5, 1]))
    """

    def __init__(self, gamma: float = 1.0, *, normalize: bool = False, band: int | None = None) -> None:
        super().__init__(gamma, normalize, band)


class SoftDTW(_Rows):
    """Soft-DTW of matching rows with the interface and values of M. Maghoumi's ``SoftDTW`` (pytorch-softdtw-cuda).

    In addition, it takes series of any length on a GPU and ``normalize`` for batches of two lengths, and memory does not
    grow with the squared length. If lengths differ, the band follows the diagonal of their table instead of
    :math:`|i - j|`.

    Parameters
    ----------
    use_cuda : bool, default=False
        Ignored: the loss is computed on the device of its tensors.
    gamma : float, default=1.0
    normalize : bool, default=False
    bandwidth : int, optional
        Maximum distance of an alignment from the diagonal; 0 for no band.
    dist_func : None
        Squared differences are the only cost of a step.

    Examples
    --------
    >>> import torch
    >>> from softecm.losses import SoftDTW
    >>> SoftDTW(use_cuda=False, gamma=0.1)(torch.zeros(3, 4, 2), torch.ones(3, 4, 2)).shape
    torch.Size([3])
    """

    def __init__(
        self,
        use_cuda: bool = False,
        gamma: float = 1.0,
        normalize: bool = False,
        bandwidth: int | None = None,
        dist_func: None = None,
    ) -> None:
        _refuse_costs(dist_func)
        super().__init__(gamma, normalize, None if bandwidth == 0 else bandwidth)
        self.use_cuda = use_cuda


class SoftDTWLossPyTorch(_Rows):
    """Soft-DTW of matching rows with the interface and values of tslearn's ``SoftDTWLossPyTorch``.

    Parameters
    ----------
    gamma : float, default=1.0
    normalize : bool, default=False
    dist_func : None
        Squared differences are the only cost of a step.

    Examples
    --------
    >>> import torch
    >>> from softecm.losses import SoftDTWLossPyTorch
    >>> SoftDTWLossPyTorch(gamma=0.1, normalize=True)(torch.zeros(3, 4, 2), torch.ones(3, 6, 2)).shape
    torch.Size([3])
    """

    def __init__(self, gamma: float = 1.0, normalize: bool = False, dist_func: None = None) -> None:
        _refuse_costs(dist_func)
        super().__init__(gamma, normalize, None)


class SeriesLoss(torch.nn.Module):
    """Distance between matching rows for any metric between series.

    Metrics with a ``gamma`` above 0 are smooth; the others use the derivative along one best alignment.

    Parameters
    ----------
    metric : str or SemiMetric, default="softmsm"

    Examples
    --------
    >>> import torch
    >>> from softecm.losses import SeriesLoss
    >>> SeriesLoss("softmsm")(torch.zeros(3, 4, 2), torch.ones(3, 6, 2)).shape
    torch.Size([3])
    """

    def __init__(self, metric: str | SemiMetric = "softmsm") -> None:
        super().__init__()
        self.metric = resolve_metric(metric, None)
        space = self.metric.make_space()
        if not space.holds_series:
            raise ValueError(f"metric must be one between series; got {metric!r}. 'softmsm' and 'softtwe' are smooth.")
        if getattr(self.metric, "gamma", None) == "auto":
            raise ValueError("metric must have a number for gamma; got 'auto', which needs data. 0.3 is usual.")

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Return values (B,) for series (B, N, D) and (B, M, D)."""
        for name, t in (("x", x), ("y", y)):
            refuse_gaps(name, t)
        if x.ndim != 3 or y.ndim != 3 or len(x) != len(y) or x.shape[2] != y.shape[2]:
            raise ValueError(
                "x and y must be batches (B, steps, channels) of as many series and channels; got shapes "
                f"{tuple(x.shape)} and {tuple(y.shape)}."
            )
        check_lengths(self.metric, {x.shape[1], y.shape[1]})
        return self.metric.paired(x, y)

    def extra_repr(self) -> str:
        """Return the metric, for ``print``."""
        return repr(self.metric)


def _refuse_costs(dist_func: object) -> None:
    if dist_func is not None:
        raise ValueError(
            f"dist_func must be None: a step costs its squared difference; got {dist_func!r}. SeriesLoss has others."
        )
