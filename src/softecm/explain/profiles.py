"""What distinguishes a group, a set between groups, or the outliers from all other objects, column by column."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softecm._checks import is_number, make_frame
from softecm._precision import Precision, with_unit
from softecm._text import number_of, opening, share_of
from softecm.belief import CredalPartition, FocalSets
from softecm.belief.assignments import belonging
from softecm.explain.columns import Column, Numbers, Words, measured, readable, split_unit
from softecm.explain.effects import Effect, cliffs_delta, quantile

FEWEST = 3  # minimum number of objects of a group, and with a value in a column
IN_SENTENCE = 3  # maximum number of traits in a sentence
UNLIKE = 0.5  # spreads within groups: minimum difference worth naming
DISTINCT = 100.0  # spreads within groups: larger differences are equivalent
HAS, FITS, LIKE = " has ", " fits ", "; most like "  # what precedes and follows the name of a group in a sentence
NORMAL = math.sqrt(math.pi / 2)  # ratio of standard and mean absolute deviation; of the errors of median and mean
CLEARER = 0.2  # by which "around" or "far from" must beat the simpler "higher" or "lower"
SIDE = 0.25  # minimum share of the others on either side of a group for a sentence to give both


@dataclass(frozen=True)
class Trait:
    """What distinguishes a group in one column.

    Attributes
    ----------
    group : str
        A cluster, a set of clusters, or the empty set, labelled like the partition's focal sets.
    column : str
    how : {"higher", "lower", "around", "far from", "more often", "seldom"}
    effect, low, high : float
        Cliff's delta in the direction of ``how``, from 0 to 1, and its interval.
    here, elsewhere : object
        Medians of numbers, shares of a category.
    category : object
        The category of a share; None for numbers.
    distinguishes : bool
        Whether the interval excludes 0 and the effect is large enough.
    precision : Precision
        Precision for displaying ``here`` and ``elsewhere``. Those of dates are microseconds since 1970.
    unit : str
        Of the column's numbers, if its cells have one.
    spread : float
        Standard deviation of the group's numbers, estimated from their mean distance to the median.
    error : float
        Standard error of ``here``; only for numbers.
    sides : tuple of float
        If many of the others are below, and many above the group's median: the medians of both.
    """

    group: str
    column: str
    how: str
    effect: float
    low: float
    high: float
    here: float
    elsewhere: float
    category: object = None
    distinguishes: bool = True
    precision: Precision = field(default_factory=Precision)
    unit: str = ""
    spread: float = math.nan
    error: float = math.nan
    sides: tuple[float, ...] = ()

    def __str__(self) -> str:
        if self.category is not None:
            return f"{self.column} {self.how} {self.category} ({self.here:.0%}, others {self.elsewhere:.0%})"
        here, elsewhere = readable(self.here, self.precision), readable(self.elsewhere, self.precision)
        if self.how == "around":
            return f"{self.column} around {here}"
        if self.how == "far from":
            return f"{self.column} far from {elsewhere}"
        how = in_time(self.how) if self.precision.moment else self.how
        return f"{self.column} {how} ({here}, others {elsewhere})"


def in_time(how: str) -> str:
    """Return how dates differ."""
    return {"higher": "later", "lower": "earlier"}.get(how, how)


@dataclass(frozen=True)
class Profiles(Sequence[Trait]):
    """Traits of all groups, each group's strongest first; made by :func:`profile`."""

    traits: tuple[Trait, ...]
    sizes: dict[str, int]  # number of objects of each group
    focal_sets: FocalSets

    @property
    def groups(self) -> tuple[str, ...]:
        """Labels of the single clusters."""
        return self.focal_sets.labels()[1 : self.focal_sets.n_clusters + 1]

    @property
    def words(self) -> dict[str, str]:
        """Each label in plain words: "group 1", "group 1 or 2", "no group"."""
        return dict(zip(self.focal_sets.labels(), self.focal_sets.in_words(), strict=True))

    def __len__(self) -> int:
        return len(self.traits)

    def __getitem__(self, index: Any) -> Any:
        return self.traits[index]

    def __iter__(self) -> Iterator[Trait]:
        return iter(self.traits)

    def of(self, group: str, *, all: bool = False) -> tuple[Trait, ...]:
        """Return the traits that distinguish a group, or all of them."""
        if group not in self.sizes:
            raise ValueError(f"group must be one of {', '.join(map(repr, self.sizes))}; got {group!r}.")
        return tuple(trait for trait in self.traits if trait.group == group and (all or trait.distinguishes))

    def untold(self, group: str) -> str:
        """Return the text for a group that no column distinguishes."""
        if sum(size for name, size in self.sizes.items() if name not in (group, "∅")) < FEWEST:
            return f"too few others to compare with (at least {FEWEST} needed)"
        if not any(trait.group == group for trait in self):
            return f"too few to describe (at least {FEWEST} needed)"
        if group == "∅":
            return "outliers in different ways: no single column separates them"
        return "nothing stands out by itself"

    def sentence(self, group: str, noun: str = "object") -> str:
        """Describe a group in one sentence: its size, its typical values, its difference from the nearest group.

        Examples
        --------
        >>> from softecm import CredalPartition
        >>> X = np.column_stack([np.r_[np.arange(1000, 1020), np.arange(5000, 5020)], np.tile([0.0, 1.0], 20)])
        >>> found = profile(CredalPartition.from_hard(np.repeat([0, 1], 20)), X, columns=["spend (€)", "noise"])
        >>> found.sentence("ω1").replace("\u202f", " ")
        'Group 1 has 20 objects (50%): spend 1010 € (others 5010 €).'
        """
        traits, size, total = self.of(group)[:IN_SENTENCE], self.sizes[group], sum(self.sizes.values())
        counted = f"{number_of(size, noun)} ({share_of(size, total)})"
        typical = "; ".join(_typical(trait) for trait in traits) or self.untold(group)
        name = f"{opening(self.words[group])}{HAS if group in self.groups else FITS}"
        return f"{name}{counted}: {typical}{self._unlike_nearest(group)}."

    def sentences(self, noun: str = "object") -> dict[str, str]:
        """Return one sentence for each group."""
        return {group: self.sentence(group, noun) for group in self.sizes}

    def _unlike_nearest(self, group: str) -> str:
        """Return in which number a group differs most from its most similar one, unless already stated."""
        here = {name: {t.column: t for t in self.of(name, all=True) if t.category is None} for name in self.sizes}
        shared = [c for c in here[group] if all(c in one for one in here.values() if one)]
        others = [name for name in self.groups if here.get(name) and name != group]
        errors = quantile(0.95, len(shared) * len(others))
        distances = {
            name: {c: _spreads_between(here[group][c], here[name][c], errors) for c in shared} for name in others
        }
        if len(distances) < 2 or not any(map(any, (one.values() for one in distances.values()))):
            return ""
        nearest = min(distances, key=lambda name: sum(distances[name].values()))
        column = max(distances[nearest], key=lambda c: distances[nearest][c])
        if distances[nearest][column] < UNLIKE:
            return f"{LIKE}{self.words[nearest]}"
        own, other = (_in_sentence(one[column].here, one[column]) for one in (here[group], here[nearest]))
        return f"{LIKE}{self.words[nearest]}, but {_before_value(column)} {own}, not {other}"

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a data frame, one row per group and column."""
        names = ("group", "column", "how", "category", "effect", "low", "high", "here", "elsewhere", "distinguishes")
        columns = {name: [getattr(trait, name) for trait in self.traits] for name in names}
        columns["category"] = ["" if value is None else str(value) for value in columns["category"]]
        return make_frame(columns, backend)

    def __str__(self) -> str:
        lines = []
        for group, size in self.sizes.items():
            typical = "; ".join(str(trait) for trait in self.of(group)[:5]) or self.untold(group)
            lines.append(f"{self.words[group]} ({number_of(size, 'object')}): {typical}")
        return "\n".join(lines)


def _spreads_between(one: Trait, other: Trait, errors: float) -> float:
    """Return the difference of two groups in a numeric column, in spreads within them, minus this many errors."""
    gap, spread = abs(one.here - other.here), math.hypot(one.spread, other.spread) / math.sqrt(2)
    beyond = gap - errors * math.hypot(one.error, other.error)
    return beyond / max(spread, gap / DISTINCT) if beyond > 0 else 0.0


def renamed(sentence: str, names: Mapping[str, str]) -> str:
    """Rename a group and the nearest group in a sentence; words of the table don't change.

    Examples
    --------
    >>> renamed("Group 1 has 9 objects (50%): pays x; most like b, but age 9, not 8.", {"group 1": "calm", "b": "busy"})
    'calm has 9 objects (50%): pays x; most like busy, but age 9, not 8.'
    """
    begins = {name: opening(name) for name in names}
    own = max(
        (n for n, first in begins.items() if sentence.startswith((first + HAS, first + FITS))), key=len, default=""
    )
    if not own:
        return sentence
    text, like, nearest = sentence[len(own) :].rpartition(LIKE)
    others = (name for name in names if like and nearest.startswith((f"{name}, but ", f"{name}.")))
    other = max(others, key=len, default="")
    return opening(names[own]) + text + like + names.get(other, "") + nearest[len(other) :]


def _typical(trait: Trait) -> str:
    """Return a trait with rounded numbers, their unit and separators; without numbers, how it differs."""
    name = split_unit(trait.column)[0]
    if math.isnan(trait.here):
        return f"{name} {trait.how}"
    if trait.category is not None:
        return f"{name} {trait.category} {trait.here:.0%} (others {trait.elsewhere:.0%})"
    here, elsewhere = (_in_sentence(value, trait) for value in (trait.here, trait.elsewhere))
    if trait.how == "far from":
        return f"{name} far from {elsewhere}"
    others = [_in_sentence(value, trait) for value in trait.sides] or [elsewhere]
    if here in others:
        return f"{name} around {here}" if trait.how == "around" else f"{name} {trait.how}"
    about = "around " if trait.sides else ""
    return f"{_before_value(trait.column)} {here} (others {about}{' or '.join(others)})"


def _before_value(column: str) -> str:
    """Return a column's name without its unit; after a name that ends with a digit comes an equals sign."""
    name = split_unit(column)[0]
    return f"{name} =" if name[-1:].isdigit() else name


