"""The section with sliders: what the page recomputes masses from while one moves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from softecm.belief import CredalPartition
from softecm.objective.equations import update_masses
from softecm.report.fit import arguments
from softecm.report.inputs import FittedModel, FloatArray, comparing
from softecm.report.sections.base import LARGEST, Json, Section, packed

SAME = 1e-4  # masses out of a table have six decimals, and a fit may compute in float32
PRICES = ("alpha", "beta", "delta")


class Slider(NamedTuple):
    """A value that can be moved on the page."""

    name: str
    label: str
    low: str  # what its left end says
    high: str


SLIDERS = (
    Slider("alpha", "How much ambiguity between groups", "less ambiguity", "more ambiguity"),
    Slider("beta", "How soft the groups are", "harder", "softer"),
    Slider("delta", "Where outliers begin", "closer: more outliers", "farther: fewer"),
    Slider("clear", "How certain “clearly” must be", "less certain", "more certain"),
)


class Live(NamedTuple):
    """The drawn objects' distances, from which eq. 7 makes the masses that are shown, and code for other values.

    A price is None where it has no slider: alpha without sets of several groups, delta without outliers.
    """

    distances: FloatArray  # (rows, f), to the prototypes of all sets
    alpha: float | None
    beta: float
    delta: float | None
    estimator: str  # its class
    arguments: str  # all but what has a slider
    command: str = ""  # that made the report, without what has a slider; empty where none did

    @property
    def sliders(self) -> list[Slider]:
        """Those that have something to move."""
        return [one for one in SLIDERS if getattr(self, one.name, 0.0) is not None]


def live_of(model: FittedModel, distances: FloatArray | None, drawn: CredalPartition, command: str = "") -> Live | None:
    """The same for a model whose masses are those of eq. 7; None where links or another rule move them."""
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
    """Other values of alpha, beta, delta and "clearly"; not without values, since distances would tell cells."""

    key, link = "try", "What if"

    @property
    def is_shown(self) -> bool:
        """Whether masses can be recomputed."""
        return self.data.live is not None

    def payload(self) -> Json:
        """Distances in units of their median: then half the digits are enough for masses to 1e-6."""
        live = self.data.live
        if live is None:
            return {"live": None}
        known = live.distances[np.isfinite(live.distances) & (live.distances > 0)]
        unit = float(np.median(known)) if len(known) else 1.0
        distances = packed(np.nan_to_num(live.distances / unit, nan=LARGEST), "<f4")
        return {"live": {**live._asdict(), "distances": distances, "unit": unit}}
