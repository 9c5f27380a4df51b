"""Every estimator behaves like scikit-learn's, for any kind of data."""

import pickle
import signal
import sys
import warnings
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import check_sample_weight_equivalence_on_dense_data, parametrize_with_checks

import softecm
from problems import DEEP
from softecm import CECM, CEVCLUS, EVCLUS, RECM, CredalPartition, MECMdd, load_model
from softecm.datasets import make_blobs
from softecm.objective.equations import MassCost

PUBLIC = [getattr(softecm, name) for name in softecm.__all__]
NAMES = sorted(kind.__name__ for kind in PUBLIC if isinstance(kind, type) and issubclass(kind, BaseEstimator))
KINDS = dict.fromkeys(NAMES, "vectors")  # a new estimator takes vectors unless listed here
KINDS |= dict.fromkeys(("RECM", "ECMdd", "MECMdd", "EVCLUS", "CEVCLUS"), "dissimilarities") | {"CatECM": "categories"}

# Their data use the code of ECM, CECM or EVCLUS: scikit-learn's slow checks of these are left to make test-deep; the
# contract of every estimator is tested for all below.
# these take long and are left to make test-deep; what every estimator promises is tried of all below.
LIKE_OTHERS = ("BCM", "CCM", "CEVCLUS", "ECMPlus", "FCM", "TECM")

POINTS = make_blobs(60, between=2, random_state=0).data
WORDS = np.array(["low", "middle", "high", "top"], dtype=object)
DATA: dict[str, Any] = {
    "vectors": POINTS,
    "dissimilarities": pairwise_distances(POINTS),
    "categories": WORDS[np.digitize(np.c_[POINTS, POINTS.sum(1), POINTS[:, 0] - POINTS[:, 1]], [-3, 0, 3])],
}

# Contracts that an estimator violates at present, with reasons. Strict: remove the line with the fix.
ITSELF = "places an object given all the others, itself among them; the fit leaves it out"
BROKEN: dict[tuple[str, str], str] = {
    (name, "test_training_objects_are_predicted_as_they_were_found"): ITSELF for name in ("EVCLUS", "CEVCLUS")
}

# scikit-learn's checks that an estimator does not pass, with reasons.
NOT_SQUARE = "the check hands over a table that is not square, which is refused first"
OF_DISSIMILARITIES = {
    "check_positive_only_tag_during_fit": "says 'must not hold a negative dissimilarity', not scikit-learn's own words",
    "check_estimators_nan_inf": NOT_SQUARE,
    "check_clustering": NOT_SQUARE,
}
NOT_THEIR_WORDS = "refused with a message of our own, not scikit-learn's"
OF_CATEGORIES = {
    "check_sample_weight_equivalence_on_dense_data": "every number is a category of its own: many equal optima",
    "check_clustering": "every number is a category of its own: no groups to find",
    "check_complex_data": NOT_THEIR_WORDS,
    "check_estimators_empty_data_messages": NOT_THEIR_WORDS,
}
# The check asks a clusterer with predict_proba for the tags of a classifier; see tests/algorithms/test_sparse.py.
OF_SPARSE = dict.fromkeys(
    ("check_estimator_sparse_array", "check_estimator_sparse_matrix"), "asks for a classifier's tags"
)
EXPECTED = {"vectors": {}, "dissimilarities": OF_DISSIMILARITIES, "categories": OF_CATEGORIES}


class RECMOfDistances(RECM):
    """RECM with a tag for distances, without which scikit-learn's checks pass similarities."""

    metric = "precomputed"


class EVCLUSOfDistances(EVCLUS):
    """EVCLUS, likewise."""

    metric = "precomputed"


class CEVCLUSOfDistances(CEVCLUS):
    """CEVCLUS, likewise."""

    metric = "precomputed"


class MECMddOfDistances(MECMdd):
    """MECMdd of one view, likewise."""

    metric = "precomputed"


