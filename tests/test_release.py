"""Facts about the package agree in all places."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from softecm import __version__

yaml = pytest.importorskip("yaml", reason="needs PyYAML, which dask brings")

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
ZENODO = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
RECIPE = yaml.safe_load((ROOT / "conda-forge" / "recipe.yaml").read_text(encoding="utf-8"))
PAPER = (ROOT / "paper" / "joss" / "paper.md").read_text(encoding="utf-8")
BIBLIOGRAPHY = (ROOT / "paper" / "joss" / "paper.bib").read_text(encoding="utf-8")
OTHERWISE_CALLED = {"torch": "pytorch", "matplotlib": "matplotlib-base"}  # conda-forge's names
# Required by the Journal of Open Source Software.
SECTIONS = ["Summary", "Statement of need", "State of the field", "Software design", "Research impact statement"]
SECTIONS += ["AI usage disclosure", "Acknowledgements", "References"]


def bounds(requirements: list[str]) -> set[tuple[str, str]]:
    """Names and lowest versions."""
    parts = [re.fullmatch(r"([\w-]+) ?>=([\w.]+)", text) for text in requirements]
    return {(OTHERWISE_CALLED.get(part[1], part[1]), part[2]) for part in parts if part}


def versions(texts: list[str]) -> list[str]:
    """The minor versions of Python at the ends of texts."""
    return [text.rpartition(" ")[2] for text in texts if re.search(r" 3\.\d+$", text)]


def config(name: str) -> Any:
    """A file that exists only in the repository."""
    path = ROOT / name
    if not path.exists():
        pytest.skip(f"{name} is not part of the sdist")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_the_version_is_the_next_release_everywhere() -> None:
    coming = re.sub(r"(\.dev|rc)\d+$", "", __version__)
    assert str(CITATION["version"]) == RECIPE["context"]["version"] == coming
    paper = tomllib.loads((ROOT / "paper" / "pyproject.toml").read_text(encoding="utf-8"))
    assert paper["project"]["version"] == __version__
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest
    assert newest[1] == coming


def test_the_recipe_asks_for_what_the_package_does() -> None:
    python, *run = RECIPE["requirements"]["run"]
    assert bounds(run) == bounds(PROJECT["project"]["dependencies"])
    assert len(run) == len(PROJECT["project"]["dependencies"])
    assert PROJECT["project"]["requires-python"] == f">={RECIPE['context']['python_min']}"
    assert python == "python >=${{ python_min }}"
    assert bounds(RECIPE["requirements"]["host"]) == bounds(PROJECT["build-system"]["requires"])
    ((command, place),) = PROJECT["project"]["scripts"].items()
    assert RECIPE["build"]["python"]["entry_points"] == [f"{command} = {place}"]


def test_names_licence_and_addresses_agree() -> None:
    (author,) = PROJECT["project"]["authors"]
    assert [CITATION["authors"], ZENODO["creators"]] == [[author], [author]]
    assert f"  - name: {author['name']}\n" in PAPER
    assert CITATION["title"] == ZENODO["title"]
    assert PROJECT["project"]["license"] == CITATION["license"] == ZENODO["license"] == RECIPE["about"]["license"]
    urls = PROJECT["project"]["urls"]
    assert (RECIPE["about"]["homepage"], RECIPE["about"]["documentation"]) == (urls["Homepage"], urls["Documentation"])
    assert RECIPE["source"]["url"].startswith(urls["Homepage"])
    assert ZENODO["related_identifiers"][0]["identifier"] == CITATION["repository-code"] == urls["Homepage"]


def test_every_python_that_is_named_is_tested() -> None:
    suite = config(".github/workflows/tests.yml")["jobs"]["suite"]["strategy"]["matrix"]["python"]
    assert suite == versions(PROJECT["project"]["classifiers"])


def test_hooks_and_constraints_have_the_same_ruff() -> None:
    (ruff,) = [repo for repo in config(".pre-commit-config.yaml")["repos"] if "ruff" in repo["repo"]]
    assert f"ruff=={ruff['rev'].lstrip('v')}" in (ROOT / "constraints.txt").read_text(encoding="utf-8").split()


def test_the_paper_has_the_sections_and_the_length_that_are_asked_for() -> None:
    assert re.findall(r"^# (.+)$", PAPER, re.MULTILINE) == SECTIONS
    assert 750 <= len(PAPER.partition("# Summary")[2].split()) <= 1750


def test_the_paper_cites_what_its_bibliography_holds() -> None:
    assert set(re.findall(r"@(\w+)", PAPER)) == set(re.findall(r"^@\w+\{(\w+),", BIBLIOGRAPHY, re.MULTILINE))
