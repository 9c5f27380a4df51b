"""CatECM: categories of any kind, missing cells, groups, descent."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch

from problems import largest_rise
from pure import catecm
from softecm import CatECM, FocalSets, load_model
from softecm.datasets import load_diamond
from softecm.distances.estimator_metrics import ExpectedMismatches
from softecm.objective.equations import update_masses
from softecm.scores import adjusted_rand_index


def groups(seed, n=200, p=10, noise=0.1):
    """Four groups with a favourite category each in every column, a tenth of the cells random."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 4
    favourite = np.stack([rng.permutation(4) for _ in range(p)], axis=1)
    codes = np.where(rng.random((n, p)) < noise, rng.integers(4, size=(n, p)), favourite[group])
    return np.array(list("abcd"), dtype=object)[codes], group


@pytest.mark.parametrize("seed", range(10))
def test_four_groups_with_noise_are_found(seed):
    x, group = groups(seed)
    model = CatECM(4, random_state=seed).fit(x)
    assert adjusted_rand_index(group, model.labels_) >= 0.95
    assert model.converged_
    np.testing.assert_array_equal(model.predict_partition(x).masses, model.partition_.masses)
    assert model.score(x) == pytest.approx(-model.objective_ / len(x))


def _encoded(x):
    space = ExpectedMismatches().make_space()
    raw = space.check(CatECM(), x, reset=True)
    space = space.fit(raw, dtype=torch.float64)
    return space, space.encode(raw)


def test_objective_never_rises(many):
    for seed in range(many):
        rng = np.random.default_rng(seed)
        x, _ = groups(seed, n=40, p=5, noise=0.6)
        x[:, 1:][rng.random((40, 4)) < rng.choice([0.0, 0.2])] = None  # no row may be empty
        space, encoded = _encoded(x)
        focal = FocalSets.up_to(3, int(rng.integers(1, 4)))
        start = torch.stack(
            [space.starts(encoded, torch.as_tensor(rng.choice(40, 3, replace=False))) for _ in range(4)]
        )
        prices = {"alpha": rng.uniform(0, 2), "beta": rng.uniform(1.1, 3), "delta": rng.uniform(0.5, 3)}
        weights = torch.as_tensor(rng.uniform(0, 2, size=40))
        found = catecm(encoded, focal, start, **prices, weights=weights)
        assert max(largest_rise(h) for h in found.history) <= 1e-9


def test_modes_are_the_best_by_brute_force():
    x, _ = groups(0, n=30, p=2, noise=0.5)
    space, encoded = _encoded(x)
    focal, metric = FocalSets.full(2), ExpectedMismatches()
    start = space.starts(encoded, torch.tensor([0, 1]))
    found = catecm(encoded, focal, start[None], alpha=1.5, beta=1.5, delta=1.0, max_iter=1)
    mean = torch.as_tensor(focal.membership / focal.cardinalities[:, None])
    masses = update_masses(metric.pairwise(encoded, mean @ start), focal, 1.5, 1.5, 1.0)
    paid = torch.as_tensor(focal.cardinalities.astype(float)) ** 1.5 * masses[:, 1:] ** 1.5
    levels = [torch.eye(k, dtype=torch.float64) for k in encoded.layout.levels]

    def cost(centers):
        return float((paid * metric.pairwise(encoded, mean @ centers)).sum())

    choices = [
        torch.cat([levels[l][t] for l, t in enumerate(modes)]) for modes in product(*map(range, map(len, levels)))
    ]
    least = min(cost(torch.stack([a, b])) for a in choices for b in choices)
    assert cost(found.prototypes[0, :2]) == pytest.approx(least)


def test_a_gap_is_left_out_and_made_up_for():
    x = np.array([["a", "u", "p"], ["b", "v", "q"], ["a", None, "p"], ["a", None, "q"]], dtype=object)
    space, encoded = _encoded(x)
    d = ExpectedMismatches().pairwise(encoded, space.starts(encoded, torch.tensor([0, 1])))
    np.testing.assert_allclose(d, [[0, 3], [3, 0], [0, 3], [1.5, 1.5]])


def test_takes_frames_numbers_and_names(tmp_path):
    x, group = groups(1)
    frame = pd.DataFrame(x, columns=[f"c{j}" for j in range(x.shape[1])])
    frame["c0"] = frame["c0"].astype("category")
    frame["c1"] = frame["c1"].map({"a": 1, "b": 2, "c": 3, "d": 4})
    frame.loc[3, "c2"] = None
    model = CatECM(4, random_state=0).fit(frame)
    assert adjusted_rand_index(group, model.labels_) >= 0.95
    assert list(model.cluster_centers_.columns) == list(frame.columns)
    assert set(model.cluster_centers_["c1"]) == {1, 2, 3, 4}
    parts = model.explain(frame)
    np.testing.assert_allclose(parts.sum(2), model.transform(frame))
    model.save(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(
        load_model(tmp_path / "m.safetensors").predict_proba(frame), model.predict_proba(frame)
    )


@pytest.mark.filterwarnings("ignore::softecm.UnseenCategoryWarning")
def test_a_category_never_seen_is_missed_by_all():
    x, _ = groups(0)
    model = CatECM(4, random_state=0).fit(x)
    strange = x[:1].copy()
    strange[0, :] = "z"
    np.testing.assert_allclose(model.transform(strange), x.shape[1])


def test_weights_count_like_repeated_rows(rng):
    x, _ = groups(3, n=40)
    weights = rng.integers(1, 3, size=40)
    rows = np.repeat(np.arange(40), weights)
    weighted = CatECM(4, random_state=0).fit(x, sample_weight=weights)
    repeated = CatECM(4, random_state=0).fit(x[rows])
    assert weighted.objective_ == pytest.approx(repeated.objective_)
    np.testing.assert_allclose(weighted.partition_.masses[rows], repeated.partition_.masses, atol=1e-9)


def test_start_may_be_given():
    x, group = groups(0)
    model = CatECM(4, init=x[:4]).fit(x)
    assert adjusted_rand_index(group, model.labels_) >= 0.95
    assert len(model.runs_) == 1
    with pytest.raises(ValueError, match=r"init must have one row per cluster, 4; got 3"):
        CatECM(4, init=x[:3]).fit(x)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"beta": 1}, r"beta must be greater than 1; got 1\. Values from"),
        ({"n_clusters": 13}, r"n_clusters must be at most the number of objects; got n_clusters=13 for n_samples=12"),
        ({"init": "cao"}, r"init must be one of 'auto', 'k-means\+\+', 'random'; got 'cao'"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        CatECM(**parameters).fit(load_diamond().data)


def test_runs_that_had_ended_are_gone_on_from(tmp_path):
    """A checkpoint of a loop in which all runs have ended, so that none has a state."""
    x, _ = groups(0, n=30, p=3)

    def stop(progress):
        raise KeyboardInterrupt

    model = CatECM(2, n_init=2, random_state=0, callback=stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(x, checkpoint=tmp_path / "fit.checkpoint")
    found = CatECM(2, n_init=2, random_state=0).fit(x, resume=tmp_path / "fit.checkpoint")
    np.testing.assert_array_equal(found.partition_.masses, CatECM(2, n_init=2, random_state=0).fit(x).partition_.masses)
