"""ARFF: Weka's tables, whose header says what each attribute is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from softecm.readers.base import ReadError, ReadOptions, Sheet, brief
from softecm.readers.frames import sheet

if TYPE_CHECKING:
    import pandas as pd


def read_arff(path: Path, options: ReadOptions) -> Sheet:
    """The table, text decoded and ``?`` a gap."""
    code = ("from scipy.io.arff import loadarff", f"table = pd.DataFrame(loadarff({str(path)!r})[0])")
    return sheet(path, options, lambda: _frame(path), code)


def _frame(path: Path) -> pd.DataFrame:
    import pandas as pd
    from scipy.io import arff

    try:
        data, _ = arff.loadarff(path)
    except NotImplementedError as error:
        raise ReadError(f"{path} has attributes that can't be read ({brief(error)}): save it as CSV.") from error
    except StopIteration as error:
        raise ReadError(f"{path} can't be read as .arff: it has no line @data.") from error
    except IndexError as error:
        raise ReadError(f"{path} has a row with fewer cells than there are attributes: mend it.") from error
    if not data.dtype.names:
        raise ReadError(f"{path} has no line @attribute, so its columns are unknown: save it as CSV.")
    frame = pd.DataFrame(data)
    for name in frame.columns:
        if frame[name].dtype == object:
            frame[name] = frame[name].str.decode("utf-8").replace("?", None)
    return frame