def in_unit(value: float, trait: Trait, unit: str = "") -> str:
    """Return a number or a date in the column's own precision, with the unit of its cells or of its name."""
    return with_unit(readable(value, trait.precision), trait.unit or unit)


def _in_sentence(value: float, trait: Trait) -> str:
    """The same with the unit that a sentence takes from the column's name."""
    return in_unit(value, trait, split_unit(trait.column)[1])


def profile(
    partition: CredalPartition,
    X: object,
    *,
    columns: Sequence[str] | None = None,
    level: float = 0.95,
    least: float = 0.3,
) -> Profiles:
    """Describe each group: columns ranked by how well they distinguish its objects from all others.

    Groups are the sets of clusters to which objects are assigned (largest mass), ∅ for outliers, which are not among
    the others that a group is compared with. The effect is Cliff's delta (:mod:`softecm.explain.effects`); for a
    number, of the value itself ("higher", "lower"), of its distance from the group's median ("around"), or from the
    others' median ("far from"). Intervals hold jointly for all columns of a group. They are descriptive: groups found
    in these very columns necessarily differ in some.

    Parameters
    ----------
    partition : CredalPartition
    X : a table (data frame or 2-D array), or series (3-D array or list of arrays)
        Of the same objects, in the same order; need not be what was clustered. Series are described by segments of
        their time.
    columns : sequence of str, optional
        Names for the columns of an array, or for the channels of series.
    level : float, default=0.95
        Of the intervals, together.
    least : float, default=0.3
        Minimum effect for a column to distinguish a group.

    Returns
    -------
    Profiles
        ``of(group)``, ``to_frame()``; ``print`` shows it in words.

    Examples
    --------
    >>> import numpy as np
    >>> from softecm import CredalPartition
    >>> from softecm.explain import profile
    >>> X = np.column_stack([np.r_[np.arange(20), np.arange(50, 70)], np.tile([0.0, 1.0], 20)])
    >>> print(profile(CredalPartition.from_hard(np.repeat([0, 1], 20)), X, columns=["height", "noise"]))
    group 1 (20 objects): height lower (9.5, others 59.5)
    group 2 (20 objects): height higher (59.5, others 9.5)
    """
    _check("level", level)
    _check("least", least)
    columns_of = measured(X, columns, len(partition))
    assigned = belonging(partition.masses).argmax(1)
    labels = partition.focal_sets.labels()
    errors = quantile(level, sum(column.n_tests for column in columns_of))
    traits: list[Trait] = []
    sizes: dict[str, int] = {}
    for k in [*range(1, len(labels)), 0]:
        inside = assigned == k
        if not inside.any():
            continue
        sizes[labels[k]] = int(inside.sum())
        others = ~inside & (assigned > 0)
        if min(inside.sum(), others.sum()) >= FEWEST:
            own = [trait for column in columns_of if (trait := _trait(column, labels[k], inside, others, errors))]
            judged = [replace(trait, distinguishes=trait.low > 0 and trait.effect >= least) for trait in own]
            traits += sorted(judged, key=lambda trait: (not trait.distinguishes, -trait.effect))
    return Profiles(tuple(traits), sizes, partition.focal_sets)


