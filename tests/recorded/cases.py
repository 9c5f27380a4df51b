"""Sixty small fits, two or three for every metric and every estimator, with explicit parameters.

They prove that a change of the code left the numbers unchanged. No case uses defaults or values with a changeable
meaning: ``delta`` is a number or None, ``lam`` a number, ``init`` a named way or an array, and either
``max_cardinality`` or ``focal_sets`` is given. A case that must change is a change of behaviour: report it in the
change log and record again.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import softecm
from recorded import data
from softecm.optim import GradientDescent

Parameters = dict[str, Any]

TIMES: Parameters = {"n_init": 3, "max_iter": 100, "tol": 1e-4, "n_jobs": 1, "random_state": 0}
WATCHED: Parameters = {"warm_start": False, "callback": None, "verbose": 0}
ENGINE: Parameters = {"device": "cpu", "dtype": "float64"} | WATCHED
SETS: Parameters = {"n_clusters": 3, "max_cardinality": 2, "focal_sets": None, "init": "k-means++"}
PRICES: Parameters = {"alpha": 1.0, "beta": 1.5, "delta": 3.0}

ALL: dict[str, Parameters] = {
    "SoftECM": SETS
    | TIMES
    | ENGINE
    | PRICES
    | {"metric": "sqeuclidean", "lam": 1.0, "relaxation": "penalty", "solver": "auto", "beta": 1.3},
    "ECM": SETS | TIMES | ENGINE | PRICES,
    "FCM": {k: v for k, v in (SETS | TIMES | ENGINE).items() if k not in ("max_cardinality", "focal_sets")}
    | {"beta": 2.0},
    "RECM": SETS | TIMES | WATCHED | PRICES | {"dissimilarity": "distance", "non_euclidean": "floor"},
    "ECMdd": SETS
    | {k: v for k, v in TIMES.items() if k != "tol"}
    | WATCHED
    | PRICES
    | {"metric": "precomputed", "gamma": 0.5, "eta": 1.0},
    "CatECM": SETS | TIMES | WATCHED | PRICES | {"beta": 1.2, "delta": 1.8},
    "CECM": SETS
    | TIMES
    | ENGINE
    | {"xi": 0.5, "alpha": 1.0, "delta": 3.0, "metric": "euclidean", "variant": "article"},
    "ECMPlus": SETS | TIMES | ENGINE | PRICES | {"centers": "corrected", "adaptive": True},
    "CCM": SETS | TIMES | ENGINE | {"gamma": 1.0, "beta": 2.0, "delta": 3.0},
    "BCM": SETS | TIMES | ENGINE | {"gamma": 1.0, "beta": 2.0, "delta": 3.0},
    "EVCLUS": SETS
    | TIMES
    | {"d0": 6.0, "n_neighbors": None, "init": "random", "n_init": 2, "tol": 1e-5}
    | {"callback": None, "verbose": 0},
    "BPEC": {k: v for k, v in SETS.items() if k != "init"}
    | {k: v for k, v in TIMES.items() if k not in ("n_init", "random_state")}
    | PRICES
    | {"peaks": None, "n_neighbors": 10, "q": 0.9, "metric": "euclidean", "max_clusters": 10},
}


@dataclass(frozen=True)
class Case:
    """One fit: an estimator, its parameters, its data, and other arguments of ``fit``."""

    name: str
    estimator: str
    source: Callable[[], Any]
    parameters: Parameters
    options: Parameters = field(default_factory=dict)
    tolerance: float = 1e-10

    def fitted(self) -> Any:
        """The fitted estimator; warnings about few iterations or merged prototypes are ignored."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(softecm, self.estimator)(**self.parameters).fit(self.source(), **self.options)


def case(name: str, estimator: str, source: Callable[[], Any], changed: Parameters) -> Case:
    """A case from its changes; names in capitals are arguments of ``fit``."""
    options = {k.lower(): v for k, v in changed.items() if k.isupper()}
    own = {k: v for k, v in changed.items() if not k.isupper()}
    if "focal_sets" in own:
        own["max_cardinality"] = None
    tolerance = 1e-5 if own.get("dtype") == "float32" else 1e-10
    if "softdtw" in name and own.get("relaxation") == "exact":
        tolerance = 1e-9  # sets' barycentres are searched for, with rounding
    return Case(name, estimator, source, ALL[estimator] | own, options, tolerance)


