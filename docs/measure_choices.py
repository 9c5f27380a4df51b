"""The measurements behind how_to_choose.md: one table per parameter, written to docs/measured/.

python docs/measure_choices.py [PARAMETER ...]
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from softecm import SoftECM, scores
from softecm.belief import FocalSets
from softecm.datasets import make_blobs, make_cbf
from softecm.distances import SoftDTW
from softecm.series import SeriesScaler

HERE = Path(__file__).resolve().parent / "measured"
SEED = 0


def fit(X: Any, c: int, **options: Any) -> Any:
    """Fit without warnings: merged prototypes are a column of the tables."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SoftECM(c, random_state=SEED, **options).fit(X)


def shares(model: Any) -> list[str]:
    """Return the shares of objects in one cluster, between clusters, nowhere."""
    sizes = np.array([len(s) for s in model.partition_.sets()])
    return [f"{(sizes == 1).mean():.2f}", f"{(sizes > 1).mean():.2f}", f"{(sizes == 0).mean():.2f}"]


def state(model: Any) -> str:
    """Return how separated the clusters' prototypes are."""
    return "merged" if model.collapsed_ else f"{model.separation_:.2f}"


def write(name: str, head: str, rows: list[list[str]]) -> None:
    """Write one Markdown table, with its command."""
    columns = head.split(" | ")
    lines = [f"| {head} |", "|" + "---|" * len(columns), *[f"| {' | '.join(row)} |" for row in rows]]
    HERE.mkdir(exist_ok=True)
    (HERE / f"{name}.md").write_text("\n".join(lines) + "\n\nMade by `python docs/measure_choices.py`.\n")


def vectors() -> dict[str, tuple[Any, Any, int]]:
    """Return two small data sets of scikit-learn, scaled."""
    sets = {"iris": load_iris(), "wine": load_wine()}
    return {name: (StandardScaler().fit_transform(b.data), b.target, 3) for name, b in sets.items()}


def metric() -> None:
    """Measure metrics on numbers and on series."""
    rows = []
    for name, (X, y, c) in vectors().items():
        for kind in ("sqeuclidean", "euclidean", "manhattan", "cosine", "mahalanobis"):
            model = fit(X, c, metric=kind, n_init=5)
            ari = scores.adjusted_rand_index(y, model.labels_)
            rows.append([name, f"`{kind}`", f"{ari:.2f}", *shares(model), state(model)])
    bunch = make_cbf(20, length=64, noise=0.5, random_state=SEED)
    X = SeriesScaler().fit_transform(bunch.data)
    for label, kind in (
        ("`series-euclidean`", "series-euclidean"),
        ("`dtw`", "dtw"),
        ("`softdtw`, gamma 0.1", SoftDTW(gamma=0.1)),
        ("`softdtw`, gamma 1", SoftDTW(gamma=1.0)),
        ("`softdtw`, gamma 10", SoftDTW(gamma=10.0)),
    ):
        model = fit(X, 3, metric=kind, n_init=5)
        ari = scores.adjusted_rand_index(bunch.target, model.labels_)
        rows.append(["cylinder, bell, funnel", label, f"{ari:.2f}", *shares(model), state(model)])
    write("metric", "data | metric | adjusted Rand | sure | between | nowhere | separation", rows)


def beta() -> None:
    """Measure the exponent of the masses."""
    rows = []
    for name, (X, y, c) in vectors().items():
        for value in (1.05, 1.1, 1.2, 1.5, 2.0, 3.0):
            model = fit(X, c, beta=value)
            ari = scores.adjusted_rand_index(y, model.labels_)
            n_star = model.partition_.nonspecificity()
            rows.append([name, f"{value:g}", f"{ari:.2f}", f"{n_star:.3f}", *shares(model), state(model)])
    write("beta", "data | beta | adjusted Rand | N* | sure | between | nowhere | separation", rows)


