"""A report on objects with several views: weights, the tables' columns, and the pull of each view."""

import numpy as np
import pandas as pd
import pytest

from softecm import SoftECM, report
from softecm.distances import Combined
from softecm.report.reasons import terms_of

GROUPS = np.repeat([0, 1, 2], 20)


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": 40 + 30 * (GROUPS == 2) + rng.normal(size=60), "sex": np.where(GROUPS == 2, "f", "m")})
    data = {"vitals": rng.normal(size=(60, 6, 1)) + 6.0 * (GROUPS == 0)[:, None, None], "patient": table}
    data["vitals"][4] = np.nan
    metric = Combined({"vitals": "series-euclidean", "patient": "mixed"}, weights=[1, 3])
    return SoftECM(3, metric=metric, random_state=0, n_jobs=1, n_init=3).fit(data), data


def test_a_report_shows_weights_columns_and_what_pulls(fitted):
    model, data = fitted
    page = report.build(model, data)
    assert page.parameters["weight of view patient"] == "75.0%"
    assert [a.name for a in page.attributes] == ["age", "sex"]
    assert len(page.prototypes) == len(model.focal_sets_)
    names = {part.name for told in page.explanations.values() for part in told.parts}
    assert names == {"vitals", "age", "sex"}
    assert "weight of view vitals" in page.html
    assert page.profiles is not None


def test_columns_speak_for_a_table_and_add_up_to_it(fitted):
    model, data = fitted
    keys, values = terms_of(model, data)
    assert keys == ["vitals", "age", "sex"]
    views = model.explain(data)
    np.testing.assert_allclose(values[:, :, 0], views[:, :, 0])
    np.testing.assert_allclose(values[:, :, 1:].sum(-1), views[:, :, 1], rtol=1e-9)
    told = model.explain_object(data, 45)
    assert "age (" in told.sentence
    rows = told.to_frame("pandas").set_index("column")
    assert rows.loc["sex", "value"] == rows.loc["sex", f"at {told.candidates[0]}"] == "f"


def test_a_view_whose_metric_does_not_add_up_speaks_for_itself(fitted):
    _, data = fitted
    numbers = {"patient": data["patient"][["age"]].assign(weight=1.0 + GROUPS), "shape": data["patient"]}
    metric = Combined({"patient": "euclidean", "shape": "mixed"})
    model = SoftECM(3, metric=metric, random_state=0, n_jobs=1, n_init=1).fit(numbers)
    assert terms_of(model, numbers).keys == ["patient", "shape: age", "sex"]


def test_a_report_without_the_objects(fitted):
    model, _ = fitted
    page = report.build(model, None, partition=model.partition_)
    assert page.html.count("weight of view vitals") == 1


def test_a_report_where_each_cluster_has_weights_of_its_own(fitted):
    _, data = fitted
    metric = Combined({"vitals": "series-euclidean", "patient": "mixed"}, weights="product", weights_of="cluster")
    model = SoftECM(3, metric=metric, random_state=0, n_jobs=1, n_init=3).fit(data)
    page = report.build(model, data)
    assert page.parameters["weight of view patient"].endswith("by set")
