"""Sequences of states of a patient, a customer or a life course, one state per step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm._checks import check_count, is_several
from softecm._text import place
from softecm._warnings import UnseenCategoryWarning, warn
from softecm._wording import option
from softecm.files.expected import NOT_NEGATIVE, Misfit, count, either, listed, number, numeric_type, plain, rules, text
from softecm.spaces.columns import is_missing, kind_of, plain_value, refuse_unwritable
from softecm.spaces.raw import raw_data
from softecm.spaces.series import Lengths, SeriesBatch, SteppedSeries, to_list

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

State: TypeAlias = Hashable
Steps: TypeAlias = list[State | None]  # None: unknown

CONSTANT, TRANSITIONS = "constant", "transitions"
DIFFERENT = 2.0  # distance between states that all differ equally: one deletion and one insertion, at 1 each
MOST_STATES = 200
OFF = 0.01  # of the largest cost: difference between actual and given costs that needs no warning

Costs: TypeAlias = tuple[tuple[State, State, float], ...]
#: The serialized costs.
SUBSTITUTION = either(text(CONSTANT, TRANSITIONS), listed(listed(plain)))


@dataclass(frozen=True)
class States(SteppedSeries):
    """Sequences of states, each state a point, with the substitution costs as distances.

    A step of a prototype is a point among them: the mean of the points by the share of each state. A state that is
    missing or not seen in the fit is in the middle of all.
    """

    substitution: str | Costs = CONSTANT
    states: tuple[State, ...] = ()
    costs: tuple[float, ...] = ()  # between the states, row by row
    noun = "sequence"
    SAVED = rules(
        states=listed(plain, size="s", least=2, different=True),
        n_channels=count(size="s"),
        costs=listed(number(NOT_NEGATIVE)),
        length=SteppedSeries.SAVED["length"],
        layout=text("tslearn"),
        substitution=SUBSTITUTION,
        dtype=numeric_type,
    )

    def check_options(self, expected: Self) -> None:
        """Check the costs against the metric's."""
        if len(self.costs) != len(self.states) ** 2:
            raise Misfit("model_.space.costs should have a cost for every two states")
        if expected.substitution != self.substitution:
            raise Misfit("the metric and model_.space have different substitution costs")
        if any(len(triple) != 3 for triple in self._triples or ()):
            raise Misfit("model_.space.substitution should hold two states and a cost each")

    @property
    def _triples(self) -> Costs | None:
        """Costs given for pairs of states; None if they follow from a rule."""
        return None if isinstance(self.substitution, str) else self.substitution

    def check(self, estimator: BaseEstimator, X: object, *, reset: bool) -> list[Steps]:
        """Return sequences as lists of states."""
        rows = to_sequences(X)
        if reset:
            estimator.n_features_in_ = 1
        return rows

    def fit(self, X: list[Steps], *, dtype: torch.dtype) -> Self:
        """Learn the states, their costs and the prototypes' length."""
        states = _known_states(X)
        costs = _costs(X, states, self.substitution == TRANSITIONS, self._triples)
        length = check_count("length", self._length_of(Lengths.of(X, len(states))), hint="Or use 'median' or 'max'.")
        flat = tuple(costs.ravel().tolist())
        fitted = replace(self, length=max(length, 2), n_channels=len(states), dtype=dtype, states=states, costs=flat)
        fitted._warn_of_other_costs()
        return fitted

    @cached_property
    def places(self) -> NDArray[np.float64]:
        """The points (S, S): the square root of the states' inner products, with their middle at 0."""
        squares = self._cost_matrix**2
        centred = np.eye(len(squares)) - 1.0 / len(squares)
        values, vectors = np.linalg.eigh(-0.5 * centred @ squares @ centred)
        root: NDArray[np.float64] = (vectors * np.sqrt(values.clip(min=0.0))) @ vectors.T
        return root

    @property
    def _cost_matrix(self) -> NDArray[np.float64]:
        return np.array(self.costs).reshape(len(self.states), len(self.states))

    def _warn_of_other_costs(self) -> None:
        """Warn if no points have distances equal to the costs."""
        used = np.linalg.norm(self.places[:, None] - self.places, axis=-1)
        off = np.abs(used - self._cost_matrix)
        if off.max(initial=0.0) <= OFF * self._cost_matrix.max(initial=0.0):
            return
        a, b = np.unravel_index(int(off.argmax()), off.shape)
        warn(
            f"the substitution costs are not distances between points; the nearest costs that are differ by up to "
            f"{off.max():.2g}: {self.states[a]!r} for {self.states[b]!r} costs {used[a, b]:.3g} instead of "
            f"{self._cost_matrix[a, b]:.3g}. Use {option('metric', 'precomputed')} for the costs as they are.",
            UserWarning,
        )

    def encode(self, X: list[Steps]) -> SeriesBatch:
        """Return the points of the steps."""
        return replace(self.padded([shares @ self.places for shares in self.drawn(X)]), observed=None)

    def drawn(self, X: list[Steps]) -> list[NDArray[np.float64]]:
        """Return the shares of the states (L, S) at each step: one state, or equal shares if unknown."""
        number = {state: k for k, state in enumerate(self.states)}
        rows = np.vstack([np.eye(len(self.states)), np.full(len(self.states), 1.0 / len(self.states))])
        unseen: Counter[State] = Counter()
        drawn = []
        for steps in X:
            codes = [number.get(state, -1) if state is not None else -1 for state in steps]
            unseen.update(state for state, code in zip(steps, codes, strict=True) if code < 0 and state is not None)
            drawn.append(rows[codes])
        if unseen:
            shown = ", ".join(repr(state)[:40] for state, _ in unseen.most_common(3))
            warn(
                f"{sum(unseen.values())} steps hold a state that was not in the fit ({shown}): it is equally far from all "
                "known states.",
                UnseenCategoryWarning,
            )
        return drawn

    def curves(self, prototypes: Tensor) -> list[NDArray[np.float64]]:
        """Return the shares of the states (L, S) at each step of a prototype."""
        values = prototypes.detach().cpu().double().numpy()
        shares = (values @ np.linalg.pinv(self.places) + 1.0 / len(self.states)).clip(min=0.0)
        return list(shares / shares.sum(-1, keepdims=True))

    @property
    def channels(self) -> Sequence[str]:
        """The states: plots show their shares."""
        return [f"share of {state}" for state in self.states]

    def distributions(self, prototypes: Tensor) -> dict[State, NDArray[np.float64]]:
        """Return each state's share (k, L) at the steps of the prototypes."""
        shares = np.stack(self.curves(prototypes))
        return {state: shares[..., k] for k, state in enumerate(self.states)}

    def decode(self, prototypes: Tensor) -> NDArray[np.object_]:
        """Return the likeliest state at each step (k, L)."""
        best = np.stack(self.curves(prototypes)).argmax(-1)
        names = np.empty(len(self.states), dtype=object)
        names[:] = self.states
        likeliest: NDArray[np.object_] = names[best]
        return likeliest

    def encode_prototypes(self, prototypes: object) -> Tensor:
        """Return prototypes from sequences of states or shares (k, L, S), resampled to the longest."""
        if getattr(prototypes, "ndim", 0) == 3:
            shares = np.asarray(prototypes, dtype=np.float64)
            if shares.shape[2] != len(self.states):
                raise ValueError(
                    f"init must have a share for each of the {len(self.states)} states; got shape {shares.shape}. "
                    "Pass (c, L, states), or sequences of states."
                )
            rows = list(shares)
        else:
            rows = self.drawn(to_sequences(prototypes))
        return self.stretched(to_list([row @ self.places for row in rows]))

    @classmethod
    def samples(cls, generator: torch.Generator, n: int) -> Tensor:
        """Return points among three states, twelve steps each."""
        points: Tensor = torch.eye(3, dtype=torch.float64) * (DIFFERENT / 2.0**0.5)
        return points[torch.randint(3, (n, 12), generator=generator)]


