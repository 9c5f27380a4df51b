"""The list of scores is complete, and its descriptions hold."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from softecm import CredalPartition, FocalSets, scores
from softecm.scores.listing import table

DOCS = Path(__file__).parents[2] / "docs"

CLASSES = np.repeat([0, 1, 2], 12)
RIGHT = CredalPartition.from_hard(CLASSES)


def doubtful(share: float) -> CredalPartition:
    """The right partition with a share of every object's mass on all clusters, and a few objects in a wrong cluster."""
    focal = FocalSets.full(3)
    wrong = np.where(np.arange(36) % 6 == 0, (CLASSES + 1) % 3, CLASSES)
    masses = np.zeros((36, 8))
    masses[np.arange(36), wrong + 1] = 1 - share
    masses[:, -1] = share
    return CredalPartition(masses, focal)


ANSWERS = {
    "two labellings": lambda p: (CLASSES, p),
    "classes and a partition": lambda p: (CLASSES, p),
    "a partition": lambda p: (p,),
    "a partition and distances": lambda p: (p, (CLASSES[:, None] != CLASSES).astype(float)),
    "two partitions": lambda p: (RIGHT, p),
    "two lists of pairs": lambda p: (scores.pairwise_masses(RIGHT), scores.pairwise_masses(p)),
}


def with_share(share: float, elsewhere: Callable[[int], tuple[int, ...]]) -> CredalPartition:
    """The right partition with a share of each object's mass on another set, determined by its cluster."""
    focal = FocalSets.full(3)
    sets = [(), *focal.sets]
    masses = np.zeros((36, 8))
    for i, k in enumerate(CLASSES):
        masses[i, k + 1] += 1 - share
        masses[i, sets.index(elsewhere(k))] += share
    return CredalPartition(masses, focal)


#: Mass elsewhere, with the scores that ignore it, and why.
DECIDED = dict.fromkeys(
    ("evidential_precision", "evidential_recall", "evidential_rand_index"),
    "ask what is decided: the cluster holds most",
)
ELSEWHERE = {
    "a pair": (
        lambda k: tuple(sorted((k, (k + 1) % 3))),
        DECIDED | {"credal_rand_index": "asks for contradictions, and doubt contradicts nothing"},
    ),
    "nowhere": (
        lambda k: (),
        DECIDED
        | dict.fromkeys(("nonspecificity", "credal_silhouette"), "leaves the empty set out, as its article does"),
    ),
}

LIST = pytest.mark.parametrize("score", scores.SCORES.values(), ids=lambda score: score.name)


@pytest.mark.parametrize("where", ELSEWHERE)
@LIST
def test_mass_elsewhere_is_worse_and_more_of_it_worse_still(score, where):
    elsewhere, unmoved = ELSEWHERE[where]
    right, little, much = (
        np.mean(score.function(*ANSWERS[score.needs](p)))
        for p in (RIGHT, *(with_share(s, elsewhere) for s in (0.2, 0.4)))
    )
    if score.needs == "two labellings" or score.name in unmoved:
        assert right == little == much
    else:
        assert right > little > much if score.better == "larger" else right < little < much


SHORTER = CredalPartition.from_hard(CLASSES[:-1])
UNEQUAL = {
    "two labellings": lambda: (CLASSES, CLASSES[:-1]),
    "classes and a partition": lambda: (CLASSES, SHORTER),
    "a partition and distances": lambda: (RIGHT, np.ones((35, 35))),
    "two partitions": lambda: (RIGHT, SHORTER),
    "two lists of pairs": lambda: (scores.pairwise_masses(RIGHT), scores.pairwise_masses(SHORTER)),
}


@pytest.mark.parametrize("score", [s for s in scores.SCORES.values() if s.needs in UNEQUAL], ids=lambda s: s.name)
def test_answers_about_different_numbers_of_objects_are_refused(score):
    with pytest.raises(ValueError, match=r"same objects|between the 36 objects"):
        score.function(*UNEQUAL[score.needs]())


@LIST
def test_the_right_answer_is_better_than_a_doubtful_one(score):
    best, worse = (np.mean(score.function(*ANSWERS[score.needs](p))) for p in (RIGHT, doubtful(0.3)))
    assert best > worse if score.better == "larger" else best < worse
    assert best == pytest.approx(1.0 if score.better == "larger" else 0.0, abs=1e-12)


def test_every_score_is_listed_under_its_public_name():
    functions = {name for name in scores.__all__ if name[0].islower()} - {
        "pairwise_masses",
        "silhouettes",
    }  # building blocks of others
    assert set(scores.SCORES) == functions
    for name, score in scores.SCORES.items():
        assert getattr(scores, name) is score.function
        assert score.about[0].islower()
        assert f"| `{name}` |" in table()


def test_the_documentation_names_them_all():
    page = (DOCS / "api.md").read_text(encoding="utf-8").split("currentmodule:: softecm.scores")[1].split("```")[0]
    assert set(scores.__all__) - {"SCORES"} <= set(page.split())
