"""Estimators that take what is known beforehand: links, labels of some objects, an earlier model, earlier batches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from softecm._checks import check_number
from softecm._engine import interruptible, threads
from softecm._warnings import DriftWarning, warn
from softecm.algorithms.base import in_blocks
from softecm.algorithms.family import PrototypeFamily
from softecm.belief import CredalPartition
from softecm.constraints import groups_of_labels, links_of_labels, partial_labels
from softecm.files import expected
from softecm.files.values import own
from softecm.fit import learning
from softecm.fit.algorithm import Fit
from softecm.fit.learning import FAR, Jump, Past
from softecm.fit.prepare import in_memory
from softecm.fit.settings import Plan, Prior, Settings
from softecm.objective.linked import WeightedPairs
from softecm.spaces.column_roles import by_row, ids_of, without


class LinkableFamily(PrototypeFamily):
    """Members of the Soft-ECM family: they heed links, known labels and an earlier model, and learn batch by batch."""

    takes_sparse = True
    #: How far each cluster has gone since the first batch, in usual distances of an object from its cluster.
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
        r"""Find the prototypes and the credal partition, heeding what is known beforehand.

        Links add to the objective what they add in CECM, for any metric and any beta:

        .. math:: \kappa \Big[\sum_{(i,j) \in ML} \mathrm{pl}_{ij}(\text{apart})
            + \sum_{(i,j) \in CL} \mathrm{pl}_{ij}(\text{together})\Big]

        The masses of linked objects are then found exactly, object by object, in place of eq. 7; the objective still
        never rises. They are in ``partition_``; ``predict_partition`` knows nothing of links, so that the two differ for
        linked objects. A link is soft: where the data speak more strongly it is broken, and an object whose links
        contradict its place may also go to the empty set (``delta=None`` leaves it no such way).

        Parameters
        ----------
        X : array-like of shape (n, p), or what the metric's space reads
            Sparse matrices are taken with "sqeuclidean" and "cosine", and stay sparse. So are data in blocks: a dask array
            or data frame, a list of delayed blocks (of series, say), or :class:`softecm.distributed.ParquetBlocks`. Links
            and labels then must be left out.
        y : array-like of shape (n,), optional
            Known labels of some objects, -1 where it is not known: objects of one label are linked as belonging together,
            objects of different labels as apart. Where all ``n_clusters`` labels are there, the fit starts at the
            means of their objects, and cluster k is the k-th label's. Without a -1 it is ignored, as all of
            scikit-learn's clusterers do.
        sample_weight : array-like of shape (n,), optional
            How often each object counts; 2 is the same as giving it twice.
        must_link, cannot_link : array-like of shape (m, 2), optional
            Pairs of objects known to be together or apart: rows of ``X``, counted from 0, or names in a data frame's index.
            :mod:`softecm.constraints` samples such pairs from labels and completes them.
        constraint_weight : float, default=1.0
            At least 0: the price :math:`\kappa` of a broken link, in units of the objects' mean distance to the barycentre
            of all. Larger obeys more links.
        prior : fitted estimator, optional
            An earlier model of objects like these, last year's say. Its clusters are where the fit starts, and pull at the
            new ones: cluster k stays cluster k, and keeps its name. Adds :math:`\rho \sum_k d(s_k, v_k)` to the objective,
            with :math:`s_k` its prototypes. A table must have the same columns; categories may be others.
        prior_weight : float, default=1.0
            At least 0: :math:`\rho` in numbers of objects of an average cluster. 1 puts a cluster about midway between the
            earlier prototype and its new objects; 0 only starts there.
        checkpoint : path, optional
            File that keeps where the fit stands: written every ``checkpoint_every`` rounds and when it is interrupted.
        checkpoint_every : int, default=10
        resume : path, optional
            A checkpoint to go on from, to the answer the interrupted fit would have had; it goes on being written.

        Returns
        -------
        self
        """
        known, plan = Prior.of(prior, prior_weight), Plan.of(checkpoint, checkpoint_every, resume)
        if known is not None and plan is not None:
            raise ValueError(
                "checkpoint must be left out with prior, near whose clusters a fit ends soon; got both. Leave one out."
            )
        seeds: tuple[NDArray[np.int64], ...] = ()
        pairs = None
        if y is not None or must_link is not None or cannot_link is not None:
            if y is not None and partial_labels(np.asarray(y)) is not None:
                check_consistent_length(X, y)
            seeds = groups_of_labels(y, self.n_clusters)
            must_link, cannot_link = by_row(X, must_link, cannot_link)
            must_link, cannot_link = links_of_labels(y, must_link, cannot_link, self.n_clusters)
            pairs = WeightedPairs(must_link, cannot_link, constraint_weight)
        self._forget()
        chosen = replace(self._settings(), pairs=pairs, plan=plan, prior=known, seeds=seeds)
        self._fit_to(chosen, X, sample_weight)
        return self if known is None else self.rename(known.model.focal.names)

    def _forget(self) -> None:
        for name in ("_past", "drift_"):
            self.__dict__.pop(name, None)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, keep: float = 0.95) -> Self:
        r"""Learn on with a batch of new objects; what was learned from earlier ones fades.

        The first batch is fitted as by ``fit``. Each further one starts from the clusters there are, which its own objects
        move to where the sums over all batches are least, earlier ones counting ``keep`` times as much as before: an exact
        step, no rate. ``partition_`` and ``labels_`` are those of this batch; clusters keep their names. After ``fit``,
        learning goes on from its clusters, its objects counting once each.

        ``drift_`` says how far each cluster has gone since the first batch, in usual distances (the median) of an object
        from its cluster, over all columns together; a :class:`softecm.DriftWarning` says when one has gone half of that
        further than chance may have put it in the first batch, and again for every further half. It also says when a
        batch's own objects of a cluster (ten or more) lie off where it was in a single column of numbers, by half of their
        spread in it (their standard deviation) more than chance may do.

        Parameters
        ----------
        X : data like the first batch, with the same columns; later batches may be as small as one object
        y : ignored
        sample_weight : array-like of shape (n,), optional
        keep : float, default=0.95
            Above 0, at most 1: what earlier objects count for after each batch. 1 never forgets; 0.95 remembers about twenty
            batches.

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
        if in_blocks(X):
            raise TypeError("X must be in memory for partial_fit: give one block after another, or all of them to fit.")
        if not hasattr(self, "model_"):
            return self._first_batch(chosen, X, sample_weight)
        self._next_batch(chosen, X, sample_weight, fades)
        return self

    def _first_batch(self, chosen: Settings, X: Any, sample_weight: Any) -> Self:
        self._fit_to(replace(chosen, reshapes=False), X, sample_weight)  # sums over batches need one metric for all
        self._check_means()
        objects, algorithm = self._batch(chosen, X, sample_weight), self._algorithm(self.model_.metric)
        self._past = learning.past_of(algorithm, objects, chosen, self.model_)
        self.drift_ = self._past.drift(self.model_)
        return self

    def _batch(self, chosen: Settings, X: Any, sample_weight: Any) -> Any:
        """Objects like those of the first batch."""
        model, X = self.model_, without(X, getattr(self, "left_out_", None))
        return in_memory(
            self._algorithm(model.metric), chosen, model.metric, self, X, sample_weight, runs=1, known=model.space
        )

    @interruptible()
    def _next_batch(self, chosen: Settings, X: Any, sample_weight: Any, keep: float) -> None:
        self._check_means()
        algorithm, model = self._algorithm(self.model_.metric), self.model_
        past = getattr(self, "_past", None) or self._past_of_fit(chosen)
        with threads(chosen.n_jobs):
            objects = self._batch(chosen, X, sample_weight)
            past = past.faded(keep)
            outcome = learning.next_batch(algorithm, objects, chosen, model, past)
            found = Fit(algorithm, objects, chosen).model_of(outcome)
            found = replace(found, focal=found.focal.renamed(model.focal.names))
            partition = objects.partition(found)
            jump = learning.jump(objects, partition, model, past)
            past = past.plus(learning.past_of(algorithm, objects, chosen, found))
        self._adopt(objects, found, outcome)
        self._ids = ids_of(X, getattr(self, "left_out_", None))
        self._store(partition)
        self._warn_if_unconverged()
        self._say_drift(past, jump)

    def _past_of_fit(self, chosen: Settings) -> Past:
        partition = getattr(self, "partition_", None)
        if not isinstance(partition, CredalPartition):
            raise TypeError(
                "partial_fit must follow a fit in memory; the partition of this one is not here. Fit a batch first."
            )
        return learning.past_of_fit(chosen, self._algorithm(self.model_.metric), self.model_, partition)

    def _check_means(self) -> None:
        check_is_fitted(self)
        metric = self.model_.metric
        if not metric.is_quadratic:
            name = metric.name or type(metric).__name__
            raise TypeError(
                f"metric must have means for prototypes for partial_fit; got {name}, of whose objects no "
                "sums stay. Use 'sqeuclidean', 'mahalanobis' or 'mixed', or fit again with warm_start=True."
            )

    def _say_drift(self, past: Past, jump: Jump | None) -> None:
        before = getattr(self, "drift_", np.zeros(0))
        self._past, self.drift_ = past, past.drift(self.model_)
        unsure, names = past.unsure(), self.focal_sets_.cluster_names
        steps = [np.floor((drift - unsure).clip(0.0) / FAR) for drift in (before, self.drift_) if len(drift)]
        told = []
        if steps[-1].max(initial=0.0) > (steps[0].max(initial=0.0) if len(steps) > 1 else 0.0):
            furthest = int((self.drift_ - unsure).argmax())
            told.append(
                f"cluster {names[furthest]} has gone {self.drift_[furthest]:.2g} usual distances of an object from where it "
                "was in the first batch (drift_): what was said of it then may no longer hold. Fit anew to measure from "
                "here."
            )
        if jump is not None:
            called = self.model_.space.number_names
            column = called[jump.coordinate] if called else f"coordinate {jump.coordinate}"
            told.append(
                f"this batch's objects of cluster {names[jump.cluster]} lie {jump.spreads:.2g} of their own spreads from "
                f"where the cluster was, in {column}: see whether they are still the same group."
            )
        if told:
            warn(" ".join(told), DriftWarning)
