"""What a model file holds: every value of the library's own and every fitted attribute, by name, size and range.

``check_description`` looks at the file before anything is made of it; ``check_agreement`` at what the parts have to do with
each other. A class or an attribute without a line here is taken as it is, as long as it hides nothing of its estimator's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from softecm.belief.focal import MOST_SETS
from softecm.distances import Combined, Hamming, Mahalanobis, Mixed, SemiMetric, SoftDTW, StateSequences
from softecm.distances.elastic import SoftElastic
from softecm.distances.estimator_metrics import MedoidMiddles, MedoidMixture, SetQuadratic
from softecm.files.expected import (
    NOT_NEGATIVE,
    POSITIVE,
    Check,
    Content,
    Misfit,
    Range,
    array,
    count,
    either,
    flag,
    listed,
    mapped,
    maybe,
    named,
    number,
    numeric_type,
    one,
    plain,
    text,
)
from softecm.files.values import Node, own_classes
from softecm.fit.learning import Past
from softecm.fit.model import PrototypeModel
from softecm.spaces import States, Table, Views
from softecm.spaces.checks import LARGEST
from softecm.spaces.dissimilarities import Dissimilarities

if TYPE_CHECKING:
    from softecm.algorithms.base import EvidentialClusterer

MOST_STEPS = 10**6  # of a series: more than any file holds
ROUNDING = 1e-4  # of a matrix' largest eigenvalue: what single precision makes of 0
STYLES = ("plain", "categorical", "ordered")
LAYOUTS = ("tslearn", "aeon")
MASS_RULES = ("PowerMasses",)  # a rule of masses is a line here, in FIELDS where it has fields, and in OWN


def own(*classes: str) -> Check:
    """One of the library's own values, each of its fields as the table below says."""

    def check(content: Content, node: object, where: str) -> None:
        kind = node.get("own") if isinstance(node, Mapping) else None
        if (
            not isinstance(node, Mapping)
            or not isinstance(kind, str)
            or kind not in classes
            or set(node) != {"own", "fields"}
        ):
            raise Misfit(f"{where} should be {' or '.join(classes) if len(classes) < 4 else 'a value of its kind'}")
        declared = {f.name: f for f in fields(own_classes()[kind])}
        checks = {name: FIELDS.get(kind, {}).get(name, anything) for name in _in_order(kind, list(declared))}
        needed = [name for name, f in declared.items() if f.default is MISSING and f.default_factory is MISSING]
        named(checks, least=needed)(content, node["fields"], where)

    return check


def _in_order(kind: str, names: list[str]) -> list[str]:
    """The table's order first."""
    told = [name for name in FIELDS.get(kind, {}) if name in names]
    return told + [name for name in names if name not in told]


def metric(content: Content, node: object, where: str) -> None:
    """A metric of the library's, or one that its user must give again."""
    if isinstance(node, Mapping) and set(node) == {"metric"}:
        return
    kinds = [name for name, kind in own_classes().items() if issubclass(kind, SemiMetric)]
    own(*kinds)(content, node, where)


def model(content: Content, node: object, where: str) -> None:
    """A fitted model; what shape its prototypes have is its space's affair."""
    own("PrototypeModel")(content, node, where)
    parts = node["fields"]  # type: ignore[index]
    space = parts["space"]["own"]
    if space == "Table":
        content.size("width", sum(map(_width, parts["space"]["fields"]["columns"]["tuple"])), f"{where}.space")
    PROTOTYPES[space](content, parts["prototypes"], f"{where}.prototypes")


def _width(column: Node) -> int:
    """How many coordinates a prototype has for a column."""
    return len(column["fields"]["levels"]["tuple"]) if column["own"] == "CategoryColumn" else 1


