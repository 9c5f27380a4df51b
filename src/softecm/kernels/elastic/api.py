"""The public door: elastic distances of every series with every prototype, or of chosen pairs."""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from softecm.kernels.elastic.rules import Rule
from softecm.kernels.first_derivatives import first_only
from softecm.kernels.soft_dtw import Pairs, check
from softecm.kernels.soft_dtw.checks import check_weights
from softecm.kernels.soft_dtw.cuda_pairs import IN_REGISTERS

logger = logging.getLogger("softecm")


class Sums(NamedTuple):
    """Values of pairs, and a quadratic in the prototypes that bounds their weighted sum: curvature and gradient at y."""

    values: Tensor  # (n, f) or (P,)
    curvature: Tensor  # (f, Ly, 1)
    gradient: Tensor  # (f, Ly, d)


def elastic(
    x: Tensor,
    y: Tensor,
    rule: Rule,
    *,
    band: int | None = None,
    x_lengths: Tensor | None = None,
    y_lengths: Tensor | None = None,
    pairs: Pairs = None,
) -> Tensor:
    """The distance that a rule makes, of every series with every prototype, differentiable in both.

    Parameters as in `softecm.kernels.soft_dtw.soft_dtw`; computed where the series are, on the CPU if those on a GPU have
    more channels than its kernel takes. First derivatives only; where the rule is
    hard, those of the cost along one best alignment.

    Returns
    -------
    Tensor (n, f), or (P,) with ``pairs``

    Examples
    --------
    >>> from softecm.kernels.elastic.rules import msm
    >>> x = torch.tensor([[[1.0], [2.0], [3.0]]])
    >>> elastic(x, torch.tensor([[[2.0], [2.0], [3.0]]]), msm(1.0, gamma=0.0))
    tensor([[1.]])
    """
    check(x, y, x_lengths, y_lengths, pairs, 1.0, band)
    values: Tensor = _Elastic.apply(x, y, _Rest(rule, band, x_lengths, y_lengths, pairs))  # type: ignore[no-untyped-call]
    return values


def elastic_sums(
    x: Tensor,
    y: Tensor,
    weights: Tensor,
    rule: Rule,
    *,
    band: int | None = None,
    x_lengths: Tensor | None = None,
    y_lengths: Tensor | None = None,
    pairs: Pairs = None,
    floor: float | None = None,
) -> Sums:
    r"""Values, and curvature K and gradient G in y of the sum of values times weights.

    For weights that are not negative, :math:`\langle K (u - y) + G, u - y \rangle` bounds the change of that sum from y
    to any u: a soft or hard minimum is concave in the costs, a square its own bound, and a length (rounded off at
    ``gamma``) lies below the parabola that touches it. Where the rule is hard, a length below
    ``floor`` bends the curve as if it were that long: the curvature stays moderate, but is no bound so near a corner.
    """
    check(x, y, x_lengths, y_lengths, pairs, 1.0, band)
    check_weights(weights, x, y, pairs)
    least = rule.gamma if rule.gamma > 0 else 1e-30 if floor is None else floor
    return _solve(x, y, weights, _Rest(rule, band, x_lengths, y_lengths, pairs), max(least, 1e-30))


@lru_cache(maxsize=16)
def _say_once(channels: int) -> None:
    """That the GPU is not used, once for a number of channels."""
    logger.warning(
        "elastic distances of %d channels are worked out on the CPU: on the GPU there is code for up to %d",
        channels,
        IN_REGISTERS,
    )


class _Rest(NamedTuple):
    """Everything but the series."""

    rule: Rule
    band: int | None
    x_lengths: Tensor | None
    y_lengths: Tensor | None
    pairs: Pairs

    def turned(self) -> _Rest:
        """With the roles of the series exchanged."""
        pairs = None if self.pairs is None else (self.pairs[1], self.pairs[0])
        return _Rest(self.rule, self.band, self.y_lengths, self.x_lengths, pairs)


class _Context(Protocol):
    """What torch keeps between the two passes; ``rest`` is ours."""

    saved_tensors: tuple[Tensor, ...]
    needs_input_grad: tuple[bool, ...]
    rest: _Rest

    def save_for_backward(self, *tensors: Tensor) -> None: ...


class _Elastic(torch.autograd.Function):
    """Values forward; backward, sums for the side that wants a gradient."""

    @staticmethod
    def forward(ctx: _Context, x: Tensor, y: Tensor, rest: _Rest) -> Tensor:  # type: ignore[override]
        ctx.save_for_backward(x, y)
        ctx.rest = rest
        return _solve(x, y, None, rest, 1.0).values

    @staticmethod
    @first_only
    def backward(ctx: _Context, weights: Tensor) -> tuple[Tensor | None, ...]:
        x, y = ctx.saved_tensors
        grad_x = grad_y = None
        if ctx.needs_input_grad[0]:
            turned = weights.T if ctx.rest.pairs is None else weights
            grad_x = _solve(y, x, turned.contiguous(), ctx.rest.turned(), 1.0).gradient
        if ctx.needs_input_grad[1]:
            grad_y = _solve(x, y, weights.contiguous(), ctx.rest, 1.0).gradient
        return grad_x, grad_y, None


def _solve(x: Tensor, y: Tensor, weights: Tensor | None, rest: _Rest, floor: float) -> Sums:
    if x.is_cuda:
        from softecm.kernels.elastic import cuda

        if cuda.takes(x):
            return Sums(
                *cuda.solve(
                    x.detach(),
                    rest.x_lengths,
                    y.detach(),
                    rest.y_lengths,
                    rest.pairs,
                    None if weights is None else weights.detach(),
                    rest.rule,
                    floor,
                    rest.band,
                )
            )
        _say_once(x.shape[2])
    from softecm.kernels.elastic.engine import solve

    near = torch.device("cpu")
    lx, ly = (None if t is None else t.to(near) for t in (rest.x_lengths, rest.y_lengths))
    pairs = None if rest.pairs is None else (rest.pairs[0].to(near), rest.pairs[1].to(near))
    w = None if weights is None else weights.detach().to(near)
    values, sums = solve(rest.rule, x.detach().to(near), lx, y.detach().to(near), ly, pairs, w, rest.band, floor=floor)
    sums = sums.to(x)
    return Sums(values.to(x.device), sums[..., :1], 2.0 * sums[..., 1:])
