"""What adds up to a distance, attribute by attribute: of several views, the columns of those that are tables."""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from softecm.distances import Combined
from softecm.report.asked import Comparing, Data, FloatArray
from softecm.report.objects import keys_of_views
from softecm.spaces.views import EncodedViews, Views


class Terms(NamedTuple):
    """What each attribute adds to each distance, and what the attributes are called."""

    keys: list[str]
    values: FloatArray  # (n, f, attributes)


def terms_of(model: Comparing, some: Data) -> Terms | None:
    """What adds up to each distance; None where the metric does not add up."""
    try:
        values: FloatArray = np.asarray(model.explain(some), dtype=np.float64)
    except ValueError:  # the metric does not add up over attributes
        return None
    space = model.model_.space
    found = Terms([str(key) for key in space.attributes], values)
    return found if not isinstance(space, Views) or space.alone is not None else _split(model, space, some, found)


def _split(model: Comparing, space: Views, some: Data, whole: Terms) -> Terms:
    """What views add, shared out among the columns of those that are tables with names."""
    metric = cast(Combined, model.model_.metric)
    x = cast(EncodedViews, space.encode(space.check(model, some, reset=False)))  # type: ignore[arg-type]
    keys, values = [], []
    views = zip(keys_of_views(space), metric.parts, x.parts, space.split(model.model_.whole()), strict=True)
    for j, (columns, part, own, at) in enumerate(views):
        each = part.terms(own, at) if columns and space.feature_names[j] else None
        if each is not None and each.shape[-1] != len(columns):  # no object has the view: zeros like its prototypes
            each = None
        keys += [whole.keys[j]] if each is None else list(columns.values())
        values.append(whole.values[:, :, j : j + 1] * (1.0 if each is None else _shares(each.double().numpy())))
    return Terms(keys, np.concatenate(values, 2))


def _shares(terms: FloatArray) -> FloatArray:
    """Terms as parts of their sum; of nothing, nothing."""
    total = terms.sum(-1, keepdims=True)
    shares: FloatArray = np.divide(terms, total, out=np.zeros_like(terms), where=total > 0)
    return shares
