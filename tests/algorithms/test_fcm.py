import numpy as np
import pytest
from sklearn.cluster import KMeans

from softecm import ECM, FCM
from softecm.datasets import make_blobs


@pytest.fixture(scope="module")
def X():
    return make_blobs(120, n_clusters=3, spread=1.5, random_state=1).data


def test_fcm_is_ecm_with_single_clusters_and_no_empty_set(X):
    start = X[:3]
    fcm = FCM(3, init=start).fit(X)
    ecm = ECM(3, delta=None, max_cardinality=1, init=start).fit(X)
    np.testing.assert_array_equal(fcm.partition_.masses, ecm.partition_.masses)
    assert fcm.objective_ == ecm.objective_
    assert not fcm.partition_.masses[:, 0].any()


def test_the_fixed_point_has_fcms_own_formulas(X):
    fcm = FCM(3, beta=2.0, init=X[:3], tol=1e-12, max_iter=2000).fit(X)
    u = fcm.partition_.masses[:, 1:] ** 2
    np.testing.assert_allclose(fcm.cluster_centers_, (u.T @ X) / u.sum(0)[:, None], rtol=1e-8)
    d = ((X[:, None] - fcm.cluster_centers_) ** 2).sum(-1)
    assert fcm.objective_ == pytest.approx((u * d).sum(), rel=1e-10)


def test_kmeans_is_the_limit_of_beta_to_one(X):
    start = X[:3]
    fcm = FCM(3, beta=1.01, init=start, tol=1e-9, max_iter=1000).fit(X)
    kmeans = KMeans(3, init=start, n_init=1, tol=0, max_iter=1000).fit(X)
    np.testing.assert_array_equal(fcm.labels_, kmeans.labels_)
    np.testing.assert_allclose(fcm.cluster_centers_, kmeans.cluster_centers_, atol=0.02)
    assert fcm.objective_ == pytest.approx(kmeans.inertia_, rel=0.02)
