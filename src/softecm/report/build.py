"""From a fitted estimator and its objects to a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import issparse

from softecm._text import capitalized, number_of
from softecm._version import __version__
from softecm.belief import CredalPartition
from softecm.belief.assignments import CLEAR, checked_clear
from softecm.distances.auto import far_values
from softecm.readers.base import Column
from softecm.report import fit, inputs, reasons
from softecm.report.columns import TableColumns, columns_of, thin_columns, unknown_columns
from softecm.report.inputs import MOST_DRAWN, Data, FittedModel, FloatArray, IntArray
from softecm.report.map import Map, dissimilarity_map, guessed_map, metric_map, plane_map, thin_map
from softecm.report.page import ReportData, hidden_fields
from softecm.report.reasons import NO_COLUMNS, Attributes, Explanation
from softecm.report.sections.columns import taken
from softecm.report.sections.groups import profiled, ruled
from softecm.report.sections.what_if import live_of
from softecm.spaces.raw import as_plain, ids_of, without
from softecm.spaces.views import n_objects

if TYPE_CHECKING:
    from softecm.calibration import Calibration

MOST_SERIES = 3_000
MOST_DISTANCES = 1_000_000  # of the drawn objects to all prototypes, at most this many stored in the page
GONE = "The objects are not available, so positions are estimated from the masses and nothing is explained."


def build(
    model: FittedModel,
    X: Data,
    *,
    names: Sequence[object] | None = None,
    ids: Sequence[object] | None = None,
    labels: Sequence[object] | None = None,
    title: str | None = None,
    feature_names: Sequence[str] | None = None,
    partition: CredalPartition | None = None,
    parameters: Mapping[str, str] | None = None,
    scores: Mapping[str, float] | None = None,
    warnings: Sequence[str] | None = None,
    reading: Mapping[str, str] | None = None,
    code: str | None = None,
    command: str = "",
    clear: float = CLEAR,
    candidates: Mapping[int, float | None] | None = None,
    candidates_note: str = "",
    columns: Sequence[Column] | None = None,
    values: bool = True,
    calibration: Calibration | None = None,
) -> ReportData:
    """Return a report on a fitted estimator with ``html`` and ``write(path)``; a notebook shows it.

    Works for every estimator: one without prototypes (EVCLUS), or with a metric that is not a sum over attributes,
    shows what it has.

    Parameters
    ----------
    model : fitted estimator
    X : data like those given to ``fit``, or None
        The fitted objects, or others; a data frame, an array, a list of series, dissimilarities. None if they are not
        available: then ``partition`` is shown without them.
    names, ids : sequence of length n, optional
        Names of the objects, by either parameter; by default a column excluded as an id, a pandas index, or numbers
        from 1.
    labels : sequence of length n, optional
        Known classes for scores; None if unknown.
    title : str, optional
        By default the number of objects.
    feature_names : sequence of str, optional
        Names of the columns, or of the channels of series, if ``X`` has none.
    partition : CredalPartition, optional
        The partition to show; by default the fit's own. For other objects use ``model.predict_partition(X)``.
    parameters, scores, warnings, reading, code : optional
        Contents of the last section, if better known than from the model.
    command : str, optional
        The command that made this result, without --alpha, --beta, --delta and --clear, which the sliders add.
    clear : float, default 0.75
        Minimum belief for "clearly"; see :meth:`CredalPartition.decisions`.
    candidates, candidates_note : optional
        Candidate numbers of groups with their values (None if clusters merged), and how one was selected.
    columns : sequence of softecm.readers.Column, optional
        The kind of each column of a file and its reason, including units; by default as used by the model, with the
        units that :func:`softecm.read_table` left in the data frame.
    values : bool, default True
        False for a report without cells, names of objects and prototypes: it shows only masses, sets, the names of
        columns and which of them distinguish the groups.
    calibration : Calibration, optional
        The result of :func:`softecm.calibrate` for this model and these objects, for a section on certainty.

    Returns
    -------
    report : ReportData

    Examples
    --------
    >>> from softecm import ECM, report
    >>> from softecm.datasets import load_diamond
    >>> X = load_diamond().data
    >>> page = report.build(ECM(2, delta=5.0, random_state=0).fit(X), X, title="The Diamond", feature_names=["x", "y"])
    >>> page.axis_names, page.html.count("The Diamond")
    (('x', 'y'), 2)
    """
    known = ids_of(X, getattr(model, "left_out_", None))
    units = {c.name: c.written.unit for c in columns or () if c.written is not None}
    units = units or dict((getattr(X, "attrs", None) or {}).get("units", {}))  # of read_table
    X = as_plain(without(X, getattr(model, "left_out_", None)))
    shown = partition if partition is not None else _partition(model, X)
    if X is not None and len(shown) != n_objects(X):
        raise ValueError(
            f"partition must have a mass function for each of the {n_objects(X)} objects of X; got {len(shown)}. Leave it "
            "out to have the model assign these objects."
        )
    scored = fit.scores(shown, labels) if scores is None else scores
    called = inputs.names_of(X, len(shown), next((one for one in (names, ids) if one is not None), known))
    view = look(model, X, shown, feature_names, units)
    noun = "object" if view.prototype_series is None else inputs.noun_of(model)
    page = ReportData(
        title=f"Groups of {number_of(len(shown), noun)}" if title is None else title,
        partition=shown,
        ids=called,
        rows=view.rows,
        distances=None if view.distances is None else to_nearest(view.distances, shown.n_clusters),
        attributes=view.columns.attributes,
        set_aside=reasons.columns_set_aside(model),
        prototypes=view.columns.prototypes,
        series=view.series,
        prototype_series=view.prototype_series,
        channels=channel_names(view.channels, feature_names, columns),
        medoids=_medoids(model, called),
        explanations=view.explanations,
        **view.map._asdict(),
        merged=inputs.merged(model),
        noun=noun,
        clear=checked_clear(clear),
        candidates=candidates or {},
        candidates_note=candidates_note,
        history=[float(v) for v in getattr(model, "history_", ())],
        runs={name: list(values) for name, values in getattr(model, "_runs", {}).items()},
        parameters=fit.parameters(model) if parameters is None else parameters,
        reading=reading or {},
        columns=taken(model, view.columns.attributes, columns),
        scores=scored,
        warnings=_warnings(model, X, shown, called) if warnings is None else warnings,
        code=fit.code(model) if code is None else code,
        made_by=f"softecm {__version__}",
        calibration=_calibrated(calibration, len(shown)),
        live=live_of(model, view.distances, shown[view.rows], command) if values else None,
    )
    page = replace(page, profiles=profiled(page), rules=ruled(page) if values else None)
    return page if values else ReportData(**hidden_fields(page, model))


def channel_names(
    numbered: Sequence[str], feature_names: Sequence[str] | None, columns: Sequence[Column] | None
) -> Sequence[str]:
    """Return the names of the channels of series: as given, as in the file, or numbers."""
    read = [c.name for c in columns or () if c.kind == "number"]
    return next(
        (names for names in (feature_names, read) if names is not None and len(names) == len(numbered)), numbered
    )


def _partition(model: FittedModel, X: Data) -> CredalPartition:
    """Return the fit's own partition if ``X`` is what was fitted, otherwise the model's prediction for ``X``.

    The fit's own may include more: links between objects, and in EVCLUS all conflicts at once.
    """
    if X is None:
        raise ValueError("partition must be given if X is None: there is nothing else to draw. Pass model.partition_.")
    if not hasattr(X, "__len__"):
        raise ValueError(
            f"X must be in memory for a report; got {type(X).__name__}. Pass a sample of the objects: the report would "
            "draw no more of them anyway."
        )
    fitted = inputs.fitted_partition(model)
    if fitted is None:
        return model.predict_partition(X)
    count = n_objects(X)
    if len(fitted) != count:
        raise ValueError(
            f"X has {count} objects and the fit had {len(fitted)}. Pass the objects of the fit, or for other objects "
            "partition=model.predict_partition(X)."
        )
    if inputs.pairwise(model):
        return fitted if is_square(np.asarray(X, dtype=np.float64)) else model.predict_partition(X)
    if not inputs.same_masses(model, X, fitted):
        raise ValueError(
            f"X has as many objects as the fit ({len(fitted)}) but other masses: they are other objects, or links changed "
            "their masses. Choose what to show: partition=model.predict_partition(X) or partition=model.partition_."
        )
    return fitted


def _calibrated(calibration: Calibration | None, count: int) -> Calibration | None:
    """Return the calibration, if it is about these objects."""
    if calibration is not None and len(calibration.before) != count:
        raise ValueError(
            f"calibration must be of the report's {count} objects; got one of {len(calibration.before)}. Pass what "
            "softecm.calibrate(model, X) found for this X."
        )
    return calibration


def _warnings(model: FittedModel, X: Data, shown: CredalPartition, names: Sequence[str]) -> list[str]:
    """Return the model's own warnings, and remarks on far values in the data of the fit or on another number of objects."""
    own, fitted, compared = fit.warnings(model), inputs.fitted_partition(model), inputs.comparing(model)
    if fitted is not None and len(fitted) != len(shown):
        own.append(
            f"The fit had {len(fitted)} objects and these are {len(shown)}: the model predicts where they belong."
        )
    if shown is fitted and X is not None and compared is not None and not inputs.pairwise(model):
        far = far_values(compared.model_.metric, X, lambda row: f"object {names[row]}")
        own += map(capitalized, far)
    return own


