"""Links between objects by name."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from softecm import CECM, CEVCLUS, NNEVCLUS, SoftECM
from softecm.datasets import load_diamond
from softecm.spaces.column_roles import by_row

X = load_diamond().data
NAMES = [f"n{i}" for i in range(len(X))]
FRAME = pd.DataFrame(X, index=NAMES, columns=["a", "b"])


@pytest.mark.parametrize(
    "estimator",
    [
        SoftECM(2, n_init=1, max_iter=3, random_state=0),
        CECM(2, n_init=1, max_iter=3, random_state=0),
        CEVCLUS(2, n_init=1, max_iter=3, random_state=0),
        NNEVCLUS(2, n_init=1, max_iter=3, random_state=0),
    ],
    ids=lambda one: type(one).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_names_are_numbers(estimator):
    data = FRAME
    if isinstance(estimator, CEVCLUS):
        data = pd.DataFrame(np.abs(X[:, None] - X).sum(-1), index=NAMES, columns=NAMES)
    by_name = estimator.fit(data, must_link=[("n2", "n5")], cannot_link=[("n5", "n8")]).partition_
    assert by_name == estimator.fit(data, must_link=[(2, 5)], cannot_link=[(5, 8)]).partition_


def test_where_names_are_found():
    assert by_row(pl.DataFrame({"id": NAMES, "a": X[:, 0]}), [("n3", "n1")], None) == ([[3, 1]], None)
    assert by_row({"z": X, "patient": FRAME}, None, np.array([["n0", "n4"]])) == (None, [[0, 4]])
    given = [(0, 1)], np.array([[1, 2]])
    assert by_row(X, *given) == given


@pytest.mark.parametrize(
    ("data", "pair", "said"),
    [
        (X, ("n1", "n2"), r"must_link must hold numbers of objects, counted from 0; got 'n1'.*index names them"),
        (FRAME, ("n1", "n100"), r"must_link must name objects of X; got 'n100', which is not one\. Did you mean n10\?"),
        (FRAME.rename(index={"n2": "n1"}), ("n1", "n3"), r"must name one object each; got 'n1', the name of 2"),
    ],
)
def test_names_that_are_none_are_refused(data, pair, said):
    with pytest.raises(ValueError, match=said):
        SoftECM(2).fit(data, must_link=[pair])


def test_broken_links_are_said_by_name(caplog):
    must = [(f"n{i}", "n10") for i in (0, 1, 2, 3, 4, 5, 11)]
    SoftECM(2, n_init=1, max_iter=20, random_state=0).fit(FRAME, must_link=must[:1], constraint_weight=1e-6)
    assert "1 of 1 pairs of must_link are violated: n0 and n10. Check them for mistakes; a larger" in caplog.text
    caplog.clear()
    SoftECM(2, n_init=1, max_iter=20, random_state=0).fit(FRAME, must_link=must, constraint_weight=1e-6)
    listed = ", ".join(f"n{i} and n10" for i in range(5))
    assert f"6 of 7 pairs of must_link are violated: {listed} …. Check them" in caplog.text
