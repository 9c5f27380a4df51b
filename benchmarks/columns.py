"""Columns of noise in a table: what they cost with the usual weights and with weights that follow a rule.

``python benchmarks/columns.py [--draws 20] [--first 1000] [--write docs/measured/columns.md]``

Some minutes. Three groups of about 100 rows in ten columns that each know a little of them, and ten columns that know
nothing. Weights are never told the groups. The rules' constants (from what correlation on a column counts, the part of the
spread that is added to a dispersion) were set on draws 0 to 5 with scores in view; the numbers are of draws from
``--first`` on, which nobody had looked at.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from softecm import SoftECM
from softecm.distances import Mixed

RULES = {
    "usual weights": {"weights": None},
    "agreement": {"weights": "agreement"},
    "learned": {"weights": "learned"},
    "learned, each cluster": {"weights": "learned", "weights_of": "cluster"},
}
KINDS = (
    "numbers, and numbers of noise",
    "numbers, and yes/no columns of noise",
    "numbers and categories, and as many of noise",
    "numbers, and noise of which four columns share a nuisance",
    "numbers, and numbers of noise; a fifth of the cells missing",
)


def frame_of(knowing, noise):
    """The columns that know something, then the others."""
    columns = [f"known{j}" for j in range(knowing.shape[1])] + [f"noise{j}" for j in range(noise.shape[1])]
    return pd.DataFrame(np.hstack([knowing, noise]), columns=columns)


def drawn(kind, rng, n=300):
    """A table and its groups."""
    groups, numbers = rng.integers(0, 3, n), 5 if "categories" in kind else 10
    knowing = 1.6 * rng.normal(size=(3, numbers))[groups] + rng.normal(size=(n, numbers))
    noise = rng.normal(size=(n, numbers))
    if "yes/no" in kind:
        noise = rng.integers(0, 2, (n, numbers)).astype(float)
    if "nuisance" in kind:
        noise[:, :4] = rng.normal(size=(n, 1)) + 0.5 * noise[:, :4]
    frame = frame_of(knowing, noise)
    if "categories" in kind:
        for j in range(5):
            own = np.where(rng.random(n) < 0.75, rng.permutation(4)[groups], rng.integers(0, 4, n))
            frame[f"known word{j}"] = np.array(list("abcd"))[own]
            frame[f"noise word{j}"] = np.array(list("abcd"))[rng.integers(0, 4, n)]
    if "missing" in kind:
        frame = frame.mask(rng.random(frame.shape) < 0.2)
    return frame, groups


def score(frame, groups, **how):
    """The adjusted Rand index of a fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SoftECM(3, metric=Mixed(**how), random_state=0, n_jobs=1).fit(frame)
    return adjusted_rand_score(groups, model.labels_)


def draw(seed):
    """Every kind of table: the index without the columns of noise, then under each rule."""
    rng, rows = np.random.default_rng(seed), {}
    for kind in KINDS:
        frame, groups = drawn(kind, rng)
        known = frame[[name for name in frame if name.startswith("known")]]
        kept = known.notna().any(axis=1)
        rows[kind] = [
            score(known[kept], groups[kept]),
            *(score(frame[kept], groups[kept], **how) for how in RULES.values()),
        ]
    return rows


def table_of(draws):
    """One line a kind of table: means, and what noise costs at the mean."""
    heads = ["table", "without noise", *RULES]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for kind in KINDS:
        means = np.mean([rows[kind] for rows in draws], 0)
        lines.append(f"| {kind} | {' | '.join(f'{mean:.3f}' for mean in means)} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--first", type=int, default=1000)
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    draws = []
    for seed in range(given.first, given.first + given.draws):
        draws.append(draw(seed))
        print(f"draw {seed} done", file=sys.stderr, flush=True)
    how = f"Mean adjusted Rand index over {given.draws} draws, from number {given.first} on: `python benchmarks/columns.py`."
    page = f"{how}\n\n{table_of(draws)}\n"
    print(page)
    if given.write:
        given.write.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
