"""Calibrated masses: they reproduce the intervals, cover the true probabilities, can be stopped and resumed."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from softecm import ECM, EVCLUS, FCM, RECM, CredalPartition, FocalSets, MECMdd, SoftECM, calibrate
from softecm.calibration import Calibration, CalibrationInterrupted, calibrating
from softecm.calibration import refitting as module
from softecm.calibration.column_groups import ColumnGroups
from softecm.calibration.intervals import bounds, resolved
from softecm.calibration.mixture import Form, GaussianGroups
from softecm.calibration.posterior import from_distances
from softecm.calibration.refitting import Refitting, _numbered
from softecm.datasets import make_blobs
from softecm.distances import Mahalanobis, SquaredEuclidean
from softecm.report import build
from softecm.report.sections.certainty import Certainty


def section(calibration, ids=None):
    """The report's section on a calibration; names of objects are ``ids``, or numbers from 1."""
    names = [str(i + 1) for i in range(len(calibration.before))] if ids is None else ids
    return Certainty(SimpleNamespace(calibration=calibration, noun="object", ids=names))


BLOBS = make_blobs(90, n_clusters=2, distance=3.5, random_state=0)
X = BLOBS.data


@pytest.fixture(scope="module")
def model() -> SoftECM:
    return SoftECM(2, random_state=0).fit(X)


@pytest.fixture(scope="module")
def found(model):
    return calibrate(model, X, n_boot=40)


def test_masses_state_the_intervals(found):
    assert found.partition.n_objects == 90
    assert found.misfit < 0.05
    told = found.coverage()
    assert told["after"]["inside"] == pytest.approx(0.9, abs=0.1)
    assert told["intervals"]["inside"] == pytest.approx(0.9, abs=0.08)
    assert set(told["before"]) == {"inside", "width"}
    low, high = found.interval(0, 1)
    stated = resolved(*bounds(found.memberships, np.array([0]), np.array([1]), 0.9), 90)
    assert (low, high) == pytest.approx([one[0] for one in stated])
    with pytest.raises(IndexError, match="there are 90 objects, numbered from 0; got 90"):
        found.interval(0, 90)


def test_sets_and_the_empty_set_have_intervals():
    """Objects planted between groups, and outliers, are so in refits; the intervals contain the model's masses."""
    blobs = make_blobs(120, n_clusters=3, distance=8, between=6, outliers=3, random_state=3)
    fitted = SoftECM(3, random_state=0).fit(blobs.data)
    made = calibrate(fitted, blobs.data, n_boot=40, pairs="none")
    own = fitted.partition_.masses
    assert ((made.set_lower <= own + 0.05) & (own <= made.set_upper + 0.05)).all()
    planted = blobs.target == -1
    said = fitted.decisions().words
    assert (said[planted] == "between").all()
    assert (made.said[0][planted] > 0).all()
    assert (made.decisions().words[planted] == "between").all()
    assert (made.decisions().words[blobs.target == -2] == "nowhere").all()
    clear = said == "clearly"
    assert (made.said[0][clear] > 0.5).mean() > 0.9
    assert (fitted.decisions(calibration=made).words == made.decisions().words).all()
    with pytest.raises(ValueError, match="calibration must be for the 129 objects of the fit, and X must be None"):
        fitted.decisions(blobs.data, calibration=made)


def test_sharp_borders_are_seen_and_normal_groups_stay_normal(rng):
    y = np.repeat([0, 1], 150)
    normal, boxes = rng.normal(size=(300, 2)), rng.uniform(-1.7, 1.7, size=(300, 2))
    forms = []
    for raw in (normal, boxes):
        points = raw + np.array([[0.0, 0.0], [4.2, 0.0]])[y]
        made = calibrate(SoftECM(2, random_state=0).fit(points), points, n_boot=20, pairs="none")
        forms.append(made.form)
    assert forms[0] == "round Gaussians"
    assert forms[1] == "round Gaussians and, where these fit poorly, groups as they are in each column"
    own = made.lower[np.arange(300), made.before.labels()], made.upper[np.arange(300), made.before.labels()]
    assert (own[1] == 1.0).mean() > 0.75  # the borders are four fifths of a deviation apart
    assert own[0].min() > 0.5


