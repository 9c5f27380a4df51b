import copy
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

import golden
from softecm.belief import CredalPartition, FocalSets


def random_partition(seed=0, n=12, c=3, focal=None):
    focal = focal or FocalSets.full(c)
    masses = np.random.default_rng(seed).dirichlet(np.full(len(focal) + 1, 0.4), size=n)
    return CredalPartition(masses, focal)


partitions = st.builds(random_partition, st.integers(0, 2**32 - 1), st.integers(1, 15), st.integers(1, 5))


def indices(rows):
    return np.array(rows, int) - 1


# ---------------------------------------------------------------------- reference numbers


def test_outliers_and_approximations_agree_with_r_evclust():
    for case in golden.load("extract_mass")["cases"]:
        out = case["output"]
        p = golden.partition(out["F"], out["mass"])
        tied = indices(out["near_ties_1based"]["mass"])
        np.testing.assert_array_equal(
            np.setdiff1d(p.outliers(), tied), np.setdiff1d(indices(out["outlier_1based"]), tied)
        )
        for k in range(p.n_clusters):
            for ours, key, rule in (
                (p.lower, "lower_approx", "mass"),
                (p.upper, "upper_approx", "mass"),
                (p.lower, "lower_approx_nd", "interval"),
                (p.upper, "upper_approx_nd", "interval"),
            ):
                theirs = indices(out[f"{key}_1based"][k])
                dropped = tied if rule == "mass" else []
                np.testing.assert_array_equal(np.setdiff1d(ours(k, rule), dropped), np.setdiff1d(theirs, dropped))


def test_nonspecificity_with_the_empty_set_agrees_with_r_evclust():
    content = golden.load("extract_mass")
    for case in content["cases"]:
        p = golden.partition(case["output"]["F"], case["output"]["mass"])
        assert p.nonspecificity(empty=True) == pytest.approx(case["output"]["N"], abs=1e-10)
        assert p.nonspecificity() <= p.nonspecificity(empty=True)
    for case in content["normalize"]:
        p = golden.partition(case["input"]["F"], case["input"]["mass"])
        for how in ("dempster", "yager"):
            ours = p.normalise(how).nonspecificity(empty=True)
            assert ours == pytest.approx(case[how]["N"], abs=1e-10)


# ---------------------------------------------------------------------- properties


@settings(deadline=None)
@given(partitions)
def test_sets_and_approximations_tell_the_same_story(p):
    for rule in ("mass", "interval"):
        sets, indicators = p.sets(rule), p.set_indicators(rule)
        assert sets.shape == (len(p),)
        assert [tuple(np.flatnonzero(row)) for row in indicators] == sets.tolist()
        for k in range(p.n_clusters):
            assert p.lower(k, rule).tolist() == [i for i, a in enumerate(sets) if a == (k,)]
            assert p.upper(k, rule).tolist() == [i for i, a in enumerate(sets) if k in a]
            np.testing.assert_array_equal(np.union1d(p.lower(k, rule), p.boundary(k, rule)), p.upper(k, rule))
    assert p.outliers().tolist() == [i for i, a in enumerate(p.sets()) if a == ()]
    assert all(p.sets("interval"))


@settings(deadline=None)
@given(partitions)
def test_measures_of_uncertainty_stay_in_their_range(p):
    assert 0 <= p.nonspecificity() <= p.nonspecificity(empty=True) <= 1 + 1e-12
    assert (p.entropy() >= 0).all()
    assert (p.entropy() <= np.log2(p.n_clusters) + 1e-12).all()
    for rule in ("pignistic", "plausibility", "mass"):
        assert ((p.labels(rule) >= 0) & (p.labels(rule) < p.n_clusters)).all()


@settings(deadline=None)
@given(partitions, st.data())
def test_belief_and_plausibility_of_a_set_are_dual(p, data):
    chosen = data.draw(st.sets(st.integers(0, p.n_clusters - 1)))
    rest = set(range(p.n_clusters)) - chosen
    for how in ("dempster", "yager"):
        np.testing.assert_allclose(p.belief_of(chosen, how), 1 - p.plausibility_of(rest, how), atol=1e-12)
    np.testing.assert_allclose(
        p.belief_of(chosen, None), 1 - p.masses[:, 0] - p.plausibility_of(rest, None), atol=1e-12
    )
    np.testing.assert_allclose(p.belief_of([0]), p.belief()[:, 0], atol=1e-12)
    np.testing.assert_allclose(p.plausibility_of([0]), p.plausibility()[:, 0], atol=1e-12)


