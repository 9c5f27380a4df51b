"""Check every internal link of a built site; report broken ones.

python docs/check_links.py docs/_site
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links and the anchors of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect links and anchors."""
        for key, value in attrs:
            if key in ("href", "src") and value and tag != "base":
                self.links.append(value)
            elif key in ("id", "name") and value:
                self.anchors.add(value)


def broken(site: Path) -> list[str]:
    """Return one line per broken link."""
    pages = {path: Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}
    wrong = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target = target / "index.html"
            anchor = unquote(parts.fragment)
            if not target.exists():
                wrong.append(f"{path.relative_to(site)}: {link} is no file")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                wrong.append(f"{path.relative_to(site)}: {link} has no such place")
    return wrong


if __name__ == "__main__":
    folder = Path(sys.argv[1]).resolve()
    found = broken(folder)
    print("\n".join(found) or f"no broken link; open {folder / 'index.html'}")
    sys.exit(bool(found))