def anything(content: Content, node: object, where: str) -> None:
    """Any value that a file can hold, sound in itself."""
    if isinstance(node, Mapping) and "own" in node:
        return own(*own_classes())(Content(content.tensors), node, where)
    if not isinstance(node, Mapping) or len(node) != 1:
        raise Misfit(f"{where} is no value")
    ((kind, inside),) = node.items()
    if kind in ("list", "tuple", "objects"):
        return listed(anything, kind=kind)(content, node, where)
    if kind == "dict":
        return mapped(anything)(content, node, where)
    if kind in ("torch", "array"):
        one(node, (kind,), where, "an array")
        if not isinstance(inside, str) or inside not in content.tensors:
            raise Misfit(f"{where} names an array that the file does not hold")
        return None
    if kind == "dtype":
        return numeric_type(content, node, where)
    if not (kind == "value" and (inside is None or isinstance(inside, bool | int | float | str))) and kind != "metric":
        raise Misfit(f"{where} is no value")
    return None


def by_itself(check: Check) -> Check:
    """A value whose sizes have nothing to do with those of others."""
    return lambda content, node, where: check(Content(content.tensors), node, where)


def column(*kinds: str) -> dict[str, Check]:
    """What all columns have."""
    return {
        "name": either(text(), count(least=0)),
        "kind": text(*kinds),
        "weight": number(POSITIVE),
        "style": text(*STYLES),
    }


SQUARABLE = Range(-LARGEST, LARGEST)
UNIT = Range(0, 1 + 1e-6)  # with what rounding adds

PROTOTYPES = {
    "RealVectors": either(array("c p", allowed=SQUARABLE), array("f p", allowed=SQUARABLE)),
    "Table": array("f width", allowed=SQUARABLE),
    "TimeSeries": array("f steps p", allowed=SQUARABLE),
    "States": array("f steps s", allowed=SQUARABLE),
    "Dissimilarities": either(array("f p+1", allowed=SQUARABLE), array("f", allowed=Range(least=0, below="p"))),
    "Views": either(array("f width", allowed=SQUARABLE), array("f steps channels", allowed=SQUARABLE)),
}
BAND = maybe(count(least=0))
STEPS = either(text("median", "max"), count(least=2, most=MOST_STEPS))
ELASTIC = {"band": BAND, "derivative": flag, "znormalise": flag, "length": STEPS, "layout": text(*LAYOUTS)}
SUBSTITUTION = either(text("constant", "transitions"), listed(listed(plain)))
SOFT_ELASTIC = ELASTIC | {"gamma": either(text("auto"), number(NOT_NEGATIVE)), "divergence": flag}

WEIGHED: dict[str, Check] = {
    "shares": listed(number(UNIT)),
    "spreads": listed(number(NOT_NEGATIVE)),
    "common": listed(number(UNIT)),
    "shapes": listed(listed(count())),
    "weights_of": text("all", "cluster", "set"),
    "exponent": number(Range(above=1)),
    "temperature": number(POSITIVE),
    "by_set": maybe(array("sets parts", allowed=NOT_NEGATIVE)),
}

