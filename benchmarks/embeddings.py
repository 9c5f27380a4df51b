"""Generated text embeddings: recovery of topics, of texts on two topics and on none in 384 columns.

``python benchmarks/embeddings.py`` draws unit vectors around topics, some midway between two topics, some around none,
and writes means over five draws to docs/measured/embeddings.md; ``python benchmarks/embeddings.py DRAW ...`` prints
only those draws. The settings of the table were chosen on draws 0 and 1.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from softecm import CredalPartition, SoftECM

WRITTEN = Path(__file__).resolve().parents[1] / "docs" / "measured" / "embeddings.md"
DRAWS = (100, 101, 102, 103, 104)
COLUMNS, TOPICS = 384, 20
ON_ONE, ON_TWO, ON_NONE = 3000, 150, 60
Floats, Ints = NDArray[np.float32], NDArray[np.intp]


class Texts(NamedTuple):
    """Embeddings: those on one topic, then those on two, then those on none."""

    X: Floats
    topic: Ints  # of the first
    pairs: Ints  # of the second


def unit(x: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths: NDArray[np.float64] = np.linalg.norm(x, axis=-1, keepdims=True)
    return x / lengths


def draw(seed: int, inside: float = 0.5) -> Texts:
    """Draw texts: on one topic they have a cosine of about `inside`, on different topics of about a seventh of that."""
    rng = np.random.default_rng(seed)
    common = unit(rng.normal(size=COLUMNS))
    topics = unit(unit(rng.normal(size=(TOPICS, COLUMNS))) + 0.4 * common)
    topic = rng.integers(TOPICS, size=ON_ONE)
    pairs = np.array([rng.choice(TOPICS, 2, replace=False) for _ in range(ON_TWO)])
    meant = np.concatenate([topics[topic], unit(topics[pairs].sum(1)), np.zeros((ON_NONE, COLUMNS))])
    noise = unit(rng.normal(size=meant.shape))
    X = unit(np.sqrt(inside) * meant + np.sqrt(1 - inside) * noise)
    return Texts(X.astype(np.float32), topic, pairs)


def soft(X: Floats, **options: object) -> CredalPartition:
    return SoftECM(TOPICS, metric="sqeuclidean", random_state=0, **options).fit(X).partition_


def hard(labels: Ints) -> CredalPartition:
    return CredalPartition.from_hard(labels)


def fewer(texts: Texts, columns: int) -> Floats:
    reduced: Floats = PCA(columns, random_state=0).fit_transform(texts.X)
    return reduced


WAYS = {
    "`KMeans(20, n_init=10)`": lambda t: hard(KMeans(TOPICS, n_init=10, random_state=0).fit_predict(t.X)),
    "`HDBSCAN(15)` after `PCA(5)`": lambda t: hard(HDBSCAN(15).fit_predict(fewer(t, 5))),
    "`SoftECM(20)` after `PCA(50)`": lambda t: soft(fewer(t, 50)),
    "the same, `alpha=0.25`, after `PCA(50)`": lambda t: soft(fewer(t, 50), alpha=0.25),
    "the same, `max_cardinality=2`, after `PCA(50)`": lambda t: soft(fewer(t, 50), alpha=0.25, max_cardinality=2),
}


def judged(partition: CredalPartition, texts: Texts) -> tuple[float, ...]:
    """Return the adjusted Rand index of texts on one topic; recall and precision of those on two, and on none."""
    labels, sets = partition.labels()[:ON_ONE], partition.sets()
    stands_for = {k: int(np.bincount(texts.topic[labels == k]).argmax()) for k in np.unique(labels).tolist()}
    said = [{stands_for.get(k, -1) for k in one} for one in sets]
    size = np.array([len(one) for one in sets])
    two, none = slice(ON_ONE, ON_ONE + ON_TWO), slice(ON_ONE + ON_TWO, None)
    right = sum(one == set(pair) for one, pair in zip(said[two], texts.pairs.tolist(), strict=True))
    far = (size[none] == 0).sum()
    return (
        adjusted_rand_score(texts.topic, np.where(size[:ON_ONE] == 0, -1, labels)),
        right / ON_TWO,
        right / max((size > 1).sum(), 1),
        far / ON_NONE,
        far / max((size == 0).sum(), 1),
        (size[:ON_ONE] == 0).mean(),
    )


def measured(seed: int) -> dict[str, tuple[float, ...]]:
    texts, rows = draw(seed), {}
    for name, way in WAYS.items():
        begin = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # merged prototypes are visible in the numbers
            partition = way(texts)
        rows[name] = (*judged(partition, texts), time.process_time() - begin)
        print(f"draw {seed}: {name:50} " + " ".join(f"{value:.2f}" for value in rows[name]), flush=True)
    return rows


def main(draws: list[int]) -> None:
    found = [measured(seed) for seed in draws or DRAWS]
    if draws:
        return
    head = "| | adjusted Rand | on two topics: found / right | on none: found / right | on one, called nowhere |"
    lines = [head, "|---|---|---|---|---|"]
    for name in WAYS:
        ari, two, two_right, none, none_right, lost, _ = np.mean([rows[name] for rows in found], axis=0)
        lines.append(
            f"| {name} | {ari:.2f} | {two:.2f} / {two_right:.2f} | {none:.2f} / {none_right:.2f} | {lost:.2f} |"
        )
    WRITTEN.write_text("\n".join(lines) + "\n\nMade by `python benchmarks/embeddings.py`.\n", encoding="utf-8")


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]])