def test_a_fit_that_left_the_units_chosen_first_is_refitted_in_its_own(rng):
    """Columns of different widths would be scaled, but the groups support unscaled columns."""
    y = np.repeat([0, 1, 2], 60)
    points = np.array([[0.0, 0.0], [60.0, 0.0], [120.0, 0.0]])[y] + rng.standard_t(3, size=(180, 2))
    fitted = SoftECM(3, random_state=0).fit(points)
    ready = Refitting(fitted, points).ready
    assert type(ready.objects.space) is type(fitted.model_.space)
    assert calibrate(fitted, points, n_boot=19, pairs="none").stability > 0.9


def test_columns_of_a_table_are_densities_and_shares(rng):
    """Two groups separated in a number and a category: probabilities close to Bayes' rule; missing cells are skipped."""
    y = np.repeat([0, 1], 400)
    frame = pd.DataFrame({"size": 3.0 * y + rng.normal(size=800), "kind": np.where(rng.random(800) < 0.8, y, 1 - y)})
    frame["kind"] = frame["kind"].map({0: "a", 1: "b"})
    frame.loc[:9, "size"] = np.nan
    fitted = SoftECM(2, metric="mixed", random_state=0).fit(frame)
    ready = Refitting(fitted, frame).ready
    assert isinstance(ready.smooth, ColumnGroups)
    odds = np.exp(3.0 * frame["size"].fillna(1.5) - 4.5) * np.where(frame["kind"] == "b", 4.0, 0.25)
    truth = np.asarray(odds / (1 + odds))
    found = ready.memberships(np.ones((1, 800)), [0])[0]
    second = int(fitted.labels_[y == 1].mean() > 0.5)
    assert np.abs(found[:, second] - truth).mean() < 0.05


def test_intervals_cover_what_made_the_data():
    """One mixture, drawn repeatedly: the interval contains the pair's probability about as often as stated."""
    inside = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, 200)
        objects = np.array([[0.0, 0], [3.5, 0]])[y] + rng.normal(size=(200, 2))
        odds = 1 / (1 + np.exp(-(3.5 * objects[:, 0] - 3.5**2 / 2)))
        truth = np.column_stack([1 - odds, odds])
        made = calibrate(SoftECM(2, random_state=0).fit(objects), objects, n_boot=40, pairs="none")
        i, j = rng.integers(0, 200, (2, 800))
        low, high = resolved(*bounds(made.memberships, i, j, 0.9), 200)
        together = (truth[i] * truth[j]).sum(1)
        inside.append(((together >= low) & (together <= high)).mean())
    assert 0.7 < np.mean(inside) <= 1.0


def test_stability_knows_what_holds(found):
    assert found.object_stability.shape == (90,)
    assert found.cluster_stability.min() > 0.75
    assert 0.5 < found.stability <= 1.0
    noise = np.random.default_rng(0).normal(size=(40, 2))
    loose = calibrate(FCM(4, n_init=1, random_state=0).fit(noise), noise, n_boot=19, warm=False, pairs="none")
    assert loose.cluster_stability.min() < 0.6
    assert loose.stability < found.stability
    frame = found.to_frame("pandas")
    assert {"before", "after", "stability", "low(ω1)", "high(ω2)"} <= set(frame.columns)


@pytest.mark.parametrize("kind", [ECM, FCM, RECM, EVCLUS])
def test_any_clusterer(kind):
    data = X[:45]
    if kind in (RECM, EVCLUS):
        data = np.sqrt(np.square(data[:, None] - data).sum(-1))
    fitted = kind(2, random_state=0).fit(data)
    made = calibrate(fitted, data, n_boot=20)
    assert made.partition.labels().shape == (45,)
    assert (made.partition.labels() == fitted.labels_).mean() > 0.9


