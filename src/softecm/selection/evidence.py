"""The mixture suitable for the objects, if any, and its evidence about the number of groups."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from sklearn.base import clone

from softecm.distances.auto import ALIKE, UNITS, MetricChoice, choose_for, resolve_metric, rows_of_codes
from softecm.distances.column_relevance import log_names
from softecm.distances.mixed import Mixed
from softecm.distances.table_sample import ROWS, Floats, TableSample
from softecm.distances.weighted_parts import AUTO
from softecm.fit.group_shapes import MOST_COLUMNS, may_be_shaped
from softecm.selection.mixtures import MixtureEvidence
from softecm.selection.number_mixtures import number_evidence, sample_of_numbers
from softecm.selection.table_mixtures import table_evidence
from softecm.spaces.columns import Name
from softecm.spaces.raw import raw_data, without
from softecm.spaces.views import n_objects

FEW = (2, 4)  # groups by which to see whether numbers may count by their logarithms

if TYPE_CHECKING:
    import pandas as pd

    from softecm.algorithms.base import EvidentialClusterer


def mixture_evidence(
    estimator: EvidentialClusterer, X: object, numbers: Iterable[int], most: int
) -> MixtureEvidence | None:
    """Return a mixture's evidence for these numbers of groups, and on to twice the best; None without a mixture.

    Parameters
    ----------
    estimator : its metric determines the kind of objects
    X : the objects
    numbers : of groups
    most : largest number to try
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fits report it
        choice = choose_for(estimator.get_params(deep=False).get("metric"), X, None)
        columns = _measurements(estimator, choice, X)
        rows = _weighed_rows(estimator, choice, X) if columns is None else None
    if columns is not None:
        tried, sample = list(numbers), sample_of_numbers(columns)
        by_logs = _of_logarithms(columns, tried, most)
        return by_logs or (None if sample is None else number_evidence(sample, tried, most))
    return None if rows is None else table_evidence(rows, numbers, most)


def _of_logarithms(columns: list[Floats], numbers: Sequence[int], most: int) -> MixtureEvidence | None:
    """Return the evidence of numbers whose spread within groups grows with their size; None if it does not."""
    if len(columns) > MOST_COLUMNS or max(map(np.min, columns)) <= 0.0:
        return None
    few = np.sort(np.random.RandomState(0).permutation(len(columns[0]))[:ROWS])
    some: dict[Name, Floats] = {name: column[few] for name, column in enumerate(columns)}
    counts = np.ones(len(few))
    if not any(log_names(some, c, counts) for c in FEW):
        return None
    evidence = table_evidence(TableSample.of_numbers(some, counts).ordered(), numbers, most)
    if evidence is None or evidence.no_groups:
        return None
    best = min(evidence.values, key=lambda c: evidence.values[c])
    return evidence if log_names(some, best, counts) else None


def _measurements(estimator: EvidentialClusterer, choice: MetricChoice, X: object) -> list[Floats] | None:
    """Return columns (n,) of numbers whose groups may have any shape, without rows that hold codes for missing; or None."""
    if choice.reason not in (ALIKE, UNITS):
        return None
    settings = clone(estimator).set_params(n_clusters=2)._settings()
    raw = raw_data(X).without(choice.left_out)
    numbers = raw.numbers() if may_be_shaped(settings, choice) else None
    if numbers is None:
        return None
    sound = np.ones(n_objects(raw.value), dtype=bool)
    for _, rows in rows_of_codes(choice.metric, raw):
        sound &= ~rows
    return [np.asarray(column, dtype=np.float64)[sound] for column in numbers.values()]


def _weighed_rows(estimator: EvidentialClusterer, choice: MetricChoice, X: object) -> TableSample | None:
    """Return the rows of a table whose columns are weighted by their evidence for groups; None for other objects."""
    if choice.metric is None or choice.metric == "precomputed":
        return None
    metric = resolve_metric(choice.metric, None)
    if not isinstance(metric, Mixed) or metric.weights != AUTO:
        return None
    space = metric.make_space()
    raw = space.check(clone(estimator), _without_codes(metric, without(X, choice.left_out)), reset=True)
    return TableSample.of(space.fit(raw, dtype=torch.float64).encode(raw), None).ordered()


def _without_codes(metric: Mixed, X: object) -> object:
    """Return a pandas table with NaN for apparent missing codes: these raise a question, and make no group."""
    if not hasattr(X, "assign"):
        return X
    table: pd.DataFrame = X
    for code, _ in rows_of_codes(metric, X):
        table = table.assign(**{str(name): table[name].mask(table[name] == code.value) for name in code.columns})
    return table


def mixture_column(fits: Sequence[tuple[object, EvidentialClusterer]]) -> Floats | None:
    """Return, for each pair of data and estimator, ICL of its number of clusters minus that of one group, or None.

    If no groups are separated, subtract the ICL of the best mixture instead, so that none is below 0.
    """
    column = np.full(len(fits), np.nan)
    seen: dict[tuple[int, str], MixtureEvidence | None] = {}
    for i, (X, model) in enumerate(fits):
        key = id(X), repr(model.get_params(deep=False).get("metric"))
        if key not in seen:
            numbers = {other.n_clusters for data, other in fits if data is X}
            seen[key] = mixture_evidence(model, X, numbers, max(numbers))
        evidence = seen[key]
        if evidence is None or model.n_clusters not in evidence.values:
            return None
        best = min(evidence.values.values())
        column[i] = evidence.values[model.n_clusters] - (best if evidence.no_groups else evidence.values[1])
    return column
