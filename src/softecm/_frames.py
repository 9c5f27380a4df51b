"""Data frames in, of any library, and out, of the library that the user names."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import narwhals.stable.v1 as nw

BACKENDS = ("pandas", "polars", "pyarrow")


def frame_of(X: object) -> nw.DataFrame[Any] | None:
    """A data frame of any library, as narwhals has it; None for anything else."""
    frame: object = nw.from_native(X, eager_only=True, pass_through=True)  # type: ignore[call-overload]
    return frame if isinstance(frame, nw.DataFrame) else None


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
