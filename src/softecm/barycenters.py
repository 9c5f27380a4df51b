"""Weighted averages of time series under Soft-DTW, DTW and any other distance between series."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from softecm._checks import as_numbers, check_count, check_number
from softecm.kernels.soft_dtw import dtw_sums, soft_dtw_sums
from softecm.spaces.series import SeriesBatch, SeriesSpace, TimeSeries, filled, to_list

if TYPE_CHECKING:
    from softecm.distances import SemiMetric


@dataclass(frozen=True)
class Barycenter:
    """A barycentre of series with its objective.

    Attributes
    ----------
    series : ndarray (steps, channels)
    objective : float
        Weighted mean of its distances to the series, which was minimized.
    n_iter : int
    """

    series: NDArray[np.float64]
    objective: float
    n_iter: int


def soft_dtw_barycenter(
    X: object,
    weights: ArrayLike | None = None,
    *,
    gamma: float = 1.0,
    band: int | None = None,
    init: object = None,
    length: int | str = "median",
    layout: str = "tslearn",
    max_iter: int = 100,
    tol: float = 1e-6,
) -> Barycenter:
    r"""Find the series that minimizes the weighted Soft-DTW to given series.

    .. math:: \min_u \sum_i w_i\, \mathrm{sdtw}_\gamma(x_i, u)

    Parameters
    ----------
    X : series, (n, steps, channels) or a list
    weights : array-like (n,), optional
        Not negative; by default all equal.
    gamma : float, default=1.0
    band : int, optional
    init : series, optional
        Initial series; by default the mean of the series, resampled to the barycentre's length.
    length : int, "median" or "max", default="median"
    layout : {"tslearn", "aeon"}
    max_iter : int, default=100
        Iterations of L-BFGS.
    tol : float, default=1e-6
        Stop when the relative decrease of the objective is below this.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.stack([np.roll([0.0, 0, 0, 1, 0, 0, 0, 0], k)[:, None] for k in range(3)])
    >>> average = soft_dtw_barycenter(X, gamma=0.01)
    >>> bool(average.series.max() > 0.9)  # the mean would have 0.33
    True
    """
    check_number("gamma", gamma, above=0, hint="For hard alignments use dba.")
    check_number("tol", tol, least=0, hint="1e-6 is usual.")
    batch, w, start = _prepared(X, weights, init, length, layout, max_iter)

    def value_and_gradient(u: Tensor) -> tuple[Tensor, Tensor]:
        values, curvature, moment = soft_dtw_sums(
            batch.values, u, w[:, None], gamma=gamma, band=band, x_lengths=batch.lengths
        )
        return (values[:, 0] * w).sum(), 2.0 * (curvature[..., None] * u - moment)

    return _descended(value_and_gradient, start, max_iter, tol)


def dba(
    X: object,
    weights: ArrayLike | None = None,
    *,
    band: int | None = None,
    init: object = None,
    length: int | str = "median",
    layout: str = "tslearn",
    max_iter: int = 50,
    tol: float = 1e-6,
) -> Barycenter:
    """Find the series that minimizes the weighted DTW to given series, by DTW barycentre averaging.

    Parameters are those of :func:`soft_dtw_barycenter`. The objective never rises.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[[0.0], [1.0], [1.0], [0.0]], [[0.0], [0.0], [1.0], [0.0]]])
    >>> round(dba(X, init=X[0]).objective, 6)
    0.0
    """
    check_number("tol", tol, least=0, hint="1e-6 is usual.")
    batch, w, start = _prepared(X, weights, init, length, layout, max_iter)

    def aligned(u: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        values, curvature, moment = dtw_sums(batch.values, u, w[:, None], band=band, x_lengths=batch.lengths)
        return (values[:, 0] * w).sum(), curvature[..., None], moment

    return _averaged(aligned, start, max_iter, tol)


def barycenter(
    X: object,
    metric: SemiMetric,
    weights: ArrayLike | None = None,
    *,
    init: object = None,
    max_iter: int = 100,
    tol: float = 1e-6,
) -> Barycenter:
    """Find the series that minimizes the weighted distance to given series, for any metric between series.

    If the metric has a quadratic bound of its cost (DTW, hard ADTW and WDTW), this averages aligned steps, and the
    objective never rises; otherwise it uses L-BFGS, with subgradients if the metric is not smooth (MSM, TWE, ERP).

    Parameters
    ----------
    X : series, (n, steps, channels) or a list
    metric : SemiMetric
        For example ``softecm.distances.SoftMSM()``; its ``length`` and ``layout`` are used.
    weights : array-like (n,), optional
        Not negative; by default all equal.
    init, max_iter, tol
        As in :func:`soft_dtw_barycenter`.

    Examples
    --------
    >>> import numpy as np
    >>> from softecm.distances import MSM
    >>> X = np.array([[[0.0], [1.0], [1.0], [0.0]], [[0.0], [0.0], [1.0], [0.0]], [[0.0], [1.0], [1.0], [0.0]]])
    >>> barycenter(X, MSM(), init=X[0]).series[:, 0].round(2)
    array([0., 1., 1., 0.])
    """
    check_number("tol", tol, least=0, hint="1e-6 is usual.")
    space = metric.make_space()
    if not isinstance(space, SeriesSpace) or not space.holds_series:
        raise ValueError(f"metric must be one between series; got {metric!r}. SoftDTW() and SoftMSM() are.")
    batch, w, start = _prepared(X, weights, init, space.length, space.layout, max_iter)
    fitted = metric.fitted(batch, None)

    def bounded(u: Tensor) -> tuple[Tensor, Tensor, Tensor] | None:
        sums = fitted.closed_form.sums(batch, u, w[:, None])
        if sums is None or sums.gradient is not None:
            return None
        return fitted.pairwise(batch, u)[:, 0] @ w, sums.curvature, sums.moment

    def value_and_gradient(u: Tensor) -> tuple[Tensor, Tensor]:
        leaf = u.detach().requires_grad_()
        with torch.enable_grad():
            value = fitted.pairwise(batch, leaf)[:, 0] @ w
        return value.detach(), torch.autograd.grad(value, leaf)[0]

    if bounded(start[None]) is None:
        return _descended(value_and_gradient, start, max_iter, tol)
    return _averaged(bounded, start, max_iter, tol)


def _descended(
    value_and_gradient: Callable[[Tensor], tuple[Tensor, Tensor]], start: Tensor, max_iter: int, tol: float
) -> Barycenter:
    """Minimize by L-BFGS; the function takes (1, steps, channels)."""
    from scipy.optimize import minimize

    def flat(u: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, gradient = value_and_gradient(torch.from_numpy(u.reshape(start.shape))[None])
        return float(value), gradient[0].numpy().ravel()

    minimum = minimize(
        flat,
        start.numpy().ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter, "ftol": tol, "maxcor": 30},  # steps cost far more than memory
    )
    return Barycenter(minimum.x.reshape(start.shape), float(minimum.fun), int(minimum.nit))


def _averaged(
    bounded: Callable[[Tensor], tuple[Tensor, Tensor, Tensor] | None], start: Tensor, max_iter: int, tol: float
) -> Barycenter:
    """Minimize successive bounds, each given by the value, curvature and moment at (1, steps, channels)."""
    u, best = start[None], np.inf
    for rounds in range(max_iter + 1):
        bound = bounded(u)
        assert bound is not None
        objective = float(bound[0])
        if rounds == max_iter or (np.isfinite(best) and best - objective <= tol * abs(best)):
            break
        best, u = objective, bound[2] / bound[1]
    return Barycenter(u[0].numpy(), objective, min(rounds + 1, max_iter))


def _prepared(
    X: object, weights: ArrayLike | None, init: object, length: int | str, layout: str, max_iter: int
) -> tuple[SeriesBatch, Tensor, Tensor]:
    check_count("max_iter", max_iter, hint="100 is usual.")
    rows = to_list(X, layout)
    space = TimeSeries(length, layout).fit(rows, dtype=torch.float64)
    batch = space.encode(rows)
    w = np.ones(len(rows)) if weights is None else as_numbers(weights, "weights")
    if w.shape != (len(rows),) or not np.isfinite(w).all() or (w < 0).any() or not w.any():
        got = f"{w.min():g} to {w.max():g}" if w.shape == (len(rows),) else f"shape {w.shape}"
        raise ValueError(
            f"weights must be one number per series, {len(rows)}, finite, not negative and not all zero; got {got}. "
            "Leave them out to weight all equally."
        )
    if init is None:
        drawn = space.starts(batch, torch.arange(len(rows)))
        start = (drawn * torch.from_numpy(w / w.sum())[:, None, None]).sum(0)
    else:
        start = torch.from_numpy(filled(to_list([init], layout)[0]))
        if start.shape[1] != batch.values.shape[2]:
            raise ValueError(
                f"init must be a series of {batch.values.shape[2]} channels, as X has; got {start.shape[1]}. Pass (L, d)."
            )
    return batch, torch.from_numpy(w / w.sum()), start
