"""Base of EVCLUS and CEVCLUS: masses whose conflicts fit the dissimilarities.

The stress of a batch of runs is a ``Problem`` for the common loop; an iteration is a sweep over the objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from softecm._checks import is_whole
from softecm._engine import check_memory, in_threads, threads
from softecm.algorithms import parameters as params
from softecm.algorithms.base import EvidentialClusterer
from softecm.belief import CredalPartition, FocalSets
from softecm.constraints import Constraints, check_constraints
from softecm.files import expected
from softecm.files.lock import locked
from softecm.fit.checkpoints import Checkpoints, digest_of
from softecm.fit.loop import Callback, Checkpointer, iterate
from softecm.fit.settings import CheckpointRequest
from softecm.kernels.simplex_qp import RIDGE, Pull, fit_rows, sweep_all, sweep_some
from softecm.objective.linked import say_broken
from softecm.optim import Batch, PlainProblem, PlainState
from softecm.spaces.base import check_enough
from softecm.spaces.column_roles import by_row
from softecm.spaces.dissimilarities import Dissimilarities
from softecm.spaces.raw import as_numbers

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FAR = 0.95  # target conflict of objects at dissimilarity d0
OUTSIDE = ("max_iter", "n_jobs", "callback", "verbose")  # parameters that may differ when a fit resumes


def conflict_of(focal: FocalSets) -> Floats:
    """Return 1 for sets, empty set first, that share no cluster: ``m_i' C m_j`` is the conflict of two objects."""
    return (~focal.intersects).astype(np.float64)


def link_cost_of(focal: FocalSets) -> Floats:
    r"""Return Q, for which ``m_i' Q m_j`` is the cost of a must-link; a cannot-link costs 2 minus that.

    It is :math:`1 - \mathrm{pl}_{ij}(\text{together}) + \mathrm{pl}_{ij}(\text{apart})`, from 0 to 2.
    """
    single, empty = np.r_[False, focal.cardinalities == 1], np.zeros_like(focal.intersects)
    empty[0], empty[:, 0] = True, True
    cost: Floats = conflict_of(focal) + 1.0 - empty - np.diag(single)
    return cost


def degree_of_conflict(dissimilarities: Floats, d0: float) -> Floats:
    r"""Return the target conflict of dissimilarity d: :math:`\varphi(d) = 1 - \exp(-\eta d^2)`, 0.95 at ``d0``."""
    phi: Floats = -np.expm1(np.log(1.0 - FAR) * np.square(dissimilarities / d0))
    return phi


@dataclass(frozen=True)
class ConflictPairs:
    """Pairs of objects to compare: those of object i are ``others[starts[i]:starts[i + 1]]``."""

    others: Ints
    starts: Ints

    @property
    def first(self) -> Ints:
        """The first object of every pair."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @classmethod
    def random(cls, n: int, k: int, rng: np.random.RandomState) -> ConflictPairs:
        """Draw about k random partners for each object; every pair is listed for both objects.

        Built from rings through all objects in random order, which give each object two partners.
        """
        rings = [rng.permutation(n) for _ in range((k + 1) // 2)]
        ends = np.concatenate([np.stack([ring, np.roll(ring, -1)]) for ring in rings], axis=1)
        both = np.concatenate([ends, ends[::-1]], axis=1)
        both = both[:, np.lexsort((both[1], both[0]))]
        return cls(both[1].copy(), np.searchsorted(both[0], np.arange(n + 1)))


class Linked(NamedTuple):
    """Linked pairs of objects, and the contribution of a link of cost 1 to the stress."""

    pairs: Constraints
    price: float
    firm: bool = False  # whether to use evclust's ridge: 1e-8 in units of the stress instead of an object's misfit

    def cost(self, masses: Floats, matrix: Floats) -> float:
        """Return the contribution of all links to the stress; ``matrix`` is Q of :func:`link_cost_of`."""
        must, cannot = (
            float(np.einsum("pa,pa->", masses[ends[:, 0]] @ matrix, masses[ends[:, 1]])) for ends in self.pairs
        )
        return self.price * (must + 2.0 * len(self.pairs.cannot_link) - cannot)

    def pull(self, size: float, matrix: Floats, n: int) -> Pull:
        """Return the links as a sweep uses them, in units of an object's misfit: ``size`` times half the stress."""
        ends = np.concatenate(self.pairs)
        sign = np.repeat([1.0, -1.0], [len(self.pairs.must_link), len(self.pairs.cannot_link)])
        first, second = np.concatenate([ends, ends[:, ::-1]]).T
        order = np.lexsort((second, first))
        weights = np.tile(sign, 2)[order] * self.price * size / 4.0
        return Pull(np.searchsorted(first[order], np.arange(n + 1)), second[order].copy(), weights, matrix)


