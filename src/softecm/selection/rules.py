"""Rules that select one combination of parameters from the rows of a sweep, without labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softecm._text import meant

Columns = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class SelectionRule:
    """A column, whether small or large is good, and whether degenerate runs are excluded."""

    column: str
    smaller: bool
    guarded: bool
    text: str

    def value(self, columns: Columns, rows: NDArray[np.int64]) -> float:
        """Return the mean over a combination's sound runs as a cost; inf if at least half of its runs are unsound."""
        sound = rows[is_sound(columns)[rows]] if self.guarded else rows
        if 2 * len(sound) <= len(rows):
            return math.inf
        mean = float(np.mean(columns[self.column][sound].astype(np.float64)))
        return math.inf if math.isnan(mean) else (mean if self.smaller else -mean)


RULES: dict[str, SelectionRule] = {
    "nonspecificity": SelectionRule("guarded_nonspecificity", True, True, "least ambiguity, the empty set counted"),
    "paper": SelectionRule("nonspecificity", True, False, "the paper's N* as printed: can be won by merged clusters"),
    "silhouette": SelectionRule("silhouette", False, True, "objects nearer to their own cluster than to the next"),
    "valleys": SelectionRule("valleys", False, True, "few objects between any two groups"),
    "mixture": SelectionRule("mixture", True, True, "a mixture of groups, ICL less that of one group"),
    "stability": SelectionRule(
        "stability", False, True, "the same groups again when a fifth of the objects is left out"
    ),
}


def is_sound(columns: Columns) -> NDArray[np.bool_]:
    """Return which runs may win: converged, without merged or empty clusters."""
    clusters = np.array([len(sizes) for sizes in columns["sizes"]])
    distinct = ~columns["collapsed"].astype(bool) & (columns["found"].astype(np.int64) == clusters)
    return np.asarray(distinct & columns["converged"].astype(bool))


def usual_rule(columns: Columns) -> str:
    """Return the rule of :func:`softecm.choose_n_clusters`, of those with values in these rows."""
    if "mixture" in columns:
        return "mixture"
    return "nonspecificity" if np.isnan(columns["valleys"].astype(np.float64)).all() else "valleys"


def cheapest(columns: Columns, rule: SelectionRule, combination: NDArray[np.int64]) -> tuple[int, float]:
    """Return the rule's best combination and its value; ties, as of one number of groups, are broken by valleys."""
    rows = {int(k): np.flatnonzero(combination == k) for k in np.unique(combination)}
    costs = {k: rule.value(columns, own) for k, own in rows.items()}
    best = min(costs, key=lambda k: (costs[k], RULES["valleys"].value(columns, rows[k])))
    return best, costs[best]


def finds_no_groups(columns: Columns, rule: SelectionRule, rows: NDArray[np.int64]) -> bool:
    """Whether the groups of these rows are none, by a rule that can tell."""
    if rule.column == "mixture":
        return bool(columns["mixture"][rows].astype(np.float64).min() >= 0.0)
    return rule.column == "valleys" and bool((columns["apart"][rows].astype(np.int64) <= 1).all())


def pick_rule(rule: str | Callable[..., object]) -> SelectionRule:
    """Return the rule of that name."""
    if not isinstance(rule, str) or rule not in RULES:
        raise ValueError(
            f"rule must be one of {', '.join(map(repr, RULES))}; got {rule!r}.{meant(rule, RULES)} 'valleys' is usual."
        )
    return RULES[rule]
