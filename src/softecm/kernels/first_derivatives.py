"""Gradients that raise an error when differentiated again, instead of acting as constants."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeAlias

import torch
from torch import Tensor

Gradients: TypeAlias = tuple[Tensor | None, ...]


def first_only(backward: Callable[[Any, Tensor], Gradients]) -> Callable[[Any, Tensor], Gradients]:
    """Return a ``backward`` without its own graph, whose results raise an error when differentiated.

    torch's ``once_differentiable`` does so only if the incoming gradient has a graph; a penalty on the gradient of a
    plain sum would be ignored silently.
    """

    @wraps(backward)
    def wrapped(ctx: Any, weights: Tensor) -> Gradients:
        with torch.no_grad():
            gradients = backward(ctx, weights)
        if not torch.is_grad_enabled():  # without create_graph
            return gradients
        return tuple(None if g is None else _First.apply(g, weights, *ctx.saved_tensors) for g in gradients)

    return wrapped


class _First(torch.autograd.Function):
    """Identity of a gradient, with the series as inputs, so that a second derivative reaches this backward."""

    @staticmethod
    def forward(ctx: object, gradient: Tensor, *inputs: Tensor) -> Tensor:  # type: ignore[override]
        return gradient.view_as(gradient)

    @staticmethod
    def backward(ctx: object, weights: Tensor) -> Gradients:  # type: ignore[override]
        raise RuntimeError(
            "distances between series have first derivatives only: this gradient (create_graph=True) can't be "
            "differentiated again. Detach it, or take finite differences of gradients."
        )
