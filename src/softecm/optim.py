"""Minimization over prototypes: exact steps if the metric has them, otherwise a monotone descent.

A solver moves a batch of runs from one state to the next and never raises an objective. ``Closed`` solves one small
linear system per run. ``Descent`` is a quasi-Newton method (limited memory, preconditioned by the metric's quadratic
bound if it has one) on the objective with the masses minimized out; each step must lower the objective sufficiently.
``GradientDescent`` is the paper's Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields, is_dataclass, replace
from functools import lru_cache, partial
from itertools import repeat
from operator import attrgetter, itemgetter
from typing import Any, ClassVar, Protocol, Self, TypeVar, get_type_hints

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm.files.values import Savable
from softecm.kernels.descent import directions

B = TypeVar("B")


def mapped(function: Callable[..., Tensor], value: B, *others: B) -> B:
    """Apply ``function`` to every tensor in a value and its counterparts in others; None for those that lack it."""
    for one in (value, *others):
        if one is None:
            return one
    if isinstance(value, Tensor):
        return function(value, *others)  # type: ignore[return-value]
    if isinstance(value, tuple):
        return tuple(map(mapped, repeat(function), value, *others))  # type: ignore[return-value, arg-type]
    kind, parts = type(value), {}
    named: object = kind
    for name in field_names(named):
        parts[name] = mapped(function, *map(attrgetter(name), (value, *others)))
    return kind(**parts)


@lru_cache(maxsize=64)
def field_names(kind: object) -> tuple[str, ...]:
    """Return the field names of a dataclass."""
    assert is_dataclass(kind)
    return tuple(part.name for part in fields(kind))


class Batch:
    """A state of runs, selected and merged field by field."""

    #: Fields that determine all others (by the problem's ``at``), for checkpoints; empty: these hold every field.
    SUFFICIENT: ClassVar[tuple[str, ...]] = ()

    def checkpoint_tensors(self) -> dict[str, Tensor]:
        """Return the content of a checkpoint by name."""
        everything = named_tensors(self, "state")
        return {f"state.{name}": everything[f"state.{name}"] for name in self.SUFFICIENT} or everything

    def select(self, runs: Tensor) -> Self:
        """Return some of the runs."""
        return mapped(itemgetter(runs), self)

    def merged(self, other: Self, take: Tensor) -> Self:
        """Return this state with the runs ``take`` (a mask) replaced by the other's."""
        return mapped(partial(replaced, take), self, other)


class PlainState(Batch):
    """The state of an algorithm whose sets' prototypes follow from the clusters', without relaxation."""

    objective: Tensor  # (runs,)

    @property
    def constraint(self) -> Tensor:
        """No cost."""
        return torch.zeros_like(self.objective)

    @property
    def extras(self) -> Mapping[str, Tensor]:
        """Only prototypes."""
        return {}


class Selectable(Protocol):
    """A value whose first axis is the run."""

    def select(self, runs: Tensor) -> Self:
        """Return some of the runs."""


class PlainProblem:
    """A frozen dataclass for a problem of the loop in which only ``cost`` has runs as first axis."""

    __dataclass_fields__: ClassVar[dict[str, Field[object]]]
    cost: Selectable
    state_type: ClassVar[type[Batch]]
    at: ClassVar[Callable[..., object]]  # a state from its ``SUFFICIENT`` fields and the state before
    patience: ClassVar[int] = 1
    rises: ClassVar[str] = "refused"
    races: ClassVar[bool] = False

    def select(self, runs: Tensor) -> Self:
        """Return some of the runs."""
        return replace(self, cost=self.cost.select(runs))

    def resumed(self, tensors: Mapping[str, Tensor]) -> Any:
        """Return the state of a checkpoint."""
        if self.state_type.SUFFICIENT:
            return self.at(*(tensors[f"state.{name}"] for name in self.state_type.SUFFICIENT), None)
        return from_tensors(self.state_type, tensors, "state")


def along(values: Tensor, like: Tensor) -> Tensor:
    """Return one value per run, shaped to multiply a tensor of runs."""
    return values.reshape(-1, *(1,) * (like.ndim - 1))


