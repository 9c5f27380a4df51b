r"""TECM: transfer evidential c-means, with the centres of an earlier, similar data set (Jiao and others; Zhou and others).

A centre :math:`s_B` of the source acts like an object with a weight for each set of clusters: the term
:math:`\sum_A \sum_B W_{AB} \|\bar v_A - s_B\|^2` adds to the sums of weights and of weighted objects from which ECM's
centres are solved. The three published forms differ only in W, which is optimal for the present centres.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from softecm._checks import plain_array
from softecm.algorithms.family import PrototypeFamily
from softecm.algorithms.parameters import checked, choice, number, parameters
from softecm.algorithms.quadratic import CentersProblem, VectorAlgorithm, means_of
from softecm.belief.focal import FocalSets
from softecm.distances.base import SemiMetric
from softecm.distances.estimator_metrics import Anchored, twice
from softecm.distances.squared_euclidean import SquaredEuclidean
from softecm.fit.algorithm import RunBatch
from softecm.fit.loop import Solution
from softecm.fit.prepare import Objects
from softecm.fit.settings import Init, Settings, settings
from softecm.objective.equations import MassCost, share
from softecm.optim import Evaluation
from softecm.spaces.base import LARGEST

SETS, MATCHED, CLUSTERS = "sets", "matched", "clusters"
FORMS = (SETS, MATCHED, CLUSTERS)


@dataclass(frozen=True)
class Transfer:
    """Centres of the source, or of its sets, and their weights."""

    points: Tensor  # (b, p)
    form: str
    weight: float  # of a squared difference
    eta: float = 2.0  # exponent of the shares in the form "clusters"

    def pulls(self, prototypes: Tensor, cost: MassCost, n_clusters: int) -> tuple[Tensor, Tensor]:
        """Return weights (runs, f, b) with which the points attract the sets (runs, f, p), and the shares behind them."""
        squares = (prototypes[:, :, None] - self.points).square().sum(-1)  # (runs, f, b)
        runs, f, b = squares.shape
        nowhere = torch.full_like(cost.beta, torch.inf)
        if self.form == SETS:  # each set is shared among the points
            shared = share(squares.transpose(0, 1), squares.new_ones(b), cost.beta, nowhere)
            prices = self.weight * cost.factors[..., None]
            return prices * shared.weights.transpose(0, 1), shared.masses[..., 1:].transpose(0, 1)
        weights = squares.new_zeros(runs, f, b)
        if self.form == MATCHED:
            shares = torch.eye(n_clusters, dtype=squares.dtype, device=squares.device).expand(runs, -1, -1)
            weights[:, :n_clusters] = self.weight * shares
            return weights, shares
        rows = squares[:, :n_clusters].permute(2, 0, 1)  # each point is shared among the clusters
        shared = share(rows, rows.new_ones(n_clusters), torch.full_like(cost.beta, self.eta), nowhere)
        weights[:, :n_clusters] = self.weight * shared.weights.permute(1, 2, 0)
        return weights, shared.masses[..., 1:].transpose(0, 1)

    def price(self, prototypes: Tensor, weights: Tensor) -> Tensor:
        """Return the transfer term of the objective (runs,)."""
        return (weights * (prototypes[:, :, None] - self.points).square().sum(-1)).sum((1, 2))


@dataclass(frozen=True)
class TransferProblem(CentersProblem):
    """ECM's problem with a transfer term, and optionally distances to the source."""

    transfer: Transfer | None = None
    anchors: Tensor | None = None  # (f, p), if distances to the source count; ``x`` is then (n, 2p)
    beside: float = 0.0  # their weight

    def lifted(self, free: Tensor, middle: Tensor) -> Tensor:
        """Append the source's prototypes if distances to them count."""
        return middle if self.anchors is None else twice(middle, self.anchors.expand_as(middle), self.beside)

    def pulled(self, middle: Tensor, evaluation: Evaluation) -> tuple[Evaluation, Tensor]:
        """Add the transfer term with optimal weights to the sums."""
        if self.transfer is None:
            return super().pulled(middle, evaluation)
        curvature, moment = evaluation.sums
        pulls, _ = self.transfer.pulls(middle, self.cost, self.mean.shape[1])
        curvature, moment = curvature + pulls.sum(-1, keepdim=True), moment + pulls @ self.transfer.points
        return replace(evaluation, curvature=curvature, moment=moment), self.transfer.price(middle, pulls)


