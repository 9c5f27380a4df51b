"""About ten small fits for every metric and every estimator, each with all parameters written out.

They prove that a change of the code left the numbers alone. No case relies on a default, and none uses what may get a new
meaning: ``delta`` is a number or None, ``lam`` a number, ``init`` a named way or an array, and either ``max_cardinality`` or
``focal_sets`` is given. A case that must change is a change of behaviour: say so in the change log and record anew.
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
    """One fit: an estimator, its parameters, its data, and what ``fit`` is given beside them."""

    name: str
    estimator: str
    source: Callable[[], Any]
    parameters: Parameters
    options: Parameters = field(default_factory=dict)
    tolerance: float = 1e-10

    def fitted(self) -> Any:
        """The fitted estimator; that it warns of few rounds or merged prototypes is not in question here."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(softecm, self.estimator)(**self.parameters).fit(self.source(), **self.options)


def case(name: str, estimator: str, source: Callable[[], Any], changed: Parameters) -> Case:
    """A case from what it changes; names in capitals are for ``fit``."""
    options = {k.lower(): v for k, v in changed.items() if k.isupper()}
    own = {k: v for k, v in changed.items() if not k.isupper()}
    if "focal_sets" in own:
        own["max_cardinality"] = None
    tolerance = 1e-5 if own.get("dtype") == "float32" else 1e-10
    if "softdtw" in name and ("descent" in name or own.get("relaxation") == "exact"):
        tolerance = 1e-9  # sets' barycentres are searched for, and where a search ends is rounding
    return Case(name, estimator, source, ALL[estimator] | own, options, tolerance)


CHAIN = [(0,), (1,), (2,), (0, 1)]
LINKS: Parameters = {"MUST_LINK": [(0, 3), (1, 7)], "CANNOT_LINK": [(0, 1), (2, 4)], "CONSTRAINT_WEIGHT": 0.7}
STEPS = GradientDescent(learning_rate=0.02, inner_tol=1e-3, inner_steps=5)


def soft_ecm_changes(x: Any, delta: float) -> dict[str, Parameters]:
    """What the cases of one metric differ in."""
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


METRICS: dict[str, tuple[Callable[[], Any], float]] = {
    "sqeuclidean": (data.points, 3.0),
    "euclidean": (data.points, 1.7),
    "manhattan": (data.points, 2.0),
    "cosine": (data.directions, 0.6),
    "mahalanobis": (data.ellipses, 2.0),
    "hamming": (data.categories, 1.5),
    "mixed": (data.table, 1.2),
    "series-euclidean": (data.series, 2.0),
    "softdtw": (data.series, 1.5),
    "dtw": (data.series, 1.5),
    "precomputed": (data.squared, 3.0),
}
DEAR = ("series-euclidean", "softdtw", "dtw", "mahalanobis")  # fewer rounds: they cost time, and rounding grows
OTHER_DATA: dict[str, tuple[str, Callable[[], Any], Parameters]] = {
    "float32": ("sqeuclidean", data.points, {"dtype": "float32", "delta": 3.0, "init": data.points()[:3], "n_init": 1}),
    "exact": (
        "softdtw",
        data.short,
        {"n_clusters": 2, "relaxation": "exact", "n_init": 1, "max_iter": 3, "delta": 2.0},
    ),
    "exact-hard": (
        "dtw",
        data.short,
        {"n_clusters": 2, "relaxation": "exact", "n_init": 1, "max_iter": 3, "delta": None},
    ),
    "two-channels": ("softdtw", data.channels, {"delta": 2.0, "max_iter": 15}),
    "ragged": ("softdtw", data.ragged, {"delta": 1.5, "max_iter": 15, "beta": 1.6}),
    "ragged-hard": ("dtw", data.ragged, {"delta": 1.5, "max_iter": 15}),
    "gappy": ("series-euclidean", data.gappy, {"delta": 2.0, "max_iter": 15}),
    "distances": ("precomputed", data.distances, {"delta": 2.0, "relaxation": "gap", "lam": 3.0}),
    "numbers": ("mixed", data.points, {"delta": 1.2, "init": data.points()[[0, 1, 2]], "n_init": 1}),
}


def adapted(metric: str, name: str, changed: Parameters) -> Parameters | None:
    """A change as far as the metric allows it; None where it does not."""
    if metric == "precomputed":  # prototypes are objects, so neither solvers nor links
        own = {"given": {"init": [0, 1, 2]}, "descent": {"beta": 1.8}, "gradient": {"lam": 4.0}}
        return None if name == "linked" else changed | {"solver": "auto"} | own.get(name, {})
    if metric in ("softdtw", "dtw") and name in ("gap", "exact", "descent"):  # barycentres are found again every round
        return None if name == "exact" else changed | {"n_init": 1, "max_iter": 3, "n_clusters": 2}
    rounds = 12 if name == "linked" else 15 if metric in DEAR else 30
    return {"max_iter": rounds} | changed


def soft_ecm_cases() -> Iterator[Case]:
    """SoftECM with every metric."""
    for metric, (source, delta) in METRICS.items():
        for name, changed in soft_ecm_changes(source(), delta).items():
            kept = adapted(metric, name, changed)
            if kept is not None:
                yield case(f"SoftECM-{metric}-{name}", "SoftECM", source, {"metric": metric} | kept)
    for name, (metric, source, changed) in OTHER_DATA.items():
        yield case(f"SoftECM-{metric}-{name}", "SoftECM", source, {"metric": metric} | changed)


