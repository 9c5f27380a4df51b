"""What the formats share that become a pandas data frame in one call."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softecm.readers.base import ReadError, ReadOptions, Sheet, brief, short

if TYPE_CHECKING:
    import pandas as pd


def sheet(
    path: Path,
    options: ReadOptions,
    load: Callable[[], pd.DataFrame],
    code: tuple[str, ...],
) -> Sheet:
    """The frame that ``load`` gives, or one sentence.

    Parameters
    ----------
    path : Path
    options : ReadOptions
    load : callable
        Gives the data frame; may raise anything.
    code : tuple of str
        The same in Python, after ``import pandas as pd``.
    """
    kind = path.suffix.lower()[1:]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frame = load()
    except ReadError:
        raise
    except Exception as error:  # whatever the format's library raises on a damaged file
        raise ReadError(f"{path} can't be read as .{kind}: {brief(error)}.") from error
    frame.columns = [str(name) for name in frame.columns]
    return Sheet(without_marks(frame, options), {"format": kind}, ("import pandas as pd", *code))


def without_marks(frame: pd.DataFrame, options: ReadOptions) -> pd.DataFrame:
    """A table with gaps for the cells that the user says mark one, as text or as numbers."""
    marks: list[object] = list(options.missing or ())
    for mark in options.missing or ():
        with suppress(ValueError):
            marks.append(float(mark))
    marked = {name: frame[name].isin(marks) for name in frame.columns} if marks else {}
    gaps = {name: frame[name].mask(found) for name, found in marked.items() if found.any()}
    return frame.assign(**gaps)


def check_text(schema: Any, load: Callable[[list[str]], Any]) -> None:
    """Refuse columns that share a name, and text that is none before pandas takes it for text; ``load`` reads columns."""
    import pyarrow as pa

    twice = next((name for name, count in Counter(schema.names).items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"more than one column is called {short(twice)}")
    words = [f.name for f in schema if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)]
    for name in words:
        try:
            load([name]).validate(full=True)
        except pa.ArrowInvalid as error:
            raise ValueError(f"the text of column {short(name)} is not UTF-8") from error
