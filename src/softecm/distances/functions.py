"""Distances between series as functions: differentiable Soft-DTW for torch, and distance matrices under any metric."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm._text import place
from softecm.distances.auto import resolve_metric
from softecm.distances.base import SemiMetric, blocks
from softecm.distances.series_euclidean import SeriesEuclidean
from softecm.kernels import soft_dtw as kernels
from softecm.spaces.series import SeriesSpace, as_batch, to_list


def soft_dtw(
    x: Tensor,
    y: Tensor | None = None,
    *,
    gamma: float = 1.0,
    band: int | None = None,
    x_lengths: Tensor | None = None,
    y_lengths: Tensor | None = None,
    paired: bool = False,
    divergence: bool = False,
) -> Tensor:
    r"""Soft-DTW of series, as a torch function: values on a CPU or a GPU, and gradients in both arguments.

    .. math:: s_\gamma(x, y) = -\gamma \log \sum_{\pi} e^{-\sum_{(s,t) \in \pi} \|x_s - y_t\|^2 / \gamma}

    over all alignments :math:`\pi`. **First derivatives only**: differentiating a gradient made with
    ``create_graph=True`` raises an error. Memory does not grow with the number of pairs, because the backward pass
    recomputes alignments. As a module: :class:`softecm.losses.SoftDTWLoss`.

    Parameters
    ----------
    x : Tensor (n, steps, channels)
        Series, float32 or float64.
    y : Tensor (m, steps, channels), optional
        Other series, of the same type and on the same device; by default ``x`` itself.
    gamma : float, default=1.0
        Smoothing, above 0, in units of squared differences. For hard alignments: :func:`series_distances` with "dtw".
    band : int, optional
        Largest number of steps between an alignment and the diagonal (Sakoe-Chiba).
    x_lengths, y_lengths : Tensor of int64 (n,), (m,), optional
        Steps of each series; steps beyond are padding and never read.
    paired : bool, default=False
        Compare only series of the same index: (n,) instead of (n, m), as in a batch loss (Maghoumi's and tslearn's
        classes).
    divergence : bool, default=False
        Subtract half of each series' value with itself, so that equal series have distance 0 (Maghoumi's
        ``normalize``).

    Returns
    -------
    Tensor (n, m), or (n,) if paired

    Examples
    --------
    >>> import torch
    >>> from softecm import soft_dtw
    >>> x = torch.tensor([[[0.0], [1.0], [2.0]]], dtype=torch.float64, requires_grad=True)
    >>> loss = soft_dtw(x, torch.tensor([[[1.0], [2.0], [2.0]]], dtype=torch.float64), gamma=0.01, paired=True)
    >>> loss.sum().backward()
    >>> loss.detach(), x.grad[0, 0]
    (tensor([1.0000], dtype=torch.float64), tensor([-2.], dtype=torch.float64))

    References
    ----------
    M. Cuturi and M. Blondel, "Soft-DTW: a differentiable loss function for time-series", ICML 2017. M. Blondel, A. Mensch
    and J.-P. Vert, "Differentiable divergences between time series", AISTATS 2021.
    """
    if y is None:
        y, y_lengths = x, x_lengths
    for name, t, lengths in (("x", x, x_lengths), ("y", y, y_lengths)):
        refuse_gaps(name, t, lengths)
    of = kernels.soft_dtw_paired if paired else kernels.soft_dtw
    values = of(x, y, gamma=gamma, band=band, x_lengths=x_lengths, y_lengths=y_lengths)
    if not divergence:
        return values
    in_x = kernels.soft_dtw_self(x, gamma=gamma, band=band, lengths=x_lengths)
    in_y = in_x if y is x else kernels.soft_dtw_self(y, gamma=gamma, band=band, lengths=y_lengths)
    return values - 0.5 * (in_x if paired else in_x[:, None]) - 0.5 * in_y


def refuse_gaps(name: str, series: Tensor, lengths: Tensor | None = None) -> None:
    """Raise an error unless ``series`` is a tensor of finite numbers within its lengths."""
    if not isinstance(series, Tensor):
        raise TypeError(
            f"{name} must be a torch tensor (n, steps, channels); got {type(series).__name__}. Use torch.as_tensor, or "
            "softecm.distances.series_distances for arrays and lists."
        )
    if series.ndim != 3:
        return  # the kernel's own check raises the error
    inside = torch.ones_like(series[..., 0], dtype=torch.bool)
    if lengths is not None:
        inside = torch.arange(series.shape[1], device=series.device) < lengths[:, None]
    bad = (~torch.isfinite(series.detach()).all(-1) & inside).any(1).nonzero()
    if len(bad):
        raise ValueError(
            f"{name} must hold finite numbers within its lengths; got NaN or infinity in "
            f"{place('series', int(bad[0]), name)}. Fill missing values first, or pass lengths if it is padding."
        )


def series_distances(
    X: object, Y: object = None, metric: str | SemiMetric = "softdtw", *, dtype: str = "float64"
) -> NDArray[np.floating]:
    """Return the matrix of distances between series under any metric that aligns them.

    Parameters
    ----------
    X : series, (n, steps, channels) or a list
        Possibly of different lengths; trailing NaN steps are padding, other NaN are interpolated linearly.
    Y : series, optional
        Other series; by default X itself.
    metric : str or SemiMetric, default="softdtw"
        For example "dtw", "msm" or ``ADTW(penalty=0.1)``; parameters to be learned (``gamma="auto"``) are learned from
        X.
    dtype : {"float64", "float32"}, default="float64"

    Returns
    -------
    ndarray (n, m)

    Examples
    --------
    >>> import numpy as np
    >>> from softecm.distances import series_distances
    >>> series_distances([np.array([0.0, 1, 2]), np.array([0.0, 2])], metric="dtw")
    array([[0., 1.],
           [1., 0.]])
    """
    chosen = resolve_metric(metric, None)
    space = chosen.make_space()
    if not isinstance(space, SeriesSpace):
        raise ValueError(f"metric must be one between series; got {metric!r}. 'softdtw', 'dtw' and 'msm' are.")
    if dtype not in ("float32", "float64"):
        raise ValueError(f"dtype must be 'float64' or 'float32'; got {dtype!r}.")
    rows = to_list(X, space.layout)
    others = rows if Y is None else to_list(Y, space.layout)
    if rows[0].shape[1] != others[0].shape[1]:
        raise ValueError(
            f"X and Y must have the same channels; got {rows[0].shape[1]} and {others[0].shape[1]}. If channels come first, "
            "give a metric with layout='aeon'."
        )
    check_lengths(chosen, {len(row) for row in (*rows, *others)})
    space = space.fit(rows, dtype=getattr(torch, dtype))
    x = space.encode(rows)
    fitted = chosen.fitted(x, None)
    out = np.empty((len(rows), len(others)), dtype=dtype)
    steps = np.array([len(row) for row in others])
    with torch.no_grad():
        for length in np.unique(steps):
            columns = np.flatnonzero(steps == length)
            v = as_batch(space.encode([others[j] for j in columns])).values
            for part in blocks(x, v[:1]):
                out[part, columns] = fitted.pairwise(x[part], v).numpy()
    return out


def check_lengths(metric: SemiMetric, lengths: set[int]) -> None:
    """Raise ValueError for series of several lengths if the metric compares them step by step."""
    if isinstance(metric, SeriesEuclidean) and len(lengths) > 1:
        raise ValueError(
            f"metric 'series-euclidean' must have series of one length; got {min(lengths)} to {max(lengths)} steps. Bring "
            "them to one length with SeriesResampler, or use a metric that aligns, such as 'dtw'."
        )