def vector_changes() -> dict[str, Parameters]:
    """What the cases of the estimators of vectors differ in."""
    x = data.points()
    return {
        "plain": {},
        "no-empty": {"delta": None, "random_state": 1},
        "random": {"init": "random", "n_init": 5, "random_state": 2},
        "given": {"init": x[[0, 1, 2]], "n_init": 1, "focal_sets": "full"},
        "weighted": {"SAMPLE_WEIGHT": data.weights(len(x)), "delta": 2.0, "random_state": 3},
        "chain": {"focal_sets": CHAIN, "delta": 5.0, "random_state": 4},
        "two": {"n_clusters": 2, "random_state": 5},
        "singletons": {"max_cardinality": 1, "tol": 1e-6, "random_state": 6},
        "four": {"n_clusters": 4, "max_cardinality": 3, "random_state": 7},
        "cut-short": {"max_iter": 3, "init": "random", "n_init": 2, "random_state": 8},
    }


PAIRS = [
    {"must_link": [(0, 3), (1, 7)], "cannot_link": [(0, 1)]},
    {"must_link": [(42, 0)], "cannot_link": [(42, 1), (43, 2)]},
]


def own_changes() -> dict[str, dict[str, Parameters]]:
    """What only one estimator has."""
    d, partition = data.distances(), data.masses(45, 6)
    linked = [{k.upper(): v for k, v in links.items()} for links in PAIRS]
    return {
        "ECM": {"soft": {"beta": 2.0, "alpha": 0.3}, "linked": linked[0] | {"CONSTRAINT_WEIGHT": 0.5}},
        "FCM": {"sharp": {"beta": 1.2}, "linked": linked[0] | {"CONSTRAINT_WEIGHT": 0.5}},
        "CECM": {
            "links": linked[0],
            "more-links": linked[1] | {"xi": 0.8},
            "evclust": linked[0] | {"variant": "evclust"},
            "adaptive": linked[1] | {"metric": "adaptive", "xi": 0.3},
        },
        "ECMPlus": {
            "mean": {"centers": "mean"},
            "round": {"adaptive": False},
            "mean-round": {"centers": "mean", "adaptive": False, "beta": 2.0},
        },
        "CCM": {"gamma": {"gamma": 2.5}, "sharp": {"beta": 1.4, "gamma": 0.5}},
        "BCM": {"gamma": {"gamma": 0.4}, "sharp": {"beta": 1.4, "gamma": 0.5}},
        "RECM": {
            "squared": {"dissimilarity": "squared"},
            "shift": {"non_euclidean": "shift", "beta": 2.0},
            "objects": {"init": [0, 1, 2]},
            "masses": {"init": partition, "n_init": 1},
        },
        "ECMdd": {"objects": {"init": [0, 1, 2]}, "gamma": {"gamma": 0.9, "eta": 0.3}, "sharp": {"beta": 1.1}},
        "CatECM": {"soft": {"beta": 1.6, "alpha": 0.4}},
        "EVCLUS": {
            "few-pairs": {"n_neighbors": 12},
            "masses": {"init": partition, "n_init": 1},
            "far": {"d0": float(d.max())},
            "near": {"d0": 3.0, "max_iter": 10},
        },
        "BPEC": {
            "peaks": {"peaks": [0, 1, 2]},
            "adaptive": {"metric": "adaptive", "beta": 2.0},
            "neighbours": {"n_neighbors": 5, "q": 0.7},
            "found": {"n_clusters": None, "max_clusters": 4},
        },
    }


SOURCES: dict[str, Callable[[], Any]] = {
    **dict.fromkeys(("ECM", "FCM", "CECM", "ECMPlus", "CCM", "BCM", "BPEC"), data.points),
    **dict.fromkeys(("RECM", "ECMdd", "EVCLUS"), data.distances),
    "CatECM": data.categories,
}


def fitting(estimator: str, changed: Parameters) -> Parameters | None:
    """What of a change this estimator has; None where nothing is left of it."""
    known = ALL[estimator]
    kept = {k: v for k, v in changed.items() if k.isupper() or k in known}
    if estimator in ("EVCLUS", "BPEC"):
        kept.pop("SAMPLE_WEIGHT", None)
    if estimator == "EVCLUS":
        kept.pop("init", None)
    if estimator in ("RECM", "ECMdd") and not isinstance(kept.get("init", ""), str):
        kept["init"] = [0, 1, 2]
    if estimator == "CatECM" and not isinstance(kept.get("init", ""), str):
        kept["init"] = data.categories()[[0, 1, 2]]
    if estimator == "CatECM" and "SAMPLE_WEIGHT" in kept:
        kept["SAMPLE_WEIGHT"] = data.weights(48)
    if estimator == "CatECM" and kept.get("delta"):
        kept["delta"] = 0.5 * kept["delta"]
    return kept if kept or not changed else None


def other_cases() -> Iterator[Case]:
    """Every other estimator."""
    own = own_changes()
    for estimator, source in SOURCES.items():
        for name, changed in (vector_changes() | own[estimator]).items():
            kept = fitting(estimator, changed)
            if kept is not None:
                yield case(f"{estimator}-{name}", estimator, source, kept)
    yield case("RECM-city-blocks", "RECM", data.city_blocks, {"non_euclidean": "floor"})
    yield case("ECMdd-city-blocks", "ECMdd", data.city_blocks, {})
    yield case("ECMdd-euclidean", "ECMdd", data.points, {"metric": "euclidean"})
    yield case("ECMdd-softdtw", "ECMdd", data.series, {"metric": "softdtw", "delta": 1.5})
    yield case("EVCLUS-city-blocks", "EVCLUS", data.city_blocks, {"d0": 8.0})


CASES: dict[str, Case] = {found.name: found for found in [*soft_ecm_cases(), *other_cases()]}


def numeric(values: Any) -> list[float] | None:
    """Up to 60 numbers of some prototypes, whatever they come as; None where they are no numbers."""
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