@settings(deadline=None)
@given(st.lists(st.integers(-1, 4), min_size=1))
def test_a_hard_partition_keeps_its_labels(labels):
    p = CredalPartition.from_hard(labels, n_clusters=5)
    inside = np.array(labels) >= 0
    assert p.outliers().tolist() == np.flatnonzero(~inside).tolist()
    for rule in ("pignistic", "plausibility", "mass"):
        np.testing.assert_array_equal(p.labels(rule)[inside], np.array(labels)[inside])
    assert p.nonspecificity() == 0
    assert p.entropy()[inside].sum() == 0


def test_a_fuzzy_partition_has_its_memberships_for_belief_probability_and_plausibility():
    shares = np.random.default_rng(1).dirichlet(np.ones(4), size=9)
    p = CredalPartition.from_fuzzy(shares)
    for values in (p.belief(), p.pignistic(), p.plausibility()):
        np.testing.assert_allclose(values, shares, atol=1e-14)


def test_what_possibilistic_rows_lack_is_on_the_empty_set():
    for case in golden.load("create_pairs")["fuzzy"]:
        found = CredalPartition.from_fuzzy(case["U"], possibilistic=True)
        np.testing.assert_allclose(found.masses, golden.partition(case["F"], case["mass"]).masses, atol=1e-12)
    with pytest.raises(ValueError, match="memberships"):
        CredalPartition.from_fuzzy([[0.7, 0.7]], possibilistic=True)


def test_one_cluster_and_vacuous_partitions():
    one = CredalPartition([[0.25, 0.75], [1.0, 0.0]], FocalSets.full(1))
    assert one.nonspecificity() == one.nonspecificity(empty=True) == 0
    assert one.belief().tolist() == one.pignistic().tolist() == one.plausibility().tolist() == [[1.0], [1.0]]
    assert one.belief("yager").tolist() == [[1.0], [1.0]]
    assert one.entropy().tolist() == [0.0, 0.0]
    vacuous = CredalPartition(np.eye(9)[[8] * 3, 1:], FocalSets.full(3))
    assert vacuous.nonspecificity() == 1
    np.testing.assert_allclose(vacuous.entropy(), np.log2(3))


def test_many_clusters_have_interval_sets():
    p = random_partition(focal=FocalSets.simple(70))
    assert [tuple(np.flatnonzero(row)) for row in p.set_indicators("interval")] == p.sets("interval").tolist()


def test_outliers_above_a_threshold():
    p = CredalPartition([[0.2, 0.8], [0.4, 0.6], [0.9, 0.1]], FocalSets.full(1))
    assert p.outliers().tolist() == [2]
    assert p.outliers(0.3).tolist() == [1, 2]
    assert p.outliers(threshold=1).tolist() == []


# ---------------------------------------------------------------------- protocol


def test_masses_are_kept_in_double_precision_and_nobody_can_change_them():
    masses = np.array([[0.1, 0.2, 0.3, 0.4]], dtype=np.float32)
    p = CredalPartition(masses, FocalSets.full(2))
    assert p.masses.dtype == np.float64
    own = np.array([[0.0, 0.5, 0.5, 0.0]])
    view = own[:]
    view.flags.writeable = False
    p = CredalPartition(view, FocalSets.full(2))
    own[:] = 7
    assert p.masses.tolist() == [[0.0, 0.5, 0.5, 0.0]]
    for partition in (
        p,
        p[[0]],
        p[:1],
        copy.deepcopy(p),
        pickle.loads(pickle.dumps(p)),
        p.normalise("yager"),
    ):
        assert partition == p
        with pytest.raises(ValueError, match="read-only"):
            partition.masses[0, 0] = 1
    with pytest.raises(AttributeError):
        p.masses = own
    assert CredalPartition(p.masses, p.focal_sets).masses is p.masses  # no copy of an immutable array


def test_rounding_below_zero_is_cut_off():
    p = CredalPartition([[-1e-13, 1.0, 0.0, 0.0]], FocalSets.full(2))
    assert p.masses.min() == 0


