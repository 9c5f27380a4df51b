"""The fit shared by all algorithms that define a problem for the common loop."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from softecm._checks import check_number
from softecm._engine import threads
from softecm._warnings import DriftWarning, NumberOfGroupsWarning, ViewWarning, warn
from softecm._wording import option
from softecm.algorithms.base import PrototypeClusterer
from softecm.algorithms.parameters import FamilyParameters, checked
from softecm.belief import CredalPartition
from softecm.constraints import groups_of_labels, links_of_labels, partial_labels, warn_of_labels
from softecm.distances.auto import AUTO, UNITS, MetricChoice, choose_for, resolve_metric
from softecm.distances.base import SemiMetric
from softecm.distances.mahalanobis import Mahalanobis
from softecm.distances.mixed import Mixed
from softecm.files import expected
from softecm.files.values import own
from softecm.fit import group_shapes, learning
from softecm.fit.algorithm import Algorithm, Fit
from softecm.fit.fitting import doubt_of_number, fit_cells
from softecm.fit.group_shapes import Fitted, GroupShape
from softecm.fit.learning import FAR, Jump, Past
from softecm.fit.loop import MERGED, runs_table
from softecm.fit.prepare import Objects, in_memory
from softecm.fit.settings import CheckpointRequest, Prior, PrototypeModel, Settings, settings
from softecm.fit.shape_mixture import OWN, Floats
from softecm.fit.stages import sample_size
from softecm.objective.linked import WeightedPairs, say_broken, with_linked
from softecm.objective.problem import Penalty
from softecm.spaces.column_roles import by_row
from softecm.spaces.raw import RawArray, RawData, ids_of, raw_data
from softecm.spaces.views import n_objects

if TYPE_CHECKING:
    from softecm.belief.totals import PartitionTotals

LOOKED_AT = 2000  # objects that a metric's checks of the clusters use


def _as_earlier(choice: MetricChoice, earlier: PrototypeModel) -> MetricChoice:
    """Use the metric of an earlier model; a fit with a shape per group begins with equal spheres."""
    last, mixed = earlier.metric, Mixed(weights=None)
    if isinstance(last, Mixed) and last.weights == AUTO:
        mixed = Mixed(log_features=last.log_features)
    named = {"sqeuclidean": "sqeuclidean", "set-quadratic": "sqeuclidean", "mixed": mixed, "mahalanobis": last}
    metric = named.get(last.name)
    return choice if metric is None else replace(choice, metric=metric, reason=group_shapes.EARLIER)


def _in_shape(choice: MetricChoice, shape: GroupShape) -> MetricChoice:
    """Return the metric of a shape shared by all groups, or the initial metric if each group has its own."""
    metric: object = Mixed(weights=None) if shape.shape == "scaled" else "sqeuclidean"
    if shape.shape in ("columns", "ellipse"):
        metric = Mahalanobis(shape.covariances[0])
    return replace(choice, metric=metric, reason=group_shapes.REASONS[shape.shape])


class PrototypeFamily(FamilyParameters, PrototypeClusterer):
    """Base class of the estimators that share this fit; a subclass validates parameters and names its algorithm."""

    takes_gaps = True
    weight_of_links = "constraint_weight"  # parameter to raise so that more links are obeyed
    #: Whether fits that differ only in alpha, beta, delta, lam or seed can be solved as one batch.
    batches = True

    def _settings(self) -> Settings:
        """Return the validated parameters."""
        return settings(checked(self))

    @abstractmethod
    def _algorithm(self, metric: SemiMetric) -> Algorithm[Any]:
        """Return the algorithm for this metric."""

    def fit(
        self,
        X: Any,
        y: object = None,
        sample_weight: Any = None,
        *,
        checkpoint: Any = None,
        checkpoint_every: int = 10,
        resume: Any = None,
    ) -> Self:
        """Fit the prototypes and the credal partition.

        Parameters
        ----------
        X : array-like of shape (n, p), or other data that the metric supports
        y : ignored, with a warning if only some labels are known
        sample_weight : array-like of shape (n,), optional
            Weight of each object; 2 is the same as repeating it.
        checkpoint : path, optional
            File for the state of the fit, written every ``checkpoint_every`` iterations and on interruption.
        checkpoint_every : int, default=10
        resume : path, optional
            Checkpoint to continue from, with the same result as without the interruption; it keeps being updated.

        Returns
        -------
        self
        """
        warn_of_labels(y, type(self).__name__)
        request = CheckpointRequest.of(checkpoint, checkpoint_every, resume)
        return self._fit_to(replace(self._settings(), checkpoint_request=request), X, sample_weight)

    def _fit_to(self, chosen: Settings, X: object, sample_weight: object) -> Self:
        raw = raw_data(X)
        with ExitStack() as held:
            if raw.in_blocks:
                choice, fit, shape = self._opened(held, chosen, raw.value, sample_weight)
            else:
                held.enter_context(threads(chosen.n_jobs, small=raw.kind == "series"))
                choice = choose_for(chosen.metric, raw, chosen.n_clusters)
                if chosen.warm_start or chosen.prior is not None:
                    chosen, choice = self._continuing(chosen, choice)
                fit, shape = self._prepared(choice, chosen, raw, sample_weight), None
            fitted = self._fitted(choice, fit)
            if not raw.in_blocks:
                fitted = self.in_shape(fitted, chosen, raw, sample_weight)
            elif shape is not None and shape.shape in OWN:
                fitted = _with_own_shapes(fitted, choice, shape, fit.settings)
            totals = None if fitted.objects.are_here else fitted.partition.totals()
        self._adopt(fitted, None if raw.in_blocks else raw.ids(fitted.choice.left_out))
        self.left_out_ = dict(fitted.choice.left_out)
        if "metric" in self.get_params(deep=False):
            self.metric_reason_ = "; ".join(filter(None, (fitted.choice.reason, fitted.model.metric.finding)))
        self._warn(fitted, fit.settings, raw, totals)
        return self

    def _warn(self, fitted: Fitted, chosen: Settings, raw: RawData, totals: PartitionTotals | None) -> None:
        """Warn about problems of a fit; ``totals`` summarize a partition that is in blocks."""
        objects, outcome, partition, metric = fitted.objects, fitted.outcome, fitted.partition, fitted.model.metric
        if outcome.links is not None:
            say_broken(partition, outcome.links.pairs(), self.weight_of_links, raw)
        self._warn_if_unconverged()
        if self.collapsed_:
            different = objects.distinct(outcome.chosen.n_clusters)
            self._warn_if_merged(remedy(outcome.chosen, len(partition), different))
        elif totals is not None:
            self._warn_of_masses(totals.held, totals.objects[0] / totals.n_objects)
        else:
            self._warn_of_masses(None, float(objects.counts[partition.outliers()].sum()) / objects.weight)
        if totals is not None:
            return
        if not (self.collapsed_ or chosen.seeds or chosen.pairs is not None or chosen.prior is not None):
            doubt = doubt_of_number(objects, fitted.model, partition)
            if doubt is not None:
                self._doubt_of_number: str | None = f"with {option('n_clusters', chosen.n_clusters)}, {doubt}"
                warn(self._doubt_of_number, NumberOfGroupsWarning)
        if metric.has_doubts:
            few = objects.sample(LOOKED_AT) if len(objects) > LOOKED_AT else objects
            for doubt in metric.doubts(few.x.cpu(), fitted.model.prototypes[: self.focal_sets_.n_clusters]):
                warn(doubt, ViewWarning)

    def _prepared(self, choice: MetricChoice, chosen: Settings, raw: RawData, sample_weight: object) -> Fit:
        """Return a ``Fit`` of the encoded objects with this metric."""
        metric = resolve_metric(choice.metric, None)
        algorithm, rows = self._algorithm(metric), raw.without(choice.left_out)
        objects = in_memory(algorithm, chosen, metric, self, rows, sample_weight, runs=chosen.n_init)
        return Fit(algorithm, objects, chosen, chosen.callback)

    def _fitted(self, choice: MetricChoice, fit: Fit) -> Fitted:
        """Fit once, and return the model and the partition."""
        objects: Any = fit.objects
        last = getattr(self, "model_", None)
        (outcome,) = fit_cells(fit, [fit.settings], owner=type(self).__name__, last=last)
        model = fit.model_of(outcome)
        partition = model.partition(objects.x.cpu()) if objects.are_here else objects.partition(model)
        if outcome.links is not None and "masses" in outcome.solution.extras:
            partition = with_linked(partition, outcome.links, outcome.solution.extras["masses"], outcome.best)
        return Fitted(choice, objects, outcome, model, partition)

    def _continuing(self, chosen: Settings, choice: MetricChoice) -> tuple[Settings, MetricChoice]:
        """Use the metric of the earlier model if the fit continues from one that was fitted to numbers."""
        last = getattr(self, "model_", None) if chosen.warm_start and chosen.prior is None else None
        earlier = last if chosen.prior is None else chosen.prior.model
        if earlier is None or not group_shapes.may_be_shaped(chosen, choice):
            return chosen, choice
        if last is not None and last.metric.name == "set-quadratic":  # its delta is in units of its shapes
            chosen = replace(chosen, prior=Prior(last, 0.0))
        return chosen, _as_earlier(choice, earlier)

    def in_shape(self, fitted: Fitted, chosen: Settings, raw: RawData, sample_weight: object) -> Fitted:
        """Refit with the groups' shape if the data support a shape other than equal spheres.

        Every fit in memory ends here: single fits, cells of a sweep, fits with links or from a checkpoint.
        """
        earlier = chosen.prior if fitted.choice.reason == group_shapes.EARLIER else None
        shapes = earlier is not None or group_shapes.may_be_shaped(chosen, fitted.choice)
        converged = fitted.outcome.solution.converged[fitted.outcome.best]  # False if the fit was interrupted
        numbers = raw.without(fitted.choice.left_out).numbers() if shapes and converged else None
        if numbers is None:
            return fitted
        columns = list(numbers.values())
        positive = earlier is None and max(map(np.min, columns)) > 0.0
        if positive and (logs := group_shapes.by_logarithms(numbers, fitted.objects, chosen.n_clusters)):
            choice = replace(fitted.choice, metric=Mixed(log_features=logs), reason=group_shapes.LOGARITHMS).tell()
            again = replace(chosen, callback=None, checkpoint_request=None)
            return self._fitted(choice, self._prepared(choice, again, raw, sample_weight))
        if earlier is None:
            shape = group_shapes.suggested(columns, fitted, chosen, partial(self._labels_by_spheres, chosen))
        else:
            pull = earlier.weight / chosen.n_clusters
            shape = group_shapes.of_earlier(earlier.model, columns, fitted.partition, fitted.objects, pull)
        return fitted if shape is None else self._shaped(fitted, shape, chosen, raw, sample_weight)

    def _labels_by_spheres(self, chosen: Settings, x: Floats, counts: Floats) -> NDArray[np.int64]:
        """Return the clusters (n,) of a fit with equal spheres to unscaled columns (n, p) with weights ``counts`` (n,)."""
        alone = replace(chosen, callback=None, checkpoint_request=None, pairs=None, seeds=(), warm_start=False)
        choice = MetricChoice("sqeuclidean", "")
        partition: CredalPartition = self._fitted(choice, self._prepared(choice, alone, RawArray(x), counts)).partition
        return partition.labels()

    def _shaped(
        self, fitted: Fitted, shape: GroupShape, chosen: Settings, raw: RawData, sample_weight: object
    ) -> Fitted:
        """Refit with distances measured in this shape."""
        choice = _in_shape(fitted.choice, shape).tell()
        again = replace(chosen, callback=None, checkpoint_request=None)
        if shape.shape not in OWN or fitted.choice.reason == UNITS:
            fitted = self._fitted(choice, self._prepared(choice, again, raw, sample_weight))
        return _with_own_shapes(fitted, choice, shape, chosen) if shape.shape in OWN else fitted

    def _shape_of_sample(self, objects: Objects[object], chosen: Settings, choice: MetricChoice) -> GroupShape | None:
        """Return the groups' shape for objects in blocks, estimated from a sample in memory."""
        few = objects.sample(2 * sample_size(chosen.n_clusters))
        raw = raw_data(objects.space.decode(few.x))
        numbers, alone = raw.numbers(), replace(chosen, callback=None, checkpoint_request=None)
        fitted = self._fitted(choice, self._prepared(choice, alone, raw, None))
        if numbers is None:
            return None
        columns = list(numbers.values())
        return group_shapes.suggested(columns, fitted, chosen, partial(self._labels_by_spheres, chosen))

    def _opened(
        self, held: ExitStack, chosen: Settings, X: object, sample_weight: Any
    ) -> tuple[MetricChoice, Fit, GroupShape | None]:
        """Open objects in blocks for as long as ``held`` is open; also returns the shape of their groups."""
        from softecm.distributed import choose_for_blocks, opened, source_of

        source = source_of(X)
        chosen, choice = self._continuing(chosen, choose_for_blocks(chosen.metric, source, chosen.n_clusters))

        def enter(metric: object) -> Fit:
            resolved = replace(chosen, metric=metric)
            algorithm_and_objects = opened(self._algorithm, resolved, type(self).__name__, source, sample_weight)
            return Fit(*held.enter_context(algorithm_and_objects), resolved, chosen.callback)

        fit, shape = enter(choice.metric), None
        if group_shapes.may_be_shaped(chosen, choice):
            shape = self._shape_of_sample(fit.objects, chosen, choice)
        if shape is not None:
            before, choice = choice.metric, _in_shape(choice, shape).tell()
            if choice.metric != before:
                held.close()
                fit = enter(choice.metric)
        return choice, fit, shape

    def _adopt(self, fitted: Fitted, ids: NDArray[np.object_] | None = None) -> None:
        """Set the fitted attributes; nothing changes the estimator before this."""
        objects, outcome, model = fitted.objects, fitted.outcome, fitted.model
        run, solution = outcome.best, outcome.solution
        self._ids = ids
        self._doubt_of_number = None
        self.n_features_in_ = objects.columns.n_features
        if objects.columns.names is not None:
            self.feature_names_in_ = objects.columns.names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.model_ = model
        self.delta_ = model.delta
        self.objective_ = float(solution.objective[run])
        self.history_ = solution.history[run]
        self.n_iter_ = int(solution.n_iter[run])
        self.converged_ = bool(solution.converged[run])
        self.separation_ = float(outcome.separation[run])
        self.collapsed_ = bool(outcome.separation[run] < MERGED)
        self._runs = outcome.runs or runs_table(solution, run, outcome.separation)
        if solution.residual is not None:
            self.constraint_residual_ = float(solution.residual[run])
        if objects.are_here:
            self._store(fitted.partition)
            return
        # The partition stays in blocks: labels and scores are only set if they can stay there as well.
        partition = fitted.partition
        self.partition_, self.focal_sets_ = partition, partition.focal_sets
        for name in ("labels_", "outlier_scores_"):
            self.__dict__.pop(name, None)
        if partition.is_lazy:
            self.labels_, self.outlier_scores_ = partition.labels(), partition.outlier_scores()


