"""Every estimator for vectors can be BERTopic's ``hdbscan_model``, tested by a stand-in for BERTopic."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from softecm import ECM, FCM, SoftECM
from softecm.datasets import make_blobs


class StandIn:
    """BERTopic's use of its cluster model: truth value, ``fit(X, y=...)``, ``labels_``, ``predict``."""

    def __init__(self, hdbscan_model=None):
        self.hdbscan_model = hdbscan_model or pytest.fail("an estimator must count as true")

    def fit_transform(self, reduced, y=None):
        try:
            self.hdbscan_model.fit(reduced, y=y)
        except TypeError:
            self.hdbscan_model.fit(reduced)
        labels = self.hdbscan_model.labels_
        self.outliers = 1 if -1 in set(labels) else 0
        self.sizes = Counter(labels.tolist())
        by_size = [topic for topic, _ in self.sizes.most_common() if topic != -1]
        self.topic_of = {-1: -1, **{old: new for new, old in enumerate(by_size)}}
        return [self.topic_of[k] for k in labels], getattr(self.hdbscan_model, "probabilities_", None)

    def transform(self, reduced):
        return [self.topic_of[k] for k in self.hdbscan_model.predict(reduced)]


@pytest.mark.parametrize("kind", [SoftECM, ECM, FCM])
def test_an_estimator_serves_as_its_cluster_model(kind):
    made = make_blobs(120, n_features=5, distance=8, outliers=2, random_state=0)
    reduced = np.nan_to_num(made.data).astype(np.float32)  # like UMAP's output
    topic_model = StandIn(hdbscan_model=kind(3, random_state=0))
    topics, probabilities = topic_model.fit_transform(reduced)
    assert set(topics) == {0, 1, 2}
    assert probabilities is None
    assert topic_model.outliers == 0
    assert topic_model.transform(reduced[:120]) == topics[:120]
    assert isinstance(topic_model.hdbscan_model.partition_.sets()[-1], tuple)