#: The fields of the library's own values; those that others are measured by come first.
FIELDS: dict[str, dict[str, Check]] = {
    "FocalSets": {
        "n_clusters": count(size="c", most=MOST_SETS),
        "sets": listed(listed(count(least=0, below="c"), least=1, different=True), size="f", different=True),
        "names": listed(text()),
    },
    "CredalPartition": {"focal_sets": own("FocalSets"), "masses": array("n f+1", allowed=Range(-1e-12, 1 + 1e-6))},
    "PrototypeModel": {
        "focal": own("FocalSets"),
        "space": own(*PROTOTYPES),
        "metric": metric,
        "prototypes": anything,  # see ``model``
        "alpha": number(NOT_NEGATIVE),
        "beta": number(Range(above=1)),
        "delta": maybe(number(POSITIVE)),
        "tie": number(),
        "close": maybe(number(POSITIVE)),
        "rule": own(*MASS_RULES),
    },
    "RealVectors": {"n_features": count(size="p"), "names": listed(text()), "dtype": numeric_type, "sparse": flag},
    "Dissimilarities": {"n_objects": count(size="p"), "names": listed(text()), "dtype": numeric_type},
    "TimeSeries": {
        "n_channels": count(size="p"),
        "length": count(least=2, most=MOST_STEPS),
        "layout": text(*LAYOUTS),
        "dtype": numeric_type,
    },
    "States": {
        "states": listed(plain, size="s", least=2, different=True),
        "n_channels": count(size="s"),
        "costs": listed(number(NOT_NEGATIVE)),
        "length": count(least=2, most=MOST_STEPS),
        "layout": text("tslearn"),
        "substitution": SUBSTITUTION,
        "dtype": numeric_type,
    },
    "Table": {
        "columns": listed(own("NumberColumn", "CategoryColumn"), size="p", least=1),
        "options": own("TableOptions"),
        "backend": maybe(text()),
        "dtype": numeric_type,
        "sample_weight": maybe(array("none")),
    },
    "Views": {
        "views": listed(text(), size="p", least=1, different=True),
        "spaces": listed(by_itself(own("RealVectors", "Table", "TimeSeries")), size="p"),
        "n_features": listed(count(), size="p"),
        "feature_names": listed(listed(text()), size="p"),
        "sample_weight": maybe(array("none")),
    },
    "TableOptions": {
        "scaling": text("std", "range", "robust", "none"),
        "category_weight": number(POSITIVE),
        "max_levels": count(),
        "nominal": flag,
        "simplex": flag,
    },
    "NumberColumn": column("number", "boolean", "date", "datetime", "duration", "ordinal")
    | {
        "center": number(SQUARABLE),
        "scale": number(POSITIVE),
        "levels": listed(plain, different=True),
        "zone": maybe(text()),
    },
    "CategoryColumn": column("text", "boolean", "number")
    | {"levels": listed(plain, least=1, different=True), "frequencies": listed(number(UNIT))},
    "Euclidean": {"epsilon": number(POSITIVE)},
    "Manhattan": {"epsilon": number(POSITIVE)},
    "Mahalanobis": {"covariance": maybe(array("p p"))},
    "Hamming": {
        "kind": text("squared", "total-variation"),
        "epsilon": number(POSITIVE),
        "max_levels": count(),
        "levels": listed(count()),
    },
    "Mixed": {
        "scaling": text("std", "range", "robust", "none"),
        "category_weight": maybe(number(POSITIVE)),
        "max_levels": count(),
        "columns": listed(text()),
        "order": listed(count(least=0)),
    }
    | WEIGHED,
    "SeriesEuclidean": {"layout": text(*LAYOUTS)},
    "SoftDTW": {
        "gamma": either(text("auto"), number(POSITIVE)),
        "divergence": flag,
        "band": BAND,
        "length": STEPS,
        "layout": text(*LAYOUTS),
    },
    "DTW": {"band": BAND, "length": STEPS, "layout": text(*LAYOUTS)},
    "MSM": ELASTIC | {"cost": number(POSITIVE)},
    "SoftMSM": SOFT_ELASTIC | {"cost": number(POSITIVE)},
    "TWE": ELASTIC | {"stiffness": number(NOT_NEGATIVE), "penalty": number(NOT_NEGATIVE)},
    "SoftTWE": SOFT_ELASTIC | {"stiffness": number(NOT_NEGATIVE), "penalty": number(NOT_NEGATIVE)},
    "ADTW": SOFT_ELASTIC | {"penalty": number(NOT_NEGATIVE)},
    "WDTW": SOFT_ELASTIC | {"steepness": number(NOT_NEGATIVE)},
    "StateSequences": SOFT_ELASTIC | {"substitution": SUBSTITUTION, "indel": number(POSITIVE)},
    "ERP": SOFT_ELASTIC | {"reference": number()},
    "SBD": {"length": STEPS, "layout": text(*LAYOUTS)},
    "Combined": {
        "metrics": mapped(by_itself(metric)),
        "scaling": text("spread", "none"),
        "bends": listed(number(POSITIVE)),
    }
    | WEIGHED,
    "SetQuadratic": {
        "scales": array("f", allowed=POSITIVE),
        "offsets": array("f p", allowed=SQUARABLE),
        "matrices": maybe(array("f p p", allowed=SQUARABLE)),
    },
    "Anchored": {"anchors": array("f p", allowed=SQUARABLE), "weight": number(NOT_NEGATIVE)},
    "WeightedSquares": {"weights": array("p", allowed=NOT_NEGATIVE), "units": array("p", allowed=NOT_NEGATIVE)},
    "AffineDistance": {"squared": flag, "shift": number(NOT_NEGATIVE), "floor": number(NOT_NEGATIVE)},
    "MedoidMiddles": {"focal": own("FocalSets"), "spreads": listed(number(NOT_NEGATIVE))},
    "MedoidMixture": {"base": metric, "focal": own("FocalSets"), "gamma": number(NOT_NEGATIVE)},
    "Past": {
        "curvature": anything,  # these three: see ``_check_past``
        "moment": anything,
        "first": anything,
        "weight": number(NOT_NEGATIVE),
        "median": number(NOT_NEGATIVE),
        "mad": number(NOT_NEGATIVE),
        "held": array("c c", allowed=NOT_NEGATIVE),
        "counts": array("c", allowed=NOT_NEGATIVE),
        "unit": number(NOT_NEGATIVE),
    },
    "GradientDescent": {
        "learning_rate": number(POSITIVE),
        "inner_tol": number(NOT_NEGATIVE),
        "inner_steps": count(),
    },
    "Descent": {"memory": count(), "sufficient": number(POSITIVE), "backtracks": count()},
}