def _with_own_shapes(fitted: Fitted, choice: MetricChoice, shape: GroupShape, chosen: Settings) -> Fitted:
    """Give each group its own shape, after a fit with equal spheres."""
    objects, outcome, spheres = fitted.objects, fitted.outcome, fitted.outcome.solution
    numbered = bool(chosen.seeds) or chosen.prior is not None
    model = group_shapes.own_model(objects, shape, chosen, numbered=numbered)
    partition, links = group_shapes.own_partition(objects, shape, model, chosen)
    run, objective = slice(outcome.best, outcome.best + 1), np.array([group_shapes.objective(objects, model)])
    outcome = replace(
        outcome,
        chosen=replace(chosen, focal=model.focal, delta=model.delta),
        solution=replace(spheres.part(run), objective=objective, history=(objective,)),
        separation=outcome.separation[run],
        best=0,
        links=links,
    )
    return Fitted(choice, objects, outcome, model, partition)


def remedy(chosen: Settings, n: int, different: int | None = None) -> str:
    """Return advice for merged prototypes; ``different`` counts distinct objects if fewer than the clusters."""
    if different is not None:
        objects = "All objects are equal" if different == 1 else f"There are only {different} different objects"
        return f"{objects}: ask for at most {option('n_clusters', different)}; got {chosen.n_clusters}."
    softer = f"a beta nearer to 1 (such as {max(1.05, 1 + (chosen.beta - 1) / 2):.3g}), fewer clusters or more restarts"
    if chosen.relaxation is not Penalty or not chosen.lam:
        return f"Try {softer}; if many rows are equal there may be fewer groups than {chosen.n_clusters}."
    return (
        f"With {option('relaxation', 'penalty')} a large lam pulls all prototypes into one point, and {chosen.lam:g} is "
        f"large for {n} objects: use {option('relaxation', 'gap')}, which never does, or a lam of {chosen.lam / 4:.3g}; or "
        f"try {softer}."
    )


