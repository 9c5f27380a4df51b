"""Selection without labels: the number of clusters.

A misleading rule is worse than none: the paper's nonspecificity falls when all prototypes merge, when every object is
called an outlier, and as beta falls to 1. Here merged partitions never win, and mass on the empty set counts as
ignorance. By default mixtures count the groups of tables and numbers, and valleys between groups those of other
objects; both can find that there are no groups.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Never, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from softecm._checks import check_count, check_function, make_frame
from softecm._precision import criterion
from softecm._text import listed
from softecm._warnings import NoGroupsWarning, NumberOfGroupsWarning, SearchEdgeWarning, TwinsWarning, warn
from softecm.distances.auto import AUTO, SERIES_AUTO, choose_for, kind_of
from softecm.scores.valleys import object_silhouettes
from softecm.selection.batch import Data, geometry_of, takes_dissimilarities
from softecm.selection.doubtful_groups import small_between, twins, twins_remark
from softecm.selection.evidence import mixture_evidence
from softecm.selection.grid import digest, make_cells
from softecm.selection.measures import Measures, measures
from softecm.selection.mixtures import AS_FAR, MixtureEvidence
from softecm.selection.rules import RULES, pick_rule
from softecm.selection.stability import part_of, run_stability
from softecm.spaces.base import refuse_dissimilarities
from softecm.spaces.raw import raw_data
from softecm.spaces.views import n_objects

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from softecm.algorithms.base import EvidentialClusterer

#: The estimator used in the search.
Model = TypeVar("Model", bound="EvidentialClusterer")
Warned = list[warnings.WarningMessage]
FIRST_LOOK, MOST_CLUSTERS = 8, 30
RESAMPLES = 10
DEFAULT = "valleys"
LARGE, SAMPLE, RESTARTS = 5000, 1000, 3  # with more objects, size of the sample searched and restarts per number
NEAR = 6.0  # ICL, twice a log-likelihood: smaller differences are no real evidence
TIED = 2.0  # standard errors of the difference of two mean silhouettes: smaller differences are no evidence


def guarded_nonspecificity(model: EvidentialClusterer) -> float:
    """Return the ambiguity of a fitted partition, from 0 to 1; inf if clusters have merged or are empty.

    The paper's N* with the empty set counted as log2 c, so that calling everything an outlier has no advantage.
    """
    partition = model.partition_
    held = np.bincount(partition.labels(), minlength=partition.n_clusters)
    if getattr(model, "collapsed_", False) or held.min() == 0:
        return math.inf
    return float(partition.nonspecificity(empty=True))


@dataclass(frozen=True, eq=False)
class Choice(Generic[Model]):
    """A selected number of clusters, its model, and the comparison.

    Attributes
    ----------
    n_clusters : int, 1 if no groups are separated
    model : the fitted estimator with that many clusters
    values : dict, the rule's value for each candidate; inf (or -inf) if its clusters merged or are empty. Valleys have
    no value for 1.
    rule : str, the criterion compared
    no_groups : bool, whether no groups are separated; ``n_clusters`` is then 1, unless 1 was no candidate
    evidence : str, reason for the number
    others : dict, numbers preferred by other rules, if different
    tied : tuple, numbers practically as good by the same rule, the best first; look at these, too. For a mixture within
    6 of the best ICL; for silhouettes and valleys within two standard errors over the objects.
    """

    n_clusters: int
    model: Model
    values: Mapping[int, float]
    rule: str = "nonspecificity"
    no_groups: bool = False
    evidence: str = ""
    others: Mapping[str, int] = field(default_factory=dict)
    tied: tuple[int, ...] = ()

    @property
    def edge(self) -> str:
        """Whether the selected number is the last one tried: "largest", "smallest", or "" if neither.

        Two is the smallest number of clusters, so 2 is no edge; neither is 1, "no groups".
        """
        if len(self.values) < 2 or self.n_clusters not in self.values:
            return ""
        if self.n_clusters == max(self.values):
            return "largest"
        return "smallest" if self.n_clusters == min(self.values) > 2 else ""

    @property
    def close(self) -> list[int]:
        """The selected number and those tied with it, in order; look at each of them."""
        return sorted([self.n_clusters, *self.tied])

    def _repr_html_(self) -> str:
        """Show the number and the groups, then the comparison; for notebooks."""
        edge = f" It is the {self.edge} that was tried." if self.edge else ""
        edge += f" Too close to call: {listed([*map(str, self.close)], 'and')}." if self.tied else ""
        shown = {c: criterion(value) if math.isfinite(value) else "merged or empty" for c, value in self.values.items()}
        lines = "".join(
            f"<tr><td>{f'<b>{c}</b>' if c == self.n_clusters else c}</td><td>{value}</td></tr>"
            for c, value in shown.items()
        )
        heads = f"<thead><tr><th>groups</th><th>{self.rule}</th></tr></thead>"
        return (
            f"<p><b>{self.n_clusters} groups</b>, chosen by {self.rule}.{edge}</p>{self.model.partition_._repr_html_()}"
            f"<table>{heads}<tbody>{lines}</tbody></table>"
        )

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the comparison as a data frame."""
        return make_frame({"n_clusters": list(self.values), self.rule: list(self.values.values())}, backend)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the comparison on Matplotlib axes, without candidates whose clusters merged."""
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
    """Return 2 to 8 clusters, fewer for few objects; the search continues from there if necessary."""
    return range(2, min(FIRST_LOOK, most_clusters(n_objects)) + 1)


def most_clusters(n_objects: int) -> int:
    """Return the largest number searched by default: 30 clusters, or the root of the number of objects."""
    return min(MOST_CLUSTERS, max(2, math.isqrt(n_objects)))


def choose_n_clusters(
    X: object,
    *,
    estimator: Model | None = None,
    candidates: Iterable[int] | None = None,
    rule: str = "auto",
    random_state: int | None = None,
    fit: Callable[[Model, object], Model | None] | None = None,
    callback: Callable[[int, Model, float], bool | None] | None = None,
    **unknown: Never,
) -> Choice[Model]:
    """Select the number of clusters by a rule; 1 if no groups are separated.

    Mixtures are fitted to a sample, then one fit of all objects uses the selected number. Other rules compare one fit
    per number; with more than 5000 objects they search a sample of 1000, with at most 3 restarts per number.

    Warns if no groups are separated (``NoGroupsWarning``), if the selected number is the last one tried
    (``SearchEdgeWarning``), and if one column alone makes several clusters of each group (``TwinsWarning``). Of the
    fits' own warnings, only those of the selected one are passed on.

    Parameters
    ----------
    X : data for the estimator
    estimator : default=SoftECM()
        Any estimator of the family with ``n_clusters``; cloned for each candidate.
    candidates : iterable of int, optional
        Numbers to try; without 1 among them, "no groups" is only a warning. By default 1 to 8, and on to twice the best
        so far, up to 30 or the root of the number of objects.
    rule : {"auto", "mixture", "valleys", "nonspecificity", "silhouette", "stability"}
        "mixture" selects groups supported by a mixture, by ICL: of distributions over a table's informative columns, or
        of groups of any shape in numbers. "valleys" requires few objects between groups, and objects nearer to their
        own cluster than to the next. "nonspecificity" minimizes ambiguity (including mass on the empty set).
        "silhouette" requires objects nearer to their own cluster than to the next. "stability" requires the same groups
        without a fifth of the objects (ten refits each). "auto" is "mixture" for tables whose columns are weighted
        (metric "mixed") and for at least 50 objects in at most 50 columns of numbers under metric "auto", otherwise
        "valleys", or "nonspecificity" for an estimator without prototypes.
        Only "mixture" and "valleys" can find that there are no groups. Non-convex groups (moons, rings) may be missed.
    random_state : int, optional
        Seed of the fits, instead of the estimator's, and of the sample.
    fit : callable, optional
        Called as ``fit(estimator, X)`` for each fit, with all objects or the sample; returns the fitted estimator, or
        None for an interrupted fit: it is ignored, and the search ends with the previous candidates. By default
        ``estimator.fit(X)``; use it to show progress or to handle interruptions.
    callback : callable, optional
        Called as ``callback(n_clusters, model, value)`` after each candidate; a true result ends the search.

    Returns
    -------
    choice : Choice

    Examples
    --------
    >>> from softecm import SoftECM, choose_n_clusters
    >>> from softecm.datasets import make_blobs
    >>> X = make_blobs(120, n_clusters=3, distance=9, random_state=0).data
    >>> choose_n_clusters(X, candidates=range(1, 6), random_state=0).n_clusters
    3
    """
    from softecm import SoftECM
    from softecm.algorithms.base import EvidentialClusterer

    for name in unknown:
        own = f": give it to the estimator, estimator=SoftECM({name}={unknown[name]!r})"
        own = own if hasattr(SoftECM(), name) else ""
        raise TypeError(f"choose_n_clusters() got an unexpected keyword argument {name!r}{own}.")
    if estimator is None and kind_of(X) == "numbers":
        raw = raw_data(X)
        raw.refuse_no_table()
        refuse_dissimilarities(raw.array(), "estimator=SoftECM(metric='precomputed')")
    check_function("fit", fit, "fit(estimator, X)")
    check_function("callback", callback, "callback(n_clusters, model, value)")
    pick_rule(DEFAULT if rule == "auto" else rule)
    if estimator is not None and not (isinstance(estimator, EvidentialClusterer) and hasattr(estimator, "n_clusters")):
        raise TypeError(
            f"estimator must be one of softecm's that takes n_clusters; got {estimator!r}. SoftECM() is usual."
        )
    X = X if estimator is None else estimator.by_view(X)
    n = n_objects(X)
    if n < 1:
        raise ValueError("X must hold at least one object; got none.")
    numbers = None if candidates is None else _checked(candidates, n)
    base, why = _with_metric(SoftECM() if estimator is None else estimator, X)
    if random_state is not None:
        base = clone(base).set_params(random_state=random_state)
    task = _Task(X, base, numbers, fit, callback)
    evidence = task.mixture() if rule in ("auto", "mixture") else None
    if rule == "mixture" and evidence is None:
        raise ValueError(
            "rule 'mixture' needs a table of at least two columns that metric='mixed' weighs and ten rows for each, or "
            "50 rows of numbers under metric='auto'; got other objects. Use rule='valleys'."
        )
    if evidence is None:
        choice, warned = _by_fits(task, None if rule == "auto" else rule, 0 if random_state is None else random_state)
    else:
        choice, warned = _by_mixture(task, evidence)
    for warning in warned:
        warn(warning.message)
    if why is not None:
        choice.model.metric_reason_ = why
    small = None if choice.no_groups else small_between(choice.model, X)
    if hasattr(choice.model, "_doubt_of_number"):
        choice.model._doubt_of_number = small  # replaces the fit's own, which compared no other number
    _warn_of(choice, X, small)
    if evidence is not None and evidence.in_two and not choice.no_groups:
        warn(_in_two_remark(evidence.in_two), NumberOfGroupsWarning)
    return choice


def _in_two_remark(columns: Sequence[str]) -> str:
    """Return that numbers in two ranges were not taken for groups, and what to do."""
    one = len(columns) == 1
    return (
        f"the numbers of {listed(columns, 'and')} lie in two ranges{'' if one else ' each'}, but no other column agrees, so "
        f"{'it is' if one else 'they are'} set aside. If the ranges matter to you, set a larger number of clusters."
    )


def _warn_of(choice: Choice[Model], X: object, small: str | None) -> None:
    """Issue the warnings about a choice."""
    if choice.no_groups:
        warn(no_groups_remark(choice), NoGroupsWarning)
        return
    column = twins(choice.model, X)
    if column is not None:
        warn(twins_remark(column), TwinsWarning)
    if small:
        warn(small, NumberOfGroupsWarning)
    if choice.edge:
        warn(edge_remark(choice), SearchEdgeWarning)


def no_groups_remark(choice: Choice[Model]) -> str:
    """Return that there are no groups, why, and what to do."""
    instead = (
        "all objects are in one group" if choice.n_clusters == 1 else f"{choice.n_clusters} are the best of those tried"
    )
    return (
        f"no groups stand apart ({choice.evidence}): {instead}. Set a number of clusters to divide the objects "
        "anyway. Groups that are not convex, such as rings, are not recognized."
    )


@dataclass(frozen=True)
class _Task(Generic[Model]):
    """The arguments of a search."""

    X: object
    base: Model
    numbers: list[int] | None
    fit: Callable[[Model, object], Model | None] | None
    callback: Callable[[int, Model, float], bool | None] | None

    @property
    def may_be_one(self) -> bool:
        """Whether "no groups" is a possible answer."""
        return self.numbers is None or 1 in self.numbers

    def mixture(self) -> MixtureEvidence | None:
        """A mixture's evidence for the candidates."""
        n = n_objects(self.X)
        most = most_clusters(n) if self.numbers is None else max(self.numbers)
        return mixture_evidence(self.base, self.X, self.numbers or default_candidates(n), most)

    def fitted(self, c: int, X: object) -> tuple[Model | None, Warned]:
        """Return the model with c clusters, None for an interrupted fit, and its warnings."""
        model = clone(self.base).set_params(n_clusters=c)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            result = model.fit(X) if self.fit is None else self.fit(model, X)
        if result is not None and not isinstance(result, type(model)):
            raise TypeError(
                f"fit must return the fitted estimator, or None for one that was cut short; got {result!r}."
            )
        return result, [one for one in warned if not issubclass(one.category, NumberOfGroupsWarning)]

    def final(self, c: int) -> tuple[Model, Warned]:
        """Return the model of all objects with the selected number."""
        model, warned = self.fitted(c, self.X)
        if model is None:
            raise ValueError("no number of clusters was completed: the fit was interrupted.")
        return model, warned


