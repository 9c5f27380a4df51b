"""check_semimetric compares every claimed capability of a metric with its pairwise, and names wrong ones."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
import torch

from softecm import SoftECM
from softecm.distances import SEMI_METRICS, Hamming, Mahalanobis, Mixed, SoftDTW, SquaredEuclidean
from softecm.distances.base import ClosedForm, CompiledPasses, Learner, SemiMetric
from softecm.testing import all_estimators, all_metrics, check_semimetric


@dataclass(frozen=True)
class Broken(SemiMetric):
    """A metric with one wrong capability."""

    base: SemiMetric
    method: str
    change: object

    def pairwise(self, x, v):
        return self.base.pairwise(x, v)

    @property
    def space(self):
        return self.base.space

    def make_space(self):
        return self.base.make_space()

    @property
    def closed_form(self):
        return self._with(self.base.closed_form, ClosedForm)

    @property
    def compiled(self):
        return self._with(self.base.compiled, CompiledPasses)

    @property
    def learner(self):
        found = self._with(self.base.learner, Learner)
        return None if found is None else Wrapped(self, found)

    def _with(self, capability, kind):
        if capability is None or not hasattr(kind, self.method):
            return capability
        right, change = getattr(capability, self.method), self.change

        def wrong(self, *args, **options):
            answer = right(*args, **options)
            return None if answer is None else change(answer)

        return type("Wrong", (type(capability),), {self.method: wrong})(*vars(capability).values())


class Wrapped(Learner):
    def __init__(self, outer, learner):
        self.outer, self.learner = outer, learner

    def fitted(self, x, weights):
        return replace(self.outer, base=self.learner.fitted(x, weights))

    def describe(self, x, weights):
        return self.learner.describe(x, weights)

    def fitted_to(self, description):
        return replace(self.outer, base=self.learner.fitted_to(description))


BROKEN = [
    (SquaredEuclidean(), "sums", lambda s: s._replace(curvature=0.9 * s.curvature), "sums is a bound"),
    (SquaredEuclidean(), "sums", lambda s: s._replace(moment=s.moment + 0.1), "sums is a bound"),
    (SEMI_METRICS["euclidean"](), "sums", lambda s: s._replace(moment=-s.moment), "sums is a bound"),
    (SoftDTW(), "sums", lambda s: s._replace(gradient=1.1 * s.gradient), "sums is a bound"),
    (SoftDTW(), "with_sums", lambda b: (b[0] + 1, b[1]), "with_sums agrees"),
    (SoftDTW(), "with_sums", lambda b: (b[0], lambda w: b[1](2 * w)), "with_sums agrees"),
    (SoftDTW(), "stiffness", lambda s: -s, "stiffness is positive"),
    (SoftDTW(), "stiffness", lambda s: s.cumsum(1), "stiffness is positive"),
    (SquaredEuclidean(), "tensor", lambda u: 1.5 * u, "tensor agrees"),
    (Mahalanobis(), "tensor", lambda u: u.cumsum(1), "tensor agrees"),
    (SquaredEuclidean(), "barycenters", lambda u: u + 0.2, "barycenters are minima"),
    (SEMI_METRICS["manhattan"](), "barycenters", lambda u: 1.1 * u, "barycenters are minima"),
    (SEMI_METRICS["cosine"](), "barycenters", lambda u: u.flip(1), "barycenters are minima"),
    (SquaredEuclidean(), "round", lambda r: r._replace(cost=1.001 * r.cost), "compiled round agrees"),
    (SquaredEuclidean(), "round", lambda r: r._replace(change=0.5 * r.change), "compiled round agrees"),
    (Mixed(), "round", lambda r: r._replace(moment=1.001 * r.moment), "compiled round agrees"),
    (Mahalanobis(), "masses", lambda m: m.flip(1), "compiled masses agree"),
    (SquaredEuclidean(), "nearest", lambda n: (n[0], n[1].flip(0)), "compiled nearest agrees"),
    (SquaredEuclidean(), "nearest", lambda n: (n[0].sqrt(), n[1]), "compiled nearest agrees"),
    (SoftDTW(), "paired_gradients", lambda g: (g[0], g[2], g[1]), "paired_gradients agree"),
    (Mahalanobis(), "describe", lambda d: d._replace(scatter=2 * d.scatter), "learned alike from blocks"),
    (SoftDTW(gamma="auto"), "describe", lambda d: d._replace(weight=1.0), "learned alike from blocks"),
]


@pytest.mark.parametrize(("metric", "method", "change", "name"), BROKEN, ids=lambda v: v if isinstance(v, str) else "")
def test_a_capability_that_is_wrong_is_named(metric, method, change, name):
    report = check_semimetric(Broken(metric, method, change))
    assert name in [c.name for c in report.failures], str(report)


@pytest.mark.parametrize("metric", [SquaredEuclidean(), Mahalanobis(), SoftDTW(gamma="auto"), Mixed()], ids=str)
def test_the_same_metrics_pass_while_nothing_is_changed(metric):
    check_semimetric(Broken(metric, "nothing", None)).raise_for_failures()


@pytest.mark.parametrize("metric", [Mixed(), Hamming(), Hamming(kind="total-variation")], ids=str)
@pytest.mark.parametrize("gaps", [False, True])
def test_tables_pass_in_their_own_form(metric, gaps, rng):
    table = pd.DataFrame({"a": rng.integers(0, 3, 12), "b": rng.integers(0, 2, 12)}).astype(str)
    if isinstance(metric, Mixed):
        table["size"] = rng.normal(size=12)
    if gaps:
        table.iloc[3, 0] = None
        table.iloc[5, -1] = None
    space = metric.make_space()
    raw = space.check(SoftECM(), table, reset=True)
    space = space.fit(raw, dtype=torch.float64)
    x = space.encode(raw)
    report = check_semimetric(metric, x, prototypes=space.starts(x, torch.arange(len(x))))
    report.raise_for_failures()
    assert {
        c.name.removesuffix(" (GPU)") for c in report.checks if c.name.startswith("compiled") and not c.skipped
    } == (
        set()
        if metric == Hamming(kind="total-variation")
        else {"compiled round agrees", "compiled masses agree", "compiled nearest agrees"}
    )


def test_precomputed_says_what_holds_and_what_does_not_apply():
    report = check_semimetric("precomputed")
    assert report
    assert {c.name for c in report.checks if not c.skipped} - {"same on a GPU"} == {
        "shape", "finite", "symmetric", "never negative", "zero at equality",
    }  # fmt: skip
    assert "skipped  prototypes are objects" in str(report)
    crooked = torch.tensor([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    assert [c.name for c in check_semimetric("precomputed", crooked).failures] == ["symmetric"]


def test_without_a_gpu_the_report_says_so():
    last = check_semimetric("sqeuclidean").checks[-1]
    if torch.cuda.is_available():
        assert last.name.endswith("(GPU)")
    else:
        assert (last.name, last.skipped, last.detail) == ("same on a GPU", True, "there is no GPU here")


def test_a_metric_may_have_code_for_the_cpu_only():
    class Near(SquaredEuclidean):
        gpu = False

    assert "CPU only" in check_semimetric(Near()).checks[-1].detail


def test_few_objects_are_enough():
    assert check_semimetric("sqeuclidean", torch.from_numpy(np.random.default_rng(0).normal(size=(4, 2))))


def test_the_lists_are_those_of_the_package():
    assert dict(all_metrics()) == SEMI_METRICS
    assert "precomputed" in dict(all_metrics())
    names = [name for name, _ in all_estimators()]
    assert names == sorted(names)
    assert {"SoftECM", "ECM", "RECM", "ECMdd", "CatECM", "CECM", "EVCLUS", "BPEC"} <= set(names)


def test_objects_may_be_an_array():
    def second_column(x, v):
        return (x[:, None, 1] - v[:, 1]).square()

    assert check_semimetric(second_column, np.eye(4)[:, :2])


@pytest.mark.parametrize("words", [["ab", "abc"], np.array(["ab", "abc"])])
def test_things_without_means_are_pointed_to_a_matrix(words):
    with pytest.raises(TypeError, match=r"x must be a tensor or an array of numbers.*metric='precomputed'"):
        check_semimetric(lambda a, b: abs(len(a) - len(b)), words)