def test_several_matrices_and_clusters_that_a_refit_splits():
    apart = np.sqrt(np.square(X[:30, None] - X[:30]).sum(-1))
    views = {"a": apart, "b": apart}
    made = calibrate(MECMdd(2, n_init=1, random_state=0).fit(views), views, n_boot=19, pairs="none")
    assert made.form == "what the model's masses say"
    split = _numbered(np.eye(3)[[0, 0, 1, 1, 2]], np.eye(2)[[0, 0, 1, 1, 1]])
    np.testing.assert_array_equal(split, np.eye(2)[[0, 0, 1, 1, 1]])


def test_groups_that_no_mixture_has_are_told_by_distances():
    noise = np.random.default_rng(0).uniform(size=(80, 2))
    fitted = SoftECM(4, n_init=1, random_state=0).fit(noise)
    assert GaussianGroups(noise - noise.mean(0)).likeliest(np.full((80, 4), 0.25), np.ones(80), fitted.labels_) is None


def test_tables_and_series_and_new_fits():
    frame = pd.DataFrame({"size": X[:, 0], "kind": np.where(BLOBS.target == 1, "a", "b")})[:30]
    table = SoftECM(2, metric="mixed", n_init=2, random_state=0).fit(frame)
    assert calibrate(table, frame, n_boot=20).memberships.shape == (20, 30, 2)
    series = np.random.default_rng(0).normal(size=(20, 12, 1)) + 4 * (np.arange(20) % 2)[:, None, None]
    shapes = SoftECM(2, metric="series-euclidean", n_init=1, random_state=0).fit(series)
    assert calibrate(shapes, series, n_boot=20).object_stability.min() > 0.9
    again = calibrate(SoftECM(2, n_init=1, random_state=0).fit(X), X, n_boot=19, warm=False, pairs="none")
    assert again.cluster_stability.min() > 0.6


def test_the_same_with_a_journal_that_was_cut_short(model, tmp_path, monkeypatch):
    path = tmp_path / "refits.jsonl"
    whole = calibrate(model, X, n_boot=20, pairs="none")
    run, done = module.run_batch, []
    monkeypatch.setattr(Refitting, "at_once", 3)

    def stopped(asked, numbers):
        if len(done) == 6 and "stopped" not in done:
            done.append("stopped")
            raise KeyboardInterrupt
        done.extend(numbers)
        return run(asked, numbers)

    monkeypatch.setattr(module, "run_batch", stopped)
    with pytest.raises(
        CalibrationInterrupted, match=r"interrupted with 6 of 20 refits done; with journal .* the same call resumes"
    ):
        calibrate(model, X, n_boot=20, pairs="none", journal=path)
    again = calibrate(model, X, n_boot=20, pairs="none", journal=path)
    assert len(done) == 21
    np.testing.assert_array_equal(again.memberships, whole.memberships)
    more = calibrate(model, X, n_boot=22, pairs="none", journal=path)
    assert len(done) == 23
    np.testing.assert_array_equal(more.memberships[:20], whole.memberships)
    with pytest.raises(ValueError, match="belongs to another calibration: its model differ"):
        calibrate(SoftECM(3, random_state=0).fit(X), X, n_boot=20, journal=path)


def test_a_damaged_row_is_done_again(model, tmp_path):
    path = tmp_path / "refits.jsonl"
    whole = calibrate(model, X, n_boot=20, pairs="none", journal=path)
    lines = path.read_text().splitlines()
    row = json.loads(lines[1])
    row["rows"][0]["memberships"] = "AAAA"
    path.write_text("\n".join([lines[0], json.dumps(row), *lines[2:]]) + "\n")
    with pytest.warns(UserWarning, match="is damaged in line 2"):
        again = calibrate(model, X, n_boot=20, pairs="none", journal=path)
    np.testing.assert_array_equal(again.memberships, whole.memberships)


def test_distances_of_a_mixture_are_the_metric_s(rng):
    points = rng.normal(size=(30, 3)) + 50.0
    for metric in (SquaredEuclidean(), Mahalanobis().learner.fitted(torch.from_numpy(points), None)):
        mixture = GaussianGroups.of(metric, torch.from_numpy(points))
        wanted = metric.pairwise(torch.from_numpy(points), torch.from_numpy(points[:2])).numpy()
        np.testing.assert_allclose(mixture._distances(mixture.x[None, :2])[0].T, wanted, atol=1e-9)