class LinkableFamily(PrototypeFamily):
    """Members of the Soft-ECM family with links, partial labels, an earlier model and incremental fitting."""

    takes_sparse = True
    #: Drift of each cluster since the first batch, in usual distances of an object from its cluster.
    drift_: NDArray[np.float64]
    _past: Past

    SAVED = expected.rules(
        PrototypeFamily.SAVED,
        _past=own(Past),
        drift_=expected.array("c", allowed=expected.LENGTH),
    )

    def _check_parts(self) -> None:
        super()._check_parts()
        if hasattr(self, "_past"):
            self._past.check_parts(self.model_)

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        constraint_weight: float = 1.0,
        prior: Any = None,
        prior_weight: float = 1.0,
        checkpoint: Any = None,
        checkpoint_every: int = 10,
        resume: Any = None,
    ) -> Self:
        r"""Fit the prototypes and the credal partition, optionally with labels, links or a prior model.

        Links add nearly the same terms to the objective as in CECM, for any metric and any beta:

        .. math:: \kappa \Big[\sum_{(i,j) \in ML} \big(1 - \mathrm{bel}_{ij}(\text{together})\big)
            + \sum_{(i,j) \in CL} \mathrm{pl}_{ij}(\text{together})\Big]

        In CECM mass on the empty set does not violate a must-link, so an object between two clusters could satisfy its
        link by leaving both; here that mass also violates the link.

        The masses of linked objects are computed exactly, object by object, instead of by eq. 7; the objective still
        never rises. They are in ``partition_``; ``predict_partition`` ignores links, so the two differ for linked objects.
        Links are soft: strong evidence in the data violates them, and an object whose cannot-links contradict its position
        may move to the empty set (not with ``delta=None``).

        Parameters
        ----------
        X : array-like of shape (n, p), or other data that the metric supports
            Sparse matrices are supported by "sqeuclidean" and "cosine" and stay sparse. Data in blocks are a dask array
            or data frame, a list of delayed blocks (of series, for example), or :class:`softecm.distributed.ParquetBlocks`;
            they don't support links and labels.
        y : array-like of shape (n,), optional
            Labels of some objects, numbers or words; -1, "-1", "", None or NaN mean unknown. Objects with the same label
            become must-links, objects with different labels cannot-links. If all ``n_clusters`` labels occur, the fit
            starts at the means of their objects, and cluster k is that of the k-th label in sorted order. A ``y`` without
            unknown labels is ignored, as by scikit-learn's clusterers.
        sample_weight : array-like of shape (n,), optional
            Weight of each object; 2 is the same as repeating it.
        must_link, cannot_link : array-like of shape (m, 2), optional
            Pairs of objects known to be together or apart: rows of ``X``, counted from 0, or names in a data frame's index.
            :mod:`softecm.constraints` samples such pairs from labels and completes them.
        constraint_weight : float, default=1.0
            At least 0: the cost :math:`\kappa` of violating a link, in units of the objects' mean distance to the overall
            barycentre. Larger values satisfy more links.
        prior : fitted estimator, optional
            An earlier model of similar objects, such as last year's. The fit starts at its clusters and keeps near them:
            :math:`\rho \sum_k d(s_k, v_k)` is added to the objective, with :math:`s_k` the earlier prototypes. Cluster k
            stays cluster k and keeps its name. A table may lack columns but not have new ones; categories may be new.
        prior_weight : float, default=1.0
            At least 0: :math:`\rho`, in units of the number of objects of an average cluster. 1 puts a cluster about midway
            between the earlier prototype and its new objects; 0 only initializes there.
        checkpoint : path, optional
            File for the state of the fit, written every ``checkpoint_every`` iterations and on interruption.
        checkpoint_every : int, default=10
        resume : path, optional
            Checkpoint to continue from, with the same result as without the interruption; it keeps being updated.

        Returns
        -------
        self
        """
        known = None if prior is None else Prior.of(prior, prior_weight)
        request = CheckpointRequest.of(checkpoint, checkpoint_every, resume)
        if known is not None and request is not None:
            raise ValueError(
                "checkpoint and prior can't be combined; got both. Fits with a prior are short: leave out checkpoint."
            )
        seeds: tuple[NDArray[np.int64], ...] = ()
        pairs = None
        labels = None if y is None else partial_labels(y, self.n_clusters)
        if labels is not None or must_link is not None or cannot_link is not None:
            must_link, cannot_link = by_row(X, must_link, cannot_link)
            if labels is not None:
                if len(labels) != n_objects(X):
                    raise ValueError(
                        f"y must hold one label for each of the {n_objects(X)} objects; got {len(labels)}. Write -1 where a "
                        "label is not known."
                    )
                groups = groups_of_labels(labels)
                seeds = tuple(groups) if len(groups) == self.n_clusters else ()
                must_link, cannot_link = links_of_labels(labels, must_link, cannot_link)
            hint = (
                "1 prices a broken link like an object at the average distance from the centre of all; 0 ignores links."
            )
            weight = check_number("constraint_weight", constraint_weight, least=0, hint=hint)
            pairs = WeightedPairs(must_link, cannot_link, weight)
        for name in ("_past", "drift_"):
            self.__dict__.pop(name, None)
        chosen = replace(self._settings(), pairs=pairs, checkpoint_request=request, prior=known, seeds=seeds)
        self._fit_to(chosen, X, sample_weight)
        return self if known is None else self.rename(known.model.focal.names)

    def partial_fit(self, X: object, y: object = None, sample_weight: object = None, *, keep: float = 0.95) -> Self:
        r"""Update the model with a batch of new objects; earlier batches gradually lose weight.

        The first batch is fitted like ``fit``. Later batches start from the current clusters and minimize the objective
        over all batches, the earlier ones represented by weighted sums that are multiplied by ``keep`` after each batch;
        the update is exact and has no learning rate. ``partition_`` and ``labels_`` describe the last batch; clusters keep
        their names. After ``fit``, each of its objects counts once.

        ``drift_`` is how far each cluster has moved since the first batch, in units of the median distance of an object to
        its cluster. A :class:`softecm.DriftWarning` reports a cluster that has moved by half a unit more than chance
        explains, and again for every further half. It also reports if the objects of a cluster in one batch (ten or more)
        differ from its prototype in one numeric column by half of their standard deviation more than chance explains.

        Parameters
        ----------
        X : data like the first batch, with the same columns; later batches may be as small as one object
        y : ignored
        sample_weight : array-like of shape (n,), optional
        keep : float, default=0.95
            Above 0, at most 1: the factor by which the weight of earlier objects decreases after each batch. 1 never
            forgets; 0.95 remembers about twenty batches.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from softecm import FCM
        >>> rng = np.random.default_rng(0)
        >>> model = FCM(2, random_state=0)
        >>> for _ in range(5):
        ...     model = model.partial_fit(rng.normal(size=(40, 2)) + rng.choice([-5, 5], size=(40, 1)))
        >>> model.cluster_centers_.round().astype(int).tolist()
        [[-5, -5], [5, 5]]
        """
        fades = check_number(
            "keep", keep, above=0, most=1, hint="1 never forgets; 0.95 remembers about twenty batches."
        )
        chosen = self._settings()
        if raw_data(X).in_blocks:
            raise TypeError("X must be in memory for partial_fit: pass one block after another, or all of them to fit.")
        if hasattr(self, "model_"):
            self._next_batch(chosen, X, sample_weight, fades)
            return self
        self._fit_to(replace(chosen, own_shapes=False), X, sample_weight)  # sums over batches need one metric
        self._check_means()
        objects, algorithm = self._batch(chosen, X, sample_weight), self._algorithm(self.model_.metric)
        self._past = learning.past_of(algorithm, objects, chosen, self.model_)
        self.drift_ = self._past.drift(self.model_)
        return self

    def _batch(self, chosen: Settings, X: object, sample_weight: object) -> Any:
        """Encode new objects like those of the first batch."""
        model, raw = self.model_, raw_data(X).without(getattr(self, "left_out_", None))
        return in_memory(
            self._algorithm(model.metric), chosen, model.metric, self, raw, sample_weight, runs=1, known=model.space
        )

    def _next_batch(self, chosen: Settings, X: object, sample_weight: object, keep: float) -> None:
        self._check_means()
        algorithm, model = self._algorithm(self.model_.metric), self.model_
        past = getattr(self, "_past", None) or self._past_of_fit(chosen)
        with threads(chosen.n_jobs):
            objects = self._batch(chosen, X, sample_weight)
            past = past.faded(keep)
            outcome = learning.next_batch(algorithm, objects, chosen, model, past)
            new = Fit(algorithm, objects, chosen).model_of(outcome)
            new = replace(new, focal=new.focal.renamed(model.focal.names))
            partition = new.partition(objects.x.cpu())
            jump = learning.jump(objects, partition, model, past)
            past = past.plus(learning.past_of(algorithm, objects, chosen, new))
        self._adopt(
            Fitted(MetricChoice(new.metric, ""), objects, outcome, new, partition),
            ids_of(X, getattr(self, "left_out_", None)),
        )
        self._warn_if_unconverged()
        self._say_drift(past, jump)

    def _past_of_fit(self, chosen: Settings) -> Past:
        partition = getattr(self, "partition_", None)
        if not isinstance(partition, CredalPartition):
            raise TypeError(
                "partial_fit must follow a fit to data in memory; this one was fitted to blocks. Fit a batch first."
            )
        return learning.past_of_fit(chosen, self._algorithm(self.model_.metric), self.model_, partition)

    def _check_means(self) -> None:
        check_is_fitted(self)
        metric = self.model_.metric
        if not metric.closed_form.quadratic:
            name = metric.name or type(metric).__name__
            raise TypeError(
                f"partial_fit needs a metric whose prototypes are means; got {name}, which has none. Use "
                "'sqeuclidean', 'mahalanobis' or 'mixed', begin with partial_fit, or fit again with warm_start=True."
            )

    def _say_drift(self, past: Past, jump: Jump | None) -> None:
        before = getattr(self, "drift_", np.zeros(0))
        self._past, self.drift_ = past, past.drift(self.model_)
        unsure, names = past.unsure(), self.focal_sets_.group_names
        steps = [np.floor((drift - unsure).clip(0.0) / FAR) for drift in (before, self.drift_) if len(drift)]
        messages = []
        if steps[-1].max(initial=0.0) > (steps[0].max(initial=0.0) if len(steps) > 1 else 0.0):
            furthest = int((self.drift_ - unsure).argmax())
            messages.append(
                f"{names[furthest]} has moved by {self.drift_[furthest]:.2g} times the median distance of an object to "
                "its cluster since the first batch (drift_): earlier descriptions of it may no longer hold. Fit again to "
                "measure drift from here."
            )
        if jump is not None:
            called = self.model_.space.number_names
            column = called[jump.coordinate] if called else f"coordinate {jump.coordinate}"
            messages.append(
                f"the objects of {names[jump.cluster]} in this batch lie {jump.spreads:.2g} standard deviations from "
                f"its earlier position in {column}: check whether they are still the same group."
            )
        if messages:
            warn(" ".join(messages), DriftWarning)