def to_sequences(X: object) -> list[Steps]:
    """Return raw sequences as lists of states, from lists or rows; missing steps at the end are padding.

    Parameters
    ----------
    X : list of sequences, array (n, steps) or data frame, one row per sequence
    """
    raw = raw_data(X)
    X = raw.value if raw.frame is None else list(raw.frame.iter_rows())
    if isinstance(X, np.ndarray):
        if X.ndim != 2 and X.dtype != object:
            raise ValueError(
                f"X must hold one sequence of states per row; got an array of {X.ndim} dimensions. Pass (n, steps), or "
                "a list of sequences."
            )
        X = X.tolist()
    if not is_several(X):
        raise TypeError(
            f"X must be a list of sequences, an array or a data frame, one row per sequence; got {type(X).__name__}."
        )
    rows = [_sequence(one, i) for i, one in enumerate(X)]
    if not rows:
        raise ValueError("X must hold at least one sequence; got none.")
    return rows


def _sequence(one: object, i: int) -> Steps:
    if not is_several(one):
        text = "Write list(word) if letters are the states, word.split() if words are."
        what, remedy = ("text", f" {text}") if kind_of(one) == "text" else (type(one).__name__, "")
        raise TypeError(f"X must hold sequences of states; got {what} in {place('sequence', i)}.{remedy}")
    steps = [_state(value, i) for value in one]
    while steps and steps[-1] is None:
        steps.pop()
    if not steps:
        raise ValueError(f"X must hold sequences with states; got none in {place('sequence', i)}. Leave it out.")
    return steps


