"""
Load curves and a table of customers: only both together show the groups
========================================================================

A power company has two kinds of data about each customer: the load curve of a day and a row of a table. Some customers are
home at noon; some heat with electricity; the others do neither. The load curves show who is home, at slightly different
hours; the table shows who heats. Each view alone separates one group and splits the others at random.

The data are generated, so the groups are known; the clustering does not use them.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from softecm import SoftECM
from softecm.distances import Combined, Mixed, SoftDTW
from softecm.scores import adjusted_rand_index

# %%
# Customers
# ---------
NAMES = ("home at noon", "neither", "heats with power")
n, steps = 150, 48
rng = np.random.default_rng(7)
group = rng.integers(0, 3, n)
hours = np.linspace(0, 24, steps)
shifted = hours + rng.normal(0, 0.7, (n, 1))  # people's hours differ
load = np.exp(-((shifted - 19) ** 2) / 4) + np.where(group[:, None] == 0, np.exp(-((shifted - 12.5) ** 2) / 4), 0.0)
load += rng.normal(0, 0.25, (n, steps))
table = pd.DataFrame(
    {
        "MWh a year": rng.normal(np.where(group == 2, 9.0, 3.0), 1.0),
        "square metres": rng.normal(100, 25, n).round(),
        "meter": rng.choice(["old", "new"], n, p=[0.2, 0.8]),
    }
)
views = {"load": load[:, :, None], "customer": table}

# %%
# One view at a time, then both
# -----------------------------
# Soft-DTW allows for shifted hours, ``Mixed`` takes the table as it is. The views get equal weights, whatever their units.
metrics = {"load": SoftDTW(), "customer": Mixed()}
alone = {name: SoftECM(3, metric=metrics[name], random_state=0).fit(views[name]) for name in views}
both = SoftECM(3, metric=Combined(metrics), random_state=0).fit(views)
answers = {"load alone": alone["load"], "customer alone": alone["customer"], "both": both}
for name, model in answers.items():
    print(f"{name}: adjusted Rand index {adjusted_rand_index(group, model.labels_):.2f}")
print("weights:", both.view_weights_)

# %%
# Which view pulls an object where
# --------------------------------
# ``explain`` returns each view's contribution to an object's distance to each prototype.
parts = both.explain(views)  # (customers, sets, views)
masses = both.partition_.masses[:, 1:]
doubtful = int(np.argsort(-both.partition_.doubt())[0])
told = pd.DataFrame(parts[doubtful, :3], columns=list(views), index=[f"to group {k + 1}" for k in range(3)])
print(f"the most doubtful customer, number {doubtful}:")
print(told.round(2).to_string())

# %%
# The same customers under each model, by their load at noon and their consumption: colours show the true groups, marker
# shapes the clusters.
noon = load[:, (hours > 10) & (hours < 15)].mean(1)
colours = plt.get_cmap("tab10").colors
figure, axes = plt.subplots(2, 3, figsize=(12, 7), layout="constrained", height_ratios=[3, 2])
for ax, (name, model) in zip(axes[0], answers.items(), strict=True):
    for k, marker in enumerate("osD"):
        found = model.labels_ == k
        ax.scatter(noon[found], table["MWh a year"][found], c=[colours[g] for g in group[found]], marker=marker, s=26)
    index = adjusted_rand_index(group, model.labels_)
    ax.set(title=f"{name}: adjusted Rand index {index:.2f}", xlabel="mean load at noon (kW)", ylabel="MWh a year")
for g, name in enumerate(NAMES):
    axes[0, 0].scatter([], [], color=colours[g], label=f"truly: {name}")
for k, marker in enumerate("osD"):
    axes[0, 0].scatter([], [], color="grey", marker=marker, label=f"found: group {k + 1}")
axes[0, 0].legend(fontsize=8, loc="upper right")
centres = both.prototypes_
for k, ax in enumerate(axes[1]):
    likely = int(np.bincount(group[both.labels_ == k], minlength=3).argmax())
    ax.plot(hours, load[both.labels_ == k].T, color=colours[likely], alpha=0.12, linewidth=0.7)
    curve = np.asarray(centres["load"][k])[:, 0]
    ax.plot(np.linspace(0, 24, len(curve)), curve, color="black", linewidth=1.6)
    row = centres["customer"].iloc[k]
    ax.set_title(f"group {k + 1} of both: {row['MWh a year']:.1f} MWh a year, {row['square metres']:.0f} m²")
    ax.set(xlabel="hour", ylabel="load (kW)", xticks=range(0, 25, 6))
out = Path("out")
out.mkdir(exist_ok=True)
figure.savefig(out / "views.png", dpi=120)
print(f"figure: {out / 'views.png'}")
