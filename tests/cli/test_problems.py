"""Errors on the command line speak of options, as they are typed there."""

import numpy as np
import pytest

from softecm import FocalSets, SoftECM
from softecm._wording import option
from softecm.cli.problems import Problem, mendable


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
def test_parameters_are_options(as_typed: None, given: dict[str, object], said: str) -> None:
    with pytest.raises(Problem) as caught, mendable(ValueError):
        SoftECM(2, **given).fit([[0.0], [1.0], [5.0]])  # type: ignore[arg-type]
    assert str(caught.value) == said


def test_remedies_are_options(as_typed: None) -> None:
    from softecm.spaces.base import refuse_dissimilarities

    with pytest.raises(ValueError, match="Use --metric precomputed, or --algorithm RECM, ECMdd or EVCLUS for these"):
        refuse_dissimilarities(1.0 - np.eye(4))
    with pytest.raises(
        ValueError, match=r"must be simple, full, pairs; got ful\. Did you mean full\? Leave it out to take"
    ):
        FocalSets.make(3, None, "ful")


def test_python_is_spoken_to_in_python() -> None:
    with pytest.raises(ValueError, match=r"^delta must be greater than 0; got 0\. 'auto' takes it .*; None switches"):
        SoftECM(2, delta=0).fit([[0.0], [1.0], [5.0]])
    with pytest.raises(ValueError, match=r"'simple', 'full', 'pairs', a list of tuples or FocalSets; got 'ful'\."):
        FocalSets.make(3, None, "ful")


def test_values_are_written_as_a_shell_takes_them(as_typed: None) -> None:
    assert option("id_column", "customer no") == "--id-column 'customer no'"
    assert (option("random_state", 3), option("delta", None), option("tol")) == ("--seed 3", "--delta none", "--tol")
