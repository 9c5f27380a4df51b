"""Trees that explain credal partitions: published ones, exact boxes, honest errors, unusual tables."""

import json
import math
from itertools import product

import numpy as np
import pandas as pd
import pytest

import golden
from softecm import CredalPartition, FocalSets
from softecm.explain import ExplanationTree
from softecm.explain.cuts import utilities
from softecm.explain.nodes import Branch, Leaf

CASES = golden.load("iemm")


def focal_of(case: dict) -> FocalSets:
    rows = np.asarray(case["F"])
    return FocalSets.of(rows.shape[1], [tuple(np.flatnonzero(row).tolist()) for row in rows])


def same(node: Branch | Leaf, told: dict) -> None:
    if "set" in told:
        assert isinstance(node, Leaf)
        assert node.column - 1 == told["set"]
        return
    assert isinstance(node, Branch)
    assert node.cut.column == told["attribute"]
    assert node.cut.threshold == pytest.approx(told["threshold"], abs=1e-9)
    assert node.cut.cost == pytest.approx(told["loss"], abs=1e-10)
    same(node.left, told["left"])
    same(node.right, told["right"])


@pytest.mark.parametrize("case", CASES["cases"], ids=lambda case: case["id"])
def test_as_published(case):
    focal, lam, out = focal_of(case), float(case["lam"]), case["output"]
    if "S" in out:
        np.testing.assert_allclose(utilities(focal, lam), out["S"], atol=1e-14)
        return
    masses = np.asarray(case["masses_n"], dtype=float)
    partition = CredalPartition(np.column_stack([np.zeros(len(masses)), masses]), focal)
    table = np.asarray(CASES["datasets"][case["data"]], dtype=float)
    tree = ExplanationTree(lam, leaves="own", cv=0).fit(partition, table)
    same(tree.tree_, out["tree"])
    for at, value in out["representativeness"].items():
        assert tree.representativeness_[float(at)] == pytest.approx(value, abs=1e-10)
    assert tree.predict(table).tolist() == [focal.sets[k] for k in out["assigned"]]


def boxes(rng: np.random.Generator, n: int, columns: int, parts: int) -> tuple[np.ndarray, np.ndarray]:
    """Objects in boxes, made by cutting the largest in two."""
    X, found = rng.random((n, columns)), [np.arange(n)]
    while len(found) < parts:
        found.sort(key=len)
        big, j = found.pop(), rng.integers(columns)
        at = np.sort(X[big, j])[int(len(big) * rng.uniform(0.3, 0.7))]
        found += [big[X[big, j] <= at], big[X[big, j] > at]]
    return X, np.argmax([np.isin(np.arange(n), part) for part in found], 0)


@pytest.mark.parametrize(("lam", "size"), list(product((-1.0, 0.0, 1.0, 2.0), (1, 2))))
def test_boxes_are_found_as_they_are(lam, size):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        c = int(rng.integers(2, 6))
        focal = FocalSets.up_to(c, size)
        held = np.concatenate([np.arange(c), c + rng.permutation(len(focal) - c)])[: c + 2]
        X, box = boxes(rng, 300, int(rng.integers(1, 6)), len(held))
        masses = np.zeros((300, len(focal) + 1))
        masses[np.arange(300), 1 + held[box]] = 1.0
        partition = CredalPartition(masses, focal)
        tree = ExplanationTree(lam, cv=0).fit(partition, X)
        assert (tree.predict(X) == partition.sets()).all()
        assert tree.predict_partition(X) == partition
        assert tree.representativeness_[0.0] == 1.0
        assert len(tree.mistakes_) == 0
        assert len(tree.leaves_) == len(held)


@pytest.fixture(scope="module")
def people() -> tuple[CredalPartition, pd.DataFrame]:
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], 40)
    frame = pd.DataFrame(
        {
            "height": rng.normal(170, 5, 120).round(1),
            "town": np.array(["Ulm", "Bonn", "Kiel"])[group],
            "since": pd.to_datetime("2020-01-01") + pd.to_timedelta(400 * (group == 1) + rng.integers(0, 9, 120), "D"),
        }
    )
    frame.loc[[3, 50, 90], "town"] = None
    frame.loc[[5, 60], "height"] = np.nan
    return CredalPartition.from_hard(group), frame


def test_categories_dates_and_gaps(people):
    partition, frame = people
    tree = ExplanationTree().fit(partition, frame)
    told = "\n".join(tree.rules())
    assert "town is " in told
    assert "height" not in told
    assert len(tree.mistakes_) <= 3
    dates = ExplanationTree().fit(partition.coarsen([(0, 2), (1,)]), frame[["height", "since"]])
    assert dates.rules()[1].startswith("group 2: since > 2020-")
    unknown = frame[["since", "height"]].iloc[:4].assign(height=None)
    assert dates.predict(unknown).tolist() == [(0,)] * 4  # by name, in any order; missing cells go with most