CHAIN = [(0,), (1,), (2,), (0, 1)]
LINKS: Parameters = {"MUST_LINK": [(0, 3), (1, 7)], "CANNOT_LINK": [(0, 1), (2, 4)], "CONSTRAINT_WEIGHT": 0.7}
STEPS = GradientDescent(learning_rate=0.02, inner_tol=1e-3, inner_steps=5)


def soft_ecm_changes(x: Any, delta: float) -> dict[str, Parameters]:
    """The differences between the cases of one metric."""
    n = len(x)
    return {
        "penalty": {"delta": delta},
        "gap": {"relaxation": "gap", "lam": 5.0, "beta": 1.5, "delta": delta, "random_state": 1},
        "exact": {"relaxation": "exact", "beta": 2.0, "alpha": 0.5, "delta": None, "random_state": 2},
        "free": {"lam": 0.0, "init": "random", "n_init": 4, "delta": 1.5 * delta, "random_state": 3},
        "given": {"init": data.rows(x, 0, 1, 2), "n_init": 1, "lam": 0.3, "focal_sets": "full", "delta": delta},
        "weighted": {"beta": 1.1, "alpha": 2.0, "delta": None, "SAMPLE_WEIGHT": data.weights(n), "random_state": 4},
        "chain": {"focal_sets": CHAIN, "delta": 0.6 * delta, "lam": 0.1, "random_state": 5},
        "gradient": {"solver": STEPS, "max_iter": 8, "init": "random", "delta": delta, "random_state": 6},
        "descent": {"solver": "descent", "relaxation": "gap", "max_iter": 10, "delta": delta, "random_state": 7},
        "linked": {"delta": delta, "random_state": 8, **LINKS},
        "two": {"n_clusters": 2, "max_cardinality": 1, "tol": 1e-6, "delta": None, "random_state": 9},
    }


METRICS: dict[str, tuple[Callable[[], Any], float, tuple[str, str]]] = {  # every change occurs twice
    "sqeuclidean": (data.points, 3.0, ("exact", "linked")),
    "euclidean": (data.points, 1.7, ("gap", "weighted")),
    "manhattan": (data.points, 2.0, ("gradient", "descent")),
    "cosine": (data.directions, 0.6, ("given", "descent")),
    "mahalanobis": (data.ellipses, 2.0, ("penalty", "chain")),
    "hamming": (data.categories, 1.5, ("gradient", "linked")),
    "mixed": (data.table, 1.2, ("gap", "weighted")),
    "series-euclidean": (data.series, 2.0, ("given", "exact")),
    "softdtw": (data.series, 1.5, ("free", "two")),
    "dtw": (data.series, 1.5, ("free", "chain")),
    "precomputed": (data.squared, 3.0, ("penalty", "two")),
}
DEAR = ("series-euclidean", "softdtw", "dtw", "mahalanobis")  # fewer iterations: they take time, and rounding grows
OTHER_DATA: dict[str, tuple[str, Callable[[], Any], Parameters]] = {
    "float32": ("sqeuclidean", data.points, {"dtype": "float32", "delta": 3.0, "init": data.points()[:3], "n_init": 1}),
    "exact": (
        "softdtw",
        data.short,
        {"n_clusters": 2, "relaxation": "exact", "n_init": 1, "max_iter": 3, "delta": 2.0},
    ),
    "two-channels": ("softdtw", data.channels, {"delta": 2.0, "max_iter": 15}),
    "ragged": ("softdtw", data.ragged, {"delta": 1.5, "max_iter": 15, "beta": 1.6}),
    "gappy": ("series-euclidean", data.gappy, {"delta": 2.0, "max_iter": 15}),
    "distances": ("precomputed", data.distances, {"delta": 2.0, "relaxation": "gap", "lam": 3.0}),
}


def soft_ecm_cases() -> Iterator[Case]:
    """SoftECM with every metric."""
    for metric, (source, delta, names) in METRICS.items():
        changes = soft_ecm_changes(source(), delta)
        for name in names:
            rounds = 100 if metric == "precomputed" else 12 if name == "linked" else 15 if metric in DEAR else 30
            changed = {"max_iter": rounds} | changes[name]
            yield case(f"SoftECM-{metric}-{name}", "SoftECM", source, {"metric": metric} | changed)
    for name, (metric, source, changed) in OTHER_DATA.items():
        yield case(f"SoftECM-{metric}-{name}", "SoftECM", source, {"metric": metric} | changed)