def quick(name: str, **changed: Any) -> Any:
    """An estimator with few starts, to keep the whole list fast."""
    estimator = getattr(softecm, name)()
    own = {"n_init": 2, "hidden": (6,), "random_state": 0} | changed
    return estimator.set_params(**{key: value for key, value in own.items() if key in estimator.get_params()})


def checked(name: str) -> Any:
    """The estimator for scikit-learn's checks, which don't depend on convergence."""
    if name in ("SoftECM", "ECM"):
        return getattr(softecm, name)()  # with its defaults
    kinds = (RECMOfDistances, EVCLUSOfDistances, CEVCLUSOfDistances, MECMddOfDistances)
    of_distances = {kind.__name__.removesuffix("OfDistances"): kind for kind in kinds}
    if name in of_distances:
        return of_distances[name](n_init=2, max_iter=30)
    return quick(name, max_iter=100 if name == "NNEVCLUS" else 30)  # a network learns slowly


def expected_failures(estimator: Any) -> dict[str, str]:
    own = OF_SPARSE if getattr(estimator, "takes_sparse", False) else {}
    return EXPECTED[KINDS[type(estimator).__name__.removesuffix("OfDistances")]] | own


@pytest.mark.filterwarnings("ignore")  # invalid input on purpose
@parametrize_with_checks(
    [checked(name) for name in NAMES if DEEP or name not in LIKE_OTHERS], expected_failed_checks=expected_failures
)
def test_scikit_learns_own_checks(estimator, check):
    assert check(estimator) is None


@pytest.mark.filterwarnings("ignore")
def test_weights_of_cecm_count_like_repeated_objects_with_all_its_starts():
    check_sample_weight_equivalence_on_dense_data("CECM", CECM())


@pytest.mark.parametrize("name", NAMES)
def test_a_parameter_that_is_none_is_told_by_the_one_that_is_meant(name):
    kind = getattr(softecm, name)
    near = next(iter(kind().get_params()))
    with pytest.raises(TypeError, match=rf"^{name} has no parameter '{near}s'\. Did you mean {near}\?$"):
        kind(**{f"{near}s": 3})
    with pytest.raises(TypeError, match=rf"^{name} has no parameter 'zzz'\. It has .*{near}"):
        kind(zzz=3)


@pytest.mark.parametrize("name", NAMES)
def test_labels_of_some_objects_count_or_are_warned_of(name):
    """Complete labels are silently ignored, as by all of scikit-learn's clusterers."""
    y = np.where(np.arange(len(POINTS)) < 40, -1, 0)
    x = DATA[KINDS[name]]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        quick(name).fit(x, np.abs(y))
        assert not [one for one in caught if "ignores y" in str(one.message)]
        quick(name).fit(x, y)
    said = [str(one.message) for one in caught if "ignores y" in str(one.message)]
    assert len(said) == (name not in ("SoftECM", "ECM", "FCM"))
    assert all(sentence.startswith(f"{name} ignores y") for sentence in said)


def test_the_list_is_whole():
    assert len(NAMES) >= 12
    assert set(KINDS) == set(NAMES)


class Interrupt:
    """Counts its calls, and simulates Ctrl-C at one of them."""

    def __init__(self) -> None:
        self.calls, self.at = 0, 0

    def __call__(self, progress: object = None) -> None:
        self.calls += 1
        if self.calls == self.at:
            signal.raise_signal(signal.SIGINT)

    def next(self, at: int) -> None:
        self.calls, self.at = 0, at


def seen(model: Any, X: Any, folder: Path) -> tuple[Any, ...]:
    """Everything observable of a fitted estimator: its attributes, its predictions, its file."""
    model.save(folder / "model.safetensors")
    with safe_open(folder / "model.safetensors", framework="np") as file:
        saved = file.metadata()  # including a checksum of all tensors
    fitted = {key: id(value) for key, value in vars(model).items() if key not in model.get_params()}
    return fitted, model.predict_partition(X).masses.tobytes(), saved


