"""Distance between rows of a table with columns of different kinds, missing values allowed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm._checks import check_choice, check_count, check_number
from softecm._text import listed as in_words
from softecm.belief import FocalSets
from softecm.distances import _tables as tables
from softecm.distances.base import (
    NO_CLOSED_FORM,
    NO_COMPILED_PASSES,
    ClosedForm,
    CompiledPasses,
    Learner,
    SemiMetric,
)
from softecm.distances.column_relevance import Relevance, log_columns, relevance
from softecm.distances.squared_euclidean import SquaredEuclidean, squared_differences
from softecm.distances.table_sample import TableSample
from softecm.distances.weighted_parts import ALL, AUTO, EQUAL, RULES, Weighed
from softecm.files.expected import Misfit, count, listed, maybe, rules, text
from softecm.spaces.base import Space
from softecm.spaces.columns import Cell, Name
from softecm.spaces.encoded import EncodedTable
from softecm.spaces.tables import ColumnChoice, Table, TableOptions

SCALINGS = ("std", "range", "robust", "none")
LEAST = 1e-9  # least share of the weight for a column, so that prototypes keep a value in it
WEIGHTS = "Or give numbers, by column, or None, by which all count alike."
LONGEST = 300  # characters of the names listed in a sentence
HELD = 0.01  # share of the weight; a row whose observed columns have less is uncertain


@dataclass(frozen=True)
class Mixed(Weighed):
    r"""Squared differences of scaled numbers plus mismatches of categories, over the cells that are there.

    .. math::
        d(x, v) = \frac{\sum_l \omega_l}{\sum_{l \text{ observed}} \omega_l} \Big(
        \sum_{\text{numbers}} \omega_l \frac{(x_l - v_l)^2}{s_l^2}
        + \sum_{\text{categories}} \tfrac{\omega_l}{2} \| e(x_l) - \pi_l \|^2 \Big)

    A prototype has a number :math:`v_l` for each numeric, ordinal or date column and a distribution :math:`\pi_l` over
    the categories of each other column. Missing cells are skipped and the other cells scaled up in proportion; rows
    without missing values are unchanged. Two rows that differ in a category are :math:`\omega_l` apart in it. A
    category not seen in the fit has the largest distance to every prototype, :math:`\omega_l`.

    Parameters
    ----------
    categorical_features : list of names, positions or one mark per column, optional
        Columns to treat as categories whatever their type. Text, categorical and boolean columns always are.
    ordinal_features : list or dict, optional
        Columns of ordered levels, compared by the difference of ranks; a dict gives each its levels, lowest first.
        Ordered categorical types are ordinal by default.
    weights : "auto", None, dict of names, or one number per column, default="auto"
        The weights :math:`\omega_l`, positive. "auto": estimators set aside columns that are irrelevant to the groups,
        and scale numbers by their spread over all rows and within groups, outliers excluded, unless ``scaling`` differs
        from "std"; categories have the weight ``category_weight``. A mixture model on at most 2000 rows finds the
        weights (:mod:`softecm.distances.column_relevance`); with few rows per column, all are equal.
        ``feature_weights_`` holds the weights, ``metric_reason_`` names the columns set aside; new tables may lack
        those columns. None (or "equal"): 1 for numbers, ranks and dates, ``category_weight`` for categories.
    scaling : {"std", "range", "robust", "none"}, default="std"
        The unit :math:`s_l` of a number: standard deviation, range, interquartile range (divided by 1.349, its value for
        a standard normal variable), or 1: columns count as they are, dates and durations in days.
    category_weight : float, optional
        The distance of a mismatch. By default 2 (1 with ``scaling="range"``): the mean squared difference of two rows
        in a column of standard deviation 1 is 2, the largest in a column of range 1 is 1.
    max_levels : int, default=10000
        Columns with more categories than this raise an error: they are likely identifiers.
    log_features : "auto", None, or list of names, positions or one mark per column, default="auto"
        Columns of positive numbers to compare by their logarithms, so by ratios. "auto", with ``weights="auto"``: those
        whose spread within groups grows with their size, such as prices (``metric_reason_`` names them). Their
        prototypes are geometric means.

    Examples
    --------
    >>> import pandas as pd
    >>> from softecm import SoftECM
    >>> table = pd.DataFrame({"size": [1.0, 1.2, 5.0, None], "colour": ["red", "red", "blue", "blue"]})
    >>> SoftECM(2, metric="mixed", max_cardinality=1, random_state=0).fit(table).prototypes_.round(2)
        size colour
    ω1   1.1    red
    ω2   5.0   blue
    """

    categorical_features: ColumnChoice = None
    ordinal_features: ColumnChoice | Mapping[Name, Sequence[Cell] | None] = None
    weights: str | Sequence[float] | Mapping[Name, float] | None = AUTO
    scaling: str = "std"
    category_weight: float | None = None
    max_levels: int = 10_000
    log_features: ColumnChoice = AUTO
    weights_of: str = field(default=ALL, repr=False)  # this and the next two: rules in models saved by earlier versions
    exponent: float = field(default=2.0, repr=False)
    temperature: float = field(default=0.1, repr=False)
    shares: tuple[float, ...] = field(default=(), repr=False)  # this and the following are set if weights follow a rule
    spreads: tuple[float, ...] = field(default=(), repr=False)
    common: tuple[float, ...] = field(default=(), repr=False)
    shapes: tuple[tuple[int, ...], ...] = field(default=(), repr=False)
    columns: tuple[str, ...] = field(default=(), repr=False)  # the user's columns, in their order
    order: tuple[int, ...] = field(default=(), repr=False)  # their positions among numbers, then categories
    by_set: Tensor | None = field(default=None, repr=False)
    n_clusters: int | None = field(default=None, repr=False)  # number of groups that the columns should separate
    finding: str = field(default="", repr=False)  # what was learned about the columns, as a sentence
    name = "mixed"
    space = Table
    part = "column"
    weighing = None  # weights are learned before the clusters
    known_rules = (AUTO, *RULES)
    SAVED = rules(
        Weighed.SAVED,
        columns=listed(text()),
        order=listed(count(least=0)),
        n_clusters=maybe(count()),
        finding=text(),
    )

    def check_fitted(self, space: Space, focal: FocalSets) -> None:
        """Raise ``Misfit`` unless the columns of the table and the weights match."""
        super().check_fitted(space, focal)
        if not self.shares or not isinstance(space, Table):
            return
        shapes = tuple((size,) for size in (*[1] * len(space.numbers), *space.layout.levels))
        if (self.columns, self.order, self.shapes) != (tuple(space.attributes), space.layout.order, shapes):
            raise Misfit("the metric and model_.space have different columns")
        self.check_parts(len(shapes), len(focal))
        if not min(self.shares) > 0:
            raise Misfit("the metric should have a weight above 0 for every column")

    def __post_init__(self) -> None:
        check_choice("scaling", self.scaling, SCALINGS, "'robust' suits columns with a few far values.")
        check_count("max_levels", self.max_levels, hint="10000 is usual.")
        if self.category_weight is not None:
            check_number("category_weight", self.category_weight, above=0, hint="None takes 2, or 1 with ranges.")
        self.check_rule(WEIGHTS)

    def make_space(self) -> Table:
        """Return the table space with this metric's options."""
        weight = self.category_weight or (1.0 if self.scaling == "range" else 2.0)
        return Table(
            TableOptions(
                self.categorical_features,
                self.ordinal_features,
                None if isinstance(self.weights, str) else self.weights,
                self.scaling,
                float(weight),
                self.max_levels,
                log_features=None if self.finds_logs else self.log_features,
            )
        )

    @property
    def finds_logs(self) -> bool:
        """Whether the columns compared by logarithms are inferred."""
        return str(self.log_features) == AUTO

    @property
    def names(self) -> list[str]:
        """The columns, numbers first."""
        return [self.columns[self.order.index(place)] for place in range(len(self.order))]

    @property
    def parts(self) -> tuple[SemiMetric, ...]:
        """A squared difference for each part of the prototypes."""
        return (SquaredEuclidean(),) * len(self.shares)

    @property
    def units(self) -> list[float]:
        """Each column's share of the total spread."""
        total = math.fsum(self.spreads)
        return [size / total if size > 0 else 1.0 / len(self.spreads) for size in self.spreads]

    @property
    def feature_weights(self) -> dict[str, float | NDArray[np.float64]] | None:
        """The weight of each column under a rule, adding up to 1; by set if each set has its own."""
        if not self.shares:
            return None
        weights, aside = self.part_weights, set(self.set_aside)
        return {name: 0.0 if name in aside else weights[name] for name in self.columns}

    @property
    def least_held(self) -> float:
        """A row with almost no relevant column is equally near to every cluster."""
        return HELD if self.weights == AUTO else 0.0

    @property
    def set_aside(self) -> list[str]:
        """Columns with no weight because they are irrelevant to the groups."""
        if self.weights != AUTO or not self.shares:
            return []
        return [name for name, share in zip(self.names, self.shares, strict=True) if share <= 2.0 * LEAST]

    def for_clusters(self, n_clusters: int) -> Mixed:
        """Return the metric with the number of groups, unless the weights are given or already learned."""
        known = self.weights != AUTO or self.shares
        return self if known else replace(self, n_clusters=n_clusters)

    def open_space(self, space: Space) -> Space:
        """Return a space in which new tables may lack the columns set aside."""
        aside = set(self.set_aside)
        if not aside or not isinstance(space, Table):
            return space
        pairs = zip(space.columns, space.attributes, strict=True)
        return replace(space, optional=tuple(str(c.name) for c, label in pairs if label in aside))

    @property
    def learner(self) -> Learner | None:
        """Learn weights from the columns' relevance to the groups."""
        if self.rule not in (None, AUTO, EQUAL) and not self.shares:
            raise ValueError(
                f"weights must be 'auto', None or numbers by column; got {self.weights!r}, a rule that was removed "
                "because 'auto' finds the groups of tables better. Models that were fitted with it still predict."
            )
        return None if self.weights != AUTO or self.n_clusters is None else RelevanceLearner(self)

    @property
    def closed_form(self) -> ClosedForm:
        """Barycentres are means and frequencies."""
        if self.by_set is not None:
            return NO_CLOSED_FORM
        return tables.WeighedMeans(self) if self.shares else tables.TableMeans()

    @property
    def compiled(self) -> CompiledPasses:
        """Passes on the CPU."""
        if self.by_set is not None:
            return NO_COMPILED_PASSES
        return tables.WeighedPasses(self) if self.shares else tables.TablePasses()

    def roots(self, like: Tensor) -> Tensor:
        """Return the root of each coordinate's factor (width,); 1 without a rule."""
        if not self.shares:
            return like.new_ones(like.shape[-1])
        pairs = zip(self.factors, self.shapes, strict=True)
        return like.new_tensor([math.sqrt(factor) for factor, shape in pairs for _ in range(shape[0])])

    def pairwise(self, x: EncodedTable | Tensor, v: Tensor) -> Tensor:
        """Return squared differences and mismatches over observed cells."""
        if self.by_set is not None:
            return self.terms(x, v).sum(-1)
        if isinstance(x, Tensor):
            by = self.roots(v)
            return squared_differences(x * by, v * by)
        if not self.shares:
            return tables.table_pairwise(x, v)
        return tables.table_pairwise(
            tables.weighed_table(x, self.factors, self.shares, self.least_held), v * self.roots(v)
        )

    def paired(self, a: Tensor, b: Tensor) -> Tensor:
        """Return squared differences of rows of the same index."""
        return ((a - b) * self.roots(a)).square().sum(-1)

    def terms(self, x: EncodedTable | Tensor, v: Tensor) -> Tensor:
        """Return each column's contribution."""
        if isinstance(x, Tensor):
            squares = (x[:, None] - v).square()
            if self.by_set is None:
                return squares * self.roots(v).square()
            factors = self.by_set[: len(v)].to(v) / v.new_tensor(self.units)
            sizes = torch.tensor([size for (size,) in self.shapes], device=v.device)
            return squares * factors.repeat_interleave(sizes, 1)
        if not self.shares:
            return tables.table_terms(x, v)
        terms = super().terms(x, v)
        assert terms is not None
        return terms[..., list(self.order)]

    def each(self, x: EncodedTable, v: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the distances by column, numbers first."""
        cells, there = tables.table_cells(x, v), x.there
        return cells / cells.new_tensor(self.units), None if there is None else there.to(cells)

    def step(self, space: Space) -> float:
        """Return the largest weight of a category."""
        if not self.shares or not isinstance(space, Table):
            return space.step
        p, weights = len(space.layout.number_weights), space.layout.category_weights
        return max((weight * factor for weight, factor in zip(weights, self.factors[p:], strict=True)), default=0.0)

    def doubts(self, x: EncodedTable, clusters: Tensor) -> Sequence[str]:
        """Warn about rows with missing values in all relevant columns."""
        there = x.there
        if there is None or not self.shares:
            return ()
        lost = int((there.double() @ torch.tensor(self.shares).double() < HELD).sum())
        if not lost:
            return ()
        return [f"{lost} of {len(x)} rows examined have no value in the relevant columns: their groups are uncertain."]


@dataclass(frozen=True)
class RelevanceLearner(Learner):
    """Learn column weights from their relevance to a number of groups, on a sample of the rows."""

    metric: Mixed

    def fitted(self, x: EncodedTable, weights: Tensor | None) -> SemiMetric:
        """Learn from rows in memory."""
        return self.metric if self.metric.shares else super().fitted(x, weights)

    def suited(self, space: Space, describe: Callable[[], TableSample | None]) -> Mixed | None:
        """Choose numbers to compare by their logarithms."""
        metric = self.metric
        if not metric.finds_logs or metric.shares or metric.scaling != SCALINGS[0]:
            return None
        assert isinstance(space, Table)
        assert metric.n_clusters is not None
        numbers = space.numbers
        zeros = [float(c.coordinates(np.zeros(1))[0]) if c.kind == "number" else np.nan for c in numbers]
        sample = describe()
        logs = () if sample is None else log_columns(sample, metric.n_clusters, np.array(zeros))
        return replace(metric, log_features=[numbers[j].name for j in logs]) if len(logs) else None

    def describe(self, x: EncodedTable, weights: Tensor | None) -> TableSample:
        """Sample rows of a block."""
        return TableSample.of(x, weights)

    def fitted_to(self, description: TableSample) -> Mixed:
        """Learn from the sampled rows."""
        metric, layout = self.metric, description.layout
        assert metric.n_clusters is not None
        relevant = relevance(description, metric.n_clusters, scales=metric.scaling == SCALINGS[0])
        shapes = ((1,),) * len(layout.number_weights) + tuple((size,) for size in layout.levels)
        known = replace(
            metric, shapes=shapes, columns=layout.names, order=layout.order, spreads=tuple(relevant.spreads)
        )
        parts = relevant.factors * np.array(known.units)
        shares, common = floored((parts / parts.sum()).tolist()), (0.0,) * len(shapes)
        return replace(known, shares=shares, common=common, finding=sentence(known, relevant, layout.logs))


def sentence(metric: Mixed, relevance: Relevance, logs: Sequence[str]) -> str:
    """Describe what was learned about the columns and which are compared by logarithms; empty if nothing."""
    verb = "is" if len(logs) == 1 else "are"
    by_logs = f"{in_words(list(map(repr, logs)), 'and')} {verb} compared by logarithms" if logs else ""
    return "; ".join(filter(None, (_of_relevance(metric, relevance), by_logs)))


def _of_relevance(metric: Mixed, relevance: Relevance) -> str:
    if metric.n_clusters == 1 or (relevance.trust == 0.0 and relevance.pays.sum() < 2):
        return ""
    if relevance.trust == 0.0:
        return "all columns count alike, because there are too few rows to tell which are relevant"
    if not relevance.pays.any():
        return f"all columns count alike, because no two columns agree on {metric.n_clusters} groups"
    aside = [name for name, pays in zip(metric.names, relevance.pays, strict=True) if not pays]
    numbers = "; numbers are measured in units of their spread within groups" if metric.scaling == SCALINGS[0] else ""
    if not aside:
        return f"every column is relevant to the groups{numbers}"
    lengths = np.cumsum([len(f"{name!r}, ") for name in aside])
    shown = [repr(name) for name in aside[: max(1, int((lengths <= LONGEST).sum()))]]
    more = f" and {len(aside) - len(shown)} more" if len(aside) > len(shown) else ""
    verb = "are set aside" if relevance.trust == 1.0 else "count for less"
    return f"columns that do not distinguish the groups {verb}: {', '.join(shown)}{more}{numbers}"


def floored(shares: Sequence[float]) -> tuple[float, ...]:
    """Return positive shares."""
    raised = [max(share, LEAST) for share in shares]
    total = math.fsum(raised)
    return tuple(share / total for share in raised)
