"""Arguments besides parameters and data: names, paths, functions, seeds, lists of partitions."""

import numpy as np
import pytest

import softecm
from hostile.outcomes import assert_sentence
from softecm import CredalPartition, FocalSets, SoftECM, report
from softecm.calibration import calibrate
from softecm.constraints import spread_constraints
from softecm.datasets import make_blobs
from softecm.explain import profile
from softecm.plots import mass_heatmap, mass_profile, ternary
from softecm.readers.reading import OPTIONS
from softecm.selection import sweep

X = np.random.default_rng(0).normal(size=(30, 2)) + np.repeat([[0.0], [9.0]], 15, 0)
D = np.abs(X[:, :1] - X[:, 0])
MODEL = softecm.ECM(2, random_state=0, n_init=1).fit(X)
PARTITION = MODEL.partition_
GRID = {"n_clusters": [2]}
ODD = {
    "nothing": None,
    "a number": 5,
    "no number": float("nan"),
    "text": "x",
    "no text": "",
    "half a character": "\ud800",
    "bytes": b"x",
    "a list": [],
    "lists": [[]],
    "a dict": {1: 2},
    "an object": object(),
    "a complex number": 1j,
    "an array": np.full((3, 3), np.nan),
    "a date": np.datetime64("2020"),
}
NAMES = {
    "names of clusters": (FocalSets.full(2).renamed, "names must be a list of one name per cluster"),
    "names of objects": (lambda v: report.build(MODEL, X, names=v), "names must be a list of one name per object"),
    "names of columns": (lambda v: report.build(MODEL, X, feature_names=v), "feature_names must be a list of names"),
    "columns": (lambda v: profile(PARTITION, X, columns=v), "columns must be a list of names"),
    "ids": (lambda v: report.compare(PARTITION, PARTITION, ids=v), "ids must be a list of ids"),
    "names of partitions": (lambda v: report.compare(PARTITION, PARTITION, names=v), "names must be a list of names"),
    "two data sets": (lambda v: report.compare(MODEL, MODEL, data=v), "data must be a list of the objects"),
    "links": (lambda v: softecm.CECM(2).fit(X, must_link=v), "must_link must be a list of pairs"),
    "pairs": (lambda v: spread_constraints(v, None, D), "must_link must be a list of pairs"),
    "partitions": (softecm.consensus, "partitions must be a list of CredalPartitions"),
    "seeds": (lambda v: sweep(X, GRID, seeds=v), "seeds must be a list of seeds"),
}
PATHS = {
    "journal of a sweep": lambda path: sweep(X, GRID, journal=path),
    "journal of refits": lambda path: calibrate(MODEL, X, 20, journal=path),
    "model": MODEL.save,
    "report": lambda path: MODEL.report(X, path),
    "comparison": report.compare(PARTITION, PARTITION).write,
}
PLAIN = {
    "a partition to draw": mass_profile,
    "masses to draw": mass_heatmap,
    "a triangle": ternary,
    "partitions": softecm.consensus,
    "another partition": PARTITION.combine,
    "objects to draw": make_blobs,
    "distance of groups": lambda value: make_blobs(9, distance=value),
    "seeds": lambda value: sweep(X, GRID, seeds=value),
    "a grid": lambda value: sweep(X, value),
    "an estimator": lambda value: None if value in (None, []) else sweep(X, GRID, estimator=value),
    "how to fit": lambda value: softecm.choose_n_clusters(X, fit=value or 5, candidates=[2]),
    "whom to call": lambda value: softecm.choose_n_clusters(X, callback=value or 5, candidates=[2]),
}


@pytest.mark.parametrize("name", NAMES)
def test_one_value_is_no_list(name):
    call, said = NAMES[name]
    for value in (5.5, "x", b"x", object()):
        if name == "names of clusters" and value == "x":
            continue  # has a sentence of its own
        with pytest.raises((TypeError, ValueError), match=said) as caught:
            call(value)
        assert_sentence(caught.value)


@pytest.mark.parametrize("name", PATHS)
def test_what_names_no_file_is_refused(name, hostile_case):
    for value in (5, "", b"x", object(), [], 1j, np.ones(2), "\ud800", "a\0b"):
        hostile_case()
        with pytest.raises(ValueError, match=r"must be the name of a file|no file name may hold"):
            PATHS[name](value)


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("value", ODD)
def test_odd_arguments_are_named(name, value, hostile_case):
    hostile_case()
    if isinstance(ODD[value], np.ndarray) and name in ("an estimator", "how to fit", "whom to call"):
        pytest.skip("has no truth value")
    try:
        PLAIN[name](ODD[value])
    except (TypeError, ValueError) as error:
        assert_sentence(error)


def test_options_of_a_file_have_the_types_they_say(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("a,b,c\n" + "".join(f"{i * 1.5},{i % 7 + 0.5},{'xy'[i % 2]}\n" for i in range(20)))
    for name, kind in OPTIONS.items():
        if not kind.startswith("tuple"):
            with pytest.raises((TypeError, ValueError), match=f"{name} must be (a text|True or False)"):
                softecm.read_table(table, **{name: 1.5})
        else:
            with pytest.raises(TypeError, match=f"{name} must be a list of texts"):
                softecm.read_table(table, **{name: 1.5})
        assert softecm.read_table(table, **{name: None}).data.shape == (20, 3)


def test_pairs_have_two_parts():
    for call in (
        lambda v: report.compare(PARTITION, PARTITION, names=v),
        lambda v: report.compare(MODEL, MODEL, data=v),
    ):
        with pytest.raises(ValueError, match="must be a pair of"):
            call([X, X, X])
    with pytest.raises(TypeError, match="the other must be a CredalPartition"):
        softecm.consensus([5])
    with pytest.raises(ValueError, match="seeds must hold at least one seed"):
        sweep(X, GRID, seeds=[])
    with pytest.raises(ValueError, match="at most 100000 combinations of values; got 1999998"):
        sweep(X, {"n_clusters": range(2, 10**6 + 1), "beta": (1.1, 1.2)})
    assert len(sweep(X, GRID, seeds=[3, 4], estimator=SoftECM(n_init=1))) == 2
    assert CredalPartition.from_hard([0, 1]).rename(["a", "b"]).focal_sets.names == ("a", "b")
