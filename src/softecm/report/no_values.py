"""A report that may leave the house: no cell, no name of an object, no prototype."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from softecm.explain import Profiles, Trait
from softecm.explain.profiles import in_time
from softecm.readers.base import Column
from softecm.report.data import ReportData
from softecm.report.fit import warnings
from softecm.report.inputs import FittedModel
from softecm.report.map import guessed_map
from softecm.report.reasons import Explanation, Part

HIDDEN = (
    "This report hides cells, names and prototypes: positions are estimated from the masses, and objects go by their row "
    "number."
)
PLAIN = (bool, int, float, str)
COARSE = 4  # steps in which a pull is told


def hidden(data: ReportData, model: FittedModel) -> ReportData:
    """The report without anything from which a cell could be read.

    What stays: masses and what follows from them, the names of columns and of groups, which columns distinguish a group
    or pull an object where, and how the fit went.
    """
    drawn = data.partition[data.rows]
    return replace(
        data,
        ids=[str(i + 1) for i in range(len(data.partition))],
        points=guessed_map(model, drawn).points,
        distances=None,
        live=None,
        attributes=(),
        prototypes=(),
        prototype_points=None,
        series=None,
        prototype_series=None,
        channels=(),
        medoids=(),
        explanations={i: _without_values(e) for i, e in data.explanations.items()},
        axis_names=("", ""),
        axis_units=(1.0, 1.0),
        map_note=HIDDEN,
        parameters=plain_parameters(model, data.parameters),
        reading={},
        columns=without_details(data.columns),
        profiles=None if data.profiles is None else _directions(data.profiles, _dates(data)),
        warnings=own_warnings(model, data.warnings),
        code="",
        values=False,
    )


def without_details(columns: Sequence[Column]) -> list[Column]:
    """What each column was taken as, and how many of its cells are missing."""
    return [Column(column.name, column.kind, "", column.gaps) for column in columns]


def own_warnings(model: FittedModel, messages: Sequence[str]) -> list[str]:
    """What the model gives reason to mind; other remarks may quote cells, so they are counted alone."""
    own = warnings(model)
    return [*own, *hidden_warnings(sum(text not in own for text in messages))]


def hidden_warnings(count: int) -> list[str]:
    """One sentence that counts the hidden warnings, if there are any."""
    some = "1 warning is" if count == 1 else f"{count} warnings are"
    return [f"{some} hidden here, because a warning may quote a cell."] if count else []


def _without_values(e: Explanation) -> Explanation:
    most = max((abs(part.pull) for part in e.parts), default=0.0) or 1.0
    parts = tuple(Part(p.name, "", "", "", round(COARSE * p.pull / most) / COARSE) for p in e.parts)
    far = tuple((name, round(share, 1)) for name, share in e.far)
    return Explanation(e.first, e.second, math.nan, math.nan, parts, far=far)


def plain_parameters(model: FittedModel, parameters: Mapping[str, str]) -> dict[str, str]:
    """Settings that are words or numbers: arrays may be data."""
    params = model.get_params(deep=False)
    known = {"metric", *(name for name, value in params.items() if isinstance(value, PLAIN))}
    return {name: text for name, text in parameters.items() if name in known}


def _dates(data: ReportData) -> set[str]:
    return {attribute.name for attribute in data.attributes if attribute.kind == "date"}


def _directions(profiles: Profiles, dates: set[str]) -> Profiles:
    """Which columns distinguish each group, without saying by what."""
    return Profiles(tuple(_direction(trait, dates) for trait in profiles.traits), profiles.sizes)


def _direction(trait: Trait, dates: set[str]) -> Trait:
    if trait.category is not None or trait.how in ("around", "far from"):
        how = "differs"
    else:
        how = in_time(trait.how) if trait.column in dates else trait.how
    return replace(trait, here=math.nan, elsewhere=math.nan, category=None, how=how)
