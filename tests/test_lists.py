"""Everything on a list is named where users look: the reference of names, and the README's lists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sklearn.base import ClusterMixin

import softecm
from softecm import distances, scores
from softecm.distances import SEMI_METRICS
from softecm.readers import READERS
from softecm.scores import SCORES
from softecm.testing import all_estimators, all_metrics

ROOT = Path(__file__).resolve().parents[1]
API = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def listed(module: str) -> set[str]:
    """The names listed by the reference for a module."""
    found = re.findall(rf"currentmodule:: {re.escape(module)}\n(.*?)(?=```|\.\. currentmodule)", API, re.DOTALL)
    return {line.strip() for part in found for line in part.splitlines() if re.fullmatch(r" +\w+", line)}


def test_estimators_are_in_the_reference_the_readme_and_their_package():
    names = {name for name, _ in all_estimators()}
    family = README.split("## The family")[1].split("##")[0]
    assert names <= listed("softecm")
    assert {name for name in names if f"`{name}`" in family} == names
    public = {name: getattr(softecm, name) for name in softecm.__all__}
    assert names == {name for name, one in public.items() if isinstance(one, type) and issubclass(one, ClusterMixin)}


def test_every_estimator_says_what_it_is_for():
    """The output of ``softecm algorithms``; a base class's line would describe another estimator."""
    lines = {name: vars(kind).get("suits") for name, kind in all_estimators()}
    assert {name for name, line in lines.items() if not line or "\n" in line} == set(), "give each a line in suits"
    assert len(set(lines.values())) == len(lines)


def test_metrics_are_in_the_reference_and_the_readme():
    assert {metric.__name__ for _, metric in all_metrics()} <= listed("softecm.distances") & set(vars(distances))
    table = README.split("## What it takes")[1].split("##")[0]
    assert {name for name in SEMI_METRICS if f'`"{name}"`' in table} == set(SEMI_METRICS)


def test_a_metric_is_listed_by_its_own_name():
    assert {metric().name: metric for metric in SEMI_METRICS.values()} == SEMI_METRICS


def test_scores_are_in_the_reference():
    assert set(SCORES) <= listed("softecm.scores") & set(scores.__all__)


def test_readers_are_in_the_reference():
    endings = API.split("## Files it reads")[1].split("##")[0]
    for one in READERS:
        assert all(name in endings for name in one.name.split(", "))
        assert {ending for ending in one.endings if f"`{ending}`" in endings} == set(one.endings)


@pytest.mark.parametrize("module", re.findall(r"currentmodule:: (\S+)", API))
def test_whatever_the_reference_names_is_there(module):
    found = __import__(module, fromlist=["_"])
    assert {name for name in listed(module) if not hasattr(found, name)} == set()


def test_every_public_name_is_in_the_reference():
    documented = listed("softecm") | {name.removeprefix("softecm.") for name in re.findall(r"softecm\.\w+", API)}
    assert set(softecm.__all__) - documented == {"__version__"}
