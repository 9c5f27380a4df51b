r"""Groups of vectors as mixture components, for probabilities in other samples.

For squared distances of vectors, probabilities are those of a mixture of Gaussians or, with heavy tails, of t
distributions; round and of different sizes, or each of its own form. The form that describes the objects best is
selected once, by BIC; degrees of freedom are estimated in every refit. Prototypes are moved to the mixture's means: if
groups overlap, fuzzy means differ from those of a mixture.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from scipy.linalg import solve_triangular
from scipy.special import digamma, gammaln
from torch import Tensor

from softecm.calibration.intervals import FloatArray, IntArray
from softecm.distances.base import SemiMetric
from softecm.fit.shape_mixture import kolmogorov

ROUNDS, STILL = 60, 1e-4
LEAST = 1e-12  # of the largest size: no cluster is a point
TAIL = 5.0  # initial degrees of freedom of t distributions
JUDGED = 2_000  # objects for comparing forms
MOST_COLUMNS = 30  # from which groups are round
SAME = 0.8  # share of the objects that must stay in their cluster for groups to be the same
DEGREES = np.geomspace(1.5, 60.0, 200)  # possible degrees of freedom of t distributions
DESCRIBED = 1.36  # over the root of the number of objects: Kolmogorov's 5 % point


@dataclass(frozen=True)
class Form:
    """The form of groups.

    Examples
    --------
    >>> str(Form()), str(Form(free=True, tail=5.0))
    ('round Gaussians', 'groups of any form with heavy tails (t distributions)')
    """

    free: bool = False  # each of its own form; otherwise round
    tail: float = np.inf  # initial degrees of freedom of t distributions; infinite for Gaussians

    def __str__(self) -> str:
        if self.heavy:
            return f"{'groups of any form' if self.free else 'round groups'} with heavy tails (t distributions)"
        return "Gaussians of any form" if self.free else "round Gaussians"

    def parameters(self, c: int, p: int) -> int:
        """Return the number of parameters of c groups in p columns."""
        return c - 1 + c * p + c * (p * (p + 1) // 2 if self.free else 1) + int(np.isfinite(self.tail))

    @property
    def heavy(self) -> bool:
        """Whether groups are t distributions."""
        return bool(np.isfinite(self.tail))


def log_density(tails: FloatArray | None, d: FloatArray, log_det: FloatArray, p: int) -> FloatArray:
    """Return log-densities for Mahalanobis distances (runs, c, n) in groups with log-determinants (runs, c).

    ``tails`` (runs,) are the degrees of freedom of t distributions; None for Gaussians.
    """
    if tails is None:
        normal: FloatArray = -0.5 * (d + (log_det + p * np.log(2 * np.pi))[..., None])
        return normal
    half = (tails + p) / 2
    constant = gammaln(half) - gammaln(tails / 2) - 0.5 * p * np.log(tails * np.pi)
    heavy: FloatArray = np.log1p(d / tails[:, None, None])
    heavy *= -half[:, None, None]
    heavy += (constant[:, None] - 0.5 * log_det)[..., None]
    return heavy


def likelier_tails(tails: FloatArray, held: FloatArray, pull: FloatArray, p: int) -> FloatArray:
    """Return the next degrees of freedom (runs,) of an EM iteration, from responsibilities and weights (runs, c, n)."""
    mean = (held * (np.log(pull) - pull)).sum((1, 2)) / np.maximum(held.sum((1, 2)), 1e-300)
    half = (tails + p) / 2
    wanted = -(1.0 + mean + digamma(half) - np.log(half))
    falls = np.log(DEGREES / 2) - digamma(DEGREES / 2)  # decreasing
    next_tails: FloatArray = np.interp(-wanted, -falls, DEGREES)
    return next_tails


class LastIteration(NamedTuple):
    """Mixtures after their last iteration."""

    shares: FloatArray  # (runs, c, n)
    squares: FloatArray  # (runs, c, n), distances in units of the groups' covariances
    tails: FloatArray  # (runs,), degrees of freedom
    fit: FloatArray  # (runs,), log-likelihoods


@dataclass(frozen=True)
class GaussianGroups:
    """Vectors, in coordinates with plain squared distances, and the form of their groups."""

    x: FloatArray  # (n, p), centred
    form: Form = Form()

    @classmethod
    def of(cls, metric: SemiMetric, x: object) -> GaussianGroups | None:
        """Return the groups of encoded objects; None unless they are vectors with squared distances."""
        how = metric.closed_form
        if not how.quadratic or not isinstance(x, Tensor) or x.ndim != 2 or x.layout != torch.strided:
            return None
        one = x[:1]
        rows = x.double().numpy()
        rows = rows - rows.mean(0)
        if how.tensor(one) is not one:  # d(a, b) = <tensor(a - b), a - b>
            matrix = how.tensor(torch.eye(rows.shape[1], dtype=torch.float64)).numpy()
            rows = rows @ np.linalg.cholesky((matrix + matrix.T) / 2)
        return cls(np.ascontiguousarray(rows))

    def likeliest(self, start: FloatArray, weights: FloatArray, labels: IntArray) -> GaussianGroups | None:
        """Return the same with the form that describes the objects best, from approximate probabilities (n, c).

        None if no form leaves most objects in their clusters, ``labels`` (n,).
        """
        n, p = self.x.shape
        some = np.unique(np.linspace(0, n - 1, min(n, JUDGED)).round().astype(np.int64))
        part, sample = replace(self, x=self.x[some]), (start[some], weights[some], labels[some])
        forms = [Form(), *([Form(free=True)] if p <= MOST_COLUMNS else [])]
        judged = {form: part._judged(form, *sample) for form in forms}
        best = max(judged, key=lambda form: judged[form])
        heavy = replace(best, tail=TAIL)
        judged[heavy] = part._judged(heavy, *sample)
        best = max(judged, key=lambda form: judged[form])
        return None if np.isinf(judged[best]) else replace(self, form=best)

    def _judged(self, form: Form, start: FloatArray, weights: FloatArray, labels: IntArray) -> float:
        """Return the log-likelihood minus half the penalty; -inf if the groups are no longer the same."""
        ended = replace(self, form=form)._iterated(start.T[None], weights[None])
        stayed = float(weights @ (ended.shares[0].argmax(0) == labels)) / max(float(weights.sum()), 1e-300)
        if stayed < SAME:
            return -np.inf
        price = form.parameters(start.shape[1], self.x.shape[1])
        return float(ended.fit[0] - 0.5 * price * np.log(max(float(weights.sum()), 1.0)))

    def fitted(self, start: FloatArray, weights: FloatArray) -> FloatArray:
        """Return probabilities (runs, n, c) of the likeliest mixtures for weights (runs, n), from ``start`` (n, c)."""
        ended = self._iterated(np.repeat(np.ascontiguousarray(start.T)[None], len(weights), 0), weights)
        return np.ascontiguousarray(ended.shares.transpose(0, 2, 1))

    def describes(self, start: FloatArray, weights: FloatArray) -> bool:
        """Whether the distances to the objects' own centres have the form's distribution (Kolmogorov-Smirnov, 5 %)."""
        ended, p = self._iterated(np.ascontiguousarray(start.T)[None], weights[None]), self.x.shape[1]
        own = ended.shares[0].argmax(0)
        squares = ended.squares[0, own, np.arange(len(own))]
        held, tail = ended.shares[0].max(0) * weights, float(ended.tails[0]) if self.form.heavy else None
        return bool(kolmogorov(squares, held, p, tail) * np.sqrt(held.sum()) <= DESCRIBED)

    def _iterated(self, shares: FloatArray, weights: FloatArray) -> LastIteration:
        """Iterate shares (runs, c, n) until each run converges."""
        runs, tails = np.arange(len(shares)), np.full(len(shares), self.form.tail)
        ended = LastIteration(np.empty_like(shares), np.empty_like(shares), tails.copy(), np.empty(len(shares)))
        pull = np.ones_like(shares)
        for step in range(ROUNDS):
            before = shares
            shares, pull, squares, tails, fit = self._moved(before, pull, tails, weights[runs])
            still = np.abs(shares - before).max((1, 2)) <= STILL
            if step == ROUNDS - 1:
                still[:] = True
            at = runs[still]
            ended.shares[at], ended.squares[at], ended.tails[at], ended.fit[at] = (
                part[still] for part in (shares, squares, tails, fit)
            )
            runs, shares, pull, tails = runs[~still], shares[~still], pull[~still], tails[~still]
            if not len(runs):
                break
        return ended

    def _moved(
        self, shares: FloatArray, pull: FloatArray, tails: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Run one iteration: means, sizes and tails from the shares; new shares, pulls, squares (runs, c, n) from these."""
        held, heavy, p = shares * weights[:, None], self.form.heavy, self.x.shape[1]
        total = np.maximum(held.sum(2), 1e-300)
        pulled = held * pull if heavy else held
        means = (pulled @ self.x) / np.maximum(pulled.sum(2), 1e-300)[..., None]
        squares, log_det = (self._free if self.form.free else self._round)(means, pulled, total)
        if heavy:
            pull = (tails[:, None, None] + p) / (tails[:, None, None] + squares)
            tails = likelier_tails(tails, held, pull, p)
            pull = (tails[:, None, None] + p) / (tails[:, None, None] + squares)
        logs = log_density(tails if heavy else None, squares, log_det, p)
        logs += np.log(total / total.sum(1, keepdims=True))[..., None]
        top = logs.max(1, keepdims=True)
        odds: FloatArray = np.exp(np.subtract(logs, top, out=logs), out=logs)
        whole = odds.sum(1, keepdims=True)
        odds /= whole
        fit = ((np.log(whole) + top)[:, 0] * weights).sum(1)
        return odds, pull, squares, tails, fit

    def _distances(self, means: FloatArray) -> FloatArray:
        """Return squared distances to means (runs, c, p): (runs, c, n)."""
        d = (-2.0 * means) @ self.x.T
        d += np.einsum("np,np->n", self.x, self.x)
        d += np.einsum("rcp,rcp->rc", means, means)[..., None]
        return np.maximum(d, 0.0, out=d)

    def _round(self, means: FloatArray, pulled: FloatArray, total: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return distances in units of each group's own size, and log-determinants (runs, c)."""
        d, p = self._distances(means), self.x.shape[1]
        size = np.einsum("rcn,rcn->rc", pulled, d) / (p * total)
        size = np.maximum(size, np.maximum(LEAST * size.max(1, keepdims=True), 1e-300))
        d /= size[..., None]
        return d, p * np.log(size)

    def _free(self, means: FloatArray, pulled: FloatArray, total: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The same with each group's own covariance, with one added object of the size of all groups."""
        runs, c, p = means.shape
        d, log_det = np.empty((runs, c, len(self.x))), np.empty((runs, c))
        for r in range(runs):
            away = [self.x - mean for mean in means[r]]
            spread = [(pulled[r, k][:, None] * away[k]).T @ away[k] for k in range(c)]
            size = sum(float(np.trace(one)) for one in spread) / (p * total[r].sum())
            for k in range(c):
                matrix = (spread[k] + max(size, 1e-300) * np.eye(p)) / (total[r, k] + 1.0)
                half = np.linalg.cholesky(matrix)
                d[r, k] = np.square(solve_triangular(half, away[k].T, lower=True)).sum(0)
                log_det[r, k] = 2.0 * np.log(np.diag(half)).sum()
        return d, log_det
