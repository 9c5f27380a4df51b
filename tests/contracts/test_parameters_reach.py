"""Every parameter of every estimator, and every argument of fit, reaches its problem: another value changes the result.

Typical surviving bugs are in the last lines between a parameter and the problem; a lost parameter fails here, as does a
new one without a line here.
"""

import warnings
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import pairwise_distances

import softecm
from contracts.test_estimators import KINDS, NAMES
from softecm import CEVCLUS, SoftECM
from softecm.algorithms import eknnclus
from softecm.constraints import check_constraints

RNG = np.random.default_rng(3)
POINTS = np.r_[RNG.normal(size=(36, 2)) + np.repeat([[0, 0], [3, 0], [1.5, 2.5]], 12, 0), [[9.0, 9.0]]]
WEIGHTS = RNG.integers(1, 4, len(POINTS)).astype(float)
D, OTHER = pairwise_distances(POINTS), pairwise_distances(POINTS[:, :1])
SOURCE = np.array([[0.5, 0.5], [3.5, 0.0], [1.0, 3.0]])
LINKS = {"must_link": [(0, 13), (1, 14)], "cannot_link": [(2, 3), (15, 16)]}
WORDS = np.array(["a", "b", "c", "d"], dtype=object)
TABLE = WORDS[np.digitize(np.c_[POINTS, POINTS.sum(1), POINTS[:, 0] - POINTS[:, 1]], [0, 1.5, 3])]
TWO_MATRICES, TWO_VIEWS = [D, OTHER], {"place": POINTS, "size": POINTS[:, :1] * [[1.0, 4.0]]}
DATA = {"vectors": POINTS, "dissimilarities": D, "categories": TABLE}

#: Parameters that affect only the time, place or display of a fit.
ASIDE = {"callback", "verbose", "n_jobs", "device"}
#: Tested elsewhere: a warm start needs an earlier fit (test_refits), single precision is in tests/test_precision.
ELSEWHERE = {"warm_start", "dtype"}

COMMON = {"n_clusters": 3, "n_init": 2, "random_state": 0, "delta": 4.0, "max_cardinality": 2, "focal_sets": None}
COMMON |= {"init": "k-means++", "hidden": (6,)}
BASE: dict[str, dict[str, object]] = {
    "SoftECM": {"metric": "sqeuclidean", "lam": 1.0, "relaxation": "penalty"},
    "TECM": {"source": SOURCE, "form": "matched", "init": SOURCE},
    "EVCLUS": {"init": "random"},
    "CEVCLUS": {"init": "random"},
    "EKNNClus": {"init": "objects"},
    "BPEC": {"metric": "adaptive"},
    "WMVEC": {"features": True},
    "MECMdd": {"lam": 0.5, "tol": 1e-3},
}
BASE["CatECM"] = {"delta": 2.0}

OTHERS: dict[str, object] = {
    "alpha": 2.0,
    "beta": 1.7,
    "delta": 1.0,
    "max_cardinality": 1,
    "focal_sets": [(0,), (1,), (2,), (0, 2)],
    "n_clusters": 4,
    "max_iter": 1,
    "tol": 0.5,
    "n_init": 3,
    "random_state": 7,
    "init": "random",
    "gamma": 2.5,
    "eta": 0.2,
    "xi": 6.0,
    "d0": 2.0,
    "n_neighbors": 7,
    "q": 0.2,
    "power": 2.0,
    "valley": 0.1,
    "hidden": (3,),
    "learning_rate": 0.02,
    "decay": 0.1,
    "link_weight": 6.0,
    "group_size": 15,
    "novelty": True,
    "transfer": 3.0,
    "beside": 0.1,
    "source": SOURCE + 1.0,
    "rule": "product",
    "features": False,
    "temperature": 0.05,
    "feature_temperature": 0.05,
    "scaling": "none",
    "regularisation": 0.3,
    "dissimilarity": "squared",
    "non_euclidean": "shift",
    "adaptive": False,
    "centers": "mean",
    "s": 1.2,
    "lam": 20.0,
    "weights": "local",
    "constraint": "product",
    "peaks": [0, 13, 27],
    "metric": "euclidean",
    "relaxation": "gap",
    "solver": "gradient",
    "variant": "evclust",
    "form": "free",
    "max_clusters": 2,
}
OWN: dict[tuple[str, str], object] = {
    ("CECM", "metric"): "adaptive",
    ("CECM", "xi"): 0.9,
    ("SoftECM", "metric"): "manhattan",
    ("TECM", "form"): "clusters",
    ("TECM", "init"): SOURCE + 2.0,
    ("TECM", "eta"): 4.0,
    ("EKNNClus", "valley"): 1.0,
    ("EKNNClus", "metric"): None,  # the data depend on it
    ("ECMdd", "metric"): None,
    ("EVCLUS", "init"): None,
    ("CEVCLUS", "init"): None,
    ("EKNNClus", "init"): np.arange(len(POINTS)) % 5,
    ("EGMM", "init"): SOURCE,
    ("CatECM", "delta"): 0.8,
}


