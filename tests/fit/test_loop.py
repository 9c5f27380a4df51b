"""When runs end: after convergence, by halving, and never in favour of a worse one."""

from dataclasses import dataclass, replace

import numpy as np
import torch

from softecm.fit.loop import HALVED, SPAN, iterate
from softecm.optim import Batch, named_tensors


@dataclass(frozen=True)
class State(Batch):
    prototypes: torch.Tensor
    objective: torch.Tensor
    change: torch.Tensor
    number: torch.Tensor

    constraint = property(lambda self: torch.zeros_like(self.objective))
    extras = property(lambda self: {})

    def checkpoint_tensors(self):
        return named_tensors(self, "state")


@dataclass(frozen=True)
class Decay:
    """Run r falls by the share ``pace[r]`` per iteration, towards ``floor[r]``."""

    pace: torch.Tensor
    floor: torch.Tensor
    tol = 0.0
    patience = 1
    races = True
    rises = "refused"

    def begin(self, start):
        runs = len(start)
        return State(start, torch.full((runs,), 100.0).double(), torch.ones(runs), torch.arange(runs))

    def step(self, state):
        left = state.objective - self.floor
        return replace(state, objective=self.floor + left * (1.0 - self.pace))

    def select(self, runs):
        return Decay(self.pace[runs], self.floor[runs])


def numbers(*values):
    return torch.tensor(values, dtype=torch.float64)


def test_a_run_ends_when_its_rounds_gain_next_to_nothing():
    found = iterate(Decay(numbers(0.5, 0.5), numbers(50.0, 99.0)), torch.zeros(2, 1, 1), 200, gain=1e-3)
    assert found.converged.all()
    for history in found.history:
        gained = history[-1 - SPAN] - history[-1]
        assert gained < SPAN * 1e-3 * history[-1]
        earlier = history[-2 - SPAN] - history[-2] if len(history) > SPAN + 1 else np.inf
        assert earlier >= SPAN * 1e-3 * history[-2]
    assert not iterate(Decay(numbers(0.5), numbers(50.0)), torch.zeros(1, 1, 1), 40).converged.any()


def test_the_better_half_goes_on():
    floors = numbers(*range(50, 60))
    found = iterate(
        Decay(torch.full((10,), 0.2).double(), floors), torch.zeros(10, 1, 1), 13, groups=np.zeros(10, int), gain=1e-9
    )
    assert found.n_iter.tolist() == [13, 13, HALVED[2], *[HALVED[1]] * 2, *[HALVED[0]] * 5]
    assert found.objective.argmin() == 0


def test_groups_are_halved_apart():
    floors = numbers(10, 11, 12, 13, 90, 91, 92, 93)
    groups = np.repeat([0, 1], 4)
    found = iterate(Decay(torch.full((8,), 0.2).double(), floors), torch.zeros(8, 1, 1), 20, groups=groups, gain=1e-9)
    assert (found.n_iter == 20).tolist() == [True, False, False, False, True, False, False, False]


def test_groups_race_apart():
    """A run races only against its own group, however low the objective of another group."""
    floors, groups = numbers(10, 80, 90, 99), np.array([0, 1, 1, 1])
    found = iterate(Decay(torch.full((4,), 0.5).double(), floors), torch.zeros(4, 1, 1), 30, groups=groups)
    assert (found.n_iter == 30).tolist() == [True, True, False, False]
