"""NN-EVCLUS against R: forward pass, loss, gradient, path of the descent; and properties of the estimator."""

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning

from golden import columns, load, partition
from problems import largest_rise
from softecm import NNEVCLUS, FocalSets
from softecm.algorithms.nnevclus import Compared, Detector, Loss, Network, compared, descend, start_network
from softecm.constraints import kept, sample_constraints
from softecm.datasets import make_blobs
from softecm.scores import adjusted_rand_index

FILE = load("nnevclus")
CASES = {case["id"]: case for case in FILE["cases"]}


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


def of_mode(*modes):
    return [name for name, case in CASES.items() if case["mode"] in modes]


def network(weights, order):
    """R's weights, rows of the last layer in our order of sets."""
    layers = [tensor(weights[name]) for name in ("U", "V", "W") if weights[name] is not None]
    last = torch.zeros_like(layers[-1])
    last[order] = layers[-1]
    return Network((*layers[:-1], last), tensor(weights["beta"]))


def problem(case):
    """A case's loss, its start, and the positions of R's columns among ours."""
    x = np.array(FILE["datasets"][case["data"]])
    n, indicators = len(x), np.array(case["output"]["F"])
    focal = FocalSets.of(indicators.shape[1], [tuple(np.flatnonzero(row)) for row in indicators])
    order = columns(indicators, focal)
    counted = 1.0 - np.eye(n)
    if case["J_1based"] is not None:
        counted = np.zeros((n, n))
        np.put_along_axis(counted, np.array(case["J_1based"]) - 1, 1.0, 1)
    phi = 1.0 - np.exp(np.log(0.05) * np.square(cdist(x, x) / case["d0"]))
    links = [None if case[k] is None else torch.tensor(case[k]) - 1 for k in ("must_link_1based", "cannot_link_1based")]
    labels = [None if case[k] is None else torch.tensor(case[k]) - 1 for k in ("labelled_1based", "labels_1based")]
    loss = Loss(
        tensor(x),
        Compared(torch.arange(n)[None], tensor(phi)[None], tensor(counted)[None]),
        focal,
        None if case["fhat"] is None else tensor(case["fhat"]),
        case["lambda"],
        *links,
        case["xi"],
        *labels,
        case["nu"],
    )
    return loss, network(case["weights"], order), order


@pytest.mark.parametrize("name", of_mode("loss_gradient"))
def test_masses_loss_and_gradient_meet_r(name):
    case = CASES[name]
    loss, start, order = problem(case)
    expected = partition(case["output"]["F"], case["output"]["mass"])
    np.testing.assert_allclose(start.masses(loss.x, loss.novelty), expected.masses, atol=1e-12)
    flat = start.flat.requires_grad_()
    value = loss(start.with_flat(flat))
    assert value.item() == pytest.approx(case["output"]["loss"], rel=1e-10)
    (slope,) = torch.autograd.grad(value, flat)
    wanted = network(case["output"]["gradient"], order).flat
    np.testing.assert_allclose(slope, wanted, atol=1e-10)


@pytest.mark.parametrize("name", of_mode("descent"))
def test_the_descent_takes_rs_path(name):
    case = CASES[name]
    loss, start, _ = problem(case)
    run = descend(loss, start, max_iter=case["max_iter"], tol=case["tol"])
    np.testing.assert_allclose(run.seen, case["loss_trace"], atol=1e-8)
    assert run.history[-1] == min(run.seen)
    assert run.history[-1] == pytest.approx(loss(run.network).item())
    assert largest_rise(run.history) <= 0.0


@pytest.mark.parametrize("name", of_mode("predict"))
def test_new_objects_meet_r(name):
    case = CASES[name]
    expected = partition(case["output"]["F"], case["output"]["mass"])
    net = network(case["weights"], columns(case["output"]["F"], expected.focal_sets))
    novelty = None if case["fhat"] is None else tensor(case["fhat"])
    np.testing.assert_allclose(net.masses(tensor(case["newdata"]), novelty), expected.masses, atol=1e-12)


@pytest.mark.parametrize(("n", "size"), [(10, 10), (23, 5), (7, 7), (100, 32)])
def test_groups_compare_each_object_with_its_group_once(n, size):
    x = torch.arange(float(n), dtype=torch.float64)[:, None]
    pairs, d0 = compared(n, size, lambda index: torch.cdist(x[index], x[index]), None, np.random.RandomState(0))
    seen = np.zeros((n, n))
    for index, counted in zip(pairs.rows, pairs.counted, strict=True):
        np.add.at(seen, (index[:, None].expand_as(counted).numpy(), index[None].expand_as(counted).numpy()), counted)
    assert seen.max() == 1
    assert (np.diag(seen) == 0).all()
    assert (seen == seen.T).all()
    assert (seen.sum(1) >= min(size, n) / 2).all()
    assert d0 > 0


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(120, distance=7.0, random_state=0)


@pytest.fixture(scope="module")
def fitted(blobs):
    return NNEVCLUS(3, hidden=8, n_init=2, random_state=0).fit(blobs.data[:90])