@dataclass(frozen=True)
class TECMAlgorithm(VectorAlgorithm):
    """ECM with a source: its centres, the weight of each and the form."""

    source: tuple[tuple[float, ...], ...] = ()
    transfer: float = 1.0
    form: str = SETS
    eta: float = 2.0
    beside: float = 0.0

    def from_center(self, objects: Objects[Tensor]) -> NDArray[np.float64]:
        """Return the distances of all vector algorithms; raises ValueError if the source has other columns."""
        p = objects.x.shape[1]
        if self.source and len(self.source[0]) != p:
            raise ValueError(
                f"source must have the columns of X, {p}; got {len(self.source[0])}. Pass the centres of an "
                "earlier clustering of the same columns."
            )
        return super().from_center(objects)

    def problem(self, batch: RunBatch[Tensor]) -> TransferProblem:
        """Return the problem for objects in memory."""
        objects, chosen, like, cost = batch.objects, batch.settings, batch.start, batch.cost()
        mean = means_of(chosen.focal, like)
        if not self.source:
            return TransferProblem(objects.x, cost, mean, chosen.tol)
        centers = points = torch.tensor(self.source).to(like)
        if self.form == SETS:
            points = means_of(source_sets(chosen.focal, len(centers)), like) @ centers
        pull = Transfer(points, self.form, self.transfer * objects.weight / chosen.n_clusters, self.eta)
        if not self.beside:
            return TransferProblem(objects.x, cost, mean, chosen.tol, pull)
        lifted = twice(objects.x, objects.x, self.beside)
        return TransferProblem(lifted, cost, mean, chosen.tol, pull, mean @ centers, self.beside)

    def prototypes_of(self, objects: Objects[Tensor], solution: Solution, run: int) -> Tensor:
        """Return the prototypes without the source's centres."""
        return solution.prototypes[run, :, : objects.x.shape[1]].cpu()

    def metric_of(self, objects: Objects[Tensor], chosen: Settings, solution: Solution, run: int) -> SemiMetric:
        """Return the objects' metric, or one that adds distances to the source's centres."""
        if not self.source or not self.beside:
            return objects.metric
        like = solution.prototypes.cpu()
        return Anchored(means_of(chosen.focal, like) @ torch.tensor(self.source).to(like), self.beside)


def source_sets(focal: FocalSets, n_clusters: int) -> FocalSets:
    """Return the source's sets: all if the target has all, else up to the size of the target's largest."""
    if len(focal) == 2**focal.n_clusters - 1 > 1:
        return FocalSets.full(n_clusters)
    return FocalSets.up_to(n_clusters, min(int(focal.cardinalities.max()), n_clusters))


