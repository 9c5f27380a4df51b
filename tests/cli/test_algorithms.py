"""``softecm cluster --algorithm``: every estimator, and what is refused."""

import json
from contextlib import nullcontext

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from softecm.cli.algorithms import NAMES, input_tags, link_weight
from softecm.datasets import make_blobs
from softecm.testing import all_estimators

X = make_blobs(40, n_clusters=2, distance=9.0, random_state=0).data


@pytest.fixture
def files(tmp_path):
    """The same objects as numbers, dissimilarities and words."""
    words = np.where(np.median(X, 0) < X, "high", "low")
    tables = {"numbers": X.astype(str), "apart": squareform(pdist(X)).astype(str), "words": words}
    for name, table in tables.items():
        rows = [",".join(f"c{j}" for j in range(table.shape[1])), *map(",".join, table)]
        (tmp_path / f"{name}.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return tmp_path


def test_every_estimator_is_listed(run):
    estimators = dict(all_estimators())
    assert set(NAMES) == set(estimators)
    code, out, _ = run("algorithms")
    assert code == 0
    assert all(name in out and cls.suits[:20] in out for name, cls in estimators.items())
    assert json.loads(run("algorithms", "--json")[1])["algorithms"] == {name: estimators[name].suits for name in NAMES}


@pytest.mark.parametrize("name", [name for name in NAMES if name != "SoftECM"])
def test_every_estimator_writes_a_folder_and_predicts(run, files, name):
    kind = "apart" if input_tags(name).pairwise else "words" if name == "CatECM" else "numbers"
    clusters = [] if name == "EKNNClus" else ["-c", 2]
    code, out, err = run("cluster", f"{kind}.csv", *clusters, "--algorithm", name.lower(), "-o", "result", "--json")
    assert code == 0, err
    summary = json.loads(out)
    assert summary["algorithm"] == name
    assert summary["n_objects"] == 40
    assert sum(summary["objects_by_set"].values()) == 40
    assert (files / "result" / "report.html").exists()
    code, _, err = run("predict", "result", f"{kind}.csv", "-o", "new.csv")
    assert code == 0, err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-c", 2, "--algorithm", "kmeans"], "--algorithm must be one of SoftECM, ECM"),
        (["-c", 2, "--algorithm", "EVCLUS", "--beta", 2], "--beta does not apply to EVCLUS: leave it out"),
        (
            ["-c", 2, "--algorithm", "ECM", "--scale", "robust"],
            "--scale does not apply to ECM: leave it out. ECM takes",
        ),
        (["-c", 3, "--algorithm", "EKNNClus"], "EKNNClus finds the number of groups itself: leave -c 3 out"),
        (["-c", "2-5", "--algorithm", "ECM"], "--clusters must be a whole number of at least 1 for ECM; got 2-5"),
        (["-c", 2, "--algorithm", "RECM"], "the file must be a square matrix of dissimilarities"),
        (
            ["-c", 2, "--algorithm", "EGMM", "--checkpoint", "c"],
            "--checkpoint and --resume don't work with --algorithm EGMM",
        ),
        (
            ["-c", 2, "--algorithm", "BCM", "--links", "l"],
            "--links and --link-weight are for SoftECM, ECM, FCM, CECM, NNEV",
        ),
        (["-c", "auto", "--links", "l"], "--links need a number of clusters: give -c a number"),
        (["-c", 2, "--link-weight", 3], "--link-weight needs --links or --known: add one of them"),
        (["-c", 2, "--links", "nothing.csv"], "--links nothing.csv can't be read"),
    ],
)
def test_what_does_not_go_together_is_refused(run, files, arguments, sentence):
    code, _, err = run("cluster", "numbers.csv", *arguments)
    assert code == 2
    assert sentence in " ".join(err.split())


def test_words_are_refused_where_numbers_are_due(run, files):
    code, _, err = run("cluster", "words.csv", "-c", 2, "--algorithm", "ECM")
    assert code == 2
    assert "--algorithm ECM only takes numbers, and some columns hold text" in " ".join(err.split())


LINKS = "first,second,known\n1,2,apart\n1,3,together\n"  # objects take turns in two groups


@pytest.mark.parametrize("name", [*filter(link_weight, NAMES)])
def test_links_come_from_a_file(run, files, name):
    (files / "links.csv").write_text(LINKS, encoding="utf-8")
    kind = "apart" if input_tags(name).pairwise else "numbers"
    options = [
        "--links",
        "links.csv",
        "--link-weight",
        0.9,
        "--algorithm",
        name,
        "--max-iter",
        60,
        "-o",
        "told",
        "--json",
    ]
    code, out, err = run("cluster", f"{kind}.csv", "-c", 2, *options)
    assert code == 0, err
    assert json.loads(out)["links"] == "All 2 links in links.csv are satisfied."
    assert not any("satisfied" in warning for warning in json.loads(out)["warnings"])


