"""Tables of results as JSON rows, and the environment of their measurement.

``python benchmarks/rows.py`` updates the JSON of all pages; ``python benchmarks/rows.py elastic``, run after a
benchmark, also records the machine and the versions. Numbers have the precision of the table; full results have their
own files (``archive.jsonl``, ``scaling.json``). ``tests/test_numbers.py`` compares, and reads the numbers quoted by the
README and the docs.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import re
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (ROOT / "benchmarks" / "results", ROOT / "docs" / "measured")
PACKAGES = ("softecm", "numpy", "scipy", "scikit-learn", "numba", "torch", "aeon", "tslearn", "kmodes")


def value(cell: str) -> float | str:
    """Return a cell as a number if it is nothing else."""
    plain = re.sub(r"(?<=\d)[ ,](?=\d{3}\b)", "", cell.strip().strip("*"))
    try:
        return float(plain)
    except ValueError:
        return cell.strip()


def cells(line: str) -> list[str]:
    """Return the cells of a line of a table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def tables(text: str) -> list[dict[str, Any]]:
    """Return the tables of a page: the heading above, the columns, the rows."""
    found, heading = [], ""
    for part in re.split(r"\n\s*\n|\n(?=#)", text.strip()):
        lines = part.strip().splitlines()
        if lines[0].startswith("#"):
            heading = lines[0].lstrip("# ")
        if lines[0].startswith("|"):
            rows = [[value(cell) for cell in cells(line)] for line in lines[2:] if line.startswith("|")]
            found.append({"under": heading, "columns": cells(lines[0]), "rows": rows})
    return found


def words(text: str) -> list[str]:
    """Return a page's text outside its tables: commands, dates, machines, versions."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith(("|", "#"))]


def environment() -> dict[str, Any]:
    """Return this machine, today's date, and installed versions."""
    packages = {}
    for name in PACKAGES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            continue
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": machine,
        "python": platform.python_version(),
        "packages": packages,
    }


def beside(page: Path) -> Path:
    """Return the path of a page's rows; ``scaling.json`` holds the benchmark's own results."""
    return page.with_suffix(".rows.json")


def rows_of(page: Path) -> dict[str, Any]:
    """Return a page's content as data."""
    text = page.read_text(encoding="utf-8")
    return {"words": words(text), "tables": tables(text)}


def update(page: Path, here: bool) -> None:
    """Write the rows of a page; the environment is kept, or replaced by this one."""
    path = beside(page)
    old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    noted = environment() if here else old.get("environment")
    content = {**({"environment": noted} if noted else {}), **rows_of(page)}
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def pages() -> list[Path]:
    """Return all pages with measured tables."""
    return [page for folder in FOLDERS for page in sorted(folder.glob("*.md"))]


def main(names: list[str]) -> None:
    """Update all pages, and the environment of those named."""
    unknown = set(names) - {page.stem for page in pages()}
    if unknown:
        sys.exit(f"there are no results called {', '.join(sorted(unknown))}: see {FOLDERS[0]} and {FOLDERS[1]}.")
    for page in pages():
        update(page, page.stem in names)


if __name__ == "__main__":
    main(sys.argv[1:])
