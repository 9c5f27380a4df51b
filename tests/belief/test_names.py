"""Clusters have their names in all output; labels remain numbers from 0."""

import pickle

import numpy as np
import pandas as pd
import pytest

from softecm import ECM, CredalPartition, FocalSets, load_model
from softecm.belief.assignments import Decision

P = CredalPartition([[0, 0.9, 0, 0.1], [0, 0, 0.9, 0.1], [0.1, 0.1, 0.1, 0.7], [1, 0, 0, 0]], FocalSets.full(2))
NAMED = P.rename(["calm", "busy"])


def test_names_are_shown_and_labels_stay_numbers() -> None:
    assert NAMED.labels().tolist() == P.labels().tolist() == [0, 1, 0, 0]
    frame = NAMED.to_frame("pandas")
    assert frame["label"].tolist() == ["calm", "busy", "calm", "calm"]
    assert frame["set"].tolist() == ["calm", "busy", "Ω", "∅"]
    assert {"bel(calm)", "pl(busy)", "m(calm)", "m(Ω)"} <= set(frame.columns)
    assert NAMED.decisions()[0] == Decision("clearly", "calm", pytest.approx(0.9))


def test_labels_and_sets_count_alike_without_names() -> None:
    frame = P.to_frame("pandas")
    sure = frame["decision"] == "clearly"
    assert frame.loc[sure, "label"].tolist() == frame.loc[sure, "set"].tolist() == ["ω1", "ω2"]


def test_a_partition_is_the_same_whatever_its_clusters_are_called() -> None:
    assert NAMED == P
    assert NAMED.focal_sets == P.focal_sets
    assert NAMED.rename(None).focal_sets.cluster_names == ("ω1", "ω2")
    assert P.rename({1: "busy"}).focal_sets.cluster_names == ("ω1", "busy")
    assert NAMED.rename({"calm": "quiet"}).focal_sets.cluster_names == ("quiet", "busy")


@pytest.mark.parametrize(
    "again",
    [
        lambda p: p[:2],
        lambda p: p.normalise(),
        lambda p: pickle.loads(pickle.dumps(p)),
        lambda p: p.combine(P, rule="average"),
        lambda p: p.discount(0.9),
        P.match,
    ],
)
def test_names_stay_with_what_is_made_of_a_partition(again) -> None:
    assert again(NAMED).focal_sets.cluster_names == ("calm", "busy")


def test_names_are_saved(tmp_path) -> None:
    NAMED.save(tmp_path / "p.safetensors")
    assert CredalPartition.load(tmp_path / "p.safetensors").focal_sets.names == ("calm", "busy")


@pytest.mark.parametrize(
    ("names", "part"),
    [
        (["calm"], "one entry for each of the 2 clusters; got 1: calm"),
        (["a", "b", "c"], "got 3: a, b, c"),
        (["a", "a"], "must be different"),
        (["a", " "], "not empty"),
        (["a", "Ω"], "neither ∅ nor Ω"),
        ({2: "c"}, "clusters that are there; got 2"),
        ({"ω3": "c"}, "clusters that are there; got 'ω3'"),
    ],
)
def test_names_that_will_not_do_are_one_sentence(names, part: str) -> None:
    with pytest.raises(ValueError, match=part):
        P.rename(names)


def test_a_text_is_no_list_of_names() -> None:
    with pytest.raises(TypeError, match="got the text 'ab'"):
        P.rename("ab")


def test_decisions_are_found_by_object() -> None:
    said = P.decisions()
    assert [one.word for one in said] == said.words.tolist()
    assert said[-1] == Decision("nowhere", "∅", 1.0)
    assert said[np.array([True, False, True, False])].words.tolist() == ["clearly", "between"]
    assert len(said[1:3]) == 2
    with pytest.raises(IndexError, match="4 objects, numbered from 0; got 4"):
        said[4]


def test_the_objects_are_joined_with_their_index() -> None:
    X = pd.DataFrame({"size": [1, 2, 3, 4], "label": list("wxyz")}, index=["p", "q", "r", "s"])
    frame = P.to_frame("pandas", ids=["a", "b", "c", "d"], X=X)
    assert list(frame.columns[:5]) == ["id", "size", "label (data)", "label", "set"]
    assert frame.index.tolist() == ["p", "q", "r", "s"]
    assert frame["label (data)"].tolist() == list("wxyz")
    with pytest.raises(ValueError, match="a row for each of the 4 objects; got 3"):
        P.to_frame("pandas", X=X[:3])
    with pytest.raises(TypeError, match="must be a data frame"):
        P.to_frame("pandas", X=X.to_numpy())


def test_polars_columns_are_joined() -> None:
    pl = pytest.importorskip("polars")
    frame = P.to_frame("polars", X=pl.DataFrame({"size": [1, 2, 3, 4]}))
    assert frame.columns[:2] == ["size", "label"]


def test_a_model_carries_names_through_predictions_and_files(tmp_path, rng: np.random.Generator) -> None:
    X = np.concatenate([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 9])
    model = ECM(2, random_state=0).fit(X)
    assert model.rename(["low", "high"]) is model
    model.save(tmp_path / "m.safetensors")
    for one in (model, load_model(tmp_path / "m.safetensors")):
        assert one.predict(X[:1]).tolist() == model.labels_[:1].tolist()
        assert one.focal_sets_.cluster_names == ("low", "high")
        assert one.predict_partition(X[:3]).focal_sets.cluster_names == ("low", "high")
        assert one.decisions(X[:3])[0].set in ("low", "high")
    assert model.decisions().counts() == model.partition_.decisions().counts()
    from softecm import report

    page = report.build(model, X)
    assert "to low" in page.html
    assert "ω1" not in page.html
    assert model.fit(X).focal_sets_.cluster_names == ("ω1", "ω2")


def test_figures_show_names() -> None:
    pytest.importorskip("matplotlib")
    from softecm import plots

    ax = plots.mass_profile(NAMED)
    shown = {text.get_text() for text in ax.get_legend().get_texts()}
    assert {"calm", "busy"} <= shown
