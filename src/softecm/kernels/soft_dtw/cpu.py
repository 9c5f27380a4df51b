"""Soft-DTW and DTW on the CPU: rules of the elastic engine whose steps cost nothing beside their cells."""

from __future__ import annotations

from torch import Tensor

from softecm.kernels.elastic.engine import solve
from softecm.kernels.elastic.rules import Task, dtw
from softecm.kernels.soft_dtw.checks import Pairs


def forward(
    x: Tensor,
    x_lengths: Tensor | None,
    y: Tensor,
    y_lengths: Tensor | None,
    pairs: Pairs,
    gamma: float,
    band: int | None,
    *,
    hard: bool = False,
    n_threads: int | None = None,
    max_bytes: int | None = None,
) -> Tensor:
    """Soft-DTW (or, if `hard`, DTW) values of pairs of series, (n, f) or (P,); parameters as in the engine's `solve`."""
    task = Task(dtw(0.0 if hard else gamma), band, x_lengths, y_lengths, pairs)
    return solve(x, y, None, task, n_threads=n_threads, max_bytes=max_bytes)[0]


def forward_backward(
    x: Tensor,
    x_lengths: Tensor | None,
    y: Tensor,
    y_lengths: Tensor | None,
    pairs: Pairs,
    weights: Tensor,
    gamma: float,
    band: int | None,
    *,
    hard: bool = False,
    n_threads: int | None = None,
    max_bytes: int | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    r"""Values, and the weighted sums over pairs that gradients and barycentres are made of.

    With E the expected alignment of a pair (an optimal one, if `hard`),
    :math:`W_{jt} = \sum_p w_p \sum_s E^p_{st}` and :math:`Y_{jt} = \sum_p w_p \sum_s E^p_{st} x_s` over the pairs p
    of prototype j; the gradient of the weighted sum of values in y is 2 (W y - Y), and Y / W is the next prototype of
    a majorise-minimise step. Parameters as in `forward`.

    Returns
    -------
    values : Tensor (n, f) or (P,)
    W : Tensor (f, Ly)
    Y : Tensor (f, Ly, d)
    """
    task = Task(dtw(0.0 if hard else gamma), band, x_lengths, y_lengths, pairs)
    values, sums = solve(x, y, weights, task, moments=True, n_threads=n_threads, max_bytes=max_bytes)
    sums = sums.to(x.dtype)
    return values, sums[..., 0], sums[..., 1:]