def _trait(
    column: Column, group: str, inside: NDArray[np.bool_], outside: NDArray[np.bool_], errors: float
) -> Trait | None:
    """Return what distinguishes a group from those outside in a column; None if there are too few values."""
    if isinstance(column, Numbers):
        return _of_numbers(column, group, inside, outside, errors)
    return _of_words(column, group, inside, outside, errors)


def _of_numbers(
    column: Numbers, group: str, inside: NDArray[np.bool_], outside: NDArray[np.bool_], errors: float
) -> Trait | None:
    known = np.isfinite(column.values)
    here, others = column.values[inside & known], column.values[outside & known]
    if min(len(here), len(others)) < FEWEST:
        return None
    middle, elsewhere = float(np.median(here)), float(np.median(others))
    level = cliffs_delta(here, others, errors)
    best, how = (level, "higher") if level.size >= 0 else (level.turned(), "lower")
    near = cliffs_delta(np.abs(here - middle), np.abs(others - middle), errors).turned()
    far = cliffs_delta(np.abs(here - elsewhere), np.abs(others - elsewhere), errors)
    for effect, name in ((near, "around"), (far, "far from")):
        if effect.size > best.size + CLEARER:
            best, how = effect, name
    spread = NORMAL * float(np.abs(here - middle).mean())
    error = NORMAL * spread / math.sqrt(len(here))
    both = [others[others < middle], others[others > middle]]
    split = how == "around" and min(map(len, both)) >= SIDE * len(others)
    sides = tuple(float(np.median(one)) for one in both) if split else ()
    precision = column.precision
    return Trait(
        group, column.name, how, *best, middle, elsewhere, precision=precision, spread=spread, error=error, sides=sides
    )


def _of_words(
    column: Words, group: str, inside: NDArray[np.bool_], outside: NDArray[np.bool_], errors: float
) -> Trait | None:
    known = column.codes >= 0
    here, others = column.codes[inside & known], column.codes[outside & known]
    if min(len(here), len(others)) < FEWEST:
        return None
    effects: list[tuple[Effect, int]] = []
    for code in range(len(column.categories)):
        effect = cliffs_delta((here == code).astype(float), (others == code).astype(float), errors)
        effects.append((effect if effect.size >= 0 else effect.turned(), code))
    # Of equal effects, the more frequent category.
    best, code = max(effects, key=lambda pair: (round(pair[0].size, 9), float((here == pair[1]).mean())))
    shares = float((here == code).mean()), float((others == code).mean())
    how = "more often" if shares[0] >= shares[1] else "seldom"
    return Trait(group, column.name, how, *best, *shares, column.categories[code])


def _check(name: str, value: object) -> None:
    if not is_number(value) or not 0 < value < 1:
        raise ValueError(f"{name} must be a number above 0 and below 1; got {value!r}.")
