"""Profiles of groups: planted columns are found, effects and intervals are accurate."""

import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from problems import DEEP
from softecm import CredalPartition, FocalSets
from softecm.explain import profile
from softecm.explain.effects import cliffs_delta, quantile
from softecm.explain.profiles import renamed

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def planted(seed, n=300, groups=3, telling=4, noise=12):
    """A table whose first columns (numbers and words) differ between hard groups, the others do not."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, groups, n)
    table = {}
    for j in range(telling):
        distinct = labels == rng.integers(0, groups)
        if j % 2:
            table[f"word {j}"] = np.where(rng.uniform(size=n) < np.where(distinct, 0.85, 0.25), "yes", "no")
        else:
            table[f"number {j}"] = rng.normal(size=n) + 2.0 * distinct
    for j in range(noise):
        table[f"noise {j}"] = rng.choice(["a", "b", "c"], n) if j % 3 == 0 else rng.standard_t(3, n)
    return pd.DataFrame(table), labels


def test_planted_columns_are_found_and_noise_is_not():
    found = right = 0
    tables = 40 if DEEP else 15
    for seed in range(tables):
        X, labels = planted(seed)
        told = {trait.column for trait in profile(CredalPartition.from_hard(labels, 3), X) if trait.distinguishes}
        found, right = found + len(told), right + sum(not name.startswith("noise") for name in told)
    assert right / found >= 0.95
    assert right / (tables * 4) >= 0.95


def test_the_effect_is_the_difference_of_probabilities(rng):
    here, elsewhere = rng.integers(0, 8, 30).astype(float), rng.integers(2, 9, 41).astype(float)
    gap = np.sign(here[:, None] - elsewhere)
    assert np.isclose(cliffs_delta(here, elsewhere, 1.0).size, gap.mean())
    yes, other = here > 4, elsewhere > 4
    effect = cliffs_delta(yes.astype(float), other.astype(float), 1.0)
    assert np.isclose(effect.size, yes.mean() - other.mean())
    assert effect.turned().size == -effect.size


def test_intervals_hold_as_often_as_they_say():
    """Two normal groups one deviation apart: the truth is 2 Φ(1/√2) - 1."""
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(400):
        effect = cliffs_delta(rng.normal(size=25) + 1, rng.normal(size=60), quantile(0.95, 1))
        held += effect.low <= 0.5205 <= effect.high
    assert 0.92 <= held / 400 <= 0.98


def test_a_group_in_the_middle_and_outliers_all_around_have_words_of_their_own(rng):
    far = np.tile([1, -1], 6) * rng.uniform(30, 60, 12)
    values = np.concatenate([*(rng.normal(centre, 1, 50) for centre in (-6, 0, 6)), far])
    labels = np.repeat([0, 1, 2, -1], [50, 50, 50, 12])
    told = profile(CredalPartition.from_hard(labels, 3), values[:, None], columns=["height"])
    assert [(trait.group, trait.how) for trait in told] == [
        ("ω1", "lower"), ("ω2", "around"), ("ω3", "higher"), ("∅", "far from"),
    ]  # fmt: skip
    assert all(trait.distinguishes for trait in told)


def test_a_sentence_about_a_group_in_the_middle_says_where_the_others_are():
    """Nearly all others have fewer visits; half are younger, and half older."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [50, 42, 10])
    table = pd.DataFrame({"visits": np.array([10.0, 4.0, 20.0])[y], "age": np.array([40.0, 20.0, 60.0])[y]})
    table["age"] = np.where((y == 1) & (np.arange(102) % 2 == 0), 60.0, table["age"])
    table[["visits", "age"]] += rng.normal(0, 0.2, (102, 2))
    found = profile(CredalPartition.from_hard(y), table.round(0))
    assert {trait.column: trait.how for trait in found.of("ω1")} == {"visits": "around", "age": "around"}
    assert "visits 10 (others 4)" in found.sentence("ω1")
    assert "age 40 (others around 20 or 60)" in found.sentence("ω1")
    debts = pd.DataFrame({"debt": np.r_[np.zeros(60), [-50, 50] * 3]})
    far = profile(CredalPartition.from_hard(np.repeat([0, -1], [60, 6])), debts)
    assert far.sentence("∅") == "No group fits 6 objects (9%): debt far from 0."


