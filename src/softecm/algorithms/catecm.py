"""CatECM: evidential c-means for rows of categories (Djiberou Mahamadou, Antoine, Christie and Moreno)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import Tags
from torch import Tensor

from softecm.algorithms.family import PrototypeFamily
from softecm.algorithms.parameters import checked, parameters
from softecm.belief import FocalSets
from softecm.distances._tables import level_sums
from softecm.distances.base import SemiMetric
from softecm.distances.estimator_metrics import ExpectedMismatches
from softecm.fit.algorithm import Algorithm, RunBatch
from softecm.fit.loop import Solution
from softecm.fit.prepare import Objects
from softecm.fit.settings import Settings, settings
from softecm.objective.equations import MassCost
from softecm.optim import Batch, PlainProblem, PlainState
from softecm.spaces.encoded import EncodedTable, Layout


@dataclass(frozen=True)
class ModeState(PlainState):
    """A batch of runs: the clusters' modes with their masses."""

    modes: Tensor  # (runs, c, categories)
    prototypes: Tensor  # (runs, f, categories)
    masses: Tensor  # (runs, n, f + 1)
    weights: Tensor  # (runs, n, f)
    objective: Tensor  # (runs,)
    change: Tensor  # (runs,)
    SUFFICIENT: ClassVar[tuple[str, ...]] = ("modes",)


@dataclass(frozen=True)
class ModeProblem(PlainProblem):
    r"""Categorical ECM for a batch of runs.

    A set's weights are the mean of its clusters'. The objective is linear in the weights of one attribute of one
    cluster, so given the masses it is optimal to put all weight on one category: for cluster k and attribute l, the
    category t with the largest :math:`\sum_{A \ni \omega_k} |A|^{\alpha-1} \sum_{i: x_{il} = t} m_i(A)^\beta`. Neither
    step raises the objective.
    """

    x: EncodedTable
    focal: FocalSets
    cost: MassCost
    tol: float
    metric: ClassVar[SemiMetric] = ExpectedMismatches()
    state_type: ClassVar[type[Batch]] = ModeState

    @property
    def mean(self) -> Tensor:
        """Row A averages the clusters of A: (f, c)."""
        return torch.tensor(self.focal.shares, dtype=self.cost.factors.dtype)

    def begin(self, start: Tensor) -> ModeState:
        """Initialize from the clusters' weights of the categories (runs, c, categories)."""
        return self.at(start[:, : self.focal.n_clusters], None)

    def step(self, state: ModeState) -> ModeState:
        """Update modes, then masses."""
        n, width = len(self.x), state.modes.shape[-1]
        scores = torch.einsum("fc,rnf->nrc", self.mean, state.weights).reshape(n, -1)
        modes = _modes(self.x, scores, state.modes.reshape(-1, width)).reshape(state.modes.shape)
        return self.at(modes, state)

    def at(self, modes: Tensor, before: ModeState | None) -> ModeState:
        """Compute masses and objective at the given modes."""
        prototypes = self.mean @ modes
        distances = self.metric.pairwise(self.x, prototypes.flatten(0, 1)).clamp_min(0.0)
        distances = distances.reshape(len(self.x), *prototypes.shape[:2]).transpose(0, 1)
        return ModeState(modes, prototypes, *self.cost.step(distances, None if before is None else before.masses))


def _modes(x: EncodedTable, scores: Tensor, now: Tensor) -> Tensor:
    """Put all weight on each attribute's best category, (n, k), (k, categories) -> (k, categories); ties keep ``now``."""
    layout: Layout = x.layout
    scaled = scores if x.scale is None else scores * x.scale[:, None].to(scores.dtype)
    held = level_sums(x, scaled)[torch.as_tensor(layout.level_slots)].T  # (k, categories)
    modes = torch.zeros_like(now)
    for start, size in zip(layout.starts.tolist(), layout.levels, strict=True):
        part, old = held[:, start : start + size], now[:, start : start + size]
        best = (part + 1e-12 * part.amax(1, keepdim=True) * old).argmax(1)
        modes[torch.arange(len(now)), start + best] = 1.0
    return modes


