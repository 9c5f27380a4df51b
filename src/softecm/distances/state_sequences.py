"""Optimal matching between sequences of states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from softecm._checks import check_choice, check_number, is_number
from softecm.distances.elastic import SoftElastic
from softecm.files.expected import rules
from softecm.kernels.elastic import Rule, matching
from softecm.spaces.series import OPTIONS
from softecm.spaces.states import CONSTANT, SUBSTITUTION, TRANSITIONS, Costs, States


@dataclass(frozen=True)
class StateSequences(SoftElastic):
    r"""Minimum cost of transforming one sequence of states into another by substitution, deletion and insertion.

    For care paths, clicks or life courses: at every step an object is in one of a few states. Replacing a state costs
    ``substitution``, deleting or inserting one ``indel`` (optimal matching, an edit distance with costs).

    Every state is a point in space, with the substitution costs as distances; a step of a prototype is a point among
    them, hence a share of each state (``prototype_distributions_``; ``prototypes_`` has the likeliest). Between objects
    the hard distance is a true metric. The default is its soft version as a divergence floored at 0, like Soft-DTW's:
    with ``gamma`` above 0 the raw value is no semi-metric.

    Parameters
    ----------
    substitution : "constant", "transitions" or a dict, default="constant"
        Cost of replacing a state by another. "constant": 2. "transitions": 2 minus both transition rates between the
        two, learned from the data. A dict from pairs of states to costs, ``{("home", "work"): 1.5, …}``, with every
        pair once. If no points have these distances, the nearest that do are used, with a warning.
    indel : float, default=1.0
        Cost of deleting or inserting a state. Half of the largest substitution cost is usual.
    gamma : float or "auto", default="auto"
        Smoothing, in units of costs. 0 is the hard minimum. "auto": a tenth of the root mean squared distance between
        steps of different sequences.
    divergence : bool, default=True
        If gamma is above 0: subtract half of each sequence's distance to itself, floored at 0.
    band : int, optional
        Maximum distance of an alignment from the diagonal.
    length : int, "median" or "max", default="median"
        Length of a prototype.

    Notes
    -----
    Input is a list of sequences (lists of text or integers), an array or a data frame with one sequence per row.
    Missing values at the end of a row are padding; others lie in the middle of all states, as does a state not seen in
    the fit.

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
        """Substitutions, deletions and insertions."""
        return matching(self.indel, self.smoothing)

    def make_space(self) -> States:
        """Return a space of states with their costs."""
        assert not isinstance(self.substitution, Mapping)
        return States(self.length, substitution=self.substitution)


def _costs(substitution: Mapping[object, float]) -> Costs:
    """Return a dict from pairs to costs, in order."""
    costs: dict[frozenset[Any], tuple[Any, Any, float]] = {}
    for pair, cost in substitution.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ValueError(f"substitution must have pairs of states as keys, such as ('home', 'work'); got {pair!r}.")
        a, b = pair
        if not is_number(cost) or not 0 < cost < float("inf"):
            if a == b and cost == 0:
                continue
            raise ValueError(
                f"substitution must have costs above 0; got {cost!r} for {a!r} and {b!r}. Join states that are the same."
            )
        if a == b or costs.get(frozenset(pair), (a, b, cost))[2] != cost:
            raise ValueError(
                "substitution must be the same in both directions, and 0 from a state to itself; got "
                f"{cost!r} for {a!r} and {b!r}."
            )
        costs[frozenset(pair)] = (a, b, float(cost))
    return tuple(costs.values())
