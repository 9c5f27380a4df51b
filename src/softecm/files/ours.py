"""Files of ours, known by their content: only those are replaced where somebody asks to replace what is there."""

from __future__ import annotations

from pathlib import Path

ENDS = 1 << 20  # bytes at either end that are looked at

#: What a file of each kind holds near its beginning or its end.
MARKS: dict[str, tuple[str, ...]] = {
    "partition": ("label", "m(∅)"),
    "model": ("softecm.model",),
    "checkpoint": ("softecm.checkpoint",),
    "journal": ('{"softecm_sweep"',),
    "report": ('name="generator" content="softecm',),
    "summary": ('"softecm": "',),
    "table of runs": ("random_state", "collapsed"),
    "picture": ("PNG", "Software\0softecm"),
    "page": ("Made by ", "softecm reproduce"),
}

#: What a picture of ours says of itself.
SIGNED = {"Software": "softecm"}

#: What ``softecm cluster`` writes into a folder, and what each file is.
RESULTS = {
    "partition.csv": "partition",
    "partition.parquet": "partition",
    "summary.json": "summary",
    "model.safetensors": "model",
    "report.html": "report",
}
OTHERS = {"sweep.csv": "table of runs", "journal.jsonl": "journal"}
ENDINGS = {".json": "summary", ".png": "picture", ".html": "page", ".md": "page"}


def kind_of(path: Path) -> str | None:
    """What a file of this name is in a folder that we write; None for other names."""
    return (RESULTS | OTHERS).get(path.name) or ENDINGS.get(path.suffix)


def is_ours(path: Path, kind: str) -> bool:
    """Whether a file holds what we write as this kind; an empty one holds nothing that could be lost.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "journal"
    ...     _ = file.write_text("my diary")
    ...     is_ours(file, "journal")
    False
    """
    with open(path, "rb") as file:
        size = file.seek(0, 2)
        file.seek(0)
        content = file.read(ENDS)
        file.seek(max(size - ENDS, 0))
        content += file.read()
    return not content or all(mark.encode() in content for mark in MARKS[kind])