def drawn(rng, form: Form) -> tuple[np.ndarray, np.ndarray]:
    """Two groups of this form, and their starts."""
    y = rng.permutation(np.repeat([0, 1], 250))
    raw = rng.normal(size=(500, 2)) * ([0.4, 2.0] if form.free else [1.0, 1.0])
    if np.isfinite(form.tail):
        raw /= np.sqrt(rng.chisquare(form.tail, (500, 1)) / form.tail)
    return raw + np.array([[-3.0, 0.0], [3.0, 0.0]])[y], np.eye(2)[y]


@pytest.mark.parametrize("form", [Form(), Form(free=True), Form(tail=3.0), Form(free=True, tail=3.0)], ids=str)
def test_the_form_of_the_groups_is_found(rng, form):
    x, start = drawn(rng, form)
    found = GaussianGroups(x - x.mean(0)).likeliest(start, np.ones(500), start.argmax(1)).form
    assert found.free == form.free
    assert np.isfinite(found.tail) == np.isfinite(form.tail)


@pytest.mark.parametrize("form", [Form(), Form(free=True), Form(tail=5.0)], ids=str)
def test_a_batch_of_refits_is_each_of_them_alone(rng, form):
    x, start = drawn(rng, form)
    weights = rng.multinomial(500, np.full(500, 1 / 500), size=7).astype(float)
    mixture = GaussianGroups(x - x.mean(0), form)
    together = mixture.fitted(start, weights)
    for one, alone in zip(weights, together, strict=True):
        np.testing.assert_array_equal(mixture.fitted(start, one[None])[0], alone)


def test_a_mixture_of_any_form_has_the_probabilities_of_gaussians(rng):
    x, start = drawn(rng, Form(free=True))
    found = GaussianGroups(x, Form(free=True)).fitted(start, np.ones((1, 500)))[0]
    logs = -np.square((x[:, None] - np.array([[-3.0, 0.0], [3.0, 0.0]])) / [0.4, 2.0]).sum(-1) / 2
    truth = np.exp(logs - np.logaddexp(*logs.T)[:, None])
    assert np.abs(found - truth).max() < 0.05


def test_probabilities_from_distances_are_those_of_gaussians(rng):
    y = rng.integers(0, 2, 4000)
    points = 3.0 * y[:, None] * np.array([1.0, 0.0]) + rng.normal(size=(4000, 2)) * np.where(y, 1.3, 1.0)[:, None]
    d = np.square(points[:, None] - np.array([[0.0, 0.0], [3.0, 0.0]])).sum(-1)
    logs = np.log(0.5) - d / (2 * np.array([1.0, 1.69])) - np.log(np.array([1.0, 1.69]))
    truth = np.exp(logs - np.logaddexp(*logs.T)[:, None])
    assert np.abs(from_distances(d, np.ones(4000), shape=1.0) - truth).max() < 0.06
    assert np.abs(from_distances(d, np.ones(4000)) - truth).mean() < 0.03


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"n_boot": 10},
            r"n_boot must be a whole number of at least 19; got 10\. An interval of 0\.9 needs",
        ),
        ({"level": 1.0}, "level must be greater than 0 and at most 0.999"),
        ({"pairs": "both"}, "pairs must be one of"),
        ({"resample": "twice"}, "resample must be one of"),
        ({"X": X[:50]}, "X must hold the 90 objects of the fit, in their order; got 50"),
        ({"model": "SoftECM"}, "model must be a fitted estimator of softecm; got str"),
        ({"model": SoftECM(1, random_state=0).fit(X)}, "at least two clusters"),
        ({"focal_sets": FocalSets.full(3)}, "focal_sets must be FocalSets of the model's 2 clusters"),
        ({"random_state": -1}, "random_state must be a whole number of at least 0"),
    ],
)
def test_what_can_not_be_calibrated_is_refused(model, change, message):
    given = {"model": model, "X": X, "n_boot": 20, **change}
    with pytest.raises((ValueError, TypeError), match=message):
        calibrate(given.pop("model"), given.pop("X"), **given)


