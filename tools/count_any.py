"""Count types ``Any`` in ``src/``: the total, then the files with the most.

Counted in the syntax tree, without comments and docstrings: ``python tools/count_any.py [folder ...]``.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def count(path: Path) -> int:
    """Count names ``Any``, bare or as ``typing.Any``, in one file, except imports."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8"), filename=str(path)))
    return sum(
        (isinstance(node, ast.Name) and node.id == "Any") or (isinstance(node, ast.Attribute) and node.attr == "Any")
        for node in nodes
    )


def main(folders: list[str]) -> None:
    """Print the total and a line for each file with any."""
    files = [path for folder in folders or [str(ROOT / "src")] for path in sorted(Path(folder).rglob("*.py"))]
    counts = {path: count(path) for path in files}
    print(f"{sum(counts.values())} Any in {sum(n > 0 for n in counts.values())} of {len(files)} files")
    for path, number in sorted(counts.items(), key=lambda item: -item[1]):
        if number:
            print(f"{number:5d}  {path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}")


if __name__ == "__main__":
    main(sys.argv[1:])