@dataclass(frozen=True)
class ConflictState(PlainState):
    """State of a batch of runs after a sweep."""

    masses: Tensor  # (runs, n, f + 1)
    objective: Tensor  # (runs,): the stress with the cost of links
    change: Tensor  # (runs,): gain of a sweep relative to the stress, smoothed over the last few

    @property
    def prototypes(self) -> Tensor:
        """Empty: there are no prototypes."""
        return self.masses[:, :0]

    @property
    def extras(self) -> Mapping[str, Tensor]:
        """The masses."""
        return {"masses": self.masses}


@dataclass(frozen=True)
class ConflictProblem(PlainProblem):
    r"""Fit masses to conflicts, object by object.

    With all other masses fixed, an object's misfit :math:`\sum_j (m_i^\top C m_j - \varphi_{ij})^2` and its links are a
    quadratic program in its masses on the simplex, solved exactly. If each pair is listed for both objects, the stress
    (all misfits over :math:`\sum \varphi^2`) falls with every sweep.

    Parameters
    ----------
    phi : array (n, n)
        Target conflicts, 0 on the diagonal.
    pairs : ConflictPairs, optional
        The pairs to compare; all by default.
    linked : Linked, optional
        Links between objects, compared or not.
    tol : float
        A run has converged when the relative gain of a sweep, smoothed over the last few, is at most this.
    """

    phi: Floats
    focal: FocalSets
    pairs: ConflictPairs | None = None
    linked: Linked | None = None
    tol: float = 1e-5
    rises: ClassVar[str] = "taken"
    state_type: ClassVar[type[Batch]] = ConflictState

    @cached_property
    def conflict(self) -> Floats:
        """C: 1 for two disjoint sets."""
        return conflict_of(self.focal)

    @cached_property
    def link_cost(self) -> Floats:
        """Q: the cost of a must-link between two sets."""
        return link_cost_of(self.focal)

    @cached_property
    def chosen(self) -> Floats:
        """The target conflicts of the compared pairs."""
        return self.phi if self.pairs is None else self.phi[self.pairs.first, self.pairs.others]

    @cached_property
    def size(self) -> float:
        """The sum of their squares."""
        return float(np.square(self.chosen).sum()) or 1.0

    @cached_property
    def pull(self) -> Pull | None:
        """The links as a sweep uses them."""
        return None if self.linked is None else self.linked.pull(self.size, self.link_cost, len(self.phi))

    @property
    def ridge(self) -> float:
        """The ridge that makes an object's quadratic program strictly convex."""
        return RIDGE * self.size if self.linked is not None and self.linked.firm else RIDGE

    def begin(self, start: Tensor) -> ConflictState:
        """Initialize from masses (runs, n, f + 1)."""
        objective = [self.stress(masses) for masses in start.numpy()]
        return ConflictState(start, start.new_tensor(objective), start.new_ones(len(start)))

    def stress(self, masses: Floats) -> float:
        """Return the sum of squared misfits relative to the sum of squared targets, plus the cost of links."""
        cost = 0.0 if self.linked is None else self.linked.cost(masses, self.link_cost)
        return self._misfit(masses) / self.size + cost

    def _misfit(self, masses: Floats) -> float:
        plain = masses @ self.conflict
        if self.pairs is not None:
            kappa = np.einsum("pa,pa->p", plain[self.pairs.first], masses[self.pairs.others])
            return float(np.square(kappa - self.chosen).sum())
        total = 0.0
        for start in range(0, len(masses), 256):
            rows = slice(start, start + 256)
            error = plain[rows] @ masses.T - self.phi[rows]
            error[np.arange(len(error)), np.arange(start, start + len(error))] = 0.0
            total += float(np.square(error).sum())
        return total

    def step(self, state: ConflictState) -> ConflictState:
        """Sweep once in every run, in several threads."""
        masses = state.masses.numpy().copy()
        gained = in_threads(self._sweep, masses)
        part = 2.0 * torch.tensor(gained, dtype=torch.float64) / self.size
        change = 0.5 * state.change + 0.5 * part / state.objective.clamp_min(1e-300)
        return ConflictState(torch.from_numpy(masses), (state.objective - part).clamp_min(0.0), change.clamp_min(0.0))

    def _sweep(self, masses: Floats, stop: NDArray[np.bool_]) -> float:
        if stop[0]:
            return 0.0
        if self.pairs is None:
            return sweep_all(self.phi, self.conflict, masses, stop, self.pull, self.ridge)
        others, starts = self.pairs.others, self.pairs.starts
        return sweep_some(self.chosen, others, starts, self.conflict, masses, stop, self.pull, self.ridge)

    def select(self, runs: Tensor) -> ConflictProblem:
        """Return the problem itself: all runs solve the same one."""
        return self


