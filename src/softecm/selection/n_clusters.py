"""Choosing without labels: how many clusters.

A rule that can be fooled is worse than none: the nonspecificity of the paper falls when all prototypes merge, when
everything is called an outlier, and as beta falls to 1. Here merged partitions never win, mass on the empty set counts as
ignorance, and the default rule asks for valleys between groups instead.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from softecm._checks import check_count
from softecm._frames import make_frame
from softecm._warnings import SearchEdgeWarning, TwinsWarning, warn
from softecm.distances.auto import choose_for, is_series_auto
from softecm.selection.batch import Data, geometry_of
from softecm.selection.grid import digest, make_cells
from softecm.selection.measures import measures
from softecm.selection.rules import RULES, SelectionRule, pick_rule
from softecm.selection.stability import run_stability
from softecm.selection.twins import twins, twins_remark
from softecm.spaces.views import n_objects

FIRST_LOOK, MOST_CLUSTERS = 8, 30
AS_FAR = 2  # times the best number so far: values rise and fall on the way to it
RESAMPLES = 10
DEFAULT = "valleys"


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

    @property
    def edge(self) -> str:
        """Whether the chosen number is the last that was tried: "largest", "smallest", or "" where it is neither.

        Two clusters are the fewest there can be, so 2 is no edge.
        """
        if len(self.values) == 1:
            return ""
        if self.n_clusters == max(self.values):
            return "largest"
        return "smallest" if self.n_clusters == min(self.values) > 2 else ""

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
    """From 2 to 8 clusters, fewer for few objects; the search goes on from there where it has to."""
    return range(2, min(FIRST_LOOK, most_clusters(n_objects)) + 1)


def most_clusters(n_objects: int) -> int:
    """As far as a search goes by itself: 30 clusters, or the root of the number of objects."""
    return min(MOST_CLUSTERS, max(2, math.isqrt(n_objects)))


def choose_n_clusters(
    X: object,
    *,
    estimator: object = None,
    candidates: Iterable[int] | None = None,
    rule: str = "auto",
    fit: Callable[[Any, Any], Any] | None = None,
    callback: Callable[[int, Any, float], bool | None] | None = None,
) -> Choice:
    """The number of clusters that a rule prefers, merged partitions aside.

    Warns (``SearchEdgeWarning``) where the number chosen is the last that was tried, and (``TwinsWarning``) where one column
    alone makes several clusters of each group. Of the fits' own warnings those of the
    chosen one are passed on.

    Parameters
    ----------
    X : data for the estimator
    estimator : default=SoftECM()
        Any estimator of the family with ``n_clusters``; cloned for each candidate.
    candidates : iterable of int, optional
        Numbers to try. By default 2 to 8, and on to twice the best so far, at most to 30 or the root of the number of
        objects.
    rule : {"auto", "valleys", "nonspecificity", "xie_beni", "silhouette", "stability"}
        Few objects between each two groups, and objects nearer to their own cluster than to the next ("valleys"); least
        left open (mass on the empty set counts as such); clusters compact and far apart; objects nearer to their own
        cluster than to the next; the same groups again when a fifth of the objects is left out (ten refits each).
        "auto" is "valleys", and "nonspecificity" for an estimator without prototypes.
    fit : callable, optional
        Called as ``fit(estimator, X)`` for each candidate; returns the fitted estimator, or None for a fit that was cut
        short: it does not count, and the search ends with those tried before. By default ``estimator.fit(X)``: another
        shows progress, or listens for an interruption.
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

    pick_rule(DEFAULT if rule == "auto" else rule)
    search = _Search(X, None if rule == "auto" else rule)
    base, why = _with_metric(SoftECM() if estimator is None else estimator, X)
    for c in _numbers(candidates, n_objects(X), search):
        model, said = _fitted(clone(base).set_params(n_clusters=c), X, fit)
        if model is None:
            break
        value = search.add(c, model, said)
        if callback is not None and callback(c, model, value):
            break
    choice = search.choice()
    for warning in search.said:
        warn(warning.message)
    if why is not None:
        choice.model.metric_reason_ = why
    column = twins(choice.model, X)
    if column is not None:
        warn(twins_remark(column), TwinsWarning)
    if choice.edge:
        warn(edge_remark(choice), SearchEdgeWarning)
    return choice