#: Coefficients of the objective itself.
PRICES = {"alpha", "beta", "delta", "gamma", "eta", "lam", "xi"}
#: Conditions for a parameter to matter, on both sides of the comparison.
WHERE: dict[tuple[str, str], dict[str, object]] = {
    ("TECM", "n_init"): {"form": "sets", "init": "random"},
    ("TECM", "random_state"): {"form": "sets", "init": "random"},
    ("TECM", "n_clusters"): {"form": "sets", "init": "random"},
    ("TECM", "eta"): {"form": "clusters"},
    ("MECMdd", "lam"): {"form": "free"},
    ("EVCLUS", "n_neighbors"): {"n_neighbors": 20},
    ("CEVCLUS", "n_neighbors"): {"n_neighbors": 20},
}


def estimator(name, **changed):
    made = getattr(softecm, name)()
    known = made.get_params()
    own = COMMON | BASE.get(name, {}) | changed
    if changed.get("focal_sets") is not None:
        own["max_cardinality"] = None
    if name in ("BPEC", "EGMM") and "max_clusters" in changed:
        own["n_clusters"] = None if name == "BPEC" else "auto"
    if name == "BPEC" and "peaks" in changed:
        own["n_clusters"] = None
    if name == "TECM" and changed.get("form") == "clusters":
        own["beside"] = 1.0
    return made.set_params(**{key: value for key, value in own.items() if key in known})


