"""Explanations of single objects: a table, a sentence, names."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from softecm import ECM, CredalPartition, ECMdd, FocalSets, SoftECM, calibrate
from softecm.belief.assignments import Decision
from softecm.datasets import make_blobs
from softecm.explain import profile
from softecm.report import build, compare
from softecm.report.page import payload
from softecm.report.reasons import Explanation, Part
from softecm.report.words import sentence

MADE = make_blobs(90, between=6, outliers=3, random_state=0).data
PEOPLE = pd.DataFrame(MADE.round(2), columns=["height", "weight"])
PEOPLE["name"] = [f"p{i}" for i in range(len(PEOPLE))]


@pytest.fixture(scope="module")
def model() -> SoftECM:
    return SoftECM(3, random_state=0).fit(PEOPLE)


def test_pulls_add_up_to_differences_of_distances(model: SoftECM) -> None:
    found = model.explain_object(PEOPLE, 3)
    frame = found.to_frame("pandas")
    assert set(frame["column"]) == {"height", "weight"} == set(model.attributes_)
    first, second = (model.focal_sets_.cluster_names.index(name) for name in found.candidates)
    d = model.transform(PEOPLE)[3]
    np.testing.assert_allclose(frame[f"to {found.candidates[0]}"].sum(), d[second] - d[first])
    np.testing.assert_allclose(frame.filter(like="to ").sum(axis=1), 0.0, atol=1e-9)
    assert frame.set_index("column").loc["height", "value"] == f"{PEOPLE['height'][3]:.2f}"


@pytest.mark.parametrize(
    ("i", "told"),
    [
        (0, r"^p0 clearly belongs to group \d \(belief 1\.00\): .*height \(.*pull it to group \d\.$"),
        (
            91,
            r"^p91 lies between groups 2 and 3 \(belief .*it is closest to the prototype between groups 2 and 3; "
            r".*pulls? it to group ",
        ),
        (
            97,
            r"^p97 belongs to no group \(mass .*; the closest is group \d: it is far from group \d, mostly in .*%\)\.$",
        ),
        (-1, r"^p98 belongs to no group"),
    ],
)
def test_a_sentence_says_where_and_why(model: SoftECM, i: int, told: str) -> None:

    assert re.search(told, str(model.explain_object(PEOPLE, i)))


def test_what_makes_an_outlier_is_not_called_noise() -> None:
    """A column without information about the groups may be the reason for belonging to none."""
    rng, y = np.random.default_rng(3), np.repeat([0, 1, 2], 60)
    X = np.c_[np.array([0, 8, 16])[y] + rng.normal(size=180), rng.normal(size=180)]
    X[0] = [0.0, 40.0]
    model = SoftECM(3, metric="sqeuclidean", random_state=0).fit(X)
    found = model.explain_object(X, 0)
    assert "mostly in x1 (100%)" in str(found)
    assert not any(pull.noise for pull in found.pulls)
    assert [pull.column for pull in model.explain_object(X, 1).pulls if pull.noise] == ["x1"]
    assert "x1 tells these two groups apart no better than chance." in str(model.explain_object(X, 1))


def test_an_outlier_in_one_column_looks_like_a_group_apart_from_it() -> None:
    rng, y = np.random.default_rng(0), np.repeat([0, 1], 60)
    X = pd.DataFrame(np.array([0, 9])[y][:, None] + rng.normal(size=(120, 3)), columns=["age", "visits", "spend"])
    X.loc[0, "spend"] = 90.0  # nearer to group 2 in this column, a member of group 1 in the others
    X.loc[1, ["visits", "spend"]] = 90.0
    model = SoftECM(2, metric="sqeuclidean", random_state=0).fit(X)
    own, other = (f"group {model.labels_[i] + 1}" for i in (2, 100))
    text = str(model.explain_object(X, 0))
    assert f"the closest is {other}: it is far from {other}, mostly in spend (" in text
    assert text.endswith(f"%). Apart from spend, it looks like {own}.")
    assert "Apart" not in str(model.explain_object(X, 1))


def test_an_outlier_is_compared_with_the_group_it_looks_like() -> None:
    rng, y = np.random.default_rng(0), np.repeat([0, 1, 2], 60)
    X = pd.DataFrame(np.array([0, 9, 18])[y][:, None] + rng.normal(size=(180, 3)), columns=["age", "visits", "spend"])
    X.loc[0, "spend"] = 120.0  # nearest to group 3, then group 2; a member of group 1 in the others
    found = SoftECM(3, metric="sqeuclidean", random_state=0).fit(X).explain_object(X, 0)
    assert "the closest is group 3" in str(found)
    assert "Apart from spend, it looks like group 1." in str(found)
    assert found.candidates == ("ω3", "ω1")


def test_a_sentence_about_an_object_between_groups_names_both_sides() -> None:
    said = Decision("between", "Ω", 1.0)
    parts = Part("age", "40", "", "", 2.0), Part("spend", "7", "", "", 1.0), Part("visits", "5", "", "", 0.1)
    why = Explanation(1, 2, 5.0, 8.0, parts, distance_set=0.5, to_set=("visits: 5", "age: 40"))
    assert sentence("Ann", said, why, FocalSets.full(2)).endswith(
        "; age (40) and spend (7) pull it to group 1, but visits (5) keeps it midway to group 2."
    )


def test_three_candidates_share_the_pull():
    X = np.array([[0.0, 0], [0, 1], [9, 0], [9, 1], [4, 9], [5, 9], [4.5, 3]])
    model = SoftECM(3, focal_sets="full", random_state=0).fit(np.repeat(X, 3, 0))
    found = model.explain_object(X, 6)
    assert len(found.candidates) == len(found.pulls[0].towards) == 3
    np.testing.assert_allclose(sum(found.pulls[0].towards), 0.0, atol=1e-9)


def test_series_are_told_by_stretches():
    rng = np.random.default_rng(0)
    series = [rng.normal(size=(20, 1)) + 8 * (k % 2) * (np.arange(20) > 12)[:, None] for k in range(12)]
    found = SoftECM(2, metric="series-euclidean", random_state=0).fit(np.array(series)).explain_object(series, 3)
    assert str(found).startswith("Series 4 (X[3]) clearly belongs to ")
    frame = found.to_frame("pandas")
    assert frame["column"].str.match(r"steps \d+").all()
    assert abs(frame.iloc[-1, 2]) > 10 * abs(frame.iloc[0, 2])


def test_where_a_metric_does_not_add_up_there_is_the_distance():
    D = np.abs(MADE[:, :1] - MADE[:, 0])
    found = SoftECM(2, metric="precomputed", random_state=0).fit(D).explain_object(D, 0)
    assert [one.column for one in found.pulls] == ["distance"]
    assert found.pulls[0].towards[0] > 0


def test_sparse_rows_are_explained():
    X = sp.csr_matrix(np.kron(np.eye(2), np.ones((6, 4))))
    found = SoftECM(2, random_state=0).fit(X).explain_object(X, 0)
    assert len(found.pulls) == 8
    assert "pull it to" in str(found)


@pytest.mark.parametrize("i", [99, -100, 1.5, "Ann", True])
def test_an_object_that_is_not_there_is_refused(model: SoftECM, i: object) -> None:
    with pytest.raises(IndexError, match="i must be the number of one of the 99 objects of X, counted from 0"):
        model.explain_object(PEOPLE, i)  # type: ignore[arg-type]


def test_the_panel_says_the_same(model: SoftECM) -> None:
    page = build(model, PEOPLE)
    assert page.ids[97] == "p97"
    assert payload(page)["explained"][97]["say"] == str(model.explain_object(PEOPLE, 97))  # type: ignore[index]


def test_a_report_without_values_has_none_in_its_sentences(model: SoftECM) -> None:
    said = [e["say"] for e in payload(build(model, PEOPLE, values=False))["explained"].values()]  # type: ignore[attr-defined]
    assert all("p" not in one.split(" ")[0] for one in said)
    assert not any(f"{cell:.2f}" in one for cell in PEOPLE["height"] for one in said)


def test_objects_go_by_their_names(model: SoftECM) -> None:
    said = model.decisions()
    assert said["p97"] == said[97]
    assert said[90:]["p97"] == said[97]
    assert said.to_frame("pandas")["id"].tolist() == PEOPLE["name"].tolist()
    assert model.decisions(PEOPLE[5:9])["p6"].word == said[6].word
    with pytest.raises(KeyError, match="no object is called 'Ann'"):
        said["Ann"]
    with pytest.raises(KeyError, match="these objects have no names"):
        SoftECM(2, random_state=0).fit(MADE).decisions()["Ann"]


def test_an_object_is_asked_for_by_its_name(model: SoftECM) -> None:
    assert str(model.explain_object(PEOPLE, "p97")) == str(model.explain_object(PEOPLE, 97))
    twice = PEOPLE[["height", "weight"]].set_axis([f"q{i // 2}" for i in range(99)])
    with pytest.raises(IndexError, match="i must name one object; got 'q3', the name of 2"):
        SoftECM(3, n_init=1, random_state=0).fit(twice).explain_object(twice, "q3")


def test_a_pandas_index_names_objects():
    frame = PEOPLE[["height", "weight"]].set_axis([f"q{i // 2}" for i in range(99)])
    said = SoftECM(3, random_state=0).fit(frame).decisions()
    assert said["q49"].word == "nowhere"
    with pytest.raises(KeyError, match="2 objects are called 'q3'"):
        said["q3"]


def told(masses: list[float], pulls: list[float], far: float, distances: tuple[float, float]) -> str:
    """The sentence of an object between two clusters, from its masses (∅, ω1, ω2, Ω) and the pulls of its columns."""
    partition = CredalPartition([masses], FocalSets.full(2))
    first = 1 + int(partition.labels()[0])
    parts = tuple(Part(f"c{j}", "1", "", "", pull) for j, pull in enumerate(pulls))
    why = Explanation(first, 3 - first, *distances, parts, far=(("c0", far),) if far else ())
    return sentence("Ann", partition.decisions()[0], why, partition.focal_sets)


def test_no_sentence_contradicts_itself(rng: np.random.Generator) -> None:
    for _ in range(300):
        far = float(rng.random()) * (rng.random() < 0.5)
        masses = rng.dirichlet([0.4] * 4).tolist()
        said = told(masses, rng.normal(size=3).tolist(), far, tuple(rng.random(2)))
        (to,) = re.findall(r"belongs to (group \d)|$", said)[:1]
        if "nowhere" not in said and "no group (mass" not in said:
            assert "far from" not in said
        if to:
            assert f"pulls it to {to}" in said or f"pull it to {to}" in said or "but " in said, said


def test_what_an_object_rather_belongs_to_it_is_not_far_from():
    said = told([0.35, 0.45, 0.2, 0.0], [2.0, -0.1, 0.0], 0.62, (1.0, 3.0))
    assert said == (
        "Ann rather belongs to group 1 (belief 0.69): c0 (1) pulls it to group 1. It may belong to no group: most of "
        "its distance comes from c0 (62%)."
    )
    alone = told([0.0, 0.6, 0.4, 0.0], [-2.0, 0.1, 0.0], 0.0, (3.0, 1.0))
    assert alone.endswith("c0 (1) pulls it to group 2, but sets that contain group 1 have more of its mass.")


def test_sentences_of_random_tables_agree_with_themselves(rng: np.random.Generator) -> None:
    frame = pd.DataFrame(rng.standard_t(2, size=(80, 3)), columns=["Kanal", "b", "c"])
    fitted = SoftECM(2, n_init=2, random_state=0).fit(frame)
    near = fitted.transform(frame)[:, :2].argmin(1)
    words = set()
    for i in range(80):
        found = fitted.explain_object(frame, i)
        words.add(found.decision.word)
        if found.decision.word == "nowhere":
            assert f"the closest is {('group 1', 'group 2')[near[i]]}" in str(found)
        else:
            assert "far from" not in str(found)
        assert str(found).startswith(f"Object {i + 1} (X[{i}]) ")
    assert {"nowhere", "clearly"} <= words


def test_the_panel_names_the_nearest_objects_of_a_matrix_as_the_explanation_does() -> None:
    apart = np.linalg.norm(MADE[:30, None] - MADE[None, :30], axis=2)
    model = ECMdd(2, random_state=0).fit(apart)
    said = payload(build(model, apart))["explained"]
    for i, one in said.items():  # type: ignore[attr-defined]
        near = model.explain_object(apart, i)
        expected = sorted((d, j) for j, d in enumerate(apart[i]) if j != i)[:3]
        assert [name for name, _ in near.neighbours] == [str(j + 1) for _, j in expected]
        assert one["say"].partition(" Nearest: ")[2] == near.sentence.partition(" Nearest: ")[2] != ""
    hidden = payload(build(model, apart, values=False))["explained"]
    assert not any("Nearest" in one["say"] for one in hidden.values())  # type: ignore[attr-defined]


def test_where_all_objects_are_nowhere_there_is_an_answer_or_a_sentence() -> None:
    X = np.random.default_rng(0).normal(size=(40, 12))
    start = np.stack([np.full(12, 0.5), np.full(12, -0.5)])
    with pytest.warns(match="."):  # the fit is stopped before its prototypes reach objects
        model = ECM(2, delta=0.1, init=start, max_iter=1, n_init=1).fit(X)
    assert model.decisions().counts()["nowhere"] == 40
    assert "belongs to no group" in model.explain_object(X, 0).sentence
    assert profile(model.partition_, X).sentences() == {
        "∅": "No group fits 40 objects (100%): too few others to compare with (at least 3 needed)."
    }
    assert (calibrate(model, X, n_boot=19).decisions().words == "nowhere").all()
    assert "0 (0%) are in another set" in compare(model.partition_, model.partition_).sentences()[0]
    with pytest.raises(ValueError, match="all objects of one belong nowhere"):
        compare(model, model, data=(X, X))


def customers(n: int = 150) -> tuple[pd.DataFrame, np.ndarray]:
    """Two groups that differ in visits and, less certainly, in plan, and a few outliers."""
    rng, y = np.random.default_rng(7), np.repeat([0, 1], n // 2)
    visits, plan = (
        np.array([14.0, 9.0])[y] + rng.normal(0, 1.1, n),
        np.where(rng.random(n) < 0.9 - 0.3 * y, "Basic", "Extra"),
    )
    far = pd.DataFrame({"visits": rng.uniform(35, 50, 9), "plan": "Extra", "age": rng.uniform(300, 400, 9)})
    table = pd.DataFrame({"visits": visits, "plan": plan, "age": np.array([26.0, 60.0])[y] + rng.normal(0, 3.5, n)})
    return pd.concat([table, far], ignore_index=True), y


def test_outliers_make_no_noise_of_a_decisive_column() -> None:
    X, _ = customers()
    model = SoftECM(2, metric="mixed", random_state=0).fit(X)
    assert (model.decisions().words[-9:] == "nowhere").all()
    found = [model.explain_object(X, i) for i in (0, 1, 80, 81)]
    assert not any(pull.noise for one in found for pull in one.pulls if pull.column != "plan")


def test_categories_that_two_groups_share_are_shown_with_their_shares() -> None:
    X, y = customers()
    model = SoftECM(2, metric="mixed", max_cardinality=1, random_state=0).fit(X)
    found = model.explain_object(X, int(np.flatnonzero(X["plan"] == "Basic")[0]))
    (plan,) = (pull for pull in found.pulls if pull.column == "plan")
    truth = X["plan"][: len(y)].eq("Basic").groupby(y).mean()
    own = model.labels_[0]
    shares = [float(text.removeprefix("Basic ").rstrip("%")) / 100 for text in plan.at]
    np.testing.assert_allclose(shares, [truth[0], truth[1]], atol=0.05)
    assert found.candidates[0] == f"ω{own + 1}"


def test_rows_with_missing_cells_are_drawn_among_their_group() -> None:
    rng, y = np.random.default_rng(0), np.repeat([0, 1, 2], 60)
    X = pd.DataFrame(np.eye(3)[y] * 8 + rng.normal(size=(180, 3)), columns=list("abc"))
    X["kind"] = np.array(["x", "y", "z"])[y]
    gaps = np.arange(0, 180, 9)
    X.loc[gaps, "a"] = np.nan
    X.loc[gaps[::2], "kind"] = None
    page = build(SoftECM(3, metric="mixed", random_state=0).fit(X), X)
    middles = np.array([np.median(page.points[y == k], axis=0) for k in range(3)])
    off = np.linalg.norm(page.points - middles[y], axis=1)
    whole = np.setdiff1d(np.arange(180), gaps)
    assert np.median(off[gaps]) <= 1.2 * np.median(off[whole])
    assert "missing values are drawn" in page.map_note