def replaced(take: Tensor, value: Tensor, other: Tensor) -> Tensor:
    """Return a tensor with the runs ``take`` (a mask) replaced by the other's."""
    return torch.where(along(take.to(value.device), value), other, value)


def named_tensors(value: object, name: str) -> dict[str, Tensor]:
    """Return every tensor in the value by its path, such as ``state.memory.steps.0``."""
    if value is None:
        return {}
    if isinstance(value, Tensor):
        return {name: value}
    if isinstance(value, tuple):
        parts = {str(i): part for i, part in enumerate(value)}
    else:
        assert is_dataclass(value)
        parts = {f.name: getattr(value, f.name) for f in fields(value)}
    return {path: t for key, part in parts.items() for path, t in named_tensors(part, f"{name}.{key}").items()}


def from_tensors(kind: type[B], tensors: Mapping[str, Tensor], name: str) -> B:
    """Return a value of this kind from ``named_tensors``; missing parts are None."""
    hints = get_type_hints(kind)
    parts: dict[str, object] = {}
    assert is_dataclass(kind)
    for part in fields(kind):
        path, hint = f"{name}.{part.name}", hints[part.name]
        if is_dataclass(hint):
            parts[part.name] = from_tensors(hint, tensors, path)  # type: ignore[arg-type]
        elif getattr(hint, "__origin__", None) is tuple:
            count = sum(key.rpartition(".")[0] == path for key in tensors)
            parts[part.name] = tuple(tensors[f"{path}.{i}"] for i in range(count))
        else:
            parts[part.name] = tensors.get(path)
    return kind(**parts)


def dot(a: Tensor, b: Tensor) -> Tensor:
    """Return inner products per run: (runs, ...), (runs, ...) -> (runs,)."""
    return (a * b).flatten(1).sum(1)


def scaled(u: Tensor, scale: Tensor | None, factor: Tensor | None) -> Tensor:
    """Divide ``u`` by the known curvature: Cholesky factors (of half of it), or else its inverse."""
    if factor is not None:
        solved: Tensor = 0.5 * torch.cholesky_solve(u.reshape(*u.shape[: factor.ndim - 1], -1), factor, upper=True)
        return solved.reshape(u.shape)
    return u if scale is None else u * scale


