"""The public functions: Soft-DTW and DTW between all series and prototypes, or of selected pairs."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from softecm.kernels.elastic.api import differentiable, moments_of, values_of
from softecm.kernels.elastic.rules import AlignmentTask
from softecm.kernels.elastic.rules import dtw as rule_of
from softecm.kernels.series_checks import Pairs, Rows, check, check_weights


def soft_dtw(
    x: Tensor,
    y: Tensor,
    *,
    gamma: float = 1.0,
    band: int | None = None,
    x_lengths: Tensor | None = None,
    y_lengths: Tensor | None = None,
) -> Tensor:
    """Return the Soft-DTW of every series with every prototype, differentiable in both.

    Parameters
    ----------
    x : Tensor (n, Lx, d)
        Series, float32 or float64.
    y : Tensor (f, Ly, d)
        Prototypes, of the same type.
    gamma : float
        Smoothing, above 0; small: close to DTW, large: close to an average over all alignments.
    band : int or None
        Maximum number of steps of the shorter series between an alignment and the straight line between the corners:
        cells with ``|i (m-1) - j (n-1)| <= band (max(n, m) - 1)``, which for equal lengths is ``|i - j| <= band``. A
        band of 0 raises an error for unequal lengths.
    x_lengths, y_lengths : Tensor of int64, or None
        Steps of each series; None: all of them.

    Returns
    -------
    Tensor (n, f)

    Examples
    --------
    >>> x = torch.tensor([[[0.0], [1.0], [2.0]]], dtype=torch.float64)
    >>> soft_dtw(x, x + 1, gamma=1e-3)  # one step late: two of three match
    tensor([[2.]], dtype=torch.float64)

    References
    ----------
    Cuturi, M. and Blondel, M. (2017). Soft-DTW: a differentiable loss function for time-series. ICML.
    """
    check(x, y, x_lengths, y_lengths, None, gamma, band)
    return differentiable(x, y, AlignmentTask(rule_of(gamma), band, x_lengths, y_lengths))


def soft_dtw_paired(
    x: Tensor,
    y: Tensor,
    *,
    gamma: float = 1.0,
    band: int | None = None,
    x_lengths: Tensor | None = None,
    y_lengths: Tensor | None = None,
) -> Tensor:
    """Return the Soft-DTW of each series with the one in the same row of the other batch; (n,), differentiable in both."""
    if len(x) != len(y):
        raise ValueError(f"x and y must have one series for each other; got {len(x)} and {len(y)}.")
    rows = Rows(len(x), x.device)
    check(x, y, x_lengths, y_lengths, rows, gamma, band)
    return differentiable(x, y, AlignmentTask(rule_of(gamma), band, x_lengths, y_lengths, rows))


def soft_dtw_self(x: Tensor, *, gamma: float = 1.0, band: int | None = None, lengths: Tensor | None = None) -> Tensor:
    """Return the Soft-DTW of each series with itself; (n,), differentiable."""
    check(x, x, lengths, lengths, None, gamma, band)
    return differentiable(x, x, AlignmentTask(rule_of(gamma), band, lengths, lengths, Rows(len(x), x.device), own=True))


def soft_dtw_sums(
    x: Tensor,
    y: Tensor,
    weights: Tensor,
    *,
    gamma: float = 1.0,
    band: int | None = None,
    x_lengths: Tensor | None = None,
    y_lengths: Tensor | None = None,
    pairs: Pairs = None,
) -> tuple[Tensor, Tensor, Tensor]:
    r"""Return values, and the weighted sums for gradients and barycentres of the prototypes.

    With :math:`E^{ij}` the expected alignment of series i and prototype j,

    .. math:: W_{jt} = \sum_i w_{ij} \sum_s E^{ij}_{st}, \qquad Y_{jt} = \sum_i w_{ij} \sum_s E^{ij}_{st}\, x_{is}.

    The gradient of :math:`\sum_{ij} w_{ij}\,\mathrm{sdtw}(x_i, y_j)` in y is 2 (W y - Y), and Y / W lowers that sum for
    non-negative weights: Soft-DTW is concave in the costs, so its linearization is an upper bound.

    Parameters
    ----------
    x, y, gamma, band, x_lengths, y_lengths
        As in `soft_dtw`.
    weights : Tensor (n, f), or (P,) with ``pairs``
        Any sign; a zero skips the gradient.
    pairs : (Tensor, Tensor) or None
        Indices of pairs in x and y; None: all of them; ``Rows``: pairs of equal rows.

    Returns
    -------
    values : Tensor (n, f) or (P,)
    W : Tensor (f, Ly)
        Zero beyond a prototype's length.
    Y : Tensor (f, Ly, d)
    """
    check(x, y, x_lengths, y_lengths, pairs, gamma, band)
    check_weights(weights, x, y, pairs)
    return moments_of(x, y, weights, AlignmentTask(rule_of(gamma), band, x_lengths, y_lengths, pairs))


def soft_dtw_each(
    x: Tensor,
    y: Tensor,
    pairs: tuple[Tensor, Tensor],
    *,
    gamma: float = 1.0,
    band: int | None = None,
    x_lengths: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return values of pairs (P,), and each pair's contribution to `soft_dtw_sums` with weight 1, on the CPU.

    W is channel 0 and Y the others of (P, Ly, d + 1): for weights that are known only after all values. Without
    validation: it is called in every iteration, with checked series.
    """
    from softecm.kernels.elastic.engine import solve

    return solve(x, y, None, AlignmentTask(rule_of(gamma), band, x_lengths, None, pairs), moments=True, each=True)


