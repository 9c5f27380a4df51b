"""Shape, slope and texture of series, alone and combined, by rules that need no labels.

    python benchmarks/series_faces.py made --draws 101,102       # made-up series (made_series.py)
    python benchmarks/series_faces.py archive                    # eight sets below the folder SOFTECM_DATA, as they are
    python benchmarks/series_faces.py archive --scaled           # the same, z-normalized beforehand as archive.py does

One fit of SoftECM for each method, with the true number of classes and ``n_init=3``. Methods: the default, Soft-DTW alone,
each face alone (z-normalized), and three faces combined: equal weights, z-normalized or raw; and by evidence. Evidence is
how far the nearest neighbours of a series lie in its own group, beyond chance, under one distance (``kept_together``);
a face's weight is its evidence to the fourth power, for z-normalized and for raw series, and of the two combinations the
one with more evidence is taken. The power was chosen on draws 1 to 3 of the made-up series, with the
archive sets in view. ``--write`` puts the table
into ``benchmarks/results/series_faces_*.md``.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import archive
import made_series
import numpy as np
from scoreboard import ARCHIVE
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from softecm import SoftECM
from softecm.distances import Combined, ConvolutionFeatures, SemiMetric, SoftDTW, series_distances
from softecm.distances.series_auto import kept_together

RESULTS = Path(__file__).parent / "results"
POWER, LEAST = 4, 0.02  # of the evidence
MOST_SERIES, MOST_STEPS = 150, 200  # that are compared for evidence; longer series are shortened to means
Series = list[np.ndarray]
Problem = tuple[str, Series, np.ndarray]


def faces(normalized: bool) -> dict[str, SemiMetric]:
    """The three faces of a series."""
    return {
        "shape": SoftDTW(gamma="auto", znormalise=normalized),
        "slope": SoftDTW(gamma="auto", of="slope", znormalise=normalized),
        "texture": ConvolutionFeatures(znormalise=normalized),
    }


def grouped(squares: np.ndarray, c: int) -> np.ndarray:
    """K-means on the points whose squared distances these are, as nearly as there are such points."""
    middle = np.eye(len(squares)) - 1.0 / len(squares)
    values, vectors = np.linalg.eigh(-0.5 * middle @ squares @ middle)
    kept = values > 1e-9 * values.max()
    return KMeans(c, n_init=20, random_state=0).fit_predict(vectors[:, kept] * np.sqrt(values[kept]))


def evidence(squares: np.ndarray, c: int) -> float:
    """How clearly groups under this distance keep neighbours together."""
    return max(kept_together(np.sqrt(squares), grouped(squares, c), c), LEAST)


def shortened(X: Series) -> Series:
    """Few enough series of few enough steps to compare all pairs."""
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(X))[:MOST_SERIES]
    step = max(1, -(-max(len(X[i]) for i in rows) // MOST_STEPS))
    return [np.stack([part.mean(0) for part in np.array_split(X[i], max(3, len(X[i]) // step))]) for i in rows]


def by_evidence(X: Series, c: int) -> Combined:
    """Three faces with weights by evidence, of normalized or of raw series."""
    few = shortened(X)
    candidates: list[tuple[float, Combined]] = []
    for normalized in (True, False):
        found = {
            name: np.maximum(_symmetric(series_distances(few, metric=m)), 0.0) for name, m in faces(normalized).items()
        }
        scaled = {name: d / d.mean() if d.mean() > 0 else d for name, d in found.items()}
        weights = {name: evidence(d, c) ** POWER for name, d in scaled.items()}
        total = sum(weights.values())
        joint = sum(weights[name] / total * d for name, d in scaled.items())
        candidates.append((evidence(np.asarray(joint), c), Combined(faces(normalized), weights=weights)))
    return max(candidates, key=lambda pair: pair[0])[1]  # normalized where both are equal


def _symmetric(d: np.ndarray) -> np.ndarray:
    """Prototypes are measured at the series' own lengths: rounding aside, either way is the same."""
    return (d + d.T) / 2


METHODS: dict[str, Callable[[Series, int], Any]] = {
    "default": lambda X, c: "auto",
    "softdtw": lambda X, c: "softdtw",
    **{name: lambda X, c, name=name: faces(True)[name] for name in ("shape", "slope", "texture")},
    "equal, normalized": lambda X, c: Combined(faces(True)),
    "equal, raw": lambda X, c: Combined(faces(False)),
    "by evidence": by_evidence,
}


def made(draws: list[int]) -> Iterator[Problem]:
    """Made-up sets of every kind."""
    for seed in draws:
        for kind in made_series.KINDS:
            data = made_series.made_series(kind, seed)
            yield kind, data.X, data.y


def archives(scaled: bool) -> Iterator[Problem]:
    """The training parts of eight sets."""
    if "SOFTECM_DATA" not in os.environ:
        sys.exit("SOFTECM_DATA must be set to the folder of the data sets; it is not.")
    folder = Path(os.environ["SOFTECM_DATA"]) / "timeseries"
    for name in ARCHIVE:
        yield name, *(archive.load(name, folder) if scaled else archive.read_ts(archive.file_of(name, folder)))


def scores(problems: Iterator[Problem]) -> dict[str, dict[str, list[float]]]:
    """Adjusted Rand indices by problem and method."""
    found: dict[str, dict[str, list[float]]] = {}
    for name, X, y in problems:
        begin, c = time.monotonic(), len(np.unique(y))
        own = found.setdefault(name, {method: [] for method in METHODS})
        for method, metric in METHODS.items():
            model = SoftECM(c, metric=metric(X, c), n_init=3, random_state=0).fit(X)
            own[method].append(float(adjusted_rand_score(y, model.labels_)))
        shown = {method: round(values[-1], 2) for method, values in own.items()}
        print(f"{name}, {time.monotonic() - begin:.0f} s: {shown}", file=sys.stderr, flush=True)
    return found


def table(found: dict[str, dict[str, list[float]]]) -> list[str]:
    """Means over draws, a row for each problem, and the mean of all."""
    means = {name: [float(np.mean(own[m])) for m in METHODS] for name, own in found.items()}
    rows = [f"| {name} | {' | '.join(f'{v:.3f}' for v in values)} |" for name, values in means.items()]
    last = np.mean(list(means.values()), 0)
    head = [f"| series | {' | '.join(METHODS)} |", "|---" * (len(METHODS) + 1) + "|"]
    return [*head, *rows, f"| **mean** | {' | '.join(f'**{v:.3f}**' for v in last)} |"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("made", "archive"))
    parser.add_argument("--draws", default="101,102", help="of made: numbers with commas")
    parser.add_argument("--scaled", action="store_true", help="z-normalize the archive sets beforehand")
    parser.add_argument("--write", action="store_true", help="into benchmarks/results/")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    problems = (
        made([int(part) for part in options.draws.split(",")]) if options.part == "made" else archives(options.scaled)
    )
    typed = " ".join(word for word in sys.argv[1:] if word != "--write")
    lines = ["Adjusted Rand index, the true number of classes.", "", *table(scores(problems)), ""]
    text = "\n".join([*lines, f"Made by `python benchmarks/series_faces.py {typed}`."]) + "\n"
    print(text)
    if options.write:
        name = options.part + ("_scaled" if options.scaled else "")
        (RESULTS / f"series_faces_{name}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
