"""Checks for people who write a semi-metric of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from softecm._frames import make_frame
from softecm.distances.base import SemiMetric
from softecm.distances.capabilities import fitted_metric, sums_of, tensor_of
from softecm.distances.registry import resolve_metric


@dataclass(frozen=True)
class Check:
    """One property of a semi-metric: whether it holds, and where it does not."""

    name: str
    holds: bool
    detail: str = ""


@dataclass(frozen=True)
class SemiMetricReport:
    """Which properties of a semi-metric hold; true when all do."""

    metric: str
    checks: tuple[Check, ...]

    def __bool__(self) -> bool:
        return not self.failures

    @property
    def failures(self) -> tuple[Check, ...]:
        """The properties that don't hold."""
        return tuple(c for c in self.checks if not c.holds)

    def raise_for_failures(self) -> None:
        """Raise an AssertionError that names what fails, where anything does."""
        if self.failures:
            listed = "\n".join(f"  {c.name}: {c.detail}" for c in self.failures)
            raise AssertionError(f"{self.metric} is not a semi-metric that softecm can use:\n{listed}")

    def to_frame(self, backend: str | None = None) -> Any:
        """The table as a data frame."""
        return make_frame(
            {
                "property": [c.name for c in self.checks],
                "holds": [c.holds for c in self.checks],
                "detail": [c.detail for c in self.checks],
            },
            backend,
        )

    def __str__(self) -> str:
        width = max(len(c.name) for c in self.checks)
        lines = [f"{c.name:<{width}}  {'holds' if c.holds else 'FAILS'}  {c.detail}".rstrip() for c in self.checks]
        return "\n".join([self.metric, *lines])


def check_semimetric(metric: Any, x: Any = None, *, n: int = 8, seed: int = 0, tol: float = 1e-6) -> SemiMetricReport:
    """Try every property the algorithms rely on, on a few objects.

    Parameters
    ----------
    metric : SemiMetric, registered name or torch function
    x : tensor (n, *shape), optional
        Objects to try it on, also used as prototypes. By default the metric's space makes some up.
    n : int, default=8
        How many to make up.
    seed : int, default=0
    tol : float, default=1e-6
        What counts as equal, relative to the largest distance.

    Returns
    -------
    report : SemiMetricReport
        Prints as a table; false where a property fails.

    Examples
    --------
    >>> from softecm.testing import check_semimetric
    >>> bool(check_semimetric("manhattan"))
    True
    >>> report = check_semimetric(lambda x, v: (x[:, None] - v).sum(-1))
    >>> [check.name for check in report.failures]
    ['symmetric', 'never negative']
    """
    chosen = resolve_metric(metric, None)
    generator = torch.Generator().manual_seed(seed)
    objects = chosen.space.samples(generator, n) if x is None else x
    if isinstance(objects, Tensor) and objects.is_floating_point():
        objects = objects.double()
    with_parameters = fitted_metric(chosen, objects, None)
    points = objects if isinstance(objects, Tensor) else _as_prototypes(with_parameters, objects)
    name = chosen.name if chosen.name not in ("", "function") else getattr(metric, "__name__", type(metric).__name__)
    checks: list[Check] = []
    for title, check in CHECKS.items():
        try:
            detail = check(with_parameters, objects, points, tol)
        except Exception as error:  # whatever a user's function raises is part of the answer
            detail = f"raised {type(error).__name__}: {error}"
        checks.append(Check(title, not detail, detail))
        if title in ("shape", "finite") and detail:
            break  # nothing further can be said
    return SemiMetricReport(name, tuple(checks))


def _as_prototypes(metric: SemiMetric, objects: Any) -> Tensor:
    return metric.make_space().starts(objects, torch.arange(len(objects)))


def _shape(metric: SemiMetric, x: Any, v: Tensor, tol: float) -> str:
    d = metric.pairwise(x, v[:3])
    if not isinstance(d, Tensor):
        return f"pairwise(x, v) returned {type(d).__name__}, not a tensor"
    return "" if d.shape == (len(x), 3) else f"{tuple(d.shape)} for {len(x)} objects and 3 prototypes"


def _finite(metric: SemiMetric, x: Any, v: Tensor, tol: float) -> str:
    return _first(metric.pairwise(x, v), lambda d: ~torch.isfinite(d))


def _symmetric(metric: SemiMetric, x: Any, v: Tensor, tol: float) -> str:
    d = metric.pairwise(v, v)
    return _first(d - d.T, lambda e: e.abs() > tol * d.abs().max(), "d(x, y) - d(y, x) = ")


def _not_negative(metric: SemiMetric, x: Any, v: Tensor, tol: float) -> str:
    d = metric.pairwise(v, v)
    return _first(d, lambda e: e < -tol * d.abs().max())


def _zero_at_equality(metric: SemiMetric, x: Any, v: Tensor, tol: float) -> str:
    d = metric.pairwise(v, v)
    return _first(torch.diag(d.diagonal()), lambda e: e.abs() > tol * d.abs().max())


