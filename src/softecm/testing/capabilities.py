"""Each capability a metric claims, compared with its own ``pairwise``. A check returns what is wrong, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import TypeVar

import torch
from torch import Tensor

from softecm.belief.focal import FocalSets
from softecm.distances.base import ClosedForm, CompiledPasses, FusedRound, RoundCost, RunCost, SemiMetric, Sums
from softecm.objective.equations import MassCost, Previous, evaluate_in_blocks, mass_cost, share
from softecm.optim import differentiated, minimise_small
from softecm.spaces.base import Described, Encoded
from softecm.testing.trial import NotTriedError, Plain, Trial, difference, first

A = TypeVar("A")
D = TypeVar("D", bound=Described)

FOCAL = FocalSets.up_to(2, 2)
LOOSE = 1e-3  # tolerated relative excess cost of an iterated barycentre
NONE_HERE = "the metric has none for this input"


# ------------------------------------------------------------------ closed form


def _form(trial: Trial) -> ClosedForm:
    if type(trial.metric.closed_form) is ClosedForm:
        raise NotTriedError
    return trial.metric.closed_form


def _cost(trial: Trial, weights: Tensor) -> Callable[[Tensor], Tensor]:
    """Return weighted distances of all objects to each prototype, (k, *shape) -> (k,)."""
    return lambda u: (trial.metric.pairwise(trial.x, u) * weights).sum(0)


def _slope(cost: Callable[[Tensor], Tensor], at: Tensor) -> Tensor:
    leaf = at.detach().requires_grad_()
    (slope,) = torch.autograd.grad(cost(leaf).sum(), leaf)
    return slope


def _steepness(trial: Trial, sums: Sums, at: Tensor) -> Tensor:
    """Return the gradient implied by the sums."""
    if sums.gradient is not None:
        return sums.gradient
    return 2.0 * trial.metric.closed_form.tensor(sums.curvature * at - sums.moment)


def _bound(trial: Trial) -> str:
    """Check that ``sums`` bound the weighted distances from above, with equality at v."""
    form, start, other = _form(trial), trial.between(0.6, 3), trial.between(0.2, 3)
    weights = trial.weights(len(start))
    sums = form.sums(trial.x, start, weights)
    if sums is None:
        raise NotTriedError
    cost = _cost(trial, weights)
    wrong = difference("the gradient of sums at v", _steepness(trial, sums, start), _slope(cost, start), 1e-4)
    if wrong or sums.gradient is not None:  # then it is only approximate, without equality
        return wrong

    def bound(u: Tensor) -> Tensor:
        return ((sums.curvature * u - 2 * sums.moment) * form.tensor(u)).flatten(1).sum(1)

    slack = (bound(other) - bound(start)) - (cost(other) - cost(start))
    far = trial.tol * cost(other).abs().max()
    if form.quadratic and bool((slack.abs() > far).any()):
        return f"sums is not the cost itself, though quadratic is True: off by {float(slack.abs().max()):.3g}"
    return first(slack[:, None], lambda e: e < -far, "the bound is too low by ")


def _in_one_pass(trial: Trial) -> str:
    form, at = _form(trial), trial.between(0.6, 3)
    both = form.with_sums(trial.x, at)
    if both is None:
        raise NotTriedError
    weights = trial.weights(len(at))
    wrong = difference("with_sums' distances", both[0], trial.metric.pairwise(trial.x, at), trial.tol)
    later, once = both[1](weights), form.sums(trial.x, at, weights)
    if once is not None:
        wrong = wrong or difference("with_sums' curvature", later.curvature, once.curvature, trial.tol)
        wrong = wrong or difference("with_sums' moment", later.moment, once.moment, trial.tol)
    slope = _slope(_cost(trial, weights), at)
    return wrong or difference("with_sums' gradient", _steepness(trial, later, at), slope, 1e-4)


def _stiff(trial: Trial) -> str:
    """Check for symmetric positive definite matrices, which steps need."""
    form, at = _form(trial), trial.between(0.6, 3)
    weights = trial.weights(len(at))
    sums = form.sums(trial.x, at, weights)
    stiffness = None if sums is None else form.stiffness(at, sums.curvature, weights.sum(0))
    if stiffness is None:
        raise NotTriedError
    least = float(torch.linalg.eigvalsh(stiffness).min())
    wrong = difference("stiffness", stiffness, stiffness.mT, trial.tol)
    return wrong or ("" if least > 0 else f"stiffness must be positive definite: it has an eigenvalue of {least:.3g}")


def _tensor(trial: Trial) -> str:
    """Check for a symmetric matrix that, if barycentres are means, defines the metric."""
    form, a, b = _form(trial), trial.v, trial.v.flip(0)
    turned = form.tensor(a), form.tensor(b)
    wrong = difference("tensor(a + 2 b) - tensor(a) - 2 tensor(b) + a", form.tensor(a + 2 * b) - turned[0] - 2 * turned[1] + a, a, trial.tol)  # fmt: skip  # noqa: E501
    wrong = wrong or difference("<tensor(a), b>", _dot(turned[0], b), _dot(a, turned[1]), trial.tol)
    if wrong or not form.quadratic:
        return wrong
    d = Plain(trial.metric).paired(a, b)
    return difference(
        "<tensor(a - b), a - b>, d(a, b) where quadratic is True,", _dot(form.tensor(a - b), a - b), d, trial.tol
    )


def _dot(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).flatten(1).sum(1)


def _barycenters(trial: Trial) -> str:
    """Check that no other point is cheaper, near or far."""
    form, v = _form(trial), trial.v.detach()
    weights = trial.weights(2).T
    u = form.barycenters(v, weights)
    if u is None:
        raise NotTriedError
    if u.shape != (2, *v.shape[1:]):
        return f"barycenters has shape {tuple(u.shape)} for 2 rows of weights, not {(2, *v.shape[1:])}"

    def cost(points: Tensor) -> Tensor:
        return (trial.metric.pairwise(v, points).T * weights).sum(1)

    paid = cost(u)
    for cheaper in (_nudged(u, v, cost), cost(minimise_small(differentiated(cost), u, steps=50))):
        if bool((cheaper < (1.0 - LOOSE) * paid).any()):
            gain = float((1.0 - cheaper / paid).max())
            return f"barycenters is no minimum: points nearby cost {gain:.2g} of it less"
    batch = form.barycenters(torch.stack([v, v.flip(0)]), weights)
    assert batch is not None
    return difference("barycenters of the first of two problems", batch[0], u, trial.tol)


def _nudged(u: Tensor, v: Tensor, cost: Callable[[Tensor], Tensor]) -> Tensor:
    """Return the least cost (k,) of points around u, at a few distances."""
    generator = torch.Generator().manual_seed(2)
    spread = (v - v.mean(0)).abs().mean()
    steps = [
        spread * size * torch.randn(u.shape, generator=generator, dtype=u.dtype).to(u.device)
        for size in (0.3, 0.1, 0.03, 0.01)
        for _ in range(4)
    ]
    return torch.stack([cost(u + step) for step in steps]).amin(0)


# ------------------------------------------------------------------ compiled passes


def _passes(trial: Trial) -> CompiledPasses:
    if type(trial.metric.compiled) is CompiledPasses:
        raise NotTriedError
    return trial.metric.compiled


def _has(passes: CompiledPasses, name: str) -> None:
    """Skip a pass that is not implemented."""
    if getattr(type(passes), name) is getattr(CompiledPasses, name):
        raise NotTriedError


def _problem(trial: Trial) -> tuple[Tensor, Tensor, MassCost]:
    """Return prototypes (runs, f, *shape) of two runs, the previous ones, and costs."""
    v = torch.stack([trial.between(0.7, len(FOCAL)), trial.between(0.35, len(FOCAL))])
    if v.shape[1] < len(FOCAL):
        raise NotTriedError("it takes three objects")
    weights = trial.weights(1)[:, 0]
    typical = float(trial.metric.pairwise(trial.x, v[0]).detach().mean())
    delta = [typical**0.5, float("inf")]
    return v, 0.97 * v, mass_cost(FOCAL, [1.0, 0.5], [1.5, 2.0], delta, like=v, runs=2, weights=weights)


def _try_inputs(trial: Trial, ask: Callable[[Encoded], A | None]) -> tuple[Encoded, A]:
    """Return the objects, or the same as plain tensors if they have no pass, and the pass's result."""
    for x in (trial.x, trial.points):
        answer = ask(x)
        if answer is not None:
            return x, answer
    raise NotTriedError(NONE_HERE)


