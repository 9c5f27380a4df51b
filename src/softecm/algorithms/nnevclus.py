"""NN-EVCLUS: a small network from attributes to masses whose conflicts fit the dissimilarities (Denœux)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from softecm._checks import check_count
from softecm._engine import check_memory, choose_device, raise_if_interrupted, threads
from softecm._warnings import warn
from softecm.algorithms import parameters as params
from softecm.algorithms.base import EvidentialClusterer, checked_rows
from softecm.algorithms.conflicts import FAR, conflict_of, link_cost_of
from softecm.belief import CredalPartition, FocalSets
from softecm.constraints import check_constraints, warn_of_labels
from softecm.files import expected
from softecm.files.values import anything
from softecm.fit.loop import Callback, Progress, StopSignal, stopped
from softecm.spaces.base import LARGEST, SQUARABLE, check_enough, symmetric
from softecm.spaces.column_roles import by_row
from softecm.spaces.raw import as_numbers

Floats = NDArray[np.float64]
ALL = 500  # number of objects up to which all pairs are compared
SHORT = 25  # steps after which only the best run continues
ROWS = 1 << 16  # objects per batch when computing masses
SVM_OBJECTS = 2000  # training objects of the novelty detector
OUTSIDE = 0.05  # share of these that may be novel


@dataclass(frozen=True)
class Network:
    """Weights of each layer (out, in + 1), biases in the first column, and the parameters of novelty, beta (2,)."""

    layers: tuple[Tensor, ...]
    beta: Tensor

    @property
    def flat(self) -> Tensor:
        """All parameters as one vector."""
        return torch.cat([*(w.reshape(-1) for w in self.layers), self.beta])

    def with_flat(self, values: Tensor) -> Network:
        """Return a network of the same shapes with other parameters."""
        ends = np.cumsum([w.numel() for w in self.layers]).tolist()
        cuts = zip([0, *ends[:-1]], ends, self.layers, strict=True)
        return Network(tuple(values[first:last].reshape(w.shape) for first, last, w in cuts), values[ends[-1] :])

    def masses(self, x: Tensor, novelty: Tensor | None = None) -> Tensor:
        r"""Return masses (n, f + 1): softmax of the last layer, with a share moved to the empty set by novelty.

        With scores s, which are small for novel objects: :math:`\eta = \ln(1 + e^{\beta_0 + \beta_1 s})`, and
        :math:`\eta / (1 + \eta)` of the mass goes to the empty set.
        """
        z = x
        for weights in self.layers[:-1]:
            z = torch.relu(torch.addmm(weights[:, 0], z, weights[:, 1:].T))
        masses = torch.softmax(torch.addmm(self.layers[-1][:, 0], z, self.layers[-1][:, 1:].T), 1)
        if novelty is None:
            return masses
        eta = torch.nn.functional.softplus(self.beta[0] + self.beta[1] * novelty)
        taken = (eta / (1.0 + eta))[:, None]
        empty = torch.zeros_like(masses)
        empty[:, 0] = 1.0
        return taken * empty + (1.0 - taken) * masses


class Compared(NamedTuple):
    """Objects to compare: all pairs within groups of objects."""

    rows: Tensor  # (groups, size), indices of objects
    phi: Tensor  # (groups, size, size), target conflicts
    counted: Tensor  # the same shape: 1 for pairs to compare, else 0


class ConflictMisfit(torch.autograd.Function):
    r"""Sum of :math:`(m_i C m_j - \varphi_{ij})^2` over the compared pairs; C is symmetric.

    With residuals r, the derivative in the masses of i is :math:`2 \sum_j (r_{ij} + r_{ji}) C m_j`: two products more
    than the sum itself, while autograd would pass over all pairs eight times.
    """

    @staticmethod
    def forward(ctx: Any, inside: Tensor, conflict: Tensor, pairs: Compared) -> Tensor:  # type: ignore[override]
        """Compute the sum for masses (groups, size, f + 1)."""
        crossed = inside @ conflict
        residuals = torch.baddbmm(pairs.phi, crossed, inside.transpose(1, 2), beta=-1.0).mul_(pairs.counted)
        ctx.save_for_backward(residuals, crossed)
        flat = residuals.flatten()
        return torch.dot(flat, flat)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, None, None]:  # type: ignore[override]
        """Return the derivative in the masses only."""
        residuals, crossed = ctx.saved_tensors
        both = torch.baddbmm(torch.bmm(residuals, crossed), residuals.transpose(1, 2), crossed)
        return both.mul_(2.0 * slope), None, None


@dataclass(frozen=True)
class Loss:
    r"""The training loss.

    .. math:: (1 - \nu)\, \frac{1}{|P|} \sum_{(i, j) \in P} (\kappa_{ij} - \varphi_{ij})^2
        + \frac{\lambda}{2} \sum_{\text{layers}} \overline{w^2}
        + \nu\, \overline{(\mathrm{pl}_{ik} - y_{ik})^2}
        + \frac{\xi}{2N} \Bigl[\sum_{ML} m_i Q m_j + \sum_{CL} m_i (2 - Q) m_j\Bigr]

    with :math:`m_i Q m_j = 1 - \mathrm{pl}_{ij}(\text{together}) + \mathrm{pl}_{ij}(\text{apart})`.
    """

    x: Tensor
    compared: Compared
    focal: FocalSets
    novelty: Tensor | None = None
    decay: float = 0.0
    must: Tensor | None = None  # (m, 2)
    cannot: Tensor | None = None
    link_weight: float = 0.0
    labelled: Tensor | None = None  # indices of objects, and their clusters
    clusters: Tensor | None = None
    label_weight: float = 0.0
    conflict: Tensor = field(init=False)
    linked: Tensor = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "conflict", torch.tensor(conflict_of(self.focal)).to(self.x))
        object.__setattr__(self, "linked", torch.tensor(link_cost_of(self.focal)).to(self.x))

    def __call__(self, network: Network) -> Tensor:
        """Return the loss of a network."""
        masses = network.masses(self.x, self.novelty)
        inside = masses[self.compared.rows]  # (groups, size, f + 1)
        misfit: Tensor = ConflictMisfit.apply(inside, self.conflict, self.compared)  # type: ignore[no-untyped-call]
        loss = (1.0 - self.label_weight) * misfit / self.compared.counted.sum().clamp_min(1.0)
        if self.decay:
            loss = loss + 0.5 * self.decay * torch.stack([w.square().mean() for w in network.layers]).sum()
        if self.labelled is not None and self.clusters is not None:
            loss = loss + self.label_weight * self._off_labels(masses)
        if self.must is not None and self.cannot is not None and self.link_weight:
            loss = loss + self.link_weight * self._broken(masses)
        return loss

    def _off_labels(self, masses: Tensor) -> Tensor:
        sets = torch.tensor(self.focal.membership).to(masses)
        plausible = masses[self.labelled, 1:] @ sets
        known = torch.nn.functional.one_hot(self.clusters, sets.shape[1]).to(masses)  # type: ignore[arg-type]
        return (plausible - known).square().mean()

    def _broken(self, masses: Tensor) -> Tensor:
        assert self.must is not None
        assert self.cannot is not None
        q = masses @ self.linked
        together = (q[self.must[:, 0]] * masses[self.must[:, 1]]).sum()
        broken = 2.0 * len(self.cannot) - (q[self.cannot[:, 0]] * masses[self.cannot[:, 1]]).sum()
        return (together + broken) / (2.0 * max(1, len(self.must) + len(self.cannot)))


class Trained(NamedTuple):
    """Result of one run."""

    network: Network  # the best network
    history: Floats  # the loss of the last accepted network, initially and after each step
    converged: bool
    wild: bool  # whether a loss was not finite
    seen: Floats  # the loss of every network tried


def descend(
    loss: Callable[[Network], Tensor],
    start: Network,
    *,
    rate: float = 0.1,
    max_iter: int = 1000,
    tol: float = 1e-4,
    callback: Callback | None = None,
) -> Trained:
    """Gradient descent with a rate per weight, increased while its gradient keeps its sign; no step may raise the loss.

    Ends when the smoothed gain of a step is below ``tol`` times the loss.
    """
    network, rates = start, torch.full_like(start.flat, rate)
    value, slope = _value_and_slope(loss, network)
    history, seen, gain, wild, converged = [value], [value], 1.0, not np.isfinite(value), False
    trial = network.flat - rates * slope
    for iteration in range(max_iter):
        raise_if_interrupted()
        if stopped(callback):
            break
        if gain < tol * abs(value):
            converged = True
            break
        tried, turned = _value_and_slope(loss, network.with_flat(trial))
        seen.append(tried)
        wild |= not np.isfinite(tried)
        if not tried <= value:
            rates = 0.5 * rates
        else:
            gain = 0.9 * gain + 0.1 * (value - tried)
            rates = torch.where(turned * slope >= 0, 1.2 * rates, 0.8 * rates).clamp(1e-6, 1e4)
            network, value, slope = network.with_flat(trial), tried, turned
        history.append(value)
        if callback is not None:
            callback(Progress.of_one(iteration + 1, max_iter, value, gain / abs(value) if value else 0.0))
        trial = network.flat - rates * slope
    return Trained(network, np.asarray(history), converged, wild, np.asarray(seen))


def _value_and_slope(loss: Callable[[Network], Tensor], network: Network) -> tuple[float, Tensor]:
    flat = network.flat.detach().requires_grad_()
    value = loss(network.with_flat(flat))
    (slope,) = torch.autograd.grad(value, flat)
    return float(value.detach()), slope


def compared(
    n: int, size: int, distances: Callable[[Tensor], Tensor], d0: float | None, rng: np.random.RandomState
) -> tuple[Compared, float]:
    """Draw random groups of about ``size`` objects with all pairs within them; also returns d0.

    ``distances`` returns those within groups (g, s) as (g, s, s).
    """
    groups = max(1, n // size)
    width = -(-n // groups)
    order = rng.permutation(n)
    index = torch.as_tensor(np.resize(order, (groups, width)))  # the last group is filled with repeated objects
    counted = 1.0 - torch.eye(width, dtype=torch.float64).expand(groups, width, width).clone()
    filled = torch.arange(groups * width).reshape(groups, width) >= n
    counted[filled[:, :, None].expand_as(counted) | filled[:, None, :].expand_as(counted)] = 0.0
    d = distances(index)
    if d0 is None:
        used = d[counted > 0].numpy()
        d0 = (float(np.quantile(used, 0.9)) or float(used.max())) if len(used) else 0.0
        d0 = d0 or 1.0
    phi = -torch.expm1(np.log(1.0 - FAR) * (d / d0).square())
    return Compared(index, phi, counted), d0


def start_network(sizes: Sequence[int], rng: np.random.RandomState, *, novelty: bool = False) -> Network:
    """Draw weights uniformly around 0, within one over the root of the number of inputs."""
    layers = [
        torch.as_tensor(rng.uniform(-1.0, 1.0, (out, came + 1)) / np.sqrt(came + 1)) for came, out in pairwise(sizes)
    ]
    return Network(tuple(layers), torch.tensor([0.0, -1.0 if novelty else 0.0], dtype=torch.float64))


class Detector(NamedTuple):
    """A one-class support vector machine; scores are large inside the data, small or negative outside."""

    support: Floats  # (s, p)
    dual: Floats  # (s,)
    offset: float
    gamma: float
    scale: float

    @classmethod
    def of(cls, x: Floats, rng: np.random.RandomState) -> Detector:
        """Fit to the objects, or to a sample if there are many."""
        from sklearn.svm import OneClassSVM

        rows = x if len(x) <= SVM_OBJECTS else x[rng.choice(len(x), SVM_OBJECTS, replace=False)]
        gamma = 1.0 / (x.shape[1] * (float(rows.var()) or 1.0))
        svm = OneClassSVM(nu=OUTSIDE, gamma=gamma).fit(rows)
        plain = cls(svm.support_vectors_, svm.dual_coef_[0], float(svm.offset_[0]), gamma, 1.0)
        return plain._replace(scale=float(plain.scores(rows).std()) or 1.0)

    def scores(self, x: Floats) -> Floats:
        """Return scores of objects (n, p), in units of their spread in the fit."""
        scores = np.empty(len(x))
        for start in range(0, len(x), ROWS // 16):
            rows = slice(start, start + ROWS // 16)
            d = np.square(x[rows]).sum(1)[:, None] - 2.0 * x[rows] @ self.support.T + np.square(self.support).sum(1)
            scores[rows] = np.exp(-self.gamma * np.maximum(d, 0.0)) @ self.dual - self.offset
        return scores / self.scale


def check_hidden(name: str, value: object, usual: object) -> object:
    """Check the number of units of each hidden layer, or of the only one."""
    for size in (value or (None,)) if isinstance(value, list | tuple) else (value,):
        check_count(name, size, hint="Pass the number of units in each hidden layer, such as (20,).")
    return value


@params.parameters
class NNEVCLUS(params.Restarts, params.FocalParameters, params.Clusters, EvidentialClusterer):
    r"""EVCLUS with a small neural network that maps attributes to masses and quickly predicts new objects.

    As in :class:`EVCLUS`, dissimilar objects should have conflicting masses,
    :math:`\kappa_{ij} \approx \varphi(d_{ij}) = 1 - \exp(-\eta d_{ij}^2)`. Here the masses come from a network of one or two
    hidden layers, trained on the mean squared error, so that a million new objects take seconds.

    Parameters
    ----------
    n_clusters : int, default=2
    hidden : tuple of int, default=(20,)
        Number of units in each hidden layer.
    d0 : "auto" or float, default="auto"
        Objects at this distance should have a conflict of 0.95. "auto": the 0.9 quantile of the distances that are compared.
    group_size : int or None, default=None
        Objects are compared within random groups of about this size. None: all pairs for up to 500 objects, else groups of
        128.
    novelty : bool, default=False
        Use a one-class support vector machine to detect outliers; the network learns how much of their mass goes to the
        empty set. Without it, outliers may get confident masses, as usual for networks.
    decay : float, default=0.0
        At least 0: weight decay.
    link_weight : float, default=0.5
        At least 0: weight of the links passed to ``fit``.
    max_cardinality : int or None, default=2
    focal_sets : "simple", "full", list of tuples or FocalSets, optional
    learning_rate : float, default=0.1
        Above 0: the initial rate; it is then adapted for each weight.
    n_init : int, default=5
        Number of restarts: 25 steps each, then the best continues.
    max_iter : int, default=1000
    tol : float, default=5e-4
        A run has converged when the smoothed relative gain of a step is below this.
    device : str, default="auto"
        "auto", "cpu" or "cuda".
    n_jobs : int, optional
    warm_start : bool, default=False
        Continue from the last fit's network.
    callback : callable, optional
        Called with a ``Progress`` after every step; returning true stops the fit and keeps the current state. Its ``change``
        is the smoothed relative gain of a step.
    verbose : int, default=0
        If positive, log every step (logger ``softecm``).
    random_state : as for :class:`SoftECM`

    Attributes
    ----------
    partition_ : CredalPartition
    network_ : list of ndarrays
        Weights of each layer (out, in + 1), the bias in the first column; inputs are standardised columns.
    d0_ : float
    objective_ : float
        The loss.
    diverged_ : bool
        Whether the loss became NaN; the best network before that is kept.
    labels_, outlier_scores_, focal_sets_, history_, runs_, n_iter_, converged_, n_features_in_, feature_names_in_ : as for
        :class:`SoftECM`

    Notes
    -----
    R keeps the network after the last step, even if it is worse; here the best is kept, and no step raises the loss.

    Examples
    --------
    >>> from softecm import NNEVCLUS
    >>> from softecm.datasets import make_blobs
    >>> blobs = make_blobs(150, random_state=0)
    >>> model = NNEVCLUS(3, random_state=0).fit(blobs.data)
    >>> model.predict_partition([[0.0, 0.0]]).masses.shape
    (1, 7)

    References
    ----------
    T. Denœux, "NN-EVCLUS: neural network-based evidential clustering", Information Sciences 572, 2021.
    """

    suits = "numbers; a neural network trained on the distances"

    hidden: int | Sequence[int] = field(default=(20,), metadata=params.rule(check_hidden))
    d0: float | str = params.number(
        "auto", "{auto} takes the 0.9 quantile of the distances.", auto="Or give a positive number.", above=0
    )
    group_size: int | None = params.count(
        None, "128 is usual; None takes all pairs of few objects.", least=2, optional=True
    )
    novelty: bool = params.flag(False, "True lets a detector send far objects to the empty set.")
    decay: float = params.number(0.0, "0 is usual: no price on large weights.", least=0)
    link_weight: float = params.number(0.5, "0.5 is usual: larger enforces more links.", least=0)
    learning_rate: float = params.number(0.1, "0.1 is usual.", above=0)
    n_init: int = 5
    max_iter: int = 1000
    tol: float = 5e-4
    device: str = "auto"
    warm_start: bool = params.flag(False, "True goes on from the last network.")

    SAVED = expected.rules(
        EvidentialClusterer.SAVED,
        network_=expected.listed(anything, kind="list", least=2),
        _beta=expected.array("two", allowed=SQUARABLE),
        _input=expected.listed(expected.array("p", allowed=SQUARABLE), kind="tuple"),
        _detector=expected.maybe(expected.listed(anything, kind="tuple")),
        d0_=expected.number(expected.POSITIVE),
        diverged_=expected.flag,
    )
    REQUIRED = ("n_features_in_", "focal_sets_", "network_", "_beta", "_input", "_detector")

    def _check_parts(self) -> None:
        """Raise ``Misfit`` unless layers match each other, the columns and the sets, and the detector the columns."""
        super()._check_parts()
        layers, p, f = self.network_, self.n_features_in_, len(self.focal_sets_)
        arrays = [w for w in layers if isinstance(w, np.ndarray) and w.dtype == np.float64 and w.ndim == 2]
        widths = [p, *(w.shape[0] for w in arrays)]
        if len(arrays) < len(layers) or [w.shape[1] - 1 for w in arrays] != widths[:-1] or widths[-1] != f + 1:
            raise expected.Misfit("network_ should hold layers that fit each other, the columns and the focal sets")
        if not all(np.isfinite(w).all() and np.abs(w).max() < LARGEST for w in arrays):
            raise expected.Misfit("network_ should hold finite numbers")
        if not (self._input[1] > 0).all() or self._beta.shape != (2,):
            raise expected.Misfit("_input should hold scales above 0")
        if self._detector is not None:
            support, dual, *numbers = self._detector
            sound = np.shape(support)[1:] == (p,) and np.shape(dual) == np.shape(support)[:1]
            if not sound or len(numbers) != 3 or not np.isfinite([*dual, *numbers]).all() or not numbers[2] > 0:
                raise expected.Misfit("_detector should hold support vectors of these columns")

    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        must_link: ArrayLike | None = None,
        cannot_link: ArrayLike | None = None,
        dissimilarities: ArrayLike | None = None,
    ) -> Self:
        """Train the network.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Input of the network.
        y : ignored, with a warning if only some labels are known
        must_link, cannot_link : array-like of shape (m, 2), optional
            Pairs of objects known to be together or apart: rows of ``X``, counted from 0, or names in a data frame's index.
        dissimilarities : array-like of shape (n, n), optional
            What the conflicts should reproduce; by default the distances between the rows of ``X``.

        Returns
        -------
        self
        """
        warn_of_labels(y, type(self).__name__)
        callback, c = self._open(X), int(self.n_clusters)
        focal = params.sets_asked_for(c, self.max_cardinality, self.focal_sets)
        x, center, scale = self._rows(X)
        n = len(x)
        check_enough(c, n)
        links = check_constraints(*by_row(X, must_link, cannot_link), n)
        rng = check_random_state(self.random_state)
        size = n if self.group_size is None and n <= ALL else min(n, self.group_size or 128)
        d0 = None if self.d0 == "auto" else float(self.d0)
        pairs, d0 = compared(n, size, self._distances(x, dissimilarities), d0, rng)
        inputs = (x - center) / scale
        detector = Detector.of(inputs, rng) if self.novelty else None
        device = choose_device(self.device, float(pairs.phi.numel()) * (len(focal) + 1))
        must, cannot = (torch.as_tensor(part).to(device) for part in links)
        loss = Loss(
            torch.from_numpy(inputs).to(device),
            Compared(*(part.to(device) for part in pairs)),
            focal,
            None if detector is None else torch.from_numpy(detector.scores(inputs)).to(device),
            decay=float(self.decay),
            must=must,
            cannot=cannot,
            link_weight=float(self.link_weight) if len(must) + len(cannot) else 0.0,
        )
        with threads(self.n_jobs):
            runs, best = self._train(
                loss, len(focal) + 1, rng, device, None if callback is None else StopSignal(callback)
            )
        self.d0_, self.diverged_ = d0, any(run.wild for run in runs)
        self._input = (center, scale)
        self._detector: tuple[Any, ...] | None = None if detector is None else tuple(detector)
        self._beta = runs[best].network.beta.cpu().numpy()
        self.network_ = [w.cpu().numpy() for w in runs[best].network.layers]
        self.focal_sets_ = focal
        self._store(self._partition(x))
        self._store_runs(runs, best)
        self._warn_if_untrained()
        self._warn_of_masses()
        return self

    def _rows(self, X: ArrayLike) -> tuple[Floats, Floats, Floats]:
        """Return validated rows, and the means and scales that standardize their columns."""
        x = checked_rows(self, X, reset=True)
        spread = x.std(0)
        return x, x.mean(0), np.where(spread > 0, spread, 1.0)

    def _distances(self, x: Floats, dissimilarities: ArrayLike | None) -> Callable[[Tensor], Tensor]:
        if dissimilarities is not None:
            d = as_numbers(dissimilarities, "dissimilarities")
            if d.shape != (len(x), len(x)) or not np.isfinite(d).all() or d.min() < 0:
                raise ValueError(
                    f"dissimilarities must be {len(x)} x {len(x)} finite numbers of at least 0, one row per object of "
                    f"X; got shape {d.shape}. Compute them with sklearn.metrics.pairwise_distances."
                )
            even = torch.from_numpy(np.asarray(symmetric(d), dtype=np.float64))
            return lambda index: even[index[:, :, None], index[:, None, :]]
        rows = torch.from_numpy(x)
        return lambda index: torch.cdist(rows[index], rows[index], compute_mode="donot_use_mm_for_euclid_dist")

    def _train(
        self, loss: Loss, f: int, rng: np.random.RandomState, device: torch.device, callback: Callback | None
    ) -> tuple[list[Trained], int]:
        """Train briefly from each initialization, then continue the best run."""
        hidden = self.hidden if isinstance(self.hidden, list | tuple) else (self.hidden,)
        sizes = (loss.x.shape[1], *map(int, hidden), f)
        weights = sum((came + 1) * out for came, out in pairwise(sizes))
        instead = "Use fewer units, such as hidden=(20,)."
        check_memory(
            32.0 * weights * int(self.n_init), f"a network of {weights} weights, {self.n_init} times,", instead
        )
        last = self._last_network(sizes, loss.novelty is not None)
        fresh = [start_network(sizes, rng, novelty=loss.novelty is not None) for _ in range(int(self.n_init))]
        starts = fresh if last is None else [last]
        starts = [Network(tuple(w.to(device) for w in s.layers), s.beta.to(device)) for s in starts]
        rate, most, tol = float(self.learning_rate), int(self.max_iter), float(self.tol)
        short = most if len(starts) == 1 else min(SHORT, most)
        runs = [descend(loss, start, rate=rate, max_iter=short, tol=tol, callback=callback) for start in starts]
        ends = np.array([run.history[-1] for run in runs])
        best = int(np.where(np.isfinite(ends), ends, np.inf).argmin())
        if short < most and not runs[best].converged and not stopped(callback):
            runs[best] = descend(loss, starts[best], rate=rate, max_iter=most, tol=tol, callback=callback)
        return runs, best

    def _last_network(self, sizes: Sequence[int], novelty: bool) -> Network | None:
        """Return the last fit's network with ``warm_start``, else None."""
        if not self.warm_start or not hasattr(self, "network_"):
            return None
        shapes = [(out, came + 1) for came, out in pairwise(sizes)]
        there = [w.shape for w in self.network_]
        if there != shapes or novelty != (self._detector is not None):
            raise ValueError(
                f"warm_start must be given a fit like the last, with layers of shape {there}; got {shapes}. Leave "
                "n_clusters, hidden, the sets and novelty as they were, or set warm_start=False to start over."
            )
        return Network(tuple(torch.tensor(w) for w in self.network_), torch.tensor(self._beta))

    def _warn_if_untrained(self) -> None:
        if self.diverged_:
            warn(
                "the network has diverged: the loss became NaN. The best network before that is kept; "
                f"lower learning_rate={self.learning_rate:g}.",
                ConvergenceWarning,
            )
            return
        self._warn_if_unconverged("steps", "the loss still falls by more than {tol} (relative) per step")

    def _partition(self, x: Floats) -> CredalPartition:
        center, scale = self._input
        network = Network(tuple(map(torch.from_numpy, self.network_)), torch.from_numpy(self._beta))
        masses = np.empty((len(x), len(self.focal_sets_) + 1))
        for start in range(0, len(x), ROWS):
            rows = (x[start : start + ROWS] - center) / scale
            novelty = None if self._detector is None else torch.from_numpy(Detector(*self._detector).scores(rows))
            with torch.no_grad():
                masses[start : start + ROWS] = network.masses(torch.from_numpy(rows), novelty).numpy()
        return CredalPartition(masses, self.focal_sets_)

    def predict_partition(self, X: ArrayLike) -> CredalPartition:
        """Return the credal partition of other objects: one pass through the network.

        Parameters
        ----------
        X : data like that given to ``fit``

        Returns
        -------
        partition : CredalPartition
        """
        check_is_fitted(self)
        return self._partition(checked_rows(self, X, reset=False))