@parameters
class TECM(PrototypeFamily):
    r"""Transfer evidential c-means: uses the centres of an earlier clustering to cluster few or noisy objects.

    The objects to be clustered (the *target*) may be too few or too noisy to show their groups, while a similar, larger data
    set (the *source*) has been clustered before. Only its centres :math:`s_k` are needed. ECM's objective gets the term

    .. math:: \lambda \sum_A \sum_B |A|^\alpha r_{AB}^\beta \|\bar v_A - \bar s_B\|^2, \qquad \sum_B r_{AB} = 1,

    where A are the sets of the target, B those of the source, and the shares r, which are learned, match the former to the
    latter: the source may have other clusters, or another number of them. An iteration updates masses and shares, then
    centres; the objective never rises. Without a source this is :class:`ECM`.

    Parameters
    ----------
    n_clusters : int, default=2
    source : array of shape (clusters of the source, p), optional
        Its centres, such as the ``cluster_centers_`` of an earlier model of the same columns.
    transfer : float, default=0.2
        At least 0: weight of a centre of the source, in units of the number of objects of an average cluster;
        :math:`\lambda` is this times n / ``n_clusters``. 0 only initializes there.
    form : "sets", "clusters" or "matched", default="sets"
        "sets": as above (Jiao and others). "clusters": each cluster of the source is distributed over the target's,
        :math:`\lambda \sum_{jk} r_{jk}^\eta \|v_k - s_j\|^2` with :math:`\sum_k r_{jk} = 1` (ETECM of Zhou and others):
        every cluster of the source pulls on some cluster, even if it has vanished. "matched": cluster k is matched to the
        source's cluster k, :math:`\lambda \sum_k \|v_k - s_k\|^2` (TECM of Zhou and others).
    beside : float, default=1.0
        With "matched", at least 0: weight of the objects' squared distances to the source's centres relative to
        those to the target's (the article's :math:`\beta_1`). 0: the ``prior`` of :meth:`ECM.fit`.
    eta : float, default=2.0
        Greater than 1: the exponent of the shares with "clusters".
    beta : float, default=2.0
        Greater than 1. Larger values spread mass over more sets. With many columns 2 may pull all prototypes together:
        use 1.2 there.
    delta : "auto", float or None, default="auto"
        Distance to the empty set; the objective has its square. "auto": median plus five deviations of the root distances
        to the nearest cluster, after a first stage (found value in ``delta_``). None: no outliers. With "matched" it is for
        both distances together: :math:`\delta^2 = \delta_1^2 + \beta_1 \delta_s^2`.
    focal_sets : "auto", "simple", "full", list of tuples or FocalSets, default="auto"
        The sets that get masses. "auto": each cluster and each pair of neighbouring clusters; "full": all
        2^c, as in the article. Not together with ``max_cardinality``.
    init : "auto", "k-means++", "random" or array of shape (c, p), default="auto"
        "auto": at the source's centres if their number equals that of the clusters here, else single clusters first,
        robustly (:mod:`softecm.fit.stages`).
    n_init : int, default=10
        Number of restarts, if the initialization is random; the lowest objective wins.
    alpha, max_cardinality, max_iter, tol, device, dtype, n_jobs : as for :class:`SoftECM`
    warm_start, callback, random_state, verbose : as for :class:`SoftECM`

    Attributes
    ----------
    partition_ : CredalPartition
    shares_ : ndarray
        The shares: a row for each set of the target and a column for each set of the source, by cardinality, then in order;
        with "clusters" a row for each cluster of the source and a column for each of the target. Rows add up to 1.
    labels_, outlier_scores_, focal_sets_, prototypes_, cluster_centers_, objective_ : as for :class:`SoftECM`
    history_, runs_, n_iter_, converged_, separation_, collapsed_, delta_ : as for :class:`SoftECM`
    n_features_in_, feature_names_in_ : as for :class:`SoftECM`

    Notes
    -----
    The updates are those of the authors' programs (MATLAB for "sets", R for the others), except that R's ETECM has the
    shares themselves on the diagonal of its system, so that its objective rises; here they are raised to ``eta``, which
    minimises it. They have not been compared with the articles.

    Two sets may move to the same centre of the source, and a source with other groups misleads: compare with
    ``transfer=0``. For other metrics ``SoftECM.fit(X, prior=model)`` corresponds to matched clusters.

    Examples
    --------
    A few overlapping objects, with knowledge from many:

    >>> import numpy as np
    >>> from softecm import ECM, TECM
    >>> rng = np.random.default_rng(0)
    >>> many = np.repeat([[0.0, 0.0], [4.0, 0.0]], 200, axis=0) + rng.normal(size=(400, 2))
    >>> few = np.repeat([[0.2, 0.0], [4.2, 0.0]], 6, axis=0) + 1.5 * rng.normal(size=(12, 2))
    >>> known = ECM(2, random_state=0).fit(many).cluster_centers_
    >>> tecm = TECM(2, source=known, random_state=0).fit(few)
    >>> bool(np.abs(tecm.cluster_centers_ - known).max() < 1)
    True
    >>> tecm.shares_[:2].argmax(1).tolist()
    [0, 1]

    References
    ----------
    L. Jiao, F. Wang, Z. Liu and Q. Pan, "TECM: transfer learning-based evidential c-means clustering", Knowledge-Based
    Systems 257, 2022. K. Zhou and others, International Journal of Approximate Reasoning, 2022 (TECM and ETECM).
    """

    suits = "numbers; reuses the centres of an earlier clustering (in Python)"

    source: ArrayLike | None = None
    transfer: float = number(
        0.2,
        "0.2 counts a centre of the source as much as a fifth of an average cluster's objects; 0 ignores it.",
        least=0,
    )
    form: str = choice("sets", FORMS, "'sets' infers which sets correspond.")
    beside: float = number(1.0, "1 counts both distances alike; 0 the new one only.", least=0)
    eta: float = number(2.0, "2 is usual.", above=1)

    def _settings(self) -> Settings:
        chosen = settings(checked(self))
        algorithm = self._algorithm(SquaredEuclidean())
        many = len(algorithm.source)
        if many and algorithm.form == MATCHED and many != chosen.n_clusters:
            raise ValueError(
                f"source must have a centre for each of n_clusters={chosen.n_clusters} with form='matched'; got {many}. "
                "Use form='sets' or 'clusters', which infer what corresponds."
            )
        at_source = chosen.init.staged and many == chosen.n_clusters
        return replace(chosen, init=Init(np.array(algorithm.source))) if at_source else chosen

    def _algorithm(self, metric: SemiMetric) -> TECMAlgorithm:
        beside = float(self.beside) if self.form == MATCHED else 0.0
        return TECMAlgorithm(centers_of(self.source), float(self.transfer), self.form, float(self.eta), beside)

    @property
    def shares_(self) -> NDArray[np.float64]:
        """Shares that match the sets of the target to those of the source."""
        check_is_fitted(self)
        source, model = centers_of(self.source), self.model_
        if not source:
            raise AttributeError("shares_ is for a fit with a source: give the centres of an earlier clustering.")
        points = torch.tensor(source).to(model.prototypes)
        if self.form == SETS:
            points = means_of(source_sets(model.focal, len(source)), points) @ points
        pull = Transfer(points, self.form, 1.0, float(self.eta))
        shares: NDArray[np.float64] = pull.pulls(model.prototypes[None], model.cost(), model.focal.n_clusters)[1][
            0
        ].numpy()
        return shares


def centers_of(source: ArrayLike | None) -> tuple[tuple[float, ...], ...]:
    """Return the source's centres as tuples of floats; empty without a source."""
    if source is None:
        return ()
    try:
        rows = plain_array(source, "source", np.float64)
    except (TypeError, ValueError, OverflowError):
        rows = np.zeros(0)
    if rows.ndim != 2 or not rows.size or not (np.abs(rows) <= LARGEST).all():
        got = f"an array of shape {rows.shape}" if hasattr(source, "shape") else type(source).__name__
        raise ValueError(
            f"source must hold finite numbers, one row per cluster of the earlier clustering; got {got}. Pass the "
            "cluster_centers_ of a fitted model."
        )
    return tuple(map(tuple, rows.tolist()))
