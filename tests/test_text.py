"""Suggestions of messages for misspelled words."""

import pytest

import softecm
from softecm import SoftECM
from softecm._text import closest, meant, slip, to_json

X = [[0.0, 1.0], [1.0, 0.0], [5.0, 5.0], [6.0, 5.0]]


@pytest.mark.parametrize(
    ("given", "found"),
    [("sqeuclidian", "sqeuclidean"), ("Soft-DTW", "softdtw"), ("manhatten", "manhattan"), ("mixt", "mixed")],
)
def test_a_metric_that_nearly_exists_is_asked_for(given, found):
    with pytest.raises(ValueError, match=rf"metric must be one of .*got '{given}'\. Did you mean {found}\?"):
        SoftECM(2, metric=given).fit(X)


@pytest.mark.parametrize(
    ("name", "given", "found"), [("relaxation", "exakt", "exact"), ("init", "kmeans++", r"k-means\+\+")]
)
def test_so_is_a_setting(name, given, found):
    with pytest.raises(ValueError, match=f"{name} must be one of .* Did you mean {found}"):
        SoftECM(2, **{name: given}).fit(X)


def test_so_is_an_estimator():
    with pytest.raises(AttributeError, match=r"no attribute 'SoftEcm'\. Did you mean SoftECM\?"):
        softecm.SoftEcm  # noqa: B018


def test_words_that_are_like_no_other_get_no_guess():
    assert meant("blue", ["sqeuclidean", "dtw"]) == closest(17, ["dtw"]) == ""


@pytest.mark.parametrize(
    ("written", "known", "words"),
    [
        ("Basc", "Basic", ("basc", "basic")),  # a letter missing
        ("Bassic", "Basic", ("bassic", "basic")),  # or added
        ("Basoc", "Basic", ("basoc", "basic")),  # or different
        ("Bsaic", "Basic", ("bsaic", "basic")),  # or two swapped
        ("Plan Basc", "Plan Basic", ("basc", "basic")),
        ("basic", "Basic", ("basic", "basic")),
        ("Bsc", "Basic", None),  # two letters
        ("Pln Basc", "Plan Basic", None),  # two words
        ("Plan Basc", "Basic", None),
        ("Basic", "Basic", None),
        ("A", "B", None),
        ("room2", "room1", None),
    ],
)
def test_a_slip_changes_one_letter_of_one_word(written, known, words):
    assert slip(written, known) == words


def test_json_has_null_for_what_is_no_number():
    facts = {"NaN": [float("nan"), 1.5], "inside": {"a": float("inf"), "b": -float("inf")}, "text": "Infinity ω"}
    assert to_json(facts) == '{"NaN": [null, 1.5], "inside": {"a": null, "b": null}, "text": "Infinity ω"}'
    assert to_json([0.1, float("nan")], separators=(",", ":")) == "[0.1,null]"
    facts["inside"]["c"] = facts
    with pytest.raises(ValueError, match="Circular"):
        to_json(facts)
