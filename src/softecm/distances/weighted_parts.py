"""Base of metrics that are weighted sums of parts: the views of an object, or the columns of a table."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm._checks import check_choice, check_number
from softecm._warnings import ViewWarning, warn
from softecm._wording import worded
from softecm.distances.base import ClosedForm, SemiMetric, Sums
from softecm.files.expected import NOT_NEGATIVE, UNIT, Misfit, array, count, listed, maybe, number, rules

SUM, PRODUCT, ENTROPY = "sum", "product", "entropy"
ALL, CLUSTER, SET = "all", "cluster", "set"


@dataclass(frozen=True)
class Weighing:
    """How weights are learned within the loop.

    Attributes
    ----------
    rule : "sum", "product" or "entropy" of : "all" clusters together, each "cluster", or each "set" separately exponent
    : s of the rule "sum" temperature : T of the rule "entropy", relative to the mean total spread of a view regular :
    share of each view's total spread, added to its dispersion so that a perfectly fitted view doesn't take all
        weight
    """

    rule: str
    of: str = ALL
    exponent: float = 2.0
    temperature: float = 0.1
    regular: float = 1e-3

    def begin(self, rows: int, views: int, like: Tensor) -> Tensor:
        """Return equal weights (rows, views)."""
        return like.new_full((rows, views), 1.0 if self.rule == PRODUCT else 1.0 / views)

    def best(self, dispersions: Tensor, temperature: Tensor | float) -> Tensor:
        """Return the weights (..., views) that minimize the objective for dispersions (..., views).

        Examples
        --------
        >>> import torch
        >>> Weighing("product").best(torch.tensor([1.0, 4.0]), 0.0)
        tensor([2.0000, 0.5000])
        """
        if self.rule == ENTROPY:
            return torch.softmax(-dispersions / temperature, -1)
        logs = dispersions.clamp_min(torch.finfo(dispersions.dtype).tiny).log()
        if self.rule == PRODUCT:
            return (logs.mean(-1, keepdim=True) - logs).exp()
        free = dispersions == 0  # views without dispersion share all weight
        weights = torch.softmax(-logs / (self.exponent - 1.0), -1)
        shared = free / free.sum(-1, keepdim=True).clamp_min(1)
        return torch.where(free.any(-1, keepdim=True), shared, weights)

    def effective(self, weights: Tensor) -> Tensor:
        """Return the factors of the distances."""
        raised: Tensor = weights**self.exponent
        return raised if self.rule == SUM else weights

    def price(self, weights: Tensor, temperature: Tensor | float) -> Tensor:
        """Return the cost (...) of the weights (..., rows, views)."""
        if self.rule != ENTROPY:
            return weights.new_zeros(weights.shape[:-2])
        each: Tensor = temperature * torch.special.xlogy(weights, weights)
        return each.sum((-2, -1))


EQUAL, AGREEMENT, AUTO = "equal", "agreement", "auto"
LEARNED = {"learned": PRODUCT, SUM: SUM, PRODUCT: PRODUCT, ENTROPY: ENTROPY}
RULES = (EQUAL, AGREEMENT, *LEARNED)
TAKEN_OVER = 0.9  # share of the weight above which a part dominates
LITTLE = 0.15  # relative to the largest agreement of two parts
FOLLOWED = 0.5  # share of a part's spread between groups, from which the groups follow this part
NEXT_TO_NOTHING = 0.1  # relative to an equal share: a part of less weight hardly counts
SHOWN = 5  # names listed in a message


class PartDistances(NamedTuple):
    """Distances of some objects by part, and a function for their sums given weights."""

    each: Tensor  # (n, k, parts), divided by the parts' units; 0 for missing parts
    there: Tensor | None  # (n, parts), which parts are observed, as floats; None: all
    #: Of weights (n, k): coordinates concatenated; gradients for a part without an exact step.
    sums: Callable[[Tensor], Sums]


class Weighed(SemiMetric):
    """A sum of parts whose weights are given or learned together with the clusters.

    Concrete metrics are dataclasses with the fields declared here.
    """

    weights: Any
    weights_of: str
    exponent: float
    temperature: float
    shares: tuple[float, ...]  # the weights, once known; they add up to 1
    spreads: tuple[float, ...]  # half the mean distance between two objects in each part
    shapes: tuple[tuple[int, ...], ...]  # of a prototype in each part; all are concatenated
    common: tuple[float, ...]  # largest agreement of each part with another, 0 to 1
    by_set: Tensor | None  # (f, parts), if each set has its own weights
    known_rules: ClassVar[tuple[str, ...]] = RULES
    part: ClassVar[str] = "view"  # name of a part
    has_doubts = True
    regular: ClassVar[float] = 1e-3  # share of a part's spread, added to its dispersion when weights are learned
    SAVED = rules(
        shares=listed(number(UNIT)),
        spreads=listed(number(NOT_NEGATIVE)),
        common=listed(number(UNIT)),
        shapes=listed(listed(count())),
        by_set=maybe(array("sets parts", allowed=NOT_NEGATIVE)),
    )

    def check_parts(self, n_parts: int, n_sets: int) -> None:
        """Raise ``Misfit`` if a file has another number of parts or sets."""
        if {len(self.shares), len(self.spreads), len(self.common)} != {n_parts}:
            raise Misfit(f"the metric and model_.space have different {self.part}s")
        if self.by_set is not None and self.by_set.shape != (n_sets, n_parts):
            raise Misfit(f"the metric should have a weight for every {self.part} and set")

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """Names of the parts."""

    @property
    @abstractmethod
    def parts(self) -> tuple[SemiMetric, ...]:
        """The metric of each part."""

    @property
    @abstractmethod
    def units(self) -> list[float]:
        """Divisors of each part's distances."""

    @abstractmethod
    def each(self, x: Any, v: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return distances (n, k, parts) divided by the units, 0 for missing parts, and which are observed (n, parts)."""

    def check_rule(self, hint: str) -> None:
        """Validate the parameters of the weights."""
        check_choice("weights_of", self.weights_of, (ALL, CLUSTER, SET), f"'all' finds one weight per {self.part}.")
        check_number(
            "exponent", self.exponent, above=1, hint=f"2 is usual: nearer to 1, one {self.part} takes all the weight."
        )
        check_number(
            "temperature", self.temperature, above=0, hint=f"0.1 is usual: smaller lets one {self.part} take all."
        )
        if self.rule is not None:
            check_choice("weights", self.rule, self.known_rules, hint)

    @property
    def rule(self) -> str | None:
        """The rule for the weights; None if they are given."""
        return self.weights if isinstance(self.weights, str) else None

    @property
    def least_held(self) -> float:
        """Objects whose observed parts have less of the weight are equally near to everything."""
        return 0.0

    @property
    def weighing(self) -> Weighing | None:
        """How the weights are learned with the clusters; None if known before."""
        if self.rule not in LEARNED or len(self.parts) == 1:
            return None
        numbers = float(self.exponent), float(self.temperature), self.regular
        return Weighing(LEARNED[self.rule], self.weights_of, *numbers)

    @property
    def factors(self) -> list[float]:
        """Factors of each part's distances."""
        if not self.shares:
            raise ValueError(f"metric {type(self).__name__} needs data before use: fit an estimator with it.")
        return [share / unit for share, unit in zip(self.shares, self.units, strict=True)]

    @property
    def part_weights(self) -> dict[str, float | NDArray[np.float64]]:
        """The weight of each part after scaling, adding up to 1; by set if each set has its own."""
        if self.by_set is None:
            return dict(zip(self.names, self.shares, strict=True))
        rows = self.by_set / self.by_set.sum(1, keepdim=True)
        return {name: rows[:, j].double().numpy() for j, name in enumerate(self.names)}

    @property
    def base(self) -> Self:
        """The metric with the mean weights of all sets, which compares any two objects."""
        if self.by_set is None:
            raise AttributeError(f"{type(self).__name__} has one weight for all sets: it has no base.")
        return replace(self, by_set=None)  # type: ignore[type-var]

    def shares_like(self, d: Tensor) -> Tensor:
        """Return weights for distances (n, k, parts) to the prototypes of the first k sets."""
        return d.new_tensor(self.shares) if self.by_set is None else self.by_set[: d.shape[1]].to(d)

    def counts(self, there: Tensor | None, like: Tensor) -> Tensor | None:
        """Return factors of each object's parts (n, parts): 0 if missing, else one over the weight of its observed parts."""
        if there is None:
            return None
        shares, there = like.new_tensor(self.shares), there.to(like.dtype)
        return there * made_up(there @ shares, self.least_held)[:, None]

    def terms(self, x: Any, v: Tensor) -> Tensor | None:
        """Return each part's contribution to each distance (n, k, parts)."""
        each, there = self.each(x, v)
        each = each * self.shares_like(each)
        counts = self.counts(there, each)
        return each if counts is None else each * counts[:, None]

    def reweighed(self, shares: Tensor, of: str, n_clusters: int) -> Self:
        """Return the metric with the weights (f, parts) of a run: for each set, and their mean, which adds up to 1."""
        rows = shares if of == SET else shares[:n_clusters]
        mean = rows.double().mean(0)
        total = float(mean.sum())
        by_set = None if of not in (CLUSTER, SET) else (shares.double() / total).cpu()
        return replace(self, shares=tuple((mean / total).tolist()), by_set=by_set)  # type: ignore[type-var]

    def doubts(self, x: Any, clusters: Tensor) -> Sequence[str]:
        """Warn about a dominant part, and about groups that follow a part that doesn't agree with the others."""
        if len(self.shares) < 2:
            return ()
        each, there = self.each(x, clusters)
        terms = each * self.shares_like(each)
        nearest = terms.sum(-1).argmin(1)  # an object's factors are the same for all clusters
        own = each[torch.arange(len(each)), nearest]  # (n, parts)
        have = own.new_full((own.shape[1],), len(own)) if there is None else there.to(own).sum(0)
        inside = own.sum(0) / have.clamp_min(1.0)
        usual = inside.new_tensor(self.spreads) / inside.new_tensor(self.units)
        followed = (inside < (1.0 - FOLLOWED) * usual).tolist()
        return [*self._taken_over(), *self._strangers(followed)]

    def _taken_over(self) -> list[str]:
        first, share = max(zip(self.names, self.shares, strict=True), key=lambda pair: pair[1])
        if self.weighing is None or share <= TAKEN_OVER:
            return []
        return [
            f"{first!r} takes {share:.0%} of the weight: it is the easiest to fit, which does not make it right. "
            "Leave it out, or use weights='equal' or 'agreement'."
        ]

    def _strangers(self, followed: Sequence[bool]) -> list[str]:
        if self.weights == AGREEMENT and not any(self.common):
            return []  # already reported that no parts agree
        said = []
        for name, share, common, is_followed in zip(self.names, self.shares, self.common, followed, strict=True):
            counts = share * len(self.shares) > NEXT_TO_NOTHING
            if counts and is_followed and common <= LITTLE * max(self.common):
                remedy = worded(", give it a smaller weight, or try weights='agreement'", " if it should not count")
                said.append(
                    f"the groups follow {name!r}, which hardly agrees with the other {self.part}s: one with few "
                    f"distinct values is easy to fit. Leave it out{remedy}."
                )
        return said


def made_up(held: Tensor, least: float) -> Tensor:
    """Return one over the observed weight (n,), to make up for missing parts; 0 if it is less than ``least``."""
    return torch.where(held < least, 0.0, 1.0 / held.clamp_min(torch.finfo(held.dtype).tiny))


def say_unheard(names: Sequence[str], shares: Sequence[float], common: NDArray[np.float64]) -> None:
    """Warn about views with almost no weight because they don't agree with the others."""
    unheard = [name for name, share in zip(names, shares, strict=True) if share < NEXT_TO_NOTHING / len(shares)]
    if not common.any():
        warn("the views don't agree with each other, so none can be preferred: all get the same weight.", ViewWarning)
    elif unheard:
        more = f" and {len(unheard) - SHOWN} more" if len(unheard) > SHOWN else ""
        warn(
            f"views that hardly agree with the others get little weight: {', '.join(map(repr, unheard[:SHOWN]))}{more} "
            "(see view_weights_). Pass weights as numbers to change that.",
            ViewWarning,
        )


def middle_of(sizes: Sequence[float]) -> float:
    """Return the geometric mean of the positive values; 1 if there are none."""
    known = [math.log(size) for size in sizes if size > 0]
    return math.exp(math.fsum(known) / len(known)) if known else 1.0


def paired_slopes(part: SemiMetric, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return distances of rows of the same index, clipped at 0, and their derivatives by autograd."""
    ends = a.detach().requires_grad_(), b.detach().requires_grad_()
    with torch.enable_grad():
        d = part.paired(*ends).clamp_min(0.0)
    in_a, in_b = torch.autograd.grad(d, ends, torch.ones_like(d))
    return d.detach(), in_a, in_b


def measured(part: SemiMetric, x: object, v: Tensor, bend: float) -> tuple[Tensor, Callable[[Tensor], Sums]]:
    """Return distances (n, k) of one view, and a function from weights (n, k) to its sums.

    A metric without a bound gets the gradient, with the curvature ``bend`` per object.
    """
    both = part.closed_form.with_sums(x, v)
    if both is not None:
        return both
    if type(part.closed_form).sums is not ClosedForm.sums:
        with torch.no_grad():
            return part.pairwise(x, v), partial(_sums, part, x, v)
    leaf = v.detach().requires_grad_()
    with torch.enable_grad():
        distances = part.pairwise(x, leaf)

    def later(weights: Tensor) -> Sums:
        (slope,) = torch.autograd.grad(distances, leaf, weights)
        curvature = bend * weights.sum(0).reshape(-1, *(1,) * (v.ndim - 1))
        return Sums(curvature, curvature * v - 0.5 * slope, slope)

    return distances.detach(), later


def _sums(part: SemiMetric, x: object, v: Tensor, weights: Tensor) -> Sums:
    sums = part.closed_form.sums(x, v, weights)
    assert sums is not None
    return sums


def slope_of(part: SemiMetric, sums: Sums, v: Tensor) -> Tensor:
    """Return the gradient represented by a view's sums."""
    return 2.0 * part.closed_form.tensor(sums.curvature * v - sums.moment) if sums.gradient is None else sums.gradient