LINKED = {"MUST_LINK": [(0, 3), (1, 7)], "CANNOT_LINK": [(0, 1)]}
MORE_LINKED = {"MUST_LINK": [(42, 0)], "CANNOT_LINK": [(42, 1), (43, 2)]}


def other_changes() -> dict[str, dict[str, Parameters]]:
    """The differences between the cases of every other estimator."""
    return {
        "ECM": {
            "plain": {},
            "weighted": {"SAMPLE_WEIGHT": data.weights(45), "delta": 2.0, "random_state": 3},
            "linked": LINKED | {"CONSTRAINT_WEIGHT": 0.5},
        },
        "FCM": {"plain": {}, "linked": LINKED | {"CONSTRAINT_WEIGHT": 0.5}},
        "CECM": {
            "links": LINKED,
            "evclust": LINKED | {"variant": "evclust"},
            "adaptive": MORE_LINKED | {"metric": "adaptive", "xi": 0.3},
        },
        "ECMPlus": {"plain": {}, "mean": {"centers": "mean"}, "round": {"adaptive": False}},
        "CCM": {
            "plain": {},
            "four": {"n_clusters": 4, "max_cardinality": 3, "random_state": 7},
            "gamma": {"gamma": 2.5},
        },
        "BCM": {
            "plain": {},
            "chain": {"focal_sets": CHAIN, "delta": 5.0, "random_state": 4},
            "gamma": {"gamma": 0.4},
        },
        "BPEC": {
            "plain": {},
            "adaptive": {"metric": "adaptive", "beta": 2.0},
            "found": {"n_clusters": None, "max_clusters": 4},
        },
        "RECM": {
            "plain": {},
            "squared": {"dissimilarity": "squared"},
            "shift": {"non_euclidean": "shift", "beta": 2.0},
        },
        "ECMdd": {"plain": {}, "gamma": {"gamma": 0.9, "eta": 0.3}},
        "EVCLUS": {"plain": {}, "few-pairs": {"n_neighbors": 12}, "near": {"d0": 3.0, "max_iter": 10}},
        "CatECM": {
            "plain": {},
            "given": {"init": data.categories()[[0, 1, 2]], "n_init": 1, "focal_sets": "full"},
            "soft": {"beta": 1.6, "alpha": 0.4},
        },
    }


SOURCES: dict[str, Callable[[], Any]] = {
    **dict.fromkeys(("ECM", "FCM", "CECM", "ECMPlus", "CCM", "BCM", "BPEC"), data.points),
    **dict.fromkeys(("RECM", "ECMdd", "EVCLUS"), data.distances),
    "CatECM": data.categories,
}


def other_cases() -> Iterator[Case]:
    """Every other estimator."""
    for estimator, changes in other_changes().items():
        for name, changed in changes.items():
            yield case(f"{estimator}-{name}", estimator, SOURCES[estimator], changed)
    yield case("ECMdd-softdtw", "ECMdd", data.series, {"metric": "softdtw", "delta": 1.5})


CASES: dict[str, Case] = {found.name: found for found in [*soft_ecm_cases(), *other_cases()]}


def numeric(values: Any) -> list[float] | None:
    """Up to 60 numbers of some prototypes of any form; None if they are no numbers."""
    if hasattr(values, "select_dtypes"):
        values = values.select_dtypes("number").to_numpy()
    parts = values if isinstance(values, list) else [values]
    try:
        flat = np.concatenate([np.asarray(part, dtype=np.float64).ravel() for part in parts])
    except (TypeError, ValueError):
        return None
    return flat[:60].tolist()


def outcome(model: Any) -> dict[str, Any]:
    """What is compared of a fitted estimator; masses of at most 24 objects, evenly spread, and the sums of all."""
    masses = model.partition_.masses
    shown = np.unique(np.linspace(0, len(masses) - 1, 24).astype(int))
    return {
        "objective": float(model.objective_),
        "n_iter": int(model.n_iter_),
        "converged": bool(model.converged_),
        "labels": model.labels_.tolist(),
        "separation": float(getattr(model, "separation_", np.nan)),
        "delta": getattr(model, "delta_", None),
        "sets": [list(members) for members in model.focal_sets_.sets],
        "mass_sums": masses.sum(0).tolist(),
        "masses": masses[shown].tolist(),
        "prototypes": numeric(getattr(model, "cluster_centers_", [])),
    }
