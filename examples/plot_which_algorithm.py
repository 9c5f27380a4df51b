"""
Which algorithm? A comparison on three data sets
================================================

Evidential algorithms on three sets of points: the paper's Diamond (two groups, one object between, one outlier), three
round groups with objects between them and outliers, and two long groups side by side.

A point has its cluster's colour if most of its mass is there, a ring and a mixed colour if most of it is on a set of
clusters, and is a black cross if most of it is on the empty set. The algorithms for dissimilarities (RECM, ECMdd, EVCLUS,
CEVCLUS) get only the distances between the points, and CatECM only the fifth of each axis in which a point lies; CECM and
CEVCLUS get some links (lines: must-links solid, cannot-links dotted). EKNNClus finds the number of clusters itself.

Long groups need an adaptive metric (ECM+; an option of CECM and BPEC) or a covariance (EGMM); FCM has neither sets nor
outliers; CCM and BCM penalize the set of two distant clusters more than ECM does; categories lose the order of the axes.
"""

import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import pdist, squareform

from softecm import (
    BCM,
    BPEC,
    CCM,
    CECM,
    CEVCLUS,
    ECM,
    EGMM,
    EVCLUS,
    FCM,
    NNEVCLUS,
    RECM,
    CatECM,
    ECMdd,
    ECMPlus,
    EKNNClus,
    SoftECM,
)
from softecm.constraints import sample_constraints
from softecm.datasets import load_diamond, make_blobs

# %%
# Three data sets
# ---------------
rng = np.random.default_rng(3)
diamond = load_diamond()
blobs = make_blobs(120, n_clusters=3, between=9, random_state=1)
round_groups = np.concatenate([blobs.data, [[9, 6], [-7, 7], [8, -7]]])  # and three outliers
long_groups = np.concatenate([rng.normal(size=(60, 2)) * [7, 0.4], rng.normal(size=(60, 2)) * [7, 0.4] + [0, 4]])
DATA = {
    "Diamond": (diamond.data, diamond.target, 2),
    "round groups": (round_groups, np.r_[blobs.target, -2, -2, -2], 3),
    "long groups": (long_groups, np.repeat([0, 1], 60), 2),
}


# %%
# The algorithms
# --------------
# Each has its own defaults; on the Diamond delta is 5, as in the literature, because twelve objects are too few to estimate
# it.
def delta(X):
    return 5.0 if len(X) == 12 else "auto"


def distances(X):
    return squareform(pdist(X))


def fifths(X):
    cuts = [np.quantile(column, [0.2, 0.4, 0.6, 0.8]) for column in X.T]
    return np.column_stack([np.searchsorted(cut, column) for cut, column in zip(cuts, X.T, strict=True)]).astype(str)


def links(y):
    return sample_constraints(y, min(len(y) // 2, 12), random_state=0)


def of_squares(delta):
    """Delta where the objective has plain distances instead of squared ones."""
    return delta if delta == "auto" else np.sqrt(delta)


ALGORITHMS = {
    "SoftECM": lambda X, y, c: SoftECM(c, relaxation="gap", delta=delta(X), random_state=0).fit(X),
    "ECM": lambda X, y, c: ECM(c, delta=delta(X), random_state=0).fit(X),
    "FCM": lambda X, y, c: FCM(c, random_state=0).fit(X),
    "ECMPlus": lambda X, y, c: ECMPlus(c, delta=delta(X), random_state=0).fit(X),
    "CCM": lambda X, y, c: CCM(c, delta=delta(X), random_state=0).fit(X),
    "BCM": lambda X, y, c: BCM(c, delta=delta(X), random_state=0).fit(X),
    "CECM": lambda X, y, c: CECM(c, xi=0.9, delta=delta(X), random_state=0).fit(X, **links(y)._asdict()),
    "BPEC": lambda X, y, c: BPEC(c, delta=delta(X)).fit(X),
    "EKNNClus": lambda X, y, c: EKNNClus(random_state=0).fit(X),
    "EGMM": lambda X, y, c: EGMM(c, random_state=0).fit(X),
    "NNEVCLUS": lambda X, y, c: NNEVCLUS(c, novelty=True, random_state=0).fit(X),
    "RECM": lambda X, y, c: RECM(c, delta=delta(X), random_state=0).fit(distances(X)),
    "ECMdd": lambda X, y, c: ECMdd(c, delta=of_squares(delta(X)), random_state=0).fit(distances(X)),
    "EVCLUS": lambda X, y, c: EVCLUS(c, random_state=0).fit(distances(X)),
    "CEVCLUS": lambda X, y, c: CEVCLUS(c, random_state=0).fit(distances(X), **links(y)._asdict()),
    "CatECM": lambda X, y, c: CatECM(c, random_state=0).fit(fifths(X)),
}

# %%
# One figure
# ----------
ACROSS = 6
# Safe for colour blindness; EKNNClus may find more groups than there are.
COLOURS = np.array(
    [
        [0.00, 0.45, 0.70],
        [0.90, 0.40, 0.00],
        [0.00, 0.60, 0.40],
        [0.80, 0.60, 0.70],
        [0.95, 0.90, 0.25],
        [0.35, 0.70, 0.90],
    ]
)


def draw(ax, X, partition):
    """Points in the colour of the set that holds most of their mass, clusters numbered from left to right."""
    labels = partition.labels()
    middles = [X[labels == k].mean(0) if (labels == k).any() else [np.inf] * 2 for k in range(partition.n_clusters)]
    place = np.argsort(np.lexsort(np.transpose(middles)))  # by height, then from left to right
    for members in {*partition.sets()}:
        here = np.array([found == members for found in partition.sets()])
        if not members:
            ax.scatter(*X[here].T, marker="x", c="black", s=22, linewidths=1.2)
            continue
        colour = COLOURS[place[list(members)] % len(COLOURS)].mean(0)
        edge = "none" if len(members) == 1 else "black"
        ax.scatter(*X[here].T, color=colour, edgecolor=edge, linewidths=0.8, s=18 if len(members) == 1 else 30)


def main() -> Path:
    """Fit everything, draw it, save it."""
    names = list(ALGORITHMS)
    blocks = -(-len(names) // ACROSS)
    figure, axes = plt.subplots(3 * blocks, ACROSS, figsize=(15.6, 6.7 * blocks), layout="constrained")
    for ax in axes[-3:, (len(names) - 1) % ACROSS + 1 :].ravel():
        ax.axis("off")
    for number, name in enumerate(names):
        for row, (title, (X, y, c)) in enumerate(DATA.items()):
            ax = axes[3 * (number // ACROSS) + row, number % ACROSS]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # long groups merge or don't converge in algorithms not made for them
                model = ALGORITHMS[name](X, y, c)
            if name in ("CECM", "CEVCLUS"):
                for pairs, style in zip(links(y), ("-", ":"), strict=True):
                    for i, j in pairs:
                        ax.plot(*X[[i, j]].T, style, color="0.6", linewidth=0.8, zorder=0)
            draw(ax, X, model.partition_)
            ax.tick_params(labelsize=6)
            if row == 0:
                ax.set_title(name, fontweight="bold")
            if number % ACROSS == 0:
                ax.set_ylabel(f"{title}\nsecond coordinate", fontsize=8)
            if row == 2:
                ax.set_xlabel("first coordinate", fontsize=8)
    figure.suptitle("Colour: cluster with most mass. Ringed, mixed colour: a set of clusters. Cross: the empty set.")
    target = Path("out") / "which_algorithm.png"
    target.parent.mkdir(exist_ok=True)
    figure.savefig(target, dpi=110)
    return target


if __name__ == "__main__":
    print(main())
