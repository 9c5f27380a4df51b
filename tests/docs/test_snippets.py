"""All snippets of the README and the pages run, verbatim and in order, with one namespace per page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from snippets import (
    PAGES,
    ROOT,
    RUN,
    SHOWN,
    THERE,
    Snippet,
    commands,
    reason_not_to_run,
    run_python,
    run_shell,
    snippets,
    unknown_names,
)

plt = pytest.importorskip("matplotlib.pyplot", reason="the pages need matplotlib: pip install 'softecm[all]'")
for needed in ("pandas", "pyarrow", "dask"):
    pytest.importorskip(needed, reason=f"the pages need {needed}: pip install 'softecm[all]'")

ALL = {page: snippets(page) for page in PAGES}
WITH_SNIPPETS = [page for page, found in ALL.items() if any(one.language in RUN for one in found)]
LEFT = [one for found in ALL.values() for one in found if one.needs]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", WITH_SNIPPETS, ids=name)
def test_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    plt.switch_backend("Agg")
    names = {"__name__": "__main__"}
    for snippet in ALL[page]:
        if snippet.language == "sh":
            run_shell(snippet)
        elif snippet.language == "python" and snippet.runs_here:
            run_python(snippet, names)
        elif snippet.language == "python":
            assert unknown_names(snippet, names) == set()
    plt.close("all")


@pytest.mark.parametrize("snippet", LEFT, ids=str)
def test_what_a_snippet_needs_is_known(snippet):
    assert snippet.needs in THERE, f"name it in THERE of tests/snippets.py: {snippet.needs}"
    if not snippet.runs_here:
        pytest.skip(f"needs {snippet.needs}")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_fence_says_its_language(page):
    assert {one.language for one in ALL[page]} <= {*RUN, *SHOWN}


def test_commands_that_are_not_run_name_what_is_there():
    shown = [words for found in ALL.values() for one in found if one.language == "sh" for words in commands(one)]
    for words in filter(reason_not_to_run, shown):
        if words[0] == "make":
            assert re.search(rf"^{words[1]}:", MAKEFILE, re.MULTILINE), words
        if words[0] == "python" and words[1] not in ("-m", "-c"):
            assert (ROOT / words[1]).is_file(), words


def snippet_of(code: str) -> Snippet:
    return Snippet(ROOT / "README.md", 7, "python", code)


def test_a_value_that_a_page_shows_is_compared():
    run_python(snippet_of("a = [1,\n2]\na  # → [1, 2]\n"), {})
    with pytest.raises(AssertionError, match="line 7: the page says 3, and it is 2"):
        run_python(snippet_of("1 + 1  # → 3\n"), {})


def test_a_name_that_no_snippet_above_defines_is_an_error():
    with pytest.raises(NameError, match="nobody"):
        run_python(snippet_of("nobody\n"), {})
    assert unknown_names(snippet_of("import a\nb = [c for c in a.x(print, nobody)]\n"), {}) == {"nobody"}