def _by_mixture(task: _Task[Model], evidence: MixtureEvidence) -> tuple[Choice[Model], Warned]:
    """Select the number of groups best supported by a mixture of all columns, or of the informative ones."""
    values = {c: v for c, v in evidence.values.items() if c in (task.numbers or evidence.values)}
    number = 1 if evidence.no_groups and task.may_be_one else min(values, key=lambda c: values[c])
    best_first = sorted(values, key=lambda c: values[c])
    tied = [c for c in best_first if c != number and values[c] - values[number] < NEAR] if number > 1 else []
    model, warned = task.final(number)
    if task.callback is not None:
        task.callback(number, model, values[number])
    over = evidence.values[1] - evidence.values[number]
    columns = ", ".join(evidence.columns) or "all columns"
    text = f"a mixture of {number} groups over {columns} is better than one group by {over:.0f}"
    if evidence.no_groups:
        several = [c for c in evidence.values if c > 1 and evidence.values[c] < evidence.values[1]]
        text = "there is no valley between the parts" if several else "one group is best"
        text = f"of mixtures over {columns}, {text}"
    return Choice(number, model, values, "mixture", evidence.no_groups, text, tied=tuple(tied)), warned


def _by_fits(task: _Task[Model], rule: str | None, seed: int) -> tuple[Choice[Model], Warned]:
    """Compare one fit per number, on a sample if there are many objects, by a rule."""
    X, n, searched = task.X, n_objects(task.X), task
    if n > LARGE and hasattr(task.base, "n_init") and not takes_dissimilarities(task.base):
        X = part_of(X, np.sort(np.random.RandomState(seed).permutation(n)[:SAMPLE]), None)
        searched = replace(task, base=clone(task.base).set_params(n_init=min(task.base.n_init, RESTARTS)))
    search = _Search[Model](X, rule)
    for c in _numbers(task.numbers, n, search):
        model, warned = searched.fitted(c, X)
        if model is None:
            break
        value = search.add(c, model, warned)
        if task.callback is not None and task.callback(c, model, value):
            break
    if task.may_be_one and (search.best == 0 or search.no_groups):
        model, warned = task.final(1)
        return search.choice(1, model), warned
    model, warned = search.best_model(), search.said
    if X is not task.X:
        model, warned = task.final(search.best)
    return search.choice(search.best, model), warned


