"""Incremental fitting: batches, drift, known labels, an earlier model."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score

import problems
from softecm import CCM, ECM, FCM, TECM, DriftWarning, SoftECM, load_model, report
from softecm.constraints import kept

FAMILY = {
    "SoftECM": lambda: SoftECM(3, random_state=0),
    "ECM": lambda: ECM(3, beta=1.5, random_state=0),
    "FCM": lambda: FCM(3, random_state=0),
    "penalty": lambda: SoftECM(3, relaxation="penalty", random_state=0),
}
PLACES = np.array([[0.0, 0.0], [6.0, 0.0], [3.0, 5.0]])


def blobs(n, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n)
    return PLACES[labels] + shift + rng.normal(size=(n, 2)), labels


@pytest.mark.parametrize("name", FAMILY)
def test_one_batch_is_a_fit(name):
    X, _ = blobs(150, 0)
    batch, whole = FAMILY[name]().partial_fit(X), FAMILY[name]().fit(X)
    assert_array_equal(batch.partition_.masses, whole.partition_.masses)
    assert_array_equal(batch.prototypes_, whole.prototypes_)
    assert_array_equal(batch.drift_, np.zeros(3))


@pytest.mark.parametrize("name", FAMILY if problems.DEEP else ["SoftECM", "FCM"])
def test_a_hundred_batches_end_where_the_whole_fit_does(name):
    X, _ = blobs(4000, 1)
    model = FAMILY[name]()
    for batch in np.array_split(X, 100):
        model.partial_fit(batch)
    whole = FAMILY[name]().fit(X)
    new, truth = blobs(2000, 2)
    assert abs(adjusted_rand_score(truth, model.predict(new)) - adjusted_rand_score(truth, whole.predict(new))) < 0.01
    assert adjusted_rand_score(whole.predict(new), model.predict(new)) > 0.97


def test_nothing_is_lost_where_nothing_is_forgotten_and_memberships_are_hard():
    """With beta near 1 every object belongs to one cluster, and means of batches are means of all."""
    X, labels = blobs(600, 3)
    model = FCM(3, beta=1.01, random_state=0)
    for batch in np.array_split(PLACES[labels] + (X - PLACES[labels]) * 0.2, 10):
        model.partial_fit(batch, keep=1.0)
    means = [(PLACES[labels] + (X - PLACES[labels]) * 0.2)[labels == k].mean(0) for k in range(3)]
    order = np.lexsort(np.round(means, 6).T[::-1])
    assert_allclose(np.sort(model.cluster_centers_, 0), np.sort(np.array(means)[order], 0), atol=1e-9)


def test_planted_drift_is_followed_and_said():
    model = SoftECM(3, random_state=0)
    said = 0
    for t in range(60):
        X, labels = blobs(60, 100 + t, shift=0.1 * t)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.partial_fit(X, keep=0.8)
        said += sum(issubclass(w.category, DriftWarning) for w in caught)
        assert all(issubclass(w.category, DriftWarning) for w in caught)
    assert adjusted_rand_score(labels, model.labels_) > 0.9
    gone = np.sqrt(((model.cluster_centers_[:, None] - (PLACES + 5.9)) ** 2).sum(-1)).min(1)
    assert gone.max() < 1.0
    assert 5 <= said <= 20
    assert model.drift_.min() > 2.0


def test_a_group_that_moves_in_one_of_many_columns_is_said_at_once():
    """Three spreads in one of nine columns: the cluster itself, held by the past, has hardly moved."""
    pd = pytest.importorskip("pandas")
    X, labels = blobs(300, 20)
    rest = np.random.default_rng(20).normal(size=(300, 6))
    table = pd.DataFrame(np.column_stack([X, rest]), columns=[f"c{j}" for j in range(8)])
    table["kind"] = np.array(["x", "y", "z"])[labels]
    table.loc[::7, "c1"] = np.nan
    later = table[200:].copy()
    model = SoftECM(3, random_state=0).fit(table[:200]).rename([f"group {k}" for k in range(3)])
    moved = model.labels_[np.flatnonzero(labels[:200] == 1)[0]]
    model.partial_fit(later)  # no warning
    later.loc[later["kind"] == "y", "c1"] += 3.0
    with pytest.warns(
        DriftWarning, match=rf"objects of group {moved} in this batch lie [23]\S* standard deviations .* in c1:"
    ):
        model.partial_fit(later)
    assert model.drift_.max() < 0.5


def test_a_batch_may_be_one_object():
    X, _ = blobs(100, 4)
    model = SoftECM(3, random_state=0).partial_fit(X)
    before = model.cluster_centers_
    model.partial_fit(X[:1])
    assert len(model.labels_) == 1
    assert 0 < np.abs(model.cluster_centers_ - before).max() < 0.2


def test_goes_on_after_a_fit_and_after_loading(tmp_path):
    X, _ = blobs(300, 5)
    fitted = SoftECM(3, random_state=0).fit(X)
    before = fitted.cluster_centers_
    fitted.partial_fit(blobs(50, 6)[0])
    assert np.abs(fitted.cluster_centers_ - before).max() < 0.3
    fitted.save(tmp_path / "m.safetensors")
    loaded = load_model(tmp_path / "m.safetensors")
    batch = blobs(50, 7)[0]
    assert_allclose(loaded.partial_fit(batch).prototypes_, fitted.partial_fit(batch).prototypes_, atol=1e-12)
    assert not hasattr(fitted.fit(X), "drift_")


def test_weights_are_copies_in_every_batch():
    X, _ = blobs(120, 8)
    weights = np.where(np.arange(60) < 20, 2.0, 1.0)
    weighed = FCM(3, tol=1e-10, random_state=0).partial_fit(X[:60], sample_weight=weights)
    weighed.partial_fit(X[60:], sample_weight=weights)
    twice = FCM(3, tol=1e-10, random_state=0).partial_fit(np.concatenate([X[:60], X[:20]]))
    twice.partial_fit(np.concatenate([X[60:], X[60:80]]))
    assert_allclose(weighed.cluster_centers_, twice.cluster_centers_, atol=1e-6)


def test_batches_of_tables_keep_the_first_ones_columns():
    pd = pytest.importorskip("pandas")
    X, _ = blobs(200, 9)
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1] * 100, "kind": np.where(X[:, 0] > 3, "x", "y")})
    model = SoftECM(3, random_state=0).partial_fit(table[:100])
    assert model.partial_fit(table[100:]).prototypes_.columns.tolist() == ["a", "b", "kind"]


def test_names_of_clusters_and_of_objects_stay(tmp_path):
    pd = pytest.importorskip("pandas")
    X, _ = blobs(120, 9)
    table = pd.DataFrame(X, columns=["a", "b"], index=[f"N-{i}" for i in range(120)])
    model = SoftECM(3, random_state=0).fit(table[:80]).rename(["low", "right", "top"])
    at = model.decisions()["N-3"]
    assert model.partial_fit(table[70:]).focal_sets_.cluster_names == ("low", "right", "top")
    frame = model.partition_.to_frame("pandas")
    assert set(frame.label) == {"low", "right", "top"}
    assert frame.id.tolist() == table.index[70:].tolist()
    assert model.partition_[3:5].decisions().to_frame("pandas").id.tolist() == ["N-73", "N-74"]
    model.save(tmp_path / "m.safetensors")
    assert load_model(tmp_path / "m.safetensors").partition_.to_frame("pandas").id[0] == "N-70"
    assert model.decisions()["N-71"].word
    assert at.set in model.predict_partition(table).focal_sets.labels()
    new = SoftECM(3, random_state=0).fit(table[80:], prior=model)
    assert new.partition_.focal_sets.cluster_names == ("low", "right", "top")


def test_other_columns_are_refused():
    X, _ = blobs(100, 10)
    model = FCM(3, random_state=0).partial_fit(X)
    with pytest.raises(ValueError, match="X has 1 features, but FCM is expecting 2 features"):
        model.partial_fit(X[:, :1])


@pytest.mark.parametrize("keep", [0, 1.1, "much"])
def test_what_is_kept_is_a_part(keep):
    with pytest.raises(ValueError, match="keep must be"):
        FCM(3).partial_fit(blobs(30, 0)[0], keep=keep)


def test_metrics_without_sums_are_refused():
    with pytest.raises(TypeError, match=r"a metric whose prototypes are means; got manhattan"):
        SoftECM(3, metric="manhattan", random_state=0).partial_fit(blobs(60, 0)[0])


# ---------------------------------------------------------------- known labels


def between(n=200, seed=11):
    """Two elongated touching groups, so that labels must decide where one ends."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=n)
    return np.stack([rng.normal(size=n) * 1.5, labels * 2.0 + 0.4 * rng.normal(size=n)], 1), labels


