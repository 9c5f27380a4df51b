"""Sparse rows give the results of dense rows, and are never made dense."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score

import softecm
from softecm import ECM, FCM, BetaWarning, SoftECM, load_model
from softecm.distances.squared_euclidean import VectorMeans
from softecm.fit import stages
from softecm.fit.loop import Solution
from softecm.selection import choose_n_clusters
from softecm.spaces.sparse import SparseRows


def texts(n: int = 90, p: int = 30, topics: int = 3, *, seed: int = 0) -> sp.csr_array:
    """Rows like TF-IDF: few words each, of length 1, from a few topics; some from two topics."""
    rng = np.random.default_rng(seed)
    words = np.full((topics, p), 0.1)
    for k, own in enumerate(np.array_split(np.arange(p), topics)):
        words[k, own] = 20.0
    words /= words.sum(1, keepdims=True)
    counts = np.array([rng.multinomial(p, words[i % topics]) for i in range(n)], dtype=np.float64)
    rows = np.log1p(counts)
    return sp.csr_array(rows / np.linalg.norm(rows, axis=1, keepdims=True))


X = texts()
ROUTES = {
    "default": lambda: SoftECM(3, tol=1e-11, random_state=0),
    "cosine": lambda: SoftECM(3, metric="cosine", tol=1e-12, random_state=0),
    "exact": lambda: SoftECM(3, relaxation="exact", tol=1e-11, random_state=0),
    "penalty": lambda: SoftECM(3, relaxation="penalty", tol=1e-11, random_state=0),
    "gap": lambda: SoftECM(3, relaxation="gap", lam=5.0, tol=1e-11, random_state=0),
    "all pairs": lambda: SoftECM(3, max_cardinality=3, tol=1e-11, random_state=0),
    "k-means++": lambda: SoftECM(3, init="k-means++", n_init=1, tol=1e-11, random_state=0),
    "given starts": lambda: SoftECM(3, init=X.toarray()[:3], tol=1e-11),
    "no outliers": lambda: SoftECM(3, delta=None, tol=1e-11, random_state=0),
    "gradient": lambda: SoftECM(3, solver="gradient", max_iter=20, init=X.toarray()[:3], delta=1.0),
    "ECM": lambda: ECM(3, beta=1.3, tol=1e-11, random_state=0),
    "FCM": lambda: FCM(3, beta=1.3, tol=1e-11, random_state=0),
}
QUIET = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def close(a: Any, b: Any) -> None:
    assert_allclose(a, b, rtol=0, atol=1e-9)


def scaled(v: Any, to_one: bool) -> Any:
    """Points, or their directions."""
    return v / np.linalg.norm(v, axis=1, keepdims=True) if to_one else v


@QUIET
@pytest.mark.parametrize("route", ROUTES)
def test_sparse_equals_dense(route):
    sparse, dense = ROUTES[route]().fit(X), ROUTES[route]().fit(X.toarray())
    assert sparse.focal_sets_ == dense.focal_sets_
    close(sparse.partition_.masses, dense.partition_.masses)
    close(sparse.objective_, dense.objective_)
    length = route == "cosine"  # ignores a prototype's length
    close(scaled(sparse.prototypes_, length), scaled(dense.prototypes_, length))
    close(scaled(sparse.cluster_centers_, length), scaled(dense.cluster_centers_, length))
    assert_array_equal(sparse.labels_, dense.labels_)


def test_weights_count_as_copies():
    weights = np.ones(X.shape[0])
    weights[:10] = 2
    weighed = ROUTES["default"]().fit(X, sample_weight=weights)
    twice = ROUTES["default"]().fit(sp.vstack([X, X[:10]], format="csr"))
    close(weighed.partition_.masses, twice.partition_.masses[: X.shape[0]])


def test_links_are_heeded_as_in_dense_rows():
    links = {"must_link": [(0, 1), (3, 4)], "cannot_link": [(0, 3)], "constraint_weight": 2.0}
    sparse, dense = ROUTES["default"]().fit(X, **links), ROUTES["default"]().fit(X.toarray(), **links)
    close(sparse.partition_.masses, dense.partition_.masses)


@pytest.mark.parametrize("form", ["csc", "coo", "lil", "dok", "bsr"])
def test_other_forms_and_matrices_are_converted(form):
    found = FCM(3, random_state=0).fit(X.asformat(form))
    close(found.cluster_centers_, FCM(3, random_state=0).fit(sp.csr_matrix(X)).cluster_centers_)


def test_stored_zeros_and_cells_in_two_parts_mean_what_they_add_up_to():
    coo = X.tocoo()
    data = np.concatenate([coo.data / 2, coo.data / 2, [0.0]])
    where = np.concatenate([coo.row, coo.row, [0]]), np.concatenate([coo.col, coo.col, [1]])
    odd = sp.csr_matrix((data, where), shape=X.shape)
    close(FCM(3, random_state=0).fit(odd).cluster_centers_, FCM(3, random_state=0).fit(X).cluster_centers_)


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
def test_new_objects_sparse_or_dense(metric):
    new = texts(30, seed=1)
    model = SoftECM(3, metric=metric, tol=1e-11, random_state=0).fit(X)
    dense = SoftECM(3, metric=metric, tol=1e-11, random_state=0).fit(X.toarray())
    close(model.transform(new), dense.transform(new.toarray()))
    close(model.predict_partition(new.toarray()).masses, dense.predict_partition(new.toarray()).masses)
    close(model.score(new), dense.score(new.toarray()))
    close(model.explain(new), dense.explain(new.toarray()))
    close(model.predict_partition(X).masses, model.partition_.masses)


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
def test_saved_without_the_sets_prototypes(tmp_path, metric):
    model = SoftECM(3, metric=metric, random_state=0).fit(X)
    assert len(model.model_.prototypes) == 3 < len(model.focal_sets_)
    model.save(tmp_path / "m.safetensors")
    back = load_model(tmp_path / "m.safetensors")
    close(back.predict_partition(X).masses, model.partition_.masses)
    close(back.prototypes_, model.prototypes_)


def test_going_on_from_a_sparse_fit():
    model = SoftECM(3, warm_start=True, random_state=0).fit(X)
    before = model.partition_.masses
    assert np.abs(model.fit(X).partition_.masses - before).max() < 1e-3


def test_never_written_out(monkeypatch):
    def refuse(*_):
        raise AssertionError("rows were written out")

    monkeypatch.setattr(sp.csr_array, "toarray", refuse)
    wide = texts(300, 400)
    widest = []
    monkeypatch.setattr(SparseRows, "dense", lambda rows: widest.append(len(rows)) or dense_rows(rows))
    model = SoftECM(3, random_state=0).fit(wide)
    model.predict(wide)
    assert max(widest) < len(model.labels_)


def dense_rows(rows: SparseRows) -> Any:
    """Dense rows without SciPy."""
    out = np.zeros((len(rows), rows.width))
    out[np.repeat(np.arange(len(rows)), np.diff(rows.starts)), rows.columns] = rows.values
    return torch.from_numpy(out)


@pytest.mark.parametrize(
    ("estimator", "what"),
    [
        (SoftECM(3, metric="mahalanobis"), "mahalanobis"),
        (SoftECM(3, metric="manhattan"), "manhattan"),
        (SoftECM(3, metric="mixed"), "mixed"),
        (softecm.CCM(3), "CCM"),
        (softecm.CECM(3, metric="adaptive"), "sparse"),
        (softecm.BCM(3), "BCM"),
    ],
    ids=str,
)
def test_refused_in_a_sentence_where_rows_would_be_written_out(estimator, what):
    with pytest.raises(TypeError, match=rf"X must not be sparse .*{what}|{what}.*sparse"):
        estimator.fit(X)


def test_gaps_and_infinities_are_refused():
    for bad in (np.nan, np.inf):
        broken = X.copy()
        broken.data[5] = bad
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            SoftECM(3).fit(broken)


@QUIET
def test_too_many_rows_to_explain():
    wide = sp.csr_array(sp.random(40, 200_000, density=1e-4, random_state=0))
    model = FCM(2, init=wide[:2].toarray(), max_iter=1)
    with pytest.raises(ValueError, match=r"few rows for explain.*Pass at most 83 rows at a time"):
        model.fit(wide).explain(sp.vstack([wide] * 3))


def test_a_report_shows_the_telling_columns(tmp_path):
    wide = texts(90, 200)
    model = SoftECM(3, random_state=0).fit(wide)
    names = [f"word {j}" for j in range(200)]
    page = softecm.report.build(model, wide, feature_names=names)
    assert len(page.attributes) == 30
    assert len(page.prototypes) == len(model.focal_sets_)
    own = {a.name for a in page.attributes}
    assert all(any(f"word {j}" in own for j in part) for part in np.array_split(np.arange(200), 3))
    assert "word" in page.html
    model.report(wide, tmp_path / "r.html")
    assert softecm.report.build(model, None, partition=model.partition_).html


def test_a_sample_of_wide_rows_is_compared_by_its_combinations(monkeypatch):
    """The same result with starts as combinations of the sample's rows or as dense rows."""
    monkeypatch.setattr(stages, "SAMPLE", 40)
    monkeypatch.setattr(stages, "SAMPLE_EACH", 10)
    wide = texts(120, 90)
    short = SoftECM(3, tol=1e-11, random_state=0).fit(wide)
    monkeypatch.setattr(VectorMeans, "combined", lambda *_: None)
    full = SoftECM(3, tol=1e-11, random_state=0).fit(wide)
    close(short.partition_.masses, full.partition_.masses)
    close(short.runs_["objective"], full.runs_["objective"])


