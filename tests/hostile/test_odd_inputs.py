"""Every form of data, sound or broken, wherever data or something beside them is taken: an answer or a sentence.

In ``make test`` each estimator tries another part of the forms; in ``make test-deep`` all of them.
"""

import inspect

import numpy as np
import pandas as pd
import pytest
import torch

import softecm
from contracts.test_estimators import DATA, KINDS, NAMES, quick
from hostile.odd_inputs import odd_inputs
from hostile.outcomes import ends_well
from problems import DEEP
from softecm import ECM, SoftECM, scores
from softecm.distances import Combined

pytestmark = pytest.mark.filterwarnings("ignore")
MANY = 24


def uses(name, X, make):
    """All that a form can be given to, with what it returns: a partition, or None for what has none."""
    kind, found = getattr(softecm, name), {}

    def model(**parameters):
        return quick(name, n_clusters=2, max_iter=5, **parameters)

    fitted = model().fit(X)
    given = inspect.signature(kind.fit).parameters
    found["fit"] = lambda: model().fit(make()).partition_
    found["predict"] = lambda: fitted.predict_partition(make())
    found["y"] = lambda: model().fit(X, make()).partition_
    for parameter in ("sample_weight", "must_link", "cannot_link"):
        if parameter in given:
            found[parameter] = lambda parameter=parameter: model().fit(X, **{parameter: make()}).partition_
    for parameter in ("init", "focal_sets"):
        if parameter in kind().get_params():
            found[parameter] = lambda parameter=parameter: model(**{parameter: make()}).fit(X).partition_
    if hasattr(kind, "partial_fit"):
        found["partial_fit"] = lambda: model().partial_fit(X).partial_fit(make()).predict_partition(X)
    if hasattr(kind, "transform"):
        found["transform"] = lambda: assert_numbers(fitted.transform(make()))
    return found


def first_explained(model, X):
    try:
        assert str(model.explain_object(X, 0))
    except IndexError as error:  # there is none
        raise ValueError(str(error)) from error


def assert_numbers(values):
    assert np.isfinite(np.asarray(values, dtype=np.float64)).all()


@pytest.mark.parametrize("name", NAMES)
def test_any_form_of_data_is_read_or_refused(name, hostile_case):
    X = DATA[KINDS[name]]
    X = X[:MANY, :MANY] if KINDS[name] == "dissimilarities" else X[:MANY]
    forms = list(odd_inputs(X).items())
    k, every = NAMES.index(name), 1 if DEEP else len(NAMES)
    for form, make in forms[k % every :: every]:
        for use, call in uses(name, X, make).items():
            hostile_case()
            try:
                ends_well(lambda call=call: Sound if (answer := call()) is None else answer)
            except BaseException as error:
                raise AssertionError(f"{name}: {form} as {use}: {error!r}") from error


class Sound:
    """The answer of what has no partition."""

    masses = np.ones((1, 1))


@pytest.mark.parametrize("metric", ["softdtw", "states", "mixed", "hamming", "cosine", "precomputed"])
def test_any_form_of_data_with_any_kind_of_metric(metric, hostile_case):
    forms = list(odd_inputs(DATA["vectors"][:MANY]).items())
    for form, make in forms if DEEP else forms[len(metric) % 6 :: 6]:
        hostile_case()
        try:
            ends_well(
                lambda make=make: quick("SoftECM", n_clusters=2, max_iter=2, metric=metric).fit(make()).partition_
            )
        except BaseException as error:
            raise AssertionError(f"{metric}: {form}: {error!r}") from error


def test_any_form_of_data_is_explained_reported_and_searched_or_refused(tmp_path, hostile_case):
    X = DATA["vectors"][:MANY]
    model = quick("SoftECM", n_clusters=2).fit(X)
    calls = {
        "explain": lambda X: assert_numbers(model.explain(X)),
        "decisions": lambda X: model.decisions(X) and None,
        "score": lambda X: assert_numbers(model.score(X)),
        "report": lambda X: model.report(X, tmp_path / "report.html"),
        "explain_object": lambda X: first_explained(model, X),
        "choose_n_clusters": lambda X: str(softecm.choose_n_clusters(X, n_clusters=[2, 3])) and None,
        "labels of scores": lambda X: assert_numbers(scores.rand_index(X, model.labels_)),
        "masses": lambda X: softecm.CredalPartition(X, model.focal_sets_),
    }
    for form, make in list(odd_inputs(X).items())[:: 1 if DEEP else 8]:
        for use, call in calls.items():
            hostile_case()
            try:
                ends_well(lambda make=make, call=call: call(make()) or Sound)
            except BaseException as error:
                raise AssertionError(f"{form} in {use}: {error!r}") from error


def test_what_is_given_beside_the_data_may_be_a_tensor_or_masked(hostile_case):
    hostile_case()
    X, y = DATA["vectors"], np.where(np.arange(62) < 20, 0, -1)
    y[40] = 1
    fitted = quick("ECM", n_clusters=2).fit(X, y).partition_
    for given in (
        torch.tensor(y),
        torch.tensor(y, dtype=torch.bfloat16, requires_grad=True),
        np.ma.masked_equal(y, -1),
    ):
        assert quick("ECM", n_clusters=2).fit(X, given).partition_ == fitted
    links = [(0, 40), (1, 2)]
    linked = quick("ECM", n_clusters=2).fit(X, must_link=links).partition_
    assert quick("ECM", n_clusters=2).fit(X, must_link=torch.tensor(links)).partition_ == linked
    started = quick("ECM", n_clusters=2, init=X[[0, 40]]).fit(X).partition_
    assert (
        quick("ECM", n_clusters=2, init=np.flip(np.flip(X[[0, 40]].copy(), 1).copy(), 1)).fit(X).partition_ == started
    )
    assert scores.rand_index(torch.tensor(y), y) == 1.0


def test_labels_of_some_objects_seen_in_several_views_count(hostile_case):
    hostile_case()
    X, y = DATA["vectors"], np.full(62, -1)
    y[:2] = 0, 1
    model = SoftECM(2, metric=Combined({"a": "sqeuclidean", "b": "sqeuclidean"}), random_state=0)
    assert len(model.fit({"a": X, "b": X}, y).labels_) == 62
    with pytest.raises(ValueError, match="y must hold one label for each of the 62 objects; got 5"):
        model.fit({"a": X, "b": X}, y[:5])


def test_a_frame_whose_columns_have_no_names_is_reported_by_their_places(tmp_path, hostile_case):
    """Its names are numbers, by which the model does not know its columns."""
    hostile_case()
    frame = pd.DataFrame(DATA["vectors"])
    quick("SoftECM", n_clusters=2).fit(frame).report(frame, tmp_path / "numbered.html")
    model = ECM(2, random_state=0).fit(frame.to_numpy())
    model.report(frame.set_axis(["width", "height"], axis=1), tmp_path / "named.html")
    assert "width" in (tmp_path / "named.html").read_text(encoding="utf-8")


def test_an_id_column_may_be_called_by_a_number(hostile_case):
    hostile_case()
    frame = pd.DataFrame(DATA["vectors"]).assign(**{"other": 1.0})
    frame.columns = [1, 2, 0]
    frame[0] = [f"object {k}" for k in range(62)]
    model = SoftECM(2, random_state=0).fit(frame)
    assert model.decisions(frame).ids[3] == "object 3"
