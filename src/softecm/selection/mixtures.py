"""What mixtures say about the number of groups: one for the columns of a table, one for numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

AS_FAR = 2  # times the best number so far: values may rise before they fall
UNSUPPORTED = 20.0  # ICL added to the best fewer groups, for a number whose groups are not all separated


@dataclass(frozen=True)
class MixtureEvidence:
    """A mixture's evidence about the number of groups.

    Attributes
    ----------
    values : dict, ICL for each number of groups; smaller is better
    no_groups : bool, whether one group is best, or the best ones are parts of a single group
    columns : names of the columns with evidence about groups; empty means all
    in_two : names of other columns, whose numbers lie in two ranges
    """

    values: Mapping[int, float]
    no_groups: bool
    columns: tuple[str, ...] = ()
    in_two: tuple[str, ...] = ()


def searched(
    criterion: Callable[[int], tuple[float, bool]], numbers: Iterable[int], most: int
) -> tuple[dict[int, float], int]:
    """Return the values of 1, of these numbers of groups, and on to twice the best; and the number with the least.

    Parameters
    ----------
    criterion : value of a number of groups, and whether all are separated; if not, fewer groups are never worse
    numbers : of groups
    most : largest number to try
    """
    queue, values = sorted({1, *numbers}), dict[int, float]()
    while queue:
        c = queue.pop(0)
        value, are_groups = criterion(c)
        if values and not are_groups:
            value = max(value, min(values.values()) + UNSUPPORTED)
        values[c] = value
        best = min(values, key=lambda c: values[c])
        if not queue and c < min(most, AS_FAR * best):
            queue.append(c + 1)
    return values, best
