import numpy as np
import pytest

from softecm_paper import rows as module
from softecm_paper.rows import ROWS, Row, choose_rows, load_raw, load_scaled


def test_twelve_rows_three_of_each_kind_of_table_and_six_of_series() -> None:
    assert [row.kind for row in ROWS] == ["numerical"] * 3 + ["categorical"] * 3 + ["series"] * 6
    assert len({row.key for row in ROWS}) == 12


def test_words_choose_rows_in_the_table_s_order() -> None:
    assert [row.key for row in choose_rows(["glass", "abalone"])] == ["abalone", "glass"]
    assert len(choose_rows(["series"])) == 6
    assert [row.key for row in choose_rows(["softdtw"])] == ["ering_softdtw", "motions_softdtw", "fibrillation_softdtw"]
    assert [row.key for row in choose_rows(["ering"])] == ["ering_l2", "ering_softdtw"]
    assert choose_rows([]) == ROWS


def test_an_unknown_word_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"got 'iris'.*ering_l2"):
        choose_rows(["iris"])


def test_scaling_is_per_column_for_numbers_and_per_series_for_series(rng: np.random.Generator) -> None:
    from sklearn.utils import Bunch

    table = Bunch(data=np.column_stack([rng.normal(3, 5, 20), np.full(20, 7.0)]), target=np.arange(20) % 2)
    numbers = Row("t", "T", "numerical", "sqeuclidean", 2, lambda: table)
    scaled = load_scaled(numbers).X
    np.testing.assert_allclose(scaled[:, 0].std(), 1.0)
    np.testing.assert_allclose(scaled[:, 1], 0.0)  # a constant column is not divided by zero
    assert (table.data == load_raw(numbers).X).all()
    series = Bunch(data=rng.normal(4, 2, (3, 10, 2)), target=np.arange(3))
    found = module.load_scaled(Row("s", "S", "series", "softdtw", 2, lambda: series)).X
    np.testing.assert_allclose(found.mean(1), 0.0, atol=1e-12)
    np.testing.assert_allclose(found.std(1), 1.0)
