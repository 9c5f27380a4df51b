"""Ordered answers."""

import pandas as pd
import pytest

from softecm import ReadingWarning, SoftECM, read_table
from softecm.readers import ReadError
from softecm.readers.answers import known_order

ANSWERS = ["never", "rarely", "Often", "always", "often", "k.A."] * 8
FRAME = pd.DataFrame(
    {"mood": ANSWERS, "size": ["small", "large", "middle"] * 16, "age": [20.5, 31.25, 44.75, 60.5] * 12}
)
SIZES = "size=small<middle<large"


@pytest.mark.filterwarnings("ignore:column mood.*treated as missing:softecm.ReadingWarning")
def test_answers_are_compared_by_their_order() -> None:
    table = read_table(FRAME, ordinal=["all", SIZES])
    assert table.data["mood"].cat.categories.tolist() == ["never", "rarely", "often", "always"]
    assert table.data["size"].cat.ordered
    assert [c.detail for c in table.columns if c.name == "size"] == ["small < middle < large"]
    model = SoftECM(2, random_state=0).fit(table.data)
    assert [column.kind for column in model.model_.space.columns] == ["ordinal", "ordinal", "number"]
    new = read_table(FRAME.tail(3).assign(mood=["NEVER", "always", "k.A."]), like=table)
    assert model.predict(new.data).shape == (3,)


def test_a_known_scale_that_is_not_made_use_of_is_pointed_out() -> None:
    with pytest.warns(ReadingWarning) as said:
        read_table(FRAME)
    assert "column mood: the answers have an order (never < rarely < Often < always); ordinal='all' uses it." in [
        str(one.message) for one in said
    ]


@pytest.mark.parametrize(
    ("ordinal", "told"),
    [
        ("size", "the order of column size .* is not known"),
        ("size=small<large", "middle in row 3, which is not in the order small < large"),
        ("size=small", "must be an order"),
        ("size=small<small", "must be an order"),
        ("colour=red<blue", "no column colour"),
    ],
)
def test_orders_that_say_nothing_are_refused(ordinal: str, told: str) -> None:
    with pytest.raises(ReadError, match=told):
        read_table(FRAME, ordinal=ordinal)


def test_german_answers_and_words_that_are_no_scale() -> None:
    assert known_order(["teils/teils", "Stimme voll zu", "stimme gar nicht zu"])[0] == "stimme gar nicht zu"
    assert known_order(["good", "poor"]) == known_order(["good", "bad", "ugly"]) == ()
