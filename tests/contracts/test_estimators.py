"""Every estimator that takes vectors behaves as scikit-learn's do."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from softecm import ECM, SoftECM
from softecm.datasets import make_blobs

ESTIMATORS = [SoftECM(), ECM()]


@pytest.mark.filterwarnings("ignore")  # the checks feed nonsense on purpose
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learns_own_checks(estimator, check):
    assert check(estimator) is None


@pytest.fixture(scope="module")
def X():
    return make_blobs(60, between=2, random_state=0).data


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
class TestEveryEstimator:
    def test_works_at_the_end_of_a_pipeline(self, estimator, X):
        pipeline = make_pipeline(StandardScaler(), clone(estimator).set_params(n_clusters=3, random_state=0))
        labels = pipeline.fit(X).predict(X)
        assert sorted(np.unique(labels)) == [0, 1, 2]

    def test_works_in_a_grid_search(self, estimator, X):
        search = GridSearchCV(clone(estimator).set_params(random_state=0, n_init=2), {"n_clusters": [2, 3]}, cv=2)
        assert search.fit(X).best_params_ == {"n_clusters": 3}

    def test_clones_and_pickles(self, estimator, X):
        fitted = clone(estimator).set_params(n_clusters=3, random_state=0).fit(X)
        again = pickle.loads(pickle.dumps(fitted))
        assert np.array_equal(again.predict_partition(X).masses, fitted.partition_.masses)
        assert again.partition_ == fitted.partition_
        assert not hasattr(clone(fitted), "partition_")

    def test_transform_follows_set_output(self, estimator, X):
        fitted = clone(estimator).set_params(n_clusters=3, random_state=0).fit(X).set_output(transform="pandas")
        frame = fitted.transform(X)
        name = type(estimator).__name__.lower()
        assert list(frame.columns) == [f"{name}{k}" for k in range(6)]

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_takes_data_frames(self, estimator, X, library):
        frame = pytest.importorskip(library).DataFrame({"width": X[:, 0], "height": X[:, 1]})
        fitted = clone(estimator).set_params(n_clusters=3, random_state=0).fit(frame)
        plain = clone(estimator).set_params(n_clusters=3, random_state=0).fit(X)
        assert np.array_equal(fitted.partition_.masses, plain.partition_.masses)
        assert list(fitted.feature_names_in_) == ["width", "height"]
        with pytest.raises(ValueError, match="feature names should match"):
            fitted.predict(
                frame.rename(columns={"width": "breadth"})
                if library == "pandas"
                else frame.rename({"width": "breadth"})
            )

    def test_has_a_notebook_representation(self, estimator, X):
        fitted = clone(estimator).set_params(n_clusters=3, random_state=0).fit(X)
        assert "<table" in fitted._repr_mimebundle_()["text/html"]
