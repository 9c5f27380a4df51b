"""Fits that would need more memory than is free: an error before they begin, with advice that works."""

import re

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from softecm import BPEC, ECM, EVCLUS, ECMdd, SoftECM, _engine
from softecm.algorithms import parameters
from softecm.fit.settings import Size, check_size

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # merged, empty, not converged: not tested here
X = np.random.default_rng(0).normal(size=(60, 2))


def advice(error):
    """The settings suggested by a message, each by itself."""
    offered = str(error.value).split("Use ")[1].rstrip(".").split(" or ")
    return [{name: eval(value)} for name, value in (one.split("=") for one in offered)]


@pytest.mark.parametrize("n_init", [1, 10])
@pytest.mark.parametrize("relaxation", ["penalty", "gap"])
def test_all_sets_of_fourteen_clusters(n_init, relaxation, monkeypatch, hostile_case):
    hostile_case()
    monkeypatch.setattr(_engine, "free_memory", lambda: 8e9)
    given = {"focal_sets": "full", "n_init": n_init, "relaxation": relaxation, "init": "random"}
    with pytest.raises(ValueError, match=r"16383 sets of up to 14 clusters: the fit would need about .* GB") as error:
        SoftECM(14, **given).fit(X)
    assert float(re.search(r"about ([\d.]+) GB", str(error.value))[1]) > 8
    for change in advice(error):
        followed = {**given, **change}
        if "max_cardinality" in change:
            followed.pop("focal_sets")
        check_size(SoftECM(14, **followed)._settings(), len(X), quadratic=True)


def test_advice_that_is_followed_gives_a_fit(monkeypatch, hostile_case):
    monkeypatch.setattr(_engine, "free_memory", lambda: 1.2e7)
    given = {"focal_sets": "full", "n_init": 10, "relaxation": "penalty", "init": "random", "max_iter": 3, "delta": 3.0}
    with pytest.raises(ValueError, match="255 sets") as error:
        SoftECM(8, **given).fit(X)
    changes = advice(error)
    assert [next(iter(change)) for change in changes] == ["relaxation", "n_init", "max_cardinality"]
    for change in changes:
        hostile_case()
        followed = {**given, **change}
        if "max_cardinality" in change:
            followed.pop("focal_sets")
        assert SoftECM(8, **followed).fit(X).partition_.masses.shape[0] == len(X)


def test_the_exact_constraint_needs_no_matrix_of_all_sets(monkeypatch, hostile_case):
    """200 clusters and all pairs, 20 100 sets: 3 GB per matrix of all sets, and none is made."""
    hostile_case()
    monkeypatch.setattr(_engine, "free_memory", lambda: 1e9)
    chosen = ECM(200, max_cardinality=2, n_init=1)._settings()
    check_size(chosen, 300, quadratic=True)
    with pytest.raises(
        ValueError, match=r"200.*20100 sets of up to 2 clusters.*Use relaxation='exact'.*max_cardinality=1"
    ):
        check_size(SoftECM(200, max_cardinality=2, relaxation="penalty")._settings(), 300, quadratic=True)


def test_all_pairs_of_many_objects_are_refused(monkeypatch, hostile_case):
    hostile_case()
    monkeypatch.setattr(_engine, "free_memory", lambda: 5e4)
    with pytest.raises(ValueError, match=r"their dissimilarities fit in memory; got n_samples=60.*Fit a sample"):
        ECMdd(2, metric="manhattan").fit(X)
    with pytest.raises(ValueError, match=r"their masses on 8 sets fit in memory; got n_samples=5000"):
        SoftECM(2, metric="sqeuclidean").fit(np.random.default_rng(0).normal(size=(5000, 2)))


def test_the_estimate_grows_with_everything_that_is_asked_for():
    small = Size(n=100, f=50, members=100, runs=2, pays=True)
    larger = [Size(200, 50, 100, 2, True), Size(100, 60, 100, 2, True), Size(100, 50, 200, 2, True),
              Size(100, 50, 100, 3, True), Size(100, 50, 100, 2, True, compares=True)]  # fmt: skip
    assert all(size.bytes() > small.bytes() for size in larger)
    assert Size(100, 50, 100, 2, pays=False).bytes() < small.bytes()


@pytest.mark.parametrize(("model", "data"), [(EVCLUS(4, max_iter=1, n_init=1), cdist(X, X)), (BPEC(4), X)])
def test_the_number_of_all_sets_is_said(model, data, monkeypatch, hostile_case):
    hostile_case()
    monkeypatch.setattr(parameters, "MANY_SETS", 14)
    model.set_params(max_cardinality=None)
    with pytest.warns(UserWarning, match=r"makes all 15 sets of 4 clusters; max_cardinality=2 would make 10"):
        model.fit(data)


def test_bpec_and_evclus_do_not_load_blocks(hostile_case):
    da = pytest.importorskip("dask.array")
    hostile_case()
    for model in (BPEC(2), EVCLUS(2)):
        with pytest.raises(TypeError, match=r"needs all objects in memory; got blocks.*X\.compute\(\)"):
            model.fit(da.from_array(X, chunks=(20, 2)))
