"""A credal partition as a data frame and as a small table in a notebook."""

from __future__ import annotations

import html
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softecm.belief.transforms import _check_choice

if TYPE_CHECKING:
    from softecm.belief.partition import CredalPartition

ROWS_IN_HTML = 20


def frame(partition: CredalPartition, backend: str | None, ids: ArrayLike | None, clear: float) -> Any:
    """A data frame, pandas or polars, with a row for each object."""
    library = _frame_library(backend)
    sets = partition.focal_sets.labels()
    clusters = [f"ω{k + 1}" for k in range(partition.n_clusters)]
    leading: dict[str, NDArray[np.generic]] = {}
    if ids is not None:
        leading["id"] = np.asarray(ids)
        if leading["id"].shape != (len(partition),):
            raise ValueError(
                f"ids must have one entry for each of the {len(partition)} objects; got shape {leading['id'].shape}."
            )
    leading["label"] = partition.labels()
    said = partition.decisions(clear)
    leading["set"] = np.array(sets, dtype=object)[said.columns]
    leading["decision"] = said.words
    leading["confidence"] = said.confidence
    leading["doubt"] = partition.doubt()
    names = [f"bel({k})" for k in clusters] + [f"pl({k})" for k in clusters] + [f"m({a})" for a in sets]
    # A column a row of this array: frames keep columns contiguous, so they can take it as it is.
    values = np.concatenate([partition.belief().T, partition.plausibility().T, partition.masses.T])
    if library.__name__ == "polars":
        return library.DataFrame({**leading, **dict(zip(names, values, strict=True))})
    frame = library.DataFrame(values.T, columns=names, copy=False)
    for position, (name, column) in enumerate(leading.items()):
        frame.insert(position, name, column)
    return frame


def html_table(partition: CredalPartition) -> str:
    """How many objects have their largest mass on each set."""
    counts = np.bincount(partition.masses.argmax(1), minlength=len(partition.focal_sets) + 1)
    named = list(zip(partition.focal_sets.labels(), counts.tolist(), strict=True))
    if len(named) > ROWS_IN_HTML:  # the clusters may be many, the sets many more: keep the largest
        named.sort(key=lambda row: -row[1])
        rest = named[ROWS_IN_HTML - 1 :]
        named = [*named[: ROWS_IN_HTML - 1], (f"{len(rest)} others", sum(count for _, count in rest))]
    rows = "".join(f"<tr><td>{html.escape(a)}</td><td>{count}</td></tr>" for a, count in named)
    return (
        f"<table><caption>{html.escape(repr(partition))}</caption>"
        f"<thead><tr><th>set of largest "
        f"mass</th><th>objects</th></tr></thead><tbody>{rows}</tbody></table>"
    )


def _frame_library(backend: str | None) -> ModuleType:
    _check_choice("backend", backend, ("pandas", "polars", None))
    for name in [backend] if backend else ["pandas", "polars"]:
        try:
            return import_module(name)
        except ImportError:
            continue
    raise ImportError(
        f"to_frame needs {backend or 'pandas or polars'}, which is not installed. "
        f"Install it with: pip install {backend or 'pandas'}"
    )
