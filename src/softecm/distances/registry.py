"""From what a user writes as ``metric=`` to a semi-metric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from softecm._text import meant
from softecm.distances.auto import AUTO, SERIES_AUTO, choose
from softecm.distances.base import SemiMetric

IN_TORCH = (
    "Write it with torch operations on its arguments, since it is differentiated; or give the distances themselves: "
    "metric='precomputed' and X the matrix, such as scipy.spatial.distance.cdist(X, X)."
)


@dataclass(frozen=True)
class FunctionMetric(SemiMetric, savable=False):
    """A torch function ``d(x, v) -> (n, k)`` as a semi-metric on rows of numbers."""

    function: Callable[[Any, Tensor], Tensor]
    name = "function"

    def pairwise(self, x: object, v: Tensor) -> Tensor:
        """Whatever the function returns."""
        try:
            d = self.function(x, v)
        except Exception as error:
            if _is_for_arrays(self.function) or "numpy()" in str(error):
                raise TypeError(f"metric must be a torch function; got one for NumPy arrays. {IN_TORCH}") from error
            raise
        if not isinstance(d, Tensor):
            raise TypeError(f"metric must return a torch tensor of shape (n, f); got {type(d).__name__}. {IN_TORCH}")
        return d


def _is_for_arrays(function: object) -> bool:
    """Whether a function comes from NumPy, SciPy or scikit-learn."""
    home = getattr(function, "__module__", None) or type(function).__module__
    return home.split(".")[0] in ("numpy", "scipy", "sklearn")


def resolve_metric(metric: object, X: object) -> SemiMetric:
    """The semi-metric for ``metric=``: a name, an instance, a torch function, or "auto", which looks at the data."""
    from softecm.distances.listing import SEMI_METRICS

    if isinstance(metric, SemiMetric):
        return metric
    if isinstance(metric, str):
        name = choose(X).metric if metric == AUTO else metric
        if isinstance(name, SemiMetric):
            return name
        if name in SEMI_METRICS:
            return SEMI_METRICS[name]()
        if name == SERIES_AUTO:
            raise ValueError(
                f"metric='{SERIES_AUTO}' is found by an estimator's fit: name one of those it tries here, such as 'softdtw' "
                "or 'softmsm'."
            )
        known = (AUTO, SERIES_AUTO, *SEMI_METRICS)
        raise ValueError(
            f"metric must be one of {', '.join(map(repr, known))}, a SemiMetric or a torch function; got {metric!r}."
            f"{meant(metric, known)}"
        )
    if isinstance(metric, type) and issubclass(metric, SemiMetric):
        raise ValueError(f"metric must be an instance; got the class {metric.__name__}. Write {metric.__name__}().")
    if callable(metric):
        return FunctionMetric(metric)
    raise ValueError(
        f"metric must be a name, a SemiMetric or a torch function d(x, v); got {metric!r}. 'auto' looks at the data."
    )
