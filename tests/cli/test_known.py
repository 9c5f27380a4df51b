"""``softecm cluster --known``: the groups of some objects guide the fit."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from softecm import ReadingWarning, SoftECM, read_table
from softecm.cli.algorithms import NAMES, takes_labels

GROUPS = np.array(["small", "large", "middle"])
PLACES = np.array([[0.0, 0.0], [9.0, 0.0], [4.0, 8.0]])  # of small, large and middle


@pytest.fixture
def table(tmp_path):
    """Ninety objects in three groups by turns; the first fifteen are labelled, others have marks of missing cells."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(PLACES[np.arange(90) % 3] + rng.normal(size=(90, 2)), columns=["a", "b"]).round(3)
    known = GROUPS[np.arange(90) % 3].astype(object)
    known[15:] = ""
    known[15:19] = ["?", "-", "unknown", "n/a"]
    known[3] = " Small"  # another spelling
    frame.insert(0, "id", [f"p{i}" for i in range(90)])
    frame["group"] = known
    frame.to_csv(tmp_path / "t.csv", index=False)
    return frame


def cluster(run, *arguments):
    code, out, err = run("cluster", "t.csv", "--id", "id", "-f", "--json", *arguments)
    assert code == 0, err
    return json.loads(out)


def labels(folder="t-softecm"):
    return pd.read_csv(Path(folder) / "partition.csv", index_col="id")["label"]


def changed(table, **cells):
    """Write the table with other labels for some objects."""
    group = table["group"].mask(table["id"].isin(list(cells)), table["id"].map(cells))
    table.assign(group=group).to_csv("t.csv", index=False)


def test_groups_have_the_names_of_their_labels_in_every_file(run, table):
    summary = cluster(run, "-c", 3, "--known", "group")
    assert summary["links"] == "All 15 labelled objects are in the group of their label (column group)."
    assert summary["warnings"] == []
    assert summary["cluster_names"] == ["large", "middle", "small"]  # sorted, as the fit numbers them
    assert labels().tolist() == GROUPS[np.arange(90) % 3].tolist()
    assert [c["kind"] for c in summary["understood"]["columns"]] == ["id", "number", "number", "label"]
    assert "X, y = table.data, table.known" in (page := Path("t-softecm/report.html").read_text(encoding="utf-8"))
    assert ".fit(X, y)" in page
    missing, spelling = r"- \(1 cell\), unknown \(1 cell\) are treated as missing", r"merged \(Small = small\)"
    with pytest.warns(ReadingWarning, match=missing), pytest.warns(ReadingWarning, match=spelling):
        loaded = read_table("t.csv", id="id", known="group")
    assert loaded.known[:4].tolist() == ["small", "large", "middle", "small"]
    assert loaded.known[15:].tolist() == [None] * 75
    same = SoftECM(3, random_state=0).fit(loaded.data, loaded.known)
    masses = pd.read_csv("t-softecm/partition.csv").filter(regex=r"^m\(").to_numpy()
    np.testing.assert_allclose(masses, same.partition_.masses, atol=1e-5)


def test_labels_decide_how_objects_are_split(run, table):
    free = cluster(run, "-c", 2, "-o", "free", "--drop", "group")
    split = labels("free")
    pair = "p0", next(f"p{i}" for i in range(2, 90) if split[f"p{i}"] != split["p0"])
    weight = ("--link-weight", 1000)
    changed(table.assign(group="-"), **dict.fromkeys(pair, "together"))  # a mark, even beside a single label
    summary = cluster(run, "-c", 2, "--known", "group", *weight)
    assert summary["links"].startswith("All 2 labelled objects")
    assert free["n_clusters"] == 2
    together = labels()
    assert together[pair[0]] == together[pair[1]] == "together"
    assert set(together) == {"together", "ω2"} or set(together) == {"together", "ω1"}  # no name is made up


def test_objects_in_another_group_than_their_label_are_named(run, table):
    changed(table, **{f"p{i}": "large" for i in (30, 33, 36, 39, 42, 45)})  # all are small ones
    summary = cluster(run, "-c", 3, "--known", "group", "--link-weight", 1e-6)
    assert "links" not in summary
    assert summary["warnings"] == [
        "15 of 21 labelled objects are in the group of their label (column group); not: p30 (large), p33 (large), "
        "p36 (large), p39 (large), p42 (large) …. This may be a mistake in the column; otherwise a larger --link-weight "
        "satisfies more."
    ]
    assert labels()["p30"] == "small"


