"""The list of scores: names, arguments and meaning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from softecm.scores.classes import (
    accuracy,
    adjusted_rand_index,
    evidential_precision,
    evidential_rand_index,
    evidential_recall,
    purity,
    rand_index,
)
from softecm.scores.credal import (
    belief_distance,
    credal_rand_index,
    jousselme_distance,
    nonspecificity,
    relational_nonspecificity,
)
from softecm.scores.silhouettes import credal_silhouette

__all__ = [
    "SCORES",
    "Score",
    "accuracy",
    "adjusted_rand_index",
    "belief_distance",
    "credal_rand_index",
    "credal_silhouette",
    "evidential_precision",
    "evidential_rand_index",
    "evidential_recall",
    "jousselme_distance",
    "nonspecificity",
    "purity",
    "rand_index",
    "relational_nonspecificity",
]

Needs = Literal[
    "two labellings",
    "classes and a partition",
    "a partition",
    "a partition and distances",
    "two partitions",
    "two lists of pairs",
]
Better = Literal["larger", "smaller"]


@dataclass(frozen=True)
class Score:
    """A score: its function, its arguments, which direction is better, and a short description."""

    function: Callable[..., object]
    needs: Needs
    better: Better
    about: str

    @property
    def name(self) -> str:
        """Its name in ``softecm.scores``."""
        return self.function.__name__


SCORES: dict[str, Score] = {
    score.name: score
    for score in (
        Score(rand_index, "two labellings", "larger", "pairs of objects on which two hard partitions agree"),
        Score(adjusted_rand_index, "two labellings", "larger", "the Rand index corrected for chance"),
        Score(accuracy, "two labellings", "larger", "objects labelled right, clusters matched to classes one to one"),
        Score(purity, "two labellings", "larger", "objects in the majority class of their cluster"),
        Score(
            evidential_precision, "classes and a partition", "larger", "of the pairs put together, those that belong"
        ),
        Score(evidential_recall, "classes and a partition", "larger", "of the pairs that belong, those put together"),
        Score(evidential_rand_index, "classes and a partition", "larger", "pairs on which partition and classes agree"),
        Score(nonspecificity, "a partition", "smaller", "how far masses lie on large sets"),
        Score(relational_nonspecificity, "a partition", "smaller", "ambiguity about pairs of objects"),
        Score(
            credal_silhouette, "a partition and distances", "larger", "how much nearer objects are to their own cluster"
        ),
        Score(credal_rand_index, "two partitions", "larger", "agreement of two credal partitions about pairs"),
        Score(jousselme_distance, "two partitions", "smaller", "distance of two mass functions, object by object"),
        Score(belief_distance, "two lists of pairs", "smaller", "distance of two partitions, pair by pair"),
    )
}


def table() -> str:
    """Return the list as a Markdown table.

    Examples
    --------
    >>> print(table().splitlines()[2])
    | `rand_index` | two labellings | larger | pairs of objects on which two hard partitions agree |
    """
    rows = [f"| `{s.name}` | {s.needs} | {s.better} | {s.about} |" for s in SCORES.values()]
    return "\n".join(["| score | needs | better | what it is |", "|---|---|---|---|", *rows])
