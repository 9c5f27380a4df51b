"""Numbers that a change of structure must not change: every recorded fit, replayed."""

import json
from pathlib import Path

import numpy as np
import pytest

from recorded.cases import CASES, outcome

FITS = json.loads(Path(__file__).with_name("fits.json").read_text(encoding="utf-8"))["fits"]


def test_every_case_is_recorded() -> None:
    assert list(FITS) == list(CASES)


@pytest.mark.parametrize("name", FITS)
def test_a_recorded_fit_gives_the_same_numbers(name: str) -> None:
    case, expected = CASES[name], FITS[name]
    found = outcome(case.fitted())
    for exact in ("n_iter", "converged", "labels", "sets"):
        assert found[exact] == expected[exact], exact
    for close in ("objective", "separation", "delta", "mass_sums", "masses", "prototypes"):
        if expected[close] is None:
            assert found[close] is None, close
        else:
            numbers = np.asarray(expected[close], dtype=np.float64)  # "nan" and "inf" are words in JSON
            np.testing.assert_allclose(
                found[close], numbers, rtol=case.tolerance, atol=case.tolerance, equal_nan=True, err_msg=close
            )
