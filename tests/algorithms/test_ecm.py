"""ECM against the numbers of R evclust."""

import numpy as np
import pytest
import torch

from golden import columns, load
from pure import soft_ecm
from softecm import ECM, FocalSets
from softecm.datasets import load_diamond
from softecm.distances import SquaredEuclidean
from softecm.objective.equations import mass_cost, masses_of, update_masses

FILES = ("ecm_butterfly", "ecm_iris", "ecm_fourclass")


def cases(mode):
    """The cases of one mode in all files."""
    for name in FILES:
        data = load(name)
        for case in data["cases"]:
            if case["mode"] == mode:
                yield case, np.array(data["datasets"][case["data"]], dtype=float)


def focal_of(case):
    rows = np.array(case["output"]["F"])
    return FocalSets.of(case["c"], [tuple(np.flatnonzero(row).tolist()) for row in rows[1:]])


def test_fixed_points_are_met():
    seen = 0
    for case, X in cases("fixed_point"):
        focal = focal_of(case)
        ecm = ECM(
            case["c"], alpha=case["alpha"], beta=case["beta"], delta=case["delta"], focal_sets=focal,
            init=case["g0"], tol=1e-14, max_iter=3000,
        ).fit(X)  # fmt: skip
        out = case["output"]
        mass = ecm.partition_.masses[:, columns(out["F"], focal)]
        np.testing.assert_allclose(mass, out["mass"], atol=1e-9, err_msg=case["id"])
        np.testing.assert_allclose(ecm.cluster_centers_, out["g"], atol=1e-9, err_msg=case["id"])
        assert ecm.objective_ == pytest.approx(out["crit"], rel=1e-9)
        assert ecm.partition_.nonspecificity(empty=True) == pytest.approx(out["N"], abs=1e-9)
        seen += 1
    assert seen >= 10


@pytest.mark.parametrize("mode", ["one_step", "default"])
def test_a_given_number_of_rounds_is_met(mode):
    seen = 0
    for case, X in cases(mode):
        focal, out, x = focal_of(case), case["output"], torch.from_numpy(X)
        parameters = {"alpha": case["alpha"], "beta": case["beta"], "delta": case["delta"]}
        start = torch.tensor(case["g0"], dtype=torch.float64)[None]
        run = soft_ecm(
            x, SquaredEuclidean(), focal, start, relaxation="exact", tol=0, max_iter=case["iterations"], **parameters
        )
        # evclust pairs the masses of the old centres with the new centres.
        np.testing.assert_allclose(run.history[0][: case["iterations"]], case["J_trace"], rtol=1e-9)
        np.testing.assert_allclose(run.prototypes[0, : case["c"]], out["g"], atol=1e-9, err_msg=case["id"])
        before = soft_ecm(
            x,
            SquaredEuclidean(),
            focal,
            start,
            relaxation="exact",
            tol=0,
            max_iter=case["iterations"] - 1,
            **parameters,
        )
        masses = masses_of(SquaredEuclidean(), x, before.prototypes[0], mass_cost(focal, like=x, **parameters))
        np.testing.assert_allclose(masses[:, columns(out["F"], focal)], out["mass"], atol=1e-9, err_msg=case["id"])
        seen += 1
    assert seen >= 4


def test_predictions_are_met():
    data = load("ecm_predict")
    for case in data["cases"]:
        rows = np.array(case["F"])
        focal = FocalSets.of(rows.shape[1], [tuple(np.flatnonzero(row).tolist()) for row in rows[1:]])
        g = torch.tensor(case["g"], dtype=torch.float64)
        v = torch.tensor(focal.membership / focal.cardinalities[:, None]) @ g
        d = SquaredEuclidean().pairwise(torch.tensor(case["newdata"], dtype=torch.float64), v)
        masses = update_masses(d, focal, case["alpha"], case["beta"], case["delta"])
        np.testing.assert_allclose(masses[:, columns(rows, focal)], case["output"]["mass"], atol=1e-8)


def test_the_published_reference_values_of_the_diamond():
    X = load_diamond().data
    ecm = ECM(2, delta=5.0, init=X[[2, 8]] + 0.1, tol=1e-12, max_iter=2000).fit(X)
    assert ecm.objective_ == pytest.approx(35.1600058, abs=1e-7)
    assert ecm.partition_.nonspecificity(empty=True) == pytest.approx(0.2939835, abs=1e-7)
    np.testing.assert_allclose(ecm.cluster_centers_, [[-3.526844, 0.005658], [3.636535, 0.068879]], atol=1e-6)
    assert ecm.partition_.masses[5, 3] == pytest.approx(0.998279, abs=1e-6)
    assert ecm.partition_.masses[11, 0] == pytest.approx(0.751223, abs=1e-6)


def test_the_published_reference_values_of_iris():
    from sklearn.datasets import load_iris

    X = load_iris().data
    ecm = ECM(3, delta=10.0, focal_sets="full", init=X[[0, 59, 119]] + 0.01, tol=1e-12, max_iter=5000).fit(X)
    assert ecm.objective_ == pytest.approx(38.9643729, abs=1e-6)
    assert ecm.partition_.masses[:, 0].mean() == pytest.approx(0.00259762, abs=1e-7)
