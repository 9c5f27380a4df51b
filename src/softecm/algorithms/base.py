"""Base classes of the estimators: scikit-learn API, warnings and saving; prototypes in a second class."""

from __future__ import annotations

import inspect
import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from softecm._checks import make_frame
from softecm._engine import all_or_nothing
from softecm._text import listed, meant
from softecm._warnings import CollapseWarning, EmptyClusterWarning, NowhereWarning, warn
from softecm._wording import literal, option
from softecm.algorithms.parameters import EstimatorFacts, OwnParameters, checked
from softecm.belief import CredalPartition, FocalSets
from softecm.belief.assignments import CLEAR, Decisions
from softecm.belief.focal import Names
from softecm.distances.base import SemiMetric
from softecm.files import expected
from softecm.files.expected import Check, Misfit
from softecm.files.values import own
from softecm.fit.loop import MERGED, Callback, Run
from softecm.fit.prepare import Columns, check_weights
from softecm.fit.settings import PrototypeModel, logged
from softecm.spaces.base import refuse_dissimilarities
from softecm.spaces.magnitudes import warn_of_units
from softecm.spaces.raw import ids_of, raw_data, without
from softecm.spaces.real import RealVectors

if TYPE_CHECKING:
    from softecm.report.object_explanation import ObjectExplanation

MOST = 0.5  # share of outliers above which delta is likely wrong, or new objects are of another kind
FEWEST = 10  # new objects below which ``predict`` does not warn about outliers


class RefitDecisions(Protocol):
    """Decisions that take refits into account; made by :func:`softecm.calibrate`."""

    def decisions(self, clear: float) -> Decisions:
        """Return the decision for each object."""


