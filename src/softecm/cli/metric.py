"""Which metric compares a file's objects: the one that was asked for, or the one that suits the columns, and why."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from softecm._checks import check_choice
from softecm._text import capitalized, counted, meant, opening, some_of
from softecm.cli.options import CommonSettings, number_or
from softecm.cli.problems import Problem, mendable
from softecm.readers import Loaded
from softecm.readers.base import ATTRIBUTES

if TYPE_CHECKING:
    from softecm import SoftECM
    from softecm.distances.auto import MetricChoice

ALL_OF_IT = 0.9  # of a group: the code makes it
SOME_OF_IT = 0.25  # the same of the outliers
MATRIX = "the same names in rows and columns, and zeros on the diagonal: a matrix of dissimilarities"
ASYMMETRY = 0.5  # of a matrix with names, as a share of its largest number; an error if it is more than rounding
GROUP = re.compile(r"(?<!['\w])(?:[Gg]roup |ω)([1-9]\d{0,5})\b")  # a group without a name in a sentence

#: How ``--scale`` may have columns of numbers, and what is said of it.
SCALES = {
    "auto": "",
    "standard": "numbers are scaled to unit standard deviation (--scale standard)",
    "robust": "numbers are scaled by their quartiles (--scale robust)",
    "none": "numbers are not scaled (--scale none)",
}


def metric_for(settings: CommonSettings, loaded: Loaded, n_clusters: int | None = None) -> MetricChoice:
    """The metric that was asked for, or that suits the data, and why; refused where nobody knows it."""
    with mendable(ValueError):
        if "=" not in settings.weights:
            check_choice("weights", settings.weights, ("auto", "equal"), "Or give columns: age=3,income=0.5.")
        check_choice("scale", settings.scale, SCALES)
        choose = _for_views if loaded.has_views else _for_objects
        choice = choose(settings.metric, settings.scale, loaded, n_clusters)
    return choice if settings.weights == "auto" else _weighted(choice, loaded, settings.weights)


def rows_of(metric: str) -> dict[str, bool]:
    """What the metric says about the rows of a table: options of the reader."""
    from softecm.distances import SEMI_METRICS
    from softecm.distances.auto import SERIES_AUTO
    from softecm.spaces.states import States

    space = SEMI_METRICS[metric].space if metric in SEMI_METRICS else None
    if space is States:
        return {"states": True}
    return {"series": True} if metric == SERIES_AUTO or (space is not None and space.of_series) else {}


def _for_objects(name: str, scale: str, loaded: Loaded, n_clusters: int | None) -> MetricChoice:
    from scipy.sparse import issparse

    from softecm.distances import SEMI_METRICS
    from softecm.distances.auto import AUTO, REQUESTED, SERIES_AUTO, SPARSE, Look, MetricChoice, kind_of, series_choice
    from softecm.spaces.real import RealVectors

    check_choice("metric", name, (AUTO, SERIES_AUTO, *SEMI_METRICS))
    of_series = loaded.shape == "series"
    if not of_series and rows_of(name).get("series"):
        raise Problem(
            f"--metric {name} compares time series, and neither a sparse matrix nor a file read block by block is read as "
            "series: use --metric auto."
        )
    if name not in (AUTO, SERIES_AUTO):
        _check_kind(name, loaded)
    if scale != "auto":
        return _scaled(name, loaded, scale)
    if name == AUTO and _is_matrix(loaded):
        return MetricChoice("precomputed", MATRIX)
    if name == SERIES_AUTO or (name == AUTO and of_series and kind_of(loaded.data) == "series"):
        return series_choice(loaded.data, n_clusters)
    if name != AUTO:
        if loaded.gaps and SEMI_METRICS[name].space is RealVectors:
            raise Problem(_no_gaps(name, loaded))
        return MetricChoice(name, REQUESTED)
    if issparse(loaded.data):
        return MetricChoice("sqeuclidean", SPARSE)
    look = Look.of(loaded.data)  # which columns to take, the reader has said
    # Of a file read block by block only a sample is here, but its gaps were counted.
    return replace(look, gaps=look.gaps or bool(loaded.gaps)).choice()


def _is_matrix(loaded: Loaded) -> bool:
    """Whether a table is a matrix of dissimilarities by its names; refused if only its numbers say so."""
    from softecm.spaces.base import look_like_dissimilarities, refuse_dissimilarities

    frame = loaded.data
    is_square = loaded.shape == "table" and hasattr(frame, "columns") and len(frame) == len(frame.columns)
    if not is_square or not loaded.numeric:
        return False
    numbers = np.asarray(frame, dtype=np.float64)
    if loaded.ids is not None and loaded.names == [str(name) for name in frame.columns]:
        if loaded.gaps and look_like_dissimilarities(np.nan_to_num(numbers), 1.0):
            raise Problem(_gaps_of_matrix(numbers, loaded.names))
        return look_like_dissimilarities(numbers, ASYMMETRY)
    refuse_dissimilarities(numbers)
    return False


def _gaps_of_matrix(d: NDArray[np.float64], names: Sequence[str]) -> str:
    """What to do about the empty cells of a matrix of dissimilarities."""
    gaps = np.isnan(d)
    i, j = np.argwhere(gaps)[0]
    cells = f"a matrix of dissimilarities must be complete; got {counted(int(gaps.sum()), 'empty cell', 'empty cells')}"
    remedy = "fill in estimates" if (gaps & gaps.T).any() else "--symmetrize mean takes the other direction for these"
    return f"{cells}, the first from {names[i]} to {names[j]}: {remedy}."


def check_symmetric(loaded: Loaded) -> None:
    """Refuse matrices of dissimilarities that differ by direction, with the names of two objects."""
    from softecm.spaces.base import symmetric

    parts = loaded.data.values() if loaded.has_views else [loaded.data] if loaded.numeric else []
    for part in parts:
        if not hasattr(part, "indptr") and part.shape[0] == part.shape[1]:  # the fit refuses others
            with mendable(ValueError):
                symmetric(np.asarray(part, dtype=np.float64), loaded.ids)


def _for_views(name: str, scale: str, loaded: Loaded, n_clusters: int | None) -> MetricChoice:
    """What suits each view, all counting alike; the table's numbers are scaled as asked."""
    from softecm.distances.auto import choose_views

    if all(getattr(part, "ndim", 0) == 2 and part.shape[0] == part.shape[1] for part in loaded.data.values()):
        raise Problem("--matrix needs --algorithm MECMdd, which combines several dissimilarity matrices: add it.")
    if name != "auto":
        raise Problem(
            "--metric is for one file: with --series or --embedding each view gets its own metric. Leave it out."
        )
    first, table = next(iter(loaded.data.items()))
    return choose_views(loaded.data, {first: _for_objects("auto", scale, replace(loaded, data=table), None)})


