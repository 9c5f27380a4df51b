"""Estimators that take must-links and cannot-links."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from softecm.algorithms.base import PrototypeFamily
from softecm.fit.settings import Plan
from softecm.objective.linked import WeightedPairs


class LinkableFamily(PrototypeFamily):
    """Members of the Soft-ECM family whose ``fit`` takes pairs of objects known to be together or apart."""

    takes_sparse = True

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        constraint_weight: float = 1.0,
        checkpoint: Any = None,
        checkpoint_every: int = 10,
        resume: Any = None,
    ) -> Self:
        r"""Find the prototypes and the credal partition, heeding what is known about pairs of objects.

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
            Data in blocks are taken, too: a dask array or data frame, a list of delayed blocks (of series, say), or
            :class:`softecm.distributed.ParquetBlocks`. Links then must be left out.
        y : ignored
        sample_weight : array-like of shape (n,), optional
            How often each object counts; 2 is the same as giving it twice.
        must_link, cannot_link : array-like of shape (m, 2), optional
            Pairs of objects (rows of ``X``, counted from 0) known to be together or apart.
            :mod:`softecm.constraints` samples such pairs from labels and completes them.
        constraint_weight : float, default=1.0
            At least 0: the price :math:`\kappa` of a broken link, in units of the objects' mean distance to the barycentre
            of all. Larger obeys more links.
        checkpoint : path, optional
            File that keeps where the fit stands: written every ``checkpoint_every`` rounds and when it is interrupted.
        checkpoint_every : int, default=10
        resume : path, optional
            A checkpoint to go on from, to the answer the interrupted fit would have had; it goes on being written.

        Returns
        -------
        self
        """
        pairs = WeightedPairs(must_link, cannot_link, constraint_weight)
        plan = Plan.of(checkpoint, checkpoint_every, resume)
        return self._fit_to(replace(self._settings(), pairs=pairs, plan=plan), X, sample_weight)
