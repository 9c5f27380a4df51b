"""What the mixture that counts the groups of a table does not take for a group."""

import numpy as np
import pandas as pd
import pytest

from softecm import choose_n_clusters


def table(rng: np.random.Generator, sizes: tuple[int, ...]) -> pd.DataFrame:
    kind = np.repeat(np.arange(len(sizes)), sizes)
    places = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0], [40.0, 40.0]])
    u, v = (places[kind] + rng.normal(size=(len(kind), 2))).T
    usual = np.array(["web", "shop", "phone", "web"])[kind]
    by = np.where(rng.random(len(kind)) < 0.8, usual, rng.choice(["web", "shop", "phone"], len(kind)))
    return pd.DataFrame({"u": u, "v": v, "by": by, "at": np.array(["n", "s", "e", "n"])[kind]})


@pytest.mark.parametrize("few", [0, 5])
def test_a_category_alone_or_a_few_rows_make_no_group(few: int) -> None:
    X = table(np.random.default_rng(0), (80, 60, 60, few))
    assert choose_n_clusters(X, random_state=0).n_clusters == 3


def test_a_small_group_counts() -> None:
    X = table(np.random.default_rng(0), (80, 60, 60, 20))
    assert choose_n_clusters(X, random_state=0).n_clusters == 4
