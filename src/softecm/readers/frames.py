"""What the formats share that become a pandas data frame in one call."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from softecm.readers.base import ReadError, ReadOptions, Sheet, brief

if TYPE_CHECKING:
    import pandas as pd


def pandas() -> ModuleType:
    """The library, or how to get it."""
    try:
        return import_module("pandas")
    except ImportError as error:
        raise ReadError("reading tables needs pandas: pip install 'softecm[report]'.") from error


def sheet(
    path: Path,
    options: ReadOptions,
    load: Callable[[], pd.DataFrame],
    code: tuple[str, ...],
    *,
    needs: str,
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
    needs : str
        The library to install where there is none for this format.
    """
    kind = path.suffix.lower()[1:]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frame = load()
    except ImportError as error:
        raise ReadError(f"reading .{kind} files needs {needs}: pip install {needs}.") from error
    except ReadError:
        raise
    except Exception as error:  # whatever the format's library raises on a damaged file
        raise ReadError(f"{path} can't be read as .{kind}: {brief(error)}.") from error
    frame.columns = [str(name) for name in frame.columns]
    frame = frame.replace(dict.fromkeys(options.missing)) if options.missing else frame
    return Sheet(frame, {"format": kind}, ("import pandas as pd", *code))