@dataclass(frozen=True)
class Memory:
    """The last few steps and changes of gradient of each run, newest last; invalid pairs have a zero product."""

    steps: tuple[Tensor, ...] = ()
    changes: tuple[Tensor, ...] = ()

    def add(self, step: Tensor, change: Tensor, size: int) -> Memory:
        """Add a pair; pairs without positive curvature are set to 0."""
        good = dot(step, change) > 1e-12 * (dot(step, step) * dot(change, change)).sqrt()
        if not bool(good.all()):
            step, change = (torch.where(along(good, t), t, 0.0) for t in (step, change))
        return Memory((*self.steps, step)[-size:], (*self.changes, change)[-size:])

    def downhill(self, gradient: Tensor, scale: Tensor | None, factor: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the direction and its slope (runs,); minus the scaled gradient if the direction does not descend."""
        if not gradient.is_cuda:
            return directions(gradient, scale, factor, self.steps, self.changes)
        direction = self.plain_direction(gradient, scale, factor)
        uphill = ~(dot(direction, gradient) < 0)
        direction = torch.where(along(uphill, direction), -scaled(gradient, scale, factor), direction)
        return direction, dot(direction, gradient)

    def plain_direction(self, gradient: Tensor, scale: Tensor | None, factor: Tensor | None) -> Tensor:
        """Return minus the estimated inverse Hessian times the gradient.

        The two-loop recursion in coefficients: all inner products at once, for few GPU launches instead of a hundred;
        in double precision because of cancellation.
        """
        if not self.steps:
            return -scaled(gradient, scale, factor)
        both = torch.stack([*self.steps, *self.changes, gradient], 1)  # (runs, 2 memory + 1, ...)
        m, (scale, factor) = len(self.steps), (None if t is None else t[:, None] for t in (scale, factor))
        bent = scaled(both[:, m:], scale, factor).double().flatten(2)
        flat = both.double().flatten(2)
        s, y, right = flat[:, :m], flat[:, m:-1], flat[:, m:]
        left, inner = torch.stack([s @ right.mT, y @ bent.mT]).cpu().numpy()  # (runs, memory, memory + 1) each
        a, b = (torch.from_numpy(part).to(s) for part in _coefficients(left, inner))
        return -((a[:, None] @ bent)[:, 0] + (b[:, None] @ s)[:, 0]).reshape(gradient.shape).to(gradient.dtype)


def _coefficients(left: NDArray[np.float64], inner: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Return the coefficients of the bent changes and gradient (runs, memory + 1), and of the steps (runs, memory).

    ``left`` has the steps' products with changes and gradient, ``inner`` the changes' with the bent ones.
    """
    m = left.shape[1]
    products = np.diagonal(left, axis1=1, axis2=2)  # (runs, memory)
    rho = np.divide(1.0, products, out=np.zeros_like(products), where=products > 0)
    q = np.zeros((len(left), m + 1))
    q[:, m] = 1.0
    for i in reversed(range(m)):
        q[:, i] = -rho[:, i] * (left[:, i] * q).sum(1)
    with np.errstate(all="ignore"):  # the first estimate, fitted to the last step: neither too short nor too long
        ratio = products[:, -1] / inner[:, -1, m - 1]
    q_bent = q * np.where(np.isfinite(ratio) & (ratio > 0), ratio, 1.0)[:, None]
    steps = np.zeros((len(left), m))
    for i in range(m):
        along_change = (inner[:, i] * q_bent).sum(1) + (left[:, :, i] * steps).sum(1)
        steps[:, i] = -q[:, i] - rho[:, i] * along_change
    return q_bent, steps


@dataclass(frozen=True)
class Evaluation(Batch):
    """The minimized cost of a batch of runs at given prototypes, and its derivative.

    The masses are optimal, so the derivative with fixed masses is the total derivative (envelope theorem).
    """

    cost: Tensor  # (runs,)
    gradient: Tensor  # (runs, f, *shape); (runs, 0, *shape) if not needed
    curvature: Tensor | None  # (runs, f, *shape) or broadcastable: of a quadratic bound, if the metric has one
    moment: Tensor | None  # (runs, f, *shape)
    change: Tensor  # (runs,), largest change of a mass since the previous evaluation
    masses: Tensor | None  # (runs, n, f + 1), if few enough to keep

    @property
    def sums(self) -> tuple[Tensor, Tensor]:
        """Curvature and moment, if the metric has them."""
        assert self.curvature is not None and self.moment is not None  # noqa: PT018 -- only called with both
        return self.curvature, self.moment

    def plus(self, other: Evaluation) -> Evaluation:
        """Return the evaluation of two blocks of objects, without masses; None for what one lacks."""
        total = mapped(torch.add, replace(self, masses=None), other)
        return replace(total, change=torch.maximum(self.change, other.change))


@dataclass(frozen=True)
class State(Batch):
    """A batch of runs between two iterations."""

    free: Tensor  # (runs, q, *shape)
    prototypes: Tensor  # (runs, f, *shape)
    evaluation: Evaluation
    objective: Tensor  # (runs,)
    gradient: Tensor  # of the objective, in the free prototypes
    scale: Tensor | None  # inverse curvature of a quadratic bound, in the free prototypes; None with a factor
    inner: Tensor | None  # barycentres of the gap
    own_masses: Tensor | None = None  # (runs, m, f + 1), of objects whose masses don't follow from the prototypes
    factor: Tensor | None = None  # (runs, q, L, L), Cholesky factors of more informative matrices than the scale
    memory: Memory = field(default_factory=Memory)

    @property
    def constraint(self) -> Tensor:
        """The part of the objective that penalizes the constraint on the sets' prototypes."""
        return self.objective - self.evaluation.cost

    @property
    def change(self) -> Tensor:
        """Largest change of a mass."""
        return self.evaluation.change

    @property
    def extras(self) -> Mapping[str, Tensor]:
        """Masses that don't follow from the prototypes."""
        return {} if self.own_masses is None else {"masses": self.own_masses}

    def merged(self, other: State, take: Tensor) -> State:
        """Return this state with the runs ``take`` (a mask) replaced by the other's; the memory stays."""
        nothing = Memory()
        both = super(State, replace(self, memory=nothing)).merged(replace(other, memory=nothing), take)
        return replace(both, memory=self.memory)

    def checkpoint_tensors(self) -> dict[str, Tensor]:
        """Return everything but the masses that follow from the prototypes."""
        return named_tensors(replace(self, evaluation=replace(self.evaluation, masses=None)), "state")


class Minimisable(Protocol):
    """The clustering problem, as seen by a solver."""

    def at(self, free: Tensor, before: State | None) -> State:
        """Evaluate prototypes; ``before`` is the state from which the change of masses is measured."""

    def solve(self, state: State) -> Tensor:
        """Return the free prototypes that minimize the quadratic of the state's sums, constraint included."""

    def fixed(self, state: State) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
        """Return objective (runs,) and gradient as functions of the free prototypes, with the state's masses fixed."""

    def select(self, runs: Tensor) -> Self:
        """Return some of the runs."""


class Solver(Protocol):
    """Moves a batch of runs by one iteration without raising any objective."""

    patience: int  # successive iterations with still masses until convergence
    descends: bool  # whether it uses the gradient, which the exact step does not need

    @property
    def stiff(self) -> bool:
        """Whether it begins with the metric's curvature matrices."""

    def step(self, problem: Minimisable, state: State) -> State:
        """Return the state after one iteration."""


@dataclass(frozen=True)
class Closed(Savable):
    """The exact prototype step (eq. 8 solved): one linear system per run."""

    patience = 1
    descends = False
    stiff = False

    def step(self, problem: Minimisable, state: State) -> State:
        """Solve, then evaluate."""
        return problem.at(problem.solve(state), state)


@dataclass(frozen=True)
class Accelerated:
    """The exact step, extrapolated from the last few (Anderson): fewer iterations if masses converge slowly.

    If an extrapolation would raise the objective, the plain step is taken and the memory cleared.

    Parameters
    ----------
    memory : int, default=5
        Number of past iterations to extrapolate from.
    """

    memory: int = 5
    patience = 1
    descends = False
    stiff = False

    def step(self, problem: Minimisable, state: State) -> State:
        """Extrapolate and evaluate; take the plain step if that raises the objective."""
        plain = problem.solve(state)
        moved = plain - state.free
        ahead = plain if not state.memory.steps else self._extrapolated(state, plain, moved)
        new = problem.at(ahead, state)
        worse = ~(new.objective <= state.objective)
        if state.memory.steps and bool(worse.any()):
            new = new.merged(problem.at(plain, state), worse)
        memory = Memory(
            (*state.memory.steps, state.free)[-self.memory - 1 :], (*state.memory.changes, moved)[-self.memory - 1 :]
        )
        if bool(worse.any()):
            good = along(~worse, moved)
            memory = mapped(lambda past: torch.where(good, past, 0.0), memory)
        return replace(new, memory=memory)

    @staticmethod
    def _extrapolated(state: State, plain: Tensor, moved: Tensor) -> Tensor:
        """Return the combination of past iterations with the shortest step, advanced by that step."""
        at = torch.stack([*state.memory.steps, state.free]).flatten(2)  # (past, runs, q)
        by = torch.stack([*state.memory.changes, moved]).flatten(2)
        unit = by[-1].abs().amax(1)[None, :, None].clamp_min(torch.finfo(by.dtype).tiny)  # squares must not underflow
        at, by = at / unit, by / unit
        known = (by[:-1].abs().sum(2) > 0)[..., None]
        turns = torch.where(known, by[:-1] - by[-1], 0.0).permute(1, 2, 0)  # (runs, q, past - 1)
        ways = torch.where(known, at[:-1] - at[-1], 0.0).permute(1, 2, 0)
        size = turns.square().sum((1, 2))[:, None, None]
        gram = turns.transpose(1, 2) @ turns
        eye = torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device)
        ridge = 1e-10 * size + torch.finfo(gram.dtype).tiny
        mixed_by, info = torch.linalg.solve_ex(gram + ridge * eye, -(turns.transpose(1, 2) @ by[-1][..., None]))
        mixed_by = torch.where((info == 0)[:, None, None] & torch.isfinite(mixed_by), mixed_by, 0.0)  # the plain step
        ahead: Tensor = plain.flatten(1) + ((ways + turns) @ mixed_by)[..., 0] * unit[0]
        return ahead.reshape(plain.shape)


