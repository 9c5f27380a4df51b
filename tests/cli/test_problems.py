"""Errors on the command line speak of options, as they are typed there."""

import pytest

from softecm import SoftECM
from softecm.cli.problems import Problem, in_options, mendable


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"delta": 0},
            "--delta must be greater than 0; got 0. auto takes it from the data; none switches outliers off.",
        ),
        ({"max_iter": 0}, "--max-iter must be a whole number of at least 1; got 0. 200 is usual."),
        ({"init": "foo"}, "--init must be one of auto, k-means++, random; got foo."),
        ({"solver": "foo"}, "--solver must be one of auto, gradient, descent; got foo."),
        ({"n_jobs": 0}, "--n-jobs must be none or a whole number other than 0; got 0. -1 uses all cores."),
        (
            {"relaxation": "foo"},
            "--relaxation must be one of auto, penalty, gap, exact; got foo. auto suits the metric.",
        ),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else "",
)
def test_parameters_are_options(given: dict[str, object], said: str) -> None:
    with pytest.raises(Problem) as caught, mendable(ValueError):
        SoftECM(2, **given).fit([[0.0], [1.0], [5.0]])  # type: ignore[arg-type]
    assert str(caught.value) == said


def test_remedies_are_options() -> None:
    text = (
        "With relaxation='penalty' a large lam pulls, and lam=20 is large: use relaxation='gap' or lam=5, n_clusters=3."
    )
    assert in_options(text) == (
        "With --relaxation penalty a large lam pulls, and --lam 20 is large: use --relaxation gap or --lam 5, --clusters 3."
    )
    apart = "Use SoftECM(metric='precomputed'), RECM, ECMdd or EVCLUS for these"
    assert in_options(apart) == "Use --metric precomputed, or --algorithm RECM, ECMdd or EVCLUS for these"
    assert in_options("the alpha of 'a column' must be read") == "the alpha of 'a column' must be read"
    seen = "2 of 3 objects have a category that the fit never saw: column 'code' in 2 ('7', None)."
    assert in_options(seen) == seen
