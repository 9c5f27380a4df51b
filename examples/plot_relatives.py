"""
The newer algorithms: one picture each
======================================

Six algorithms of the family, each on data for which it was made.

- **EGMM**: two long Gaussian groups and some objects midway, which have most of their mass on the pair.
- **EKNNClus**: two half moons. The number of groups is not given, and no centre could represent either of them.
- **NNEVCLUS**: a network learns masses from the distances of some objects and predicts them for the whole plane.
- **MECMdd**: two dissimilarity matrices of the same objects, one of them noise, which gets a small weight.
- **TECM**: nine noisy objects of three groups, and the centres of an earlier data set.
- **WMVEC**: three tables of the same objects, with weights for the views and their columns.

A point has its cluster's colour, a ring and a mixed colour where most of its mass is on a set of clusters.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import make_moons

from softecm import ECM, EGMM, NNEVCLUS, TECM, WMVEC, EKNNClus, MECMdd
from softecm.datasets import make_blobs

COLOURS = np.array([[0.00, 0.45, 0.70], [0.90, 0.40, 0.00], [0.00, 0.60, 0.40], [0.80, 0.60, 0.70]])
PLANE = {"xlabel": "first coordinate", "ylabel": "second coordinate"}


def draw(ax, X, partition, size=22):
    """Draw points in the colour of the set with most of their mass."""
    for members in {*partition.sets()}:
        here = np.array([found == members for found in partition.sets()])
        if not members:
            ax.scatter(*X[here].T, marker="x", c="black", s=size, linewidths=1.2)
            continue
        edge = "none" if len(members) == 1 else "black"
        colour = COLOURS[np.array(members) % len(COLOURS)].mean(0)
        ax.scatter(*X[here].T, color=colour, edgecolor=edge, linewidths=0.8, s=size)
    ax.set(**PLANE)


# %%
# Groups with objects between them
# --------------------------------
def overlap(ax):
    rng = np.random.default_rng(1)
    long = rng.normal(size=(270, 2)) @ np.array([[1.0, 0.0], [0.9, 0.7]])
    X = long + np.repeat([[0.0, 0.0], [6.0, 0.0], [3.0, 0.0]], [120, 120, 30], axis=0)
    model = EGMM("auto", max_cardinality=2, random_state=0).fit(X)
    draw(ax, X, model.partition_)
    values = ", ".join(f"{c}: {value:.0f}" for c, value in list(model.criteria_.items())[:3])
    ax.set_title(f"EGMM: {model.n_clusters_} groups by its criterion\n({values})", fontsize=10)


# %%
# Groups of any shape
# -------------------
def moons(ax):
    X = make_moons(500, noise=0.07, random_state=3)[0]
    model = EKNNClus(random_state=0).fit(X)
    draw(ax, X, model.partition_, 14)
    ax.set_title(f"EKNNClus: {model.n_clusters_} groups found", fontsize=10)


# %%
# A network for the whole plane
# -----------------------------
def plane(ax):
    X = make_blobs(240, distance=6.0, random_state=0).data
    model = NNEVCLUS(3, random_state=0).fit(X)
    low, high = X.min(0) - 1.5, X.max(0) + 1.5
    first, second = np.meshgrid(np.linspace(low[0], high[0], 160), np.linspace(low[1], high[1], 160))
    everywhere = model.predict_partition(np.c_[first.ravel(), second.ravel()])
    colours = everywhere.pignistic() @ COLOURS[:3]
    ax.imshow(
        0.5 + 0.5 * colours.reshape(160, 160, 3),
        origin="lower",
        extent=(low[0], high[0], low[1], high[1]),
        aspect="auto",
    )
    draw(ax, X, model.partition_, 14)
    ax.set_title("NNEVCLUS: learned from 240 objects,\nasked about 25 600 places", fontsize=10)


# %%
# Two ways to compare the same objects
# ------------------------------------
def matrices(ax):
    made = make_blobs(90, distance=6.0, random_state=2)
    noise = np.random.default_rng(0).normal(scale=3.0, size=(90, 3))
    views = {"shape": squareform(pdist(made.data)), "noise": squareform(pdist(noise))}
    model = MECMdd(3, random_state=0).fit(views)
    draw(ax, made.data, model.partition_)
    ax.scatter(*made.data[model.medoids_[:3]].T, marker="*", s=160, c="white", edgecolors="black", label="medoids")
    ax.legend(fontsize=8)
    said = ", ".join(f"{name} {weight:.2f}" for name, weight in model.view_weights_.items())
    ax.set_title(f"MECMdd: weights of the matrices\n{said}", fontsize=10)


# %%
# Few objects, and what is known from many
# ----------------------------------------
def few(ax):
    rng = np.random.default_rng(5)
    places = np.array([[0.0, 0.0], [5.0, 0.0], [2.5, 4.5]])
    many = places[rng.integers(0, 3, 300)] + rng.normal(size=(300, 2))
    X = (places + 0.5)[np.arange(9) % 3] + 1.4 * rng.normal(size=(9, 2))
    known = ECM(3, random_state=0).fit(many).cluster_centers_
    alone = ECM(3, init=known, delta=6.0, max_cardinality=2, max_iter=1000).fit(X)
    model = TECM(3, source=known, transfer=0.5, delta=6.0, max_cardinality=2, max_iter=1000).fit(X)
    draw(ax, X, model.partition_, 50)
    for centers, mark, name in (
        (known, "s", "source"),
        (alone.cluster_centers_, "^", "ECM alone"),
        (model.cluster_centers_, "*", "TECM"),
    ):
        ax.scatter(*centers.T, marker=mark, s=90, facecolors="none", edgecolors="black", label=f"centres, {name}")
    ax.legend(fontsize=7)
    ax.set_title("TECM: nine objects that lean\non the centres of 300 others", fontsize=10)


# %%
# Several tables of the same objects
# ----------------------------------
def tables(ax):
    rng = np.random.default_rng(0)
    group = np.arange(120) % 3
    views = {
        "shape": rng.normal(size=(120, 3)) + 5 * np.c_[group == 1, group == 2, group < 0],
        "colour": rng.normal(size=(120, 2)) + 4 * np.c_[group, 0 * group],
        "noise": rng.normal(size=(120, 2)),
    }
    model = WMVEC(3, features=True, random_state=0).fit(views)
    names, heights, colours = [], [], []
    for k, (view, weight) in enumerate(model.view_weights_.items()):
        for q, part in enumerate(model.feature_weights_[view]):
            names.append(f"{view} {q + 1}")
            heights.append(weight * part)
            colours.append(COLOURS[k])
    ax.bar(names, heights, color=colours)
    ax.set(xlabel="view and column", ylabel="weight of the view × of the column")
    ax.tick_params(axis="x", rotation=45, labelsize=8)
    said = ", ".join(f"{name} {weight:.2f}" for name, weight in model.view_weights_.items())
    ax.set_title(f"WMVEC: weights of the views\n{said}", fontsize=10)


def main() -> Path:
    """Fit everything, draw it, save it."""
    figure, axes = plt.subplots(2, 3, figsize=(13, 8.4), layout="constrained")
    for ax, panel in zip(axes.ravel(), (overlap, moons, plane, matrices, few, tables), strict=True):
        panel(ax)
    figure.suptitle("Colour: cluster with most mass. Ringed, mixed colour: a set of clusters. Cross: the empty set.")
    target = Path("out") / "relatives.png"
    target.parent.mkdir(exist_ok=True)
    figure.savefig(target, dpi=110)
    return target


if __name__ == "__main__":
    print(main())