def test_finds_groups_and_places_new_objects(blobs, fitted):
    assert adjusted_rand_index(blobs.target[:90], fitted.labels_) > 0.95
    assert adjusted_rand_index(blobs.target[90:], fitted.predict(blobs.data[90:])) > 0.95
    assert largest_rise(fitted.history_) <= 0.0


def test_groups_of_objects_are_enough(blobs):
    model = NNEVCLUS(3, hidden=8, group_size=32, n_init=3, random_state=1).fit(blobs.data)
    assert adjusted_rand_index(blobs.target, model.labels_) > 0.95


def test_units_of_columns_do_not_matter_to_the_network(blobs, fitted):
    d = cdist(blobs.data[:90], blobs.data[:90])
    model = NNEVCLUS(3, hidden=8, n_init=2, random_state=0).fit(blobs.data[:90] * [1e-6, 1e6], dissimilarities=d)
    np.testing.assert_allclose(model.partition_.masses, fitted.partition_.masses, atol=1e-4)


def test_far_objects_go_to_the_empty_set_with_a_detector(blobs):
    model = NNEVCLUS(3, hidden=8, n_init=2, novelty=True, random_state=0).fit(blobs.data)
    far = model.predict_partition([[200.0, 0.0], [0.0, -300.0]])
    assert far.masses[:, 0].min() > 0.5 > np.median(model.outlier_scores_)


def test_the_detector_is_sklearns(rng):
    from sklearn.svm import OneClassSVM

    x, new = rng.normal(size=(60, 3)), rng.normal(size=(9, 3))
    found = Detector.of(x, np.random.RandomState(0))
    theirs = OneClassSVM(nu=0.05, gamma=found.gamma).fit(x).decision_function(new)
    np.testing.assert_allclose(found.scores(new) * found.scale, theirs, atol=1e-10)


def test_links_are_heeded():
    close = make_blobs(90, n_clusters=2, distance=2.0, random_state=0)
    pairs = sample_constraints(close.target, 60, random_state=0)
    plain = NNEVCLUS(2, hidden=8, n_init=2, random_state=0).fit(close.data)
    told = NNEVCLUS(2, hidden=8, n_init=2, link_weight=2.0, random_state=0).fit(close.data, **pairs._asdict())
    assert kept(told.labels_, *pairs) >= kept(plain.labels_, *pairs)
    assert kept(told.labels_, *pairs) > 0.9


@pytest.mark.filterwarnings("ignore::softecm.EmptyClusterWarning")
def test_a_network_that_diverges_says_so_and_keeps_its_best(blobs):
    with pytest.warns(ConvergenceWarning, match=r"the network has diverged.*lower learning_rate=1e\+308"):
        model = NNEVCLUS(3, learning_rate=1e308, decay=0.1, n_init=1, max_iter=20, random_state=0).fit(blobs.data)
    assert model.diverged_
    assert np.isfinite(model.partition_.masses).all()
    assert np.isfinite(model.objective_)


def test_says_when_it_has_not_converged(blobs):
    with pytest.warns(ConvergenceWarning, match=r"NNEVCLUS has not converged after 5 steps"):
        NNEVCLUS(3, max_iter=5, n_init=1, random_state=0).fit(blobs.data)


def test_starts_are_as_wide_as_one_over_the_root_of_what_comes_in():
    net = start_network((3, 8, 4), np.random.RandomState(0))
    assert [tuple(w.shape) for w in net.layers] == [(8, 4), (4, 9)]
    assert [float(w.abs().max()) <= 1 / np.sqrt(w.shape[1]) for w in net.layers] == [True, True]


def test_a_fit_goes_on_from_the_last_network():
    x = make_blobs(60, random_state=0).data
    parts = NNEVCLUS(2, hidden=4, n_init=1, max_iter=20, tol=0.0, warm_start=True, random_state=0)
    with pytest.warns(ConvergenceWarning, match="has not converged"):
        start = parts.fit(x).objective_
    with pytest.warns(ConvergenceWarning, match="has not converged"):
        end = parts.fit(x).objective_
    assert end < start
    with pytest.raises(ValueError, match=r"warm_start must be given a fit like the last, with layers of shape"):
        parts.set_params(hidden=5).fit(x)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"hidden": (0,)}, r"hidden must be a whole number of at least 1; got 0"),
        ({"hidden": ()}, r"hidden must be a whole number of at least 1; got None"),
        ({"d0": -1}, r"d0 must be greater than 0; got -1"),
        ({"group_size": 1}, r"group_size must be a whole number of at least 2; got 1"),
        ({"learning_rate": 0}, r"learning_rate must be greater than 0; got 0"),
        ({"novelty": "yes"}, r"novelty must be True or False; got 'yes'"),
        ({"n_clusters": 13}, r"n_clusters must be at most the number of objects; got n_clusters=13"),
        ({"device": "abacus"}, r"device must be 'auto', 'cpu' or a torch device"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        NNEVCLUS(**parameters).fit(np.random.default_rng(0).normal(size=(12, 2)))


def test_bad_dissimilarities():
    with pytest.raises(ValueError, match=r"dissimilarities must be 12 x 12 finite numbers of at least 0"):
        NNEVCLUS().fit(np.random.default_rng(0).normal(size=(12, 2)), dissimilarities=np.ones((3, 3)))