def test_choosing_objects():
    p = random_partition(n=6)
    assert p[2:4] == p[[2, 3]] == p[np.arange(6) // 2 == 1] == p[np.array([2, 3], np.uint8)]
    assert p[-1] == p[[5]] == p[np.int64(5)]
    assert len(p[[]]) == len(p[np.zeros(6, bool)]) == 0
    assert [len(one) for one in p] == [1] * 6
    with pytest.raises(IndexError):
        p[6]
    for wrong in ((0, 1), "a", [[0]], 0.5):
        with pytest.raises(TypeError, match="objects must be chosen by"):
            p[wrong]


def test_equality_is_by_value_and_partitions_are_not_hashable():
    p = random_partition()
    assert p == random_partition()
    assert p != random_partition(seed=1)
    assert p != CredalPartition.from_hard([0])
    assert p != "partition"
    with pytest.raises(TypeError):
        hash(p)


def test_how_a_partition_is_shown():
    p = CredalPartition.from_hard([0, 0, 1, -1])
    assert repr(p) == "CredalPartition(4 objects, 2 clusters, 2 focal sets and ∅)"
    assert repr(p[:1]).startswith("CredalPartition(1 object,")
    table = p._repr_html_()
    assert "<tr><td>group 1</td><td>2</td></tr>" in table
    assert table.startswith(
        "<p>Of 4 objects in 2 groups, <b>3</b> clearly belong to one, <b>1</b> belongs to no group.</p>"
    )
    assert "<tr><td>no group</td><td>1</td></tr>" in table
    assert "<td>0</td>" not in CredalPartition.from_hard([0, 0], n_clusters=3)._repr_html_()  # empty sets are left out
    alone = CredalPartition.from_hard([0] * 1200)._repr_html_()
    assert alone.startswith("<p>Of 1\u202f200 objects in 1 group, <b>1\u202f200</b> clearly belong to one.</p>")
    many = CredalPartition(np.eye(29), FocalSets.up_to(7, 2))
    assert "10 others" in many._repr_html_()


def test_outliers_get_a_label_of_their_own_on_request():
    p = CredalPartition([[0.4, 0.3, 0.3, 0.0], [0.0, 0.1, 0.2, 0.7], [1, 0, 0, 0]], FocalSets.full(2))
    assert p.labels().tolist() == [0, 1, 0]
    assert p.labels(outliers=-1).tolist() == [-1, 1, -1]
    assert p.labels("mass", outliers=-1).tolist() == [-1, 1, -1]


# ---------------------------------------------------------------------- tables


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_a_frame_has_labels_sets_beliefs_and_masses(backend):
    pytest.importorskip(backend)
    p = CredalPartition([[0.0, 0.75, 0.0, 0.25], [0.5, 0.25, 0.25, 0.0]], FocalSets.full(2))
    frame = p.to_frame(backend, ids=["a", "b"])
    assert type(frame).__module__.startswith(backend)
    first = ["id", "label", "set", "decision", "confidence", "doubt", "bel(ω1)", "bel(ω2)", "pl(ω1)", "pl(ω2)"]
    assert list(frame.columns) == [*first, "m(∅)", "m(ω1)", "m(ω2)", "m(Ω)"]
    assert list(frame["id"]) == ["a", "b"]
    assert list(frame["label"]) == ["ω1", "ω1"]
    assert list(frame["set"]) == ["ω1", "∅"]
    assert list(frame["decision"]) == ["clearly", "nowhere"]
    assert list(frame["confidence"]) == [0.75, 0.5]
    assert list(frame["doubt"]) == [0.125, 0.5]
    assert list(frame["bel(ω1)"]) == [0.75, 0.5]
    assert list(frame["pl(ω2)"]) == [0.25, 0.5]
    assert list(frame["m(Ω)"]) == [0.25, 0.0]
    assert "id" not in p.to_frame(backend).columns


def test_a_frame_of_a_library_that_is_missing_says_what_to_install(monkeypatch):
    p = CredalPartition.from_hard([0, 1])
    assert type(p.to_frame()).__module__.startswith("pandas")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match="'polars' is not installed: pip install polars"):
        p.to_frame("polars")


# ---------------------------------------------------------------------- files