def check_unchanged(
    model: Any, X: Any, interrupt: Interrupt, folder: Path, points: int = 10**6, every: int = 1
) -> None:
    """Interrupt a refit with other objects at many of its calls; nothing may change."""
    other = X[20:50, 20:50] if X.shape[0] == X.shape[1] else X[20:50]
    model.fit(X)  # imports of the first fit
    interrupt.next(0)
    model.fit(other)  # to count the calls
    calls = interrupt.calls
    interrupt.next(0)
    model.fit(X)
    before = seen(model, X, folder)
    assert calls
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for at in range(1, calls + 1, max(every, calls // points)):
            interrupt.next(at)
            with pytest.raises(KeyboardInterrupt):
                model.fit(other)
            assert seen(model, X, folder) == before
    finally:
        signal.signal(signal.SIGINT, handler)


def check_mass_rule(rule: Any) -> None:
    """Weights are the derivatives of the cost; delta^2 is the cost at which an object may equally belong nowhere."""
    distances = torch.rand(5, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64).requires_grad_()
    one = torch.ones(1, dtype=torch.float64)
    cost = MassCost(torch.tensor([[1.0, 1.0, 2.0]], dtype=torch.float64), 1.7 * one, 0.5 * one, None, rule)
    shares = rule.shares(distances, cost)
    torch.testing.assert_close(shares.masses.sum(-1), torch.ones(5, dtype=torch.float64))
    (slope,) = torch.autograd.grad(shares.cost.sum(), distances)
    torch.testing.assert_close(shares.weights, slope)
    prices = torch.cat([0.5 * torch.ones(5, 1, dtype=torch.float64), distances[:, :2]], 1)  # nowhere, two clusters
    assert torch.equal(shares.masses[:, :3].argsort(1), prices.argsort(1, descending=True)), "the nearer has more mass"
    at_delta = rule.shares(torch.cat([0.0 * distances[:, :1] + 0.5, distances[:, 1:]], 1), cost).masses
    torch.testing.assert_close(at_delta[:, 0], at_delta[:, 1])


@pytest.mark.parametrize("name", NAMES)
class TestEveryEstimator:
    @pytest.fixture(autouse=True)
    def known_to_be_broken(self, request, name):
        reason = BROKEN.get((name, request.node.originalname))
        if reason:
            request.applymarker(pytest.mark.xfail(reason=reason, strict=True))

    @pytest.fixture
    def X(self, name):
        return DATA[KINDS[name]]

    @pytest.fixture
    def fitted(self, name, X):
        return quick(name, n_clusters=3).fit(X)

    def test_a_fit_says_what_it_found(self, name, X, fitted):
        assert isinstance(fitted.partition_, CredalPartition)
        assert fitted.partition_.masses.shape == (len(X), len(fitted.focal_sets_) + 1)
        np.testing.assert_allclose(fitted.partition_.masses.sum(1), 1.0)
        np.testing.assert_array_equal(fitted.labels_, fitted.partition_.labels())
        np.testing.assert_array_equal(fitted.outlier_scores_, fitted.partition_.masses[:, 0])
        assert sorted(np.unique(fitted.labels_)) == [0, 1, 2]
        assert fitted.converged_
        assert fitted.objective_ == pytest.approx(fitted.history_[-1])
        assert fitted.n_iter_ >= 1
        assert fitted.n_features_in_ == X.shape[1]

    def test_prototypes_come_with_what_is_known_of_them(self, name, X, fitted):
        if not hasattr(fitted, "transform"):
            pytest.skip("has no prototypes")
        assert len(fitted.prototypes_) == len(fitted.focal_sets_)
        assert len(fitted.cluster_centers_) == 3
        assert fitted.separation_ > 0.0025
        assert not fitted.collapsed_
        if name != "FCM":
            assert fitted.delta_ > 0
        assert fitted.transform(X).shape == (len(X), len(fitted.focal_sets_))

    def test_prediction_uses_the_masses_of_the_fit(self, name, X, fitted):
        """With other masses, the cost of the training objects would not be the objective."""
        if not hasattr(fitted, "score"):
            pytest.skip("has no score")
        if name == "WMVEC":
            pytest.skip("its objective has the entropy of the views' weights besides")
        assert fitted.score(X) * len(X) == pytest.approx(-fitted.objective_, rel=1e-5)

    def test_the_mass_rule_keeps_its_contract(self, name, X, fitted):
        """With the estimator's numbers and with others, which reveal errors hidden by a 1."""
        rule = getattr(getattr(fitted, "model_", None), "rule", None)
        if rule is None:
            pytest.skip("masses follow from no distances to prototypes")
        check_mass_rule(rule)
        check_mass_rule(replace(rule, **{field.name: 0.6 * getattr(rule, field.name) for field in fields(rule)}))

    def test_restarts_are_listed(self, name, X, fitted):
        assert fitted.runs_["best"].sum() == 1

    def test_training_objects_are_predicted_as_they_were_found(self, name, X, fitted):
        np.testing.assert_allclose(fitted.predict_partition(X).masses, fitted.partition_.masses, atol=1e-10)

    def test_labels_and_probabilities_of_objects_agree(self, name, X, fitted):
        probabilities = fitted.predict_proba(X)
        np.testing.assert_allclose(probabilities.sum(1), 1.0)
        np.testing.assert_array_equal(fitted.predict(X), probabilities.argmax(1))

    def test_the_same_seed_gives_the_same_answer(self, name, X, fitted):
        assert quick(name, n_clusters=3).fit(X).partition_ == fitted.partition_

    def test_works_at_the_end_of_a_pipeline(self, name, X):
        first = StandardScaler() if KINDS[name] == "vectors" else FunctionTransformer()
        labels = make_pipeline(first, quick(name, n_clusters=3)).fit(X).predict(X)
        assert sorted(np.unique(labels)) == [0, 1, 2]

    @pytest.mark.filterwarnings("ignore::softecm.UnseenCategoryWarning")  # folds of a small table
    def test_works_in_a_grid_search(self, name, X):
        if not hasattr(quick(name), "score"):
            pytest.skip("has no score")
        search = GridSearchCV(quick(name), {"n_clusters": [2, 3]}, cv=2).fit(X)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        assert search.best_params_ == {"n_clusters": 3}

    def test_clones_and_pickles(self, name, X, fitted):
        again = pickle.loads(pickle.dumps(fitted))
        assert np.array_equal(again.predict_partition(X).masses, fitted.predict_partition(X).masses)
        assert again.partition_ == fitted.partition_
        assert not hasattr(clone(fitted), "partition_")

    def test_is_saved_and_loaded(self, name, X, fitted, tmp_path):
        fitted.save(tmp_path / "model.safetensors")
        again = load_model(tmp_path / "model.safetensors")
        assert np.array_equal(again.predict_partition(X).masses, fitted.predict_partition(X).masses)

    def test_a_callback_ends_a_fit_with_what_there_is(self, name, X):
        if name == "BPEC":
            pytest.skip("finds its clusters at once; only its masses take rounds")
        heard = []

        def stop(progress):
            heard.append(progress)
            return True

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # one iteration does not converge
            model = quick(name, n_clusters=3, callback=stop).fit(X)
        assert [progress.iteration for progress in heard] == [1]
        assert np.isfinite(heard[0].objective).all()
        np.testing.assert_allclose(model.partition_.masses.sum(1), 1.0)
        assert len(model.partition_) == len(X)

    def test_a_refit_interrupted_at_any_callback_changes_nothing(self, name, X, tmp_path):
        if name == "BPEC":
            pytest.skip("has no callback")
        interrupt = Interrupt()
        model = quick(name, n_clusters=3, max_iter=6, callback=interrupt)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # six iterations don't converge
            check_unchanged(model, X, interrupt, tmp_path, every=1 if DEEP else 4)

    @pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
    def test_a_refit_interrupted_anywhere_else_changes_nothing(self, name, X, tmp_path):
        """In the validation of the data, between stages, in the last lines: at calls of our functions, chosen evenly.

        A call may be the end of a generator, where Python prints and ignores the interrupt: the fit must still end.
        """
        interrupt = Interrupt()
        model = quick(name, n_clusters=3, max_iter=6)

        def profile(frame, event, argument):
            if event == "call" and frame.f_globals.get("__name__", "").startswith("softecm"):
                interrupt()

        fit = model.fit

        def profiled(rows):
            sys.setprofile(profile)
            try:
                fit(rows)
            finally:
                sys.setprofile(None)

        model.fit = profiled
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check_unchanged(model, X, interrupt, tmp_path, points=60 if DEEP else 5)

    def test_before_a_fit_every_method_says_so(self, name, X):
        arguments = {"explain_object": (X, 0), "report": (X, "r.html"), "save": ("m",), "rename": (["a", "b"],)}
        arguments["decisions"] = ()
        methods = ("predict", "predict_proba", "predict_partition", "transform", "score", "explain", "repartition")
        for method in (*methods, *arguments):
            if hasattr(getattr(softecm, name), method):
                with pytest.raises(NotFittedError, match="not fitted yet"):
                    getattr(quick(name), method)(*arguments.get(method, (X,)))

    def test_other_parameters_change_nothing_before_the_next_fit(self, name, X, fitted, tmp_path):
        before = fitted.predict_partition(X).masses
        later = {
            "metric": "precomputed" if name == "EKNNClus" else "softdtw",
            "n_clusters": 5,
            "beta": 3.0,
            "max_cardinality": 1,
            "dtype": "float32",
        }
        fitted.set_params(**{key: value for key, value in later.items() if key in fitted.get_params()})
        fitted.report(X, tmp_path / "report.html")
        fitted.save(tmp_path / "model")
        np.testing.assert_array_equal(fitted.predict_partition(X).masses, before)
        np.testing.assert_array_equal(load_model(tmp_path / "model").predict_partition(X).masses, before)

    def test_a_refused_refit_changes_nothing(self, name, X, fitted, tmp_path):
        before = seen(fitted, X, tmp_path)
        for bad in (X[:1, :1], X[:, :0], "nothing", [[1.0, 2.0], [3.0]]):
            with pytest.raises((ValueError, TypeError)):
                fitted.fit(bad)
            assert seen(fitted, X, tmp_path) == before

    def test_transform_follows_set_output(self, name, X, fitted):
        if not hasattr(fitted, "transform"):
            pytest.skip("has no prototypes")
        frame = fitted.set_output(transform="pandas").transform(X)
        assert list(frame.columns) == [f"{name.lower()}{k}" for k in range(len(fitted.focal_sets_))]

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_takes_data_frames(self, name, X, fitted, library):
        columns = {f"column {k}": X[:, k] for k in range(X.shape[1])}
        frame = pytest.importorskip(library).DataFrame(columns)
        from_frame = quick(name, n_clusters=3).fit(frame)
        assert np.array_equal(from_frame.partition_.masses, fitted.partition_.masses)
        if KINDS[name] != "dissimilarities":
            assert list(from_frame.feature_names_in_) == list(columns)
            renamed = {name: f"another {name}" for name in columns}  # a table may lack some columns, not most
            with pytest.raises(
                ValueError, match=r"feature names should match|must have at least half of the \d columns"
            ):
                from_frame.predict(frame.rename(columns=renamed) if library == "pandas" else frame.rename(renamed))

    def test_has_a_notebook_representation(self, name, X, fitted):
        assert "<table" in fitted._repr_mimebundle_()["text/html"]
