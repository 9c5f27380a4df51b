"""Categories that are written otherwise than in the fit: 1, 1.0 and "01", True and "yes"."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from math import isfinite
from typing import Any, TypeVar

Key = TypeVar("Key", bound=Hashable)

TRUTHS = {"true": True, "yes": True, "y": True, "t": True, "1": True}
TRUTHS |= {"false": False, "no": False, "n": False, "f": False, "0": False}


class Positions(dict[Any, int]):
    """Where a value stands among levels; one that is written otherwise where the level that it means does.

    A value means a level if it is the same text, else the same number, else (where the levels are one truth and its
    opposite) the same truth, and no other level is. What means none is ``unseen``.

    Examples
    --------
    >>> place = Positions(["1", "2"], unseen=-2)
    >>> place["2"], place[2.0], place["02"], place["two"]
    (1, 1, 1, -2)
    >>> Positions(["no", "yes"], unseen=-2)[True]
    1
    """

    def __init__(self, levels: Sequence[object], unseen: int) -> None:
        super().__init__({level: k for k, level in enumerate(levels)})
        self.unseen = unseen
        self.by_text = _once(map(_text, levels))
        self.by_number = _once(map(_number, levels))
        truths = [_truth(level) for level in levels]
        self.by_truth = _once(truths) if set(truths) == {True, False} and len(truths) == 2 else {}

    def __missing__(self, value: object) -> int:
        found = self.by_text.get(_text(value))
        if found is None:
            found = self.by_number.get(_number(value))
        if found is None:
            found = self.by_truth.get(_truth(value))
        self[value] = self.unseen if found is None else found
        return self[value]


def _once(keys: Iterable[Key | None]) -> dict[Key | None, int]:
    """Positions of the keys that come once."""
    found: dict[Key | None, int] = {}
    twice: set[Key | None] = {None}
    for k, key in enumerate(keys):
        if key in found:
            twice.add(key)
        found[key] = k
    return {key: k for key, k in found.items() if key not in twice}


def _text(value: object) -> str:
    return str(value).strip()


def _number(value: object) -> float | None:
    """A value as a number, a decimal comma allowed; None for a truth value and for what is no number."""
    text = _text(value)
    try:
        number = float(text.replace(",", ".") if text.count(",") == 1 and "." not in text else text)
    except ValueError:
        return None
    return number if isfinite(number) and "_" not in text else None


def _truth(value: object) -> bool | None:
    number = _number(value)
    return number == 1 if number in (0, 1) else TRUTHS.get(_text(value).lower())