def dtw(
    x: Tensor,
    y: Tensor,
    *,
    band: int | None = None,
    x_lengths: Tensor | None = None,
    y_lengths: Tensor | None = None,
    pairs: Pairs = None,
) -> Tensor:
    """Return the DTW of every series with every prototype: least sum of squared differences over alignments, no root.

    Parameters as in `soft_dtw_sums`; without a gradient (see `dtw_sums` for barycentres).

    Examples
    --------
    >>> x = torch.tensor([[[0.0], [1.0], [2.0]]])
    >>> dtw(x, x + 1)
    tensor([[2.]])
    """
    check(x, y, x_lengths, y_lengths, pairs, 1.0, band)
    return values_of(x, y, AlignmentTask(rule_of(0.0), band, x_lengths, y_lengths, pairs))


def dtw_sums(
    x: Tensor,
    y: Tensor,
    weights: Tensor,
    *,
    band: int | None = None,
    x_lengths: Tensor | None = None,
    y_lengths: Tensor | None = None,
    pairs: Pairs = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return values, and sums as in `soft_dtw_sums` with one optimal alignment: DBA's step is Y / W.

    Ties prefer, from the end, the diagonal step, then a step in x.
    """
    check(x, y, x_lengths, y_lengths, pairs, 1.0, band)
    check_weights(weights, x, y, pairs)
    return moments_of(x, y, weights, AlignmentTask(rule_of(0.0), band, x_lengths, y_lengths, pairs))


def alignment(x: Tensor, y: Tensor, gamma: float = 1.0, band: int | None = None) -> Tensor:
    """Return the expected alignment (Lx, Ly) of two series (Lx, d) and (Ly, d): probabilities of pairs of steps.

    Computed in float64 by the plain recursion: for inspecting a single pair.

    Examples
    --------
    >>> x = torch.tensor([[0.0], [5.0]])
    >>> alignment(x, x).round(decimals=3)
    tensor([[1., 0.],
            [0., 1.]])
    """
    check(x[None], y[None], None, None, None, gamma, band)
    from softecm.kernels.elastic.steps import step_costs

    a, b = (t.detach().to("cpu", torch.float64).numpy()[None] for t in (x, y))
    table = np.zeros((1, 1, len(x), len(y)))
    step_costs(a, np.array([len(x)]), b, rule_of(gamma), band, table)
    return torch.from_numpy(table[0, 0]).to(x)
