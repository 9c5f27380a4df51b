"""Required properties of ``pairwise``, ``paired`` and ``terms``. Each check returns what is wrong, or nothing."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from softecm.testing.trial import NotTriedError, Trial, difference, first


def _shape(trial: Trial) -> str:
    k = min(3, len(trial.v))
    d = trial.metric.pairwise(trial.x, trial.v[:k])
    if not isinstance(d, Tensor):
        return f"pairwise(x, v) returned {type(d).__name__}, not a tensor"
    n = len(trial.x)
    return "" if d.shape == (n, k) else f"{tuple(d.shape)} for {n} objects and {k} prototypes"


def _finite(trial: Trial) -> str:
    return first(trial.metric.pairwise(trial.x, trial.v), lambda d: ~torch.isfinite(d))


def _among(trial: Trial) -> Tensor:
    """Return distances (n, n) between the prototypes."""
    return trial.metric.pairwise(trial.points, trial.v)


def _symmetric(trial: Trial) -> str:
    d = _among(trial)
    return first(d - d.T, lambda e: e.abs() > trial.tol * d.abs().max(), "d(x, y) - d(y, x) = ")


def _not_negative(trial: Trial) -> str:
    d = _among(trial)
    return first(d, lambda e: e < -trial.tol * d.abs().max())


def _zero_at_equality(trial: Trial) -> str:
    d = _among(trial)
    return first(torch.diag(d.diagonal()), lambda e: e.abs() > trial.tol * d.abs().max())


def _gradient(trial: Trial) -> str:
    """Compare the derivative in the second argument with central differences, in random directions."""
    point = trial.between(0.7, 2)
    leaf = point.clone().requires_grad_()
    d = trial.metric.pairwise(trial.x, leaf)
    if not d.requires_grad:
        return "the result does not depend on v as torch sees it: use torch operations, no .item() or .numpy()"
    weights = trial.weights(len(point)).to(d.dtype)
    (gradient,) = torch.autograd.grad((d * weights).sum(), leaf)
    if not bool(torch.isfinite(gradient).all()):
        return "the gradient is not finite"
    generator = torch.Generator().manual_seed(1)
    for _ in range(3):
        direction = torch.randn(point.shape, generator=generator, dtype=point.dtype)
        step = 1e-6 * float(point.abs().max().clamp_min(1e-3))
        up = (trial.metric.pairwise(trial.x, point + step * direction) * weights).sum()
        down = (trial.metric.pairwise(trial.x, point - step * direction) * weights).sum()
        numeric, exact = float(up - down) / (2 * step), float((gradient * direction).sum())
        if abs(numeric - exact) > 1e-4 * max(1.0, abs(numeric), float(d.detach().abs().max())):
            return f"{exact:.6g} along a direction in which differences give {numeric:.6g}"
    return ""


def _gradient_at_equality(trial: Trial) -> str:
    _refuse_objects(trial)
    leaf = trial.v.detach().clone().requires_grad_()
    (gradient,) = torch.autograd.grad(trial.metric.pairwise(trial.v.detach(), leaf).sum(), leaf)
    if bool(torch.isfinite(gradient).all()):
        return ""
    return "not finite where a prototype sits on an object: smooth the root"


def _paired(trial: Trial) -> str:
    _refuse_objects(trial)
    v, turned = trial.v, trial.v.flip(0)
    d = trial.metric.pairwise(v, turned)
    off = (trial.metric.paired(v, turned) - d.diagonal())[:, None]
    return first(off, lambda e: e.abs() > trial.tol * d.abs().max())


def _refuse_objects(trial: Trial) -> None:
    if trial.metric.discrete:
        raise NotTriedError("prototypes are objects, known by their numbers")


def _terms(trial: Trial) -> str:
    terms = trial.metric.terms(trial.x, trial.v)
    if terms is None:
        raise NotTriedError
    d = trial.metric.pairwise(trial.x, trial.v)
    return first(terms.sum(-1) - d, lambda e: e.abs() > trial.tol * d.abs().max(), "terms miss the distance by ")


def same_on_gpu(trial: Trial) -> str:
    """Compare distances on both devices."""
    moved = trial.to("cuda")
    return difference(
        "pairwise", moved.metric.pairwise(moved.x, moved.v), trial.metric.pairwise(trial.x, trial.v), trial.tol
    )


PROPERTIES: dict[str, Callable[[Trial], str]] = {
    "shape": _shape,
    "finite": _finite,
    "symmetric": _symmetric,
    "never negative": _not_negative,
    "zero at equality": _zero_at_equality,
    "gradient": _gradient,
    "gradient at equality": _gradient_at_equality,
    "paired agrees": _paired,
    "terms add up": _terms,
}
