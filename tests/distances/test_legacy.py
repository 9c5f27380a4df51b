"""Semi-metrics written for softecm 0.1 still work, and say what to move where."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from softecm import SoftECM
from softecm.datasets import make_blobs
from softecm.distances import SemiMetric, SquaredEuclidean, Sums
from softecm.distances.capabilities import (
    barycenters_of,
    compiled_masses,
    fitted_metric,
    nearest_of,
    paired_gradients_of,
    sums_of,
    tensor_of,
    with_sums_of,
)
from softecm.testing import check_semimetric


def old_metric():
    """As 0.1's documentation told people to write one."""
    with pytest.warns(DeprecationWarning, match=r"as softecm 0\.1 knew it") as caught:

        class Old(SemiMetric):
            quadratic = True
            scale = 2.0

            def pairwise(self, x, v):
                return self.scale * (x[:, None] - v).square().sum(-1)

            def sums(self, x, v, weights):
                return Sums(weights.sum(0)[:, None], weights.T @ x)

            def tensor(self, u):
                return self.scale * u

            def barycenters(self, x, weights):
                return weights @ x / weights.sum(1, keepdim=True)

            def nearest(self, x, v):
                least = self.pairwise(x, v).min(1)
                return least.values, least.indices

            def fitted(self, x, weights):
                learned = type(self)()
                learned.seen = len(x)
                return learned

            def work(self, shape):
                return 7.0

    return Old, caught


def test_an_old_metric_works_and_each_warning_says_what_to_move():
    Old, caught = old_metric()
    told = [str(w.message) for w in caught]
    assert all(w.filename == __file__ for w in caught)
    assert len(told) == 4
    assert "move quadratic, sums, tensor, barycenters to a subclass of softecm.distances.ClosedForm" in told[0]
    assert "return one from the property closed_form" in told[0]
    assert "CompiledPasses" in told[1]
    assert "Learner" in told[2]
    assert "rename its method work to cost_of_distance" in told[3]
    X = make_blobs(40, random_state=0).data
    ours = SoftECM(3, metric=Old(), delta=2.0**0.5 * 3.0, random_state=0).fit(X)
    plain = SoftECM(3, delta=3.0, random_state=0).fit(X)
    np.testing.assert_allclose(ours.partition_.masses, plain.partition_.masses, atol=1e-8)


def test_old_methods_are_reached_through_the_capabilities():
    Old, _ = old_metric()
    metric = Old()
    x = torch.randn(6, 2, dtype=torch.float64)
    assert metric.is_quadratic
    assert metric.cost_of_distance((2,)) == 7.0
    assert sums_of(metric, x, x[:2], torch.ones(6, 2, dtype=torch.float64)) is not None
    assert with_sums_of(metric, x, x[:2]) is None
    assert torch.equal(tensor_of(metric, x), 2.0 * x)
    assert barycenters_of(metric, x, torch.ones(1, 6, dtype=torch.float64)) is not None
    assert torch.equal(nearest_of(metric, x, x)[1], torch.arange(6))
    assert paired_gradients_of(metric, x, x) is None
    prices = {"factors": torch.ones(2), "beta": 2.0, "delta2": 1.0}
    assert compiled_masses(metric, x, x[:2], **prices) is None
    assert fitted_metric(metric, x, None).seen == 6
    report = check_semimetric(metric)
    assert {"sums is a bound", "barycenters are minima", "compiled nearest agrees"} <= {c.name for c in report.checks}
    report.raise_for_failures()


def test_an_old_learner_still_can_not_be_fitted_in_blocks_without_describe():
    Old, _ = old_metric()
    with pytest.raises(TypeError, match="metric Old learns from all objects at once and can't be fitted in blocks"):
        Old().learner.describe(torch.zeros(2, 2), None)
    skipped = [c for c in check_semimetric(Old()).checks if c.skipped and c.name == "learned alike from blocks"]
    assert "learns from all objects at once" in skipped[0].detail


def test_a_wrong_old_method_is_named():
    with pytest.warns(DeprecationWarning, match="move sums to a subclass"):

        class Wrong(SquaredLike):
            def sums(self, x, v, weights):
                return Sums(0.1 * weights.sum(0)[:, None], 0.1 * weights.T @ x)

    assert [c.name for c in check_semimetric(Wrong()).failures] == ["sums is a bound"]


def test_an_old_method_on_a_metric_that_has_the_capability_is_refused():
    with pytest.raises(TypeError, match=r"Mine defines sums, which nothing calls any more.*property closed_form"):

        class Mine(SquaredEuclidean):
            def sums(self, x, v, weights):
                return None


def test_a_metric_of_today_may_use_the_old_names_for_itself():
    class Mine(SquaredLike):
        @property
        def closed_form(self):
            return None

        def sums(self):
            return "mine"

    assert sums_of(Mine(), torch.zeros(2, 2), torch.zeros(1, 2), torch.ones(2, 1)) is None
    check_semimetric(Mine()).raise_for_failures()


class SquaredLike(SemiMetric):
    def pairwise(self, x, v):
        return (x[:, None] - v).square().sum(-1)


def test_pairwise_alone_is_enough():
    X = make_blobs(40, random_state=0).data
    ours = SoftECM(3, metric=SquaredLike(), delta=3.0, relaxation="gap", random_state=0, tol=1e-8).fit(X)
    plain = SoftECM(3, delta=3.0, relaxation="gap", random_state=0, tol=1e-8).fit(X)
    np.testing.assert_allclose(ours.objective_, plain.objective_, rtol=1e-5)
    metric = SquaredLike()
    assert (metric.closed_form, metric.compiled, metric.learner) == (None, None, None)
    assert not metric.is_quadratic