def _check_kind(name: str, loaded: Loaded) -> None:
    """Refuse a metric of series for a table, and of tables for series."""
    from softecm.distances import SEMI_METRICS
    from softecm.spaces.states import States

    space = SEMI_METRICS[name].space
    if space is States:
        if loaded.shape != "series" or loaded.table is not None or not isinstance(loaded.data, list):
            raise Problem(
                f"--metric {name} compares sequences of states: give a table with one sequence per row, or with one "
                "step per row and --id, --time and --value."
            )
        return
    if not space.of_series and loaded.shape == "series":
        raise Problem(f"--metric {name} compares rows of a table, and the file holds series: use auto, softdtw or dtw.")


def _scaled(name: str, loaded: Loaded, scale: str) -> MetricChoice:
    """The metric with columns scaled as asked."""
    from softecm.distances import Mixed
    from softecm.distances.auto import MetricChoice

    if loaded.shape == "series":
        raise Problem(f"--scale {scale} is for tables, and the file holds series: leave it out.")
    if name not in ("auto", "mixed"):
        raise Problem(f"--scale {scale} goes with --metric auto or mixed, which scale columns; got --metric {name}.")
    plain = not loaded.gaps and loaded.numeric
    if scale == "none" and name == "auto" and plain:
        return MetricChoice("sqeuclidean", SCALES[scale])
    return MetricChoice(Mixed(scaling={"standard": "std"}.get(scale, scale), weights=None), SCALES[scale])