def test_some_labels_help():
    X, labels = between()
    some = np.where(np.arange(len(X)) < 60, labels, -1)
    without = FCM(2, beta=1.5, random_state=0).fit(X)
    heeded = FCM(2, beta=1.5, random_state=0).fit(X, some, constraint_weight=5.0)
    assert adjusted_rand_score(labels, heeded.labels_) > adjusted_rand_score(labels, without.labels_) + 0.2
    same = [(0, j) for j in range(1, 60) if labels[j] == labels[0]]
    assert kept(heeded.labels_, must_link=same) > 0.9


def test_complete_labels_are_ignored_as_by_all_clusterers():
    X, labels = between()
    assert_array_equal(
        FCM(2, random_state=0).fit(X, labels).labels_, FCM(2, random_state=0).fit(X, labels[::-1]).labels_
    )


def test_labels_stand_beside_links():
    X, labels = between()
    some = np.where(np.arange(len(X)) < 20, labels, -1)
    with pytest.raises(ValueError, match="cannot_link must agree with y; got the pair"):
        FCM(2).fit(X, some, cannot_link=[tuple(np.flatnonzero(some == 0)[:2])])


def test_labels_of_more_groups_than_clusters_are_refused():
    X, _ = between()
    with pytest.raises(ValueError, match="y must name at most n_clusters=2 different groups; got 3: 0, 1, 2"):
        FCM(2).fit(X, np.resize([0, 1, 2, -1], len(X)))
    with pytest.raises(ValueError, match=r"one label for each of the \d+ objects; got \d+"):
        FCM(2).fit(X, [0, -1])