def test_an_unfitted_model_is_refused():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        calibrate(SoftECM(2), X)


def test_a_report_says_how_sure_the_groups_are(model, found):
    page = build(model, X, calibration=found)
    assert '<section id="sure"' in page.html
    in_groups = sum(len(one) == 1 for one in model.partition_.sets())
    assert 0 < in_groups < 90
    assert page.html.count('class="span"') == in_groups
    assert f"{in_groups} objects in a group, the most certain first" in page.html
    assert "Each line is one object: the interval that holds 90% of its 40 probabilities, one per resample" in page.html
    assert page.facts["calibration"]["coverage"]["after"]["inside"] == found.coverage()["after"]["inside"]
    hidden = build(model, X, calibration=found, values=False)
    assert '<section id="sure"' in hidden.html
    assert 'id="sure"' not in build(model, X).html
    with pytest.raises(ValueError, match="calibration must be of the report's 60 objects; got one of 90"):
        build(model, X[:60], partition=model.predict_partition(X[:60]), calibration=found)


def test_groups_that_come_apart_are_named():
    two = np.tile(np.repeat([0, 1], 20), (30, 1))
    halves = np.random.default_rng(0).permuted(two, axis=1)
    before = CredalPartition.from_hard(two[0])
    ends = np.zeros((40, 2)), np.ones((40, 2))
    shaken = Calibration(
        before, before, np.eye(2)[halves], 0.9, *ends, 0.0, "round Gaussians", before.masses, before.masses
    )
    told = " ".join(section(shaken).sentences)
    assert "No group is fully found again." in told
    assert "may be an accident of this sample: check whether choose_n_clusters finds any." in told
    assert "In other samples group 1 and group 2 would dissolve: don't rely on them." in told
    assert "The resamples disagree about 40 objects, most about 35 (group 2: from 0.00 to 1.00), 12 (group 1" in told
    one = replace(shaken, memberships=np.eye(2)[two], lower=ends[0] + 0.4, upper=ends[1] - 0.1)
    one.upper[3] = 1.0
    named = [f"p{i}" for i in range(40)]
    assert "The resamples disagree about 1 object: p3 (group 1: from 0.40 to 1.00)." in section(one, named).sentences
    assert [wide["name"] for wide in section(one, named).facts()["calibration"]["least_sure"]] == ["p3"]
    out = np.array(before.masses)
    out[3] = [1.0, 0.0, 0.0]
    nowhere = replace(one, before=CredalPartition(out, before.focal_sets))
    assert "disagree" not in " ".join(section(nowhere, named).sentences)  # outliers have no group
    assert section(nowhere, named).facts()["calibration"]["least_sure"] == []


def test_intervals_are_described_and_one_group_is_one():
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1, 2], 20)
    own = np.eye(3)[np.tile(groups, (30, 1))]
    own[:, 20:] = own[:, 20:][:, rng.permutation(40)]
    own = 0.9 * own + 0.1 * rng.dirichlet([1, 1, 1], size=own.shape[:2])
    before = CredalPartition.from_hard(groups)
    vague = CredalPartition(np.tile([0, 0.3, 0.3, 0.3, 0, 0, 0, 0.1], (60, 1)), FocalSets.full(3))
    found = Calibration(
        vague, before, own, 0.9, own.min(0), own.max(0), 0.0, "round Gaussians", before.masses, before.masses
    )
    first, second, *_ = section(found).sentences
    assert first.endswith("1 of 3 groups is fully found again.")
    inside = found.coverage()["after"]
    assert f"to within {inside['width']:.2f} on average; {inside['inside']:.0%} of the refits lie inside" in second


def test_words_of_the_model_and_of_the_refits_are_in_one_table():
    blobs = make_blobs(90, n_clusters=3, distance=9, between=5, random_state=0)
    made = calibrate(SoftECM(3, random_state=0).fit(blobs.data), blobs.data, n_boot=19, random_state=0)
    table = section(made).facts()["calibration"]["words"]
    before = made.before.decisions().counts()
    assert {word: sum(row.values()) for word, row in table.items()} == {w: n for w, n in before.items() if n}
    told = [text for text in section(made).sentences if "between groups" in text]
    assert told == [f"{before['between']} objects lie between groups, and the resamples confirm it."]


