"""Optimal matching between sequences of states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor
from torch.nn.functional import pad

from softecm._checks import check_choice, check_number, is_number
from softecm.distances.elastic import SoftElastic
from softecm.files.expected import rules
from softecm.kernels.elastic import Rule, matching
from softecm.spaces.series import OPTIONS
from softecm.spaces.states import CONSTANT, SUBSTITUTION, TRANSITIONS, Costs, States


@dataclass(frozen=True)
class StateSequences(SoftElastic):
    r"""Least cost of turning one sequence of states into another: states replaced, left out and put in.

    For care paths, clicks, life courses: at every step an object is in one of a few states. Replacing a state costs what
    ``substitution`` says, leaving one out or putting one in ``indel`` (optimal matching, an edit distance with costs).

    Every state is a point in space, as far from the others as the substitution costs; a step of a prototype is a point among
    them, hence a share of each state (``prototype_distributions_``; ``prototypes_`` has the likeliest). Between objects the
    hard distance is a true metric. Taken is, by default, its soft version as a divergence floored at 0, like Soft-DTW's:
    with ``gamma`` above 0 the raw value is no semi-metric.

    Parameters
    ----------
    substitution : "constant", "transitions" or a dict, default="constant"
        What a state costs for another. "constant": 2. "transitions": 2 less the shares of steps that lead from the one to
        the other and back, learned from the data. A dict from pairs of states to costs, ``{("home", "work"): 1.5, …}``,
        every two states once. Where no points lie so, the nearest that do are used, with a warning.
    indel : float, default=1.0
        What it costs to leave a state out or put one in. Half of the largest substitution cost is usual.
    gamma : float or "auto", default="auto"
        Smoothing, in units of costs. 0 is the hard minimum. "auto": a tenth of the root mean squared distance between
        steps of different sequences.
    divergence : bool, default=True
        Where gamma is above 0: take half of each sequence's distance to itself off, floored at 0.
    band : int, optional
        How many steps an alignment may stray from the diagonal.
    length : int, "median" or "max", default="median"
        Steps of a prototype.

    Notes
    -----
    A list of sequences (lists of text or whole numbers), an array or a data frame with a sequence a row. What is missing at
    the end of a row is no step; what is missing within lies in the middle of all states, and so does a state that
    the fit never saw.

    Examples
    --------
    >>> from softecm import SoftECM
    >>> paths = [["home"] * a + ["ward"] * b for a, b in [(6, 1), (5, 1), (6, 2), (1, 6), (2, 6), (1, 5)]]
    >>> model = SoftECM(2, metric="states", random_state=0).fit(paths)
    >>> sorted("".join(state[0] for state in center) for center in model.cluster_centers_)
    ['hhhhhhw', 'hwwwwww']

    References
    ----------
    A. Abbott and J. Forrest, "Optimal matching methods for historical sequences", Journal of Interdisciplinary History 16,
    1986. A. Gabadinho and others, "Analyzing and visualizing state sequences in R with TraMineR", Journal of
    Statistical Software 40, 2011 (the costs from transition rates).
    """

    substitution: str | Costs | Mapping[Any, float] = CONSTANT
    indel: float = 1.0
    gamma: float | str = field(default="auto", kw_only=True)
    name = "states"
    space = States
    front = 1
    SAVED = rules(OPTIONS, substitution=SUBSTITUTION)

    def __post_init__(self) -> None:
        super().__post_init__()
        hint = "Half of the largest substitution cost is usual."
        object.__setattr__(self, "indel", check_number("indel", self.indel, above=0.0, hint=hint))
        if self.derivative or self.znormalise or self.layout != "tslearn":
            raise ValueError("derivative, znormalise and layout are for series of numbers: leave them out for states.")
        if isinstance(self.substitution, str):
            hint = "Or give a dict from pairs of states to costs."
            check_choice("substitution", self.substitution, (CONSTANT, TRANSITIONS), hint)
        elif isinstance(self.substitution, Mapping):
            object.__setattr__(self, "substitution", _costs(self.substitution))

    def rule(self) -> Rule:
        """States replaced, left out, put in."""
        return matching(self.indel, self.smoothing)

    def make_space(self) -> States:
        """States with what they cost for each other."""
        assert not isinstance(self.substitution, Mapping)
        return States(self.length, substitution=self.substitution)

    def laid_out(self, values: Tensor) -> Tensor:
        """With a step of zeros in front: what may be left out before the first match."""
        return pad(values, (0, 0, 1, 0))


def _costs(substitution: Mapping[object, float]) -> Costs:
    """A dict from pairs to costs, in order."""
    costs: dict[frozenset[Any], tuple[Any, Any, float]] = {}
    for pair, cost in substitution.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ValueError(
                f"substitution must have pairs of states as keys, such as ('home', 'work'); got {pair!r}. Write both."
            )
        a, b = pair
        if not is_number(cost) or not 0 < cost < float("inf"):
            if a == b and cost == 0:
                continue
            raise ValueError(
                f"substitution must have costs above 0; got {cost!r} for {a!r} and {b!r}. Join states that are the same."
            )
        if a == b or costs.get(frozenset(pair), (a, b, cost))[2] != cost:
            raise ValueError(
                "substitution must be the same both ways, and nothing from a state to itself; got "
                f"{cost!r} for {a!r} and {b!r}."
            )
        costs[frozenset(pair)] = (a, b, float(cost))
    return tuple(costs.values())