# ---------------------------------------------------------------- an earlier model


@pytest.mark.parametrize("name", FAMILY)
def test_a_prior_pulls_and_keeps_the_numbers(name):
    last = FAMILY[name]().fit(blobs(300, 12)[0])
    X, _ = blobs(200, 13, shift=1.0)
    alone = FAMILY[name]().fit(X)
    new = FAMILY[name]().fit(X, prior=last, prior_weight=1.0)
    strong = FAMILY[name]().fit(X, prior=last, prior_weight=1000.0)
    off = [np.abs(m.cluster_centers_ - last.cluster_centers_).max() for m in (strong, new, alone)]
    assert off[0] < 0.01 < off[1] < off[2]


def test_a_prior_of_no_weight_is_only_a_start():
    X, _ = blobs(200, 14)
    last = FCM(3, random_state=0).fit(blobs(200, 15)[0])
    new = FCM(3, tol=1e-10, random_state=0).fit(X, prior=last, prior_weight=0.0)
    assert_allclose(new.cluster_centers_, FCM(3, tol=1e-10, random_state=0).fit(X).cluster_centers_, atol=1e-6)


def test_the_transfer_term_is_minimised():
    """After convergence, every centre is the weighted mean of its objects and the earlier prototype."""
    X, _ = blobs(90, 16)
    last = FCM(3, random_state=0).fit(blobs(90, 17, shift=1.0)[0])
    new = FCM(3, tol=1e-12, max_iter=2000, random_state=0).fit(X, prior=last, prior_weight=0.5)
    weights = new.partition_.masses[:, 1:] ** 2
    rho = 0.5 * 90 / 3
    expected = (weights.T @ X + rho * last.cluster_centers_) / (weights.sum(0)[:, None] + rho)
    assert_allclose(new.cluster_centers_, expected, atol=1e-8)


def test_a_prior_for_a_metric_without_closed_form():
    last = SoftECM(3, metric="manhattan", random_state=0).fit(blobs(90, 18)[0])
    X, _ = blobs(90, 19, shift=1.0)
    new = SoftECM(3, metric="manhattan", random_state=0).fit(X, prior=last, prior_weight=1000.0)
    assert np.abs(new.cluster_centers_ - last.cluster_centers_).max() < 0.05


def priced(n, seed, kinds, shift=0.0):
    """A table of three groups with a categorical column, with scales that differ between draws."""
    pd = pytest.importorskip("pandas")
    X, labels = blobs(n, seed, shift)
    rng = np.random.default_rng(seed)
    kind = np.where(rng.random(n) < 0.7, np.array(kinds)[labels % len(kinds)], rng.choice(kinds, n))
    return pd.DataFrame({"kind": kind, "a": X[:, 0] * (1 + seed), "b": X[:, 1] * 100})