def test_a_labelled_object_in_no_group_is_named(run, table):
    table.loc[0, ["a", "b"]] = 60.0
    table.to_csv("t.csv", index=False)
    (warning,) = (text for text in cluster(run, "-c", 3, "--known", "group")["warnings"] if "labelled" in text)
    assert warning.startswith(
        "14 of 15 labelled objects are in the group of their label (column group); not: p0 (small, "
    )
    assert "but in no group). This may be a mistake in the column" in warning


def test_a_label_without_an_object_in_a_group_of_its_own_names_none(run, table):
    changed(table.assign(group=""), p0="one", p3="two")  # both are small
    summary = cluster(run, "-c", 3, "--known", "group", "--link-weight", 1e-6)
    assert len({"one", "two"} & set(summary["cluster_names"])) == 1
    assert len(summary["warnings"]) == 1
    assert summary["warnings"][0].startswith(
        "1 of 2 labelled objects are in the group of their label (column group); not: p"
    )


def test_values_stay_hidden(run, table):
    names = {"small": "Zebedee", "large": "QX17", "middle": "Dougal", " Small": "Zebedee"}
    changed(table.assign(group=table["group"].replace(names)), p30="QX17")
    summary = cluster(run, "-c", 3, "--known", "group", "--no-values", "--link-weight", 1e-6)
    assert summary["cluster_names"] == ["ω1", "ω2", "ω3"]
    for name in ("summary.json", "report.html", "partition.csv"):
        text = Path("t-softecm", name).read_text(encoding="utf-8")
        assert not [word for word in ("Zebedee", "QX17", "Dougal", "p30") if word in text], name


def test_names_that_are_given_win_over_labels(run, table):
    summary = cluster(run, "-c", 3, "--known", "group", "--names-of-clusters", "L,M,S")
    assert summary["cluster_names"] == ["L", "M", "S"]
    assert labels()[["p0", "p1", "p2"]].tolist() == ["S", "L", "M"]


