"""One contract for all estimators of dissimilarities."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import cross_validate
from sklearn.utils import get_tags

from softecm import CEVCLUS, ECM, EVCLUS, RECM, CredalPartition, ECMdd, SoftECM, load_model
from softecm.datasets import make_blobs
from softecm.scores import adjusted_rand_index

BLOBS = make_blobs(60, distance=8.0, random_state=0)
POINTS, GROUP = BLOBS.data[:48], BLOBS.target[:48]
NEW, NEW_GROUP = BLOBS.data[48:], BLOBS.target[48:]
D = pairwise_distances(POINTS)
BLOCK = cdist(NEW, POINTS)

ESTIMATORS = [
    RECM(3, random_state=0),
    RECM(3, non_euclidean="shift", random_state=0),
    ECMdd(3, random_state=0),
    EVCLUS(3, random_state=0),
    EVCLUS(3, n_neighbors=20, random_state=0),
    CEVCLUS(3, random_state=0),
    SoftECM(3, metric="precomputed", random_state=0),
    SoftECM(3, metric="precomputed", relaxation="gap", random_state=0),
    SoftECM(3, metric="precomputed", relaxation="exact", random_state=0),
]
EACH = pytest.mark.parametrize(
    "estimator", ESTIMATORS, ids=lambda e: repr(e).replace("random_state=0", "").strip("(, )")
)
WITH_PROTOTYPES = pytest.mark.parametrize(
    "estimator", [e for e in ESTIMATORS if hasattr(e, "transform")], ids=lambda e: type(e).__name__
)


@EACH
def test_finds_groups_and_places_new_objects(estimator):
    model = clone(estimator).fit(D)
    assert isinstance(model.partition_, CredalPartition)
    assert adjusted_rand_index(GROUP, model.labels_) > 0.9
    assert adjusted_rand_index(NEW_GROUP, model.predict(BLOCK)) > 0.9
    assert model.predict_partition(BLOCK).masses.shape == (12, 7)
    np.testing.assert_allclose(model.predict_proba(BLOCK).sum(1), 1.0)
    np.testing.assert_array_equal(model.outlier_scores_, model.partition_.masses[:, 0])
    assert model.runs_["best"].sum() == 1
    assert len(model.runs_) == (5 if isinstance(model, EVCLUS | CEVCLUS) else 10)
    assert model.n_features_in_ == len(D)


@WITH_PROTOTYPES
def test_predicts_its_own_objects(estimator):
    model = clone(estimator).fit(D)
    np.testing.assert_allclose(model.predict_partition(D).masses, model.partition_.masses, atol=1e-12)
    assert model.transform(BLOCK).shape == (12, 6)
    assert model.score(D) == pytest.approx(-model.objective_ / len(D))


@EACH
def test_same_seed_same_bits_and_input_untouched(estimator):
    d = D.copy()
    d.setflags(write=False)
    first, second = clone(estimator).fit(d), clone(estimator).fit(d)
    assert first.partition_ == second.partition_
    np.testing.assert_array_equal(d, D)


@WITH_PROTOTYPES
def test_order_of_objects_plays_no_role(estimator, rng):
    order = rng.permutation(len(D))
    straight = clone(estimator).fit(D)
    mixed = clone(estimator).fit(D[order][:, order])
    assert mixed.objective_ == pytest.approx(straight.objective_)
    assert adjusted_rand_index(straight.labels_[order], mixed.labels_) == 1.0


@EACH
def test_survives_pickle_clone_and_file(estimator, tmp_path):
    model = clone(estimator).fit(D)
    expected = model.predict_partition(BLOCK)
    assert pickle.loads(pickle.dumps(model)).predict_partition(BLOCK) == expected
    assert not hasattr(clone(model), "partition_")
    model.save(tmp_path / "model.safetensors")
    loaded = load_model(tmp_path / "model.safetensors")
    assert loaded.predict_partition(BLOCK) == expected
    assert loaded.partition_ == model.partition_
    assert loaded.get_params().keys() == model.get_params().keys()


@EACH
def test_tells_scikit_learn_that_rows_and_columns_go_together(estimator):
    assert get_tags(estimator).input_tags.pairwise
    if hasattr(estimator, "score"):
        cross_validate(clone(estimator).set_params(n_clusters=2), D, cv=2, error_score="raise")


@EACH
def test_frames_and_lists_are_read(estimator):
    plain = clone(estimator).fit(D)
    names = [f"object{i}" for i in range(len(D))]
    framed = clone(estimator).fit(pd.DataFrame(D, columns=names, index=names))
    assert framed.partition_ == plain.partition_
    assert list(framed.feature_names_in_) == names
    assert clone(estimator).fit(D.tolist()).partition_ == plain.partition_


@EACH
def test_one_round_is_not_enough(estimator, rng):
    shapeless = pairwise_distances(rng.normal(size=(150, 2)))
    with pytest.warns(ConvergenceWarning, match=r"has not converged after 1 (iterations|sweeps).*Raise max_iter"):
        clone(estimator).set_params(max_iter=1, n_init=1, init="random").fit(shapeless)


@EACH
def test_unfitted_says_so(estimator):
    with pytest.raises(NotFittedError):
        clone(estimator).predict_partition(BLOCK)


@EACH
def test_equal_objects_are_no_trouble(estimator):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for d in (np.zeros((6, 6)), np.kron(1 - np.eye(2), np.ones((3, 3)))):
            model = clone(estimator).fit(d)
            assert np.isfinite(model.partition_.masses).all()


def bad(change):
    d = D.copy()
    change(d)
    return d


def _set(i, j, value, both=True):
    def change(d):
        d[i, j] = value
        if both:
            d[j, i] = value

    return change


BAD = [
    (POINTS, r"X must be a square matrix of dissimilarities; got shape \(48, 2\)\. Compute one with "
             r"sklearn\.metrics\.pairwise_distances, or use SoftECM"),
    (bad(_set(3, 5, 99.0, both=False)), r"must be symmetric; got 99 from object 4 to 6 \(X\[3, 5\]\) and .* back\. Use"),
    (bad(_set(3, 5, -1.0)), r"X must not hold a negative dissimilarity; got -1 for objects 4 and 6 .*Turn similarities"),
    (bad(_set(3, 5, np.nan)), r"Input X contains NaN: the dissimilarity of objects 4 and 6 .*Every pair needs"),
    (bad(_set(3, 5, np.inf)), r"Input X contains infinity: the dissimilarity of objects 4 and 6"),
    (bad(_set(4, 4, 1.0)), r"X must be zero on its diagonal: .*; got 1 for object 5 \(X\[4\]\)\. Turn similarities"),
    (D * 1e160, r"X must hold numbers of at most 1e\+150 in size; got .*divide by a constant"),
    (D[:2, :2], r"n_clusters must be at most the number of objects; got n_clusters=3 for n_samples=2"),
    (D[0], r"Expected 2D array, got 1D array"),
]  # fmt: skip


@EACH
@pytest.mark.parametrize(("d", "message"), BAD, ids=range(len(BAD)))
def test_bad_matrices(estimator, d, message):
    with pytest.raises(ValueError, match=message):
        clone(estimator).fit(d)


@EACH
def test_bad_blocks(estimator):
    model = clone(estimator).fit(D)
    with pytest.raises(
        ValueError, match=r"X has 2 features, but \w+ is expecting 48 features as input: the dissimilar"
    ):
        model.predict(NEW)
    with pytest.raises(ValueError, match=r"X must not hold a negative dissimilarity"):
        model.predict(-BLOCK)
    with pytest.raises(ValueError, match=r"Input X contains NaN: the dissimilarity of objects 1 and 2 "):
        model.predict(np.where(np.arange(48) == 1, np.nan, BLOCK))


@EACH
def test_rounding_of_a_matrix_is_forgiven(estimator, rng):
    noisy = D + 1e-12 * rng.random(D.shape)
    assert adjusted_rand_index(GROUP, clone(estimator).fit(noisy).labels_) > 0.9


@pytest.mark.parametrize("estimator", [SoftECM(3), ECM(3)], ids=lambda e: type(e).__name__)
def test_dissimilarities_given_as_vectors_are_noticed(estimator):
    with pytest.raises(
        ValueError, match=r"X must hold one object per row; .* looks like dissimilarities\. Use SoftECM"
    ):
        estimator.fit(D)
