r"""The cost of a step of an alignment, in a few numbers: the only difference between the elastic distances.

A cell :math:`(i, j)` is reached across from :math:`(i-1, j-1)`, up from :math:`(i-1, j)` or left from :math:`(i, j-1)`.
There are two families.

**Squares** (`ADTW`, `WDTW`): every step into a cell costs :math:`w_{|i-j|} \|x_i - y_j\|^2`, plus `step` if it is not
across.

**Norms** (`ERP`, `TWE`, `MSM`): with :math:`h_{ij} = \|x_i - y_j\|`, across costs :math:`a\,h_{ij} + b\,h_{i-1,j-1} +
r\,|i - j|`, up `step` and :math:`c\,\|x_i - x_{i-1}\| + s\,\|x_i\|`, left the same of y; the last cell
:math:`l\,h_{nm}` more.

**MSM in this form.** Splitting or merging costs :math:`c` plus the distance of :math:`x_i` from the interval between
its neighbours :math:`x_{i-1}` and :math:`y_j`. That is :math:`\tfrac12(|x_i - x_{i-1}| + |x_i - y_j| - |x_{i-1} -
y_j|)`, so halves of :math:`h` telescope along runs of splits: an alignment costs :math:`c + \tfrac12 |x_i - x_{i-1}|`
for each step up, and :math:`\tfrac12 h` at both ends of each step across. Costs of up and left are then known before
the recursion, and a cell takes one exponential instead of three.

**Soft.** With `gamma` above 0 minima are soft, and lengths are smoothed at zero so that there is a derivative
everywhere: Huber's :math:`u^2 / 2\gamma` for :math:`u \le \gamma`, :math:`u - \gamma/2` beyond.
"""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from softecm.kernels.series_checks import Pairs


class Rule(NamedTuple):
    """The costs of the three steps; see the module's documentation."""

    gamma: float  # smoothing; 0: hard
    squared: bool  # the family
    step: float = 0.0  # up and left
    across: float = 1.0  # a
    before: float = 0.0  # b
    last: float = 0.0  # l
    change: float = 0.0  # c
    size: float = 0.0  # s
    apart: float = 0.0  # r
    weighted: bool = False  # squares by distance from the diagonal
    steepness: float = 0.0  # of those weights

    @property
    def plain(self) -> bool:
        """Whether cells cost squares and steps cost nothing: Soft-DTW or DTW."""
        return self.squared and not self.weighted and self.step == 0


class AlignmentTask(NamedTuple):
    """All arguments of a call but the series."""

    rule: Rule
    band: int | None = None
    x_lengths: Tensor | None = None
    y_lengths: Tensor | None = None
    pairs: Pairs = None
    own: bool = False  # each series with itself: both ends have the same sums

    def turned(self) -> AlignmentTask:
        """Return the task with the roles of the series exchanged."""
        pairs = None if self.pairs is None else (self.pairs[1], self.pairs[0])
        return self._replace(x_lengths=self.y_lengths, y_lengths=self.x_lengths, pairs=pairs)

    def near(self) -> AlignmentTask:
        """Return the task on the CPU."""
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
    """Edit with real penalty, of series minus the reference value, after a step of zeros."""
    return Rule(float(gamma), False, size=1.0)


def matching(indel: float, gamma: float) -> Rule:
    """Optimal matching, of points after a step of zeros: every skipped step costs the same."""
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
