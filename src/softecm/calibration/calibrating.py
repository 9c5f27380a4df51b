"""Calibrated masses: intervals from refits, and a credal partition with these intervals."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from softecm._checks import check_choice, check_count, check_number, make_frame
from softecm._engine import check_memory
from softecm.algorithms.base import EvidentialClusterer
from softecm.belief import CredalPartition, FocalSets
from softecm.belief.assignments import CLEAR, Decisions
from softecm.calibration.intervals import (
    AT_ONCE,
    ComparedPairs,
    FloatArray,
    IntArray,
    believed,
    bounds,
    compared_bounds,
    misfit,
    object_masses,
    pair_masses,
    resolved,
)
from softecm.calibration.refitting import Refitting, Resample, refits
from softecm.selection.stability import COMPARED, ring
from softecm.spaces.raw import raw_data
from softecm.spaces.views import n_objects

ALL_PAIRS = 1_000  # objects up to which all pairs are compared
MOST_PAIRED = 20_000  # objects up to which pairs are sampled
PARTNERS = 40  # sampled per object
LOOKED_AT = 4_000  # pairs for estimating coverage
ALL_SETS = 10  # clusters up to which all pairs of them are sets


@dataclass(frozen=True, eq=False, repr=False)
class Calibration:
    """The results of refits, and a calibrated partition; made by :func:`softecm.calibrate`.

    Attributes
    ----------
    partition : CredalPartition
        Its belief and plausibility of "these two belong together" approximate the intervals.
    before : CredalPartition
        The model's partition.
    memberships : ndarray of shape (n_boot, n, c)
        Probabilities of the clusters in each refit.
    level : float
        Share of the refits inside an interval.
    lower, upper : ndarrays of shape (n, c)
        Intervals for "this object belongs to this cluster".
    misfit : float
        Root mean squared difference between the masses of a pair and its interval.
    form : str
        The assumed form of groups, such as "round Gaussians".
    set_lower, set_upper : ndarrays of shape (n, f + 1)
        Intervals for the masses on ∅ and on each focal set of ``before``: between two clusters, or nowhere.
    """

    partition: CredalPartition
    before: CredalPartition
    memberships: FloatArray
    level: float
    lower: FloatArray
    upper: FloatArray
    misfit: float
    form: str
    set_lower: FloatArray
    set_upper: FloatArray

    def __repr__(self) -> str:
        b, n, c = self.memberships.shape
        return (
            f"Calibration({n} objects, {c} clusters, {b} refits, intervals of {self.level:g}, misfit {self.misfit:.3f})"
        )

    def interval(self, i: int, j: int) -> tuple[float, float]:
        """Return the interval of the probability that objects i and j, counted from 0, belong together."""
        n = self.memberships.shape[1]
        for number in (i, j):
            if not -n <= number < n:
                raise IndexError(f"there are {n} objects, numbered from 0; got {number}.")
        low, high = resolved(*bounds(self.memberships, np.array([i]), np.array([j]), self.level), n)
        return float(low[0]), float(high[0])

    def decisions(self, clear: float = CLEAR) -> Decisions:
        """Return one-word decisions from the calibrated masses: "clearly" if the refits agree."""
        return self.partition.decisions(clear)

    @cached_property
    def said(self) -> tuple[FloatArray, FloatArray]:
        """Intervals, (n,) each, of the model's decisions: in a cluster, between clusters, or nowhere."""
        rows, columns, c = np.arange(len(self.before)), self.before.masses.argmax(1), self.lower.shape[1]
        single = (columns > 0) & (columns <= c)
        at = np.clip(columns - 1, 0, c - 1)
        low = np.where(single, self.lower[rows, at], self.set_lower[rows, columns])
        return low, np.where(single, self.upper[rows, at], self.set_upper[rows, columns])

    def coverage(self) -> dict[str, dict[str, float]]:
        """Return how often refits are within the masses' bounds, before and after, and in the intervals of other refits.

        For a sample of pairs: ``inside``, the share of the refits' probabilities of "these two belong together" between
        belief and plausibility, and ``width``, the mean of their difference. ``intervals`` come from the refits with
        even numbers, checked with the odd ones. ``inside`` should be ``level``: more is too cautious, less
        overconfident.
        """
        n = self.memberships.shape[1]
        i, j = _some_pairs(n)
        together = np.einsum("bik,bik->bi", self.memberships[:, i], self.memberships[:, j])
        low, high = resolved(*bounds(self.memberships[::2], i, j, self.level), n)
        agreement = {"before": _said(self.before, i, j), "after": _said(self.partition, i, j)}
        counts = {name: _inside(together, *ends) for name, ends in agreement.items()}
        return {**counts, "intervals": _inside(together[1::2], low, high)}

    @cached_property
    def object_stability(self) -> FloatArray:
        """Each object's mean probability over refits of the cluster assigned by the model, (n,)."""
        labels = self.before.labels()
        own: FloatArray = self.memberships.mean(0)[np.arange(len(labels)), labels]
        return own

    @cached_property
    def cluster_stability(self) -> FloatArray:
        """Each cluster's recovery by refits, (c,): the mean Jaccard index of its members.

        Below 0.5 a cluster falls apart in other samples; from about 0.75 it is stable.
        """
        inside = 1.0 - self.before.masses[:, :1]
        own = np.eye(self.memberships.shape[2])[self.before.labels()] * inside
        both: FloatArray = np.zeros(own.shape[1])
        for one in self.memberships:  # one by one: there may be 100 of 100000 objects each
            members = one * inside
            both += np.minimum(members, own).sum(0) / np.maximum(np.maximum(members, own).sum(0), 1e-300)
        return both / len(self.memberships)

    @cached_property
    def stability(self) -> float:
        """Overall agreement of refits with each other, corrected for chance, as in ``sweep(resamples=)``."""
        rows = np.sort(np.random.RandomState(0).permutation(self.memberships.shape[1])[:COMPARED])
        some = self.memberships[:, rows]
        return ring([CredalPartition.from_fuzzy(one) for one in some / some.sum(2, keepdims=True)])

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a data frame, one row per object: decision before and after, stability, interval for each cluster."""
        names = self.before.focal_sets.cluster_names
        columns: dict[str, object] = {
            "before": self.before.decisions().words.tolist(),
            "after": self.decisions().words.tolist(),
            "set": [one.set for one in self.before.decisions()],
            "low": self.said[0],
            "high": self.said[1],
            "label": [names[k] for k in self.before.labels()],
            "stability": self.object_stability,
        }
        for k, name in enumerate(names):
            columns |= {f"low({name})": self.lower[:, k], f"high({name})": self.upper[:, k]}
        return make_frame(columns, backend)


def calibrate(
    model: EvidentialClusterer,
    X: object,
    n_boot: int = 100,
    *,
    level: float = 0.9,
    pairs: Literal["auto", "all", "some", "none"] = "auto",
    resample: Resample = "auto",
    warm: bool = True,
    focal_sets: FocalSets | None = None,
    random_state: int = 0,
    journal: str | os.PathLike[str] | None = None,
    progress: bool = False,
    client: object = None,
) -> Calibration:
    r"""Calibrate masses, so that "0.9" happens nine times in ten.

    The model is refitted to ``n_boot`` resamples of its objects. Each refit gives every object a probability for each
    cluster, and so every pair a probability :math:`\sum_k P_{ik} P_{jk}` of belonging together. These have an interval
    over the refits, and masses are fitted whose belief and plausibility of "these two belong together" are these
    intervals (Denœux's Bootclus, for any clusterer and metric).

    The probabilities are not the model's masses, which are not calibrated to frequencies. For squared distances of
    vectors they come from a mixture that starts at the model's clusters: Gaussians or, with heavy tails, t
    distributions, round or of any form, whichever describes the objects best (:mod:`softecm.calibration.mixture`). For
    other metrics they follow from the distances of each cluster's own objects to its prototype
    (:mod:`softecm.calibration.posterior`), and for models without prototypes they are pignistic. They are as accurate
    as this description of the groups.

    Parameters
    ----------
    model : fitted estimator of this package
    X : the objects it was fitted to
    n_boot : int, default=100
        Number of refits. An interval of ``level`` needs at least 2 / (1 - level) - 1 of them.
    level : float, default=0.9
        Share of the refits inside an interval.
    pairs : {"auto", "all", "some", "none"}, default="auto"
        Pairs that masses are fitted to: all (up to 1000 objects by default), about 80 per object (up to 20000), or only
        pairs of an object and a cluster's prototype, which is fast for any number of objects.
    resample : {"auto", "bootstrap", "half"}, default="auto"
        Draw as many objects with replacement, or half of them without. "auto" draws with replacement if an object drawn
        twice can have weight 2, and halves if it would become two equal objects.
    warm : bool, default=True
        Start refits from the model's clusters, if the algorithm supports it, instead of a new initialization.
    focal_sets : FocalSets, optional
        Sets for the masses; by default single clusters, pairs of them and, with three or more, all together.
    random_state : int, default=0
    journal : path, optional
        A file that records each refit: the same call resumes an interrupted one, also with more refits.
    progress : bool, default=False
        Show a progress bar with the remaining time on the terminal.
    client : dask.distributed.Client, optional
        Send the refits to a Dask cluster; model and objects are scattered once.

    Returns
    -------
    Calibration
        ``partition``, ``interval(i, j)``, ``coverage()``, ``stability``, ``to_frame()``.

    Examples
    --------
    >>> from softecm import SoftECM, calibrate
    >>> from softecm.datasets import make_blobs
    >>> X = make_blobs(60, n_clusters=2, distance=4, random_state=0).data
    >>> found = calibrate(SoftECM(2, random_state=0).fit(X), X, n_boot=40)
    >>> found.partition
    CredalPartition(60 objects, 2 clusters, 3 focal sets and ∅)

    References
    ----------
    T. Denœux, "Calibrated model-based evidential clustering using bootstrapping", Information Sciences 528, 2020.
    """
    X = model.by_view(X) if isinstance(model, EvidentialClusterer) else X
    level = _checked(model, X, n_boot, level, pairs, resample)
    seed = check_count("random_state", random_state, least=0, hint="0 is usual.")
    refitting = Refitting(model, X, resample, bool(warm), seed)
    memberships, moved = refits(refitting, n_boot, journal=journal, progress=progress, client=client)
    before, (_, n, c) = model.partition_, memberships.shape
    focal = _sets(c, before.focal_sets) if focal_sets is None else _checked_sets(focal_sets, c)
    lower, upper = _ends(memberships, level)
    masses = object_masses(lower, upper, focal)
    compared = _compared(n, pairs, np.random.default_rng(seed))
    i, j = _some_pairs(n) if compared is None else (compared.owners, compared.others)
    if compared is None:
        low, high = resolved(*bounds(memberships, i, j, level), n)
    else:
        low, high = resolved(*compared_bounds(memberships, compared, level), n)
        masses = pair_masses(masses, focal, compared, low, high)
    off = float(np.sqrt(misfit(masses, focal, i, j, low, high) / max(2 * len(i), 1)))
    sets = _set_ends(before, refitting.concerned, moved, level)
    partition = CredalPartition(_with_sets(masses, focal, sets.mean, before.focal_sets), focal)
    return Calibration(partition, before, memberships, level, lower, upper, off, refitting.form, sets.lower, sets.upper)


def _checked(model: object, X: object, n_boot: object, level: object, pairs: object, resample: object) -> float:
    if not isinstance(model, EvidentialClusterer):
        raise TypeError(
            f"model must be a fitted estimator of softecm; got {type(model).__name__}. Fit SoftECM(n_clusters).fit(X) "
            "and give that."
        )
    check_is_fitted(model)
    share = check_number("level", level, above=0.0, most=0.999, hint="0.9 is usual.")
    check_choice("pairs", pairs, ("auto", "all", "some", "none"))
    check_choice("resample", resample, ("auto", "bootstrap", "half"))
    least = int(np.ceil(2.0 / (1.0 - share) - 1.0 - 1e-9))
    hint = f"An interval of {share:g} needs at least that many refits; 100 are usual."
    check_count("n_boot", n_boot, least=max(least, 2), hint=hint)
    if raw_data(X).in_blocks or not isinstance(model.partition_, CredalPartition):
        raise TypeError("X must be in memory for calibrate; got blocks. Calibrate on a sample of the objects.")
    n = n_objects(X)
    if n != len(model.partition_):
        raise ValueError(f"X must hold the {len(model.partition_)} objects of the fit, in their order; got {n}.")
    if model.partition_.n_clusters < 2:
        raise ValueError("model must have at least two clusters to be calibrated; got 1, to which all objects belong.")
    if getattr(model, "collapsed_", False):
        raise ValueError(
            "model must have distinct clusters to be calibrated; its prototypes have merged. Fit again with fewer clusters."
        )
    return share


def _sets(c: int, own: FocalSets) -> FocalSets:
    """Return single clusters, all together, the model's own sets and, for few clusters, all pairs."""
    whole = tuple(range(c))
    some = FocalSets.up_to(c, 2 if c <= ALL_SETS else 1).sets
    return FocalSets.of(c, [*dict.fromkeys([*some, *own.sets, whole])]).renamed(list(own.names) if own.names else None)


class _SetMasses(NamedTuple):
    """Masses (n, f + 1) over refits."""

    lower: FloatArray
    mean: FloatArray
    upper: FloatArray


def _set_ends(before: CredalPartition, rows: IntArray, moved: FloatArray, level: float) -> _SetMasses:
    """Return masses of refits (n_boot, rows, f + 1) for the objects ``rows``, the model's masses for the others."""
    ends = _SetMasses(*(before.masses.copy() for _ in range(3)))
    if len(rows):
        low, high = np.quantile(moved, ((1 - level) / 2, (1 + level) / 2), axis=0, method="weibull")
        ends.lower[rows], ends.upper[rows] = resolved(low, high, len(before))
        ends.mean[rows] = moved.mean(0)
    return ends


def _with_sets(masses: FloatArray, focal: FocalSets, mean: FloatArray, own: FocalSets) -> FloatArray:
    """Return masses (n, f + 1) of ``focal``: on ∅, and on sets for objects between clusters, the refits' means."""
    place = {members: j + 1 for j, members in enumerate(focal.sets)}
    several = [(j + 1, place[members]) for j, members in enumerate(own.sets) if len(members) > 1 and members in place]
    whole = np.column_stack([mean[:, 0], masses])
    theirs, ours = ([pair[side] for pair in several] for side in (0, 1))
    between = np.isin(mean.argmax(1), theirs)[:, None] * mean[:, theirs]
    whole[:, 1:] *= (1.0 - mean[:, 0] - between.sum(1))[:, None]
    whole[:, ours] += between
    return np.maximum(whole, 0.0)


def _checked_sets(focal: FocalSets, c: int) -> FocalSets:
    if not isinstance(focal, FocalSets) or focal.n_clusters != c:
        raise ValueError(f"focal_sets must be FocalSets of the model's {c} clusters; got {focal!r}.")
    return focal


def _ends(memberships: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Return intervals (n, c) of each object's probabilities."""
    runs, n, c = memberships.shape
    ends, step = np.empty((2, n, c)), max(1, AT_ONCE // (runs * c))
    for a in range(0, n, step):
        some = memberships[:, a : a + step]
        ends[:, a : a + step] = np.quantile(some, ((1 - level) / 2, (1 + level) / 2), axis=0, method="weibull")
    return resolved(ends[0], ends[1], n)


def _compared(n: int, pairs: str, rng: np.random.Generator) -> ComparedPairs | None:
    if pairs == "auto":
        pairs = "all" if n <= ALL_PAIRS else "some" if n <= MOST_PAIRED else "none"
    if pairs == "none":
        return None
    if pairs == "all":
        instead = "pairs='some' takes about 80 for each object, pairs='none' none."
        check_memory(48.0 * n**2, f"pairs='all' for {n} objects", instead)
    return ComparedPairs.all_of(n) if pairs == "all" or n <= 2 * PARTNERS else ComparedPairs.some_of(n, PARTNERS, rng)


def _some_pairs(n: int) -> tuple[IntArray, IntArray]:
    """Return a sample of pairs of different objects."""
    rng = np.random.default_rng(0)
    i = rng.integers(0, n, LOOKED_AT)
    return i, (i + rng.integers(1, n, LOOKED_AT)) % n


def _said(partition: CredalPartition, i: IntArray, j: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return belief and plausibility of "i and j belong together", given that both belong anywhere."""
    masses = partition.masses[:, 1:]
    held = masses.sum(1, keepdims=True)
    whole = np.divide(masses, held, out=np.full_like(masses, 1.0 / masses.shape[1]), where=held > 1e-12)
    return believed(whole, partition.focal_sets, i, j)


def _inside(together: FloatArray, low: FloatArray, high: FloatArray) -> dict[str, float]:
    held = (together >= low - 1e-9) & (together <= high + 1e-9)
    return {"inside": float(held.mean()), "width": float((high - low).mean())}