@pytest.mark.parametrize(
    ("before", "now"), [("xyz", "xyzu"), ("xyzu", "xyz"), ("xyz", "uxy")], ids=["more", "fewer", "others"]
)
def test_a_prior_knows_other_categories(before, now):
    """The columns agree: scales and categories come from the new table, the rest gets shares of missing ones."""
    last = SoftECM(3, random_state=0).fit(priced(120, 0, list(before)))
    table = priced(90, 0, list(now))
    new = SoftECM(3, random_state=0).fit(table, prior=last, prior_weight=1e6)
    for column in ("a", "b"):
        assert_allclose(new.cluster_centers_[column], last.cluster_centers_[column], rtol=1e-3, atol=0.05)
    old, found = (m.prototype_distributions_["kind"] for m in (last, new))
    both = [k for k in now if k in before]
    kept = sum(old[k][:3] for k in both)
    for k in now:
        assert_allclose(found[k][:3], old[k][:3] / kept if k in both else 0.0, atol=1e-3)


def test_a_prior_of_other_columns_is_refused_by_their_names():
    last = SoftECM(3, random_state=0).fit(priced(60, 0, list("xy")).rename(columns={"a": "c"}))
    with pytest.raises(ValueError, match=r"It lacks 'a'\. Pass a model of the same columns"):
        SoftECM(3, random_state=0).fit(priced(60, 0, list("xy")), prior=last)


def test_a_prior_counts_in_the_columns_that_are_left():
    last, table = SoftECM(3, random_state=0).fit(priced(120, 0, list("xy"))), priced(90, 0, list("xy"))
    table["a"] = np.nan
    with pytest.warns(UserWarning, match="X lacks these columns of prior: 'a'"):
        new = SoftECM(3, random_state=0).fit(table, prior=last, prior_weight=1e6)
    assert_allclose(new.cluster_centers_["b"], last.cluster_centers_["b"], rtol=1e-3, atol=0.05)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (lambda: FCM(3, random_state=0).fit(blobs(60, 0)[0][:, :1]), "prior must be a model of objects like these"),
        (lambda: SoftECM(3, metric="series-euclidean", random_state=0).fit(blobs(60, 0)[0][..., None]), "TimeSeries"),
        (
            lambda: FCM(2, random_state=0).fit(blobs(60, 0)[0]),
            r"n_clusters=3 clusters, .*; got a model with 2\. For numbers use TECM\(3, source=prior\.cluster_centers_\), .*"
            r"report\.compare\(prior, model, data=\.\.\.\), or softecm compare --groups\.",
        ),
        (lambda: FCM(3), "prior must be a fitted model with prototypes"),
        (lambda: "last year", "prior must be a fitted model"),
    ],
    ids=["columns", "space", "clusters", "unfitted", "text"],
)
def test_priors_of_other_things_are_refused(prior, message):
    with pytest.raises(ValueError, match=message):
        FCM(3).fit(blobs(60, 0)[0], prior=prior())


def test_what_the_error_names_for_another_number_of_clusters_works():
    rng, places = np.random.default_rng(0), np.array([[0.0, 0.0], [8.0, 0.0], [4.0, 7.0], [12.0, 7.0]])
    old, new = (places[np.arange(200) % c] + rng.normal(size=(200, 2)) for c in (3, 4))
    prior = SoftECM(3, random_state=0).fit(old)
    later = TECM(4, source=prior.cluster_centers_, random_state=0).fit(new)
    away = np.linalg.norm(later.cluster_centers_[:, None] - places, axis=-1)
    assert sorted(away.argmin(0)) == [0, 1, 2, 3]
    model = SoftECM(4, random_state=0).fit(new)
    said = report.compare(prior, model, data=(old, new)).sentences()
    assert sum("may have changed by chance" in text for text in said) == 3
    assert said[-1].endswith("(25%, 50 objects) is new.")


def test_a_prior_has_a_weight_and_no_checkpoint(tmp_path):
    X, _ = blobs(60, 0)
    last = CCM(3, random_state=0).fit(X)
    with pytest.raises(ValueError, match="prior_weight must be at least 0"):
        FCM(3).fit(X, prior=last, prior_weight=-1)
    with pytest.raises(ValueError, match="checkpoint and prior can't be combined"):
        FCM(3).fit(X, prior=last, checkpoint=tmp_path / "c")
