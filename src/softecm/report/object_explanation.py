"""The explanation of one object: a small table and a sentence, as in a report's panel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from softecm._checks import is_whole, make_frame
from softecm._text import place
from softecm.belief import CredalPartition
from softecm.belief.assignments import CLEAR, Decision
from softecm.report import inputs, reasons
from softecm.report.columns import TableColumns, columns_of, thin_columns
from softecm.report.inputs import SAME, Comparing, Data
from softecm.report.reasons import NO_COLUMNS, Attributes, Explanation, Pulls, Teller
from softecm.report.words import named_nearest, sentence
from softecm.spaces.raw import as_plain
from softecm.spaces.views import n_objects

SEEN = 1_000  # objects that determine a column's precision


@dataclass(frozen=True)
class ObjectExplanation:
    """The explanation of one object's position; made by ``model.explain_object(X, i)``.

    Attributes
    ----------
    name : str
        Name of the object.
    decision : Decision
        The one-word decision.
    candidates : tuple of str
        The clusters of the explanation, the likeliest first: those of its set, at least two.
    pulls : tuple of Pulls
        The pull of each column, the strongest first; segments of a series in order.
    sentence : str
        The explanation in words.
    neighbours : tuple of (str, float)
        For rows of a matrix: the nearest other objects with their distances.
    """

    name: str
    decision: Decision
    candidates: tuple[str, ...]
    pulls: tuple[Pulls, ...]
    sentence: str
    neighbours: tuple[tuple[str, float], ...] = ()

    def __str__(self) -> str:
        return self.sentence

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a data frame with columns ``column``, ``value``, ``to ω1`` … (pulls) and ``at ω1`` … (prototypes).

        Segments of a series have no prototype values, and a value only if steps are states. ``noise`` marks columns
        whose pull is no larger than that of noise.
        """
        rows: dict[str, list[object]] = {"column": [one.column for one in self.pulls]}
        if any(one.value for one in self.pulls):
            rows["value"] = [one.value for one in self.pulls]
        for k, name in enumerate(self.candidates):
            rows[f"to {name}"] = [one.towards[k] for one in self.pulls]
        for k, name in enumerate(self.candidates):
            if any(one.at[k] for one in self.pulls):
                rows[f"at {name}"] = [one.at[k] for one in self.pulls]
        if any(one.noise for one in self.pulls):
            rows["noise"] = [one.noise for one in self.pulls]
        return make_frame(rows, backend)


def explain_object(
    model: Comparing,
    X: Data,
    i: int | str,
    ids: Iterable[object] | None = None,
    clear: float = CLEAR,
    partition: CredalPartition | None = None,
) -> ObjectExplanation:
    """Explain object ``i`` of ``X``, an index from 0 or a name; by its masses in ``partition``, if given."""
    X = as_plain(X)
    count = n_objects(X)
    names = inputs.names_of(X, count, ids)
    if isinstance(i, str) and i in names:
        if names.count(i) > 1:
            raise IndexError(f"i must name one object; got {i!r}, the name of {names.count(i)}. Pass its number.")
        i = names.index(i)
    if not is_whole(i) or not -count <= i < count:
        raise IndexError(
            f"i must be the number of one of the {count} objects of X, counted from 0, or its name; got {i!r}."
        )
    row = int(i) % count
    one = inputs.take(X, np.array([row]))
    partition = _masses(model, X, row) if partition is None else partition[row]
    columns, terms = _columns(model, X, row), reasons.terms_of(model, one)
    noise = None if columns is None or terms is None else reasons.noise_of(model, X)
    if noise is not None and terms is not None:
        noise = noise.of(terms.keys)
    teller: Teller | None = None if columns is None else Attributes(columns, noise)
    teller = reasons.series_teller(model, one) if inputs.of_series(model) else teller
    explanation = reasons.explanations(model, one, partition, np.array([0]), teller)[0]
    called = names[row]
    decision = partition.decisions(clear)[0]
    noun = inputs.noun_of(model)
    chosen = _candidates(partition, explanation)
    clusters = partition.focal_sets.cluster_names
    if terms is None:
        distances = np.asarray(model.transform(one), dtype=np.float64)[0, chosen]
        towards = tuple(reasons.towards_each(distances[:, None])[:, 0].tolist())
        pulls = [Pulls("distance", "", towards, tuple(f"{d:.4g}" for d in distances))]
    else:
        about = (teller or Attributes(NO_COLUMNS)).about(terms.keys)
        far = {name for name, _ in explanation.far}  # reasons for the distance, perhaps not for the group
        pulls = [
            replace(pull, column=about.named(pull.column), noise=pull.noise and pull.column not in far)
            for pull in about.pulls(0, chosen, terms.values[0])
        ]
    who = place(noun.capitalize(), row) if ids is None else called
    near = _neighbours(model, one, row, names)
    text = sentence(who, decision, explanation, partition.focal_sets, noun) + named_nearest(near)
    return ObjectExplanation(called, decision, tuple(clusters[k] for k in chosen), tuple(pulls), text, near)


def _masses(model: Comparing, X: Data, row: int) -> CredalPartition:
    """Return the object's masses: the fit's own, which links may change, if ``X`` is what was fitted."""
    predicted, fitted = model.predict_partition(inputs.take(X, np.array([row]))), inputs.fitted_partition(model)
    if fitted is None or len(fitted) != n_objects(X) or inputs.pairwise(model):
        return predicted
    moved = np.abs(predicted.masses - fitted.masses[row]).max() > SAME
    return fitted[row] if moved and inputs.same_masses(model, X, fitted) else predicted


def _neighbours(model: Comparing, one: Data, row: int, names: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """Return the nearest other objects of a matrix of dissimilarities among all."""
    if not inputs.pairwise(model):
        return ()
    distances = np.asarray(one, dtype=np.float64).ravel()
    if len(distances) != len(names):  # to other objects, whose names are unknown
        return ()
    return tuple((names[j], far) for j, far in reasons.nearest_objects(distances, row))


def _columns(model: Comparing, X: Data, row: int) -> TableColumns | None:
    """Return the object's cells, first of some that define the precision; None if objects are no rows of a table."""
    if inputs.pairwise(model) or inputs.of_series(model):
        return None
    rows = np.array([row, *(r for r in inputs.every(n_objects(X), SEEN).tolist() if r != row)])
    some = inputs.take(X, rows)
    return thin_columns(model, some, None) if issparse(X) else columns_of(model, some, None)


def _candidates(partition: CredalPartition, explanation: Explanation) -> list[int]:
    """Return the clusters of its set, the two of its explanation first."""
    inside = np.flatnonzero(partition.set_indicators()[0]).tolist()
    return list(dict.fromkeys([explanation.first - 1, explanation.second - 1, *inside]))
