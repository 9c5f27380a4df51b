"""An algorithm with its own mass rule: used by the fit, and by its model to predict, score, save and load."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

import softecm.algorithms
from softecm import SoftECM, load_model
from softecm.algorithms.soft_ecm import SoftECMAlgorithm
from softecm.distances.soft_dtw import SoftDTW
from softecm.files import values
from softecm.objective.equations import MassRule, Shares


@dataclass(frozen=True)
class SoftmaxMasses(MassRule):
    r"""Softmax of :math:`-|A|^\alpha d_A / T`: minimizes :math:`\sum_A |A|^\alpha m_A d_A + T m_A \log m_A`."""

    temperature: float

    def shares(self, distances, cost):
        empty = cost.delta2[..., None].expand((*distances.shape[:-1], 1))
        energy = -torch.cat([empty, distances * cost.factors], -1) / self.temperature
        masses = energy.softmax(-1)
        return Shares(masses, cost.factors * masses[..., 1:], -self.temperature * energy.logsumexp(-1))


@dataclass(frozen=True)
class SoftmaxAlgorithm(SoftECMAlgorithm):
    temperature: float = 0.5

    @property
    def masses(self):
        return SoftmaxMasses(self.temperature)


class SoftmaxECM(SoftECM):
    def _algorithm(self, metric):
        return SoftmaxAlgorithm()


@pytest.fixture
def listed(monkeypatch):
    """Register the toy class for model files."""
    monkeypatch.setattr(softecm.algorithms, "SoftmaxECM", SoftmaxECM, raising=False)
    monkeypatch.setattr(softecm.algorithms, "__all__", [*softecm.algorithms.__all__, "SoftmaxECM"])
    monkeypatch.setitem(values.CLASSES, "SoftmaxMasses", SoftmaxMasses)


def plain(model, X):
    """The same masses in a few lines of NumPy."""
    d = ((X[:, None] - np.asarray(model.prototypes_)) ** 2).sum(-1)
    sizes = model.focal_sets_.cardinalities
    energy = np.column_stack([np.full(len(X), model.delta_**2), d * sizes]) / 0.5
    power = np.exp(energy.min(1, keepdims=True) - energy)
    return power / power.sum(1, keepdims=True)


@pytest.mark.parametrize("relaxation", ["auto", "penalty"])
def test_softmax_masses_fit_predict_save_and_load(relaxation, listed, tmp_path):
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0, 0], [4, 0], [2, 3]], 20, 0) + rng.normal(size=(60, 2))
    model = SoftmaxECM(3, relaxation=relaxation, max_cardinality=2, random_state=0).fit(X)
    assert (np.diff(model.history_) <= 1e-9 * abs(model.objective_)).all()
    np.testing.assert_allclose(model.partition_.masses, plain(model, X), atol=1e-12)
    assert not np.allclose(
        model.partition_.masses, SoftECM(3, max_cardinality=2, random_state=0).fit(X).partition_.masses
    )
    new = X[::3] + 0.1
    np.testing.assert_allclose(model.predict_partition(new).masses, plain(model, new), atol=1e-12)
    assert model.score(X) * len(X) == pytest.approx(-model.objective_)
    model.save(tmp_path / "model.safetensors")
    again = load_model(tmp_path / "model.safetensors")
    assert type(again) is SoftmaxECM
    np.testing.assert_array_equal(again.predict_partition(new).masses, model.predict_partition(new).masses)


def test_a_descent_asks_the_rule_and_not_eq_7_what_objects_weigh():
    """Softmax masses have no beta: weights of eq. 7 must not determine the steps."""
    rng = np.random.default_rng(0)
    series = np.cumsum(rng.normal(size=(90, 30)), 1) + np.repeat([0, 3, -3], 30)[:, None]
    one, other = (
        SoftmaxECM(3, beta=beta, metric=SoftDTW(), max_cardinality=1, random_state=0).fit(series) for beta in (1.1, 4.0)
    )
    np.testing.assert_array_equal(one.prototypes_, other.prototypes_)
