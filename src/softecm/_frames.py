"""Frames out: whichever data-frame library is installed, or what to install."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

BACKENDS = ("pandas", "polars", "pyarrow")


def check_pandas(maker: str) -> None:
    """Refuse in a sentence that says what to install."""
    if not find_spec("pandas"):
        raise ImportError(f"{maker} needs pandas: pip install 'softecm[data]'.")


def make_frame(columns: Mapping[str, object], backend: str | None = None) -> Any:
    """A frame of these columns; ``backend`` None takes the first of pandas, polars and pyarrow that is installed."""
    if backend is None:
        backend = next((name for name in BACKENDS if find_spec(name)), None)
        if backend is None:
            raise ImportError(
                "a data frame needs pandas, polars or pyarrow, and none is installed: pip install pandas."
            )
    if backend not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(map(repr, BACKENDS))}; got {backend!r}.")
    if not find_spec(backend):
        raise ImportError(f"backend {backend!r} is not installed: pip install {backend}.")
    if backend == "pandas":
        import pandas as pd

        return pd.DataFrame(dict(columns))
    if backend == "polars":
        import polars as pl

        return pl.DataFrame(dict(columns))
    import pyarrow as pa

    return pa.table(dict(columns))