@settings(deadline=None)
@given(partitions)
def test_a_saved_partition_comes_back_the_same(tmp_path_factory, p):
    path = tmp_path_factory.mktemp("partition") / "p.safetensors"
    p.save(path)
    assert CredalPartition.load(path) == p
    assert os.listdir(path.parent) == ["p.safetensors"]


def test_saving_replaces_in_one_step_and_keeps_the_old_file_on_failure(tmp_path, monkeypatch):
    path = tmp_path / "p.safetensors"
    old = random_partition()
    old.save(str(path))
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask

    def no_space(*_args, **_keywords):
        raise OSError("no space left")

    monkeypatch.setattr("safetensors.numpy.save", no_space)
    with pytest.raises(OSError, match="no space"):
        random_partition(seed=1).save(path)
    assert CredalPartition.load(path) == old
    assert os.listdir(tmp_path) == ["p.safetensors"]


def test_a_part_of_a_partition_can_be_saved(tmp_path):
    p = random_partition(n=10)[::3]
    p.save(tmp_path / "p")
    assert CredalPartition.load(tmp_path / "p") == p


def about(**changes):
    content = {
        "format": "softecm.credal-partition",
        "version": 1,
        "n_clusters": 2,
        "sets": [[0], [1], [0, 1]],
    }
    return {"softecm": json.dumps({**content, **changes})}


GOOD = np.array([[0.1, 0.2, 0.3, 0.4]])


@pytest.mark.parametrize(
    ("tensors", "metadata", "words"),
    [
        ({"masses": GOOD}, None, "holds something else"),
        ({"weights": GOOD}, about(), "holds something else"),
        ({"masses": GOOD}, {"softecm": "{"}, "description is damaged"),
        ({"masses": GOOD}, {"softecm": "[1]"}, "description is damaged"),
        ({"masses": GOOD}, {"softecm": "[" * 100_000}, "description is damaged"),
        ({"masses": GOOD}, about(format="softecm.model"), "'softecm.model'"),
        ({"masses": GOOD}, about(version=2), "version 2 and this release reads 1"),
        ({"masses": GOOD}, about(n_clusters=3), "(2,) is missing"),
        ({"masses": GOOD}, about(n_clusters=10**12), "fit together"),
        ({"masses": GOOD}, about(n_clusters="2"), "fit together"),
        ({"masses": GOOD}, about(sets=[[0], [1]]), "fit together"),
        ({"masses": GOOD}, about(sets=[[0], [0, 1], [1]]), "out of order"),
        ({"masses": GOOD}, about(sets=[[0], [1], [1]]), "repeat"),
        ({"masses": GOOD}, about(sets=[0, 1, 2]), "tuple of cluster numbers"),
        ({"masses": GOOD[0]}, about(), "fit together"),
        ({"masses": np.zeros((1, 4), dtype=np.int64)}, about(), "fit together"),
        ({"masses": GOOD * 2}, about(), "add up to 1"),
        ({"masses": GOOD * np.nan}, about(), "finite"),
    ],
)
def test_foreign_files_are_refused_in_a_plain_sentence(tmp_path, tensors, metadata, words):
    path = tmp_path / "p.safetensors"
    save_file(tensors, path, metadata=metadata)
    with pytest.raises(ValueError) as caught:
        CredalPartition.load(path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)
    assert "saved by softecm" in str(caught.value)


def test_damaged_files_are_refused_in_a_plain_sentence(tmp_path):
    path = tmp_path / "p.safetensors"
    random_partition().save(path)
    whole = path.read_bytes()
    damaged = [
        b"",
        b"x",
        whole[:-1],
        whole[:40],
        whole + b"more",
        b"\xff" * 200,
        pickle.dumps([1]),
        b"a,b\n1,2\n" * 30,
    ]
    damaged += [whole[:i] + bytes([whole[i] ^ 0xFF]) + whole[i + 1 :] for i in range(0, 60, 7)]
    for content in damaged:
        path.write_bytes(content)
        with pytest.raises(ValueError, match="must be a credal partition saved by softecm"):
            CredalPartition.load(path)
    with pytest.raises(FileNotFoundError):
        CredalPartition.load(tmp_path / "nowhere")
    with pytest.raises(IsADirectoryError):
        CredalPartition.load(tmp_path)


# ---------------------------------------------------------------------- errors

