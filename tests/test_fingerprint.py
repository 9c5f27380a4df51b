"""A metric is identified by its code, not by its name."""

import functools
import subprocess
import sys
import textwrap
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from softecm import SoftECM
from softecm._fingerprint import Fingerprint, code_of
from softecm.distances import FunctionMetric, SemiMetric, SquaredEuclidean


def made(source: str, **known: object):
    """The function ``d`` of some source."""
    scope: dict = {"torch": torch, "__name__": "made", **known}
    exec(textwrap.dedent(source), scope)
    return scope["d"]


BASE = "def d(x, v, q=2.0):\n    return (x[:, None] - v).abs().pow(q).sum(-1)"


@pytest.mark.parametrize(
    "source",
    [
        "def d(x, v, q=3.0):\n    return (x[:, None] - v).abs().pow(q).sum(-1)",
        "def d(x, v, q=2.0):\n    return (x[:, None] - v).abs().pow(q).mean(-1)",
        "def d(x, v, q=2.0):\n    return 2.0 * (x[:, None] - v).abs().pow(q).sum(-1)",
        "def d(x, v, *, q=2.0):\n    return (x[:, None] - v).abs().pow(q).sum(-1)",
    ],
)
def test_another_body_or_default_is_another_metric(source):
    assert Fingerprint(made(source)).text != Fingerprint(made(BASE)).text


def test_comments_places_and_addresses_do_not_count():
    moved = "# a remark\n\n\ndef d(x, v, q=2.0):\n    # another\n    return (x[:, None] - v).abs().pow(q).sum(-1)"
    assert Fingerprint(made(moved)).text == Fingerprint(made(BASE)).text


GLOBAL = "def h(a):\n    return a {op} 2\ndef d(x, v):\n    return [h(p) for p in (x[:, None] - v)]"


def test_what_it_refers_to_counts():
    assert Fingerprint(made(GLOBAL.format(op="*"))).text != Fingerprint(made(GLOBAL.format(op="+"))).text
    inside = "def d(x, v):\n    return x * scale"
    texts = [
        Fingerprint(made(inside, scale=value)).text
        for value in (1.0, 2.0, [1], {"a": 1}, np.ones(2), torch.ones(2) * 2)
    ]
    assert len(set(texts)) == len(texts)
    assert Fingerprint(made(inside, scale=np.ones(2))).text == Fingerprint(made(inside, scale=np.ones(2))).text


def closed(scale):
    return lambda x, v: scale * (x[:, None] - v).square().sum(-1)


def test_closures_partials_methods_and_recursion():
    assert Fingerprint(closed(1.0)).text != Fingerprint(closed(2.0)).text
    assert Fingerprint(closed(1.0)).text == Fingerprint(closed(1.0)).text
    assert Fingerprint(functools.partial(made(BASE), q=1)).text != Fingerprint(functools.partial(made(BASE), q=2)).text
    assert Fingerprint(made("def d(x, v):\n    return d(x, v)")).text


@dataclass(frozen=True)
class Scaled(SemiMetric):
    """A user's own metric."""

    scale: float = 1.0

    @functools.cached_property
    def half(self):
        return self.scale / 2

    def pairwise(self, x, v):
        return self.scale * (x[:, None] - v).square().sum(-1)


class Doubled(Scaled):
    """The same method name with another body."""

    def pairwise(self, x, v):
        return 2 * self.scale * (x[:, None] - v).square().sum(-1)


def test_objects_go_by_their_class_and_what_they_hold():
    texts = [code_of(metric).text for metric in (Scaled(), Scaled(2.0), Doubled())]
    assert len(set(texts)) == 3
    used = Scaled()
    assert used.half == 0.5
    assert code_of(used).text == texts[0]
    assert code_of(SquaredEuclidean()) is None
    assert code_of("sqeuclidean") is None
    assert code_of(FunctionMetric(closed(1.0))).text == Fingerprint(closed(1.0)).text


def test_what_has_no_code_is_said(tmp_path):
    assert Fingerprint(torch.cdist).unseen == []  # written in Python
    assert Fingerprint(torch.dist).unseen
    assert Fingerprint(functools.partial(torch.dist, p=1)).unseen
    assert not Fingerprint(closed(1.0)).unseen
    assert not Fingerprint(made(BASE)).unseen  # functions of installed packages are identified by name


def test_another_process_finds_the_same():
    program = f"from softecm._fingerprint import Fingerprint\nimport torch\n{BASE}\nprint(Fingerprint(d).text)"
    told = {
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=env).stdout
        for env in ({**__import__("os").environ, "PYTHONHASHSEED": seed} for seed in ("1", "2"))
    }
    assert len(told) == 1


X = np.random.default_rng(0).normal(size=(30, 2))


def test_a_checkpoint_of_a_metric_with_another_body_is_refused(tmp_path):
    file = tmp_path / "fit.checkpoint"
    once = {"init": "k-means++", "max_iter": 2, "n_init": 1, "random_state": 0, "relaxation": "penalty", "lam": 1.0}
    with pytest.warns(UserWarning, match="not converged"):
        SoftECM(2, metric=closed(1.0), **once).fit(X, checkpoint=file, checkpoint_every=1)
    with pytest.raises(ValueError, match="another fit: metric was function code"):
        SoftECM(2, metric=closed(2.0), **once).fit(X, resume=file)
    with pytest.warns(UserWarning, match="not converged"):
        SoftECM(2, metric=closed(1.0), **once).fit(X, resume=file)