def test_sets_between_clusters_are_groups_too(rng):
    masses = np.repeat(np.eye(4)[[1, 2, 3]], 20, 0)
    X = pd.DataFrame({"where": np.repeat([0.0, 10.0, 5.0], 20) + rng.normal(size=60)})
    told = profile(CredalPartition(masses, FocalSets.full(2)), X)
    assert [trait.how for trait in told.of("Ω")] == ["around"]


def test_gaps_constants_and_small_groups_say_nothing_false(rng):
    X = pd.DataFrame({"gone": [np.nan] * 40, "same": [1.0] * 40, "size": np.r_[np.zeros(20), np.ones(20)]})
    X.loc[3, "size"] = np.nan
    told = profile(CredalPartition.from_hard(np.r_[np.repeat([0, 1], 19), [2, 2]]), X)
    assert {trait.column for trait in told if trait.distinguishes} == {"size"}
    assert told.sizes["ω3"] == 2
    assert "too few to describe" in str(told)
    assert "nothing stands out by itself" in str(profile(CredalPartition.from_hard(np.repeat([0, 1], 20)), X[["same"]]))
    nowhere = profile(CredalPartition.from_hard(np.r_[np.zeros(36, dtype=int), [-1] * 4]), X[["same"]])
    assert "no group (4 objects): outliers in different ways" in str(nowhere)


def test_series_are_told_by_stretches_of_time(rng):
    X = rng.normal(size=(60, 80, 2))
    X[30:, 40:60, 1] += 3
    told = profile(CredalPartition.from_hard(np.repeat([0, 1], 30)), X, columns=["pulse", "heat"])
    assert {trait.column for trait in told.of("ω2")} == {"heat in steps 41–50", "heat in steps 51–60"}
    ragged = [one[: 40 + i] for i, one in enumerate(X[:, :, 0])]
    assert len(profile(CredalPartition.from_hard(np.repeat([0, 1], 30)), ragged)) == 16


def test_frames_and_words(rng):
    X, labels = planted(0)
    told = profile(CredalPartition.from_hard(labels, 3), X)
    frame = told.to_frame("pandas")
    assert len(frame) == len(told) == 3 * X.shape[1]
    assert (frame["low"] <= frame["effect"]).all()
    assert (frame["effect"] <= frame["high"]).all()
    assert told[0].group == "ω1"


def test_dates_are_told_as_dates(rng):
    days = pd.to_datetime("2020-03-01") + pd.to_timedelta(
        np.r_[rng.integers(0, 9, 20), rng.integers(400, 409, 20)], "D"
    )
    told = str(profile(CredalPartition.from_hard(np.repeat([0, 1], 20)), pd.DataFrame({"since": days})))
    assert "group 1 (20 objects): since earlier (2020-03-0" in told
    assert "since later (2021-04-" in told


def test_bad_input_is_refused_in_a_sentence():
    p = CredalPartition.from_hard([0, 1, 0, 1, 0, 1])
    with pytest.raises(ValueError, match="X must hold the partition's 6 objects, in their order; got 2"):
        profile(p, np.zeros((2, 1)))
    with pytest.raises(TypeError, match="got a sparse matrix"):
        profile(p, sparse.csr_array(np.eye(6)))
    with pytest.raises(ValueError, match="level must be a number above 0 and below 1; got 95"):
        profile(p, np.zeros((6, 1)), level=95)
    with pytest.raises(ValueError, match="columns must have one name per column, 1; got 2"):
        profile(p, np.zeros((6, 1)), columns=["a", "b"])
    with pytest.raises(ValueError, match="group must be one of 'ω1', 'ω2'; got 'ω9'"):
        profile(p, np.arange(6.0)[:, None]).of("ω9")


def test_made_tables_are_told_as_they_were_made():
    """A few of the hundred tables of ``benchmarks/profiles.py``."""
    precision, recall = runpy.run_path(str(BENCHMARKS / "profiles.py"))["main"](6)
    assert precision >= 0.95
    assert recall >= 0.95


