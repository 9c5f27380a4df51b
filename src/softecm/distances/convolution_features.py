"""Texture of time series: squared distance between convolution features."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from softecm._checks import check_choice, check_count, check_flag
from softecm.distances.base import SemiMetric
from softecm.distances.squared_euclidean import VectorMeans, VectorPasses, squared_differences
from softecm.spaces.series import OPTIONS
from softecm.spaces.texture import EVERYTHING, TEXTURES, Texture


@dataclass(frozen=True)
class ConvolutionFeatures(SemiMetric):
    r"""Texture of time series: which short patterns and frequencies occur anywhere in them.

    Every series is convolved with short fixed kernels at several dilations (those of MiniRocket). Each convolution is
    pooled over the observed steps into the share of steps above each of four thresholds, and into its maximum. These
    features are standardized. The amplitudes of the first 32 frequencies are added, with the same total weight. All are
    reduced to a few principal components, and the distance is the squared Euclidean distance between components.
    Nothing is aligned: phase does not count, and a fit costs little more than one on a table.

    Thresholds, units and components are learned from at most 512 distinct series of the fit, saved with the model, and
    used by ``predict``. Series may differ in length, have several channels, and have missing values, which are
    interpolated. A prototype is a point among the components; ``prototypes_`` shows the **nearest series** of the fit
    instead (in a large fit, the nearest of a sample of at most 2 MB). There is no ``explain``, because components have
    no meaning of their own.

    Parameters
    ----------
    n_components : int, default=10
        Maximum number of principal components.
    znormalise : bool, default=True
        Z-normalize every series in each channel first, so that amplitude does not count. The level never counts.
    length : int, "median" or "max", default="median"
        Length of the series shown as prototypes.
    layout : {"tslearn", "aeon"}, default="tslearn"
    of : {"both", "short patterns", "frequencies"}, default="both"
        Features to compare.

    Examples
    --------
    >>> import numpy as np
    >>> from softecm import SoftECM
    >>> t, rng = np.arange(60), np.random.default_rng(0)
    >>> X = np.array([np.sin(t * f + rng.uniform(0, 6)) for f in (0.3, 0.7) for _ in range(15)])[:, :, None]  # any phase
    >>> model = SoftECM(2, metric="texture", random_state=0).fit(X)
    >>> np.bincount(model.labels_).tolist(), model.cluster_centers_.shape
    ([15, 15], (2, 60, 1))

    References
    ----------
    A. Dempster, D. F. Schmidt and G. I. Webb, "MiniRocket: a very fast (almost) deterministic transform for time series
    classification", KDD 2021.
    """

    n_components: int = 10
    znormalise: bool = True
    length: int | str = "median"
    layout: str = "tslearn"
    of: str = EVERYTHING
    name = "texture"
    space = Texture
    single = True
    closed_form = VectorMeans()  # of components
    compiled = VectorPasses()
    SAVED = OPTIONS

    def __post_init__(self) -> None:
        count = check_count("n_components", self.n_components, hint="10 is usual.")
        object.__setattr__(self, "n_components", count)
        flag = check_flag("znormalise", self.znormalise, hint="False lets the amplitude of a series count.")
        object.__setattr__(self, "znormalise", flag)
        check_choice("of", self.of, TEXTURES, "'short patterns' are found by convolutions.")

    def make_space(self) -> Texture:
        """Return a space of textures with this metric's options."""
        return Texture(self.length, self.layout, n_components=self.n_components, znormalise=self.znormalise, of=self.of)

    def pairwise(self, x: Tensor, v: Tensor) -> Tensor:
        """Return squared distances between components, all pairs."""
        if not isinstance(x, torch.Tensor) or x.ndim != 2:
            raise TypeError(
                "metric ConvolutionFeatures compares components that its space has learned; got series. Use "
                "softecm.distances.series_distances(X, metric='texture'), or encode X with metric.make_space().fit(...)."
            )
        return squared_differences(x, v)

    def paired(self, a: Tensor, b: Tensor) -> Tensor:
        """Return distances of matching rows."""
        return (a - b).square().sum(-1)
