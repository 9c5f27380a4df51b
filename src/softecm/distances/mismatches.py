"""Expected mismatches between rows of categories and distributions over them."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from softecm.distances._tables import LayoutTensors, table_pairwise, table_terms
from softecm.distances.base import SemiMetric
from softecm.spaces.encoded import EncodedTable
from softecm.spaces.tables import Table, TableOptions


@dataclass(frozen=True)
class ExpectedMismatches(SemiMetric):
    r"""How many attributes of an object a prototype is expected to miss, :math:`\sum_l (1 - w_l(x_l))`.

    A prototype has a weight for every category of every attribute, adding up to 1. A missing cell is left out and the rest
    counts for it in proportion; a category the fit never saw is always missed.
    """

    name = "mismatches"
    degree = 1.0  # the total variation between a certain category and a distribution
    space = Table

    def make_space(self) -> Table:
        """A table in which every column is categorical, weights encoded as they are."""
        return Table(TableOptions(nominal=True, simplex=True))

    def pairwise(self, x: EncodedTable | Tensor, v: Tensor) -> Tensor:
        """Expected mismatches (n, k) with prototypes (k, categories); of weights where ``x`` is a tensor of them."""
        if isinstance(x, Tensor):
            return x.sum(-1, keepdim=True) - x @ v.T  # each attribute's weights add up to 1
        return table_pairwise(x, v, _missed)

    def terms(self, x: EncodedTable, v: Tensor) -> Tensor:
        """What each column adds."""
        return table_terms(x, v, _missed)


def _missed(weights: Tensor, at: LayoutTensors) -> Tensor:
    return 1.0 - weights
