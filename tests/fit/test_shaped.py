"""Groups measured in their own shape, for every way to fit: the same result as a plain fit."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import adjusted_rand_score

from softecm import SoftECM, load_model
from softecm.selection import choose_n_clusters, sweep

Y = np.arange(360) % 3
CENTERS = {
    "alike": [[0, 0], [2.2, 0], [4.4, 0]],
    "width": [[0, 0], [4, 0], [0, 4.5]],
    "own": [[0, 0], [3.5, 0], [1.5, 4]],
}
SPREADS = {"alike": [[0.35, 2.5]] * 3, "width": [[0.3], [0.5], [1.9]], "own": [[0.25, 1.8], [0.25, 1.8], [2.2, 0.25]]}


def drawn(kind: str, seed: int | None = None) -> np.ndarray:
    """Three groups: with common elongation, of unequal width, or with individual elongation."""
    rng = np.random.default_rng(seed if seed is not None else int(kind == "own"))
    return np.array(CENTERS[kind])[Y] + rng.normal(size=(len(Y), 2)) * np.array(SPREADS[kind])[Y]


def fitted(X, **options):
    return SoftECM(3, random_state=0, n_init=3, **options).fit(X)


@pytest.fixture(scope="module", params=["alike", "width", "own"])
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def model(kind):
    return fitted(drawn(kind))


def test_the_shape_moves_objects_to_their_groups(kind, model):
    spheres = fitted(drawn(kind), metric="sqeuclidean")
    assert adjusted_rand_score(Y, model.labels_) > adjusted_rand_score(Y, spheres.labels_) + 0.02
    assert "measured" in model.metric_reason_


def test_a_cell_of_a_sweep_is_the_fit_alone(kind, model):
    rows = sweep(drawn(kind), {"n_clusters": [3], "beta": [1.2, 1.5]}, estimator=SoftECM(n_init=3), y=Y)
    assert rows.columns["objective"][0] == pytest.approx(model.objective_, rel=1e-9)
    assert rows.columns["adjusted_rand_index"][0] == pytest.approx(adjusted_rand_score(Y, model.labels_))
    other = fitted(drawn(kind), beta=1.5)
    assert rows.columns["objective"][1] == pytest.approx(other.objective_, rel=1e-9)


@pytest.mark.filterwarnings("ignore::softecm.NoGroupsWarning")  # crossing groups have no valley between them
def test_the_chosen_number_has_the_fit_with_that_number(kind, model):
    base = SoftECM(n_init=3, random_state=0)
    chosen = choose_n_clusters(drawn(kind), estimator=base, candidates=[3]).model
    np.testing.assert_array_equal(chosen.partition_.masses, model.partition_.masses)


def test_a_checkpoint_changes_nothing(kind, model, tmp_path):
    path = tmp_path / "fit.checkpoint"
    X = drawn(kind)
    again = SoftECM(3, random_state=0, n_init=3).fit(X, checkpoint=path)
    np.testing.assert_array_equal(again.partition_.masses, model.partition_.masses)


def test_blocks_have_the_shape_of_the_objects_in_memory(kind, model):
    blocks = pytest.importorskip("dask.array").from_array(drawn(kind), chunks=(100, -1))
    again = fitted(blocks)
    assert again.metric_reason_ == model.metric_reason_
    assert again.objective_ == pytest.approx(model.objective_, rel=1e-3)
    np.testing.assert_array_equal(again.partition_.compute().labels(), model.labels_)


def test_a_fit_that_goes_on_measures_as_the_earlier_one(kind, model, tmp_path):
    X = drawn(kind)
    warm = SoftECM(3, random_state=0, n_init=3, warm_start=True)
    first = warm.fit(X).labels_.copy()
    assert np.mean(warm.fit(X).labels_ == first) > 0.98
    assert warm.metric_.name == model.metric_.name
    model.rename(["a", "b", "c"]).save(tmp_path / "m.safetensors")
    other = drawn(kind, seed=5)
    later = SoftECM(3, random_state=0).fit(other, prior=load_model(tmp_path / "m.safetensors"))
    assert later.metric_.name == model.metric_.name
    assert later.focal_sets_.cluster_names == ("a", "b", "c")
    assert np.mean(later.labels_ == model.predict(other)) > 0.97


def test_a_prior_pulls_at_groups_of_their_own_shape():
    X, far = drawn("own"), drawn("own") + np.array([0.8, 0.0])
    prior = fitted(X)
    shift = {}
    for weight in (0.0, 1.0, 1000.0):
        later = SoftECM(3, random_state=0).fit(far, prior=prior, prior_weight=weight)
        shift[weight] = np.abs(later.cluster_centers_ - prior.cluster_centers_)[:, 0].mean()
    assert shift[0.0] == pytest.approx(0.8, abs=0.05)
    assert shift[1.0] == pytest.approx(0.4, abs=0.1)
    assert shift[1000.0] < 0.01


def test_links_hold_where_groups_have_shapes(kind, model):
    own = drawn_labels(model)
    wrong = int(np.flatnonzero(model.labels_ != own)[0])
    sure = [int(i) for i in np.flatnonzero((Y[wrong] == Y) & (model.labels_ == own))[:3]]
    pairs = [(wrong, other) for other in sure]
    again = SoftECM(3, random_state=0, n_init=3).fit(drawn(kind), must_link=pairs, constraint_weight=5.0)
    assert again.metric_.name == model.metric_.name
    assert set(again.labels_[sure]) == {again.labels_[wrong]}


def drawn_labels(model):
    """The groups as drawn, numbered like a model's."""
    number = [int(np.bincount(model.labels_[k == Y], minlength=3).argmax()) for k in range(3)]
    return np.array(number)[Y]


def test_known_labels_number_the_clusters(kind):
    y = np.full(len(Y), -1)
    y[:30] = 2 - Y[:30]
    model = SoftECM(3, random_state=0, n_init=3).fit(drawn(kind), y)
    assert np.mean(model.labels_ == 2 - Y) > 0.9
    assert "measured" in model.metric_reason_


def test_batches_have_a_shape_that_all_groups_share(kind):
    X = drawn(kind)
    model = SoftECM(3, random_state=0, n_init=3).partial_fit(X[:180]).partial_fit(X[180:])
    assert model.metric_.closed_form.quadratic
    if kind == "alike":
        assert model.metric_.name == "mahalanobis"
        assert adjusted_rand_score(Y, model.predict(X)) > 0.9


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU to test on")
def test_a_shape_on_the_gpu_is_that_of_the_cpu(kind, model):
    again = fitted(drawn(kind), device="cuda")
    assert again.metric_reason_ == model.metric_reason_
    np.testing.assert_allclose(again.partition_.masses, model.partition_.masses, atol=1e-6)
