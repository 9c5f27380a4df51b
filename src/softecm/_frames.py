"""Data frames out, of the library that the user names."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

BACKENDS = ("pandas", "polars", "pyarrow")


def make_frame(columns: Mapping[str, object], backend: str | None = None) -> Any:
    """A frame of these columns; ``backend`` None is pandas."""
    backend = backend or "pandas"
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