@dataclass(frozen=True)
class Descent(Savable):
    """Quasi-Newton descent on the objective with the masses minimized out, without a learning rate.

    Parameters
    ----------
    memory : int, default=8
        Number of past steps that shape the next one.
    sufficient : float, default=1e-4
        Minimum decrease of the objective, relative to that expected from the slope.
    backtracks : int, default=30
        How often a step is shortened before the run counts as unable to descend.
    stiff : bool, default=False
        Begin each step with the metric's curvature matrices, if it has them: fewer iterations.
    least : float, default=0
        Skip steps with a smaller expected relative decrease of the objective.
    """

    memory: int = 8
    sufficient: float = 1e-4
    backtracks: int = 30
    stiff: bool = False
    least: float = 0.0
    patience = 2
    descends = True

    def step(self, problem: Minimisable, state: State) -> State:
        """Try the quasi-Newton step; shorten it if it gains too little."""
        direction, slopes = state.memory.downhill(state.gradient, state.scale, state.factor)
        if state.scale is None and state.factor is None and not state.memory.steps:
            length = self._first_length(state)
            direction, slopes = direction * along(length, direction), slopes * length
        current, device = state, state.free.device
        before, slope = state.objective.cpu().numpy(), slopes.cpu().numpy()  # (runs,) each: no work for torch
        reach = np.ones_like(slope)
        pending = np.flatnonzero(slope < -2.0 * self.least * np.abs(before))
        for number in range(self.backtracks):
            if not len(pending):
                break
            some, part, way, rows = problem, replace(state, memory=Memory()), direction, None
            if len(pending) < len(slope):
                rows = torch.from_numpy(pending).to(device)
                some, part, way = problem.select(rows), part.select(rows), direction[rows]
            if number:
                way = along(torch.from_numpy(reach[pending]).to(device), way) * way
            trial = some.at(part.free + way, part)
            objectives, promised = trial.objective.cpu().numpy(), reach[pending] * slope[pending]
            good = (objectives <= before[pending] + self.sufficient * promised) & np.isfinite(objectives)
            if rows is None and good.all():
                current = trial
                break
            if good.any():
                taken = np.zeros(len(slope), dtype=bool)
                taken[pending[good]] = True
                if rows is not None:
                    trial = trial.select(places(rows, len(slope)))
                current = current.merged(trial, torch.from_numpy(taken).to(device))
            # Minimum of the parabola through value, slope and trial, between a tenth and a half of the step.
            with np.errstate(all="ignore"):
                ideal = -promised / (2.0 * (objectives - before[pending] - promised))
            reach[pending] *= np.clip(np.where(np.isnan(ideal), 0.1, ideal), 0.1, 0.5)
            pending = pending[~good]
        change = torch.where(current.objective < state.objective, current.evaluation.change, 0.0)
        memory = state.memory.add(current.free - state.free, current.gradient - state.gradient, self.memory)
        return replace(current, evaluation=replace(current.evaluation, change=change), memory=memory)

    @staticmethod
    def _first_length(state: State) -> Tensor:
        """Scale a first step to a tenth of the prototypes' own spread, for lack of curvature."""
        spread = (state.free - state.free.mean(1, keepdim=True)).flatten(1).norm(dim=1)
        size = state.free.flatten(1).norm(dim=1)
        steep = state.gradient.flatten(1).norm(dim=1).clamp_min(torch.finfo(state.free.dtype).tiny)
        length: Tensor = 0.1 * torch.where(spread > 0, spread, torch.where(size > 0, size, 1.0)) / steep
        return length


