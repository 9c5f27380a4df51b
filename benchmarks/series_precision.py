"""Agreement of default fits of series in single and double precision: the share of objects with the same label.

    python benchmarks/series_precision.py BasicMotions CBF ERing Epilepsy GunPoint ItalyPowerDemand Libras --seeds 3

Labels are matched one to one first. Each fit is one line of ``benchmarks/results/series_precision.jsonl`` (``--rows``);
existing ones are not repeated.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from archive import RESULTS, load, read, surroundings

from softecm import SoftECM
from softecm.scores import accuracy


def row(name: str, seed: int) -> dict[str, object]:
    """Compare both fits of one set."""
    X, y = load(name, None)
    c = len(np.unique(y))
    double, single = (SoftECM(c, metric="softdtw", random_state=seed, dtype=d).fit(X) for d in ("float64", "float32"))
    return {
        "set": name,
        "seed": seed,
        "alike": float(accuracy(double.labels_, single.labels_)),
        "objective": float(double.objective_),
        "objective_single": float(single.objective_),
        **surroundings(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=Path, default=RESULTS / "series_precision.jsonl")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    there = {(r["set"], r["seed"]) for r in read(asked.rows)}
    for name, seed in ((name, seed) for name in asked.sets for seed in range(asked.seeds)):
        if (name, seed) not in there:
            found = row(name, seed)
            with asked.rows.open("a", encoding="utf-8") as file:
                file.write(json.dumps(found) + "\n")
            print(name, seed, found["alike"], found["objective"], found["objective_single"], flush=True)


if __name__ == "__main__":
    main()
