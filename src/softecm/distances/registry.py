"""From what a user writes as ``metric=`` to a semi-metric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from softecm.distances.auto import AUTO, SERIES_AUTO, choose
from softecm.distances.base import SemiMetric


@dataclass(frozen=True)
class FunctionMetric(SemiMetric):
    """A torch function ``d(x, v) -> (n, k)`` as a semi-metric on rows of numbers."""

    function: Callable[[Any, Tensor], Tensor]
    name = "function"

    def pairwise(self, x: Any, v: Tensor) -> Tensor:
        """Whatever the function returns."""
        d = self.function(x, v)
        if not isinstance(d, Tensor):
            raise TypeError(
                f"metric must return a torch tensor of shape (n, f); got {type(d).__name__}. "
                "Write it with torch operations on its arguments."
            )
        return d


def resolve_metric(metric: Any, X: Any) -> SemiMetric:
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
        names = ", ".join(repr(n) for n in (AUTO, SERIES_AUTO, *SEMI_METRICS))
        raise ValueError(f"metric must be one of {names}, a SemiMetric or a torch function; got {metric!r}.")
    if isinstance(metric, type) and issubclass(metric, SemiMetric):
        raise ValueError(f"metric must be an instance; got the class {metric.__name__}. Write {metric.__name__}().")
    if callable(metric):
        return FunctionMetric(metric)
    raise ValueError(
        f"metric must be a name, a SemiMetric or a torch function d(x, v); got {metric!r}. 'auto' looks at the data."
    )
