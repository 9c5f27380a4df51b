"""Preprocessing of series: scaling, resampling, long tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from softecm._checks import check_choice, check_count
from softecm.readers.series import as_data, from_long
from softecm.spaces.series import filled, resampled, to_list

if TYPE_CHECKING:
    from sklearn.utils import Tags

__all__ = ["SeriesResampler", "SeriesScaler", "check_length", "from_long"]


def _as_given(rows: list[NDArray[np.float64]], layout: str) -> NDArray[np.float64] | list[NDArray[np.float64]]:
    """Return one array if all series have one length, else a list."""
    return as_data([row.T if layout == "aeon" else row for row in rows])


def check_length(length: object) -> int:
    """Return a valid number of steps for resampling."""
    return check_count("length", length, least=2, hint="It is a number of steps; 'median' takes that of the series.")


class SeriesScaler(TransformerMixin, BaseEstimator):
    """Scale every series to mean 0 and standard deviation 1 in each channel (z-normalization).

    Then level and amplitude don't count. A constant channel becomes zero.

    Parameters
    ----------
    per : {"channel", "series"}, default="channel"
        Whether to scale each channel separately, or all channels of a series together.
    layout : {"tslearn", "aeon"}, default="tslearn"

    Examples
    --------
    >>> import numpy as np
    >>> SeriesScaler().fit_transform(np.array([[[1.0], [3.0]], [[10.0], [10.0]]])).tolist()
    [[[-1.0], [1.0]], [[0.0], [0.0]]]
    """

    def __init__(self, *, per: str = "channel", layout: str = "tslearn") -> None:
        self.per = per
        self.layout = layout

    def fit(self, X: object, y: object = None) -> Self:
        """Do nothing: no parameters are learned."""
        check_choice("per", self.per, ("channel", "series"))
        to_list(X, self.layout)
        return self

    def transform(self, X: object) -> NDArray[np.float64] | list[NDArray[np.float64]]:
        """Scale each series."""
        axis = 0 if self.per == "channel" else None
        scaled = []
        for row in to_list(X, self.layout):
            spread = np.nanstd(row, axis=axis, keepdims=True)
            centred = row - np.nanmean(row, axis=axis, keepdims=True)
            scaled.append(np.where(spread > 1e-12, centred / np.where(spread > 1e-12, spread, 1.0), 0.0 * row))
        return _as_given(scaled, self.layout)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


class SeriesResampler(TransformerMixin, BaseEstimator):
    """Resample every series to the same number of steps and interpolate missing values.

    Parameters
    ----------
    length : int or "median", default="median"
    layout : {"tslearn", "aeon"}, default="tslearn"

    Examples
    --------
    >>> import numpy as np
    >>> SeriesResampler(3).fit_transform([np.array([0.0, 1.0]), np.array([0.0, 2.0, 4.0, 6.0])])[:, :, 0].tolist()
    [[0.0, 0.5, 1.0], [0.0, 3.0, 6.0]]
    """

    def __init__(self, length: int | str = "median", *, layout: str = "tslearn") -> None:
        self.length = length
        self.layout = layout

    def fit(self, X: object, y: object = None) -> Self:
        """Learn the length."""
        rows = to_list(X, self.layout)
        median = int(np.median([len(row) for row in rows]))
        self.length_ = median if self.length == "median" else check_length(self.length)
        return self

    def transform(self, X: object) -> NDArray[np.float64] | list[NDArray[np.float64]]:
        """Resample each series to that length."""
        return _as_given([resampled(filled(row), self.length_) for row in to_list(X, self.layout)], self.layout)