def _round(trial: Trial) -> str:
    """Compare cost, derivative, sums and change of the masses with ``evaluate`` without the pass."""
    passes = _passes(trial)
    _has(passes, "round")
    v, before, cost = _problem(trial)
    prices: RoundCost = {
        "factors": cost.factors, "beta": cost.beta, "delta2": cost.delta2, "weights": cost.weights, "tol": float("inf"),
    }  # fmt: skip
    x, compiled = _try_inputs(trial, lambda x: passes.round(x, v, before, **prices))
    plain = evaluate_in_blocks(Plain(trial.metric), x, v, cost, Previous(before, None), float("inf"))
    gradient = 2.0 * trial.metric.closed_form.tensor(compiled.curvature * v - compiled.moment)
    wrong = difference("round's cost", compiled.cost, plain.cost, trial.tol)
    wrong = wrong or difference("round's gradient", gradient, plain.gradient, trial.tol)
    wrong = wrong or difference("round's change of masses", compiled.change, plain.change, 10 * trial.tol)
    return wrong or _round_sums(trial, x, v, cost, compiled)


def _round_sums(trial: Trial, x: Encoded, v: Tensor, cost: MassCost, compiled: FusedRound) -> str:
    """Check the quadratic itself, which a gradient alone does not determine."""
    summed = evaluate_in_blocks(trial.metric, x, v, cost, None, 0.0)
    if summed.curvature is None or summed.moment is None:
        return "round has sums, but the metric's closed form has none"
    curvature = summed.curvature.expand(v.shape)
    wrong = difference("round's curvature", compiled.curvature.expand(v.shape), curvature, trial.tol)
    return wrong or difference("round's moment", compiled.moment, summed.moment, trial.tol)