def _weighted(choice: MetricChoice, loaded: Loaded, weights: str) -> MetricChoice:
    """The same with columns that all count alike, or as much as is said of them."""
    from softecm.distances import Mixed
    from softecm.distances.auto import REQUESTED

    if loaded.shape == "series" or loaded.has_views:
        raise Problem(
            f"--weights {weights} is for columns of a table, and the file holds series or views: leave it out."
        )
    own = None if weights == "equal" else _by_column(weights, [c.name for c in loaded.columns if c.kind in ATTRIBUTES])
    if choice.name != Mixed.name:
        if choice.reason == REQUESTED:
            raise Problem(
                f"--weights {weights} goes with --metric auto or mixed, which weigh columns; got {choice.name}."
            )
        if own is None:
            return choice
    metric = choice.metric if isinstance(choice.metric, Mixed) else Mixed()
    reason = "columns have the weights that were given" if own else f"{choice.reason}; all columns have equal weights"
    return replace(choice, metric=replace(metric, weights=own), reason=f"{reason} (--weights {weights})")


def _by_column(text: str, columns: Sequence[str]) -> dict[str | int, float]:
    """Weights of columns as they are typed: age=3,income=0.5."""
    weights: dict[str | int, float] = {}
    for entry in text.split(","):
        name, _, number = map(str.strip, entry.rpartition("="))
        if name not in columns:
            raise Problem(f"--weights {entry} must name one of the columns {some_of(columns)}.{meant(name, columns)}")
        weight = float(number_or("--weights", number) or 0)
        if not 0 < weight < np.inf:
            raise Problem(f"--weights {entry} must be a number above 0; --drop {name} leaves the column out.")
        weights[name] = weight
    return weights


def _no_gaps(name: str, loaded: Loaded) -> str:
    first = next(c.name for c in loaded.columns if c.gaps and c.kind in ATTRIBUTES)
    cells = counted(loaded.gaps, "cell is", "cells are")
    return (
        f"--metric {name} takes no missing values, and {cells} missing (column {first}): use --metric mixed, which "
        "skips them, fill them in, or leave out columns with --drop."
    )


# ------------------------------------------------------------------ what makes a metric a poor choice


def far_value_remarks(choice: MetricChoice, loaded: Loaded) -> tuple[str, ...]:
    """What looks like a code for missing cells, and the columns that one far value stretches."""
    from softecm.distances.auto import far_values

    row_name, names = "row" if loaded.ids is None else "object", loaded.names
    with mendable(ValueError, TypeError):
        sentences = far_values(choice.metric, loaded.data, lambda row: f"{row_name} {names[row]}")
    return tuple(map(capitalized, sentences))


def groups_of_codes(choice: MetricChoice, loaded: Loaded, model: SoftECM) -> tuple[str, ...]:
    """Which groups are made of the rows that hold what looks like a code for missing cells."""
    from softecm.distances.auto import rows_of_codes

    if loaded.has_views:
        return ()
    with mendable(ValueError, TypeError):
        codes = rows_of_codes(choice.metric, loaded.data)
    decisions = model.partition_.decisions()
    names = decisions.focal_sets.in_words()
    sentences = []
    for code, rows in codes:
        held = f"{code.value:.0f} ({int(rows.sum())} rows have it)"
        for column in np.unique(decisions.columns[rows]):
            own = decisions.columns == column
            size, both = int(own.sum()), int((own & rows).sum())
            if both >= (ALL_OF_IT if column else SOME_OF_IT) * size:
                group = f"{opening(names[column])}: {both} of its {size} objects"
                sentences.append(f"{group if column else f'{both} of the {size} outliers'} have {held}.")
    return tuple(sentences)


def with_names(text: str, names: Sequence[str]) -> str:
    """Return a sentence about unnamed groups with these names; a quoted column name is unchanged.

    Examples
    --------
    >>> with_names("Group 2 falls into two parts; column 'group 1' does not.", ["calm", "busy"])
    "busy falls into two parts; column 'group 1' does not."
    """
    return GROUP.sub(lambda match: names[int(match[1]) - 1] if int(match[1]) <= len(names) else match[0], text)
