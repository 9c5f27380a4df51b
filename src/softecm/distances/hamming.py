"""Hamming distance between rows of categories, extended to distributions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from softecm._checks import check_choice, check_count, check_number
from softecm.belief import FocalSets
from softecm.distances._tables import LayoutTensors, TableMeans, TablePasses, column_sums, table_pairwise, table_terms
from softecm.distances.base import NO_CLOSED_FORM, NO_COMPILED_PASSES, ClosedForm, CompiledPasses, Learner, SemiMetric
from softecm.distances.squared_euclidean import squared_differences
from softecm.files.expected import Misfit, count, listed, rules
from softecm.spaces.base import Space
from softecm.spaces.encoded import EncodedTable
from softecm.spaces.tables import Table, TableOptions

KINDS = ("squared", "total-variation")


class ColumnLevels(NamedTuple):
    """The number of categories of each column, the same in every block."""

    levels: tuple[int, ...]

    def merge(self, other: ColumnLevels) -> ColumnLevels:
        """Return this: blocks agree."""
        return self


@dataclass(frozen=True)
class Hamming(SemiMetric):
    r"""Number of differing attributes, with a distribution over its categories for every attribute of a prototype.

    Between two objects both kinds count the differing attributes. They differ for distributions:

    - ``"squared"``: :math:`\sum_l \tfrac12 \|\pi_l - \rho_l\|^2`. A barycentre has the weighted frequencies of the
      categories; the prototype step is exact and fast.
    - ``"total-variation"``: :math:`\sum_l \tfrac12 \|\pi_l - \rho_l\|_1`, the largest difference in the probability of
      any event; for an object :math:`\sum_l (1 - \pi_l(x_l))`, the expected number of mismatches. A barycentre of
      objects is their mode. Solved by descent, slower; the absolute values are smoothed at zero.

    Every column is categorical, including numbers. Missing cells are skipped and the other cells scaled up in
    proportion; a category not seen in the fit is at distance 1 from every prototype.

    Parameters
    ----------
    kind : {"squared", "total-variation"}, default="squared"
    epsilon : float, default=0.1
        Smoothing of the total variation, in units of probability; it stays exact at differences of 0 and 1.
    max_levels : int, default=10000
        Columns with more categories raise an error: they are probably identifiers.

    Examples
    --------
    >>> from softecm import SoftECM
    >>> rows = [["red", "round"], ["red", "square"], ["blue", "long"], ["blue", "long"]]
    >>> model = SoftECM(2, metric="hamming", random_state=0).fit(rows)
    >>> sorted(model.cluster_centers_[:, 0])
    ['blue', 'red']
    """

    kind: str = "squared"
    epsilon: float = 0.1
    max_levels: int = 10_000
    levels: tuple[int, ...] = ()  # number of categories of each column, learned from the data
    name = "hamming"
    space = Table
    SAVED = rules(levels=listed(count()))

    def check_fitted(self, space: Space, focal: FocalSets) -> None:
        """Raise ``Misfit`` unless the levels are those of the table."""
        super().check_fitted(space, focal)
        if isinstance(space, Table) and self.levels != space.layout.levels:
            raise Misfit("the metric and model_.space have different levels")

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, KINDS, "'squared' is exact and fast, 'total-variation' robust.")
        check_number("epsilon", self.epsilon, above=0, hint="0.1 is usual; less is sharper, and slower.")
        check_count("max_levels", self.max_levels, hint="10000 is usual.")
        object.__setattr__(self, "degree", 2.0 if self._squared else 1.0)  # the total variation is a true metric

    @property
    def _squared(self) -> bool:
        return self.kind == "squared"

    def make_space(self) -> Table:
        """Return a table space in which every column is categorical."""
        return Table(TableOptions(max_levels=self.max_levels, nominal=True, simplex=not self._squared))

    @property
    def closed_form(self) -> ClosedForm:
        """Barycentres of squared differences are frequencies.

        The total variation has Weiszfeld's bound, but this is steepest at 0 and 1, where most probabilities are:
        descent is faster without it.
        """
        return TableMeans() if self._squared else NO_CLOSED_FORM

    @property
    def compiled(self) -> CompiledPasses:
        """For squared differences."""
        return TablePasses() if self._squared else NO_COMPILED_PASSES

    @property
    def learner(self) -> LevelsLearner:
        """Learns where columns begin and end."""
        return LevelsLearner(self)

    def pairwise(self, x: EncodedTable | Tensor, v: Tensor) -> Tensor:
        """Return mismatches of all pairs, without missing cells."""
        if not isinstance(x, Tensor):
            return table_pairwise(x, v) if self._squared else table_pairwise(x, v, self._deviation)
        return squared_differences(x, v) if self._squared else self._variation(x[:, None] - v).sum(-1)

    def paired(self, a: Tensor, b: Tensor) -> Tensor:
        """Return mismatches of matching rows."""
        return (a - b).square().sum(-1) if self._squared else self._variation(a - b).sum(-1)

    def terms(self, x: EncodedTable | Tensor, v: Tensor) -> Tensor:
        """Return each column's contribution."""
        if not isinstance(x, Tensor):
            return table_terms(x, v) if self._squared else table_terms(x, v, self._deviation)
        return (x[:, None] - v).square() if self._squared else self._variation(x[:, None] - v)

    def _rounded(self, difference: Tensor) -> Tensor:
        """Return absolute values smoothed at zero; still 0 at 0 and 1 at 1."""
        squares, epsilon = difference.square(), self.epsilon
        height = math.hypot(1.0, epsilon) + epsilon
        return height * squares / ((squares + epsilon**2).sqrt() + epsilon)

    def _variation(self, difference: Tensor) -> Tensor:
        """Return half the absolute differences of coordinates that are probabilities."""
        return 0.5 * self._rounded(self._centred(difference))

    def _centred(self, difference: Tensor) -> Tensor:
        """Return differences (..., levels) minus their mean in each column.

        Probabilities of a column add up to 1, so this changes nothing; but then the derivative adds up to 0, and
        descent stays within the distributions.
        """
        if not self.levels:
            return difference
        levels = torch.tensor(self.levels, device=difference.device)
        column, sizes = torch.repeat_interleave(levels), levels.to(difference.dtype)
        total = difference.new_zeros(*difference.shape[:-1], len(self.levels))
        means = total.index_add(difference.ndim - 1, column, difference) / sizes
        return difference - means[..., column]

    @staticmethod
    def _uniform(at: LayoutTensors) -> Tensor:
        """Return uniform distributions (levels,)."""
        return 1.0 / torch.bincount(at.column)[at.column].to(at.heights.dtype)

    def _deviation(self, shares: Tensor, at: LayoutTensors) -> Tensor:
        """Return the total variation between each certain category and a distribution."""
        shares = self._centred(shares - self._uniform(at)) + self._uniform(at)
        rounded = self._rounded(shares)
        others = column_sums(rounded, at)[:, at.column] - rounded
        return 0.5 * (self._rounded(1.0 - shares) + others.clamp_min(0.0))


@dataclass(frozen=True)
class LevelsLearner(Learner):
    """Learns where columns begin and end."""

    metric: Hamming

    def describe(self, x: EncodedTable | Tensor, weights: Tensor | None) -> ColumnLevels | None:
        """Return the levels, the same for every block."""
        return ColumnLevels(x.layout.levels) if isinstance(x, EncodedTable) else None

    def fitted_to(self, description: ColumnLevels | None) -> Hamming:
        """Store the levels."""
        return self.metric if description is None else replace(self.metric, levels=description.levels)