def _masses(trial: Trial) -> str:
    passes = _passes(trial)
    _has(passes, "masses")
    v, _, cost = _problem(trial)
    return _masses_of_run(trial, passes, v[0], cost, 0) or _masses_of_run(trial, passes, v[1], cost, 1)


def _masses_of_run(trial: Trial, passes: CompiledPasses, v: Tensor, cost: MassCost, run: int) -> str:
    factors, beta, delta2 = cost.factors[run], cost.beta[run], cost.delta2[run]
    prices: RunCost = {"factors": factors, "beta": float(beta), "delta2": float(delta2)}
    x, compiled = _try_inputs(trial, lambda x: passes.masses(x, v, **prices))
    d = trial.metric.pairwise(x, v).detach().clamp_min(0.0)
    return difference("masses", compiled, share(d, factors, beta, delta2).masses, trial.tol)


def _nearest(trial: Trial) -> str:
    passes, at = _passes(trial), trial.between(0.6, 4)
    _has(passes, "nearest")
    x, (distances, which) = _try_inputs(trial, lambda x: passes.nearest(x, at))
    d = trial.metric.pairwise(x, at).detach().clamp_min(0.0)
    wrong = difference("nearest's distance", distances, d.amin(1), trial.tol)
    # Compared by distance: ties may be resolved either way.
    return wrong or difference("nearest's choice", d.cpu().gather(1, which.cpu()[:, None])[:, 0], d.amin(1), trial.tol)


def _paired_gradients(trial: Trial) -> str:
    passes = _passes(trial)
    _has(passes, "paired_gradients")
    a, b = trial.between(0.9, len(trial.v)), trial.v.flip(0).detach()
    compiled = passes.paired_gradients(a, b)
    if compiled is None:
        raise NotTriedError(NONE_HERE)
    ends = a.clone().requires_grad_(), b.clone().requires_grad_()
    with torch.enable_grad():
        d = Plain(trial.metric).paired(*ends).clamp_min(0.0)
    slopes = torch.autograd.grad(d.sum(), ends)
    names = "paired_gradients' distance", "paired_gradients' derivative in a", "paired_gradients' derivative in b"
    pairs = zip(names, compiled, (d, *slopes), strict=True)
    pulls = passes.pulls(torch.cat([a, a]), torch.arange(len(b), device=b.device).repeat(2))
    if pulls is None:
        return "pulls must be there where paired_gradients are"
    twice = zip(("pulls' distance", "pulls' derivative"), pulls(b), (torch.cat([d, d]), 2.0 * slopes[1]), strict=True)
    differences = (difference(name, actual, expected, trial.tol) for name, actual, expected in chain(pairs, twice))
    return next(filter(None, differences), "")


# ------------------------------------------------------------------ learner


def same_in_blocks(trial: Trial) -> str:
    """Compare what is learned from all objects at once and from three blocks of them."""
    learner = trial.original.learner
    if learner is None:
        raise NotTriedError
    n = len(trial.x)
    at = trial.v if trial.metric.discrete else trial.between(0.6, 3)
    for weights in (None, trial.weights(1)[:, 0]):
        rows = [slice(0, n // 3), slice(n // 3, n // 2), slice(n // 2, n)]
        try:
            parts = [learner.describe(trial.x[r], None if weights is None else weights[r]) for r in rows]
        except TypeError as error:
            raise NotTriedError(str(error)) from error
        merged = learner.fitted_to(_merged(parts))
        wrong = _same_metric("fitted_to", merged, learner.fitted(trial.x, weights), trial, at)
        if wrong:
            return wrong
    again = trial.metric.learner
    if again is None:
        return ""
    return _same_metric("fitted a second time", again.fitted(trial.x, None), trial.metric, trial, at)


def _merged(parts: Sequence[D | None]) -> D | None:
    """Merge the descriptions; a block without one is skipped."""
    total: D | None = None
    for part in parts:
        total = part if total is None else total if part is None else total.merge(part)
    return total


def _same_metric(what: str, actual: SemiMetric, expected: SemiMetric, trial: Trial, at: Tensor) -> str:
    return difference(f"the metric {what}", actual.pairwise(trial.x, at), expected.pairwise(trial.x, at), trial.tol)


CAPABILITIES: dict[str, Callable[[Trial], str]] = {
    "sums is a bound": _bound,
    "with_sums agrees": _in_one_pass,
    "stiffness is positive": _stiff,
    "tensor agrees": _tensor,
    "barycenters are minima": _barycenters,
    "compiled round agrees": _round,
    "compiled masses agree": _masses,
    "compiled nearest agrees": _nearest,
    "paired_gradients agree": _paired_gradients,
}
