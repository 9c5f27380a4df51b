r"""Groups of vectors as the components of a mixture: what other samples would say of them.

For squared distances of vectors, probabilities are those of a mixture of Gaussians or, where tails are heavy, of t
distributions; round and of several sizes, or each of its own form. Which of these describes the objects best is decided
once, by the Bayesian information criterion. Prototypes are moved to the mixture's means: where groups overlap, fuzzy means
are not where those of a mixture are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import gammaln
from torch import Tensor

from softecm.distances.base import SemiMetric

FloatArray = NDArray[np.float64]
ROUNDS, STILL = 60, 1e-4
LEAST = 1e-12  # of the largest size: no cluster is a point
TAILS = (3.0, 5.0, 10.0)  # degrees of freedom that are tried
JUDGED = 2_000  # objects by which forms are compared
MOST_COLUMNS = 30  # from which groups are round
SAME = 0.8  # part of the objects that stay in their cluster, else the groups are others
AT_ONCE = 1 << 17  # probabilities of a batch: what fits into the caches


@dataclass(frozen=True)
class Form:
    """What groups look like.

    Examples
    --------
    >>> str(Form()), str(Form(free=True, tail=5.0))
    ('round Gaussians', 'Gaussians of any form with heavy tails (t, 5 degrees of freedom)')
    """

    free: bool = False  # each of its own form; else round
    tail: float = np.inf  # degrees of freedom of a t distribution; infinite for Gaussians

    def __str__(self) -> str:
        kind = "Gaussians of any form" if self.free else "round Gaussians"
        return kind if np.isinf(self.tail) else f"{kind} with heavy tails (t, {self.tail:g} degrees of freedom)"

    def parameters(self, c: int, p: int) -> int:
        """How many numbers describe c groups in p columns."""
        return c - 1 + c * p + c * (p * (p + 1) // 2 if self.free else 1) + int(np.isfinite(self.tail))

    def log_density(self, d: FloatArray, log_det: FloatArray, p: int) -> FloatArray:
        """Of Mahalanobis distances (..., n) in groups with these logarithms of determinants (...)."""
        if np.isinf(self.tail):
            normal: FloatArray = -0.5 * (d + (log_det + p * np.log(2 * np.pi))[..., None])
            return normal
        half = (self.tail + p) / 2
        constant = gammaln(half) - gammaln(self.tail / 2) - 0.5 * (p * np.log(self.tail * np.pi) + log_det)
        found: FloatArray = constant[..., None] - half * np.log1p(d / self.tail)
        return found


@dataclass(frozen=True)
class GaussianGroups:
    """Vectors, in coordinates in which distances are plain squares, and the form of their groups."""

    x: FloatArray  # (n, p), less its mean
    form: Form = Form()

    @classmethod
    def of(cls, metric: SemiMetric, x: object) -> GaussianGroups | None:
        """Of encoded objects; None where they are no vectors, or distances no squares."""
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

    def likeliest(self, start: FloatArray, weights: FloatArray, labels: NDArray[np.int64]) -> GaussianGroups | None:
        """The same with the form that describes the objects best, from probabilities (n, c) near to theirs.

        None where no form leaves most objects in their clusters, ``labels`` (n,).
        """
        n, p = self.x.shape
        some = np.unique(np.linspace(0, n - 1, min(n, JUDGED)).round().astype(np.int64))
        part, sample = replace(self, x=self.x[some]), (start[some], weights[some], labels[some])
        forms = [Form(), *([Form(free=True)] if p <= MOST_COLUMNS else [])]
        judged = {form: part._judged(form, *sample) for form in forms}
        best = max(judged, key=lambda form: judged[form])
        judged |= {form: part._judged(form, *sample) for tail in TAILS for form in [replace(best, tail=tail)]}
        best = max(judged, key=lambda form: judged[form])
        return None if np.isinf(judged[best]) else replace(self, form=best)

    def _judged(self, form: Form, start: FloatArray, weights: FloatArray, labels: NDArray[np.int64]) -> float:
        """Log-likelihood less half its price, -inf where the groups are others by then."""
        found, likely = replace(self, form=form)._settled(start.T[None], weights[None])
        stayed = float(weights @ (found[0].argmax(0) == labels)) / max(float(weights.sum()), 1e-300)
        if stayed < SAME:
            return -np.inf
        price = form.parameters(start.shape[1], self.x.shape[1])
        return float(likely[0] - 0.5 * price * np.log(max(float(weights.sum()), 1.0)))

    def fitted(self, start: FloatArray, weights: FloatArray) -> FloatArray:
        """Probabilities (runs, n, c) of the mixtures that weights (runs, n) make likeliest, from ``start`` (n, c)."""
        begin = np.ascontiguousarray(start.T)[None]
        found, _ = self._settled(np.repeat(begin, len(weights), 0), weights)
        return np.ascontiguousarray(found.transpose(0, 2, 1))

    def _settled(self, found: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Probabilities (runs, c, n) moved until each run's stand still, and their log-likelihoods (runs,)."""
        done, likely = np.empty_like(found), np.empty(len(found))
        runs, pull = np.arange(len(found)), np.ones_like(found)
        for step in range(ROUNDS):
            before = found
            found, pull, each = self._moved(before, pull, weights[runs])
            still = np.abs(found - before).max((1, 2)) <= STILL
            if step == ROUNDS - 1:
                still[:] = True
            done[runs[still]], likely[runs[still]] = found[still], each[still]
            runs, found, pull = runs[~still], found[~still], pull[~still]
            if not len(runs):
                break
        return done, likely

    def _moved(
        self, found: FloatArray, pull: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """One step: means, sizes and shares from who is held, probabilities and pulls (runs, c, n) from these."""
        held = found * weights[:, None]
        total = np.maximum(held.sum(2), 1e-300)
        pulled = held if np.isinf(self.form.tail) else held * pull
        means = (pulled @ self.x) / np.maximum(pulled.sum(2), 1e-300)[..., None]
        d, log_det = (self._free if self.form.free else self._round)(means, pulled, total)
        p, tail = self.x.shape[1], self.form.tail
        logs = self.form.log_density(d, log_det, p)
        logs += np.log(total / total.sum(1, keepdims=True))[..., None]
        top = logs.max(1, keepdims=True)
        odds: FloatArray = np.exp(np.subtract(logs, top, out=logs), out=logs)
        whole = odds.sum(1, keepdims=True)
        odds /= whole
        likely = ((np.log(whole) + top)[:, 0] * weights).sum(1)
        return odds, pull if np.isinf(tail) else (tail + p) / (tail + d), likely

    def _distances(self, means: FloatArray) -> FloatArray:
        """Squares, to means (runs, c, p): (runs, c, n)."""
        d = (-2.0 * means) @ self.x.T
        d += np.einsum("np,np->n", self.x, self.x)
        d += np.einsum("rcp,rcp->rc", means, means)[..., None]
        return np.maximum(d, 0.0, out=d)

    def _round(self, means: FloatArray, pulled: FloatArray, total: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Distances in units of each group's own size, and logarithms of determinants (runs, c)."""
        d, p = self._distances(means), self.x.shape[1]
        size = np.einsum("rcn,rcn->rc", pulled, d) / (p * total)
        size = np.maximum(size, np.maximum(LEAST * size.max(1, keepdims=True), 1e-300))
        d /= size[..., None]
        return d, p * np.log(size)

    def _free(self, means: FloatArray, pulled: FloatArray, total: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The same in each group's own covariance, to which one object of the size of all groups is added."""
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
