"""Clusterings of archive sets of series: ours beside the peers, quality and time, set by set.

    python benchmarks/archive.py                      # every set below the folder SOFTECM_DATA, or those named
    python benchmarks/archive.py CBF GunPoint --seeds 3 --methods softdtw,softmsm,kasba

Training parts, z-normalised, the true number of clusters; labels are looked at when all is done. Each run is one line of
``benchmarks/results/archive.jsonl`` (``--rows``): a run that is there already is not run again, so that an interrupted
benchmark goes on where it was. The table and the critical-difference figure are made from these lines. Peers are those
that can be imported: aeon's KASBA, k-means with MSM and k-medoids, tslearn's DBA k-means and k-shape; one that
refuses a set (unequal lengths) has no row there. "CBF" is made (3 x 50), as its archive file would be.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from softecm import SoftECM
from softecm.datasets import load_series, make_cbf
from softecm.scores import adjusted_rand_index
from softecm.series import SeriesScaler

RESULTS = Path(__file__).parent / "results"
MADE = "CBF"
Series = list[np.ndarray]  # (steps, channels) each


def load(name: str) -> tuple[Series, np.ndarray]:
    """The training part, z-normalised, and its classes."""
    bunch = make_cbf(50, random_state=0) if name == MADE else load_series(name, split="train")
    rows = [np.asarray(row, dtype=np.float64).reshape(len(row), -1) for row in bunch.data]
    return list(SeriesScaler().fit_transform(rows)), np.asarray(bunch.target)


def equal(X: Series) -> np.ndarray:
    """Series of one length as an array (n, steps, channels)."""
    if len({len(row) for row in X}) > 1:
        raise ValueError("unequal lengths")
    return np.stack(X)


def ours(metric: str) -> Callable[[Series, int, int], np.ndarray]:
    return lambda X, c, seed: SoftECM(c, metric=metric, random_state=seed).fit(X).labels_


def aeons(make: Callable[[int, int], Any]) -> Callable[[Series, int, int], np.ndarray]:
    return lambda X, c, seed: make(c, seed).fit(equal(X).transpose(0, 2, 1)).labels_


def tslearns(make: Callable[[int, int], Any]) -> Callable[[Series, int, int], np.ndarray]:
    return lambda X, c, seed: make(c, seed).fit_predict(equal(X))


def methods() -> dict[str, Callable[[Series, int, int], np.ndarray]]:
    """What can be run here, by name."""
    found = {name: ours(name) for name in ("softdtw", "softmsm", "msm", "wdtw", "adtw")}
    try:
        from aeon.clustering import KASBA, TimeSeriesKMeans, TimeSeriesKMedoids

        found["kasba"] = aeons(lambda c, seed: KASBA(n_clusters=c, random_state=seed))
        found["k-means msm"] = aeons(
            lambda c, seed: TimeSeriesKMeans(
                n_clusters=c, distance="msm", averaging_method="mean", n_init=1, random_state=seed
            )
        )
        found["k-medoids msm"] = aeons(
            lambda c, seed: TimeSeriesKMedoids(n_clusters=c, distance="msm", n_init=1, random_state=seed)
        )
    except ImportError:
        pass
    try:
        from tslearn.clustering import KShape
        from tslearn.clustering import TimeSeriesKMeans as DBA

        found["dba"] = tslearns(lambda c, seed: DBA(n_clusters=c, metric="dtw", random_state=seed))
        found["k-shape"] = tslearns(lambda c, seed: KShape(n_clusters=c, random_state=seed))
    except ImportError:
        pass
    return found


def run(rows: Path, names: list[str], wanted: list[str], seeds: int) -> None:
    """Every method on every set, what is not there yet; the first call on a set warms compilers up and is not timed."""
    there = {(r["set"], r["method"], r["seed"]) for r in read(rows)}
    fits = {name: fit for name, fit in methods().items() if name in wanted}
    for name in names:
        missing = [(m, s) for s in range(seeds) for m in fits if (name, m, s) not in there]
        if not missing:
            continue
        X, y = load(name)
        c = len(np.unique(y))
        for method in dict.fromkeys(m for m, _ in missing):
            warm(fits[method], X, c)
        for method, seed in missing:
            row = {
                "set": name,
                "n": len(X),
                "steps": int(np.median([len(x) for x in X])),
                "channels": X[0].shape[1],
                "c": c,
            }
            start = time.perf_counter()
            try:
                labels = fits[method](X, c, seed)
                row |= {"ari": adjusted_rand_index(y, labels), "seconds": time.perf_counter() - start}
            except Exception as error:
                row |= {"refused": f"{type(error).__name__}: {error}"[:200]}
            row |= {"method": method, "seed": seed, **surroundings()}
            with rows.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            print(name, method, seed, row.get("ari"), row.get("seconds", row.get("refused")), flush=True)


def warm(fit: Callable[[Series, int, int], np.ndarray], X: Series, c: int) -> None:
    """Compile for these types; whatever goes wrong will go wrong again."""
    try:
        fit([row[:12] for row in X[: max(2 * c, 6)]], 2, 0)
    except Exception as error:
        print(f"  not warmed up: {error}"[:120])


def surroundings() -> dict[str, Any]:
    """What a row was measured with."""
    packages = ("softecm", "aeon", "tslearn", "numba", "torch")
    installed = {name: version(name) for name in packages}
    threads = torch.get_num_threads()
    return {
        "date": str(datetime.date.today()),
        "machine": f"{os.cpu_count()} cores, {threads} threads, load {os.getloadavg()[0]:.1f}",
        "python": platform.python_version(),
        "packages": {name: found for name, found in installed.items() if found},
    }


def version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def read(rows: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines()] if rows.exists() else []


def table(rows: list[dict[str, Any]]) -> str:
    """Mean adjusted Rand index and median seconds, a row a set, a column a method; means over the sets all have."""
    sets = list(dict.fromkeys(r["set"] for r in rows))
    names = list(dict.fromkeys(r["method"] for r in rows))
    cells = {
        (s, m): [r for r in rows if r["set"] == s and r["method"] == m and "ari" in r] for s in sets for m in names
    }
    shared = [s for s in sets if all(cells[s, m] for m in names)]

    def line(first: str, values: list[str]) -> str:
        return "| " + " | ".join([first, *values]) + " |"

    def shown(s: str, m: str) -> str:
        found = cells[s, m]
        if not found:
            return "–"
        return f"{np.mean([r['ari'] for r in found]):.3f} ({np.median([r['seconds'] for r in found]):.2f} s)"

    out = [line("set", names), "|---" * (len(names) + 1) + "|"]
    out += [line(s, [shown(s, m) for m in names]) for s in sets]
    if shared:
        mean = {m: np.mean([np.mean([r["ari"] for r in cells[s, m]]) for s in shared]) for m in names}
        pace = {m: [np.median([r["seconds"] for r in cells[s, m]]) for s in shared] for m in names}
        base = np.log(pace.get("kasba", pace[names[0]]))
        out.append(line(f"mean of {len(shared)}", [f"{mean[m]:.3f}" for m in names]))
        ratio = {m: np.exp(np.mean(np.log(pace[m]) - base)) for m in names}
        worst = {m: np.exp(np.max(np.log(pace[m]) - base)) for m in names}
        beside = "kasba" if "kasba" in names else names[0]
        out.append(line(f"time over {beside}'s, mean (worst)", [f"{ratio[m]:.2f} ({worst[m]:.1f})" for m in names]))
    return "\n".join(out) + "\n"


def figure(rows: list[dict[str, Any]], path: Path) -> bool:
    """The critical-difference diagram over the sets that all methods have; aeon draws it."""
    names = list(dict.fromkeys(r["method"] for r in rows))
    sets = list(dict.fromkeys(r["set"] for r in rows))
    mean = {(r["set"], r["method"]): [] for r in rows if "ari" in r}
    for r in rows:
        if "ari" in r:
            mean[r["set"], r["method"]].append(r["ari"])
    shared = [s for s in sets if all((s, m) in mean for m in names)]
    if len(shared) < 3 or len(names) < 3:
        return False
    from aeon.visualisation import plot_critical_difference

    scores = np.array([[np.mean(mean[s, m]) for m in names] for s in shared])
    drawn = plot_critical_difference(scores, names)[0]
    drawn.suptitle(f"Adjusted Rand index, mean ranks over {len(shared)} sets")
    drawn.savefig(path, bbox_inches="tight")
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--methods", default="softdtw,softmsm,kasba,k-means msm,dba,k-shape")
    parser.add_argument("--rows", type=Path, default=RESULTS / "archive.jsonl")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    folder = Path(os.environ.get("SOFTECM_DATA", "")) / "timeseries"
    names = asked.sets or sorted(p.name for p in folder.iterdir() if p.is_dir())
    run(asked.rows, names, asked.methods.split(","), asked.seeds)
    rows = [r for r in read(asked.rows) if r["set"] in names and r["method"] in asked.methods.split(",")]
    text = table(rows)
    command = " ".join(["python benchmarks/archive.py", *asked.sets])
    asked.rows.with_suffix(".md").write_text(f"`{command}`\n\n{text}", encoding="utf-8")
    print(text)
    try:
        figure(rows, asked.rows.with_suffix(".svg"))
    except ImportError as error:
        print(f"no figure: {error}")


if __name__ == "__main__":
    main()