def places(index: Tensor, runs: int) -> Tensor:
    """Return the position of each run in an index; 0 for runs that are not in it."""
    back = torch.zeros(runs, dtype=torch.int64, device=index.device)
    back[index] = torch.arange(len(index), device=index.device)
    return back


@dataclass(frozen=True)
class GradientDescent(Savable):
    r"""The paper's Algorithm 1: plain gradient steps with fixed masses.

    Parameters
    ----------
    learning_rate : float, default=0.01
        The rate :math:`\rho`, halved while a step would raise the cost.
    inner_tol : float, default=1e-3
        :math:`\xi`: the inner loop ends when no prototype moves further than this.
    inner_steps : int, default=100
        Maximum number of steps per iteration.

    Examples
    --------
    >>> from softecm.optim import GradientDescent
    >>> GradientDescent(learning_rate=0.05, inner_steps=1)
    GradientDescent(learning_rate=0.05, inner_tol=0.001, inner_steps=1)
    """

    learning_rate: float = 0.01
    inner_tol: float = 1e-3
    inner_steps: int = 100
    patience = 1
    descends = True
    stiff = False

    def __post_init__(self) -> None:
        for name in ("learning_rate", "inner_tol", "inner_steps"):
            value = getattr(self, name)
            if not value > 0:
                raise ValueError(
                    f"{name} must be greater than 0; got {value!r}. The default is {type(self).__dict__[name]}."
                )

    def step(self, problem: Minimisable, state: State) -> State:
        """Descend on the cost of eq. 8 for the present masses, then update the masses."""
        cost = problem.fixed(state)
        free = state.free
        value, gradient = cost(free)
        rate = torch.full_like(value, self.learning_rate)
        active = torch.ones_like(value, dtype=torch.bool)
        for _ in range(self.inner_steps):
            trial = free - along(rate * active, free) * gradient
            new_value, new_gradient = cost(trial)
            worse = active & ~(new_value <= value)
            rate = torch.where(worse, rate / 2.0, rate)
            good = active & ~worse
            moved = (trial - free).flatten(1).norm(dim=1)
            free = torch.where(along(good, free), trial, free)
            gradient = torch.where(along(good, free), new_gradient, gradient)
            value = torch.where(good, new_value, value)
            active = active & ~(good & (moved < self.inner_tol)) & (rate > 1e-12 * self.learning_rate)
            if not bool(active.any()):
                break
        return problem.at(free, state)