#: Fitted attributes, whichever estimator has them.
STATE: dict[str, Check] = {
    "n_features_in_": count(size="p"),
    "focal_sets_": own("FocalSets"),
    "model_": model,
    "partition_": own("CredalPartition"),
    "n_clusters_": count(size="c"),
    "labels_": array("n", "iu", Range(least=0, below="c")),
    "outlier_scores_": array("n", allowed=UNIT),
    "peaks_": array("c", "iu", Range(least=0, below="n")),
    "medoids_": array("f", "iu", Range(least=0, below="n")),
    "_graph": listed(array("n", allowed=Range(0, np.inf))),
    "view_names_": listed(text(), size="views", least=1),
    "_weights": array("rows views", allowed=NOT_NEGATIVE),
    "_shares": array("f views", allowed=NOT_NEGATIVE),
    "_prices": array("prices", allowed=NOT_NEGATIVE),
    "n_rises_": count(least=0),
    "delta_": maybe(number(POSITIVE)),
    "d0_": number(POSITIVE),
    "cluster_centers_": array("c p", allowed=SQUARABLE),
    "covariance_": array("p p", allowed=SQUARABLE),
    "weights_": array("f", allowed=UNIT),
    "_middle": array("p", allowed=SQUARABLE),
    "loglik_": number(),
    "ebic_": number(),
    "criteria_": mapped(number()),
    "network_": listed(anything, kind="list", least=2),
    "_beta": array("two", allowed=SQUARABLE),
    "_input": listed(array("p", allowed=SQUARABLE), kind="tuple"),
    "_detector": maybe(listed(anything, kind="tuple")),
    "diverged_": flag,
    "n_neighbors_": count(),
    "gamma_": number(POSITIVE),
    "_least": number(POSITIVE),
    "_voted": array("n", "iu", Range(least=0, below="c")),
    "_objects": maybe(array("n p", allowed=SQUARABLE)),
    "shift_": number(NOT_NEGATIVE),
    "objective_": number(),
    "history_": array("rounds"),
    "n_iter_": count(least=0),
    "converged_": flag,
    "separation_": number(Range(0, np.inf)),
    "collapsed_": flag,
    "constraint_residual_": number(Range(0, np.inf)),
    "feature_names_in_": listed(text(), kind="objects", size="p"),
    "left_out_": mapped(text()),
    "_past": own("Past"),
    "drift_": array("c", allowed=Range(0, np.inf)),
    "metric_reason_": text(),
    "_runs": mapped(anything),
}

