"""Shape, slope and texture of series, alone and combined, by rules without labels.

    python benchmarks/series_faces.py made --draws 101,102       # made-up series (made_series.py)
    python benchmarks/series_faces.py other --draws 101,102      # of other kinds (other_series.py)
    python benchmarks/series_faces.py archive                    # eight sets below the folder SOFTECM_DATA, as they are
    python benchmarks/series_faces.py archive --scaled           # the same, z-normalized beforehand as archive.py does

One fit of SoftECM for each method, with the true number of classes and ``n_init=3``. Methods: the default, Soft-DTW
alone, each face alone (z-normalized), and three faces combined with equal weights, z-normalized or raw. The default
weights faces by the clarity of their groups (``softecm.distances.series_auto``). Chosen with knowledge of labels: the
power, 6, on draws of `made_series.py` and the archive sets; the second gamma, "smooth", on draws 400 to 402 of both
generators and the archive sets. ``--write`` writes the table to ``benchmarks/results/series_faces_*.md``.
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
import other_series
from scoreboard import ARCHIVE
from sklearn.metrics import adjusted_rand_score

from softecm import SoftECM
from softecm.distances import Combined, ConvolutionFeatures, SemiMetric, SoftDTW

RESULTS = Path(__file__).parent / "results"
Series = list[np.ndarray]
Problem = tuple[str, Series, np.ndarray]


def faces(normalized: bool) -> dict[str, SemiMetric]:
    """Return the three faces of a series."""
    return {
        "shape": SoftDTW(gamma="auto", znormalise=normalized),
        "slope": SoftDTW(gamma="auto", of="slope", znormalise=normalized),
        "texture": ConvolutionFeatures(znormalise=normalized),
    }


METHODS: dict[str, Callable[[Series, int], Any]] = {
    "default": lambda X, c: "auto",
    "softdtw": lambda X, c: "softdtw",
    **{name: lambda X, c, name=name: faces(True)[name] for name in ("shape", "slope", "texture")},
    **{of: lambda X, c, of=of: ConvolutionFeatures(of=of) for of in ("short patterns", "frequencies")},
    "equal, normalized": lambda X, c: Combined(faces(True)),
    "equal, raw": lambda X, c: Combined(faces(False)),
}


GENERATORS = {
    "made": (made_series.KINDS, made_series.made_series),
    "other": (other_series.KINDS, other_series.other_series),
}


def made(part: str, draws: list[int]) -> Iterator[Problem]:
    """Yield generated sets of every kind."""
    kinds, draw = GENERATORS[part]
    for seed in draws:
        for kind in kinds:
            data = draw(kind, seed)
            yield kind, data.X, data.y


def archives(scaled: bool) -> Iterator[Problem]:
    """Yield the training parts of eight sets."""
    if "SOFTECM_DATA" not in os.environ:
        sys.exit("SOFTECM_DATA must be set to the folder of the data sets; it is not.")
    folder = Path(os.environ["SOFTECM_DATA"]) / "timeseries"
    for name in ARCHIVE:
        yield name, *(archive.load(name, folder) if scaled else archive.read_ts(archive.file_of(name, folder)))


def scores(problems: Iterator[Problem]) -> dict[str, dict[str, list[float]]]:
    """Return adjusted Rand indices by problem and method."""
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
    """Return means over draws, a row for each problem, and the mean of all."""
    means = {name: [float(np.mean(own[m])) for m in METHODS] for name, own in found.items()}
    rows = [f"| {name} | {' | '.join(f'{v:.3f}' for v in values)} |" for name, values in means.items()]
    last = np.mean(list(means.values()), 0)
    head = [f"| series | {' | '.join(METHODS)} |", "|---" * (len(METHODS) + 1) + "|"]
    return [*head, *rows, f"| **mean** | {' | '.join(f'**{v:.3f}**' for v in last)} |"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=(*GENERATORS, "archive"))
    parser.add_argument("--draws", default="101,102", help="of made-up series: numbers with commas")
    parser.add_argument("--scaled", action="store_true", help="z-normalize the archive sets beforehand")
    parser.add_argument("--write", action="store_true", help="into benchmarks/results/")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    draws = [int(draw) for draw in options.draws.split(",")]
    problems = archives(options.scaled) if options.part == "archive" else made(options.part, draws)
    typed = " ".join(word for word in sys.argv[1:] if word != "--write")
    lines = ["Adjusted Rand index, the true number of classes.", "", *table(scores(problems)), ""]
    text = "\n".join([*lines, f"Made by `python benchmarks/series_faces.py {typed}`."]) + "\n"
    print(text)
    if options.write:
        name = options.part + ("_scaled" if options.scaled else "")
        (RESULTS / f"series_faces_{name}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
