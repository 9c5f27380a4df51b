"""The pages work as files: links resolve, named files exist, tables are the measured ones."""

from __future__ import annotations

import re
import sys

import pytest

from problems import DEEP
from snippets import PAGES, ROOT
from softecm.distances import SEMI_METRICS

sys.path.insert(0, str(ROOT / "docs"))
import list_commands
from fill_in import filled
from on_site import on_site

READ = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", ROOT / "docs" / "llms.txt"]
LINK = re.compile(r"\[([^\]\n]*)\]\(([^)\s]+)\)")
#: A file of the repository, named in code or text; ``my_`` marks the user's own files.
NAMED = re.compile(r"`((?:docs|examples|tests|benchmarks|src|tools)/(?!\S*my_)[\w/.]+\.(?:py|md|json|cu|yml))")
#: Features of the site only: the reference is made from docstrings. Other pages are plain Markdown.
DIRECTIVES = {"api.md": {"eval-rst", "include"}, "paper.md": {"include"}}


def name(page) -> str:
    return page.relative_to(ROOT).as_posix()


def degrees(page: str) -> list[tuple[str, int]]:
    """All names in code in a page's rows of squared or plain distances, with the degree of the row, sorted."""
    rows = (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines()
    degree_of = {"squared distances": 2, "plain distances": 1}
    return sorted(
        (metric, degree)
        for row in rows
        for kind, degree in degree_of.items()
        if row.startswith("|") and kind in row
        for metric in re.findall(r"`([^`]+)`", row)
    )


def test_every_metric_is_listed_with_its_degree():
    """``delta`` is squared before the comparison with a metric's values: users must know which of them are squares."""
    every = sorted((name, metric().degree) for name, metric in SEMI_METRICS.items())
    assert degrees("api.md") == every, "docs/api.md, Semi-metrics: each metric once, and nothing else"
    examples = degrees("how_to_choose.md")
    assert {degree for _, degree in examples} == {1, 2}
    assert set(examples) <= set(every), "docs/how_to_choose.md, delta"
    assert len(set(examples)) == len(examples)


def prose(page) -> str:
    """The text without fenced code, in which brackets have another meaning."""
    return re.sub(r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(page) -> set[str]:
    """The anchors of a page, named as on GitHub."""
    headings = re.findall(r"^#+ (.+)$", prose(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", READ, ids=name)
def test_every_link_leads_somewhere_and_has_words(page):
    for words, target in LINK.findall(prose(page)):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{name(page)} links to {target}"
        assert words or page.name in ("paper.md", "comparison.md"), f"{name(page)}: a link to {target} without words"
        assert not anchor or anchor in anchors(there), f"{name(page)}: {target} has no such heading"


@pytest.mark.parametrize("page", READ, ids=name)
def test_every_file_that_is_named_is_there(page):
    missing = [path for path in NAMED.findall(page.read_text(encoding="utf-8")) if not (ROOT / path).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_pages_are_plain_markdown(page):
    text = page.read_text(encoding="utf-8")
    used = set(re.findall(r"^\s*```\{([\w-]+)\}", text, flags=re.MULTILINE))
    assert used <= DIRECTIVES.get(page.name, set())
    assert not re.findall(r"\{(?:class|func|meth|mod|ref|doc)\}`", text)
    assert not re.findall(r"^[ \t]+```", text, flags=re.MULTILINE), "an indented fence is not run by test_snippets.py"
    assert not re.findall(r"(?:^|\n)\n {4,}\S*(?:python|softecm) ", text), (
        "code in a fence is run; indented code is not"
    )


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_tables_are_those_that_were_measured(page):
    text = page.read_text(encoding="utf-8")
    assert filled(text) == text, "run python docs/fill_in.py"


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=name)
def test_no_page_of_the_site_links_to_markdown_outside_it(page):
    text = on_site(page.stem, page.read_text(encoding="utf-8"))
    assert not [target for _, target in LINK.findall(text) if re.match(r"\.\./.*\.md", target)]


@pytest.mark.parametrize("listing", ["index.md", "llms.txt"])
def test_every_page_is_listed(listing):
    text = (ROOT / "docs" / listing).read_text(encoding="utf-8")
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"}
    assert pages - {target for _, target in LINK.findall(text)} == set(), f"add a line to docs/{listing}"


@pytest.mark.parametrize("figure", sorted((ROOT / "docs" / "figures").glob("*.png")), ids=name)
def test_a_figure_has_few_colours_and_so_takes_little_room(figure):
    kind = figure.read_bytes()[25]  # of the header: 3 is a palette
    assert kind == 3, "run python docs/smaller.py"


@pytest.mark.skipif(not DEEP, reason="draws every figure anew: run by make test-deep")
def test_every_figure_can_be_drawn_anew(tmp_path):
    pytest.importorskip("matplotlib")
    import pictures

    pictures.main(tmp_path)
    assert {path.stem for path in tmp_path.iterdir()} == set(pictures.FIGURES)
    assert {path.stem for path in (ROOT / "docs" / "figures").iterdir()} >= set(pictures.FIGURES)


def test_the_readme_has_the_two_commands_that_do_everything() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "\nmake demo " in readme
    assert "\nmake test " in readme


def test_the_page_of_commands_is_that_of_the_command_line():
    written = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert list_commands.page() == written, "run python docs/list_commands.py"
    assert all(f"## softecm {name}" in written for name in ("cluster", "predict", "explain", "sweep"))