class EvidentialClusterer(EstimatorFacts, ClusterMixin, BaseEstimator):
    """An estimator whose answer is a credal partition.

    A subclass provides ``fit``, which ends in ``_store``, and ``predict_partition``. A fit that fails or is interrupted
    leaves the estimator as it was.
    """

    partition_: CredalPartition
    focal_sets_: FocalSets
    model_: PrototypeModel
    objective_: float
    history_: NDArray[np.float64]
    n_iter_: int
    converged_: bool
    labels_: NDArray[np.intp]
    outlier_scores_: NDArray[np.float64]
    _runs: Mapping[str, NDArray[np.generic]]
    _ids: NDArray[np.object_] | None  # names of the training objects
    __signature__ = OwnParameters()

    #: Rules for the fitted attributes in a model file; attributes without a rule are accepted as they are.
    SAVED: ClassVar[Mapping[str, Check]] = expected.rules(
        n_features_in_=expected.count(size="p"),
        focal_sets_=own(FocalSets),
        model_=own(PrototypeModel),
        partition_=own(CredalPartition),
        n_clusters_=expected.count(size="c"),
        labels_=expected.array("n", "iu", expected.Range(least=0, below="c")),
        outlier_scores_=expected.array("n", allowed=expected.UNIT),
        delta_=expected.maybe(expected.number(expected.POSITIVE)),
        objective_=expected.number(),
        history_=expected.array("rounds"),
        n_iter_=expected.count(least=0),
        converged_=expected.flag,
        separation_=expected.number(expected.LENGTH),
        collapsed_=expected.flag,
        constraint_residual_=expected.number(expected.LENGTH),
        feature_names_in_=expected.listed(expected.text(), kind="objects", size="p"),
        left_out_=expected.mapped(expected.text()),
        metric_reason_=expected.text(),
        _runs=expected.mapped(expected.a_run),
    )
    #: Fitted attributes that prediction needs.
    REQUIRED: ClassVar[tuple[str, ...]] = ("n_features_in_", "focal_sets_", "model_")

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        for name in ("fit", "partial_fit"):
            if name in vars(cls):
                setattr(cls, name, all_or_nothing(vars(cls)[name]))

    def _check_parts(self) -> None:
        """Raise ``Misfit`` if fitted attributes read from a file are inconsistent."""
        partition, scores = getattr(self, "partition_", None), getattr(self, "outlier_scores_", None)
        if partition is not None and partition.focal_sets != self.focal_sets_:
            raise Misfit("partition_ and focal_sets_ have different focal sets")
        if partition is not None and scores is not None and not np.array_equal(partition.masses[:, 0], scores):
            raise Misfit("outlier_scores_ are not the masses of the empty set in partition_")
        model = getattr(self, "model_", None)
        if model is None:
            return
        if model.focal != self.focal_sets_:
            raise Misfit("model_ and focal_sets_ have different focal sets")
        if getattr(self, "delta_", model.delta) != model.delta:
            raise Misfit("delta_ is not the delta of model_")
        model.check_parts()

    def __new__(cls, *values: object, **named: object) -> Self:
        """Raise TypeError for an unknown parameter, suggesting one with a similar name."""
        known = inspect.signature(cls.__init__).parameters if named else {}
        if not named.keys() <= known.keys() and not any(one.kind is one.VAR_KEYWORD for one in known.values()):
            _, *names = known
            strange = next(name for name in named if name not in names)
            hint = meant(strange, names) or f" It has {', '.join(names)}."
            raise TypeError(f"{cls.__name__} has no parameter {strange!r}.{hint}")
        made: Self = super().__new__(cls)
        return made

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        metric = str(getattr(self, "metric", ""))
        tags.input_tags.pairwise = self.of_dissimilarities or metric == "precomputed"
        tags.input_tags.positive_only = tags.input_tags.pairwise
        tags.input_tags.allow_nan = self.takes_gaps and metric in ("auto", "mixed")
        tags.input_tags.sparse = self.takes_sparse and metric != "adaptive"  # its matrices are dense
        return tags

    def _open(self, X: object) -> Callback | None:
        """Check the parameters and that ``X`` is in memory; returns the callback for each iteration."""
        values = checked(self)
        refuse_blocks(X, type(self).__name__)
        callback: Callback | None = values.get("callback")
        return logged(callback) if values.get("verbose") else callback

    @abstractmethod
    def predict_partition(self, X: Any) -> CredalPartition:
        """Return the credal partition of new objects."""

    def predict(self, X: object) -> NDArray[np.intp]:
        """Return the cluster with the largest pignistic probability for each object; never -1.

        Parameters
        ----------
        X : data like that given to ``fit``

        Returns
        -------
        labels : ndarray of shape (n,)
        """
        return self.predict_partition(X).labels()

    def predict_proba(self, X: object) -> NDArray[np.float64]:
        """Return pignistic probabilities: each set's mass is shared equally by its clusters, that of the empty set by all.

        Parameters
        ----------
        X : data like that given to ``fit``

        Returns
        -------
        probabilities : ndarray of shape (n, c)
        """
        return self.predict_partition(X).pignistic()

    @property
    def runs_(self) -> Any:
        """One row per restart: objective, iterations, whether it converged, whether its prototypes merged."""
        check_is_fitted(self)
        return make_frame(self._runs)

    def _store(self, partition: CredalPartition) -> None:
        ids = getattr(self, "_ids", None)
        self.partition_ = partition if ids is None else partition._trusted(partition.masses, partition.focal_sets, ids)
        self.focal_sets_ = partition.focal_sets
        self.labels_ = partition.labels()
        self.outlier_scores_ = partition.masses[:, 0].copy()

    def _store_runs(self, runs: Sequence[Run], best: int) -> None:
        """Store the table of all runs, and the history, objective and convergence of the best one."""
        self.history_ = runs[best].history
        self.objective_ = float(self.history_[-1])
        self.n_iter_ = len(self.history_) - 1
        self.converged_ = runs[best].converged
        self._runs = {
            "run": np.arange(len(runs)),
            "objective": np.array([run.history[-1] for run in runs]),
            "n_iter": np.array([len(run.history) - 1 for run in runs]),
            "converged": np.array([run.converged for run in runs]),
            "best": np.arange(len(runs)) == best,
        }

    def _warn_if_unconverged(
        self,
        rounds: str = "iterations",
        still: str = "masses still move by more than {tol}",
        remedy: str = "Raise {max_iter}, or {tolerance} if a rougher answer will do.",
    ) -> None:
        if not self.converged_:
            words = f"{type(self).__name__} has not converged after {self.n_iter_} {rounds}: {still}. {remedy}"
            slots = {"tol": option("tol", self.tol), "tolerance": option("tol"), "max_iter": option("max_iter")}
            warn(words.format(**slots), ConvergenceWarning)

    def _warn_of_masses(self, held: NDArray[np.float64] | None = None, nowhere: float | None = None) -> None:
        """Warn about clusters without mass (c,) and about many outliers; both default to values from the partition."""
        if held is None:
            held = self.partition_.masses.sum(0) @ self.focal_sets_.with_empty  # plausibility, summed
        empty = np.flatnonzero(held < 1e-6 * len(self.partition_) / len(held))
        if len(empty):
            who = listed([self.focal_sets_.group_names[k] for k in empty], "and")
            warn(
                f"no mass is on {who}: fewer groups were found than {option('n_clusters', len(held))}. "
                f"Use fewer clusters, a larger {option('delta')}, or more restarts ({option('n_init')}).",
                EmptyClusterWarning,
            )
        delta, auto = getattr(self, "delta_", None), getattr(self, "delta", None) == "auto"
        nowhere = len(self.partition_.outliers()) / len(self.partition_) if nowhere is None else nowhere
        if auto and delta is not None and nowhere > MOST:
            warn(
                f"most objects belong nowhere ({nowhere:.0%}): their distances to all clusters exceed the square "
                f"of delta {delta:.3g}, the value of {literal('auto')}. Set a larger one, such as {2 * delta:.3g}, or "
                f"{option('delta', None)} to switch outliers off; or another number of clusters.",
                NowhereWarning,
            )

    def decisions(
        self, X: object = None, *, clear: float = CLEAR, calibration: RefitDecisions | None = None
    ) -> Decisions:
        """Describe each object in one word: clearly, rather, between, undecided or nowhere.

        Parameters
        ----------
        X : data like that given to ``fit``, optional
            Other objects; by default those of the fit.
        clear : float, default 0.75
            Minimum belief for "clearly".
        calibration : Calibration, optional
            The result of :func:`softecm.calibrate` for this model: then only objects confirmed by refits are "clearly".

        Returns
        -------
        decisions : Decisions
            See :meth:`CredalPartition.decisions`; ``decisions[i]`` is that of object i. If the data frame has a column of
            ids, or a pandas index with names, ``decisions["Ann"]`` works, too.
        """
        check_is_fitted(self)
        if calibration is not None:
            if X is not None or len(calibration.decisions(clear)) != len(self.partition_):
                raise ValueError(
                    f"calibration must be for the {len(self.partition_)} objects of the fit, and X must be None: "
                    "refits don't cover other objects. Pass the result of calibrate(model, X), or leave it out."
                )
            decisions = calibration.decisions(clear)
        else:
            decisions = (self.partition_ if X is None else self.predict_partition(X)).decisions(clear)
        ids = getattr(self, "_ids", None) if X is None else ids_of(X, getattr(self, "left_out_", None))
        return replace(decisions, ids=ids) if isinstance(decisions, Decisions) and ids is not None else decisions

    @all_or_nothing
    def rename(self, names: Names) -> Self:
        """Name the clusters in all output; another ``fit`` forgets the names.

        Parameters
        ----------
        names : sequence of str, or mapping
            One name per cluster; or a mapping from some clusters (numbers from 0, or current names) to new names. None
            removes the names.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        focal = self.focal_sets_.renamed(names)
        if hasattr(self, "model_"):
            self.model_ = replace(self.model_, focal=focal)
        self.focal_sets_ = focal
        self.partition_ = self.partition_.rename(list(focal.names))
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a safetensors file; ``softecm.load_model`` reads it without running code.

        Parameters
        ----------
        path : path of the file, usually ending in ``.safetensors``
        """
        from softecm.files.models import save_model

        check_is_fitted(self)
        save_model(self, path)

    def report(self, X: Any, path: str | os.PathLike[str], **shown: Any) -> None:
        """Write a report: one offline HTML page with the groups, the objects between them, and explanations.

        Parameters
        ----------
        X : the objects given to ``fit``; for other objects also pass ``partition=model.predict_partition(X)``
        path : where to write; an existing file is replaced
        **shown : ``names`` of the objects, known ``labels``, ``title``, ``feature_names`` and the rest of
            :func:`softecm.report.build`, which gives the report without writing it
        """
        from softecm.files import check_file
        from softecm.report import build

        check_is_fitted(self)
        check_file(path)
        build(self, self.as_shown(X), **shown).write(path)

    def as_shown(self, X: object) -> Any:
        """Return the objects as a report shows them: unchanged."""
        return X

    def by_view(self, X: object) -> Any:
        """Return the objects with a name for each of several views, so that they can be counted: unchanged."""
        return X

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        return bundle | ({"text/html": self._repr_html_inner()} if "text/html" in bundle else {})

    def _repr_html_inner(self) -> str:  # overrides scikit-learn's _repr_html_
        words = self.partition_._repr_html_() if hasattr(self, "partition_") else ""
        return words + str(super()._repr_html_inner())


class PrototypeClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, EvidentialClusterer):
    """An evidential clusterer whose clusters and sets have prototypes to which objects can be compared."""

    model_: PrototypeModel
    delta_: float | None
    separation_: float
    collapsed_: bool
    n_features_in_: int
    #: Columns of the training data frame excluded because they identify objects, with the reason for each.
    left_out_: Mapping[str, str]
    metric_reason_: str

    def _check_rows(self, X: object) -> Any:
        check_is_fitted(self)
        raw = raw_data(X).without(getattr(self, "left_out_", None))
        return self.model_.space.check(self, raw, reset=False)

    def _encode(self, X: object) -> Any:
        rows = self._check_rows(X)
        return self.model_.space.encode(rows)

    @property
    def metric_(self) -> SemiMetric:
        """The fitted semi-metric; ``metric_reason_`` says why it was chosen."""
        check_is_fitted(self)
        return self.model_.metric

    @property
    def prototypes_(self) -> Any:
        """Prototypes of all non-empty sets in the order of ``focal_sets_``, in the form of the data.

        The index of a pandas data frame holds the names of the sets.
        """
        check_is_fitted(self)
        return called(self.model_.space.decode(self.model_.whole()), self.focal_sets_.labels()[1:])

    @property
    def cluster_centers_(self) -> Any:
        """Prototypes of the single clusters."""
        check_is_fitted(self)
        centers = self.model_.space.decode(self.model_.prototypes[: self.focal_sets_.n_clusters])
        return called(centers, self.focal_sets_.cluster_names)

    @property
    def prototype_distributions_(self) -> Any:
        """Probability of each category of each categorical column in every prototype.

        A dict of columns, each a dict from category to an array of shape (f,), in the order of ``focal_sets_``.
        """
        check_is_fitted(self)
        distributions = getattr(self.model_.space, "distributions", None)
        if distributions is None:
            raise AttributeError(
                "prototype_distributions_ is for tables with categories (metric 'hamming' or 'mixed')."
            )
        return distributions(self.model_.prototypes)

    @property
    def view_weights_(self) -> Any:
        """Weight of each view by name (metric Combined); they add up to 1."""
        return self._learned("view_weights", "objects with several views (metric Combined).")

    @property
    def feature_weights_(self) -> Any:
        """Weight of each column of a table, if metric Mixed learned them; they add up to 1."""
        return self._learned("feature_weights", "tables with weighted columns, Mixed(weights='auto').")

    def _learned(self, name: str, of: str) -> Any:
        """Return an attribute the metric has learned; ``of`` names the data that have it."""
        check_is_fitted(self)
        value = getattr(self.model_.metric, name, None)
        if value is None:
            raise AttributeError(f"{name}_ is for {of}")
        return value

    @property
    def _n_features_out(self) -> int:
        return len(self.focal_sets_)

    def predict_partition(self, X: Any) -> CredalPartition:
        """Return the credal partition of other objects: their masses at the fitted prototypes (eq. 7).

        Parameters
        ----------
        X : data like that given to ``fit``

        Returns
        -------
        partition : CredalPartition
            For data in blocks (Dask, Parquet) a :class:`softecm.distributed.ScatteredPartition`, computed lazily, block by
            block.
        """
        raw = raw_data(X)
        if raw.in_blocks and hasattr(self, "model_"):
            from softecm.distributed import predict_scattered

            columns = Columns(self.n_features_in_, getattr(self, "feature_names_in_", None))
            lazy = raw.without(getattr(self, "left_out_", None)).value
            return predict_scattered(self.model_, type(self).__name__, columns, lazy)  # type: ignore[return-value]
        rows = self._check_rows(raw)  # raises NotFittedError for an unfitted model
        x = self.model_.space.encode(rows)
        partition = self.model_.partition(x)
        warn_of_units(self.model_.space.size_changes(rows))
        self._warn_of_far_objects(x, partition)
        return partition

    def _warn_of_far_objects(self, x: Any, partition: CredalPartition) -> None:
        """Warn if most new objects are outliers, unlike in the fit, for example because a column is in another unit."""
        rows, n = partition.outliers(), len(partition)
        few, fit = n < FEWEST or len(rows) <= MOST * n, getattr(self, "partition_", ())
        if few or (hasattr(fit, "outliers") and len(fit.outliers()) > MOST / 2 * len(fit)):
            return  # the fit had many outliers, too
        attribute = self.model_.most_of_distances(x[torch.as_tensor(rows[:1000])])
        cause = "" if attribute is None else f", mostly because of {attribute!r}"
        warn(
            f"{len(rows)} of {n} objects belong to no group{cause}: they differ from those of the fit. Check that "
            "they have the same quantities in the same units.",
            NowhereWarning,
        )

    def repartition(
        self, X: Any, *, alpha: float | None = None, beta: float | None = None, delta: float | str | None = "fitted"
    ) -> CredalPartition:
        """Return the credal partition for other values of alpha, beta and delta at the fitted prototypes.

        This is what the sliders of a report show: one mass update (eq. 7), without links. A new fit would also move the
        prototypes. With ``delta=None`` there are no outliers.

        Parameters
        ----------
        X : data like that given to ``fit``
        alpha, beta, delta : float
            By default those of the fit.
        """
        x = self._encode(X)
        return self.model_.repriced(alpha, beta, delta).partition(x)

    def transform(self, X: Any) -> NDArray[np.floating]:
        """Return the distances to the prototypes of all sets.

        Parameters
        ----------
        X : data like that given to ``fit``

        Returns
        -------
        distances : ndarray of shape (n, f)
        """
        x = self._encode(X)
        return self.model_.distances(x).numpy()

    def score(self, X: object, y: object = None, sample_weight: ArrayLike | None = None) -> float:
        """Return minus the objective per object at the fitted prototypes; on the training data, ``-objective_ / n``.

        Like the score of ``KMeans`` it usually grows with the number of clusters, and also with the focal sets and ``beta``,
        whether or not the partition is better. Scores are only comparable between fits with the same ``alpha``, ``beta``,
        ``delta``, number of clusters and metric, so ``GridSearchCV`` over any of these need not select the best. Choose the
        number with :func:`softecm.choose_n_clusters` and other parameters with :func:`softecm.selection.sweep`.

        Parameters
        ----------
        X : data like that given to ``fit``
        y : ignored
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        score : float
        """
        x = self._encode(X)
        weights = None if sample_weight is None else check_weights(sample_weight, x)
        return -self.model_.mean_cost(x, weights)

    def explain(self, X: Any) -> NDArray[np.floating]:
        """Return each attribute's contribution to the distances between objects and prototypes.

        The sum over the last axis is ``transform``.

        Parameters
        ----------
        X : data like that given to ``fit``

        Returns
        -------
        parts : ndarray of shape (n, f, attributes)
            ``attributes_`` names the last axis; :meth:`explain_object` puts one object into words.
        """
        check_is_fitted(self)
        return self.model_.terms(self._encode(X))

    def explain_object(self, X: object, i: int | str, *, clear: float = CLEAR) -> ObjectExplanation:
        """Explain an object's assignment: which columns pull it to which cluster, as a table and in words.

        Parameters
        ----------
        X : data like that given to ``fit``
        i : int or str
            The object's number in ``X``, counted from 0, or its name in a pandas index or a column of ids.
        clear : float, default 0.75
            Minimum belief for "clearly".

        Returns
        -------
        explanation : ObjectExplanation
            ``print`` shows it in words. ``to_frame()`` has one row per column of the data (for series, per stretch of
            time): the object's value, how much nearer it brings the object to each candidate cluster than to the others
            ("to ω1"), and the value of each candidate's prototype ("at ω1"). Over the columns, pulls add up to
            differences of ``transform``. Metrics that are not sums over attributes have a single row, "distance".

        Examples
        --------
        >>> import numpy as np
        >>> from softecm import SoftECM
        >>> X = np.array([[0.0, 0], [0, 1], [1, 0], [9, 9], [9, 8], [8, 9], [4, 5]])
        >>> model = SoftECM(2, random_state=0).fit(X)
        >>> print(model.explain_object(X, 1))
        Object 2 (X[1]) clearly belongs to group 1 (belief 1.00): x0 (0) and x1 (1) pull it to group 1.
        """
        from softecm.report.object_explanation import explain_object

        check_is_fitted(self)
        refuse_blocks(X, type(self).__name__)
        left_out = getattr(self, "left_out_", None)
        return explain_object(self, without(X, left_out), i, ids_of(X, left_out), clear)

    @property
    def attributes_(self) -> list[str]:
        """Names of the last axis of ``explain``: columns, or steps of series."""
        check_is_fitted(self)
        return [str(name) for name in self.model_.space.attributes]

    def _warn_if_merged(self, remedy: str) -> None:
        if self.collapsed_:
            warn(
                f"prototypes of different clusters have merged (separation_ {self.separation_:.2g}, below "
                f"{MERGED:g}): the partition can't tell them apart. {remedy}",
                CollapseWarning,
            )


def called(prototypes: Any, names: Sequence[str]) -> Any:
    """Name the rows of prototypes in a pandas data frame, or in a dict of views."""
    if isinstance(prototypes, dict):
        return {view: called(part, names) for view, part in prototypes.items()}
    pandas = type(prototypes).__module__.startswith("pandas") and len(prototypes) == len(names)
    return prototypes.set_axis(list(names), axis=0) if pandas else prototypes


def checked_rows(estimator: EvidentialClusterer, X: ArrayLike, *, reset: bool) -> NDArray[np.float64]:
    """Return validated rows of numbers (n, p) that can be squared; ``reset`` also rejects dissimilarities."""
    space = RealVectors()
    rows = space.check(estimator, X, reset=reset)
    if reset:
        refuse_dissimilarities(rows)
        space.fit(rows, dtype=torch.float64)
    return np.ascontiguousarray(rows, dtype=np.float64)


def refuse_blocks(X: object, owner: str) -> None:
    """Raise TypeError if ``X`` is in blocks: the algorithm needs all objects in memory, and only the user may load them."""
    if raw_data(X).in_blocks:
        from softecm.distributed.objects import needs_memory

        raise TypeError(needs_memory(owner))
