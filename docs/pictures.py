"""The pictures of the pages, stored in docs/figures so that the pages can be read as files.

python docs/pictures.py [NAME ...]    # all, or these
"""

from __future__ import annotations

import contextlib
import io
import runpy
import sys
import tempfile
import warnings
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

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from smaller import smaller  # noqa: E402

from snippets import run_python, snippets  # noqa: E402

CLUSTERS = ("A", "B", "C")
PLANE = ("first number", "second number")


def front() -> Any:
    """Draw the summary: groups, an object between two of them, an outlier."""
    rng = np.random.default_rng(4)
    groups = np.concatenate(
        [middle + np.clip(rng.normal(0, 0.7, (45, 2)), -1.5, 1.5) for middle in ((0, 0), (7, 0), (3.5, 6))]
    )
    X = np.concatenate([groups, [[3.5, 0.05], [9.5, 5.8]]])
    partition = SoftECM(3, random_state=0).fit(X).partition_
    colors, label = plots.set_colors(partition.focal_sets), partition.labels()
    figure, ax = plt.subplots(figsize=(8.4, 5.2), layout="constrained")
    between, nowhere = len(X) - 2, len(X) - 1
    ax.scatter(*X[:between].T, c=[colors[k + 1] for k in label[:between]], s=46, edgecolors="white", linewidths=0.6)
    ax.scatter(*X[between], c=[plots.mixed_colors(partition)[between]], s=170, marker="D", edgecolors="black", zorder=3)
    ax.scatter(*X[nowhere], c="black", s=150, marker="X", zorder=3)
    for k, middle in enumerate(((0, 0), (7, 0), (3.5, 6))):
        name = CLUSTERS[label[45 * k]]
        ax.text(
            middle[0],
            middle[1] + 2.1,
            f"clearly in group {name}",
            ha="center",
            color=colors[label[45 * k] + 1],
            size=14,
        )
    said = partition.decisions()
    pair = " and ".join(CLUSTERS[k] for k in said.sets[between])
    words = (
        (between, f"{said.words[between]} {pair}:\nthe data don't say which", (3.5, -2.3)),
        (nowhere, f"{said.words[nowhere]}:\nbelongs to no group", (9.6, 4.0)),
    )
    for i, text, place in words:
        ax.annotate(
            text,
            X[i],
            place,
            ha="center",
            va="center",
            size=14,
            arrowprops={"arrowstyle": "->", "lw": 1.4, "shrinkB": 9},
        )
    ax.set(xlim=(-2.6, 12.2), ylim=(-3.3, 8.8), aspect="equal", xticks=[], yticks=[], xlabel=PLANE[0], ylabel=PLANE[1])
    return figure


def objects() -> tuple[Any, Any]:
    """Return three groups, six objects between two of them, three moderate outliers; and the centres."""
    bunch = make_blobs(90, between=6, outliers=3, distance=5.5, random_state=2)
    far = bunch.target == -2
    return np.where(far[:, None], 0.55 * bunch.data, bunch.data), bunch.centers


def three_answers() -> Any:
    """Draw the same objects by k-means, fuzzy c-means and Soft-ECM."""
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
    plots.map(soft.partition_, X, ax=axes[2], names=CLUSTERS, axis_names=PLANE)
    axes[2].get_legend().set_loc("center")
    axes[2].get_legend().set_bbox_to_anchor((0.5, 0.7))  # below the farthest object
    axes[2].set(title="Soft-ECM: masses on sets")
    for ax in axes:
        ax.set(xlabel="first number", ylabel="second number" if ax is axes[0] else "")
    return figure


def four_objects() -> Any:
    """Draw the masses of an object in a group, at its edge, between two and far away."""
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


