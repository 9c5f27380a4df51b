"""Random settings on random data, usual and absurd: sound masses or a sentence, for every estimator and metric."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hostile.outcomes import ends_well
from problems import DEEP
from softecm import BCM, BPEC, CCM, CECM, ECM, EVCLUS, FCM, RECM, CatECM, ECMdd, ECMPlus, SoftECM

FIRST = settings(
    max_examples=150 if DEEP else 5,
    deadline=None,
    derandomize=not DEEP,
    suppress_health_check=list(HealthCheck),
)
pytestmark = pytest.mark.filterwarnings("ignore")

SIZES = st.sampled_from([1.0, 1e-3, 1e3, 1e-30, 1e30, 1e-139, 1e149, 0.0, 1e-200, 1e200])
ANYTHING = st.sampled_from(
    [None, "auto", "nonsense", -1, 0, 1, 2.0, 1.0000001, 1e-12, 1e12, 1e150, 1e308, np.inf, np.nan, True, (), [3]]
)
USUAL = {
    "alpha": st.sampled_from([0.0, 1.0, 2.0, 50.0, 600.0]),
    "beta": st.sampled_from([1.0001, 1.1, 2.0, 7.0, 100.0, 1e9]),
    "delta": st.sampled_from(["auto", None, 1e-5, 0.3, 10.0, 1e8]),
    "lam": st.sampled_from(["auto", 0.0, 1e-9, 1.0, 1e6, 1e100]),
    "max_cardinality": st.sampled_from([1, 2, 3, None]),
    "n_init": st.sampled_from([1, 2, 3]),
    "max_iter": st.sampled_from([1, 5, 50]),
    "tol": st.sampled_from([0.0, 1e-12, 1e-3, 1e3]),
    "relaxation": st.sampled_from(["auto", "penalty", "gap", "exact"]),
    "gamma": st.sampled_from([0.0, 0.5, 1e6]),
    "xi": st.sampled_from([0.0, 0.5, 1.0]),
    "eta": st.sampled_from([0.0, 0.5, 1.0]),
    "dtype": st.sampled_from(["float64", "float32"]),
    "random_state": st.integers(0, 5),
}


@st.composite
def vectors(draw):
    """Rows with duplicates, constant columns, outliers, any scale, sometimes missing cells."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    n, p = draw(st.integers(1, 24)), draw(st.integers(1, 4))
    x = rng.normal(size=(n, p)) + rng.integers(0, 3, size=(n, 1)) * 5.0
    for spoil in draw(
        st.lists(st.sampled_from(["equal", "constant", "outlier", "hole", "whole", "infinite"]), max_size=2)
    ):
        if spoil == "equal":
            x[:] = x[rng.integers(0, max(1, n // 4), n)]
        elif spoil == "constant":
            x[:, 0] = x[0, 0]
        elif spoil == "outlier":
            x[0] *= 1e9
        elif spoil == "whole":
            x = np.round(x)
        else:
            x[-1, -1] = np.nan if spoil == "hole" else np.inf
    return x * draw(SIZES)


@st.composite
def options(draw, kind):
    """Some parameters at usual and extreme values, at most one with an arbitrary value."""
    names = [name for name in kind().get_params() if name in USUAL]
    chosen = {name: draw(USUAL[name]) for name in names if draw(st.booleans())}
    if draw(st.integers(0, 4)) == 0:
        chosen[draw(st.sampled_from([name for name in names if name != "random_state"]))] = draw(ANYTHING)
    chosen["n_clusters"] = draw(st.sampled_from([1, 2, 3, 3, 3, 30]))
    return chosen


@pytest.mark.parametrize("kind", [SoftECM, ECM, FCM, CECM, CCM, BCM, ECMPlus, BPEC])
def test_any_settings_on_any_vectors(kind, hostile_case):
    @FIRST
    @given(vectors(), options(kind))
    def one(x, chosen):
        hostile_case()
        ends_well(lambda: kind(**chosen).fit(x).predict_partition(x))

    one()


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "mahalanobis", "mixed", "hamming", "auto"])
def test_any_settings_with_any_metric(metric, hostile_case):
    @FIRST
    @given(vectors(), options(SoftECM))
    def one(x, chosen):
        hostile_case()
        ends_well(lambda: SoftECM(metric=metric, **chosen).fit(x).predict_partition(x))

    one()


@pytest.mark.parametrize("metric", ["softdtw", "dtw", *(["softmsm", "wdtw", "sbd"] if DEEP else [])])
def test_any_settings_on_any_series(metric, hostile_case):
    @FIRST
    @given(vectors(), options(SoftECM), st.booleans())
    def one(x, chosen, ragged):
        hostile_case()
        series = [np.tile(row, 3)[: 3 * len(row) - (i % 3 if ragged else 0)] for i, row in enumerate(x)]
        chosen["max_iter"] = 3
        ends_well(lambda: SoftECM(metric=metric, **chosen).fit(series).predict_partition(series))

    one()


@pytest.mark.parametrize("kind", [RECM, ECMdd, EVCLUS])
def test_any_settings_on_any_dissimilarities(kind, hostile_case):
    @FIRST
    @given(vectors(), options(kind), st.booleans())
    def one(x, chosen, triangle):
        hostile_case()
        with np.errstate(all="ignore"):
            d = np.abs(x[:, :1] - x[:, :1].T) if triangle else np.sqrt(((x[:, None] - x) ** 2).sum(-1)) ** 3
        ends_well(lambda: kind(**chosen).fit(d).predict_partition(d))

    one()


def test_any_settings_on_any_categories(hostile_case):
    @FIRST
    @given(vectors(), options(CatECM))
    def one(x, chosen):
        hostile_case()
        words = np.array([[f"w{value:.0f}" for value in row] for row in np.nan_to_num(x, posinf=0.0)], dtype=object)
        ends_well(lambda: CatECM(**chosen).fit(words).predict_partition(words))

    one()
