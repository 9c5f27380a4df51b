"""Whether the number of clusters of a fit looks wrong, from a sample of its objects.

Two clusters without a valley between them are one group: there are fewer groups than clusters. A cluster that falls into two
parts with a valley between them is two groups: there are more. See :mod:`softecm.scores.valleys`.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from softecm.belief import CredalPartition
from softecm.distances.mixed import Mixed
from softecm.fit.model import PrototypeModel
from softecm.fit.prepare import InMemory
from softecm.scores.valleys import Floats, Geometry, groups_apart, joined_clusters
from softecm.spaces.base import Encoded
from softecm.spaces.encoded import EncodedTable

SAMPLE = 1000  # objects that are looked at
ROWS_EACH = 15  # objects of each cluster: fewer tell nothing
LEAST = 50  # objects of a cluster that may fall into two: fewer often look so
LEAST_PART = 0.1  # of a cluster's objects: a smaller part is no second group
ITERATIONS = 8  # of 2-means


def doubt_of_number(objects: InMemory[Encoded], model: PrototypeModel, partition: CredalPartition) -> str | None:
    """What makes the number of clusters look wrong, in a sentence; None where nothing does."""
    c, n = partition.n_clusters, len(objects)
    if c < 2 or n < ROWS_EACH * c:
        return None
    rows, counts = (np.arange(n), objects.counts) if n <= 2 * SAMPLE else objects.sample_rows(SAMPLE)
    x = objects.x[torch.as_tensor(rows, device=objects.device)].cpu() if n > 2 * SAMPLE else objects.x.cpu()
    labels = partition.labels()[rows]
    weights = (1.0 - partition.masses[rows, 0]) * counts
    names = partition.focal_sets.cluster_names
    far = np.asarray(model.distances(x), dtype=np.float64)[:, :c]
    geometry = Geometry(far, np.zeros((c, c)), of_means=model.metric.is_quadratic).without_itself(labels, weights)
    joined = joined_clusters(labels, geometry, weights)
    groups = int(connected_components(joined, directed=False)[0])
    if groups < c:
        a, b = np.argwhere(np.tril(joined, -1))[0]
        if groups == 1 and c > 2:
            return f"none of the {c} clusters stands apart from all others: perhaps there are no groups."
        perhaps = "perhaps there are no groups" if groups == 1 else f"perhaps {groups} groups"
        return f"{names[b]} and {names[a]} do not stand apart: {perhaps}."
    columns = _columns(x, model, labels)
    if columns is None:
        return None
    for k in range(c):
        own = labels == k
        if _falls_into_two(columns[own], weights[own]):
            return f"{names[k]} falls into two parts: perhaps {c + 1} groups."
    return None


def _columns(x: object, model: PrototypeModel, labels: NDArray[np.intp]) -> Floats | None:
    """The numbers (n, p) of vectors or of a table, in units of their spread within clusters; None for other objects."""
    if isinstance(x, Tensor) and x.ndim == 2 and not model.metric.discrete:
        numbers = x.double().numpy()
    elif isinstance(x, EncodedTable) and x.numbers.shape[1]:
        numbers = x.numbers.double().numpy()
        metric = model.metric
        if isinstance(metric, Mixed) and metric.set_aside:
            numbers = numbers[:, [name not in metric.set_aside for name in metric.names[: numbers.shape[1]]]]
    else:
        return None
    within = np.zeros(numbers.shape[1])
    for k in np.unique(labels):
        own = numbers[labels == k]
        within += ((own - own.mean(0)) ** 2).sum(0)
    usable = within > 0
    return numbers[:, usable] / np.sqrt(within[usable] / len(numbers)) if usable.any() else None


def _falls_into_two(x: Floats, weights: Floats) -> bool:
    """Whether a valley lies between the two halves that 2-means finds in a cluster's objects."""
    held = weights > 0.5
    x, weights = x[held], weights[held]
    if len(x) < LEAST:
        return False
    center = weights @ x / weights.sum()
    axis = np.linalg.svd((x - center) * np.sqrt(weights)[:, None], full_matrices=False)[2][0]
    parts = ((x - center) @ axis > 0).astype(np.intp)
    for _ in range(ITERATIONS):
        if min(np.bincount(parts, minlength=2)) < 2:
            return False
        means = np.stack([weights[parts == k] @ x[parts == k] / weights[parts == k].sum() for k in (0, 1)])
        far = ((x[:, None] - means) ** 2).sum(2)
        last, parts = parts, far.argmin(1)
        if (last == parts).all():
            break
    if (
        weights[parts == 0].sum() > (1 - LEAST_PART) * weights.sum()
        or weights[parts == 1].sum() > (1 - LEAST_PART) * weights.sum()
    ):
        return False
    geometry = Geometry(far, np.zeros((2, 2)), of_means=True).without_itself(parts, weights)
    return groups_apart(parts, geometry, weights) == 2
