"""Semi-metrics written for softecm 0.1, whose optional methods stood on the metric itself.

Where a class defines such a method, the capability object of today is made for it and forwards to the method; a
DeprecationWarning says what to move where. This is the only module that knows the old names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from torch import Tensor

from softecm._warnings import warn
from softecm.distances.optional import ClosedForm, CompiledPasses, FusedRound, Learner, RoundCost, RunCost, Sums

if TYPE_CHECKING:
    from softecm.distances.base import SemiMetric
    from softecm.spaces.base import Described

#: What the optional methods of 0.1 are called today, by the property that holds them.
MOVED: dict[str, dict[str, str]] = {
    "closed_form": {
        "quadratic": "quadratic",
        "sums": "sums",
        "with_sums": "with_sums",
        "tensor": "tensor",
        "barycenters": "barycenters",
    },
    "compiled": {
        "fused": "round",
        "fused_masses": "masses",
        "nearest": "nearest",
        "paired_gradients": "paired_gradients",
    },
    "learner": {"fitted": "fitted", "describe": "describe", "fitted_to": "fitted_to"},
}
KINDS = {"closed_form": "ClosedForm", "compiled": "CompiledPasses", "learner": "Learner"}


def adapt(cls: type, plain: type) -> None:
    """Give a subclass of ``plain`` (SemiMetric) the capabilities that its methods of 0.1 describe."""
    for property_name, names in MOVED.items():
        old = [name for name in names if _is_old(cls, name)]
        if old and property_name not in vars(cls):
            _adapt(cls, plain, property_name, old)
    if callable(getattr(cls, "work", None)) and getattr(cls, "cost_of_distance", None) is plain.cost_of_distance:  # type: ignore[attr-defined]
        _rename_work(cls)


def _adapt(cls: type, plain: type, property_name: str, old: list[str]) -> None:
    now = getattr(cls, property_name)
    if now is getattr(plain, property_name):
        setattr(cls, property_name, property(FORWARD[property_name]))
        _warn(cls, _remedy(property_name, old))
    elif not _forwards(now) and any(name in vars(cls) for name in old):
        raise TypeError(
            f"{cls.__name__} defines {_listed([n for n in old if n in vars(cls)])}, which nothing calls any more: the class "
            f"it extends has a {property_name} of its own. To change it, {_remedy(property_name, old)}"
        )


def _rename_work(cls: type) -> None:
    cls.cost_of_distance = _cost_of_distance  # type: ignore[attr-defined]
    _warn(cls, "rename its method work to cost_of_distance.")


def _is_old(cls: type, name: str) -> bool:
    value = getattr(cls, name, None)
    return value is not None if name == "quadratic" else callable(value)


def _forwards(now: object) -> bool:
    return isinstance(now, property) and now.fget in FORWARD.values()


def _remedy(property_name: str, old: Sequence[str]) -> str:
    names = MOVED[property_name]
    moved = ", ".join(name if names[name] == name else f"{name} (there called {names[name]})" for name in old)
    return (
        f"move {moved} to a subclass of softecm.distances.{KINDS[property_name]} and return one from the property "
        f"{property_name}."
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def _warn(cls: type, remedy: str) -> None:
    warn(
        f"{cls.__name__} is a semi-metric as softecm 0.1 knew it and will stop working in a later version: {remedy}",
        DeprecationWarning,
    )


def _cost_of_distance(self: object, shape: Sequence[int]) -> float:
    return float(_ask(self, "work", shape))


@dataclass(frozen=True)
class OldClosedForm(ClosedForm):
    """Forwards to a metric's own ``sums``, ``with_sums``, ``tensor``, ``barycenters``."""

    metric: SemiMetric

    @property
    def quadratic(self) -> bool:  # type: ignore[override]
        """What the metric says."""
        return bool(getattr(self.metric, "quadratic", False))

    def sums(self, x: object, v: Tensor, weights: Tensor) -> Sums | None:
        """The metric's."""
        return _ask(self.metric, "sums", x, v, weights)  # type: ignore[no-any-return]

    def with_sums(self, x: object, v: Tensor) -> tuple[Tensor, Callable[[Tensor], Sums]] | None:
        """The metric's."""
        return _ask(self.metric, "with_sums", x, v)  # type: ignore[no-any-return]

    def tensor(self, u: Tensor) -> Tensor:
        """The metric's; by default the identity."""
        return _ask(self.metric, "tensor", u) if hasattr(self.metric, "tensor") else u  # type: ignore[no-any-return]

    def barycenters(self, x: Tensor, weights: Tensor) -> Tensor | None:
        """The metric's."""
        return _ask(self.metric, "barycenters", x, weights)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class OldPasses(CompiledPasses):
    """Forwards to a metric's own ``fused``, ``fused_masses``, ``nearest``, ``paired_gradients``."""

    metric: SemiMetric

    def round(self, x: object, v: Tensor, previous: Tensor | None, **cost: Unpack[RoundCost]) -> FusedRound | None:
        """The metric's ``fused``."""
        return _ask(self.metric, "fused", x, v, previous, **cost)  # type: ignore[no-any-return]

    def masses(self, x: object, v: Tensor, **cost: Unpack[RunCost]) -> Tensor | None:
        """The metric's ``fused_masses``."""
        return _ask(self.metric, "fused_masses", x, v, **cost)  # type: ignore[no-any-return]

    def nearest(self, x: object, v: Tensor) -> tuple[Tensor, Tensor] | None:
        """The metric's."""
        return _ask(self.metric, "nearest", x, v)  # type: ignore[no-any-return]

    def paired_gradients(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor] | None:
        """The metric's."""
        return _ask(self.metric, "paired_gradients", a, b)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class OldLearner(Learner):
    """Forwards to a metric's own ``fitted``, ``describe``, ``fitted_to``."""

    metric: SemiMetric

    def fitted(self, x: object, weights: Tensor | None) -> SemiMetric:
        """The metric's."""
        return _ask(self.metric, "fitted", x, weights) or self.metric

    def describe(self, x: object, weights: Tensor | None) -> Described | None:
        """The metric's; without one it can't be fitted in blocks."""
        if not hasattr(self.metric, "describe"):
            return super().describe(x, weights)
        return _ask(self.metric, "describe", x, weights)  # type: ignore[no-any-return]

    def fitted_to(self, description: object) -> SemiMetric:
        """The metric's."""
        return _ask(self.metric, "fitted_to", description) or self.metric


FORWARD: dict[str, Callable[[SemiMetric], ClosedForm | CompiledPasses | Learner]] = {
    "closed_form": OldClosedForm,
    "compiled": OldPasses,
    "learner": OldLearner,
}


def _ask(metric: object, name: str, *args: object, **options: object) -> Any:
    """A method of 0.1's, whose default was to answer None."""
    method = getattr(metric, name, None)
    return None if method is None else method(*args, **options)
