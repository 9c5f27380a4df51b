"""Distance between rows of a table with columns of different kinds, gaps allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor

from softecm._checks import check_choice, check_count, check_number
from softecm.distances._tables import TableMeans, TablePasses, table_pairwise, table_terms
from softecm.distances.base import SemiMetric
from softecm.distances.squared_euclidean import squared_differences
from softecm.spaces.columns import Cell, Name
from softecm.spaces.tables import ColumnChoice, EncodedTable, Table, TableOptions

SCALINGS = ("std", "range", "robust", "none")


@dataclass(frozen=True)
class Mixed(SemiMetric):
    r"""Squared differences of scaled numbers plus mismatches of categories, over the cells that are there.

    .. math::
        d(x, v) = \frac{\sum_l \omega_l}{\sum_{l \text{ observed}} \omega_l} \Big(
        \sum_{\text{numbers}} \omega_l \frac{(x_l - v_l)^2}{s_l^2}
        + \sum_{\text{categories}} \tfrac{\omega_l}{2} \| e(x_l) - \pi_l \|^2 \Big)

    A prototype has a number :math:`v_l` for each numeric, ordinal or date column and a distribution :math:`\pi_l` over the
    categories of each other column. A missing cell is left out and the rest counts for it in proportion; a row without
    gaps is left as it is. Two rows that differ in a category are :math:`\omega_l` apart in it. A category the fit never
    saw is as far from every prototype as can be, :math:`\omega_l`.

    Parameters
    ----------
    categorical_features : list of names, positions or one mark a column, optional
        Columns that are categories whatever their type. Text, categorical and boolean columns are by themselves.
    ordinal_features : list or dict, optional
        Columns of ordered levels, measured by the difference of ranks; a dict gives each its levels, lowest first.
        Ordered categorical types are ordinal by themselves.
    weights : dict of names, or one number a column, optional
        The weights :math:`\omega_l`, positive. By default 1 for numbers, ranks and dates, ``category_weight`` for
        categories.
    scaling : {"std", "range", "robust", "none"}, default="std"
        The unit :math:`s_l` of a number: standard deviation, range, interquartile range (divided by 1.349, its value for
        a standard normal variable), or 1: columns count as they are, dates and durations in days.
    category_weight : float, optional
        What a mismatch costs. By default 2 (1 with ``scaling="range"``): the mean squared difference of two rows in a
        column of standard deviation 1 is 2, the largest in a column of range 1 is 1.
    max_levels : int, default=10000
        More categories than this in a column are refused: such a column is likely an identifier.

    Examples
    --------
    >>> import pandas as pd
    >>> from softecm import SoftECM
    >>> table = pd.DataFrame({"size": [1.0, 1.2, 5.0, None], "colour": ["red", "red", "blue", "blue"]})
    >>> SoftECM(2, metric="mixed", max_cardinality=1, random_state=0).fit(table).prototypes_.round(2)
       size colour
    0   1.1    red
    1   5.0   blue
    """

    categorical_features: ColumnChoice = None
    ordinal_features: ColumnChoice | Mapping[Name, Sequence[Cell] | None] = None
    weights: Sequence[float] | Mapping[Name, float] | None = None
    scaling: str = "std"
    category_weight: float | None = None
    max_levels: int = 10_000
    name = "mixed"
    space = Table

    def __post_init__(self) -> None:
        check_choice("scaling", self.scaling, SCALINGS, "'robust' suits columns with a few far values.")
        check_count("max_levels", self.max_levels, hint="10000 is usual.")
        if self.category_weight is not None:
            check_number("category_weight", self.category_weight, above=0, hint="None takes 2, or 1 with ranges.")

    def make_space(self) -> Table:
        """The table with this metric's options."""
        weight = self.category_weight or (1.0 if self.scaling == "range" else 2.0)
        return Table(
            TableOptions(
                self.categorical_features,
                self.ordinal_features,
                self.weights,
                self.scaling,
                float(weight),
                self.max_levels,
            )
        )

    @property
    def closed_form(self) -> TableMeans:
        """Barycentres are means and frequencies."""
        return TableMeans()

    @property
    def compiled(self) -> TablePasses:
        """Rounds and masses, on the CPU."""
        return TablePasses()

    def pairwise(self, x: EncodedTable | Tensor, v: Tensor) -> Tensor:
        """Squared differences and mismatches, gaps left out."""
        return squared_differences(x, v) if isinstance(x, Tensor) else table_pairwise(x, v)

    def paired(self, a: Tensor, b: Tensor) -> Tensor:
        """Squared lengths of the differences of matching rows."""
        return (a - b).square().sum(-1)

    def terms(self, x: EncodedTable | Tensor, v: Tensor) -> Tensor:
        """What each column adds."""
        return (x[:, None] - v).square() if isinstance(x, Tensor) else table_terms(x, v)
