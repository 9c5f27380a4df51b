"""Put the measured tables into the pages that show them, so that a page can be read as a file.

``python docs/fill_in.py`` writes between ``<!-- table: measured/beta.md -->`` and ``<!-- end of table -->`` what that file
holds; run it after any ``docs/measure_*.py``. A test says when a page is behind.
"""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
_TABLE = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def filled(text: str) -> str:
    """A page with its tables as they are now."""

    def table(match: re.Match[str]) -> str:
        return f"{match[1]}\n{(HERE / match[2]).read_text(encoding='utf-8').strip()}\n\n{match[3]}"

    return _TABLE.sub(table, text)


if __name__ == "__main__":
    for page in HERE.glob("*.md"):
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