def _medoids(model: FittedModel, names: Sequence[str]) -> list[str]:
    """Return the objects that represent the sets, if prototypes are objects."""
    fitted = inputs.comparing(model)
    if fitted is None or not inputs.pairwise(model) or np.ndim(fitted.prototypes_) != 1:
        return []
    known = inputs.fitted_partition(model)
    is_fit = known is not None and len(names) == len(known)
    return [names[int(i)] if is_fit else f"{int(i) + 1} of the fit" for i in fitted.prototypes_]


# ------------------------------------------------------------------ views of the objects, by kind


class View(NamedTuple):
    """The objects that are drawn one by one, and their details."""

    rows: IntArray
    map: Map
    distances: FloatArray | None = None  # (rows, f), to the prototypes of all sets
    columns: TableColumns = NO_COLUMNS
    series: Sequence[FloatArray] | None = None
    prototype_series: Sequence[FloatArray] | None = None
    channels: Sequence[str] = ()  # of series
    explanations: Mapping[int, Explanation] = {}


def look(
    model: FittedModel,
    X: Data,
    partition: CredalPartition,
    names: Sequence[str] | None,
    units: Mapping[str, str] | None = None,
) -> View:
    """Return the view of some objects; ``names`` and ``units`` are those of columns, if the data have none."""
    most = MOST_SERIES if inputs.of_series(model) else min(MOST_DRAWN, MOST_DISTANCES // len(partition.focal_sets))
    rows = inputs.choose_rows(partition, np.concatenate(inputs.noteworthy(partition)), most)
    fitted = inputs.comparing(model)
    if X is None:
        return _without_objects(model, partition, rows, names)
    if fitted is None or inputs.pairwise(model):
        return _by_dissimilarities(model, X, partition, rows)
    some = inputs.take(X, rows)
    distances = np.asarray(fitted.transform(some), dtype=np.float64)
    if issparse(X):
        return View(rows, thin_map(fitted, partition[rows], distances), distances, thin_columns(fitted, some, names))
    explained = _explained_rows(partition, rows, distances)
    if inputs.of_series(model):
        own, prototypes = inputs.series_of(fitted, some)
        teller = reasons.series_teller(fitted, inputs.take(X, explained))
        why = reasons.explanations(fitted, X, partition, explained, teller)
        drawn, channels = metric_map(fitted, some, partition[rows]), inputs.channels_of(fitted)
        return View(rows, drawn, distances, NO_COLUMNS, own, prototypes, channels, why)
    columns = columns_of(fitted, some, names, units)
    plane = columns is not None and columns.is_plane and inputs.views_of(fitted) is None
    drawn = plane_map(columns, fitted) if plane and columns is not None else metric_map(fitted, some, partition[rows])
    told = columns_of(fitted, inputs.take(X, explained), names, units)
    by_column = None if told is None else Attributes(told, reasons.noise_of(fitted, X))
    why = reasons.explanations(fitted, X, partition, explained, by_column)
    return View(rows, drawn, distances, columns or NO_COLUMNS, explanations=why)


def to_nearest(distances: FloatArray, n_clusters: int) -> FloatArray:
    """Return each object's distance to the nearest cluster's prototype."""
    nearest: FloatArray = distances[:, :n_clusters].min(1)
    return nearest


def _explained_rows(partition: CredalPartition, rows: IntArray, distances: FloatArray) -> IntArray:
    nearest = to_nearest(distances, partition.n_clusters)
    return rows[np.unique(np.concatenate(inputs.noteworthy(partition[rows], nearest)))]


def _by_dissimilarities(model: FittedModel, X: Data, partition: CredalPartition, rows: IntArray) -> View:
    """Return a view of objects known by their dissimilarities to those of the fit."""
    D = np.asarray(X, dtype=np.float64)
    square = D.ndim == 2 and is_square(D)
    drawn = dissimilarity_map(model, D, rows, partition[rows]) if square else guessed_map(model, partition[rows])
    fitted = inputs.comparing(model)
    if fitted is None:
        return View(rows, drawn)
    distances = np.asarray(fitted.transform(D[rows]), dtype=np.float64)
    why = reasons.explanations(fitted, D, partition, _explained_rows(partition, rows, distances), None)
    if square:
        why = {i: replace(one, nearest=reasons.nearest_objects(D[i], i)) for i, one in why.items()}
    return View(rows, drawn, distances, explanations=why)


def is_square(D: FloatArray) -> bool:
    """Whether dissimilarities are among the objects themselves rather than to others."""
    return D.shape[0] == D.shape[1] and not np.diagonal(D).any()


def _without_objects(
    model: FittedModel, partition: CredalPartition, rows: IntArray, names: Sequence[str] | None
) -> View:
    """Return a view without the objects: the sets, and positions estimated from masses."""
    fitted = inputs.comparing(model)
    drawn = guessed_map(model, partition[rows])._replace(map_note=GONE)
    if fitted is None or inputs.pairwise(model) or fitted.model_.space.sparse:
        return View(rows, drawn)
    if inputs.of_series(model):
        return View(rows, drawn, prototype_series=inputs.prototype_series(fitted), channels=inputs.channels_of(fitted))
    return View(rows, drawn, columns=unknown_columns(fitted, names, len(rows)))
