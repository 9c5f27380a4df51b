"""A credal partition as a data frame and as a small table in a notebook."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softecm._checks import check_choice, frame_of, make_frame
from softecm._text import grouped, number_of
from softecm.belief import assignments

if TYPE_CHECKING:
    from softecm.belief.partition import CredalPartition

ROWS_IN_HTML = 20
SAID = {
    "clearly": ("clearly belongs to one", "clearly belong to one"),
    "rather": ("rather belongs to one", "rather belong to one"),
    "between": ("lies between groups", "lie between groups"),
    "undecided": ("is undecided", "are undecided"),
    "nowhere": ("belongs to no group", "belong to no group"),
}


def frame(partition: CredalPartition, backend: str | None, ids: ArrayLike | None, X: Any, clear: float) -> Any:
    """Return a data frame, pandas or polars, with one row per object."""
    check_choice("backend", backend or "pandas", ("pandas", "polars"))
    sets, clusters = partition.focal_sets.labels(), partition.focal_sets.cluster_names
    own: dict[str, NDArray[np.generic]] = {}
    ids = partition.ids if ids is None and X is None else ids
    if ids is not None:
        own["id"] = np.asarray(ids)
        if own["id"].shape != (len(partition),):
            raise ValueError(
                f"ids must have one entry for each of the {len(partition)} objects; got shape {own['id'].shape}."
            )
    decisions = partition.decisions(clear)
    own["label"] = np.array(clusters, dtype=object)[partition.labels()]
    own["set"] = np.array(sets, dtype=object)[decisions.columns]
    own["decision"] = decisions.words
    own["confidence"] = decisions.confidence
    own["doubt"] = partition.doubt()
    names = [f"bel({k})" for k in clusters] + [f"pl({k})" for k in clusters] + [f"m({a})" for a in sets]
    beside = {} if X is None else _beside(partition, X, {*own, *names})
    leading = {"id": own.pop("id")} if ids is not None else {}
    leading |= {**beside, **own}
    # One column per row of this array: frames need contiguous columns, and can take them without a copy.
    values = np.concatenate([partition.belief().T, partition.plausibility().T, partition.masses.T])
    frame = make_frame({**leading, **dict(zip(names, values, strict=True))}, backend)
    has_index = backend != "polars" and type(X).__module__.startswith("pandas")
    return frame.set_axis(X.index, axis=0) if has_index else frame


def _beside(partition: CredalPartition, X: object, taken: set[str]) -> dict[str, Any]:
    """Return the columns of the objects, renamed if one of ours has the same name."""
    table = frame_of(X)
    if table is None:
        raise TypeError(
            f"X must be a data frame with the objects' columns; got {type(X).__name__}. Name the columns first: "
            "pandas.DataFrame(X, columns=[...])."
        )
    if len(table) != len(partition):
        raise ValueError(f"X must have a row for each of the {len(partition)} objects; got {len(table)}.")
    called = {name: f"{name} (data)" if name in taken else str(name) for name in table.columns}
    return {called[column.name]: _values(column) for column in table.iter_columns()}


def _values(column: Any) -> Any:
    """Return the cells of a column, in the library's own type if it has one."""
    native = column.to_native()
    return native.array if hasattr(native, "array") else column.to_numpy()


def html_table(partition: CredalPartition) -> str:
    """Summarize the decisions in words, then count objects per set, without empty sets."""
    table = partition.decisions().table()
    none, *sets = zip(partition.focal_sets.in_words(), table.sum(0).tolist(), strict=True)
    totals = assignments.counts_of(table)
    named = [(name, count) for name, count in (*sets, none) if count]
    if len(named) > ROWS_IN_HTML:  # there may be many sets: keep the largest
        named.sort(key=lambda row: -row[1])
        rest = named[ROWS_IN_HTML - 1 :]
        named = [*named[: ROWS_IN_HTML - 1], (f"{len(rest)} others", sum(count for _, count in rest))]
    said = {word: SAID[word][count != 1] for word, count in totals.items() if count}
    words = ", ".join(f"<b>{grouped(totals[word])}</b> {text}" for word, text in said.items())
    rows = "".join(f"<tr><td>{html.escape(name)}</td><td>{grouped(count)}</td></tr>" for name, count in named)
    more = "<p><code>partition_.labels(outliers=-1)</code> marks the outliers.</p>" if totals["nowhere"] else ""
    of_all = f"Of {number_of(len(partition), 'object')} in {number_of(partition.n_clusters, 'group')}"
    return (
        f"<p>{of_all}, {words or 'nothing is said'}.</p>"
        f"<table><thead><tr><th>group</th><th>objects</th></tr></thead><tbody>{rows}</tbody></table>{more}"
    )
