"""Declarative validation of a file's content, before anything is made of it.

A check is a function of the content, a node of the description and its name in messages; it raises a ``Misfit`` or
returns. Arrays are described by the names of their sizes (``"n f+1"``): a name means one number throughout a file,
whichever part defines it first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from types import MappingProxyType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from softecm._checks import is_number, is_whole
from softecm._errors import shown

LARGEST = 1e300  # larger numbers overflow in the first product
SIZES = {  # the meaning of the names, for messages
    "n": "objects",
    "p": "columns",
    "c": "clusters",
    "f": "focal sets",
    "width": "coordinates of a prototype",
    "steps": "steps",
    "runs": "runs",
    "active": "runs that go on",
    "rounds": "rounds",
    "levels": "levels",
}


class Misfit(ValueError):
    """What is wrong with a file, as half a sentence that begins with the part concerned."""


@dataclass(frozen=True)
class Content:
    """The arrays of a file, and the sizes known so far."""

    tensors: Mapping[str, NDArray[np.generic]]
    sizes: dict[str, int] = field(default_factory=dict)

    def size(self, name: str, value: int, where: str) -> None:
        """Check or define a size by name."""
        known = self.sizes.setdefault(name, value)
        if known != value:
            raise Misfit(f"{where} is for {value} {SIZES[name]}, and the rest of the file for {known}")

    def shape(self, sizes: str, shape: Sequence[int], where: str) -> None:
        """Check a shape in named sizes, such as ``"n f+1"``."""
        terms = sizes.split()
        if len(terms) != len(shape):
            raise Misfit(f"{where} has shape {tuple(shape)} and should have {len(terms)} dimensions")
        for term, length in zip(terms, shape, strict=True):
            name, _, more = term.partition("+")
            self.size(name, length - int(more or 0), where)


Check = Callable[[Content, object, str], None]


@dataclass(frozen=True)
class Range:
    """Which numbers are allowed."""

    least: float = -LARGEST
    most: float = LARGEST
    above: float | None = None  # exclusive lower bound
    below: str = ""  # the name of a size

    def refuse(self, content: Content, low: float, high: float, where: str) -> None:
        """Raise an error if the smallest or the largest of some numbers is out of range."""
        if not low >= self.least or (self.above is not None and not low > self.above):
            bound = f"at least {self.least:g}" if self.above is None else f"greater than {self.above:g}"
            raise Misfit(f"{where} holds {low:g} and should be {bound}" if low >= -LARGEST else _not_finite(where))
        if not high <= self.most:
            raise Misfit(
                f"{where} holds {high:g} and should be at most {self.most:g}" if high <= LARGEST else _not_finite(where)
            )
        if self.below and high >= content.sizes.get(self.below, np.inf):
            raise Misfit(f"{where} holds {high:g}, and there are {content.sizes[self.below]} {SIZES[self.below]}")


def _not_finite(where: str) -> str:
    return f"{where} holds a number that is not finite"


FINITE, POSITIVE, NOT_NEGATIVE = Range(), Range(above=0), Range(least=0)
UNIT = Range(0, 1 + 1e-6)  # with rounding
LENGTH = Range(0, np.inf)


def rules(*others: Mapping[str, Check], **checks: Check) -> Mapping[str, Check]:
    """Return the checks of a class's fields by name, in addition to others."""
    return MappingProxyType({name: check for one in (*others, checks) for name, check in one.items()})


def array(sizes: str, kinds: str = "f", allowed: Range = FINITE) -> Check:
    """Check an array of the file: floats by default; its shape in named sizes, its numbers within a range."""
    return lambda content, node, where: check_array(
        content, named_array(content, node, where), where, sizes, kinds, allowed
    )


def a_run(content: Content, node: object, where: str) -> None:
    """Check an array with one entry per run, and at least one run."""
    values = named_array(content, node, where)
    if values.ndim != 1 or not len(values):
        raise Misfit(f"{where} has shape {values.shape} and should have one entry per run, of one run at least")
    content.size("runs", len(values), where)


def check_array(
    content: Content,
    values: NDArray[np.generic],
    where: str,
    sizes: str,
    kinds: str = "f",
    allowed: Range = FINITE,
) -> None:
    """Check a given array."""
    words = {"f": "floats", "i": "whole numbers", "b": "true or false"}
    if values.dtype.kind not in kinds or values.dtype == np.float16:
        raise Misfit(f"{where} holds {values.dtype} and should hold {words[kinds[0]]}")
    content.shape(sizes, values.shape, where)
    if values.size and values.dtype.kind != "b":
        low, high = values.min(), values.max()
        if np.isnan(low):
            raise Misfit(_not_finite(where))
        allowed.refuse(content, float(low), float(high), where)


def named_array(content: Content, node: object, where: str) -> NDArray[np.generic]:
    """Return the array that a node names."""
    name = one(node, ("torch", "array"), where, "an array")
    if str(name) not in content.tensors:
        raise Misfit(f"{where} names an array that the file does not hold")
    return content.tensors[str(name)]


def one(node: object, kinds: Iterable[str], where: str, what: str, *types: type) -> Any:
    """Return the value of a node of one of these kinds, checked for its type if types are given."""
    if isinstance(node, Mapping) and len(node) == 1:
        ((kind, content),) = node.items()
        if kind in kinds and isinstance(content, types or object):
            return content
    raise Misfit(f"{where} should be {what}")