#: All sets start at once with any pairs, as in the paper: only the constraint differs.
AT_ONCE: dict[str, Any] = {"init": "k-means++", "focal_sets": FocalSets.up_to(3, 2), "beta": 1.5}


def lam() -> None:
    """Measure the three relaxations of the constraint on the sets' prototypes, and the default."""
    bunch = make_blobs(150, between=15, random_state=SEED)
    is_between = bunch.target == -1
    rows = []
    for relaxation in ("penalty", "gap", "exact", "auto"):
        priced, default = relaxation in ("penalty", "gap"), relaxation == "auto"
        for value in (0.1, 1.0, 10.0, 100.0, 1000.0) if priced else (1.0,):
            options = {"beta": 1.5} if default else {**AT_ONCE, "relaxation": relaxation, "lam": value}
            model = fit(bunch.data, 3, **options)
            sizes = np.array([len(s) for s in model.partition_.sets()])
            v = model.prototypes_
            middle = np.stack([v[list(s)].mean(0) for s in model.focal_sets_.sets[3:]])
            off = np.sqrt(np.square(v[3:] - middle).sum(1)).mean()
            rows.append(
                [
                    "default" if default else f'`"{relaxation}"`',
                    f"{value:g}" if priced else "–",
                    f"{(sizes[is_between] > 1).sum()} of {is_between.sum()}",
                    f"{(sizes[~is_between] > 1).sum()} of {(~is_between).sum()}",
                    f"{off:.2f}",
                    state(model),
                ]
            )
    write("lam", "relaxation | lam | midway objects on a set | others on a set | off the middle | separation", rows)


def delta() -> None:
    """Measure the distance to the empty set, as multiples of the automatic one."""
    bunch = make_blobs(300, between=5, outliers=10, random_state=SEED)
    far = bunch.target == -2
    auto = fit(bunch.data, 3).delta_
    rows = []
    for factor in (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0):
        model = fit(bunch.data, 3, delta=factor * auto)
        out = np.zeros(len(far), dtype=bool)
        out[model.partition_.outliers()] = True
        ari = scores.adjusted_rand_index(bunch.target[bunch.target >= 0], model.labels_[bunch.target >= 0])
        name = f"{factor:g} × auto" if factor != 1 else "auto"
        found = [f"{(out & far).sum()} of {far.sum()}", f"{(out & ~far).sum()} of {(~far).sum()}"]
        rows.append([name, f"{factor * auto:.2f}", *found, f"{ari:.2f}", state(model)])
    model = fit(bunch.data, 3, delta=None)
    ari = scores.adjusted_rand_index(bunch.target[bunch.target >= 0], model.labels_[bunch.target >= 0])
    rows.append(["None", "–", f"0 of {far.sum()}", f"0 of {(~far).sum()}", f"{ari:.2f}", state(model)])
    write(
        "delta",
        "delta | value | outliers found | others called outliers | adjusted Rand of the rest | separation",
        rows,
    )


def alpha() -> None:
    """Measure the cost of large sets."""
    X, y, c = vectors()["iris"]
    rows = []
    for value in (0.0, 0.5, 1.0, 2.0, 4.0):
        model = fit(X, c, alpha=value, beta=1.5)
        ari = scores.adjusted_rand_index(y, model.labels_)
        n_star = model.partition_.nonspecificity()
        rows.append([f"{value:g}", f"{ari:.2f}", f"{n_star:.3f}", *shares(model), state(model)])
    write("alpha", "alpha | adjusted Rand | N* | sure | between | nowhere | separation", rows)


MEASURES = {measure.__name__: measure for measure in (metric, beta, lam, delta, alpha)}

if __name__ == "__main__":
    for measure in [MEASURES[name] for name in sys.argv[1:] or MEASURES]:
        begin = time.process_time()
        measure()
        print(f"{measure.__name__}: {time.process_time() - begin:.1f} s of CPU time, {HERE.name}/{measure.__name__}.md")