def differentiated(cost: Callable[[Tensor], Tensor]) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
    """Return a function that gives the cost of each run, (runs, ...) -> (runs,), and its gradient."""

    def value_and_gradient(u: Tensor) -> tuple[Tensor, Tensor]:
        leaf = u.detach().requires_grad_()
        with torch.enable_grad():
            value = cost(leaf)
            (gradient,) = torch.autograd.grad(value.sum(), leaf)
        return value.detach(), gradient

    return value_and_gradient


def minimise_small(
    value_and_gradient: Callable[[Tensor], tuple[Tensor, Tensor]],
    start: Tensor,
    *,
    steps: int = 200,
    tol: float = 1e-14,
) -> Tensor:
    """Minimize a cheap cost of each run, (runs, ...) -> (runs,) with its gradient, by quasi-Newton steps.

    A run ends when a step has a relative gain below ``tol``, except the first step, whose length ignores the unit.
    """
    u = start.detach()
    tol = max(tol, float(torch.finfo(u.dtype).eps))  # smaller decreases are rounding
    value, gradient = value_and_gradient(u)
    memory = Memory()
    active = torch.ones_like(value, dtype=torch.bool)
    for step in range(steps):
        direction, slope = memory.downhill(gradient, None, None)
        length = torch.ones_like(value)
        new_u, new_value, new_gradient = u, value, gradient
        pending = active & (slope < 0)
        for _ in range(30):
            trial = u + along(length * pending, u) * direction
            trial_value, trial_gradient = value_and_gradient(trial)
            good = pending & (trial_value <= value + 1e-4 * length * slope)
            if bool(good.all()):
                new_u, new_value, new_gradient = trial, trial_value, trial_gradient
                break
            new_u = torch.where(along(good, u), trial, new_u)
            new_value = torch.where(good, trial_value, new_value)
            new_gradient = torch.where(along(good, u), trial_gradient, new_gradient)
            pending = pending & ~good
            if not bool(pending.any()):
                break
            length = torch.where(pending, length * 0.3, length)
        memory = memory.add(new_u - u, new_gradient - gradient, 8)
        enough = tol if step else float(torch.finfo(u.dtype).eps)
        active = active & (value - new_value > enough * value.abs())
        u, value, gradient = new_u, new_value, new_gradient
        if not bool(active.any()):
            break
    return u