def _gradient(metric: SemiMetric, x: Any, v: Tensor, tol: float) -> str:
    """Derivative in the second argument against central differences, in random directions."""
    point = (0.7 * v[:2] + 0.3 * v[2:4]).detach()
    leaf = point.clone().requires_grad_()
    d = metric.pairwise(x, leaf)
    if not d.requires_grad:
        return "the result does not depend on v as torch sees it: use torch operations, no .item() or .numpy()"
    weights = torch.linspace(0.5, 1.5, d.numel(), dtype=d.dtype).reshape(d.shape)
    (gradient,) = torch.autograd.grad((d * weights).sum(), leaf)
    if not bool(torch.isfinite(gradient).all()):
        return "the gradient is not finite"
    generator = torch.Generator().manual_seed(1)
    for _ in range(3):
        direction = torch.randn(point.shape, generator=generator, dtype=point.dtype)
        step = 1e-6 * float(point.abs().max().clamp_min(1e-3))
        up = (metric.pairwise(x, point + step * direction) * weights).sum()
        down = (metric.pairwise(x, point - step * direction) * weights).sum()
        numeric, exact = float(up - down) / (2 * step), float((gradient * direction).sum())
        if abs(numeric - exact) > 1e-4 * max(1.0, abs(numeric), float(d.detach().abs().max())):
            return f"{exact:.6g} along a direction in which differences give {numeric:.6g}"
    return ""


def _gradient_at_equality(metric: SemiMetric, x: Any, v: Tensor, tol: float) -> str:
    leaf = v.detach().clone().requires_grad_()
    (gradient,) = torch.autograd.grad(metric.pairwise(v.detach(), leaf).sum(), leaf)
    return (
        ""
        if bool(torch.isfinite(gradient).all())
        else "not finite where a prototype sits on an object: round the root off"
    )


def _paired(metric: SemiMetric, x: Any, v: Tensor, tol: float) -> str:
    d = metric.pairwise(v, v.flip(0))
    return _first((metric.paired(v, v.flip(0)) - d.diagonal())[:, None], lambda e: e.abs() > tol * d.abs().max())


def _bound(metric: SemiMetric, x: Any, v: Tensor, tol: float) -> str:
    """``sums`` must bound the weighted distances from above and touch them at v."""
    start, other = 0.6 * v[:3] + 0.4 * v[3:6], 0.2 * v[:3] + 0.8 * v[3:6]
    weights = torch.linspace(0.5, 1.5, len(x) * 3, dtype=v.dtype).reshape(-1, 3)
    sums = sums_of(metric, x, start, weights)
    if sums is None or sums.gradient is not None:
        return ""

    def bound(u: Tensor) -> Tensor:
        return ((sums.curvature * u - 2 * sums.moment) * tensor_of(metric, u)).flatten(1).sum(1)

    def cost(u: Tensor) -> Tensor:
        return (metric.pairwise(x, u) * weights).sum(0)

    leaf = start.detach().requires_grad_()
    (slope,) = torch.autograd.grad(cost(leaf).sum(), leaf)
    ours = 2 * tensor_of(metric, sums.curvature * start - sums.moment)
    if not torch.allclose(ours, slope, rtol=1e-4, atol=1e-4 * float(slope.abs().max())):
        return (
            f"the bound does not touch the cost at v: their gradients differ by {float((ours - slope).abs().max()):.3g}"
        )
    slack = (bound(other) - bound(start)) - (cost(other) - cost(start))
    if metric.is_quadratic and bool((slack.abs() > tol * cost(other).abs().max()).any()):
        return f"sums is not the cost itself, though quadratic is True: off by {float(slack.abs().max()):.3g}"
    return _first(slack[:, None], lambda e: e < -tol * cost(other).abs().max(), "the bound is too low by ")


def _attributes(metric: SemiMetric, x: Any, v: Tensor, tol: float) -> str:
    terms = metric.terms(x, v)
    if terms is None:
        return ""
    d = metric.pairwise(x, v)
    return _first(terms.sum(-1) - d, lambda e: e.abs() > tol * d.abs().max(), "terms miss the distance by ")


def _first(values: Tensor, bad: Callable[[Tensor], Tensor], text: str = "") -> str:
    """Where the first bad entry is, or nothing."""
    found = bad(values).nonzero()
    if not len(found):
        return ""
    i, j = (int(v) for v in found[0])
    return f"{text}{float(values[i, j]):.6g} for object {i} and prototype {j} ({len(found)} of {values.numel()} pairs)"


CHECKS: dict[str, Callable[[SemiMetric, Any, Tensor, float], str]] = {
    "shape": _shape,
    "finite": _finite,
    "symmetric": _symmetric,
    "never negative": _not_negative,
    "zero at equality": _zero_at_equality,
    "gradient": _gradient,
    "gradient at equality": _gradient_at_equality,
    "paired agrees": _paired,
    "sums is a bound": _bound,
    "terms add up": _attributes,
}