def test_a_category_nobody_knew_is_another_one(people):
    partition, frame = people
    tree = ExplanationTree().fit(partition, frame[["town"]])
    assert len(set(tree.predict(pd.DataFrame({"town": ["Rom", "Ulm", "Bonn", "Kiel"]})).tolist())) == 3


def test_weights_are_copies(rng):
    X = rng.normal(size=(40, 3))
    masses = rng.dirichlet(np.ones(7), 40)
    partition, weights = CredalPartition(masses, FocalSets.up_to(3, 2)), rng.integers(0, 4, 40)
    weighed = ExplanationTree(cv=0).fit(partition, X, weights)
    rows = np.repeat(np.arange(40), weights)
    copied = ExplanationTree(cv=0).fit(partition[rows], X[rows])
    assert [rule.split(" (")[0] for rule in weighed.rules()] == [rule.split(" (")[0] for rule in copied.rules()]
    assert weighed.representativeness_[1.0] == pytest.approx(copied.representativeness_[1.0])


def test_an_outlier_counts_as_far_as_it_belongs_somewhere():
    X = np.r_[np.zeros(20), np.ones(20), 0.4][:, None]
    masses = np.zeros((41, 3))
    masses[:20, 1] = masses[20:40, 2] = 1.0
    masses[40] = [0.9, 0.0, 0.1]
    tree = ExplanationTree().fit(CredalPartition(masses, FocalSets.up_to(2, 1)), X)
    assert tree.representativeness_[1.0] > 0.99
    assert 40 not in tree.mistakes_
    assert tree.predict_partition(X).masses[40, 0] > 0


def test_bold_names_clusters_and_cautious_names_sets(rng):
    X = rng.random((200, 1))
    near = np.clip(4 * np.abs(X[:, 0] - 0.5), 0, 1)
    left = (X[:, 0] < 0.5) * near
    partition = CredalPartition(np.column_stack([0 * left, left, near - left, 1 - near]), FocalSets.full(2))
    trees = [ExplanationTree(lam, cv=0).fit(partition, X) for lam in (-2.0, 0.0, 2.0)]
    bold, exact, cautious = (sum(len(said) == 2 for said in tree.predict(X)) for tree in trees)
    assert bold < exact < cautious


def test_the_honest_error_knows_noise(rng):
    partition = CredalPartition.from_hard(rng.integers(0, 2, 200))
    tree = ExplanationTree(min_gain=0.0).fit(partition, rng.normal(size=(200, 5)))
    assert tree.representativeness_[1.0] >= 0.5
    assert abs(tree.honest_[1.0] - 0.5) < 0.12
    assert tree.ceiling_[1.0] == 1.0
    assert f"{tree.honest_[1.0]:.2f} for unseen objects" in tree.summary()


def test_small_by_default(rng):
    masses = rng.dirichlet(np.full(11, 0.3), 300)
    tree = ExplanationTree(cv=0).fit(CredalPartition(masses, FocalSets.up_to(4, 2)), rng.normal(size=(300, 4)))
    assert len(tree.leaves_) <= 10
    assert (
        len(ExplanationTree(cv=0, min_gain=0.3).fit(CredalPartition(masses, FocalSets.up_to(4, 2)), masses).leaves_)
        == 1
    )


