"""
A table with missing values: who is between two groups, and why
===============================================================

155 patients with hepatitis: six measurements, thirteen yes-or-no findings, and missing values in almost every second row.
Most clustering methods require that you drop or impute those rows. Here missing cells are skipped in an object's distances,
and its other cells are scaled up in proportion.

The table is UCI's *Hepatitis* (number 46, donated by G. Gong, CC BY 4.0), read with ``ucimlrepo``, or from the folder in
``SOFTECM_DATA``. It also says whether a patient died, which the clustering does not use.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from softecm import SoftECM, plots
from softecm.datasets import load_hepatitis

# %%
# From the file to a frame
# ------------------------
# Numbers are floats, findings are categories. Their codes are unchanged: UCI's notes list "no, yes", but if 1 meant no,
# 130 of 155 patients would have ascites, so 1 more likely means yes.
bunch = load_hepatitis()
table = bunch.data
print(table.head().to_string())
print(f"{table.isna().to_numpy().sum()} cells are missing, in {table.isna().any(axis=1).sum()} of {len(table)} rows")

# %%
# From the frame to a credal partition
# ------------------------------------
# You don't encode, scale or impute anything: columns are recognized by their types.
model = SoftECM(2, random_state=0).fit(table)
print(model.partition_)
sets = model.partition_.sets()
for members in sorted(set(sets), key=len):
    name = " or ".join(f"group {k}" for k in members) or "no group"
    print(f"{name}: {sum(s == members for s in sets)} patients")

# %%
# The prototypes are rows of the same table: means in the units of each column, and most frequent categories. For each
# categorical column there is also a distribution.
names = [" or ".join(f"group {k}" for k in members) for members in model.focal_sets_.sets]
print(model.prototypes_.set_axis(names).T.to_string())
tired = model.prototype_distributions_["fatigue"]["1"]
print("fatigue = 1:", {name: round(float(share), 2) for name, share in zip(names, tired, strict=True)})

# %%
# Who is between, and why
# -----------------------
# ``explain`` returns each column's contribution to an object's distance to each prototype; contributions add up to
# ``transform``. A column that adds more to the distance to group 1 is evidence for group 0, and vice versa.
parts = model.explain(table)  # (patients, sets, columns)
speaks = parts[:, 1] - parts[:, 0]
masses = model.partition_.masses
between = np.argsort(-masses[:, 3])[:3]
for patient in between:
    row = pd.DataFrame({"value": table.iloc[patient].astype(object), "for group 0": speaks[patient].round(2)})
    strongest = row.reindex(row["for group 0"].abs().sort_values(ascending=False).index).head(6)
    print(f"\npatient {patient}: mass {masses[patient, 3]:.2f} on 'group 0 or group 1'")
    print(strongest.to_string())

# %%
# Who belongs nowhere
# -------------------
outliers = np.argsort(-model.outlier_scores_)[:3]
for patient in outliers:
    nearest = parts[patient, int(model.transform(table)[patient].argmin())]
    odd = np.argsort(-nearest)[:3]
    why = ", ".join(f"{table.columns[j]} = {table.iloc[patient, j]}" for j in odd)
    print(f"patient {patient}: mass {model.outlier_scores_[patient]:.2f} on no group; {why}")

# %%
# The groups and the outcome, which the clustering did not use.
died = bunch.target == 0
print(pd.crosstab(pd.Series(model.labels_, name="group"), pd.Series(np.where(died, "died", "lived"), name="outcome")))

figure, axes = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
plots.mass_profile(model.partition_, ax=axes[0])
axes[0].set_title("Masses, patient by patient")
reach = np.abs(speaks[between]).max()
image = axes[1].imshow(speaks[between], cmap="RdBu", vmin=-reach, vmax=reach, aspect="auto")
axes[1].set_yticks(range(len(between)), [f"patient {i}" for i in between])
axes[1].set_xticks(range(table.shape[1]), list(table.columns), rotation=90)
axes[1].set_title("What speaks for group 0 (blue) and for group 1 (red)")
figure.colorbar(image, ax=axes[1])
out = Path("out")
out.mkdir(exist_ok=True)
figure.savefig(out / "mixed_table.png", dpi=120)
print(f"figure: {out / 'mixed_table.png'}")
