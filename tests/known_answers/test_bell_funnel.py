"""The paper's second experiment on series: series with both a bell and a funnel are between the two."""

import numpy as np
import pytest

from softecm import SoftECM
from softecm.datasets import make_bell_funnel_mixture
from softecm.distances import SoftDTW
from softecm.series import SeriesScaler

EACH = 20


@pytest.mark.parametrize("seed", range(3))
def test_mixtures_go_to_the_pair_and_pure_series_to_one_cluster(seed):
    data = make_bell_funnel_mixture(EACH, length=64, noise=0.5, random_state=seed)
    options = {"alpha": 0, "delta": None, "init": "k-means++", "tol": 1e-2, "dtype": "float32"}
    model = SoftECM.as_in_paper(2, metric=SoftDTW(gamma=10.0), random_state=seed, **options)
    model.fit(SeriesScaler().fit_transform(data.data))
    sizes = np.array([len(chosen) for chosen in model.partition_.sets()])
    assert (sizes[data.target == 2] == 2).mean() >= 0.8
    assert (sizes[data.target < 2] == 1).mean() >= 0.8
    of_bells, of_funnels = (np.bincount(model.labels_[data.target == kind], minlength=2).argmax() for kind in (0, 1))
    assert of_bells != of_funnels  # and not all of them to the same one
