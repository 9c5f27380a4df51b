"""A function as ``metric=``: torch functions work, NumPy functions raise an error with both remedies."""

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist, euclidean

from softecm import SoftECM

X = np.random.default_rng(0).normal(size=(20, 2))


@pytest.mark.parametrize(
    "function",
    [cdist, euclidean, np.subtract, lambda x, v: np.sqrt(((x[:, None] - v) ** 2).sum(-1))],
    ids=["cdist", "euclidean", "ufunc", "lambda"],
)
def test_functions_of_arrays_are_refused(function: Any) -> None:
    with pytest.raises(TypeError, match=r"torch function; got one for NumPy arrays\..* metric='precomputed'"):
        SoftECM(2, metric=function).fit(X)


def test_other_errors_of_a_function_come_through() -> None:
    def broken(x: Any, v: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        SoftECM(2, metric=broken).fit(X)