#: Without these nothing can be predicted.
NEEDED = {
    "CEVCLUS": ("n_features_in_", "focal_sets_", "partition_", "d0_"),
    "EVCLUS": ("n_features_in_", "focal_sets_", "partition_", "d0_"),
    "NNEVCLUS": ("n_features_in_", "focal_sets_", "network_", "_beta", "_input", "_detector"),
    "MECMdd": (
        *[
            "n_features_in_",
            "focal_sets_",
            "partition_",
            "medoids_",
            "view_names_",
            "delta_",
            "_weights",
            "_shares",
            "_prices",
        ],
    ),
    "EGMM": ("n_features_in_", "focal_sets_", "cluster_centers_", "covariance_", "weights_", "_middle"),
    "EKNNClus": (
        *[
            "n_features_in_",
            "focal_sets_",
            "partition_",
            "n_clusters_",
            "n_neighbors_",
            "gamma_",
            "_least",
            "_voted",
            "_objects",
        ],
    ),
}
NEEDED_ELSE = ("n_features_in_", "focal_sets_", "model_")


def check_description(description: Mapping[str, object], tensors: Mapping[str, np.ndarray], cls: type) -> None:
    """The whole of a file against this table; ``cls`` is the estimator's class."""
    content = Content(tensors)
    named({"params": named({}, rest=anything), "state": _state(cls)}, rest=_ignored, least=("params", "state"))(
        content, description, ""
    )


def _state(cls: type) -> Check:
    """The fitted attributes of an estimator."""

    def rest(content: Content, node: object, where: str) -> None:
        name = where.rsplit(".", 1)[-1]
        if hasattr(cls, name) or name.startswith("__"):
            raise Misfit(f"{where} does not belong there")
        anything(content, node, where)

    return named(STATE, rest=rest, least=NEEDED.get(cls.__name__, NEEDED_ELSE))


def _ignored(content: Content, node: object, where: str) -> None:
    """What other readers may want."""


def check_agreement(estimator: EvidentialClusterer) -> None:
    """What the parts of a fitted estimator have to do with each other."""
    partition, model = getattr(estimator, "partition_", None), getattr(estimator, "model_", None)
    focal, scores = estimator.focal_sets_, getattr(estimator, "outlier_scores_", None)
    if partition is not None and partition.focal_sets != focal:
        raise Misfit("partition_ and focal_sets_ have different focal sets")
    if partition is not None and scores is not None and not np.array_equal(partition.masses[:, 0], scores):
        raise Misfit("outlier_scores_ are not the masses of the empty set in partition_")
    if hasattr(estimator, "network_"):
        _check_network(estimator)
    weights = getattr(estimator, "weights_", None)
    if weights is not None and abs(float(weights.sum()) - 1.0) > ROUNDING:
        raise Misfit("weights_ should add up to 1")
    if isinstance(model, PrototypeModel):
        if model.focal != focal:
            raise Misfit("model_ and focal_sets_ have different focal sets")
        if getattr(estimator, "delta_", model.delta) != model.delta:
            raise Misfit("delta_ is not the delta of model_")
        _check_model(model)
        past = getattr(estimator, "_past", None)
        if isinstance(past, Past):
            _check_past(past, model)


