import numpy as np
import pytest

from softecm_paper.paper import ACCURACY, CLAIMS, METHODS, RAND_INDEX
from softecm_paper.rows import ROWS
from softecm_paper.runs import USED_BY
from softecm_paper.table import _is_good


def test_the_paper_s_table_has_our_rows_and_methods() -> None:
    keys = {row.key for row in ROWS}
    assert set(RAND_INDEX) == set(ACCURACY) == keys
    for row in ROWS:
        assert set(RAND_INDEX[row.key]) == set(ACCURACY[row.key]) == set(USED_BY[row.kind])
        assert set(USED_BY[row.kind]) <= set(METHODS)


def test_numbers_are_where_the_paper_prints_them() -> None:
    assert str(RAND_INDEX["ecoli"]["ECM"]) == "0.89 (0.004)"
    assert RAND_INDEX["lung"]["Soft-ECM"].mean == 0.48
    assert RAND_INDEX["fibrillation_softdtw"]["TSKmeans"].deviation == 0.01
    assert ACCURACY["soybean"]["K-Modes"].mean == 1.0


def test_our_reading_of_performing_well_gives_the_paper_s_share() -> None:
    share = np.mean([_is_good(RAND_INDEX[row.key]) for row in ROWS])
    assert share == pytest.approx(10 / 12)
    assert share == pytest.approx(CLAIMS["good"], abs=0.01)


def test_the_averages_in_the_paper_s_text_are_not_those_of_its_table() -> None:
    printed = [RAND_INDEX[key]["Soft-ECM"].mean for key in ("abalone", "ecoli", "glass")]
    assert np.mean(printed) == pytest.approx(0.68)
    assert CLAIMS["rand_index"] == 0.566