def _state(value: object, i: int) -> State | None:
    """Return a plain value; None if missing."""
    value = plain_value(value)
    if is_missing(value):
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)  # pandas converts integers in columns with missing cells
    if not isinstance(value, str | int):
        raise TypeError(
            f"X must hold states as text or whole numbers; got {value!r} in {place('sequence', i)}. For "
            "measurements, use a metric for series."
        )
    return value


def _known_states(X: Sequence[Steps]) -> tuple[State, ...]:
    """Return all states that occur, numbers before text, sorted."""
    states: set[Any] = {state for steps in X for state in steps if state is not None}
    refuse_unwritable(states, "X")
    if len(states) < 2:
        raise ValueError(f"X must hold at least two different states; got only {next(iter(states))!r}.")
    if len(states) > MOST_STATES:
        raise ValueError(
            f"X must hold at most {MOST_STATES} different states; got {len(states)}. Merge rare ones, or use "
            f"{option('metric', 'precomputed')}."
        )
    return tuple(sorted(states, key=lambda state: (kind_of(state) == "text", state)))


def _costs(
    X: Sequence[Steps], states: tuple[State, ...], transitions: bool, triples: Costs | None
) -> NDArray[np.float64]:
    """Return the cost of each state for each other (S, S): by transition rates, as given, or constant."""
    number = {state: k for k, state in enumerate(states)}
    costs = DIFFERENT * (1.0 - np.eye(len(states)))
    if transitions:
        counts = np.zeros((len(states), len(states)))
        for steps in X:
            for a, b in pairwise(steps):
                if a is not None and b is not None:
                    counts[number[a], number[b]] += 1.0
        rates = counts / counts.sum(1, keepdims=True).clip(min=1.0)
        costs = (DIFFERENT - rates - rates.T) * (1.0 - np.eye(len(states)))
    elif triples is not None:
        costs[:] = np.nan
        np.fill_diagonal(costs, 0.0)
        for a, b, cost in triples:
            if a in number and b in number:
                costs[number[a], number[b]] = costs[number[b], number[a]] = cost
        lacking = np.argwhere(np.isnan(costs))
        if len(lacking):
            a, b = (states[k] for k in lacking[0])
            raise ValueError(
                f"substitution must have a cost for every two states; got none for {a!r} and {b!r}. Add it."
            )
    return costs
