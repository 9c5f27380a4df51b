"""Insert the measured tables into the pages, so that a page can be read as a file.

``python docs/fill_in.py`` writes the content of that file between ``<!-- table: measured/beta.md -->`` and ``<!-- end
of table -->``; run it after any ``docs/measure_*.py``. A test detects outdated pages.
"""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
_TABLE = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def filled(text: str) -> str:
    """Return a page with its current tables."""

    def table(match: re.Match[str]) -> str:
        return f"{match[1]}\n{(HERE / match[2]).read_text(encoding='utf-8').strip()}\n\n{match[3]}"

    return _TABLE.sub(table, text)


if __name__ == "__main__":
    for page in HERE.glob("*.md"):
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
