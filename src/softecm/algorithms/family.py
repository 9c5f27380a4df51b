"""The common way through a fit of every algorithm that states a problem for the one loop."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from softecm._engine import interruptible, threads
from softecm._warnings import ViewWarning, warn
from softecm.algorithms.base import PrototypeClusterer, in_blocks
from softecm.algorithms.parameters import FamilyParameters, checked
from softecm.belief import CredalPartition
from softecm.distances.auto import ALIKE, UNITS, Choice, choose_for, is_auto, with_finding
from softecm.distances.base import SemiMetric
from softecm.distances.mahalanobis import Mahalanobis
from softecm.distances.mixed import Mixed
from softecm.distances.registry import resolve_metric
from softecm.fit import shaped
from softecm.fit.algorithm import Algorithm, Fit, Outcome
from softecm.fit.fitting import fit_cells
from softecm.fit.group_shapes import OWN, GroupShape
from softecm.fit.loop import MERGED, runs_table
from softecm.fit.model import PrototypeModel
from softecm.fit.prepare import InMemory, Objects, in_memory
from softecm.fit.settings import Plan, Settings, settings
from softecm.objective.linked import say_broken, with_linked
from softecm.objective.relaxations import Penalty
from softecm.spaces.column_roles import ids_of
from softecm.spaces.raw import numbers_of
from softecm.spaces.views import IN_BLOCKS

LOOKED_AT = 2000  # objects by which a metric judges the clusters


@dataclass(frozen=True)
class Fitted:
    """A fit in memory, before the estimator takes it over."""

    choice: Choice
    objects: InMemory[Any]
    outcome: Outcome
    model: PrototypeModel
    partition: CredalPartition

    def may_be_reshaped(self, chosen: Settings) -> bool:
        """Whether these are numbers, measured by default in every respect that has to do with distances."""
        numbers = self.choice.reason in (ALIKE, UNITS)
        default = is_auto(chosen.metric) and chosen.keeps_clusters and not chosen.warm_start
        known = chosen.plan is not None or chosen.prior is not None or chosen.seeds
        own_delta = chosen.delta is not None  # in units of the distances as they are
        converged = self.outcome.solution.converged[self.outcome.best]  # not stopped on its way
        return bool(chosen.reshapes and numbers and default and not own_delta and not known and converged)


def _metric_of(shape: GroupShape) -> Any:
    """What distances are measured with, where groups share a shape."""
    named = {"raw": "sqeuclidean", "scaled": Mixed(weights=None)}
    return named.get(shape.shape) or Mahalanobis(shape.covariances[0])


class PrototypeFamily(FamilyParameters, PrototypeClusterer):
    """Estimators of the common way: a subclass checks its parameters and names its algorithm."""

    #: Whether ``X`` may be a sparse matrix, where the metric takes it.
    takes_sparse = False
    weight_of_links = "constraint_weight"  # what is raised to have them obeyed
    #: Fits that differ in alpha, beta, delta, lam or seed alone can be solved as one batch.
    batches = True

    def _settings(self) -> Settings:
        """The checked parameters."""
        return settings(checked(self))

    @abstractmethod
    def _algorithm(self, metric: SemiMetric) -> Algorithm[Any]:
        """The algorithm for this metric, with its own parameters."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        checkpoint: Any = None,
        checkpoint_every: int = 10,
        resume: Any = None,
    ) -> Self:
        """Find the prototypes and the credal partition.

        Parameters
        ----------
        X : array-like of shape (n, p), or what the metric's space reads
        y : ignored
        sample_weight : array-like of shape (n,), optional
            How often each object counts; 2 is the same as giving it twice.
        checkpoint : path, optional
            File that keeps where the fit stands: written every ``checkpoint_every`` rounds and when it is interrupted.
        checkpoint_every : int, default=10
        resume : path, optional
            A checkpoint to go on from, to the answer the interrupted fit would have had; it goes on being written.

        Returns
        -------
        self
        """
        plan = Plan.of(checkpoint, checkpoint_every, resume)
        return self._fit_to(replace(self._settings(), plan=plan), X, sample_weight)

    @interruptible()
    def _fit_to(self, chosen: Settings, X: Any, sample_weight: Any) -> Self:
        if isinstance(X, Mapping) and any(map(in_blocks, X.values())):
            raise TypeError(IN_BLOCKS)
        if in_blocks(X):
            return self._fit_blocks(chosen, X, sample_weight)
        with threads(chosen.n_jobs):
            fitted = self._fitted(choose_for(chosen.metric, X, chosen.n_clusters), chosen, X, sample_weight)
            if fitted.may_be_reshaped(chosen):
                fitted = self._reshaped(fitted, chosen, X, sample_weight)
        objects, outcome, partition = fitted.objects, fitted.outcome, fitted.partition
        self._adopt(objects, fitted.model, outcome)
        self._chose(fitted.choice)
        self._ids = ids_of(X, fitted.choice.left_out)
        self._store(partition)
        different = objects.distinct(outcome.chosen.n_clusters) if self.collapsed_ else None
        self._warn(outcome.chosen, different)
        if not self.collapsed_:
            self._warn_of_masses(nowhere=float(objects.counts[partition.outliers()].sum()) / objects.weight)
        self._warn_of_metric(objects)
        return self

    def _fitted(self, choice: Choice, chosen: Settings, X: Any, sample_weight: Any) -> Fitted:
        """One fit with a metric."""
        metric = resolve_metric(choice.metric, None)
        algorithm = self._algorithm(metric)
        objects = in_memory(algorithm, chosen, metric, self, choice.kept(X), sample_weight, runs=chosen.n_init)
        (outcome,) = fit_cells(
            algorithm, objects, [chosen], owner=type(self).__name__, last=self._last(), callback=chosen.callback
        )
        model = Fit(algorithm, objects, chosen).model_of(outcome)
        partition = objects.partition(model)
        if outcome.links is not None and "masses" in outcome.solution.found:
            partition = with_linked(partition, outcome.links, outcome.solution.found["masses"], outcome.best)
            say_broken(partition, outcome.links.pairs(), self.weight_of_links, X)
        return Fitted(choice, objects, outcome, model, partition)

    def _reshaped(self, fitted: Fitted, chosen: Settings, X: Any, sample_weight: Any) -> Fitted:
        """The fit in units of its groups, where the evidence is for another shape than equal spheres."""
        columns = numbers_of(fitted.choice.kept(X))
        if columns is None:
            return fitted
        alone = replace(chosen, callback=None)

        def labels_of(x: Any, counts: Any) -> Any:
            return self._fitted(Choice("sqeuclidean", ""), alone, x, counts).partition.labels()

        scaled = fitted.choice.reason == UNITS
        shape = shaped.suggested(columns, fitted.partition, fitted.objects, scaled=scaled, labels_of=labels_of)
        if shape is None:
            return fitted
        choice = replace(fitted.choice, metric=_metric_of(shape), reason=shaped.REASONS[shape.shape]).tell()
        if shape.shape not in OWN:
            return self._fitted(choice, alone, X, sample_weight)
        if scaled:
            fitted = self._fitted(replace(choice, metric="sqeuclidean"), alone, X, sample_weight)
        model = shaped.own_model(fitted.objects, shape, chosen)
        objective = model.mean_cost(fitted.objects.x.cpu(), fitted.objects.counts) * fitted.objects.weight
        run = slice(fitted.outcome.best, fitted.outcome.best + 1)
        solution = replace(
            fitted.outcome.solution.part(run), objective=np.array([objective]), history=(np.array([objective]),)
        )
        resolved = replace(chosen, focal=model.focal, delta=model.delta)
        outcome = replace(fitted.outcome, chosen=resolved, solution=solution, apart=fitted.outcome.apart[run], best=0)
        return Fitted(choice, fitted.objects, outcome, model, fitted.objects.partition(model))

    def _warn_of_metric(self, objects: InMemory[Any]) -> None:
        """What the metric has to say about the clusters, from some of the objects."""
        few = objects.sample(LOOKED_AT) if len(objects) > LOOKED_AT and not self.metric_.discrete else objects
        for doubt in self.metric_.doubts(few.x.cpu(), self.model_.prototypes[: self.focal_sets_.n_clusters]):
            warn(doubt, ViewWarning)

    def _fit_blocks(self, chosen: Settings, X: Any, sample_weight: Any) -> Self:
        from softecm.distributed import choose_for_blocks, opened, source_of

        source = source_of(X)
        choice = choose_for_blocks(chosen.metric, source)
        chosen = replace(chosen, metric=choice.metric)
        with opened(self._algorithm, chosen, type(self).__name__, source, sample_weight) as (algorithm, objects):
            (outcome,) = fit_cells(
                algorithm, objects, [chosen], owner=type(self).__name__, last=self._last(), callback=chosen.callback
            )
            model = Fit(algorithm, objects, chosen).model_of(outcome)
            partition = objects.partition(model)
            totals = partition.totals()
        self._adopt(objects, model, outcome)
        self._chose(choice)
        self._store_scattered(partition)
        self._warn(outcome.chosen)
        if not self.collapsed_:
            self._warn_of_masses(totals.held, totals.objects[0] / totals.n_objects)
        return self

    def _last(self) -> PrototypeModel | None:
        return getattr(self, "model_", None)

    def _adopt(self, objects: Objects[Any], model: PrototypeModel, outcome: Outcome) -> None:
        """Take over what a fit found; until here the estimator is as it was."""
        run, solution = outcome.best, outcome.solution
        self._ids = None
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
        self.separation_ = float(outcome.apart[run])
        self.collapsed_ = bool(outcome.apart[run] < MERGED)
        self._runs = outcome.runs or runs_table(solution, run, outcome.apart)
        if solution.residual is not None:
            self.constraint_residual_ = float(solution.residual[run])

    def _chose(self, choice: Choice) -> None:
        """Keep why the metric was taken, and which columns it does not see."""
        self.left_out_ = dict(choice.left_out)
        if "metric" in self.get_params(deep=False):
            self.metric_reason_ = with_finding(choice.reason, self.model_.metric)

    def _store_scattered(self, partition: Any) -> None:
        """A partition that stays where its objects are; labels and scores only where they can stay there, too."""
        self.partition_ = partition
        self.focal_sets_ = partition.focal_sets
        if partition.is_lazy:
            self.labels_ = partition.labels()
            self.outlier_scores_ = partition.outlier_scores()
        else:
            for name in ("labels_", "outlier_scores_"):
                self.__dict__.pop(name, None)

    def _warn(self, chosen: Settings, different: int | None = None) -> None:
        self._warn_if_unconverged()
        self._warn_if_merged(remedy(chosen, len(self.partition_), different))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        metric = getattr(self, "metric", None)
        tags.input_tags.allow_nan = isinstance(metric, str) and metric in ("auto", "mixed")
        learns = isinstance(metric, str) and metric == "adaptive"  # matrices, which are not sparse
        tags.input_tags.sparse = self.takes_sparse and not learns
        return tags


def remedy(chosen: Settings, n: int, different: int | None = None) -> str:
    """What to do about merged prototypes; ``different`` objects are there where they are fewer than the clusters."""
    if different is not None:
        objects = "All objects are equal" if different == 1 else f"There are only {different} different objects"
        return f"{objects}: ask for at most n_clusters={different}; got {chosen.n_clusters}."
    softer = f"a beta nearer to 1 (such as {max(1.05, 1 + (chosen.beta - 1) / 2):.3g}), fewer clusters or more restarts"
    if chosen.relaxation is not Penalty or not chosen.lam:
        return f"Try {softer}; if many rows are equal there may be fewer groups than n_clusters={chosen.n_clusters}."
    return (
        f"With relaxation='penalty' a large lam pulls all prototypes into one point, and lam={chosen.lam:g} is large for "
        f"{n} objects: use relaxation='gap', which never does, or lam={chosen.lam / 4:.3g}; or try {softer}."
    )
