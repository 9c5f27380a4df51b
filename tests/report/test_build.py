"""Reports from Python: every estimator, every kind of data."""

import base64
import json
import re
import warnings
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import softecm
from softecm import BPEC, ECM, EVCLUS, RECM, CatECM, CredalPartition, ECMdd, SoftECM, report
from softecm.objective.equations import update_masses

RNG = np.random.default_rng(0)
POINTS = np.vstack([RNG.normal(0, 0.5, (12, 3)), RNG.normal(5, 0.5, (12, 3)), [[2.5, 2.5, 2.5], [30.0, -30.0, 0.0]]])
NAMES = [f"thing {i}" for i in range(len(POINTS))]
APART = np.sqrt(((POINTS[:, None] - POINTS) ** 2).sum(-1))
WORDS = [[["red", "blue"][i % 2], ["round", "long"][i % 2] if i % 5 else "oval"] for i in range(len(POINTS))]
WAVES = [np.sin(np.linspace(0, 6, 10 + i % 3) + 3 * (i % 2) + RNG.normal(0, 0.1))[:, None] for i in range(10)]
ALL = {
    "SoftECM": (SoftECM(2, n_init=2, random_state=0), POINTS),
    "ECM": (softecm.ECM(2, n_init=2, random_state=0), POINTS),
    "FCM": (softecm.FCM(2, random_state=0), POINTS),
    "RECM": (RECM(2, random_state=0), APART),
    "ECMdd": (ECMdd(2, random_state=0), APART),
    "MECMdd": (softecm.MECMdd(2, random_state=0), APART),
    "CatECM": (CatECM(2, random_state=0), WORDS),
    "CECM": (softecm.CECM(2, random_state=0), POINTS),
    "ECMPlus": (softecm.ECMPlus(2, random_state=0), POINTS),
    "TECM": (softecm.TECM(2, source=POINTS[:2], random_state=0), POINTS),
    "WMVEC": (softecm.WMVEC(2, features=True, random_state=0), POINTS),
    "CCM": (softecm.CCM(2, random_state=0), POINTS),
    "BCM": (softecm.BCM(2, random_state=0), POINTS),
    "EVCLUS": (EVCLUS(2, random_state=0), APART),
    "CEVCLUS": (softecm.CEVCLUS(2, random_state=0), APART),
    "BPEC": (BPEC(2), POINTS),
    "EKNNClus": (softecm.EKNNClus(random_state=0), POINTS),
    "EGMM": (softecm.EGMM(2, random_state=0), POINTS),
    "NNEVCLUS": (softecm.NNEVCLUS(2, n_init=1, max_iter=50, random_state=0), POINTS),
}
for name in set(softecm.algorithms.__all__) - set(ALL):  # a new one takes vectors unless listed here
    ALL[name] = getattr(softecm, name)(2, random_state=0), POINTS
