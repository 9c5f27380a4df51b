"""The pictures of concepts.md and series.md, drawn when the site is built.

python docs/pictures.py    # into docs/_figures
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.cluster import KMeans

from softecm import FCM, SoftECM, plots
from softecm.datasets import make_blobs
from softecm.distances import SoftDTW

CLUSTERS = ("A", "B", "C")


def objects() -> tuple[Any, Any]:
    """Three groups, six objects between two of them, three far off (but not so far that the rest is a dot); the centres."""
    bunch = make_blobs(90, between=6, outliers=3, distance=5.5, random_state=2)
    far = bunch.target == -2
    return np.where(far[:, None], 0.55 * bunch.data, bunch.data), bunch.centers


def three_answers() -> Any:
    """The same objects as k-means, fuzzy c-means and Soft-ECM see them."""
    X, start = objects()
    soft = SoftECM(3, init=start, random_state=0).fit(X)
    fuzzy = FCM(3, beta=2.0, init=start, random_state=0).fit(X)
    hard = KMeans(3, init=start, n_init=1).fit(X)
    colors = np.array(plots.set_colors(soft.focal_sets_)[1:4])
    figure, axes = plt.subplots(1, 3, figsize=(10, 4), layout="constrained", sharex=True, sharey=True)
    axes[0].scatter(*X.T, c=colors[hard.labels_], s=40, edgecolors="white", linewidths=0.5)
    axes[0].set(title="k-means: labels")
    axes[1].scatter(*X.T, c=plots.mixed_colors(fuzzy.partition_), s=40, edgecolors="white", linewidths=0.5)
    axes[1].set(title="fuzzy c-means: shares")
    plots.map(soft.partition_, X, ax=axes[2], names=CLUSTERS, axis_names=("first number", "second number"))
    axes[2].set(title="Soft-ECM: masses on sets")
    for ax in axes:
        ax.set(xlabel="first number", ylabel="second number" if ax is axes[0] else "")
    return figure


def four_objects() -> Any:
    """The masses of an object in a group, at its edge, between two and far off."""
    X, start = objects()
    model = SoftECM(3, init=start, beta=1.5, random_state=0).fit(X)
    masses, sets = model.partition_.masses, model.focal_sets_
    sizes = np.array([len(s) for s in model.partition_.sets()])
    labels = sets.labels(CLUSTERS)
    single = np.flatnonzero(sizes == 1)
    chosen = {
        "in the middle of a group": int(single[masses[single].max(1).argmax()]),
        "at a group's edge": int(single[masses[single].max(1).argmin()]),
        "between two groups": int(np.flatnonzero(sizes > 1)[masses[sizes > 1].max(1).argmax()]),
        "far from everything": int(masses[:, 0].argmax()),
    }
    figure, axes = plt.subplots(1, 4, figsize=(10, 3), layout="constrained", sharey=True)
    for ax, (title, i) in zip(axes, chosen.items(), strict=True):
        ax.bar(labels, masses[i], color=plots.set_colors(sets))
        ax.set(title=title, xlabel="set of clusters", ylabel="mass" if ax is axes[0] else "", ylim=(0, 1))
        ax.tick_params(axis="x", rotation=45)
    return figure


def raw_and_divergence() -> Any:
    """Soft-DTW of a series with itself and with another, as gamma grows."""
    t = torch.linspace(0, 1, 40, dtype=torch.float64)
    bump = torch.exp(-((t - 0.4) ** 2) / 0.01)[None, :, None]
    other = torch.exp(-((t - 0.6) ** 2) / 0.04)[None, :, None]
    gammas = np.geomspace(0.001, 1, 25)
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
    axes[0].plot(bump[0, :, 0], label="x")
    axes[0].plot(other[0, :, 0], label="y")
    axes[0].set(title="Two series", xlabel="time step", ylabel="value")
    for ax, divergence, title in ((axes[1], False, "raw Soft-DTW"), (axes[2], True, "Soft-DTW divergence")):
        metrics = [SoftDTW(gamma=float(g), divergence=divergence) for g in gammas]
        for pair, name in ((bump, "d(x, x)"), (other, "d(x, y)")):
            ax.plot(gammas, [float(m.pairwise(bump, pair)[0, 0]) for m in metrics], label=name)
        ax.axhline(0, color="0.6", lw=0.8, zorder=0)
        ax.set(title=title, xlabel="gamma", ylabel="distance", xscale="log")
    for ax in axes:
        ax.legend()
    return figure


def shapes() -> Any:
    """One bump, two bumps or a step, at shifting times and of unequal length; the prototypes found for them."""
    rng = np.random.RandomState(0)
    series = []
    for i in range(30):
        t = np.linspace(0, 1, rng.randint(40, 57)) + rng.uniform(-0.1, 0.1)
        one = np.exp(-(((t - 0.5) / 0.1) ** 2))
        two = np.exp(-(((t - 0.3) / 0.06) ** 2)) + np.exp(-(((t - 0.7) / 0.06) ** 2))
        step = 1 / (1 + np.exp(-(t - 0.5) / 0.02))
        series.append(((one, two, step)[i % 3] + 0.08 * rng.standard_normal(len(t)))[:, None])
    model = SoftECM(3, metric=SoftDTW(gamma=0.01), alpha=3.0, random_state=0).fit(series)
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained", sharey=True)
    for k, ax in enumerate(axes):
        plots.series_prototypes(model.partition_, model.prototypes_, series, clusters=[k], ax=ax, names=CLUSTERS)
        ax.set(ylabel="value" if k == 0 else "")
    return figure


FIGURES: dict[str, Callable[[], Any]] = {
    figure.__name__: figure for figure in (three_answers, four_objects, raw_and_divergence, shapes)
}


def main(folder: Path) -> None:
    """Draw all of them."""
    folder.mkdir(exist_ok=True)
    for name, draw in FIGURES.items():
        figure = draw()
        figure.savefig(folder / f"{name}.png", dpi=130)
        plt.close(figure)


if __name__ == "__main__":
    main(Path(__file__).resolve().parent / "_figures")