def _check_network(estimator: EvidentialClusterer) -> None:
    """Layers that fit each other, the columns and the sets; a detector of these columns."""
    layers, p, f = estimator.network_, estimator.n_features_in_, len(estimator.focal_sets_)  # type: ignore[attr-defined]
    arrays = [w for w in layers if isinstance(w, np.ndarray) and w.dtype == np.float64 and w.ndim == 2]
    widths = [p, *(w.shape[0] for w in arrays)]
    if len(arrays) < len(layers) or [w.shape[1] - 1 for w in arrays] != widths[:-1] or widths[-1] != f + 1:
        raise Misfit("network_ should hold layers that fit each other, the columns and the focal sets")
    if not all(np.isfinite(w).all() and np.abs(w).max() < LARGEST for w in arrays):
        raise Misfit("network_ should hold finite numbers")
    _, scale = estimator._input  # type: ignore[attr-defined]
    if not (scale > 0).all() or estimator._beta.shape != (2,):  # type: ignore[attr-defined]
        raise Misfit("_input should hold scales above 0")
    detector = estimator._detector  # type: ignore[attr-defined]
    if detector is not None:
        support, dual, *numbers = detector
        sound = np.shape(support)[1:] == (p,) and np.shape(dual) == np.shape(support)[:1]
        if not sound or len(numbers) != 3 or not np.isfinite([*dual, *numbers]).all() or not numbers[2] > 0:
            raise Misfit("_detector should hold support vectors of these columns")


def _check_past(past: Past, model: PrototypeModel) -> None:
    """What earlier batches left behind fits the prototypes that they pull at."""
    c, shape = model.focal.n_clusters, tuple(model.prototypes.shape[1:])
    if past.first.shape != (c, *shape):
        raise Misfit("_past.first should have the shape of the clusters' prototypes")
    if past.moment.ndim < 2 or tuple(past.moment.shape[1:]) != shape or len(past.moment) not in (c, len(model.focal)):
        raise Misfit("_past.moment should have the shape of prototypes")
    wide = torch.Size([len(past.moment), *(1,) * len(shape)])
    if past.curvature.shape not in (past.moment.shape, wide) or bool((past.curvature < 0).any()):
        raise Misfit("_past.curvature should hold weights of prototypes")


def _check_model(model: PrototypeModel) -> None:
    """A metric and its space, and what either knows of the other."""
    metric, space = model.metric, model.space
    expected = metric.make_space()
    if type(expected) is not type(space):
        raise Misfit(f"the metric {type(metric).__name__} does not measure in {type(space).__name__}")
    if space.wide and not metric.sparse:
        raise Misfit(f"the metric {type(metric).__name__} does not measure sparse rows")
    if model.follows and not space.wide:
        raise Misfit("model_.prototypes are fewer than its focal sets")
    if isinstance(metric, Combined) and isinstance(space, Views):
        _check_views(model, metric, space)
    if isinstance(space, Table) and isinstance(expected, Table):
        _check_table(model, metric, space, expected)
    if isinstance(space, States):
        _check_states(metric, space)
    if isinstance(space, Dissimilarities):
        _check_relational(model)
    base = metric.base if isinstance(metric, MedoidMixture) else metric
    if isinstance(metric, MedoidMixture | MedoidMiddles) and metric.focal != model.focal:
        raise Misfit("the metric and model_ have different focal sets")
    if isinstance(metric, MedoidMiddles) and len(metric.spreads) != len(model.focal) - model.focal.n_clusters:
        raise Misfit("the metric should have a spread for every set of several clusters")
    if (isinstance(base, Mahalanobis) and base.covariance is None) or (
        isinstance(base, SoftDTW | SoftElastic) and base.gamma == "auto"
    ):
        raise Misfit(f"the metric {type(base).__name__} has learned nothing from data")
    if isinstance(metric, SetQuadratic):
        _check_quadratic(metric)


