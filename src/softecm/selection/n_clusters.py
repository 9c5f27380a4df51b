"""Choosing without labels: how many clusters.

A rule that can be fooled is worse than none: the nonspecificity of the paper falls when all prototypes merge and when
everything is called an outlier. Here merged partitions never win, and mass on the empty set counts as ignorance.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from softecm._checks import check_count
from softecm._frames import make_frame
from softecm._warnings import CollapseWarning, EmptyClusterWarning
from softecm.selection.batch import Data, geometry_of
from softecm.selection.grid import digest, make_cells
from softecm.selection.measures import measures
from softecm.selection.rules import RULES, Rule, pick_rule
from softecm.selection.stability import run_stability

MOST_CLUSTERS = 8
RESAMPLES = 10


def guarded_nonspecificity(model: Any) -> float:
    """What a fitted partition leaves unsaid, from 0 to 1; inf where clusters have merged or stand empty.

    The paper's N* with the empty set counted as log2 c, so that calling everything an outlier gains nothing.
    """
    partition = model.partition_
    held = np.bincount(partition.labels(), minlength=partition.n_clusters)
    if getattr(model, "collapsed_", False) or held.min() == 0:
        return math.inf
    return float(partition.nonspecificity(empty=True))


@dataclass(frozen=True, eq=False)
class Choice:
    """A chosen number of clusters, the model that goes with it, and what was compared.

    Attributes
    ----------
    n_clusters : int
    model : the fitted estimator with that many clusters
    values : dict, the rule's value for each candidate; inf (or -inf) for one whose clusters merged or stand empty
    rule : str, what was compared
    """

    n_clusters: int
    model: Any
    values: Mapping[int, float]
    rule: str = "nonspecificity"

    def to_frame(self, backend: str | None = None) -> Any:
        """The comparison as a data frame."""
        return make_frame({"n_clusters": list(self.values), self.rule: list(self.values.values())}, backend)

    def plot(self, ax: Any = None) -> Any:
        """Draw the comparison on Matplotlib axes; candidates that merged are left out."""
        import matplotlib.pyplot as plt

        ax = plt.subplots(layout="constrained")[1] if ax is None else ax
        sound = {c: v for c, v in self.values.items() if math.isfinite(v)}
        ax.plot(list(sound), list(sound.values()), "o-")
        ax.axvline(self.n_clusters, color="0.7", linestyle="--", label=f"chosen: {self.n_clusters}")
        better = "smaller" if RULES[self.rule].smaller else "larger"
        ax.set(xlabel="number of clusters", ylabel=f"{self.rule} ({better} is better)", xticks=list(self.values))
        ax.legend()
        return ax


def default_candidates(n_objects: int) -> range:
    """From 2 to 8 clusters, fewer for few objects."""
    return range(2, min(MOST_CLUSTERS, max(2, math.isqrt(n_objects))) + 1)


def choose_n_clusters(
    X: Any,
    *,
    estimator: Any = None,
    candidates: Iterable[int] | None = None,
    rule: str = "nonspecificity",
    fit: Callable[[Any, Any], Any] | None = None,
    callback: Callable[[int, Any, float], bool | None] | None = None,
) -> Choice:
    """The number of clusters that a rule prefers, merged partitions aside.

    Parameters
    ----------
    X : data for the estimator
    estimator : default=SoftECM()
        Any estimator of the family with ``n_clusters``; cloned for each candidate.
    candidates : iterable of int, optional
        Numbers to try; by default 2 to 8, fewer for few objects.
    rule : {"nonspecificity", "xie_beni", "silhouette", "stability"}
        Least left open (mass on the empty set counts as such); clusters compact and far apart; objects nearer to their
        own cluster than to the next; the same groups again when a fifth of the objects is left out (ten refits each).
    fit : callable, optional
        Called as ``fit(estimator, X)`` for each candidate; returns the fitted estimator. By default ``estimator.fit(X)``:
        another shows progress, or listens for an interruption.
    callback : callable, optional
        Called as ``callback(n_clusters, model, value)`` after each candidate; true ends the search with those tried so far.

    Returns
    -------
    choice : Choice

    Examples
    --------
    >>> from softecm import SoftECM
    >>> from softecm.datasets import make_blobs
    >>> X = make_blobs(120, n_clusters=3, distance=9, random_state=0).data
    >>> choose_n_clusters(X, estimator=SoftECM(n_init=3, random_state=0), candidates=range(2, 6)).n_clusters
    3
    """
    from softecm import SoftECM

    wanted = pick_rule(rule)
    base = SoftECM() if estimator is None else estimator
    numbers = list(default_candidates(len(X)) if candidates is None else candidates)
    if not numbers:
        raise ValueError("candidates must hold at least one number of clusters; got none. range(2, 9) is usual.")
    for c in numbers:
        check_count("candidates", c, least=2, hint="Each is a number of clusters.")
    values: dict[int, float] = {}
    best, chosen = numbers[0], None  # of the models, only the best is kept
    for c in numbers:
        model = _fitted(clone(base).set_params(n_clusters=c), X, fit)
        values[c] = _value(wanted, rule, model, X)
        if chosen is None or (values[c] < values[best] if wanted.smaller else values[c] > values[best]):
            best, chosen = c, model
        if callback is not None and callback(c, model, values[c]):
            break
    if math.isinf(values[best]):
        raise ValueError(
            f"no number of clusters among {list(values)} gave groups that stand apart: all merged or stand empty. Try "
            "relaxation='gap', a beta nearer to 1, or other candidates."
        )
    return Choice(best, chosen, values, rule)


def _fitted(model: Any, X: Any, fit: Callable[[Any, Any], Any] | None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollapseWarning)  # what merges is told apart by its value
        warnings.simplefilter("ignore", EmptyClusterWarning)
        return model.fit(X) if fit is None else fit(model, X)


def _value(wanted: Rule, rule: str, model: Any, X: Any) -> float:
    """The rule's value for a fitted model; infinitely bad where clusters merged or stand empty."""
    if math.isinf(guarded_nonspecificity(model)):
        return math.inf if wanted.smaller else -math.inf
    if rule == "nonspecificity":
        return guarded_nonspecificity(model)
    if rule == "stability":
        data = Data(X, None, None, digest(X))
        params = {"n_clusters": model.n_clusters}
        (cell,) = make_cells({"": model}, params, [0])
        return float(run_stability([cell], data, RESAMPLES)[0]["stability"])
    return float(measures(model.partition_, geometry_of(model, X))[wanted.column])