def test_sentences_about_objects_between_groups_and_about_disagreement_agree():
    masses = np.zeros((40, 4))
    masses[:20, 1] = masses[20:, 2] = 1.0
    masses[17:20] = masses[37:] = [0, 0, 0, 1]  # six between groups: half of the refits have them in either group
    before = CredalPartition(masses, FocalSets.full(2))
    refitted = np.tile(np.eye(2)[np.repeat([0, 1], 20)], (30, 1, 1))
    refitted[::2, 17:20] = refitted[::2, 37:] = [0.0, 1.0]
    made = Calibration(
        before, before, refitted, 0.9, refitted.min(0), refitted.max(0), 0.0, "round Gaussians", masses, masses
    )
    told = section(made).sentences
    assert told[-1] == "6 objects lie between groups, and the resamples confirm it."
    assert [cells[0] for _, _, cells in section(made).groups] == [17, 17]  # without those between
    assert not any("disagree" in text for text in told)
    low = masses.copy()
    low[[17, 37], 3] = 0.1  # in some refits hardly between
    told = section(replace(made, set_lower=low)).sentences
    assert told[-1] == "6 objects lie between groups, and the resamples confirm it for 4 of them."
    assert told[-2].startswith("The resamples disagree about 2 objects: ")
    assert "38 (group 1 or 2: from 0.10 to 1.00)" in told[-2]
    after = masses.copy()
    after[:3] = [0, 0, 0, 1]
    told = section(replace(made, partition=CredalPartition(after, before.focal_sets))).sentences
    assert told[-1] == (
        "After calibration, 9 objects lie between groups: the resamples assign 3 of them to different groups."
    )


def test_every_group_that_is_not_found_again_is_named():
    groups = np.repeat([0, 1, 2], [20, 20, 10])
    own = np.tile(np.eye(3)[groups], (30, 1, 1))
    own[:15, :5] = [0.0, 1.0, 0.0]
    own[:20, 40:] = [0.0, 1.0, 0.0]
    before = CredalPartition.from_hard(groups)
    made = Calibration(
        before, before, own, 0.9, own.min(0), own.max(0), 0.0, "round Gaussians", before.masses, before.masses
    )
    told = section(made).sentences
    assert told[0].endswith("1 of 3 groups is fully found again.")
    assert told[2:4] == [
        "In other samples group 3 would dissolve: don't rely on it.",
        "Group 2 is found again in part: rely only on the objects that are clearly in it after calibration.",
    ]
    assert not any("accident" in text for text in told)
    assert [cells[2] for _, _, cells in section(made).groups] == ["found again", "found again in part", "dissolves"]


@pytest.mark.parametrize(
    ("inside", "misfit", "consequence"),
    [
        (0.96, 0.2, "more than the 90% intended: they are cautious."),
        (0.94, 0.2, "as intended (90%)."),
        (0.86, 0.2, "as intended (90%)."),
        (0.49, 0.0007, "fewer than the 90% intended, but the masses are off by only 0.0007: this makes no difference."),
        (0.84, 0.06, "the masses are too certain, so use the intervals (columns low and high) instead."),
    ],
)
def test_the_share_of_refits_inside_has_a_consequence(found, monkeypatch, inside, misfit, consequence):
    monkeypatch.setattr(Calibration, "coverage", lambda _: {"after": {"inside": inside, "width": 0.25}})
    second = section(replace(found, misfit=misfit)).sentences[1]
    assert f"to within 0.25 on average; {inside:.0%} of the refits lie inside, " in second
    assert second.endswith(consequence)


def test_intervals_are_judged_by_the_other_half_of_the_refits(found):
    """Even refits put all objects together, odd ones hardly any: no interval of one half contains the other."""
    split = np.tile(np.array([[1.0, 0.0], [0.5, 0.5]])[:, None], (20, 90, 1))
    told = replace(found, memberships=split).coverage()["intervals"]
    assert told["inside"] == 0.0