def seen(model, X, **given):
    """The result of a fit: masses, the objective after each iteration, each run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, **given)
    objectives = np.asarray(model.runs_["objective"])
    return model.partition_.masses.tobytes(), model.history_.tobytes(), objectives.tobytes()


def given_to(name):
    X = DATA[KINDS[name]]
    X = {"MECMdd": TWO_MATRICES, "WMVEC": TWO_VIEWS}.get(name, X)
    return X, LINKS if name in ("CECM", "CEVCLUS", "NNEVCLUS") else {}


CASES = [
    (name, parameter)
    for name in NAMES
    for parameter in sorted(set(getattr(softecm, name)().get_params()) - ASIDE - ELSEWHERE)
    if OWN.get((name, parameter), "") is not None
]


@cache
def usual(name):
    X, links = given_to(name)
    return seen(estimator(name), X, **links)


@pytest.mark.parametrize(("name", "parameter"), CASES, ids=[f"{name}-{parameter}" for name, parameter in CASES])
def test_another_value_gives_another_answer(name, parameter):
    X, links = given_to(name)
    if (name, parameter) == ("RECM", "non_euclidean"):
        X = D**2
    value, where = OWN.get((name, parameter), OTHERS[parameter]), WHERE.get((name, parameter), {})
    before = usual(name) if not where and X is given_to(name)[0] else seen(estimator(name, **where), X, **links)
    found = seen(estimator(name, **where | {parameter: value}), X, **links)
    assert found != before
    if parameter in PRICES:
        assert found[1] != before[1], "the objective is as before: only the masses made afterwards differ"


WEIGHED = [name for name in NAMES if "sample_weight" in getattr(softecm, name).fit.__wrapped__.__code__.co_varnames]


@pytest.mark.parametrize("name", [name for name in WEIGHED if KINDS[name] == "vectors" and name != "CECM"])
def test_a_weight_counts_like_as_many_copies(name):
    """With every part of the objective active, including those off by default."""
    X, _ = given_to(name)
    counts = WEIGHTS.astype(int)
    start = {"init": SOURCE if not isinstance(X, dict) else {"place": SOURCE, "size": SOURCE[:, :1] * [[1.0, 4.0]]}}
    start |= {"n_init": 1, "tol": 1e-9, "max_iter": 50}
    weighed, copied = estimator(name, **start), estimator(name, **start)
    many = (
        {view: np.repeat(part, counts, 0) for view, part in X.items()}
        if isinstance(X, dict)
        else np.repeat(X, counts, 0)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weighed.fit(X, sample_weight=WEIGHTS)
        copied.fit(many)
    first = np.r_[0, np.cumsum(counts)[:-1]]
    np.testing.assert_allclose(copied.partition_.masses[first], weighed.partition_.masses, atol=1e-6)


@pytest.mark.parametrize("solver", ["gradient", "descent"])
@pytest.mark.parametrize("metric", ["sqeuclidean", "manhattan"])
def test_a_weight_counts_like_as_many_copies_for_every_solver(metric, solver):
    settings = {"metric": metric, "solver": solver, "delta": 4.0, "lam": 0.5, "relaxation": "penalty", "init": SOURCE}
    settings |= {"focal_sets": "full", "max_iter": 4}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weighed = SoftECM(3, **settings).fit(POINTS, sample_weight=WEIGHTS)
        copied = SoftECM(3, **settings).fit(np.repeat(POINTS, WEIGHTS.astype(int), 0))
    np.testing.assert_allclose(copied.objective_, weighed.objective_, rtol=1e-6)


FOUND = {
    "usual": ({}, {}),
    "penalty": ({"relaxation": "penalty"}, {}),
    "gap": ({"relaxation": "gap"}, {}),
    "prior": ({}, {"prior": SoftECM(3, metric="sqeuclidean", random_state=0).fit(POINTS + 0.5)}),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("parameters", "given"), FOUND.values(), ids=FOUND)
def test_what_is_found_with_weights_is_what_copies_have(parameters, given):
    """Delta, sets, prices and clusters."""
    model = SoftECM(3, metric="sqeuclidean", random_state=0, **parameters)
    weighed = clone(model).fit(POINTS, sample_weight=WEIGHTS, **given)
    copied = clone(model).fit(np.repeat(POINTS, WEIGHTS.astype(int), 0), **given)
    assert weighed.delta_ == pytest.approx(copied.delta_, rel=1e-9)
    assert weighed.focal_sets_ == copied.focal_sets_
    np.testing.assert_allclose(weighed.prototypes_, copied.prototypes_, atol=1e-6)


def test_links_of_cevclus_cost_what_the_article_says():
    """xi over twice the number of links, times 1 minus the satisfied share: here with certain masses."""
    masses = np.zeros((4, 4))
    masses[[0, 1, 2, 3], [1, 1, 2, 2]] = 1.0  # ∅, ω1, ω2, Ω: two in each
    d = pairwise_distances([[0.0], [0.0], [5.0], [5.0]])
    fits = {"init": masses, "max_iter": 1, "d0": 1.0, "tol": 1.0, "focal_sets": "full"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = CEVCLUS(2, xi=0.0, **fits).fit(d, must_link=[(0, 2)], cannot_link=[(0, 1), (2, 3)]).history_[0]
        priced = CEVCLUS(2, xi=3.0, **fits).fit(d, must_link=[(0, 2)], cannot_link=[(0, 1), (2, 3)]).history_[0]
        half = CEVCLUS(2, xi=3.0, **fits).fit(d, must_link=[(0, 1)], cannot_link=[(0, 1), (2, 3)][1:]).history_[0]
    assert priced - plain == pytest.approx(3.0 / (2 * 3) * (1 + 1 + 1 + 1 + 1 + 1))
    assert half - plain == pytest.approx(3.0 / (2 * 2) * (0 + 0 + 1 + 1))


@pytest.mark.parametrize("name", [name for name, parameter in CASES if parameter == "focal_sets"])
def test_sets_that_are_given_are_the_sets(name):
    X, links = given_to(name)
    model = estimator(name, focal_sets=OTHERS["focal_sets"], max_iter=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, **links)
    assert list(model.focal_sets_.sets) == OTHERS["focal_sets"]


def test_the_variant_of_cevclus_has_its_own_ridge():
    links = check_constraints([(0, 1)], [(1, 2)], 4)
    assert [CEVCLUS(2, variant=how)._linked(links).firm for how in ("article", "evclust")] == [False, True]


def test_views_of_wmvec_are_measured_as_asked():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain, scaled = (estimator("WMVEC", scaling=how, max_iter=1).fit(TWO_VIEWS) for how in ("none", "spread"))
    assert plain.model_.metric.units == [1.0, 1.0]
    assert scaled.model_.metric.units != [1.0, 1.0]


def test_votes_of_eknnclus_know_the_power(monkeypatch):
    powers, real = [], eknnclus.strength_of

    def watched(distances, gamma, power, least):
        powers.append(power)
        return real(distances, gamma, power, least)

    monkeypatch.setattr(eknnclus, "strength_of", watched)
    estimator("EKNNClus", power=2.0).fit(POINTS).predict_partition(POINTS[:3])
    assert len(powers) >= 2
    assert set(powers) == {2.0}