def test_noise_in_many_columns_pulls_no_clusters_together():
    rng = np.random.default_rng(0)
    labels = np.arange(160) % 6
    noisy = rng.normal(size=(6, 300))[labels] * 0.45 + rng.normal(size=(160, 300))
    with pytest.warns(BetaWarning, match=r"beta=1\.2 pulls .* Set beta=1\.0\d for more decisive masses") as said:
        model = SoftECM(6, random_state=0).fit(noisy)
    assert not model.collapsed_
    assert adjusted_rand_score(labels, model.labels_) > 0.95
    advised = float(str(said[0].message).rsplit("beta=", 1)[1].split()[0])
    obeyed = SoftECM(6, beta=advised, random_state=0).fit(noisy)  # no warning
    assert obeyed.decisions().counts()["clearly"] > model.decisions().counts()["clearly"]


def test_of_the_numbers_of_clusters_tried_only_the_chosen_one_warns():
    rng = np.random.default_rng(0)
    noisy = rng.normal(size=(4, 300))[np.arange(80) % 4] * 0.45 + rng.normal(size=(80, 300))
    with pytest.warns(BetaWarning) as said:
        choice = choose_n_clusters(noisy, estimator=SoftECM(n_init=3, random_state=0), candidates=[3, 4, 5])
    assert choice.n_clusters == 4
    assert len(said) == 1
    assert said[0].filename == __file__


def test_clusters_are_put_in_order_by_as_many_columns_as_tell_them_apart() -> None:
    rng = np.random.default_rng(0)
    late = torch.zeros(6, 2000, dtype=torch.float64)
    late[:, 1500:] = torch.from_numpy(rng.normal(size=(6, 500)))
    twice = torch.from_numpy(rng.normal(size=(3, 200))).repeat(2, 1)
    for places in (late, twice, late[:, 1500:1502]):
        whole = Solution(places[None], *[np.zeros(1)] * 2, (), np.zeros(1, dtype=np.int64), np.ones(1, dtype=bool))
        ordered = stages.in_order(whole, 0).prototypes[0]
        assert_array_equal(ordered, places[np.lexsort(places.numpy().T[::-1])])
