from html.parser import HTMLParser
from pathlib import Path

from matplotlib import pyplot as plt

from softecm_paper.page import Page


class Tags(HTMLParser):
    """Everything that a page would load or run."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


def page() -> Page:
    made = Page("A <title>", "softecm reproduce a")
    made.heading("First & last")
    made.text("One **bold** word and `code`.", "Two < three.", "Least N*, *said aloud*, is no N* of ours.")
    made.table(["a", "b|c"], [["1", "**2**"], ["<i>", "4"]])
    figure, ax = plt.subplots()
    ax.plot([0, 1])
    made.figure("line", figure, "A line.")
    return made


def test_markdown_has_every_block_in_order() -> None:
    text = page().markdown()
    order = ["# A <title>", "## First & last", "**bold**", "| a | b\\|c |", "| --- | --- |", "![A line.](line.png)"]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert text.endswith("Made by `softecm reproduce a`.\n")


def test_html_is_escaped_and_needs_nothing_else() -> None:
    html = page().html()
    assert "<title>A &lt;title&gt;</title>" in html
    assert "<td>&lt;i&gt;</td>" in html
    assert "<strong>bold</strong>" in html
    assert "<code>code</code>" in html
    assert "Least N*, <em>said aloud</em>, is no N* of ours." in html
    tags = Tags()
    tags.feed(html)
    sources = [attrs.get("src") or attrs.get("href") or "" for _, attrs in tags.seen]
    assert all(source == "" or source.startswith("data:") for source in sources)
    assert not [tag for tag, _ in tags.seen if tag in ("script", "link", "iframe")]


def test_a_page_is_written_with_its_pictures(tmp_path: Path) -> None:
    files = page().write(tmp_path / "deep" / "er", "a")
    assert [path.name for path in files] == ["a.md", "a.html", "line.png"]
    assert files[2].read_bytes().startswith(b"\x89PNG")


def test_figures_are_closed_when_they_are_added() -> None:
    before = plt.get_fignums()
    page()
    assert plt.get_fignums() == before


def test_cells_that_say_met_or_not_are_coloured_and_keep_their_mark() -> None:
    made = Page("P", "c")
    made.table(["a", "b"], [["✓ 0.5 (0.1)", "✗ 0.7"]])
    assert '| <span class="met">✓ 0.5 (0.1)</span> | <span class="unmet">✗ 0.7</span> |' in made.markdown()
    assert '<td class="met">✓ 0.5 (0.1)</td><td class="unmet">✗ 0.7</td>' in made.html()