@dataclass(frozen=True)
class CategoricalECM(Algorithm[EncodedTable]):
    """CatECM, with modes as centres."""

    cpu_only: ClassVar[str] = "CatECM"

    def from_center(self, objects: Objects[EncodedTable]) -> NDArray[np.float64]:
        """Return the expected mismatches (n,) with the modes of all objects."""
        x, weights = objects.x, objects.weights
        counts = torch.ones(len(x), dtype=torch.float64) if weights is None else weights.double()
        center = _modes(x, counts[:, None], torch.zeros(1, x.layout.width, dtype=torch.float64))
        return objects.metric.pairwise(x, center)[:, 0].numpy()

    def problem(self, batch: RunBatch[EncodedTable]) -> ModeProblem:
        """Return the problem for a table in memory."""
        return ModeProblem(batch.objects.x, batch.settings.focal, batch.cost(), batch.settings.tol)

    def between(self, objects: Objects[EncodedTable], solution: Solution, n_clusters: int) -> list[NDArray[np.float64]]:
        """Return the number of attributes in which modes differ."""
        clusters = solution.prototypes[:, :n_clusters]
        shared = torch.einsum("rkw,rlw->rkl", clusters, clusters)
        return [(len(objects.x.layout.levels) - s).clamp_min(0.0).numpy() for s in shared]


@parameters
class CatECM(PrototypeFamily):
    r"""Evidential c-means for categorical data: a cluster's centre is the mode of every attribute.

    Minimises :math:`\sum_i \sum_A |A|^\alpha m_i(A)^\beta d_{iA} + \delta^2 \sum_i m_i(\emptyset)^\beta` with
    :math:`d_{iA} = \sum_l (1 - \bar w_{Al}(x_{il}))`, the expected number of attributes in which object i differs from the
    centre of A; the category weights of a set are the mean of its clusters'.

    This is a consistent form of CatECM: masses and centres use the same distance, and all sets that contain a cluster
    count for its mode. Public implementations differ from it and from each other (they divide the distance by the size of
    the set, square it, and count single clusters only). It has not been checked against the article.

    Parameters
    ----------
    n_clusters : int, default=2
    beta : float, default=1.2
        Greater than 1. Larger values spread mass over more sets.
    init : "auto", "k-means++", "random" or a table of c rows, default="auto"
        "auto": outlier-robust initialization of single clusters (:mod:`softecm.fit.stages`). "k-means++" and "random"
        initialize all sets at once.
    n_init : int, default=20
        Number of restarts, computed as one batch; the lowest objective wins. Local minima are frequent with categories.
    alpha, delta, max_cardinality, focal_sets, max_iter, tol, n_jobs, warm_start : as for :class:`SoftECM`
    callback, random_state, verbose : as for :class:`SoftECM`

    Attributes
    ----------
    partition_ : CredalPartition
    prototypes_ : table of shape (f, attributes)
        The most probable category of every attribute; for a set whose clusters disagree, one of theirs.
    labels_, outlier_scores_, focal_sets_, cluster_centers_, objective_, history_ : as for :class:`SoftECM`
    runs_, n_iter_, converged_, separation_, collapsed_, delta_, n_features_in_ : as for :class:`SoftECM`
    feature_names_in_ : as for :class:`SoftECM`

    Notes
    -----
    Takes a data frame, or an array or nested list of strings, booleans or numbers; numbers are treated as
    categories. Missing cells (None, NaN) are skipped, and the other cells scaled up in proportion.

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

    suits = "categories"

    beta: float = 1.2
    n_init: int = 20
    device: str = field(default="auto", init=False)
    dtype: str = field(default="float64", init=False)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags

    def _settings(self) -> Settings:
        return settings(checked(self), metric=ExpectedMismatches())

    def _algorithm(self, metric: SemiMetric) -> CategoricalECM:
        return CategoricalECM()