class ConflictRun(NamedTuple):
    """Result of one run."""

    masses: Floats  # (n, f + 1)
    history: Floats  # the stress, initially and after each sweep
    converged: bool


def solved(
    problem: ConflictProblem,
    starts: Floats,
    max_iter: int = 500,
    *,
    callback: Callback | None = None,
    checkpointer: Checkpointer | None = None,
) -> list[ConflictRun]:
    """Sweep from masses (runs, n, f + 1) until the stress converges."""
    solution = iterate(problem, torch.tensor(starts), max_iter, callback=callback, checkpointer=checkpointer)
    masses = solution.extras["masses"].numpy()
    masses = masses / masses.sum(-1, keepdims=True)
    return [ConflictRun(*run) for run in zip(masses, solution.history, solution.converged.tolist(), strict=True)]


class Shepard(NamedTuple):
    """Conflicts implied by dissimilarities and conflicts of masses, by pair; equal in a perfect fit."""

    phi: Floats
    kappa: Floats


@params.parameters
class ConflictClusterer(params.Restarts, params.FocalParameters, params.Clusters, EvidentialClusterer):
    """An estimator of masses whose conflicts fit the dissimilarities.

    A subclass provides its parameters and ``fit``, which calls ``_fit_to``.
    """

    of_dissimilarities = True
    d0: float | str = params.number(
        "auto",
        "'auto' takes the 0.9 quantile of the dissimilarities.",
        auto="Or give a positive number.",
        above=0,
    )
    n_neighbors: int | None = params.count(None, "100 is plenty; None compares all pairs.", optional=True)
    init: str | CredalPartition | Floats = params.choice(
        "random", ("random",), "Or give a CredalPartition.", or_other=True
    )
    n_init: int = 5
    max_iter: int = 500
    tol: float = 1e-5

    SAVED = expected.rules(
        EvidentialClusterer.SAVED,
        d0_=expected.number(expected.POSITIVE),
    )
    REQUIRED = ("n_features_in_", "focal_sets_", "partition_", "d0_")

    def _linked(self, links: Constraints) -> Linked | None:
        """Return links with their price; None if the estimator ignores links."""
        return None

    def _fit_to(
        self,
        X: ArrayLike,
        request: CheckpointRequest | None,
        must_link: ArrayLike | None = None,
        cannot_link: ArrayLike | None = None,
    ) -> Self:
        callback, c = self._open(X), int(self.n_clusters)
        focal = params.sets_asked_for(c, self.max_cardinality, self.focal_sets)
        d = np.asarray(Dissimilarities().check(self, X, reset=True), dtype=np.float64)
        check_enough(c, len(d))
        links = check_constraints(*by_row(X, must_link, cannot_link), len(d))
        linked = self._linked(links) if any(map(len, links)) else None
        self.d0_: float = self._reference(d)
        rng = check_random_state(self.random_state)
        pairs = self._pairs(len(d), rng)
        starts = self._starts(len(d), len(focal), rng)
        problem = ConflictProblem(degree_of_conflict(d, self.d0_), focal, pairs, linked, float(self.tol))
        with threads(self.n_jobs), self._checkpoints(request, focal, d, links, starts) as checkpointer:
            runs = solved(problem, starts, int(self.max_iter), callback=callback, checkpointer=checkpointer)
        best = int(np.argmin([run.history[-1] for run in runs]))
        self._store(CredalPartition(runs[best].masses, focal))
        self._store_runs(runs, best)
        say_broken(self.partition_, links, "xi", X)
        self._warn_if_unconverged("sweeps", "the stress still falls by more than {tol} (relative) per sweep")
        self._warn_of_masses()
        return self

    @contextmanager
    def _checkpoints(
        self, request: CheckpointRequest | None, focal: FocalSets, d: Floats, links: Constraints, starts: Floats
    ) -> Iterator[Checkpoints | None]:
        """Open the checkpoint file for this fit, with a lock on it."""
        if request is None:
            yield None
            return
        seed = self.random_state
        if self.n_neighbors is not None and not is_whole(seed):
            raise ValueError(
                f"random_state must be a number to resume a fit with n_neighbors; got {seed!r}. Use "
                "random_state=0, for example, so that the same pairs are compared."
            )
        parameters = {k: v for k, v in self.get_params(deep=False).items() if k not in OUTSIDE}
        who = {"estimator": type(self).__name__} | {name: repr(value) for name, value in parameters.items()}
        who |= {
            "n_clusters": str(focal.n_clusters),
            "focal_sets": str(focal.sets),
            "init": digest_of(starts) if params.is_given(self.init) else str(self.init),
            "random_state": repr(seed) if is_whole(seed) else "not fixed",
            "links": digest_of(np.concatenate(links)) + f" {len(links.must_link)}",
            "n_objects": str(len(d)),
            "data": digest_of(d),
        }
        with locked(request.path):
            checkpoints = Checkpoints.open(request, who, torch.device("cpu"))
            checkpoints.enter("starts")
            checkpoints.expect(lambda: torch.tensor(starts[:1]))
            yield checkpoints

    def _reference(self, d: Floats) -> float:
        if self.d0 != "auto":
            return float(self.d0)
        reference = float(np.quantile(d[~np.eye(len(d), dtype=bool)], 0.9)) if len(d) > 1 else 0.0
        return reference if reference > 0 else float(d.max()) or 1.0

    def _pairs(self, n: int, rng: np.random.RandomState) -> ConflictPairs | None:
        k = self.n_neighbors
        return None if k is None or k >= n - 1 else ConflictPairs.random(n, int(k), rng)

    def _starts(self, n: int, f: int, rng: np.random.RandomState) -> Floats:
        """Return initial masses (runs, n, f + 1)."""
        if not params.is_given(self.init):
            return rng.dirichlet(np.ones(f + 1), size=(int(self.n_init), n))
        masses = as_numbers(getattr(self.init, "masses", self.init), "init")
        if masses.shape != (n, f + 1) or (masses < 0).any() or not np.allclose(masses.sum(1), 1.0):
            raise ValueError(
                f"init must hold masses of shape (n, f + 1), here ({n}, {f + 1}), not negative, rows adding up to 1; got "
                f"shape {masses.shape}. Pass a CredalPartition of the same objects on the same focal sets."
            )
        return masses[None]

    def predict_partition(self, X: ArrayLike) -> CredalPartition:
        """Return the credal partition of other objects, with masses fitted to their conflicts with the training objects.

        Parameters
        ----------
        X : array-like of shape (n_new, n)
            Dissimilarities of the new objects to the training objects.

        Returns
        -------
        partition : CredalPartition
        """
        check_is_fitted(self)
        d = np.asarray(Dissimilarities().check(self, X, reset=False), dtype=np.float64)
        plain = self.partition_.masses @ conflict_of(self.focal_sets_)
        q = plain.T @ plain + RIDGE * np.eye(plain.shape[1])
        masses = fit_rows(q, degree_of_conflict(d, self.d0_) @ plain)
        return CredalPartition(masses / masses.sum(1, keepdims=True), self.focal_sets_)

    def shepard(self, X: ArrayLike) -> Shepard:
        """Return the Shepard diagram's data: for every pair i < j, the conflict implied by d and that of the masses.

        Parameters
        ----------
        X : array-like of shape (n, n)
            The dissimilarities given to ``fit``.

        Returns
        -------
        phi, kappa : ndarrays of n (n - 1) / 2 numbers, in the order of ``scipy.spatial.distance.squareform``
        """
        check_is_fitted(self)
        d = np.asarray(Dissimilarities().check(self, X, reset=False), dtype=np.float64)
        masses = self.partition_.masses
        if len(d) != len(masses):
            raise ValueError(
                f"X must be the n x n dissimilarities given to fit, n = {len(masses)}; got shape {d.shape}. Pass all rows."
            )
        check_memory(40.0 * len(d) ** 2, f"the diagram of {len(d)} objects", "Draw some of the pairs instead.")
        i, j = np.triu_indices(len(d), 1)
        kappa = masses @ conflict_of(self.focal_sets_) @ masses.T
        return Shepard(degree_of_conflict(d[i, j], self.d0_), kappa[i, j])
