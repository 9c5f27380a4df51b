"""Elastic distances at random settings: the plain recursion's numbers, or finite ones, and no access out of bounds."""

import numpy as np
import pytest
import torch

from hostile.outcomes import assert_sound
from problems import DEEP
from references import elastic as reference
from softecm import SoftECM
from softecm.distances import ADTW, ERP, MSM, TWE, WDTW, SoftMSM, SoftTWE

MANY = 300 if DEEP else 25


def drawn(rng):
    """A metric with random parameters, and its plain recursion between two series."""
    gamma = float(10 ** rng.uniform(-4, 2)) if rng.random() < 0.7 else 0.0
    price = float(rng.choice([0.0, 10 ** rng.uniform(-3, 3)]))
    band = int(rng.integers(1, 6)) if rng.random() < 0.4 else None
    options = {"band": band}
    soft = {**options, "gamma": gamma, "divergence": False}
    kind = rng.choice(["msm", "twe", "adtw", "wdtw", "erp"])
    if kind == "msm":
        metric = SoftMSM(price, **soft) if gamma else MSM(price, **options)
    elif kind == "twe":
        metric = SoftTWE(price / 10, price, **soft) if gamma else TWE(price / 10, price, **options)
        return metric, lambda x, y: reference.twe(x, y, price / 10, price, gamma, band)
    else:
        metric = {"adtw": ADTW, "wdtw": WDTW, "erp": ERP}[kind](price, **soft)
    return metric, lambda x, y: getattr(reference, kind)(x, y, price, gamma, band)


@pytest.mark.parametrize("seed", range(MANY))
def test_random_settings_give_the_plain_recursions_numbers(seed, hostile_case):
    hostile_case()
    rng = np.random.default_rng(seed)
    metric, plain = drawn(rng)
    n, m, d = rng.integers(2, 7), rng.integers(2, 7), rng.integers(1, 3)
    size = float(10 ** rng.uniform(-3, 3))
    x, y = (
        size * torch.tensor(rng.integers(-3, 4, (1, k, d)), dtype=torch.float64) for k in (n, m)
    )  # ties, equal steps
    wanted = float(plain(x[0], y[0]))
    gamma = float(getattr(metric, "gamma", 0.0))
    assert float(metric.pairwise(x, y)) == pytest.approx(wanted, rel=1e-9, abs=1e-9 * max(gamma, 1.0))


@pytest.mark.parametrize("scale", [1e-150, 1e-12, 1e12, 1e100])
@pytest.mark.parametrize(
    "metric", [SoftMSM(), MSM(), SoftTWE(), ADTW(gamma=1.0), WDTW(), ERP(gamma=0.3)], ids=lambda m: m.name
)
def test_values_of_any_size_stay_numbers(metric, scale, hostile_case, rng):
    hostile_case()
    x = scale * torch.tensor(rng.normal(size=(4, 12, 2)))
    v = (scale * torch.tensor(rng.normal(size=(2, 10, 2)))).requires_grad_()
    d = metric.pairwise(x, v)
    d.sum().backward()
    assert torch.isfinite(d).all()
    assert (d >= 0).all()
    assert torch.isfinite(v.grad).all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "metric", [SoftMSM(), ERP(), ADTW(znormalise=True), TWE(derivative=True)], ids=lambda m: m.name
)
def test_equal_and_constant_series_end_in_masses(metric, hostile_case):
    hostile_case()
    X = np.concatenate([np.zeros((3, 8, 1)), np.ones((3, 8, 1)), np.tile(np.arange(8.0)[:, None], (3, 1, 1))])
    model = SoftECM(2, metric=metric, n_init=1, random_state=0, max_iter=20).fit(X)
    assert_sound(model.partition_.masses)
