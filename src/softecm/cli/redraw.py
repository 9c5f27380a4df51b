"""``softecm report``: the report again, from a result folder, without a fit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from softecm.cli.problems import mendable
from softecm.cli.result_folder import ResultFolder
from softecm.cli.screen import consoles, print_json
from softecm.files import check_file, check_replaced, to_file
from softecm.report.page import text_for


def run(path: Path, output: Path | None, names: Sequence[str] | None, *, values: bool = True) -> None:
    """Redraw ``report.html`` (a drawing, so it is replaced)."""
    out, _ = consoles()
    folder = ResultFolder.open(path)
    target = output or path / "report.html"
    check_file(target)
    kind = "summary" if target.suffix.lower() == ".json" else "report"
    check_replaced([target], kind=kind, inputs=[Path(str(folder.summary.get("file", ""))), path / "summary.json"])
    if names is not None:
        with mendable(ValueError):
            folder = folder.renamed(names, folder.summary)
    text = text_for(folder.page(values=values), target)
    to_file(target, lambda file: file.write_text(text, encoding="utf-8", newline=""))
    out.print(Text.assemble("Open ", (str(target), "bold")))
    print_json({"report": str(target), "source_read": folder.source is not None})
