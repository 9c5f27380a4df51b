"""Numbers measured in units of their groups, where the evidence is for another shape than equal spheres.

A fit by default begins with equal spheres. :func:`suggested` looks at its groups: mostly their covariances need no other
shape, and nothing more happens. Else the shapes of :mod:`softecm.fit.group_shapes` are compared on a sample. A shape that
all groups share is a metric of its own, with which the fit is done again; where each group has its own shape, the mixture's
groups are the clusters, and :func:`own_model` adds the sets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from softecm.belief import CredalPartition, FocalSets
from softecm.distances.estimator_metrics import SetQuadratic
from softecm.fit.group_shapes import OWN, Floats, GroupShape, equal_spheres_suffice, find_shape, refined
from softecm.fit.model import PrototypeModel
from softecm.fit.prepare import InMemory
from softecm.fit.settings import Settings
from softecm.fit.stages import PAIRS, outlying, sample_size
from softecm.spaces.base import Encoded

ROWS_EACH = 20  # objects for each cluster: fewer say nothing about shapes
MOST_COLUMNS = 50  # in more, distances within groups are all alike

#: Why distances are measured so, for the user.
REASONS = {
    "raw": "the columns are taken as they are: the groups are about as wide in all of them",
    "scaled": "each column is scaled to unit spread: the groups stand out more clearly so",
    "columns": "each column is measured in units of its spread within the groups",
    "ellipse": "distances are measured in units of the spread within the groups, which are elongated alike",
    "sizes": "each group is measured in units of its own width, for their widths differ",
    "axes": "each group is measured in units of its own spread in each column",
    "ellipses": "each group is measured in units of its own spread, for they are elongated in different directions",
}


def suggested(
    columns: Sequence[Floats],
    partition: CredalPartition,
    objects: InMemory[Encoded],
    *,
    scaled: bool,
    labels_of: Callable[[Floats, Floats], NDArray[np.int64]],
) -> GroupShape | None:
    """The shape of the groups, where it is another than that of the fit which gave this partition.

    Parameters
    ----------
    columns : (n,) each, as they are
    partition, objects : by equal spheres, of columns in units of their spread (``scaled``) or as they are
    labels_of : clusters some objects by equal spheres, given columns and counts
    """
    c, n = partition.focal_sets.n_clusters, len(objects)
    if c < 2 or n < ROWS_EACH * c or not 1 < len(columns) <= MOST_COLUMNS:
        return None
    size = sample_size(c)
    rows, counts = np.arange(n), objects.counts
    if n > 2 * size:
        rows, counts = objects.sample_rows(size)
        counts = counts * (len(rows) / counts.sum())  # they are no more evidence than they are
    x = np.column_stack([column[rows] for column in columns]).astype(np.float64)
    some = CredalPartition._trusted(partition.masses[rows], partition.focal_sets)
    sizes = np.append(0, partition.focal_sets.membership.sum(1))[some.masses.argmax(1)]  # of the set of largest mass
    sure = sizes == 1  # what lies between groups or nowhere is no evidence of their shape
    every, weights = x[sizes > 0], counts[sizes > 0]
    x, counts, labels = x[sure], counts[sure], some.labels()[sure]
    spread = x.std(0)
    if len(x) < ROWS_EACH * c or not (spread > 0).all():
        return None
    if equal_spheres_suffice(x, labels, c, counts, scaled=scaled):
        return None
    others = labels_of(x / (1.0 if scaled else spread), counts)
    shape = find_shape(x, [labels, others], c, scaled=scaled, counts=counts)
    if shape.shape in OWN:
        shape = refined(shape, every, weights)
    return None if shape.shape == ("scaled" if scaled else "raw") else shape


def own_model(objects: InMemory[torch.Tensor], shape: GroupShape, chosen: Settings) -> PrototypeModel:
    r"""The clusters of a mixture whose groups have their own covariances, with the sets they make.

    A cluster's distance is minus twice its log-likelihood up to a constant,
    :math:`d_k(x) = (x - v_k)^\top \Sigma_k^{-1} (x - v_k) + \log|\Sigma_k|`, shifted so that the least offset is 0. A set
    has the mean of its clusters' centres, of their covariances, and of their offsets.
    """
    c = chosen.n_clusters
    order = np.lexsort(shape.centers.T[::-1])  # numbered by where they are, the first coordinate first
    shape = replace(shape, centers=shape.centers[order], covariances=shape.covariances[order])
    singles = _model(objects, shape, chosen, FocalSets.up_to(c, 1), None)
    focal, delta = chosen.focal, chosen.delta
    if chosen.finds_sets:
        focal = _neighbours(singles, objects.second_nearest(singles))
    if chosen.finds_delta:
        delta = outlying(*objects.nearest_spread(singles), singles.metric, objects.space)
    return _model(objects, shape, chosen, focal, delta)


def _neighbours(singles: PrototypeModel, held: Floats) -> FocalSets:
    """Each cluster, and the pairs whose middle is nearer to both than to any other cluster; ``held`` lie between two."""
    c, centers = len(singles.prototypes), singles.prototypes
    middles = (centers[:, None] + centers) / 2
    d = singles.distances(middles.reshape(c * c, -1)).reshape(c, c, c)
    pairs = [
        (a, b)
        for a in range(c)
        for b in range(a + 1, c)
        if held[a, b] > 0 and (np.delete(d[a, b], [a, b]) > d[a, b, [a, b]].max()).all()
    ]
    most = sorted(pairs, key=lambda pair: -held[pair])[: PAIRS * c]
    return FocalSets.of(c, [*((k,) for k in range(c)), *sorted(most)])


def _model(
    objects: InMemory[torch.Tensor], shape: GroupShape, chosen: Settings, focal: FocalSets, delta: float | None
) -> PrototypeModel:
    shares = focal.shares  # (f, c)
    p = shape.centers.shape[1]
    covariances = np.einsum("fc,cpq->fpq", shares, shape.covariances)
    volumes = np.linalg.slogdet(shape.covariances)[1]
    offsets = np.repeat((shares @ (volumes - volumes.min()) / p)[:, None], p, axis=1)
    tensors = [torch.tensor(part) for part in (np.ones(len(focal)), offsets, np.linalg.inv(covariances))]
    return PrototypeModel(
        SetQuadratic(*tensors),
        objects.space,
        focal,
        torch.tensor(shares @ shape.centers),
        chosen.alpha,
        chosen.beta,
        delta,
        0.0,
    )
