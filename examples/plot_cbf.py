"""
Cylinder, Bell, Funnel: shapes that shift in time
=================================================

The first experiment of the paper's section 5.3: three noisy shapes whose start, length and height vary. Compared step by
step (L2) they look similar wherever they overlap; with time warping (Soft-DTW) the three kinds separate.
"""

from pathlib import Path

import matplotlib.pyplot as plt

from softecm import SoftECM, plots, scores
from softecm.datasets import make_cbf
from softecm.distances import SeriesEuclidean, SoftDTW

data = make_cbf(20, length=128, random_state=0)
models = {
    "L2": SoftECM(3, metric=SeriesEuclidean(), n_init=10, random_state=0).fit(data.data),
    "Soft-DTW": SoftECM(3, metric=SoftDTW(gamma=1.0), n_init=5, tol=1e-2, dtype="float32", random_state=0).fit(
        data.data
    ),
}
for name, model in models.items():
    agreement = scores.adjusted_rand_index(data.target, model.labels_)
    print(f"{name:8}  adjusted Rand index with the classes, which the fits do not use: {agreement:.2f}")

# %%
# The paper's mass plots: objects 1 to 20 are cylinders, 21 to 40 bells, 41 to 60 funnels.
figure, axes = plt.subplots(2, 1, figsize=(10, 7), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    plots.mass_profile(model.partition_, ax=ax)
    ax.set_title(f"{name}: masses")
out = Path("out")
out.mkdir(exist_ok=True)
figure.savefig(out / "cbf_masses.png", dpi=120)

# %%
# The prototypes under Soft-DTW, with the series whose largest mass is on each cluster.
figure, axes = plt.subplots(1, 3, figsize=(12, 3.5), layout="constrained", sharey=True)
model = models["Soft-DTW"]
for k, ax in enumerate(axes):
    for i in model.partition_.lower(k):
        ax.plot(data.data[i, :, 0], color="0.8", linewidth=0.5)
    ax.plot(model.cluster_centers_[k][:, 0], color="C0", linewidth=2)
    ax.set(title=f"cluster {k}", xlabel="step", ylabel="value")
figure.savefig(out / "cbf_prototypes.png", dpi=120)
print(f"figures: {out / 'cbf_masses.png'}, {out / 'cbf_prototypes.png'}")