def _with_metric(estimator: Any, X: object) -> tuple[Any, str | None]:
    """The estimator with one metric for all numbers of clusters, and why, where it was to find one for each."""
    metric = estimator.get_params(deep=False).get("metric")
    if not is_series_auto(metric):
        return estimator, None
    chosen = choose_for(metric, X, None)
    return clone(estimator).set_params(metric=chosen.metric), chosen.reason


def edge_remark(choice: Choice) -> str:
    """That the chosen number is the last that was tried, and what to do."""
    more = "more" if choice.edge == "largest" else "fewer"
    return (
        f"{choice.n_clusters} is the {choice.edge} number of clusters that was tried: {more} may be better. Give a wider "
        "range of candidates to be sure."
    )


class _Search:
    """The candidates tried so far; of their models, and what these warned of, only the best is kept."""

    def __init__(self, X: object, rule: str | None) -> None:
        self.X, self.rule = X, rule
        self.values: dict[int, float] = {}
        self.best, self.model = 0, None
        self.said: list[warnings.WarningMessage] = []

    def add(self, c: int, model: Any, said: list[warnings.WarningMessage]) -> float:
        """Note a candidate's value; the first one settles what "auto" means."""
        if self.rule is None:
            self.rule = "nonspecificity" if geometry_of(model, self.X) is None else DEFAULT
        value = self.values[c] = _value(RULES[self.rule], self.rule, model, self.X)
        smaller = RULES[self.rule].smaller
        if self.model is None or (value < self.values[self.best] if smaller else value > self.values[self.best]):
            self.best, self.model, self.said = c, model, said
        return value

    def choice(self) -> Choice:
        """The best of them; an error where none is to be trusted."""
        if self.rule is None:
            raise ValueError("no number of clusters was tried to the end: the first fit was cut short.")
        if math.isinf(self.values[self.best]):
            raise ValueError(
                f"no number of clusters among {list(self.values)} gave groups that stand apart: all merged or stand empty. "
                "Try relaxation='gap', a beta nearer to 1, or other candidates."
            )
        return Choice(self.best, self.model, self.values, self.rule)


def _numbers(candidates: Iterable[int] | None, n_objects: int, search: _Search) -> Iterator[int]:
    """The numbers that were asked for; else from 2 to 8, and on to twice the best so far."""
    if candidates is not None:
        yield from _checked(list(candidates))
        return
    first = default_candidates(n_objects)
    yield from first
    for c in range(first[-1] + 1, most_clusters(n_objects) + 1):
        if c > AS_FAR * search.best:
            return
        yield c


def _checked(numbers: list[int]) -> list[int]:
    if not numbers:
        raise ValueError("candidates must hold at least one number of clusters; got none. range(2, 9) is usual.")
    for c in numbers:
        check_count("candidates", c, least=2, hint="Each is a number of clusters.")
    return numbers


def _fitted(
    model: Any, X: object, fit: Callable[[object, object], object] | None
) -> tuple[Any, list[warnings.WarningMessage]]:
    """A candidate, and what its fit warned of."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        return model.fit(X) if fit is None else fit(model, X), said


def _value(wanted: SelectionRule, rule: str, model: Any, X: object) -> float:
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
    value = float(measures(model.partition_, geometry_of(model, X))[wanted.column])
    if math.isnan(value):
        raise ValueError(
            f"rule {rule!r} needs prototypes that objects can be compared with; {type(model).__name__} has none. Use "
            "rule='nonspecificity' or 'stability'."
        )
    return value