def _with_metric(estimator: Model, X: object) -> tuple[Model, str | None]:
    """Return the estimator with one inferred metric for all numbers of clusters, and its reason."""
    metric = estimator.get_params(deep=False).get("metric")
    if metric != SERIES_AUTO and not (metric == AUTO and kind_of(X) == "series"):
        return estimator, None
    chosen = choose_for(metric, X, None)
    return clone(estimator).set_params(metric=chosen.metric), chosen.reason


def edge_remark(choice: Choice[Model]) -> str:
    """Return that the selected number is the last one tried, and what to do."""
    more = "more" if choice.edge == "largest" else "fewer"
    return (
        f"{choice.n_clusters} is the {choice.edge} number of clusters tried: {more} may be better. Try a wider "
        "range of candidates."
    )


class _Search(Generic[Model]):
    """The candidates tried so far; only the best one's model and warnings are kept."""

    def __init__(self, X: object, rule: str | None) -> None:
        self.X, self.rule = X, rule
        self.values: dict[int, float] = {}
        self.silhouettes: dict[int, float] = {}
        self.terms: dict[int, NDArray[np.float64]] = {}  # of the objects; the values are their means
        self.best = 0
        self.model: Model | None = None
        self.n_separate: int | None = None  # separated groups of the best
        self.said: Warned = []

    def add(self, c: int, model: Model, warned: Warned) -> float:
        """Record a candidate's value; the first one resolves "auto"."""
        geometry = geometry_of(model, self.X)
        if self.rule is None:
            self.rule = "nonspecificity" if geometry is None else DEFAULT
        measured = measures(model.partition_, geometry)
        value = self.values[c] = _value(self.rule, model, measured, self.X)
        if math.isfinite(value) and geometry is not None:
            self.silhouettes[c] = measured.silhouette
            if self.rule in ("valleys", "silhouette") and c > 1:
                self.terms[c] = object_silhouettes(
                    model.partition_.labels(), geometry.root() if self.rule == "valleys" else geometry
                )
        smaller = RULES[self.rule].smaller
        if self.model is None or (value < self.values[self.best] if smaller else value > self.values[self.best]):
            self.best, self.model, self.said, self.n_separate = c, model, warned, measured.apart
        return value

    @property
    def is_sound(self) -> bool:
        """Whether the best clusters are neither merged nor empty."""
        return not math.isinf(self.values[self.best])

    @property
    def no_groups(self) -> bool:
        """Whether the best clusters have no valley between them; only for the valleys rule."""
        return self.rule == "valleys" and (self.n_separate == 1 or not self.is_sound)

    def best_model(self) -> Model:
        """Return the best model; raise an error if none is reliable."""
        if self.model is None:
            raise ValueError("no number of clusters was completed: the first fit was interrupted.")
        if not self.is_sound:
            raise ValueError(
                f"no number of clusters among {list(self.values)} gave groups that stand apart: all merged or are "
                "empty. Try relaxation='gap', a beta nearer to 1, or other candidates."
            )
        return self.model

    def choice(self, number: int, model: Model) -> Choice[Model]:
        """Return the comparison with the selected number; 1 means "no groups"."""
        if self.rule is None or not self.values:  # only 1 was a candidate, or no fit was completed
            return Choice(number, model, {}, self.rule or DEFAULT)
        evidence, others, tied = self._evidence(), self._others(number), self._tied(number)
        return Choice(number, model, self.values, self.rule, self.no_groups, evidence, others, tied)

    def _evidence(self) -> str:
        if self.rule != "valleys":
            return ""
        if not self.is_sound:
            return "whatever their number, clusters merged or are empty"
        if self.n_separate == 1:
            tried = f"{min(self.values)} to {max(self.values)} clusters were tried"
            return f"{tried}, and even the best {self.best} have no valley between them"
        return f"{self.n_separate} of {self.best} clusters have a valley around them"

    def _tied(self, number: int) -> tuple[int, ...]:
        """Return the numbers whose value differs from the selected one's within sampling error."""
        if number not in self.terms:
            return ()
        gaps = {c: self.values[number] - self.values[c] for c in self.terms if c != number}
        errors = {c: float(np.std(self.terms[number] - self.terms[c])) / math.sqrt(len(self.terms[c])) for c in gaps}
        return tuple(c for c in sorted(gaps, key=lambda c: gaps[c]) if gaps[c] <= TIED * errors[c])

    def _others(self, number: int) -> dict[str, int]:
        """Return the silhouette's choice, if different."""
        if self.rule != "valleys" or number == 1 or len(self.silhouettes) < 2:
            return {}
        best = max(self.silhouettes, key=lambda c: self.silhouettes[c])
        return {} if best == number else {"silhouette": best}