def test_a_sentence_for_each_group_names_the_nearest_and_what_differs():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 40)
    table = pd.DataFrame(
        {
            "spend (€)": np.array([1200.0, 1300.0, 9000.0])[y] + rng.normal(size=120),
            "age": np.array([25.0, 60.0, 26.0])[y] + rng.normal(size=120),
            "pays": np.where(y == 2, "card", "cash"),
        }
    )
    told = profile(CredalPartition.from_hard(y), table).sentences()
    assert told["ω3"].startswith("Group 3 has 40 objects (33%): ")
    assert "spend 9000 € (others 1250 €)" in told["ω3"]
    assert "pays card 100% (others 0%)" in told["ω3"]
    assert "; most like " in told["ω1"]


def test_a_value_does_not_run_into_a_number_before_it():
    X = np.column_stack([np.repeat([1.0, 5.0], 20), np.tile([0.0, 1.0], 20)])
    told = profile(CredalPartition.from_hard(np.repeat([0, 1], 20)), X, columns=["answer 7", "noise"])
    assert told.sentence("ω1").endswith(": answer 7 = 1 (others 5).")
    series = np.repeat(X[:, :1], 3, axis=1)[:, :, None]
    told = profile(CredalPartition.from_hard(np.repeat([0, 1], 20)), series)
    assert {trait.column for trait in told} == {"step 1", "step 2", "step 3"}
    lengths = [one[: 2 + i % 2] for i, one in enumerate(series)]
    told = profile(CredalPartition.from_hard(np.repeat([0, 1], 20)), lengths)
    assert "0–12% of the length" in {trait.column for trait in told}


def test_a_sentence_takes_other_names_for_its_group_and_the_nearest_alone():
    names = {"a": "x", "a has 2": "y", "b": "b. c"}
    assert renamed("a has 9 objects (9%): pays b; most like b, but a 1, not 2.", names) == (
        "x has 9 objects (9%): pays b; most like b. c, but a 1, not 2."
    )
    assert renamed("b has 9 objects (9%): nothing stands out; most like a.", names).endswith("out; most like x.")
    assert renamed("a has 2 has 9 objects (9%): so.", names) == "y has 9 objects (9%): so."
    back = {"b": "a", "b. c": "d"}
    assert renamed("b has 9 objects (9%): so; most like b. c, but e 1, not 2.", back).endswith(
        "like d, but e 1, not 2."
    )
    assert renamed("someone wrote this", names) == "someone wrote this"


def test_a_column_of_noise_does_not_separate_a_group_from_its_nearest():
    """Differences are measured by the spread within groups: medians of noise also differ."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        y = np.repeat([0, 1, 2], 50)
        table = pd.DataFrame({f"noise {j}": rng.uniform(0, 100, 150) for j in range(8)})
        table["spend"] = np.array([300.0, 450.0, 3000.0])[y] * np.exp(rng.normal(0, 0.05, 150))
        sentences = profile(CredalPartition.from_hard(y), table).sentences()
        assert [("but spend" in one, "but noise" in one) for one in sentences.values()] == [(True, False)] * 3
        assert "most like group 2, but spend" in sentences["ω1"]


def test_the_nearest_group_is_the_one_within_fewest_spreads():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 2], 40)
    table = pd.DataFrame({"exact": np.array([0.0, 1.0, 0.05])[y], "wide": np.array([0.0, 0.0, 30.0])[y]})
    table["exact"] += rng.normal(0, 0.01, 120)  # ω2 is 100 spreads away, ω3 5 in this column and 3 in the other
    table["wide"] += rng.normal(0, 10, 120)
    assert "; most like group 3, but exact" in profile(CredalPartition.from_hard(y), table).sentence("ω1")


def test_outliers_are_no_members_and_none_of_the_others():
    rng = np.random.default_rng(2)
    values = np.r_[rng.normal(0, 1, 30), rng.normal(10, 1, 30), np.full(40, 1000.0)]
    found = profile(
        CredalPartition.from_hard(np.repeat([0, 1, -1], [30, 30, 40]), 2), values[:, None], columns=["size"]
    )
    here, elsewhere = next((one.here, one.elsewhere) for one in found if one.group == "ω1")
    assert abs(here) < 1
    assert abs(elsewhere - 10) < 1
