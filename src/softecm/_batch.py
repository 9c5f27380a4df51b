"""Values whose tensors lead with the run: cut to some runs, mixed run by run, moved, written down and read back.

Such a value is a frozen dataclass of tensors, tuples of tensors, further such values, and None. The functions here look at
its fields, so that a new kind of state costs a list of names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from itertools import repeat
from operator import itemgetter
from typing import ClassVar, Protocol, Self, TypeVar, get_type_hints

import torch
from torch import Tensor

B = TypeVar("B")


def mapped(value: B, function: Callable[[Tensor], Tensor]) -> B:
    """The same value with ``function`` of every tensor in it."""
    if isinstance(value, Tensor):
        return function(value)  # type: ignore[return-value]
    if isinstance(value, tuple):
        return tuple(map(mapped, value, repeat(function)))  # type: ignore[return-value]
    if value is None:
        return value
    parts = {}
    for part in fields(value):  # type: ignore[arg-type]
        parts[part.name] = mapped(getattr(value, part.name), function)
    return type(value)(**parts)


class Batch:
    """A state of runs that is cut and mixed field by field."""

    def select(self, runs: Tensor) -> Self:
        """The same for some of the runs."""
        return mapped(self, itemgetter(runs))

    def merged(self, other: Self, take: Tensor) -> Self:
        """This, with the runs ``take`` (a mask) replaced by the other's."""
        return mixed(self, other, take)


class PlainState(Batch):
    """The state of an algorithm whose sets' prototypes follow from the clusters': nothing is relaxed, all of it is kept."""

    objective: Tensor  # (runs,)

    @property
    def constraint(self) -> Tensor:
        """Nothing to pay."""
        return torch.zeros_like(self.objective)

    @property
    def found(self) -> Mapping[str, Tensor]:
        """Nothing but prototypes."""
        return {}

    def kept(self) -> dict[str, Tensor]:
        """All of it."""
        return named_tensors(self, "state")


class Selectable(Protocol):
    """What leads with the run."""

    def select(self, runs: Tensor) -> Self:
        """The same for some of the runs."""


class PlainProblem:
    """A frozen dataclass that is a problem of the loop in which nothing but ``cost`` leads with the run."""

    cost: Selectable
    patience: ClassVar[int] = 1
    rises: ClassVar[str] = "refused"
    races: ClassVar[bool] = False

    def select(self, runs: Tensor) -> Self:
        """The same for some of the runs."""
        return replace(self, cost=self.cost.select(runs))  # type: ignore[type-var]


def along(values: Tensor, like: Tensor) -> Tensor:
    """One value a run, shaped to multiply a tensor of runs."""
    return values.reshape(-1, *(1,) * (like.ndim - 1))


def mixed(value: B, other: B, take: Tensor) -> B:
    """``value`` with the runs ``take`` (a mask) replaced by the other's; what either lacks is None."""
    if isinstance(value, Tensor) and isinstance(other, Tensor):
        return torch.where(along(take, value), other, value)  # type: ignore[return-value]
    if isinstance(value, tuple) and isinstance(other, tuple):
        return tuple(mixed(a, b, take) for a, b in zip(value, other, strict=True))  # type: ignore[return-value]
    if is_dataclass(value) and not isinstance(value, type) and type(value) is type(other):
        parts = {f.name: mixed(getattr(value, f.name), getattr(other, f.name), take) for f in fields(value)}
        return type(value)(**parts)  # type: ignore[return-value]
    return None  # type: ignore[return-value]


def named_tensors(value: object, name: str) -> dict[str, Tensor]:
    """Every tensor in the value by its path, such as ``state.memory.steps.0``."""
    if isinstance(value, Tensor):
        return {name: value}
    if isinstance(value, tuple):
        parts = {str(i): part for i, part in enumerate(value)}
    elif is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: getattr(value, f.name) for f in fields(value)}
    else:
        return {}
    return {path: t for key, part in parts.items() for path, t in named_tensors(part, f"{name}.{key}").items()}


def from_tensors(kind: type[B], tensors: Mapping[str, Tensor], name: str) -> B:
    """The inverse of ``named_tensors``: a value of this kind; what is not there is None."""
    hints = get_type_hints(kind)
    parts: dict[str, object] = {}
    for part in fields(kind):  # type: ignore[arg-type]
        path, hint = f"{name}.{part.name}", hints[part.name]
        if is_dataclass(hint):
            parts[part.name] = from_tensors(hint, tensors, path)  # type: ignore[arg-type]
        elif getattr(hint, "__origin__", None) is tuple:
            count = sum(key.rpartition(".")[0] == path for key in tensors)
            parts[part.name] = tuple(tensors[f"{path}.{i}"] for i in range(count))
        else:
            parts[part.name] = tensors.get(path)
    return kind(**parts)
