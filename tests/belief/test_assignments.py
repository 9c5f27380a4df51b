"""One-word decisions: known answers, ties, edge cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softecm import CredalPartition, FocalSets
from softecm.belief.assignments import WORDS

TWO, THREE = FocalSets.full(2), FocalSets.up_to(3, 2)


def word(*masses: float, focal: FocalSets = TWO, clear: float = 0.75) -> str:
    """The decision about one object."""
    return str(CredalPartition([masses], focal).decisions(clear).words[0])


@pytest.mark.parametrize(
    ("masses", "said"),
    [
        ((0.0, 0.9, 0.1, 0.0), "clearly"),
        ((0.0, 0.75, 0.25, 0.0), "clearly"),
        ((0.4, 0.48, 0.12, 0.0), "clearly"),  # 0.8 without the empty set
        ((0.0, 0.74, 0.26, 0.0), "rather"),
        ((0.0, 0.5, 0.4, 0.1), "rather"),  # leads by 0.1, despite floating point
        ((0.0, 0.4996, 0.4973, 0.0031), "undecided"),
        ((0.0, 0.54, 0.46, 0.0), "undecided"),
        ((0.0, 0.5, 0.5, 0.0), "undecided"),
        ((0.0, 0.3, 0.3, 0.4), "between"),
        ((0.0, 0.0, 0.5, 0.5), "rather"),  # for equal masses a cluster precedes a set
        ((0.5, 0.5, 0.0, 0.0), "nowhere"),  # and the empty set precedes both
        ((1.0, 0.0, 0.0, 0.0), "nowhere"),
        ((0.4, 0.3, 0.0, 0.3), "nowhere"),
    ],
)
def test_each_word_has_its_known_answer(masses: tuple[float, ...], said: str) -> None:
    assert word(*masses) == said


def test_one_cluster_has_no_second() -> None:
    assert word(0.2, 0.8, focal=FocalSets.full(1)) == "clearly"


def test_what_goes_with_a_word() -> None:
    p = CredalPartition(
        [
            [0.2, 0.6, 0.1, 0, 0, 0.1, 0],
            [0.1, 0.1, 0.2, 0, 0.5, 0.1, 0],
            [0.7, 0.1, 0.1, 0.1, 0, 0, 0],
            [0, 0.1, 0.1, 0.5, 0.3, 0, 0],
        ],
        THREE,
    )
    said = p.decisions()
    assert said.words.tolist() == ["clearly", "between", "nowhere", "rather"]
    assert said.clusters.tolist() == [0, -1, -1, 2]
    assert said.sets.tolist() == [(0,), (0, 1), (), (2,)]
    np.testing.assert_allclose(said.confidence, [0.6 / 0.8, 0.8 / 0.9, 0.7, 0.5])
    assert list(said.counts()) == list(WORDS)
    assert said.table().sum() == len(said) == 4
    assert list(said.to_frame("pandas").columns) == ["decision", "set", "confidence"]
    assert "1 clearly, 1 rather, 1 between, 0 undecided, 1 nowhere; clearly from a belief of 0.75" in repr(said)


def test_clear_is_an_option_with_edges() -> None:
    assert word(0, 0.7, 0.3, 0, clear=0.7) == "clearly"
    assert word(0, 0.999, 0.001, 0, clear=1) == "rather"
    assert word(0, 1, 0, 0, clear=1) == "clearly"


@pytest.mark.parametrize("clear", [0, 0.5, 1.1, -1, float("nan"), "often", True, None])
def test_a_threshold_that_makes_no_sense_is_refused(clear: object) -> None:
    with pytest.raises(ValueError, match=r"clear must be a belief above 0\.5 and at most 1; got .*0\.75 is usual"):
        CredalPartition.from_hard([0, 1]).decisions(clear)  # type: ignore[arg-type]


@given(
    st.lists(st.lists(st.floats(0, 1), min_size=7, max_size=7).filter(lambda m: sum(m) > 0.01), min_size=1, max_size=9),
    st.floats(0.51, 1.0),
)
def test_words_partition_the_objects(rows: list[list[float]], clear: float) -> None:
    masses = np.array(rows) / np.array(rows).sum(1, keepdims=True)
    p = CredalPartition(masses, THREE)
    said = p.decisions(clear)
    assert sum(said.counts().values()) == len(p)
    assert set(said.words.tolist()) <= set(WORDS)
    assert ((said.confidence >= 0) & (said.confidence <= 1)).all()
    np.testing.assert_array_equal(said.words == "nowhere", np.isin(np.arange(len(p)), p.outliers()))
    assert said.sets.tolist() == p.sets().tolist()
    sure = said.words == "clearly"
    assert (p.belief()[sure].max(1) >= clear - 1e-8).all()
    assert ((p.doubt() >= 0) & (p.doubt() <= 2 / 3 + 1e-12)).all()


def test_no_objects_get_no_words() -> None:
    said = CredalPartition(np.empty((0, 4)), TWO).decisions()
    assert said.counts() == dict.fromkeys(WORDS, 0)
    assert said.words.tolist() == []


def test_doubt_ranks_the_unsure_first() -> None:
    p = CredalPartition([[0, 0.9, 0.1, 0], [0, 0.5, 0.5, 0], [0, 0.2, 0.1, 0.7], [0, 1, 0, 0]], TWO)
    assert np.argsort(-p.doubt(), kind="stable").tolist() == [1, 2, 0, 3]
