"""``softecm calibrate``: how sure the groups of a result folder are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.text import Text

from softecm._errors import disk
from softecm._version import __version__
from softecm.calibration import Calibration, calibrate
from softecm.cli.commands import CalibrateOptions
from softecm.cli.problems import Problem, mendable
from softecm.cli.result_folder import ResultFolder, harmless, partition_table, write_csv, write_json
from softecm.cli.screen import consoles, counts_table, lines, print_json
from softecm.files import check_file, check_folder, check_free, check_replaced, to_folder, write_text
from softecm.report.sections.certainty import Certainty

if TYPE_CHECKING:
    import pandas as pd


NAMES = ("partition.csv", "calibration.json", "report.html")
JOURNAL = "journal.jsonl"


def run(options: CalibrateOptions) -> None:
    """Refit, say what that means, write a folder."""
    (out, err), path = consoles(), options.folder
    target = options.output or Path(f"{path}-calibrated")
    folder = ResultFolder.open(path)
    _check_places(target, path, force=options.force)
    with err.status("reading"):
        loaded = folder.objects("refits need its objects")
    if options.force and (target / JOURNAL).exists():
        write_text(target / JOURNAL, "")  # afresh
    with mendable(ValueError, TypeError), disk(f"writing {target / JOURNAL}"):
        calibration = calibrate(
            folder.model,
            loaded.data,
            options.refits,
            level=options.level,
            resample=options.resample,  # type: ignore[arg-type]
            warm=not options.anew,
            random_state=options.seed,
            journal=target / JOURNAL,
            progress=err.is_terminal and not err.quiet,
        )
    page = folder.page(calibration=calibration)
    section = Certainty(page)
    messages = section.sentences
    facts = {"softecm": __version__, "folder": str(path), **section.facts()["calibration"], "sentences": messages}

    def write(work: Path) -> None:
        names = loaded.names if folder.has_values else folder.ids
        write_csv(_table(calibration, names, folder.clear), work / NAMES[0])
        write_json(facts, work / NAMES[1])
        write_text(work / NAMES[2], page.html)

    to_folder(target, write, force=True)
    lines(out, messages)
    counts = np.bincount(calibration.partition.masses.argmax(1), minlength=len(calibration.partition.focal_sets) + 1)
    out.print(Text("After calibration:"))
    out.print(counts_table(calibration.partition.focal_sets, counts.tolist()))
    out.print(Text.assemble("Calibrated: ", (str(target / NAMES[0]), "bold"), f", report: {target / NAMES[2]}#sure"))
    print_json({**facts, "output": str(target)})


def _check_places(target: Path, folder: Path, *, force: bool) -> None:
    """Refuse what would keep the refits from being written, before they are computed."""
    if target.resolve() == folder.resolve():
        raise Problem(f"-o must not be {folder} itself, which would be overwritten: give another folder.")
    check_folder(target)
    ours = (target / JOURNAL).is_file() and not (target / NAMES[0]).exists()  # stopped: it is gone on with
    check_free(target, force=force or ours)
    if target.is_dir():
        check_file(target / JOURNAL)
    check_replaced([target / JOURNAL], kind="journal", inputs=[folder / "model.safetensors"])
    check_replaced([target / name for name in NAMES], inputs=[folder / "summary.json"])


def _table(calibration: Calibration, ids: Sequence[str], clear: float) -> pd.DataFrame:
    """The table of a partition, with each object's stability and intervals beside it."""
    frame = partition_table(calibration.partition, ids, clear)
    more = calibration.to_frame("pandas")
    for name in more.columns:
        if name in ("low", "high", "stability") or name.startswith(("low(", "high(")):
            frame[harmless(name)] = more[name].to_numpy().round(6)
    return frame