def test_broken_links_are_named(run, files):
    assert run("cluster", "numbers.csv", "-c", 2, "-o", "free", "-q")[0] == 0
    label = [line.split(",")[1] for line in (files / "free/partition.csv").read_text(encoding="utf-8").split()[1:]]
    other = next(i for i in range(1, 40) if label[i] != label[0]) + 1
    mates = [i + 1 for i in range(1, 40) if label[i] == label[0]][:6]
    lines = [f"{other},1,together", *(f"{mate},1,apart" for mate in mates), f"{mates[0]},{mates[1]},together"]
    (files / "links.csv").write_text("\n".join(lines), encoding="utf-8")
    code, out, err = run("cluster", "numbers.csv", "-c", 2, "--links", "links.csv", "--link-weight", 1e-6, "--json")
    assert code == 0, err
    broken = [f"1 and {other} (together, line 1)", *(f"1 and {mates[k]} (apart, line {k + 2})" for k in range(4))]
    assert (
        f"1 of 8 links in links.csv are satisfied; broken: {', '.join(broken)} …. This may be a mistake in the file; "
        "otherwise a larger --link-weight satisfies more."
    ) in json.loads(out)["warnings"]


def test_names_in_links_that_no_object_has_are_guessed(run, two_groups):
    two_groups.with_name("links.csv").write_text("n1,n2,apart\nn3,betwen,apart\n", encoding="utf-8")
    code, _, err = run("cluster", two_groups, "-c", 2, "--links", "links.csv")
    assert code == 2
    assert (
        "links.csv, line 2: betwen is not an object of the file. Objects go by their ids in column name, such as n0, n1, "
        "n2 …. Did you mean between? Correct or delete this line."
    ) in " ".join(err.split())


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (
            "1;2;apart\n1;99;apart",
            "links.csv, line 2: 99 is not an object of the file. The file has no ids: objects go by their rows, such as 1, "
            "2, 3 …; --id names a column of ids. Correct or delete this line.",
        ),
        (
            "1,2,apart\n1,99,apart\n98,2,together\n5,5,apart",
            "links.csv, line 2: 99 is not an object of the file; line 3: 98 is not an object of the file; line 4: 5 is "
            "linked to itself. The file has no ids",
        ),
        ("4,4,apart\n5,5,apart", "line 2: 5 is linked to itself. Correct or delete these 2 lines."),
        ("1,2,near", "links.csv holds no links: write lines such as 3,17,together"),
        ("1,2,apart\n1,3,near", "links.csv, line 2: a link is two objects and together or apart"),
        ("1,2", "links.csv, line 1: a link is two objects and together or apart"),
        ("4,4,apart", "links.csv, line 1: 4 is linked to itself"),
        (
            "1,2,together\n2,3,together\n3,1,apart",
            "links.csv, line 3: 1 and 3 are linked as apart, and other lines link",
        ),
        ("", "links.csv holds no links"),
    ],
)
def test_links_that_can_not_be_are_refused(run, files, lines, sentence):
    (files / "links.csv").write_text(lines, encoding="utf-8")
    code, _, err = run("cluster", "numbers.csv", "-c", 2, "--links", "links.csv")
    assert code == 2
    assert sentence in " ".join(err.split())


@pytest.mark.parametrize("name", ["EVCLUS", "EGMM", "EKNNClus"])
def test_ctrl_c_keeps_what_was_found(run, files, name, monkeypatch):
    monkeypatch.setattr("softecm.cli.fitting._interrupts", lambda err: nullcontext(lambda: True))
    kind, clusters = ("apart", ["-c", 2]) if name == "EVCLUS" else ("numbers", [] if name == "EKNNClus" else ["-c", 2])
    code, out, err = run("cluster", f"{kind}.csv", *clusters, "--algorithm", name, "--json")
    assert code == 0, err
    assert json.loads(out)["interrupted"]
    assert json.loads(out)["warnings"][0] == "Ctrl-C stopped the fit: this is the best result so far."


def test_a_fit_of_another_algorithm_goes_on_from_a_checkpoint(run, files):
    code, _, err = run("cluster", "apart.csv", "-c", 2, "--algorithm", "EVCLUS", "--checkpoint", "fit.checkpoint")
    assert code == 0, err
    code, _, err = run(
        "cluster", "apart.csv", "-c", 2, "--algorithm", "EVCLUS", "--resume", "fit.checkpoint", "--force"
    )
    assert code == 0, err
