"""Parquet, Feather and Arrow: columns with their types. Larger Parquet files are read block by block elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from softecm.readers.base import ReadOptions, Sheet
from softecm.readers.frames import check_text, sheet

if TYPE_CHECKING:
    import pandas as pd


def read_parquet(path: Path, options: ReadOptions) -> Sheet:
    """The whole table."""
    code = (f"table = pd.read_parquet({str(path)!r})",)
    return sheet(path, options, lambda: _parquet_frame(path), code)


def _parquet_frame(path: Path) -> pd.DataFrame:
    import pandas as pd
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        check_text(file.schema_arrow, lambda columns: file.read(columns))
    return pd.read_parquet(path)


def shape_of(path: Path) -> tuple[int, int]:
    """Rows and columns, from the end of the file; (0, 0) where it is damaged: reading it will tell."""
    try:
        from pyarrow import parquet

        about = parquet.read_metadata(path)
    except Exception:  # whatever pyarrow raises
        return 0, 0
    return int(about.num_rows), int(about.num_columns)


def read_feather(path: Path, options: ReadOptions) -> Sheet:
    """The whole table."""
    code = (f"table = pd.read_feather({str(path)!r})",)
    return sheet(path, options, lambda: _feather_frame(path), code)


def _feather_frame(path: Path) -> pd.DataFrame:
    import pandas as pd
    from pyarrow import feather

    check_text(feather.read_table(path).schema, lambda columns: feather.read_table(path, columns))
    return pd.read_feather(path)