def rounds() -> Any:
    """Draw a fit of all sets together from a poor start: prototypes and masses alternate, and the objective falls."""
    X, _ = objects()
    start = np.array([[-1.0, -1.0], [0.0, -1.5], [0.0, 0.5]])
    figure, axes = plt.subplots(1, 4, figsize=(13, 3.9), layout="constrained")
    options: dict[str, Any] = {"init": start, "relaxation": "exact", "max_cardinality": 2, "delta": 4.0, "beta": 1.5}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two of these fits are stopped on purpose
        models = [SoftECM(3, max_iter=k, random_state=0, **options).fit(X) for k in (1, 3, 200)]
    for ax, model in zip(axes, models, strict=False):
        plots.map(model.partition_, X, ax=ax, prototypes=model.prototypes_, names=CLUSTERS, axis_names=PLANE)
        ax.get_legend().remove()
        ax.set(
            title=f"after {model.n_iter_} iteration{'s' * (model.n_iter_ > 1)}",
            ylabel=PLANE[1] if ax is axes[0] else "",
        )
        ax.set(xlim=(-6, 8.5), ylim=(-6, 7))
    plots.objective_trace(models[-1].history_, ax=axes[3])
    axes[3].set(title="the objective never rises")
    return figure


def where_mass_goes() -> Any:
    """Draw the plane, coloured by the set with most of an object's mass at each point."""
    X, start = objects()
    model = SoftECM(3, init=start, random_state=0).fit(X)
    low, high = np.array([-9.5, -9.0]), np.array([11.0, 10.0])
    u, v = np.meshgrid(np.linspace(low[0], high[0], 320), np.linspace(low[1], high[1], 320))
    best = model.repartition(np.stack([u.ravel(), v.ravel()], 1)).masses.argmax(1).reshape(u.shape)
    focal = model.focal_sets_
    colors, labels = ["#dddddd", *plots.set_colors(focal)[1:]], focal.labels(CLUSTERS)
    figure, ax = plt.subplots(figsize=(6.6, 5.2), layout="constrained")
    shown = matplotlib.colors.ListedColormap(colors)
    ax.imshow(
        best,
        origin="lower",
        extent=(low[0], high[0], low[1], high[1]),
        cmap=shown,
        vmin=0,
        vmax=len(colors),
        alpha=0.45,
    )
    ax.scatter(*X[(abs(X - (low + high) / 2) < (high - low) / 2).all(1)].T, c="0.25", s=9)
    ax.scatter(*model.prototypes_.T, c=colors[1:], s=190, marker="*", edgecolors="black")
    for j, at in enumerate(model.prototypes_, 1):
        ax.annotate(labels[j], at, (8, 6), textcoords="offset points", size=11)
    ax.text(low[0] + 0.4, high[1] - 0.9, "∅: nowhere", size=11)
    ax.set(xlabel=PLANE[0], ylabel=PLANE[1])
    return figure


def relaxations() -> Any:
    """Draw the prototype of {A, B} if the objects between are nearer to B."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(m, 0.6, (k, 2)) for m, k in (((0, 0), 60), ((8, 0), 60), ((5.6, 0), 24))])
    asked: dict[str, dict[str, Any]] = {
        "exact: in the middle": {"relaxation": "exact"},
        "gap, λ = 5: drawn to objects": {"relaxation": "gap", "lam": 5.0},
        "penalty, λ = 5: much the same": {"relaxation": "penalty", "lam": 5.0},
        "penalty, λ = 1000: all in one point": {"relaxation": "penalty", "lam": 1000.0},
    }
    figure, axes = plt.subplots(4, 1, figsize=(9, 7.6), layout="constrained", sharex=True)
    for ax, (title, options) in zip(axes, asked.items(), strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the last one collapses, which is the point
            start = np.array([[0.0, 0.0], [8.0, 0.0]])
            model = SoftECM(2, init=start, max_cardinality=2, delta=6.0, random_state=0, **options).fit(X)
        plots.map(model.partition_, X, ax=ax, prototypes=model.prototypes_, names=CLUSTERS[:2], axis_names=PLANE)
        ax.set(title=title, ylabel="second", xlabel=PLANE[0] if ax is axes[-1] else "", ylim=(-2.2, 2.2))
        ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    return figure


def raw_and_divergence() -> Any:
    """Draw Soft-DTW of a series with itself and with another, as gamma grows."""
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
    """Draw series with one bump, two bumps or a step, at shifting times and of unequal length, and their prototypes."""
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


def page(name: str) -> dict[str, Any]:
    """Return what a page's snippets define, so that its figure shows its data."""
    names: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        for snippet in snippets(HERE / f"{name}.md"):
            if snippet.language == "python" and snippet.runs_here:
                run_python(snippet, names)
    return names