NO_PROTOTYPES = ("EVCLUS", "CEVCLUS", "MECMdd", "EKNNClus", "EGMM", "NNEVCLUS")
OTHERS = {
    "SoftECM on dissimilarities": (SoftECM(2, metric="precomputed", random_state=0), APART),
    "ECMdd on vectors": (ECMdd(2, metric="sqeuclidean", random_state=0), POINTS),
    "SoftECM on series": (SoftECM(2, n_init=1, max_iter=20, random_state=0), WAVES),
}
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class Strict(HTMLParser):
    """Checks that every element is closed, in order; collects the visible text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style", "code"):  # None is valid in Python code
            self.text.append(data)


def fitted(model: Any, X: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X)


def facts(page: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(page.split('id="data">')[1].split("</script>")[0])
    return found


def check_page(page: str, partition: CredalPartition) -> None:
    text = " ".join(Strict(page).text)
    for name in partition.focal_sets.group_names:
        assert name in text
    assert not re.search(r"\bnan\b|\bNaN\b|\binf\b|\bNone\b(?! lies| belongs|\.)|object at 0x", text)
    assert facts(page)["labels"] == list(partition.focal_sets.in_words())
    assert not re.search("[∅∪Ωω]", page)  # readable for everybody, including the output of its script


@pytest.mark.parametrize("name", [*ALL, *OTHERS])
def test_every_estimator_has_a_report(name: str, tmp_path: Path) -> None:
    model, X = {**ALL, **OTHERS}[name]
    names = NAMES[: len(X)]
    fitted(model, X)
    model.report(X, tmp_path / "report.html", names=names, labels=["a", "b"] * (len(X) // 2))
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    check_page(page, model.partition_)
    assert type(model).__name__ in page
    assert "Compared with the given labels" in page
    assert facts(page)["ids"] == names
    assert facts(page)["stars"] is None or len(facts(page)["stars"]) == len(model.focal_sets_)


@pytest.mark.parametrize("name", [*ALL, *OTHERS])
def test_sliders_are_where_masses_follow_from_distances(name: str) -> None:
    model, X = {**ALL, **OTHERS}[name]
    page = report.build(fitted(model, X), X)
    eq_7 = (
        name not in NO_PROTOTYPES and name != "CECM" and model.model_.rule.is_power
    )  # CECM's beta is 2, and it has links
    assert (page.live is not None) == eq_7
    assert ('id="try"' in page.html) == (page.live is not None)
    if page.live is not None:
        prices = {"alpha": 0.4, "beta": 1.9, "delta": None if page.live.delta is None else 2.0 * page.live.delta}
        again = update_masses(torch.from_numpy(page.live.distances), page.partition.focal_sets, **prices).numpy()
        assert np.abs(again - model.repartition(X, **prices).masses).max() < 1e-9
        drawn = facts(page.html)["live"]
        stored = np.frombuffer(base64.b64decode(drawn["distances"]), "<f4").reshape(page.live.distances.shape)
        np.testing.assert_allclose(stored * drawn["unit"], page.live.distances, rtol=1e-6, atol=1e-30)


def test_links_and_hidden_values_leave_no_sliders() -> None:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 1, (15, 2)), rng.normal(3, 1, (15, 2))])
    linked = SoftECM(2, metric="sqeuclidean", n_init=1, random_state=0).fit(X, must_link=[(0, 29)])
    assert report.build(linked, X, partition=linked.partition_).live is None
    plainly = SoftECM(2, metric="sqeuclidean", n_init=1, random_state=0).fit(X)
    assert report.build(plainly, X).live is not None
    hidden = report.build(plainly, X, values=False)
    assert hidden.live is None
    assert facts(hidden.html)["live"] is None
    calibrated = plainly.partition_.discount(0.2)
    assert report.build(plainly, X, partition=calibrated).live is None


def test_repartition_checks_what_it_is_given() -> None:
    X = [[0.0], [1.0], [9.0], [10.0]]
    model = SoftECM(2, metric="sqeuclidean", n_init=1, random_state=0).fit(X)
    assert np.allclose(model.repartition(X).masses, model.partition_.masses, atol=1e-6)
    assert model.repartition(X, delta=None).masses[:, 0].max() == 0
    assert model.repartition(X, delta=1e-6).labels(outliers=-1).tolist() == [-1] * 4
    for wrong in ({"alpha": -1}, {"beta": 1.0}, {"delta": 0}, {"delta": "auto"}, {"beta": "2"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            model.repartition(X, **wrong)


@pytest.mark.parametrize("name", [name for name in ALL if name not in NO_PROTOTYPES])
def test_estimators_with_prototypes_explain(name: str) -> None:
    model, X = ALL[name]
    page = report.build(fitted(model, X), X)
    assert page.explanations
    adds_up = not hasattr(model, "metric") or name in ("SoftECM", "CECM", "BPEC")
    assert any(e.parts for e in page.explanations.values()) == (adds_up and name != "RECM")


def test_evclus_shows_what_it_has() -> None:
    page = report.build(fitted(EVCLUS(2, random_state=0), APART), APART)
    assert page.prototype_points is None
    assert page.distances is None
    assert page.explanations == {}
    assert "what pulls it" not in page.html.split("<script")[0]
    # squared dissimilarities of points preserve positions: both groups are separated on the map
    assert abs(page.points[:12].mean(0) - page.points[12:24].mean(0)).max() > 5


@pytest.mark.parametrize("name", ["ECMPlus", "CCM", "BCM"])
def test_metrics_of_sets_are_not_mistaken_for_metrics_of_objects(name: str) -> None:
    model, X = ALL[name]
    page = report.build(fitted(model, X), X)
    assert "Each set has its own distance" in page.map_note
    assert np.isfinite(page.points).all()
    assert "set-quadratic" not in page.html


def test_ecmdd_names_its_medoids_and_measures_with_its_own_distance() -> None:
    model = fitted(ECMdd(2, random_state=0), APART)
    page = report.build(model, APART, names=NAMES)
    assert list(page.medoids) == [NAMES[i] for i in model.prototypes_]
    assert page.medoids[0] in " ".join(Strict(page.html).text)
    same = report.build(fitted(ECMdd(2, metric="sqeuclidean", random_state=0), POINTS), POINTS)
    assert "Each set has its own distance" not in same.map_note


FRAMES = ["numpy", "pandas", "polars", "pyarrow", "lists"]


def table(kind: str, columns: dict[str, Any]) -> Any:
    if kind == "numpy":
        return np.column_stack(list(columns.values()))
    if kind == "lists":
        return np.column_stack(list(columns.values())).tolist()
    if kind == "pyarrow":
        return pytest.importorskip("pyarrow").table(columns)
    return pytest.importorskip(kind).DataFrame(columns)


@pytest.mark.parametrize("kind", FRAMES)
def test_numbers_come_in_any_form(kind: str) -> None:
    X = table(kind, {"size": POINTS[:, 0], "weight": POINTS[:, 1]})
    page = report.build(fitted(SoftECM(2, n_init=2, random_state=0), X), X)
    check_page(page.html, page.partition)
    named = ("size", "weight") if kind in ("pandas", "polars", "pyarrow") else ("x0", "x1")
    assert page.axis_names == named
    np.testing.assert_array_equal(page.points, POINTS[:, :2])
    assert tuple(a.name for a in page.attributes) == named


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_mixed_frames_with_gaps_are_read(kind: str) -> None:
    sizes = [None if i == 3 else float(v) for i, v in enumerate(POINTS[:, 0])]
    colours = [None if i == 5 else ("red" if i < 12 else "blue") for i in range(len(POINTS))]
    X = table(kind, {"size": sizes, "colour": colours, "sold": [i % 2 == 0 for i in range(len(POINTS))]})
    page = report.build(fitted(SoftECM(2, metric="mixed", n_init=2, random_state=0), X), X)
    check_page(page.html, page.partition)
    assert [a.kind for a in page.attributes] == ["number", "category", "category"]
    assert page.attributes[1].values[5] is None
    told = {part.name: part.value for part in page.explanations[3].parts} if 3 in page.explanations else {}
    assert told.get("size", "missing") == "missing"


@pytest.mark.parametrize("form", ["list", "array", "aeon"])
def test_series_come_as_lists_and_arrays(form: str) -> None:
    from softecm.distances import SoftDTW

    cut = np.stack([one[:10] for one in WAVES])
    X = {"list": [one[:, 0] for one in WAVES], "array": cut, "aeon": cut.transpose(0, 2, 1)}[form]
    metric: Any = SoftDTW(layout="aeon") if form == "aeon" else "softdtw"
    page = report.build(fitted(SoftECM(2, metric=metric, n_init=1, max_iter=20, random_state=0), X), X)
    check_page(page.html, page.partition)
    assert page.noun == "series"
    assert page.series is not None
    assert page.prototype_series is not None
    assert {one.shape[1] for one in [*page.series, *page.prototype_series]} == {1}


def test_values_of_standardized_series_are_in_standard_deviations() -> None:
    steps = np.where(np.arange(40) < 20, 1.0, -1.0)
    X = RNG.normal(0, 0.1, (20, 40, 1)) + np.where(np.arange(20) % 2, 5.0, -5.0)[:, None, None] * steps[:, None]
    model = fitted(SoftECM(2, n_init=1, random_state=0), X)
    told = report.build(model, X).facts["group_sentences"]["ω1"]
    assert re.search(r"steps 1–5 = -?1\.0\d? SD \(others -?(1\.0\d?|0\.99) SD\)", told), told
    raw = report.build(fitted(SoftECM(2, metric="series-euclidean", n_init=1, random_state=0), X), X)
    assert "SD" not in raw.facts["group_sentences"]["ω1"]


def test_a_pandas_index_names_the_objects_and_a_count_does_not() -> None:
    model = fitted(ECM(2, random_state=0), POINTS)
    plain = pd.DataFrame(POINTS)
    assert report.build(model, plain.to_numpy()).ids[0] == "1"
    frame = pd.DataFrame(POINTS, columns=list("abc"))
    model = fitted(ECM(2, random_state=0), frame)
    assert report.build(model, frame).ids[0] == "1"
    frame.index = pd.Index(NAMES)
    assert report.build(model, frame).ids == NAMES


def test_other_objects_get_their_own_masses() -> None:
    model = fitted(ECM(2, random_state=0), POINTS)
    some = POINTS[::2] + 0.01
    with pytest.raises(ValueError, match=f"X has {len(some)} objects and the fit had {len(POINTS)}.*partition=model"):
        report.build(model, some)
    page = report.build(model, some, partition=model.predict_partition(some))
    np.testing.assert_array_equal(page.partition.masses, model.predict_partition(some).masses)
    with pytest.raises(ValueError, match="partition=model"):
        report.build(model, POINTS[::-1])
    predicted = model.predict_partition(POINTS[::-1])
    assert report.build(model, POINTS[::-1], partition=predicted).partition is predicted


@pytest.mark.parametrize("name", ["RECM", "ECMdd", "EVCLUS"])
def test_other_objects_by_dissimilarities_are_placed_by_masses(name: str) -> None:
    model, X = ALL[name]
    page = report.build(fitted(model, X), X[:7], partition=model.predict_partition(X[:7]))
    assert "estimated from the masses" in page.map_note
    check_page(page.html, page.partition)


@pytest.mark.parametrize("name", ["SoftECM", "EVCLUS", "ECMdd", "CatECM", "BCM", "SoftECM on series"])
def test_a_partition_is_drawn_without_its_objects(name: str) -> None:
    model, X = {**ALL, **OTHERS}[name]
    page = report.build(fitted(model, X), None, partition=model.partition_)
    assert "not available" in page.map_note
    check_page(page.html, page.partition)


def test_what_does_not_fit_is_named() -> None:
    model = fitted(ECM(2, random_state=0), POINTS)
    for more, part in (
        ({"names": ["a"]}, "names must have one entry"),
        ({"labels": ["a"]}, "labels must have one entry"),
        ({"feature_names": ["a"]}, "feature_names must have one name per column"),
    ):
        with pytest.raises(ValueError, match=part):
            report.build(model, POINTS, **more)
    with pytest.raises(ValueError, match="partition must be given"):
        report.build(model, None)


def test_what_went_wrong_is_said() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SoftECM(2, n_init=1, max_iter=2, tol=0.0, random_state=0).fit(POINTS)
    assert "has not converged" in report.build(model, POINTS).warnings[0]


def test_the_code_does_the_fit_again() -> None:
    model = fitted(ECM(2, delta=5.0, random_state=0), POINTS)
    lines = report.build(model, POINTS).code.splitlines()
    space: dict[str, Any] = {"X": POINTS}
    exec("\n".join(lines[:-1]), space)
    np.testing.assert_array_equal(space["model"].partition_.masses, model.partition_.masses)


def test_the_code_imports_the_metric_it_names() -> None:
    from softecm.distances import Manhattan

    code = report.build(fitted(SoftECM(2, metric=Manhattan(), n_init=1, random_state=0), POINTS), POINTS).code
    space: dict[str, Any] = {"X": POINTS}
    exec("\n".join(code.splitlines()[:-2]), space)
    assert "from softecm.distances import Manhattan" in code


def test_what_was_found_for_auto_is_told() -> None:
    model = fitted(EVCLUS(2, random_state=0), APART)
    assert report.build(model, APART).parameters["d0"] == f"auto: {model.d0_:.4g}"


def test_a_notebook_shows_the_page_in_a_frame() -> None:
    page = report.build(fitted(ECM(2, random_state=0), POINTS), POINTS, title='a "b" <c>')
    frame = page._repr_html_()
    assert frame.startswith("<iframe srcdoc=")
    assert "<script" not in frame


def test_without_a_title_a_report_is_called_after_its_objects() -> None:
    some = POINTS[:24]
    model = ECM(2, random_state=0).fit(some)
    assert report.build(model, some).title == "Groups of 24 objects"
    assert report.build(model, some[:1], partition=model.partition_[:1]).title == "Groups of 1 object"
    assert report.build(model, some, title="things").title == "things"
    waves, X = OTHERS["SoftECM on series"]
    assert report.build(waves.fit(X), X).title == "Groups of 10 series"


@pytest.mark.parametrize("metric", ["auto", "sqeuclidean"])
def test_far_values_of_the_fit_are_remarked_on_as_on_the_command_line(metric: str) -> None:
    rng, kind = np.random.default_rng(0), np.arange(120) % 3
    X = pd.DataFrame({"age": rng.normal([20, 40, 60], 3, (40, 3)).ravel(), "fee": rng.normal(900 * kind, 90)})
    X.index = [f"M-{i}" for i in range(120)]
    clean = SoftECM(3, metric=metric, random_state=0).fit(X)
    assert not report.build(clean, X).warnings
    coded, far = X.copy(), X.copy()
    coded.iloc[[5, 9, 70, 80], 0], far.iloc[5, 1] = -999.0, 90_000.0
    with pytest.warns(softecm.ReadingWarning) if metric == "auto" else warnings.catch_warnings():
        model = SoftECM(3, metric=metric, random_state=0).fit(coded)
    page = report.build(model, coded)
    (remark,) = page.warnings
    assert remark.startswith("-999 appears in 4 cells of column 'age'")
    assert "-999" not in str(report.build(model, coded, values=False).warnings)
    assert not report.build(model, coded, partition=model.predict_partition(coded)).warnings  # of other objects
    if metric == "auto":
        with pytest.warns(softecm.ReadingWarning):
            model = SoftECM(3, random_state=0).fit(far)
        (remark,) = report.build(model, far).warnings
        assert remark.startswith("Object M-5 has 90\u202f000 in column 'fee'")


@pytest.mark.filterwarnings("ignore::softecm.NumberOfGroupsWarning")
def test_a_number_of_groups_that_looks_wrong_is_shown() -> None:
    X = np.concatenate([RNG.normal(at, 0.5, (40, 2)) for at in (0.0, 8.0)])
    assert not report.build(SoftECM(2, random_state=0).fit(X), X).warnings
    (doubt,) = report.build(SoftECM(3, random_state=0).fit(X), X).warnings
    assert "do not stand apart: perhaps 2 groups" in doubt
