"""How much memory a fit may use, and how much it would need."""

from __future__ import annotations

import re
from pathlib import Path

from softecm._text import shown_size
from softecm.cli.problems import Problem
from softecm.readers import PARQUET
from softecm.readers.frames import parquet_shape

UNITS = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "ki": 1 << 10,
    "mi": 1 << 20,
    "gi": 1 << 30,
    "ti": 1 << 40,
}
GOOD_PART = 0.6  # of what is free, by default
TEXT = 8.0  # times the size of a text file: the table it becomes, and what is computed from it


def parse(text: str) -> int:
    """Bytes from "2GB", "500 MB" or "1.5GiB".

    Examples
    --------
    >>> parse("2GB"), parse("1.5 GiB"), parse("500m")
    (2000000000, 1610612736, 500000000)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?\s*", text.lower())
    if match is None or match[2] == "i" or not float(match[1]) > 0:
        raise Problem(f"--memory must be a size such as 2GB or 500MB; got {text}.")
    return int(float(match[1]) * UNITS[match[2]])


def limit(asked: str | None) -> int:
    """Bytes that may be used: as asked, or a good part of what is free."""
    if asked is not None:
        return parse(asked)
    from softecm._engine import free_memory

    return int(GOOD_PART * free_memory())


def must_stream(file: Path, asked: str | None, n_sets: int) -> bool:
    """Whether the file is to be read block by block; a text file beyond the memory asked for is refused."""
    if not PARQUET.takes(file) or not file.is_file():
        need = TEXT * file.stat().st_size if file.is_file() else 0.0
        if asked is not None and need > parse(asked):
            raise Problem(
                f"{file} would need about {shown_size(need)}, more than --memory {asked}: save it as Parquet, which is read "
                "block by block."
            )
        return False
    return needed(file, n_sets) > limit(asked)


def needed(file: Path, n_sets: int) -> float:
    """Bytes a fit of the whole Parquet file takes: the table, its encoding, and some copies of the masses."""
    rows, columns = parquet_shape(file)
    return 8.0 * rows * float(3 * columns + 4 * (n_sets + 1))