def matches(value: object, kind: Any) -> bool:
    """Whether a value from a JSON file has this type.

    Examples
    --------
    >>> matches({"a": [1, 2]}, dict[str, list[int]]), matches([1, "2"], list[int]), matches(1, float | None)
    (True, False, True)
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return any(matches(value, part) for part in parts)
    if origin is Literal:
        return value in parts
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return isinstance(value, dict) and all(matches(cell, hints.get(name)) for name, cell in value.items())
    if origin in (list, tuple):
        return isinstance(value, list) and all(matches(cell, parts[0]) for cell in value)
    if origin is dict:
        return isinstance(value, dict) and all(matches(cell, parts[1]) for cell in value.values())
    if kind in (int, float):
        return is_whole(value) if kind is int else is_number(value)
    return kind in (Any, object) or (kind is not None and isinstance(value, kind))


def number(allowed: Range = FINITE) -> Check:
    """Check a number within a range."""

    def check(content: Content, node: object, where: str) -> None:
        value = one(node, ("value",), where, "a number")
        if not is_number(value) or value != value:
            raise Misfit(f"{where} should be a number")
        allowed.refuse(content, _float(value), _float(value), where)

    return check


def _float(value: float) -> float:
    """Return the number as a float; integers may be too large."""
    return float(value) if abs(value) <= LARGEST else np.inf if value > 0 else -np.inf


def count(*, size: str = "", least: int = 1, most: int = 2**53, below: str = "") -> Check:
    """Check an integer, which may define a size."""

    def check(content: Content, node: object, where: str) -> None:
        value = one(node, ("value",), where, "a whole number")
        if not is_whole(value):
            raise Misfit(f"{where} should be a whole number")
        Range(least, most, below=below).refuse(content, _float(value), _float(value), where)
        if size:
            content.size(size, value, where)

    return check


def flag(content: Content, node: object, where: str) -> None:
    """Check a boolean."""
    one(node, ("value",), where, "true or false", bool)


def text(*choices: str) -> Check:
    """Check a text, with choices if given."""

    def check(content: Content, node: object, where: str) -> None:
        value = one(node, ("value",), where, "a text", str)
        if choices and value not in choices:
            raise Misfit(f"{where} is {shown(value)} and should be one of {', '.join(map(repr, choices))}")

    return check


def plain(content: Content, node: object, where: str) -> None:
    """Check a plain value, as in a table cell: a text, a finite number or a boolean."""
    value = one(node, ("value",), where, "a plain value")
    if not matches(value, str | bool):
        number()(content, node, where)


def numeric_type(content: Content, node: object, where: str) -> None:
    """Check a floating-point type."""
    if one(node, ("dtype",), where, "a type of numbers") not in ("float64", "float32"):
        raise Misfit(f"{where} should be float64 or float32")


def maybe(check: Check) -> Check:
    """Allow None."""
    return lambda content, node, where: None if node == {"value": None} else check(content, node, where)


def either(*checks: Check) -> Check:
    """Allow any of these; the last one's error counts."""

    def check(content: Content, node: object, where: str) -> None:
        for attempt in checks[:-1]:
            try:
                return attempt(content, node, where)
            except Misfit:
                continue
        return checks[-1](content, node, where)

    return check


def listed(
    check: Check, *, kind: str = "tuple", size: str = "", least: int = 0, most: float = np.inf, different: bool = False
) -> Check:
    """Check a list of such values, of one kind; its length may define a size."""

    def of_all(content: Content, node: object, where: str) -> None:
        values = one(node, (kind,), where, "a list", list)
        if len(values) < least:
            raise Misfit(f"{where} has {len(values)} entries and should have at least {least}")
        if len(values) > most:
            raise Misfit(f"{where} has {len(values)} entries and should have at most {most}")
        if size:
            content.size(size, len(values), where)
        for i, value in enumerate(values):
            check(content, value, f"{where}[{i}]")
        if different and len({repr(value) for value in values}) < len(values):
            raise Misfit(f"{where} holds something twice")

    return of_all


def named(checks: Mapping[str, Check], *, rest: Check | None = None, least: Iterable[str] = ()) -> Check:
    """Check values by name; ``rest`` checks all other names, ``least`` lists required ones."""

    def of_all(content: Content, node: object, where: str) -> None:
        if not isinstance(node, Mapping):
            raise Misfit(f"{where or 'the description'} should be values by name")
        inside = f"{where}." if where else ""
        for name in least:
            if name not in node:
                raise Misfit(f"{inside}{name} is missing")
        for name, check in checks.items():  # in the order of the table, which defines the sizes first
            if name in node:
                check(content, node[name], f"{inside}{name}")
        for name in node:
            if name not in checks:
                if rest is None:
                    raise Misfit(f"{inside}{shown(name)} does not belong there")
                rest(content, node[name], f"{inside}{name if str(name).isidentifier() else shown(name)}")

    return of_all


def mapped(check: Check) -> Check:
    """Check a dict of such values."""

    def of_all(content: Content, node: object, where: str) -> None:
        named({}, rest=check)(content, one(node, ("dict",), where, "values by name"), where)

    return of_all
