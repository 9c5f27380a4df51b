"""The list of scores is complete, and what it says of each holds."""

from pathlib import Path

import numpy as np
import pytest

from softecm import CredalPartition, FocalSets, scores
from softecm.scores.listing import table

DOCS = Path(__file__).parents[2] / "docs"

CLASSES = np.repeat([0, 1, 2], 12)
RIGHT = CredalPartition.from_hard(CLASSES)


def doubtful(share: float) -> CredalPartition:
    """The right answer with a share of every object's mass on all clusters, and a few objects in a wrong cluster."""
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


@pytest.mark.parametrize("score", scores.SCORES.values(), ids=lambda score: score.name)
def test_the_right_answer_is_better_than_a_doubtful_one(score):
    best, worse = (np.mean(score.function(*ANSWERS[score.needs](p))) for p in (RIGHT, doubtful(0.3)))
    assert best > worse if score.better == "larger" else best < worse
    assert best == pytest.approx(1.0 if score.better == "larger" else 0.0, abs=1e-12)


def test_every_score_is_listed_under_its_public_name():
    functions = {name for name in scores.__all__ if name[0].islower()} - {
        "pairwise_masses",
        "silhouettes",
    }  # what some are made of
    assert set(scores.SCORES) == functions
    for name, score in scores.SCORES.items():
        assert getattr(scores, name) is score.function
        assert score.about[0].islower()
        assert f"| `{name}` |" in table()


def test_the_documentation_names_them_all():
    page = (DOCS / "api.md").read_text(encoding="utf-8").split("currentmodule:: softecm.scores")[1].split("```")[0]
    assert set(scores.__all__) - {"SCORES"} <= set(page.split())