def doubtful(seed: int, width: float, sets: FocalSets) -> tuple[CredalPartition, np.ndarray]:
    """Four groups of 40 and their masses, some between two groups if the sets allow it."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(0, width, (4, 3))
    X = places[np.repeat(np.arange(4), 40)] + rng.normal(size=(160, 3))
    far = np.square(X[:, None] - sets.shares @ places).sum(-1)
    masses = np.exp(-far / 2) * np.where(sets.membership.sum(1) == 1, 1.0, 0.2)
    return CredalPartition(np.c_[np.zeros(160), masses / masses.sum(1, keepdims=True)], sets), X


def test_a_cut_that_other_cuts_make_needless_is_taken_back():
    rules = sets = 0
    for seed in range(10):
        tree = ExplanationTree(cv=0).fit(*doubtful(seed, 12.0, FocalSets.up_to(4, 2)))
        rules, sets = rules + len(tree.leaves_), sets + len({leaf.column for leaf in tree.leaves_})
    assert rules <= 1.25 * sets  # 1.79 times without


def test_a_partition_out_of_a_file_has_the_same_rules_and_agreement():
    """Ties between cuts must not depend on digits that a file does not hold."""
    for seed in (31, 44, 53):
        partition, X = doubtful(seed, 10.0, FocalSets.up_to(4, 1))
        written = partition.masses.round(6)
        file = CredalPartition(written / written.sum(1, keepdims=True), partition.focal_sets)
        one, other = (ExplanationTree().fit(p, X) for p in (partition, file))
        assert one.export_text() == other.export_text()
        assert one.honest_[1.0] == pytest.approx(other.honest_[1.0], abs=1e-5)


def test_one_set_one_leaf():
    tree = ExplanationTree().fit(CredalPartition.from_hard([0, 0, 0, 0]), np.arange(4.0)[:, None])
    assert tree.rules() == ["group 1: always (4 objects, 1.00)"]
    nowhere = ExplanationTree().fit(CredalPartition.from_hard([-1, -1, -1]), np.arange(3.0)[:, None])
    assert len(nowhere.leaves_) == 1


def test_series_are_told_by_stretches_and_lists_agree(rng):
    group = np.repeat([0, 1], 15)
    series = rng.normal(size=(30, 24, 1)) + 9 * group[:, None, None] * (np.arange(24) > 15)[None, :, None]
    tree = ExplanationTree(cv=0).fit(CredalPartition.from_hard(group), series)
    assert "steps 16–18 ≤" in tree.export_text()
    assert tree.predict(list(series)).tolist() == tree.predict(series).tolist()


def test_drawn_and_as_json(people):
    import matplotlib

    matplotlib.use("Agg")
    partition, frame = people
    tree = ExplanationTree().fit(partition, frame)
    drawn = [text.get_text() for text in tree.plot().texts]
    assert {"yes", "no"} <= set(drawn)
    assert sum(text.startswith("group ") for text in drawn) == len(tree.leaves_)
    told = json.loads(json.dumps(tree.to_dict(), allow_nan=False))
    assert told["rules"] == tree.rules()
    assert told["representativeness"]["inf"] == tree.representativeness_[math.inf]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"table": None}, "table must hold the columns to explain the groups by.*got None"),
        ({"table": np.ones((3, 2))}, "table must hold the partition's 4 objects, in their order; got 3 rows"),
        ({"table": np.empty((4, 0))}, "at least one column|at least"),
        ({"partition": [0, 1, 0, 1]}, "partition must be a CredalPartition; got list"),
        ({"weights": [1, 2, 3]}, "sample_weight must be a number of at least 0 for each of the 4 objects"),
        ({"weights": [0, 0, 0, 0]}, "not all 0"),
        ({"lam": "bold"}, "lam must be a number, from -inf"),
        ({"lam": math.nan}, "lam must be a number"),
        ({"leaves": "any"}, 'leaves must be "auto", "best" or "own"'),
        ({"min_gain": 1.0}, "min_gain must be a share of R"),
        ({"cv": 1}, "cv must be a number of folds of at least 2, or 0"),
    ],
)
def test_what_can_not_be_explained_is_refused(change, message):
    given = {"partition": CredalPartition.from_hard([0, 1, 0, 1]), "table": np.arange(4.0)[:, None], "weights": None}
    given |= {key: value for key, value in change.items() if key in given}
    made = {key: value for key, value in change.items() if key not in given}
    with pytest.raises((ValueError, TypeError), match=message):
        ExplanationTree(**made).fit(given["partition"], given["table"], given["weights"])


def test_another_table_without_the_columns_is_refused(people):
    partition, frame = people
    tree = ExplanationTree(cv=0).fit(partition, frame)
    with pytest.raises(ValueError, match=r"table must have the columns of the fit, 3 of them; got 1\. Add town, since"):
        tree.predict(frame[["height"]])
    with pytest.raises(ValueError, match="'height' must hold numbers, as in the fit; got categories"):
        tree.predict(frame.assign(height="tall"))


def test_outliers_of_whom_rules_say_nothing_are_not_passed_over():
    X = np.r_[np.arange(10.0), np.arange(100.0, 110.0), 1000.0][:, None]
    masses = np.zeros((21, 3))
    masses[:10, 1] = masses[10:20, 2] = masses[20, 0] = 1.0
    tree = ExplanationTree().fit(CredalPartition(masses, FocalSets.up_to(2, 1)), X)
    assert tree.nowhere_ == 1
    assert tree.summary().endswith("no objects in the wrong group; no rule covers the 1 object that belongs nowhere.")


@pytest.mark.parametrize("column", [[1.0] * 9 + [2.0] * 3 + [np.nan], ["a"] * 9 + ["b"] * 3 + [None]])
@pytest.mark.parametrize("flipped", [False, True])
def test_a_gap_goes_with_most_of_the_others(column, flipped):
    swap = {1.0: 2.0, 2.0: 1.0, "a": "b", "b": "a"}
    table = pd.DataFrame({"x": [swap.get(cell, cell) for cell in column] if flipped else column})
    tree = ExplanationTree().fit(CredalPartition.from_hard([0] * 9 + [1] * 3 + [0]), table)
    assert tree.predict(table).tolist() == [(0,)] * 9 + [(1,)] * 3 + [(0,)]
