"""CatECM: evidential c-means for rows of categories (Djiberou Mahamadou, Antoine, Christie and Moreno)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.utils import check_random_state
from torch import Tensor

from softecm.algorithms.base import check_weights, fitted_space, separation
from softecm.algorithms.fitting import Settings, SoftECMFamily, choose, outlier_distance, settings
from softecm.algorithms.model import PrototypeModel
from softecm.algorithms.relational import RELATIONAL, check_enough
from softecm.algorithms.seeding import seed
from softecm.algorithms.solution import Solution
from softecm.belief import FocalSets
from softecm.distances._tables import level_sums
from softecm.distances.base import SemiMetric
from softecm.distances.mismatches import ExpectedMismatches
from softecm.objective import mass_cost, share
from softecm.spaces.base import Space
from softecm.spaces.tables import EncodedTable, Layout


def catecm(
    x: EncodedTable,
    focal: FocalSets,
    init: Tensor,
    *,
    alpha: float = 1.0,
    beta: float = 1.2,
    delta: float | None = None,
    weights: Tensor | None = None,
    max_iter: int = 200,
    tol: float = 1e-4,
) -> Solution:
    r"""Categorical ECM from each of several starts at once.

    A set's weights are the mean of its clusters'. The objective is linear in the weights of one attribute of one cluster,
    so with the masses given the best is to put all weight on one category: for cluster k and attribute l on the category t
    with the largest :math:`\sum_{A \ni \omega_k} |A|^{\alpha-1} \sum_{i: x_{il} = t} m_i(A)^\beta`. Neither step raises the
    objective.

    Parameters
    ----------
    init : Tensor (runs, c, categories)
        The clusters' starting weights.
    weights : Tensor (n,), optional
        How much each object counts.
    """
    runs, _, width = init.shape
    metric = ExpectedMismatches()
    cost = mass_cost(focal, alpha, beta, delta, like=init, runs=1)
    mean = torch.as_tensor(focal.membership / focal.cardinalities[:, None], dtype=init.dtype)  # (f, c)
    modes, found = init, init.clone()
    histories: list[list[float]] = [[] for _ in range(runs)]
    n_iter, converged = np.zeros(runs, dtype=np.int64), np.zeros(runs, dtype=bool)
    active = torch.arange(runs)
    previous: Tensor | None = None
    for iteration in range(max_iter + 1):
        prototypes = (mean @ modes).reshape(-1, width)
        distances = metric.pairwise(x, prototypes).clamp_min(0.0).reshape(len(x), len(active), -1)
        shares = share(distances, cost.factors[0], cost.beta[0], cost.delta2[0])
        objective = (shares.cost if weights is None else shares.cost * weights[:, None]).sum(0)
        found[active] = modes
        index = active.numpy()
        for run, value in zip(index, objective.tolist(), strict=True):
            histories[run].append(value)
        done = torch.zeros(len(active), dtype=torch.bool)
        if previous is not None:
            done = (shares.masses - previous).abs().amax((0, 2)) <= tol
            n_iter[index], converged[index] = iteration, done.numpy()
        if iteration == max_iter or bool(done.all()):
            break
        raised = shares.weights if weights is None else shares.weights * weights[:, None, None]
        raised = raised[:, ~done]
        previous, active, modes = shares.masses[:, ~done], active[~done], modes[~done]
        scores = torch.einsum("fc,nrf->nrc", mean, raised).reshape(len(x), -1)
        modes = _modes(x, scores, modes.reshape(-1, width)).reshape(modes.shape)
    prototypes = mean @ found
    objective_ = np.array([h[-1] for h in histories])
    return Solution(prototypes, objective_, np.zeros(runs), tuple(np.asarray(h) for h in histories), n_iter, converged)


def _modes(x: EncodedTable, scores: Tensor, now: Tensor) -> Tensor:
    """All weight on the best category of each attribute, (n, k), (k, categories) -> (k, categories); ties stay put."""
    layout: Layout = x.layout
    scaled = scores if x.scale is None else scores * x.scale[:, None].to(scores.dtype)
    held = level_sums(x, scaled)[torch.as_tensor(layout.level_slots)].T  # (k, categories)
    modes = torch.zeros_like(now)
    for start, size in zip(layout.starts.tolist(), layout.levels, strict=True):
        part, old = held[:, start : start + size], now[:, start : start + size]
        best = (part + 1e-12 * part.amax(1, keepdim=True) * old).argmax(1)
        modes[torch.arange(len(now)), start + best] = 1.0
    return modes


class CatECM(SoftECMFamily):
    r"""Evidential c-means for categories: a cluster's centre is the mode of every attribute.

    Minimises :math:`\sum_i \sum_A |A|^\alpha m_i(A)^\beta d_{iA} + \delta^2 \sum_i m_i(\emptyset)^\beta` with
    :math:`d_{iA} = \sum_l (1 - \bar w_{Al}(x_{il}))`, the expected number of attributes in which object i differs from the
    centre of A: a set's weights of the categories are the mean of its clusters'.

    This is a consistent form of CatECM, derived from its idea: the same distance in the masses and in the centres, and all
    sets that contain a cluster count for its mode. Public implementations differ from it and from each other (they divide
    the distance by the size of the set, square it, and count single clusters only), and it has not been checked against
    the text of the article.

    Parameters
    ----------
    n_clusters : int, default=2
    alpha : float, default=1.0
        At least 0. Larger keeps mass off large sets.
    beta : float, default=1.2
        Greater than 1. Larger spreads mass over more sets.
    delta : "auto", float or None, default="auto"
        Distance to the empty set; its square is in units of attributes, from 0 to their number. "auto": the square is the
        0.95 quantile of the distances to the modes of all objects. None: no outliers.
    max_cardinality : int or None, default=2
        Largest set considered; None: all 2^c.
    focal_sets : "simple", "full", list of tuples or FocalSets, optional
        The sets themselves; overrides ``max_cardinality``.
    init : "k-means++", "random" or a table of c rows, default="k-means++"
    n_init : int, default=20
        Number of starts, computed as one batch; the lowest objective is kept. Local minima are frequent with categories.
    max_iter : int, default=200
    tol : float, default=1e-4
        A run has converged when no mass moves by more than this.
    n_jobs : int, optional
        Threads.
    random_state : int, RandomState or None

    Attributes
    ----------
    partition_ : CredalPartition
    prototypes_ : table of shape (f, attributes)
        The most probable category of every attribute; for a set whose clusters disagree, one of theirs.
    labels_, outlier_scores_, focal_sets_, cluster_centers_, objective_, history_, runs_, n_iter_, converged_,
    separation_, collapsed_, delta_, n_features_in_, feature_names_in_ : as for :class:`SoftECM`

    Notes
    -----
    Takes a data frame, or an array or nested list of strings, booleans or numbers; numbers are categories too. A missing
    cell (None, NaN) is left out of an object's distances, and the rest is scaled up for it.

    Examples
    --------
    >>> from softecm import CatECM
    >>> rows = [["red", "round"], ["red", "round"], ["red", "oval"], ["blue", "long"], ["blue", "long"], ["blue", None]]
    >>> catecm = CatECM(2, random_state=0).fit(rows)
    >>> sorted(catecm.cluster_centers_.tolist())
    [['blue', 'long'], ['red', 'round']]

    References
    ----------
    A. J. Djiberou Mahamadou, V. Antoine, G. J. Christie and S. Moreno, "Evidential clustering for categorical data",
    FUZZ-IEEE 2019.
    """

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        alpha: float = 1.0,
        beta: float = 1.2,
        delta: float | str | None = "auto",
        max_cardinality: int | None = 2,
        focal_sets: Any = None,
        init: Any = "k-means++",
        n_init: int = 20,
        max_iter: int = 200,
        tol: float = 1e-4,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.max_cardinality = max_cardinality
        self.focal_sets = focal_sets
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags

    def _settings(self) -> Settings:
        given = self.get_params(deep=False)
        return settings(**given, **RELATIONAL, metric=ExpectedMismatches(), relaxation="exact")

    def _fit(self, chosen: Settings, metric: SemiMetric, space: Space, raw: Any, sample_weight: Any) -> None:
        space = fitted_space(space, raw, getattr(self, "feature_names_in_", None), chosen.dtype)
        x: EncodedTable = space.encode(raw)
        n, c = len(x), chosen.n_clusters
        check_enough(c, n)
        counts = np.ones(n) if sample_weight is None else check_weights(sample_weight, raw)
        weights = None if sample_weight is None else torch.as_tensor(counts)
        center = _modes(x, torch.as_tensor(counts)[:, None], torch.zeros(1, x.layout.width, dtype=torch.float64))
        from_center = metric.pairwise(x, center)[:, 0].numpy()
        self.delta_ = outlier_distance(chosen.delta, from_center, counts)
        prices: dict[str, Any] = {"alpha": chosen.alpha, "beta": chosen.beta, "delta": self.delta_}
        if isinstance(chosen.init, str):
            rng = check_random_state(chosen.random_state)
            start = seed(chosen.init, metric, space, x, counts, c, chosen.n_init, rng)
        else:
            start = space.encode_prototypes(chosen.init)[None]
            if start.shape[1] != c:
                raise ValueError(f"init must have one row a cluster, {c}; got {start.shape[1]}. Give {c} rows.")
        solution = catecm(x, chosen.focal, start, **prices, weights=weights, max_iter=chosen.max_iter, tol=chosen.tol)
        spread = float(np.average(from_center, weights=counts))
        clusters = solution.prototypes[:, :c]
        shared = torch.einsum("rkw,rlw->rkl", clusters, clusters)  # attributes in which two modes agree
        apart = np.array([separation((len(x.layout.levels) - s).clamp_min(0.0).numpy(), spread) for s in shared])
        best = choose(solution.objective, apart)
        self.model_ = PrototypeModel(metric, space, chosen.focal, solution.prototypes[best].clone(), **prices, tie=0.0)
        self._store(self.model_.partition(x))
        self._store_runs(solution, best, apart)