def _check_states(metric: SemiMetric, space: States) -> None:
    if len(space.costs) != len(space.states) ** 2:
        raise Misfit("model_.space.costs should have a cost for every two states")
    if not (isinstance(metric, StateSequences) and metric.substitution == space.substitution):
        raise Misfit("the metric and model_.space have different substitution costs")
    if not isinstance(space.substitution, str) and any(len(triple) != 3 for triple in space.substitution):
        raise Misfit("model_.space.substitution should hold two states and a cost each")


def _check_views(model: PrototypeModel, metric: Combined, space: Views) -> None:
    """Every view by itself."""
    if (
        tuple(metric.metrics) != space.views
        or len({*map(len, (space.views, metric.shares, metric.spreads, metric.bends, metric.common))}) > 1
    ):
        raise Misfit("the metric and model_.space have different views")
    if tuple(model.prototypes.shape[1:]) != space.shape:
        raise Misfit("model_.prototypes should have a point in every view")
    if metric.alone is None and metric.shapes != tuple(own.shape for own in space.spaces):
        raise Misfit("the metric and model_.space have views of different shapes")
    if metric.by_set is not None and metric.by_set.shape != (len(model.focal), len(space.views)):
        raise Misfit("the metric should have a weight for every view and set")
    for part, own, at in zip(metric.parts, space.spaces, space.split(model.prototypes), strict=True):
        _check_model(replace(model, metric=part, space=own, prototypes=at))


def _check_columns(model: PrototypeModel, metric: Mixed, space: Table) -> None:
    """Weights of columns fit the columns."""
    shapes = [1] * len(space.numbers) + [len(c.levels) for c in space.categories]
    if metric.columns != tuple(space.attributes) or metric.order != space.layout.order:
        raise Misfit("the metric and model_.space have different columns")
    if [*metric.shapes] != [(size,) for size in shapes] or len(
        {*map(len, (shapes, metric.shares, metric.spreads))}
    ) > 1:
        raise Misfit("the metric and model_.space have different columns")
    if len(metric.common) != len(shapes) or not min(metric.shares) > 0:
        raise Misfit("the metric should have a weight above 0 for every column")
    if metric.by_set is not None and metric.by_set.shape != (len(model.focal), len(shapes)):
        raise Misfit("the metric should have a weight for every column and set")


def _check_table(model: PrototypeModel, metric: SemiMetric, space: Table, expected: Table) -> None:
    if len({c.name for c in space.columns}) < len(space.columns):
        raise Misfit("model_.space.columns holds a name twice")
    for c in space.categories:
        if len(c.frequencies) != len(c.levels):
            raise Misfit(f"model_.space.columns has {len(c.frequencies)} frequencies for {len(c.levels)} levels")
    if any(c.kind == "ordinal" and not c.levels for c in space.numbers):
        raise Misfit("model_.space.columns holds an ordinal column without levels")
    if expected.options.simplex != space.options.simplex:
        raise Misfit(f"the metric {type(metric).__name__} reads categories in another way than model_.space")
    if isinstance(metric, Mixed) and metric.shares:
        _check_columns(model, metric, space)
    if isinstance(metric, Hamming) and metric.levels != space.layout.levels:
        raise Misfit("the metric and model_.space have different levels")


def _check_relational(model: PrototypeModel) -> None:
    numbers = model.prototypes
    if (numbers.ndim == 1) != model.metric.discrete:
        raise Misfit("model_.prototypes are not what the metric measures to")
    if numbers.ndim == 1 and not bool((numbers == numbers.round()).all()):
        raise Misfit("model_.prototypes should be numbers of objects")


def _check_quadratic(metric: SetQuadratic) -> None:
    if bool((metric.offsets.sum(1) < 0).any()):
        raise Misfit("the metric's offsets make distances negative")
    if metric.matrices is not None:
        values = torch.linalg.eigvalsh(metric.matrices.double())
        if not bool((values[:, 0] >= -ROUNDING * values[:, -1].abs()).all()):
            raise Misfit("the metric's matrices make distances negative")
