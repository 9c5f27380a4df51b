"""A warm start continues from its own result; other columns raise an error."""

import numpy as np
import pytest

from softecm import BCM, CCM, CECM, ECM, FCM, RECM, ECMdd, ECMPlus, SoftECM
from softecm.datasets import make_blobs

X = make_blobs(60, n_clusters=2, n_features=5, distance=9, random_state=0).data
X[30:, :3] += 6.0  # separated in the first columns, too


@pytest.mark.filterwarnings("ignore:prototypes of different clusters", "ignore:.*has not converged")
@pytest.mark.parametrize("kind", [SoftECM, ECM, FCM, CCM, BCM, CECM, ECMPlus])
@pytest.mark.parametrize(("first", "second"), [(3, 5), (5, 3)])
def test_a_warm_start_with_other_columns_is_refused(kind, first, second):
    model = kind(2, n_init=2, warm_start=True, random_state=0).fit(X[:, :first])
    before = model.predict_partition(X[:, :first]).masses
    with pytest.raises(ValueError, match="warm_start must be given objects like those of the last fit"):
        model.fit(X[:, :second])
    assert model.n_features_in_ == first
    np.testing.assert_array_equal(model.predict_partition(X[:, :first]).masses, before)
    with pytest.raises(ValueError, match=f"{second} features"):
        model.predict_partition(X[:, :second])


@pytest.mark.parametrize("kind", [RECM, ECMdd])
def test_a_warm_start_with_other_objects_of_a_matrix_is_refused(kind):
    d = np.sqrt(((X[:, None] - X) ** 2).sum(-1))
    model = kind(2, n_init=2, warm_start=True, random_state=0).fit(d[:40, :40])
    with pytest.raises(ValueError, match="warm_start must be given objects like those of the last fit"):
        model.fit(d)
    assert model.n_features_in_ == 40


@pytest.mark.parametrize("relaxation", ["auto", "gap"])
def test_a_warm_start_goes_on_from_its_own_answer(relaxation):
    model = SoftECM(2, relaxation=relaxation, warm_start=True, random_state=0).fit(X)
    sets, delta, masses = model.focal_sets_, model.delta_, model.partition_.masses
    model.fit(X)
    assert (model.focal_sets_, model.delta_) == (sets, delta)
    assert model.n_iter_ <= 3
    np.testing.assert_allclose(model.partition_.masses, masses, atol=1e-3)
