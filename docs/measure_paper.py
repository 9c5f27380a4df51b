"""The tables and figures of paper.md, from `softecm reproduce all`, written to docs/measured/ and docs/figures/.

SOFTECM_DATA=folder python docs/measure_paper.py [experiment ...]

Runs come from out/reproduce/journals, where `softecm reproduce` saves them; those of the protocol as coded come from
paper/journals, where they are stored as data, and are saved there.
"""

from __future__ import annotations

import re
import shutil
import sys
import time
from pathlib import Path

import matplotlib
from smaller import smaller

from softecm_paper import EXPERIMENTS
from softecm_paper.page import Page
from softecm_paper.rows import ROWS
from softecm_paper.runs import Options, Runs

HERE = Path(__file__).resolve().parent
JOURNALS = HERE.parent / "out" / "reproduce" / "journals"
KEPT = HERE.parent / "paper" / "journals"


def included(page: Page) -> str:
    """Return the page as part of another: no title, headings one level down, pictures from the figures' folder."""
    text = page.markdown().split("\n", 1)[1].lstrip()
    text = re.sub(r"^## ", "### ", text, flags=re.MULTILINE)
    return re.sub(r"\]\((\w+)\.png\)", r"](figures/paper_\1.png)", text)


def copy_new(source: Path, target: Path, pattern: str) -> None:
    """Copy journals that are missing or shorter in the other folder."""
    target.mkdir(parents=True, exist_ok=True)
    for path in source.glob(pattern):
        there = target / path.name
        if not there.exists() or there.stat().st_size < path.stat().st_size:
            shutil.copyfile(path, there)


def main(names: list[str]) -> None:
    """Write one file per page, one per figure."""
    matplotlib.use("Agg")
    copy_new(KEPT, JOURNALS, "*.jsonl")
    runs = Runs(Options(ROWS, JOURNALS))
    for name in names or list(EXPERIMENTS):
        begin = time.process_time()
        page = EXPERIMENTS[name].load()(runs, f"softecm reproduce {name}")
        (HERE / "measured" / f"paper_{name}.md").write_text(included(page), encoding="utf-8")
        for figure in page.figures:
            path = HERE / "figures" / f"paper_{figure.name}.png"
            path.write_bytes(figure.png)
            smaller(path)
        print(f"{name}: {time.process_time() - begin:.1f} s of CPU time")
    for pattern in ("*as-coded*", "*-no-repeats-*", "*-clipped-*", "*-hamming-*", "*-stands-still-*", "*-right-axes-*"):
        copy_new(JOURNALS, KEPT, f"{pattern}.jsonl")


if __name__ == "__main__":
    main(sys.argv[1:])
