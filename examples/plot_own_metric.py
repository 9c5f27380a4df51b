"""
Your own semi-metric: images compared by the cost of moving ink
===============================================================

Handwritten digits as distributions of ink. Two images are compared by the cost of transporting the ink of one to the
other (a Sinkhorn divergence). The metric is a dozen lines of torch, and its gradient is automatic. Objects and prototypes
are logarithms of ink, so that every point the solver tries is a distribution.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_digits

from softecm import SoftECM, plots, scores
from softecm.testing import check_semimetric

grid = torch.cartesian_prod(*[torch.arange(8.0, dtype=torch.float64)] * 2) / 7  # positions of the 64 pixels
kernel = torch.exp(-torch.cdist(grid, grid).square() / 0.1)


def work(p, q):
    """Return the cost of moving ink from p to q, with entropy: (..., 64), (..., 64) -> (...)."""
    u, v = torch.ones_like(p), torch.ones_like(q)
    for _ in range(12):
        u = p / (v @ kernel)
        v = q / (u @ kernel)
    return 0.1 * ((p * u.log()).sum(-1) + (q * v.log()).sum(-1))


def sinkhorn(x, v):
    """A semi-metric between images: symmetric up to the error after twelve iterations, zero between equal ones."""
    p, q = x.softmax(-1)[:, None], v.softmax(-1)[None]
    cross = 0.5 * (work(*torch.broadcast_tensors(p, q)) + work(*torch.broadcast_tensors(q, p)))
    return (cross - 0.5 * work(p, p) - 0.5 * work(q, q)).clamp_min(0)


digits = load_digits(n_class=3)
ink = digits.data[:60] + 0.1
X = np.log(ink / ink.sum(1, keepdims=True))
print(check_semimetric(sinkhorn, torch.from_numpy(X[:8]), tol=1e-6))
model = SoftECM(3, metric=sinkhorn, n_init=5, tol=2e-2, random_state=0).fit(X)
print(f"accuracy for the labels, which the fit does not use: {scores.accuracy(digits.target[:60], model.labels_):.2f}")

# %%
# The prototypes are images; below them, the most doubtful objects.
figure, axes = plt.subplots(2, 3, figsize=(9, 6), layout="constrained")
for ax, prototype, name in zip(axes[0], model.cluster_centers_, model.focal_sets_.labels()[1:4], strict=True):
    ax.imshow(torch.from_numpy(prototype).softmax(-1).reshape(8, 8), cmap="Greys")
    ax.set(title=f"prototype of {name}", xlabel="column", ylabel="row")
doubtful = model.partition_.entropy().argsort()[::-1][:3]
for ax, i in zip(axes[1], doubtful, strict=True):
    shares = ", ".join(f"{share:.2f}" for share in model.partition_.pignistic()[i])
    ax.imshow(digits.images[i], cmap="Greys")
    ax.set(title=f"in doubt: a {digits.target[i]} ({shares})", xlabel="column", ylabel="row")
out = Path("out")
out.mkdir(exist_ok=True)
figure.savefig(out / "own_metric.png", dpi=120)

# %%
# The masses of all sixty objects.
figure, ax = plt.subplots(figsize=(9, 3), layout="constrained")
plots.mass_profile(model.partition_, ax=ax)
figure.savefig(out / "own_metric_masses.png", dpi=120)
print(f"figures: {out / 'own_metric.png'}, {out / 'own_metric_masses.png'}")