def globe() -> Any:
    """Draw places by longitude and latitude, in the colours of their groups."""
    names = page("own_distance")
    figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
    places, prototypes = names["places"][:, ::-1], names["model"].prototypes_[:, ::-1]
    axis_names = ("longitude in degrees", "latitude in degrees")
    plots.map(names["model"].partition_, places, ax=ax, prototypes=prototypes, axis_names=axis_names)
    ax.set(xlim=(-130, 190), ylim=(-60, 75))
    return figure


def series_probabilities() -> Any:
    """Draw a bell, a funnel and a series with both, with their masses."""
    names = page("series")
    model, scaler = names["flow"][-1], names["flow"][0]
    rows = {"a bell": names["known"][0], "a funnel": names["known"][20], "both": names["new"][-1]}
    some = scaler.transform(np.stack(list(rows.values())))
    masses, focal = model.predict_partition(some).masses, model.focal_sets_
    clusters = ("bell", "funnel") if names["bell"] == 0 else ("funnel", "bell")
    labels = ["nowhere", *clusters, *["either"] * (len(focal) - 2)]
    figure, axes = plt.subplots(2, 3, figsize=(9, 4.4), layout="constrained", sharey="row", height_ratios=(3, 2))
    for k, title in enumerate(rows):
        axes[0, k].plot(some[k, :, 0], color="0.3")
        axes[0, k].set(title=title, xlabel="time step", ylabel="value (scaled)" if k == 0 else "")
        axes[1, k].barh(labels, masses[k], color=plots.set_colors(focal))
        axes[1, k].set(xlim=(0, 1), xlabel="mass")
    return figure


def noise() -> Any:
    """Draw the same objects by HDBSCAN and SoftECM."""
    names = page("comparison")
    X, labels, partition = names["X"][:, :2], names["labels"], names["partition"]
    colors = np.array(["#bbbbbb", *plots.set_colors(partition.focal_sets)[1:5]])
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained", sharex=True, sharey=True)
    axes[0].scatter(*X.T, c=colors[labels + 1], s=22)
    axes[0].set(
        title=f"HDBSCAN: {np.mean(labels == -1):.0%} noise (grey)", xlabel="first column", ylabel="second column"
    )
    plots.map(partition, X, ax=axes[1], axis_names=("first column", ""))
    axes[1].set(title=f"SoftECM: {np.sum(partition.masses.argmax(1) == 0)} objects nowhere (crosses)")
    return figure


def profiles() -> Any:
    """Draw what distinguishes the groups of diaries."""
    names = page("how_sure")
    features, sure = names["features"], names["sure"]
    means = features[sure].groupby(names["kinds"].labels_[sure]).mean()
    telling = ((means - features[sure].mean()) / features[sure].std()).round(1)  # in standard deviations from the whole
    figure, ax = plt.subplots(figsize=(7, 2.8), layout="constrained")
    drawn = ax.imshow(telling, cmap="RdBu_r", vmin=-1.6, vmax=1.6, aspect="auto")
    for (i, j), value in np.ndenumerate(telling.to_numpy()):
        ax.text(j, i, f"{value:+.1f}", ha="center", va="center", color="white" if abs(value) > 1.1 else "black")
    ax.set_xticks(range(telling.shape[1]), telling.columns)
    ax.set_yticks(range(len(telling)), [f"group {k}" for k in telling.index])
    figure.colorbar(drawn, ax=ax, label="standard deviations\nfrom the whole")
    return figure


def views() -> Any:
    """Draw a table and series of the same objects: the example's own picture."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        return runpy.run_path(str(HERE.parent / "examples" / "plot_views.py"))["figure"]


FIGURES: dict[str, Callable[[], Any]] = {
    figure.__name__: figure
    for figure in (
        front,
        three_answers,
        four_objects,
        rounds,
        where_mass_goes,
        relaxations,
        raw_and_divergence,
        shapes,
        globe,
        series_probabilities,
        noise,
        profiles,
        views,
    )
}


def main(folder: Path, *names: str) -> None:
    """Draw these, or all."""
    folder.mkdir(exist_ok=True)
    for name in names or FIGURES:
        figure, path = FIGURES[name](), folder / f"{name}.png"
        figure.savefig(path, dpi=110, metadata={"Software": None})
        plt.close(figure)
        smaller(path)
        print(path)


if __name__ == "__main__":
    main(HERE / "figures", *sys.argv[1:])