def test_outliers_that_move_do_not_make_a_cluster_unstable(found):
    masses = np.zeros((90, 3))
    masses[np.arange(90), np.r_[np.repeat([1, 2], 40), np.zeros(10, int)]] = 1.0
    refitted = np.zeros((40, 90, 2))
    refitted[:, :40, 0] = refitted[:, 40:80, 1] = 1.0
    refitted[::2, 80:, 0] = refitted[1::2, 80:, 1] = 1.0
    before = CredalPartition(masses, FocalSets.up_to(2, 1))
    assert replace(found, before=before, memberships=refitted).cluster_stability.tolist() == [1.0, 1.0]


def test_a_seed_and_a_level_are_those_of_the_refits(model, found):
    other = calibrate(model, X, n_boot=40, pairs="none", random_state=1)
    assert np.abs(other.memberships - found.memberships).max() > 1e-3
    narrow = calibrate(model, X, n_boot=40, pairs="none", level=0.5)
    np.testing.assert_array_equal(narrow.memberships, found.memberships)
    assert (narrow.set_upper - narrow.set_lower).sum() < 0.8 * (found.set_upper - found.set_lower).sum()


def test_refits_from_scratch_each_have_a_seed(model, monkeypatch):
    seeds, real = [], module.clone

    def cloned(estimator):
        copy = real(estimator)
        monkeypatch.setattr(copy, "fit", lambda X: seeds.append(copy.random_state) or type(copy).fit(copy, X))
        return copy

    monkeypatch.setattr(module, "clone", cloned)
    calibrate(model, X, n_boot=19, pairs="none", warm=False)
    assert seeds == list(range(19))


def test_a_journal_of_another_seed_is_refused(model, tmp_path):
    calibrate(model, X, 20, journal=tmp_path / "refits.jsonl")
    with pytest.raises(ValueError, match="refits\\.jsonl"):
        calibrate(model, X, 20, random_state=1, journal=tmp_path / "refits.jsonl")


def test_refits_by_distances_do_not_learn_from_outliers(monkeypatch):
    far = np.vstack([X, [[900.0, 900.0]]])
    own = SoftECM(2, metric="manhattan", random_state=0, n_init=1).fit(far)
    assert own.partition_.masses[-1, 0] > 0.99
    learned = []
    monkeypatch.setattr(module, "from_distances", lambda d, w: learned.append(w) or from_distances(d, w))
    refitting = Refitting(own, far, "bootstrap")
    assert refitting.ready is not None
    learned.clear()
    refitting.refitted(drawn := [b for b in range(9) if module._counts(len(far), b, 0, True)[-1]][:2])
    assert len(learned) == len(drawn) == 2
    assert all(weights[-1] < 0.1 and weights.sum() > 50 for weights in learned)


def test_some_pairs_have_intervals_of_the_level_asked_for(model, monkeypatch):
    levels = []
    whole = calibrating.compared_bounds
    monkeypatch.setattr(calibrating, "compared_bounds", lambda *given: levels.append(given[-1]) or whole(*given))
    calibrate(model, X, 20, level=0.5, pairs="some")
    assert levels == [0.5]


def test_a_stable_group_that_calibration_empties_is_found_in_part():
    groups = np.repeat([0, 1], [20, 8])
    own = np.tile(np.eye(2)[groups], (30, 1, 1))
    before = CredalPartition.from_hard(groups)
    masses = before.masses.copy()
    both = CredalPartition(np.column_stack([masses, np.zeros(28)]), FocalSets(2, ((0,), (1,), (0, 1))))
    after = both.masses.copy()
    after[22:] = [0, 0, 0, 1]
    made = Calibration(
        CredalPartition(after, both.focal_sets), both, own, 0.9, own.min(0), own.max(0), 0.0, "", masses, masses
    )
    assert made.cluster_stability.min() > 0.75
    assert [cells[2] for _, _, cells in section(made).groups] == ["found again", "found again in part"]
