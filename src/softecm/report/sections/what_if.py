"""The section with sliders: data for recomputing masses on the page."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from softecm.belief import CredalPartition
from softecm.objective.equations import update_masses
from softecm.report.fit import arguments
from softecm.report.inputs import FittedModel, FloatArray, comparing
from softecm.report.sections.base import LARGEST, Json, Section, packed

SAME = 1e-4  # masses in a table have six decimals, and a fit may compute in float32
PRICES = ("alpha", "beta", "delta")


class Slider(NamedTuple):
    """A value that can be changed on the page."""

    name: str
    label: str
    low: str  # label of its left end
    high: str


SLIDERS = (
    Slider("alpha", "How much ambiguity between groups", "less ambiguity", "more ambiguity"),
    Slider("beta", "How soft the groups are", "harder", "softer"),
    Slider("delta", "Where outliers begin", "closer: more outliers", "farther: fewer"),
    Slider("clear", "How certain “clearly” must be", "less certain", "more certain"),
)


class Live(NamedTuple):
    """The drawn objects' distances, from which eq. 7 gives the masses shown, and code for other values.

    A parameter without a slider is None: alpha without sets of several groups, delta without outliers.
    """

    distances: FloatArray  # (rows, f), to the prototypes of all sets
    alpha: float | None
    beta: float
    delta: float | None
    estimator: str  # class name
    arguments: str  # all without a slider
    command: str = ""  # that made the report, without arguments that have sliders; empty if there was none

    @property
    def sliders(self) -> list[Slider]:
        """The sliders with an effect."""
        return [one for one in SLIDERS if getattr(self, one.name, 0.0) is not None]


def live_of(model: FittedModel, distances: FloatArray | None, drawn: CredalPartition, command: str = "") -> Live | None:
    """Return the data for a model with the masses of eq. 7; None if links or another rule change them."""
    fitted, focal = comparing(model), drawn.focal_sets
    if fitted is None or distances is None or not fitted.model_.rule.is_power:
        return None
    own = fitted.model_
    again = update_masses(torch.from_numpy(distances), focal, own.alpha, own.beta, own.delta).numpy()
    known = model.get_params(deep=False)
    if "beta" not in known or not np.abs(again - drawn.masses).max(initial=0.0) <= SAME:
        return None
    alpha = own.alpha if len(focal) > focal.n_clusters and "alpha" in known else None
    delta = own.delta if "delta" in known else None
    slid = [name for name, value in zip(PRICES, (alpha, own.beta, delta), strict=True) if value is not None]
    return Live(distances, alpha, own.beta, delta, type(model).__name__, arguments(model, without=slid), command)


class WhatIf(Section):
    """Other values of alpha, beta, delta and "clearly"; not without values, since distances would reveal cells."""

    key, link = "try", "What if"

    @property
    def is_shown(self) -> bool:
        """Whether masses can be recomputed."""
        return self.data.live is not None

    def payload(self) -> Json:
        """Return distances in units of their median: single precision then gives masses to 1e-6."""
        live = self.data.live
        if live is None:
            return {"live": None}
        known = live.distances[np.isfinite(live.distances) & (live.distances > 0)]
        unit = float(np.median(known)) if len(known) else 1.0
        distances = packed(np.nan_to_num(live.distances / unit, nan=LARGEST), "<f4")
        return {"live": {**live._asdict(), "distances": distances, "unit": unit}}