TWO = FocalSets.full(2)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: CredalPartition([[0.5, 0.5]], TWO), ValueError, ["4 columns", "got shape (1, 2)"]),
        (
            lambda: CredalPartition([[0.0, 0.5, 0.2, 0.2]], TWO),
            ValueError,
            ["add up to 1", "got 0.9 in row 1 (masses[0])"],
        ),
        (
            lambda: CredalPartition([[0, 1, 0, 0], [-0.1, 1.1, 0, 0]], TWO),
            ValueError,
            ["must not be negative", "got -0.1 in row 2 (masses[1]), column 1"],
        ),
        (
            lambda: CredalPartition([[0, np.nan, 0, 1]], TWO),
            ValueError,
            ["finite", "got nan in row 1 (masses[0]), column 2"],
        ),
        (lambda: CredalPartition([[-np.inf, np.inf, 0, 1]], TWO), ValueError, ["must be finite", "got -inf"]),
        (lambda: CredalPartition([[0, 1, 0, 0], [1]], TWO), ValueError, ["masses", "rows of equal length"]),
        (lambda: CredalPartition([["a", 1, 0, 0]], TWO), ValueError, ["masses", "numbers"]),
        (
            lambda: CredalPartition([[0, 1]], 1),
            TypeError,
            ["focal_sets must be FocalSets", "got int", "FocalSets.of"],
        ),
        (lambda: CredalPartition.from_hard([0, -2]), ValueError, ["labels must be", "at least -1", "got -2"]),
        (lambda: CredalPartition.from_hard([0.0, -2.0]), ValueError, ["at least -1", "got -2"]),
        (lambda: CredalPartition.from_hard([0.5]), ValueError, ["labels must be integers", "got 0.5"]),
        (lambda: CredalPartition.from_hard([np.nan]), ValueError, ["labels must be integers", "got nan"]),
        (lambda: CredalPartition.from_hard(["a"]), ValueError, ["integers", "'a'", "np.unique"]),
        (lambda: CredalPartition.from_hard([[0]]), ValueError, ["flat list", "got shape (1, 1)"]),
        (
            lambda: CredalPartition.from_hard([0, 3], 2),
            ValueError,
            ["below n_clusters=2", "got 3", "n_clusters=4"],
        ),
        (lambda: CredalPartition.from_fuzzy([0.5, 0.5]), ValueError, ["memberships", "got shape (2,)"]),
        (
            lambda: CredalPartition.from_fuzzy([[0.5, 0.4]]),
            ValueError,
            ["memberships must add up to 1", "got 0.9"],
        ),
        (lambda: random_partition().lower(3), ValueError, ["k must be a cluster from 0 to 2", "got 3"]),
        (lambda: random_partition().upper(-1), ValueError, ["k must be a cluster", "got -1"]),
        (lambda: random_partition().boundary("a"), ValueError, ["k must be a cluster", "got 'a'"]),
        (lambda: random_partition().lower(0, "weak"), ValueError, ["rule must be one of", "got 'weak'"]),
        (lambda: random_partition().sets("weak"), ValueError, ["rule must be one of", "got 'weak'"]),
        (lambda: random_partition().labels("weak"), ValueError, ["rule must be one of", "got 'weak'"]),
        (lambda: random_partition().belief("weak"), ValueError, ["normalise must be one of", "got 'weak'"]),
        (lambda: random_partition().outliers(2), ValueError, ["threshold", "from 0 to 1", "got 2"]),
        (lambda: random_partition().belief_of([5]), ValueError, ["from 0 to 2", "got 5"]),
        (lambda: random_partition()[[]].nonspecificity(), ValueError, ["at least one object"]),
        (lambda: random_partition().to_frame("arrow"), ValueError, ["backend must be one of", "got 'arrow'"]),
        (lambda: random_partition().to_frame(ids=[1]), ValueError, ["ids", "12 objects", "got shape (1,)"]),
    ],
)
def test_errors_name_the_rule_the_value_and_a_remedy(call, error, words):
    with pytest.raises(error) as caught:
        call()
    for word in words:
        assert word in str(caught.value)


def test_importing_beliefs_loads_nothing_heavy():
    code = (
        "import sys, softecm.belief, softecm.scores\n"
        "heavy = {'torch', 'sklearn', 'pandas', 'polars', 'scipy', 'numba'} & set(sys.modules)\n"
        "sys.exit(f'loaded {sorted(heavy)}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