def _numbers(candidates: list[int] | None, n_objects: int, search: _Search[Model]) -> Iterator[int]:
    """Return the candidates except 1, which needs no search; by default 2 to 8, and on to twice the best so far."""
    if candidates is not None:
        yield from (c for c in candidates if c > 1)
        return
    first = default_candidates(n_objects)
    yield from first
    for c in range(first[-1] + 1, most_clusters(n_objects) + 1):
        if c > AS_FAR * search.best:
            return
        yield c


def _checked(candidates: object, n_objects: int) -> list[int]:
    numbers = list(candidates) if isinstance(candidates, Iterable) else []
    if not numbers:
        raise ValueError(
            f"candidates must hold at least one number of clusters; got {candidates!r}. Use range(1, 9), for example."
        )
    for c in numbers:
        hint = f"Each is a number of clusters of {n_objects} objects; 1 stands for no groups."
        check_count("candidates", c, most=n_objects, hint=hint)
    return numbers


def _value(rule: str, model: EvidentialClusterer, measured: Measures, X: object) -> float:
    """Return the rule's value for a fitted model; infinitely bad if clusters merged or are empty."""
    if math.isinf(guarded_nonspecificity(model)):
        return math.inf if RULES[rule].smaller else -math.inf
    if rule == "nonspecificity":
        return guarded_nonspecificity(model)
    if rule == "stability":
        data = Data(X, None, None, digest(X))
        (cell,) = make_cells({"": model}, {"n_clusters": model.n_clusters}, [0])
        return run_stability([cell], data, RESAMPLES)[0].stability
    value = float(getattr(measured, RULES[rule].column))
    if math.isnan(value):
        raise ValueError(
            f"rule {rule!r} needs prototypes that objects can be compared with; {type(model).__name__} has none. Use "
            "rule='nonspecificity' or 'stability'."
        )
    return value