def test_a_label_that_is_no_name_changes_nothing_else(run, table):
    table.assign(group=table["group"].replace({"large": "Ω"})).to_csv("t.csv", index=False)
    summary = cluster(run, "-c", 3, "--known", "group")
    assert summary["cluster_names"] == ["ω1", "ω2", "ω3"]
    assert summary["links"].startswith("All 15 labelled objects")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-c", "auto"], "--known needs a number of clusters: give -c a number."),
        (["-c", "2-3"], "--known needs a number of clusters"),
        (["-c", 3, "--algorithm", "CECM"], "--known is for SoftECM, ECM, FCM; got --algorithm CECM. Leave it out."),
        (
            ["-c", 2],
            "--known must name at most --clusters 2 different groups; got 3: large, middle, small. Use as many",
        ),
        (["-c", 3, "--label-column", "group"], "--known and --label-column must be different columns; both are group"),
        (["-c", 3, "--label-column", "4"], "--known and --label-column must be different columns; both are group"),
        (
            ["-c", 3, "--links", "l.csv"],
            "links p0 and p4 together, directly or through others, and --known group has them",
        ),
        (
            ["-c", 3, "--links", "m.csv"],
            "m.csv, line 1: p0 and p33 are linked as apart, and by --known group both are in",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(run, table, arguments, sentence):
    Path("l.csv").write_text("p0,p50,together\np50,p4,together\n", encoding="utf-8")
    Path("m.csv").write_text("p0,p33,apart\np33,p3,together\n", encoding="utf-8")
    code, _, err = run("cluster", "t.csv", "--known", "group", *arguments)
    assert code == 2
    assert sentence in " ".join(err.split())
    assert not Path("t-softecm").exists()


def test_a_column_without_missing_cells_or_without_labels_is_refused(run, table):
    for cells, sentence in (
        (GROUPS[np.arange(90) % 3], "every object has a group: use --label-column group"),
        (["?"] * 90, "--known group must hold the group of some objects, and every cell is missing"),
    ):
        table.assign(group=cells).to_csv("t.csv", index=False)
        code, _, err = run("cluster", "t.csv", "--known", "group", "-c", 3)
        assert code == 2
        assert sentence in " ".join(err.split())


def test_links_are_combined_with_known_groups(run, table):
    Path("l.csv").write_text("p0,p30,together\np50,p60,apart\np31,p40,apart\n", encoding="utf-8")
    summary = cluster(run, "-c", 3, "--known", "group", "--links", "l.csv", "--link-weight", 1e-6)
    assert summary["links"].startswith("All 15 labelled")
    assert summary["warnings"] == [
        "2 of 3 links in l.csv are satisfied; broken: p31 and p40 (apart, line 3). This may be a mistake in the file; "
        "otherwise a larger --link-weight satisfies more."
    ]


@pytest.mark.parametrize("name", [*filter(takes_labels, NAMES)])
def test_every_algorithm_that_takes_labels_is_guided(run, table, name):
    summary = cluster(run, "-c", 3, "--known", "group", "--algorithm", name)
    assert summary["algorithm"] == name
    assert labels().tolist() == GROUPS[np.arange(90) % 3].tolist()


def test_the_folder_serves_every_command_and_new_files_may_lack_the_column(run, table):
    cluster(run, "-c", 3, "--known", "group")
    table[["id", "a", "b"]].to_csv("new.csv", index=False)
    for file in ("new.csv", "t.csv"):
        code, out, err = run("predict", "t-softecm", file, "-f", "-o", "p.csv", "--json")
        assert code == 0, err
        assert json.loads(out)["warnings"] == []
        assert pd.read_csv("p.csv")["label"].tolist() == labels().tolist()
    code, out, err = run("explain", "t-softecm", "--json")
    assert code == 0, err
    assert "group" not in {part for rule in json.loads(out)["rules"] for part in str(rule).split()}
    for arguments in (
        ("explain", "t-softecm", "--object", "p4"),
        ("calibrate", "t-softecm", "--refits", 19),
        ("compare", "t-softecm", "t-softecm"),
        ("report", "t-softecm"),
        ("sweep", "t.csv", "-c", 3, "--seeds", 1, "--id", "id", "--drop", "group"),
    ):
        code, _, err = run(*arguments)
        assert code == 0, (arguments, err)


@pytest.mark.parametrize("form", ["long", "channels", "states", "steps"])
def test_series_and_states_have_known_groups(run, tmp_path, form):
    rng, rows = np.random.default_rng(0), []
    for i in range(24):
        level = 9.0 * (i % 2)
        known = ["low", "high"][i % 2] if i < 6 else "-"
        for t in range(6):
            if form == "channels":
                rows += [(i, t, channel, level + rng.normal(), known) for channel in "xy"]
            else:
                value = "ab"[i % 2] if form in ("states", "steps") else level + rng.normal()
                rows.append((i, t, "x", value, known))
    frame = pd.DataFrame(rows, columns=["id", "t", "channel", "value", "group"])
    options = ["--id", "id", "--time", "t", "--value", "value"]
    if form == "steps":
        frame = frame.pivot(index=["id", "group"], columns="t", values="value").add_prefix("step ").reset_index()
        options = ["--id", "id", "--metric", "states"]
    elif form != "channels":
        frame = frame.drop(columns="channel")
    options += ["--metric", "states"] if form == "states" else ["--channel", "channel"] if form == "channels" else []
    frame.sort_values("id", kind="stable").to_csv("s.csv", index=False)
    code, out, err = run("cluster", "s.csv", "-c", 2, "--known", "group", *options, "--json")
    assert code == 0, err
    assert json.loads(out)["links"] == "All 6 labelled objects are in the group of their label (column group)."
    table = pd.read_csv("s-softecm/partition.csv").sort_values("id")
    assert table["label"].tolist() == ["low", "high"] * 12


def test_a_series_with_two_known_groups_is_refused(run, tmp_path):
    Path("s.csv").write_text("id,t,v,g\n1,1,0,a\n1,2,1,b\n2,1,0,\n2,2,1,\n", encoding="utf-8")
    code, _, err = run("cluster", "s.csv", "-c", 2, "--known", "g", "--id", "id", "--time", "t", "--value", "v")
    assert code == 2
    assert "--known must give each series one group; got 2 for 1." in " ".join(err.split())


def test_labels_stay_with_their_rows_and_typos_are_pointed_out(run, table):
    group = pd.Series(GROUPS[np.arange(90) % 3])
    group[[1, 80]] = ["smlal", ""]
    table.assign(group=group, a=table["a"].mask(table.index == 0), b=table["b"].mask(table.index == 0)).to_csv(
        "t.csv", index=False
    )
    with pytest.warns(ReadingWarning) as caught:
        loaded = read_table("t.csv", id="id", known="group")
    assert loaded.known.tolist() == [*group[1:80], None, *group[81:]]
    assert any("group: is 'smlal' (1 row; small 30) a typo?" in str(one.message) for one in caught)
