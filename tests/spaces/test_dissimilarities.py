"""Rows and columns of a data frame of dissimilarities are the same objects."""

import numpy as np
import pandas as pd
import pytest

from softecm import EVCLUS, RECM, SoftECM

POINTS = np.r_[np.random.default_rng(0).normal(size=(8, 2)), np.random.default_rng(1).normal(size=(8, 2)) + 8]
MATRIX = np.sqrt(np.square(POINTS[:, None] - POINTS).sum(-1))
NAMES = [f"p{i}" for i in range(16)]


@pytest.mark.parametrize(
    "model", [RECM(2, random_state=0), EVCLUS(2, random_state=0), SoftECM(2, metric="precomputed", random_state=0)]
)
def test_columns_are_put_in_the_order_of_the_rows(model):
    frame = pd.DataFrame(MATRIX, index=NAMES, columns=NAMES)
    other = frame[NAMES[::-1]]
    wanted = model.fit(frame).partition_.masses
    np.testing.assert_array_equal(model.fit(other).partition_.masses, wanted)
    numbered = pd.DataFrame(MATRIX, index=NAMES, columns=[str(i + 1) for i in range(16)])
    np.testing.assert_array_equal(model.fit(numbered).partition_.masses, wanted)


def test_columns_that_are_other_objects_are_refused():
    others = pd.DataFrame(MATRIX, index=NAMES, columns=[*NAMES[:-1], "q"])
    with pytest.raises(ValueError, match=r"same names in its index and its columns.*got column 'q'.*X\.to_numpy\(\)"):
        RECM(2).fit(others)
