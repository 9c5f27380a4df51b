"""
The Diamond: who belongs, who lies between, who belongs nowhere
===============================================================

Section 5.1 of the Soft-ECM paper in four panels, and two more.

Twelve objects: two diamonds of five, object 6 midway, object 12 far away. In ECM a set's prototype is the mean of its
clusters' prototypes, so objects 6 and 7 are assigned to the set Ω of both clusters. Soft-ECM lets that prototype move:
object 7 is assigned to the right-hand diamond, object 6 stays between.

The fourth panel (λ = 3.5) shows object 6 on the left, as in the paper. It uses the paper's gradient descent (Algorithm 1,
rate 0.01) and its stopping rule, and it is *not a minimum*: the objective would fall further until all prototypes have
merged. The last two panels show why: with the paper's penalty a larger λ also pulls the clusters together until they
can't be told apart. ``relaxation="gap"`` penalizes only the violation of the constraint, and never merges.
"""

import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from softecm import ECM, CollapseWarning, GradientDescent, SoftECM, plots
from softecm.datasets import load_diamond

X = load_diamond().data
PAPER = {"alpha": 1 / 6, "beta": 2.0, "delta": 11.0, "max_cardinality": 2, "init": [[-3.34, 0.0], [3.34, 0.0]]}


def quietly(model):
    """Fit without the warning that prototypes have merged: showing that is the point."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollapseWarning)
        return model.fit(X)


ecm = quietly(ECM(2, **PAPER))
soft = quietly(SoftECM(2, **PAPER, lam=1.5))
descent = GradientDescent(learning_rate=0.01, inner_steps=1)
strong = quietly(SoftECM(2, **PAPER, lam=3.5, solver=descent, tol=1e-3, max_iter=5000))
converged = quietly(SoftECM(2, **PAPER, lam=3.5, tol=1e-10, max_iter=5000))

# %%
# Masses of objects 6 and 7 for increasing λ.
lams = np.geomspace(0.1, 30, 60)
curves = {
    relaxation: np.array(
        [
            quietly(SoftECM(2, **PAPER, lam=lam, relaxation=relaxation, tol=1e-8, max_iter=3000)).partition_.masses[
                [5, 6]
            ]
            for lam in lams
        ]
    )
    for relaxation in ("penalty", "gap")
}
merged = [quietly(SoftECM(2, **PAPER, lam=lam, tol=1e-8, max_iter=3000)).collapsed_ for lam in lams]

figure, axes = plt.subplots(3, 2, figsize=(11, 12), layout="constrained")
ax = axes[0, 0]
ax.scatter(*X.T, color="0.2")
for i, (x, y) in enumerate(X, start=1):
    ax.annotate(str(i), (x, y), xytext=(4, 4), textcoords="offset points")
ax.set(title="Twelve objects", xlabel="x", ylabel="y")
for ax, model, title in (
    (axes[0, 1], ecm, "ECM"),
    (axes[1, 0], soft, "Soft-ECM, λ = 1.5"),
    (axes[1, 1], strong, "Soft-ECM, λ = 3.5: descent stopped on its way"),
):
    plots.mass_profile(model.partition_, ax=ax)
    ax.set_title(title)
for ax, relaxation in zip(axes[2], ("penalty", "gap"), strict=True):
    for index, name, style in ((0, "object 6", "-"), (1, "object 7", "--")):
        for column, label, color in ((1, "ω1", "#4477aa"), (2, "ω2", "#ee6677"), (3, "Ω", "#b06c9a")):
            ax.plot(lams, curves[relaxation][:, index, column], style, color=color, label=f"{name} on {label}")
    ax.set(xscale="log", xlabel="λ", ylabel="mass", ylim=(0, 1), title=f'relaxation="{relaxation}"')
if any(merged):
    axes[2, 0].axvspan(lams[int(np.argmax(merged))], lams[-1], color="0.9", zorder=0, label="prototypes merged")
axes[2, 1].legend(*axes[2, 0].get_legend_handles_labels(), fontsize=8, ncols=2, loc="center")

# %%
# The masses in numbers.
out = Path("out")
out.mkdir(exist_ok=True)
figure.savefig(out / "diamond.png", dpi=120)
print(f"figure: {out / 'diamond.png'}")
for name, model in (("ECM", ecm), ("λ=1.5", soft), ("λ=3.5, on its way", strong), ("λ=3.5, converged", converged)):
    six, seven = model.partition_.masses[5:7].round(2).tolist()
    print(
        f"{name:20} object 6 {six}  object 7 {seven}  objective {model.objective_:.4f}  separation {model.separation_:.4f}"
    )
