"""Column weights of tables: the contract of the distance, and rules of models saved by earlier versions."""

import numpy as np
import pandas as pd
import pytest
import torch

from softecm import SoftECM
from softecm.distances import Combined, Mixed
from softecm.testing import check_semimetric

N = 90
GROUPS = np.repeat([0, 1, 2], N // 3)
SHARES = (0.1, 0.3, 0.05, 0.5, 0.05)


def table(gaps=False):
    """Two numbers and a category with the groups, a number and a category without."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "first": 8.0 * (GROUPS == 0) + rng.normal(size=N),
            "colour": np.where(rng.random(N) < 0.8, np.array(["red", "blue", "green"])[GROUPS], "red"),
            "noise": rng.normal(100.0, 20.0, N),
            "second": 800.0 * (GROUPS == 2) + 100.0 * rng.normal(size=N),
            "sign": rng.choice(list("abcdef"), N),
        }
    )
    return frame.mask(rng.random(frame.shape) < 0.1) if gaps else frame


def weighed(gaps, **changed):
    """Encoded rows, and a metric loaded from a file with a rule."""
    metric = Mixed(weights=None)
    space = metric.make_space()
    raw = space.check(SoftECM(), table(gaps), reset=True)
    space = space.fit(raw, dtype=torch.float64)
    x = space.encode(raw)
    layout = x.layout
    shapes = ((1,),) * len(layout.number_weights) + tuple((size,) for size in layout.levels)
    known = {"shares": SHARES, "spreads": (1.0, 1.0, 1.0, 0.7, 0.8), "common": (0.0,) * 5, "shapes": shapes}
    return space, x, Mixed(weights="learned", columns=layout.names, order=layout.order, **known, **changed)


@pytest.mark.parametrize("gaps", [False, True], ids=["whole", "gaps"])
def test_a_weighed_table_keeps_the_contract(gaps):
    space, x, metric = weighed(gaps)
    some = torch.arange(12)
    report = check_semimetric(metric, x[some], prototypes=space.starts(x[some], some))
    left = {"symmetric", "zero at equality", "paired agrees"} if gaps else set()  # incomplete objects are no prototypes
    assert {check.name for check in report.failures} <= left, str(report)


def test_weights_of_each_set_multiply_its_own_columns():
    by_set = torch.tensor(SHARES, dtype=torch.float64).repeat(3, 1)
    by_set[1] = by_set[1].flip(0)
    space, x, own = weighed(True, by_set=by_set, weights_of="set")
    v = space.starts(x, torch.arange(3))
    _, _, one = weighed(True)
    torch.testing.assert_close(own.pairwise(x, v)[:, [0, 2]], one.pairwise(x, v)[:, [0, 2]])
    swapped = own.terms(x, v)[:, 1] / one.terms(x, v)[:, 1]
    assert not torch.isclose(swapped[~swapped.isnan()], swapped.new_ones(1)).all()


def test_a_rule_that_is_gone_is_refused_where_it_would_be_used():
    for rule in ("agreement", "learned", "product", "sum", "entropy"):
        with pytest.raises(ValueError, match=f"{rule!r}, a rule that was removed"):
            SoftECM(3, metric=Mixed(weights=rule)).fit(table())
    with pytest.raises(ValueError, match="a rule that was removed"):
        SoftECM(3, metric=Combined({"a": Mixed(weights="learned")})).fit({"a": table()})


def test_weights_need_a_rule():
    model = SoftECM(3, metric=Mixed(weights=None), random_state=0, n_init=2).fit(table())
    with pytest.raises(AttributeError, match="tables with weighted columns"):
        _ = model.feature_weights_
    with pytest.raises(ValueError, match="weights must be one of 'auto', 'equal'"):
        Mixed(weights="best")
