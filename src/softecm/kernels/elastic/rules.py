r"""What a step of an alignment costs, in a few numbers: all that the elastic distances differ in.

A cell :math:`(i, j)` is reached across from :math:`(i-1, j-1)`, up from :math:`(i-1, j)` or left from :math:`(i, j-1)`.
There are two families.

**Squares** (`ADTW`, `WDTW`): every step into a cell pays :math:`w_{|i-j|} \|x_i - y_j\|^2`, one that is not across
`step` more.

**Norms** (`ERP`, `TWE`, `MSM`): with :math:`h_{ij} = \|x_i - y_j\|`, across pays :math:`a\,h_{ij} + b\,h_{i-1,j-1} +
r\,|i - j|`, up `step` and :math:`c\,\|x_i - x_{i-1}\| + s\,\|x_i\|`, left the same of y; the last cell
:math:`l\,h_{nm}` more.

**MSM in this form.** Splitting or merging costs :math:`c` and how far :math:`x_i` lies outside the interval between its
neighbours :math:`x_{i-1}` and :math:`y_j`. That is :math:`\tfrac12(|x_i - x_{i-1}| + |x_i - y_j| - |x_{i-1} - y_j|)`, so
halves of :math:`h` telescope along runs of splits: an alignment costs :math:`c + \tfrac12 |x_i - x_{i-1}|` for each
step up, and :math:`\tfrac12 h` at both ends of each step across. Costs of up and left are then known before the
recursion, and a cell takes one exponential instead of three.

**Soft.** With `gamma` above 0 minima are soft, and lengths are rounded off at zero so that there is a derivative
everywhere: Huber's :math:`u^2 / 2\gamma` for :math:`u \le \gamma`, :math:`u - \gamma/2` beyond.
"""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from softecm.kernels.series_checks import Pairs


class Rule(NamedTuple):
    """The costs of the three steps; see the module."""

    gamma: float  # smoothing; 0: hard
    squared: bool  # the family
    step: float = 0.0  # up and left
    across: float = 1.0  # a
    before: float = 0.0  # b
    last: float = 0.0  # l
    change: float = 0.0  # c
    size: float = 0.0  # s
    apart: float = 0.0  # r
    weighted: bool = False  # squares by how far from the diagonal
    steepness: float = 0.0  # of those weights

    @property
    def plain(self) -> bool:
        """Whether cells cost squares and steps nothing: Soft-DTW or DTW."""
        return self.squared and not self.weighted and self.step == 0


class AlignmentTask(NamedTuple):
    """Which distances of which pairs: everything but the series."""

    rule: Rule
    band: int | None = None
    x_lengths: Tensor | None = None
    y_lengths: Tensor | None = None
    pairs: Pairs = None
    own: bool = False  # each series with itself: what holds for one end holds for the other

    def turned(self) -> AlignmentTask:
        """With the roles of the series exchanged."""
        pairs = None if self.pairs is None else (self.pairs[1], self.pairs[0])
        return self._replace(x_lengths=self.y_lengths, y_lengths=self.x_lengths, pairs=pairs)

    def near(self) -> AlignmentTask:
        """On the CPU."""
        x_lengths, y_lengths = (None if t is None else t.cpu() for t in (self.x_lengths, self.y_lengths))
        pairs = None if self.pairs is None else (self.pairs[0].cpu(), self.pairs[1].cpu())
        return self._replace(x_lengths=x_lengths, y_lengths=y_lengths, pairs=pairs)


def msm(cost: float, gamma: float) -> Rule:
    """Move, split, merge, between series of one channel."""
    return Rule(float(gamma), False, step=float(cost), across=0.5, before=0.5, last=0.5, change=0.5)


def twe(stiffness: float, penalty: float, gamma: float) -> Rule:
    """Time warp edit."""
    return Rule(float(gamma), False, step=float(stiffness + penalty), before=1.0, change=1.0, apart=2.0 * stiffness)


def erp(gamma: float) -> Rule:
    """Edit with real penalty, of series less the reference value and with a step of zeros in front."""
    return Rule(float(gamma), False, size=1.0)


def matching(indel: float, gamma: float) -> Rule:
    """Optimal matching, of points with a step of zeros in front: any step left out costs the same."""
    return Rule(float(gamma), False, step=float(indel))


def dtw(gamma: float) -> Rule:
    """Soft-DTW; with gamma 0, DTW."""
    return Rule(float(gamma), True)


def adtw(penalty: float, gamma: float) -> Rule:
    """Amerced time warping."""
    return Rule(float(gamma), True, step=float(penalty))


def wdtw(steepness: float, gamma: float) -> Rule:
    """Weighted time warping: 1 / (1 + exp(-steepness (|i - j| - half of the longer length)))."""
    return Rule(float(gamma), True, weighted=True, steepness=float(steepness))
