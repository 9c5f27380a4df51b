"""Section 5.1: the Diamond's twelve points, with ECM and with Soft-ECM at two lambdas."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from softecm_paper.page import Page
from softecm_paper.runs import Runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from softecm.algorithms.base import PrototypeClusterer

M = TypeVar("M", bound="PrototypeClusterer")

SETTINGS: dict[str, Any] = {
    "alpha": 1 / 6,
    "beta": 2.0,
    "delta": 11.0,
    "max_cardinality": 2,
    "init": [[-3.34, 0.0], [3.34, 0.0]],
}
LAMS = tuple(float(lam) for lam in np.round(np.geomspace(0.1, 10, 25), 3))


def fit(model: M) -> M:
    """Fit without the warning that prototypes have merged, which is the point."""
    from softecm import CollapseWarning
    from softecm.datasets import load_diamond

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollapseWarning)
        model.fit(load_diamond().data)  # type: ignore[attr-defined]
    return model


def panels() -> dict[str, PrototypeClusterer]:
    """Return the models of the paper's panels, and the result of the last one after convergence."""
    from softecm import ECM, GradientDescent, SoftECM

    descent = GradientDescent(
        learning_rate=0.01, inner_steps=1
    )  # plain descent as in Algorithm 1; the text gives no rate
    soft: dict[str, Any] = {"lam": 3.5, "max_iter": 5000}
    return {
        "ECM": fit(ECM(2, **SETTINGS)),
        "Soft-ECM, λ = 1.5": fit(SoftECM(2, **SETTINGS, lam=1.5)),
        "Soft-ECM, λ = 3.5, the paper's descent": fit(SoftECM(2, **SETTINGS, **soft, solver=descent, tol=1e-3)),
        "Soft-ECM, λ = 3.5, converged": fit(SoftECM(2, **SETTINGS, **soft, tol=1e-10)),
        'Soft-ECM, λ = 3.5, relaxation="gap"': fit(SoftECM(2, **SETTINGS, **soft, tol=1e-8, relaxation="gap")),
    }


def run(runs: Runs, command: str) -> Page:
    """Return both lambda panels as in the paper, and what they would be at a minimum."""
    models = panels()
    page = Page("The Diamond: section 5.1", command)
    page.text(
        "Twelve points, two diamonds: α = 1/6, β = 2, δ = 11, two clusters. The paper reads from its panels: with ECM "
        "objects 6 and 7 are on Ω; with Soft-ECM and λ = 1.5 object 7 is on ω2; with λ = 3.5 object 6 is on ω1. Object 12 "
        "is an outlier throughout. Separation is the distance of the clusters' prototypes, as a part of the usual distance: "
        "below 0.0025 they count as merged."
    )
    page.figure("diamond", _figure(models), "Masses of the twelve objects in the paper's panels.")
    page.table(
        ["", "object 6", "object 7", "object 12", "objective", "separation"], [_line(*m) for m in models.items()]
    )
    on_its_way, converged = models["Soft-ECM, λ = 3.5, the paper's descent"], models["Soft-ECM, λ = 3.5, converged"]
    page.text(
        "**The panel λ = 3.5 is not a minimum.** It is what plain gradient descent (Algorithm 1; the paper's text gives no "
        f"rate, here 0.01) shows when it is stopped because no mass moves by more than 0.001: the objective is "
        f"{on_its_way.objective_:.4f} then, and {converged.objective_:.4f} when it is let go on, with "
        f"{'all prototypes merged into one point' if converged.collapsed_ else 'the prototypes apart'}. "
        'With `relaxation="gap"` the same λ merges nothing.'
    )
    page.figure("diamond_lambda", _curves(), "Masses of objects 6 and 7 over λ, converged; grey: prototypes merged.")
    page.facts["merged_at_3.5"] = bool(converged.collapsed_)
    return page


def _line(name: str, model: PrototypeClusterer) -> list[str]:
    masses, labels = model.partition_.masses, model.focal_sets_.labels()
    cells = []
    for i in (5, 6, 11):
        column = int(masses[i].argmax())
        cells.append(f"{labels[column]} ({masses[i, column]:.2f})")
    return [name, *cells, f"{model.objective_:.3f}", f"{model.separation_:.2g}"]


def _figure(models: dict[str, PrototypeClusterer]) -> Figure:
    from matplotlib import pyplot as plt

    from softecm import plots
    from softecm.datasets import load_diamond

    data = load_diamond().data
    figure, axes = plt.subplots(2, 3, figsize=(14, 7), layout="constrained")
    ax = axes.flat[0]
    ax.scatter(*data.T, color="0.3")
    for number, (x, y) in enumerate(data, start=1):
        ax.annotate(str(number), (x, y), xytext=(4, 4), textcoords="offset points")
    ax.set(title="twelve objects", xlabel="x", ylabel="y")
    for ax, (name, model) in zip(axes.flat[1:], models.items(), strict=True):
        plots.mass_profile(model.partition_, ax=ax).set_title(name)
    return figure


def _curves() -> Figure:
    from matplotlib import pyplot as plt

    from softecm import SoftECM, plots

    figure, axes = plt.subplots(1, 2, figsize=(12, 4), layout="constrained", sharey=True)
    for ax, relaxation in zip(axes, ("penalty", "gap"), strict=True):
        models = [fit(SoftECM(2, **SETTINGS, lam=lam, relaxation=relaxation, tol=1e-8, max_iter=5000)) for lam in LAMS]
        masses = np.array([model.partition_.masses[[5, 6]] for model in models])  # (lams, 2, 4)
        colors = plots.set_colors(models[0].focal_sets_)
        for at, style in ((0, "-"), (1, "--")):
            for column, name in ((1, "ω1"), (2, "ω2"), (3, "Ω")):
                label = f"object {at + 6} on {name}"
                ax.plot(LAMS, masses[:, at, column], style, color=colors[column], label=label)
        merged = [lam for lam, model in zip(LAMS, models, strict=True) if model.collapsed_]
        if merged:
            ax.axvspan(merged[0], LAMS[-1], color="0.9", zorder=0)
        ax.set(xscale="log", xlabel="λ", ylabel="mass", ylim=(0, 1), title=f'relaxation="{relaxation}"')
    axes[1].legend(fontsize=8)
    return figure
