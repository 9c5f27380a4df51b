"""Clustering of archive sets of series: softecm and its peers, quality and time for each set.

    python benchmarks/archive.py                      # every set below the folder SOFTECM_DATA, or those named
    python benchmarks/archive.py CBF GunPoint --seeds 3 --methods auto,softdtw,kasba
    python benchmarks/archive.py --folder Univariate_ts --limit 600 --rows ucr.jsonl    # the whole UCR archive

Training parts, z-normalized, the true number of clusters; labels are used only for scoring. Each run is one line of
``benchmarks/results/archive.jsonl`` (``--rows``): existing runs are not repeated, so that an interrupted benchmark
resumes. Each runs in a separate process, which is terminated after ``--limit`` seconds. The table (``.md``), the
critical-difference diagram (``.svg``, see `ranks.py` for the tests) and the environment (``.json``) are written next to
the lines. A row without a score has a reason: a package that is not installed, a set that a method rejects (unequal
lengths), a timeout. On a busy machine a row is marked as loaded, and its time does not count; the CPU time of all
threads does, in a separate line. "CBF" is generated (3 x 50), like its archive file, unless ``--folder`` is given; the
files may be one or two folders below it.

AUROC of doubt: how well doubt (ours: ``partition_.doubt()``; peers: distance to the nearest centre minus that to the
second, by their own distance) ranks the wrongly labelled series of a set before the others; a series is wrong if its
class is not that of its cluster, after matching clusters and classes one to one. Sets without errors don't count.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib.metadata
import json
import multiprocessing
import os
import platform
import time
import warnings
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from ranks import draw, ranked

RESULTS = Path(__file__).parent / "results"
MADE = "CBF"
MISSING = "not installed"
COMPILING = 1800.0  # seconds for a first call on a type of series
PACKAGES = ("softecm", "aeon", "tslearn", "numba", "torch", "numpy", "scipy", "scikit-learn")
Series = list[np.ndarray]  # (steps, channels) each
Fit = Callable[[Series, int, int], dict[str, Any]]  # series, clusters, seed -> labels, and other fields of a row

# ---------------------------------------------------------------- sets


def load(name: str, folder: Path | None) -> tuple[Series, np.ndarray]:
    """Return the training part, z-normalized, and its classes."""
    from softecm.datasets import load_series, make_cbf
    from softecm.series import SeriesScaler

    if folder is not None:
        data, target = read_ts(file_of(name, folder))
    else:
        bunch = make_cbf(50, random_state=0) if name == MADE else load_series(name, split="train")
        data, target = bunch.data, bunch.target
    rows = [np.asarray(row, dtype=np.float64).reshape(len(row), -1) for row in data]
    return list(SeriesScaler().fit_transform(rows)), np.asarray(target)


def read_ts(path: Path) -> tuple[Series, np.ndarray]:
    """Return series (steps, channels) and classes of a .ts file."""
    from aeon.datasets import load_from_ts_file

    X, y = load_from_ts_file(str(path))
    return [np.asarray(row).T for row in X], np.unique(y, return_inverse=True)[1]


def files(folder: Path) -> dict[str, Path]:
    """Return the training files of a folder and two folders below it, by set."""
    found = sorted(path for depth in ("", "*/", "*/*/") for path in folder.glob(f"{depth}*_TRAIN.ts"))
    return {path.name.removesuffix("_TRAIN.ts"): path for path in found}


def file_of(name: str, folder: Path) -> Path:
    there = files(folder)
    if name not in there:
        raise SystemExit(f"{folder} has no {name}_TRAIN.ts. It has {', '.join(there) or 'no training file'}.")
    return there[name]


def names_in(folder: Path | None) -> list[str]:
    """Return all sets of the folder, or of SOFTECM_DATA."""
    place = folder or Path(os.environ.get("SOFTECM_DATA", "")) / "timeseries"
    found = list(files(place))
    if not found:
        raise SystemExit(f"{place} has no file NAME_TRAIN.ts. Give --folder, or set SOFTECM_DATA.")
    return found


# ---------------------------------------------------------------- methods


def ours(metric: str) -> Fit:
    def fit(X: Series, c: int, seed: int) -> dict[str, Any]:
        from softecm import SoftECM

        model = SoftECM(c, metric=metric, random_state=seed).fit(X)
        doubt = model.partition_.doubt()
        return {"labels": model.labels_, "doubt": doubt, "metric": model.metric_.name, "rounds": int(model.n_iter_)}

    return fit


def equal(X: Series) -> np.ndarray:
    """Return series of one length as an array (n, steps, channels)."""
    if len({len(row) for row in X}) > 1:
        raise ValueError("unequal lengths")
    return np.stack(X)


def padded(X: Series) -> np.ndarray:
    """Return series of any length in tslearn's form: padded with NaN."""
    longest = max(len(row) for row in X)
    return np.stack([np.pad(row, ((0, longest - len(row)), (0, 0)), constant_values=np.nan) for row in X])


def aeons(name: str, **options: Any) -> Fit:
    def fit(X: Series, c: int, seed: int) -> dict[str, Any]:
        import aeon.clustering

        values = equal(X).transpose(0, 2, 1)
        model = getattr(aeon.clustering, name)(n_clusters=c, random_state=seed, **options).fit(values)
        return {"labels": model.labels_, "margin": lambda: margin(values, model.cluster_centers_, model.distance)}

    return fit


def margin(values: np.ndarray, centers: np.ndarray, distance: str) -> np.ndarray:
    """Return how much nearer a series is to its nearest centre than to the second: never above 0."""
    from aeon.distances import pairwise_distance

    near = np.sort(pairwise_distance(values, centers, method=distance), 1)
    return near[:, 0] - near[:, 1]


def tslearns(name: str, shaped: Callable[[Series], np.ndarray], **options: Any) -> Fit:
    def fit(X: Series, c: int, seed: int) -> dict[str, Any]:
        import tslearn.clustering

        model = getattr(tslearn.clustering, name)(n_clusters=c, random_state=seed, **options)
        return {"labels": model.fit_predict(shaped(X))}

    return fit


METHODS: dict[str, Fit] = {
    **{name: ours(name) for name in ("auto", "softdtw", "softmsm", "softtwe", "msm", "adtw", "wdtw", "sbd")},
    "kasba": aeons("KASBA"),
    "k-means msm": aeons("TimeSeriesKMeans", distance="msm", averaging_method="mean", n_init=1),
    "k-medoids msm": aeons("TimeSeriesKMedoids", distance="msm", n_init=1),
    "dba": tslearns("TimeSeriesKMeans", padded, metric="dtw"),
    "k-shape": tslearns("KShape", equal),
}
DEFAULT = "auto,softdtw,softmsm,kasba,k-means msm,k-medoids msm,dba,k-shape"

# ---------------------------------------------------------------- runs


class Worker:
    """A process that fits, so that a run can time out."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.process: Any = None
        self.pipe: Connection | None = None

    def __call__(self, method: str, X: Series, c: int, seed: int) -> dict[str, Any]:
        """Return a run's result and time, or why it has none."""
        if self.process is None or not self.process.is_alive():
            context = multiprocessing.get_context("spawn")
            self.pipe, theirs = context.Pipe()
            self.process = context.Process(target=serve, args=(theirs,), daemon=True)
            self.process.start()
            theirs.close()
        assert self.pipe is not None
        self.pipe.send((method, X, c, seed))
        try:
            for limit in (COMPILING, self.limit):  # warmed up, fitted
                if not self.pipe.poll(limit):
                    self.close()
                    return {"refused": f"took longer than {limit:g} s"}
                found: dict[str, Any] = self.pipe.recv()
            return found
        except EOFError:
            return {"refused": f"its process ended (exit code {self.process.exitcode})"}

    def close(self) -> None:
        """Terminate the process."""
        if self.process is not None:
            self.process.kill()
            self.process.join()


def serve(pipe: Connection) -> None:
    """Fit on request; the first call of a method for a type of series compiles and is not timed."""
    warnings.simplefilter("ignore")
    warm = set()
    while True:
        try:
            method, X, c, seed = pipe.recv()
        except EOFError:
            return
        try:
            kind = (method, X[0].shape[1], len({len(row) for row in X}) > 1)
            if kind not in warm:
                warm_up(METHODS[method], X, c)
                warm.add(kind)
            pipe.send({})
            start, used = time.perf_counter(), time.process_time()
            with same_threads():
                found = METHODS[method](X, c, seed)
            took = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - used}
            if "margin" in found:
                found["doubt"] = found.pop("margin")()
            pipe.send({**found, **took})
        except ImportError as error:
            pipe.send({"refused": f"{MISSING}: {error}"[:200]})
        except Exception as error:
            pipe.send({"refused": f"{type(error).__name__}: {error}"[:200]})


def warm_up(fit: Fit, X: Series, c: int) -> None:
    """Compile for these types; errors will occur again in the run."""
    with contextlib.suppress(Exception), same_threads():
        fit([row[:12] for row in X[: max(2 * c, 12)]], 2, 0)


def run(rows: Path, names: list[str], wanted: list[str], seeds: int, limit: float, folder: Path | None) -> None:
    """Run every method on every set, except existing rows."""
    from softecm.scores import adjusted_rand_index

    there = {key_of(r) for r in read(rows) if not r.get("refused", "").startswith(MISSING)}
    missing = [(n, s, m) for n in names for s in range(seeds) for m in wanted if (n, m, s) not in there]
    worker, last, began = Worker(limit), "", time.monotonic()
    try:
        for done, (name, seed, method) in enumerate(missing):
            if name != last:
                (X, y), last = load(name, folder), name
            c, busy = len(np.unique(y)), os.getloadavg()[0]
            row = {
                "set": name,
                "n": len(X),
                "steps": int(np.median([len(x) for x in X])),
                "channels": X[0].shape[1],
                "c": c,
            }
            found = worker(method, X, c, seed)
            if "labels" in found:
                labels, doubt = found.pop("labels"), found.pop("doubt", None)
                found = {"ari": adjusted_rand_index(y, labels), "auroc": auroc_of(y, labels, doubt), **found}
            row |= {**found, "method": method, "seed": seed, "load": round(busy, 1), **surroundings()}
            row |= {"loaded": True} if busy > threads() + 0.5 else {}
            with rows.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            left = (time.monotonic() - began) / (done + 1) * (len(missing) - done - 1)
            shown = row.get("refused") or f"{row['ari']:.3f} in {row['seconds']:.2f} s"
            print(
                f"{done + 1}/{len(missing)} (about {left / 60:.0f} min left) {name} {method} {seed}: {shown}",
                flush=True,
            )
    finally:
        worker.close()


def auroc_of(y: np.ndarray, labels: np.ndarray, doubt: np.ndarray | None) -> float | None:
    """Return how well doubt ranks wrongly labelled series first; None without doubt, or if none or all are wrong."""
    from doubt import wrong
    from sklearn.metrics import roc_auc_score

    errors = wrong(y, np.asarray(labels, dtype=np.int64))
    return None if doubt is None or errors.all() or not errors.any() else float(roc_auc_score(errors, doubt))


@contextlib.contextmanager
def same_threads() -> Iterator[None]:
    """Restore torch's number of threads: KASBA leaves it with one for every core."""
    import torch

    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)


def threads() -> int:
    import torch

    return int(os.environ.get("OMP_NUM_THREADS", torch.get_num_threads()))


def surroundings() -> dict[str, Any]:
    """Return the environment of a row."""
    return {
        "date": str(datetime.date.today()),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {threads()} threads",
        "python": platform.python_version(),
        "packages": {name: found for name in PACKAGES if (found := version(name))},
    }


def version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def read(rows: Path) -> list[dict[str, Any]]:
    """Return the rows; packages may be installed later, so the last row of a run counts."""
    lines = rows.read_text(encoding="utf-8").splitlines() if rows.exists() else []
    last = {key_of(row): row for row in map(json.loads, lines)}
    return list(last.values())


def key_of(row: dict[str, Any]) -> tuple[str, str, int]:
    return row["set"], row["method"], row["seed"]


# ---------------------------------------------------------------- tables


class Cells:
    """Rows by set and method."""

    def __init__(self, rows: list[dict[str, Any]], methods: list[str]) -> None:
        self.sets = list(dict.fromkeys(r["set"] for r in rows))
        self.methods = [m for m in methods if any(r["method"] == m for r in rows)]
        self.rows = {
            (s, m): [r for r in rows if (r["set"], r["method"]) == (s, m)] for s in self.sets for m in self.methods
        }

    def mean(self, s: str, m: str) -> float:
        """Return the mean adjusted Rand index over the seeds; NaN if a run has none."""
        found = [r.get("ari", np.nan) for r in self.rows[s, m]]
        return float(np.mean(found)) if found else float("nan")

    def seconds(self, s: str, m: str) -> float:
        """Return the median over runs on an idle machine; NaN without any."""
        return self._median("seconds", [r for r in self.rows[s, m] if not r.get("loaded")])

    def cpu(self, s: str, m: str) -> float:
        """Return the median CPU time of all threads; NaN without any."""
        return self._median("cpu", self.rows[s, m])

    def auroc(self, m: str) -> float:
        """Return the mean AUROC of doubt over the sets with errors; NaN if a method has no doubt."""
        found = [[r["auroc"] for r in self.rows[s, m] if r.get("auroc") is not None] for s in self.sets]
        means = [float(np.mean(values)) for values in found if values]
        return float(np.mean(means)) if means else float("nan")

    @staticmethod
    def _median(what: str, rows: list[dict[str, Any]]) -> float:
        found = [r[what] for r in rows if what in r]
        return float(np.median(found)) if found else float("nan")

    def scores(self) -> tuple[list[str], list[str], np.ndarray]:
        """Return sets, methods and means (sets, methods): methods with any result, sets with results of all of these."""
        methods = [m for m in self.methods if any(np.isfinite(self.mean(s, m)) for s in self.sets)]
        table = np.array([[self.mean(s, m) for m in methods] for s in self.sets]).reshape(len(self.sets), len(methods))
        whole = np.isfinite(table).all(1)
        return [s for s, w in zip(self.sets, whole, strict=True) if w], methods, table[whole]


def table(cells: Cells) -> str:
    """Return mean adjusted Rand index and median seconds, one row per set, one column per method, and means."""
    from scoreboard import ARCHIVE

    def line(first: str, values: list[str]) -> str:
        return "| " + " | ".join([first, *values]) + " |"

    def shown(s: str, m: str) -> str:
        mean, seconds = cells.mean(s, m), cells.seconds(s, m)
        if np.isnan(mean):
            return "–"
        return f"{mean:.3f}" + ("" if np.isnan(seconds) else f" ({seconds:.2f} s)")

    out = [line("set", cells.methods), "|---" * (len(cells.methods) + 1) + "|"]
    out += [line(s, [shown(s, m) for m in cells.methods]) for s in cells.sets]
    sets, methods, scores = cells.scores()
    if len(sets):
        mean = dict(zip(methods, scores.mean(0), strict=True))
        out.append(line(f"mean of {len(sets)}", [f"{mean[m]:.3f}" if m in mean else "–" for m in cells.methods]))
        if len(sets) > len(ARCHIVE) and set(ARCHIVE) <= set(sets):
            known = [np.mean([cells.mean(s, m) for s in ARCHIVE]) for m in cells.methods]
            out.append(line(f"mean of {len(ARCHIVE)} known", [f"{value:.3f}" for value in known]))
        out.append(times("time", cells.seconds, cells, sets, methods, line))
        out.append(times("CPU time", cells.cpu, cells, sets, methods, line))
        out.append(line("AUROC of doubt", [f"{cells.auroc(m):.3f}" for m in cells.methods]))
    return "\n".join(filter(None, [*out, "", *reasons(cells)])) + "\n"


def times(
    what: str,
    taken: Callable[[str, str], float],
    cells: Cells,
    sets: list[str],
    methods: list[str],
    line: Callable[[str, list[str]], str],
) -> str:
    """Return times relative to the reference, geometric mean and worst; empty without times."""
    beside = "kasba" if "kasba" in methods else methods[0]
    base = np.log([taken(s, beside) for s in sets])
    ratios = {m: np.log([taken(s, m) for s in sets]) - base for m in methods}
    told = {m: f"{np.exp(r.mean()):.2f} ({np.exp(r.max()):.1f})" for m, r in ratios.items() if np.isfinite(r).all()}
    if not told:
        return ""
    return line(f"{what} over {beside}'s, mean (worst)", [told.get(m, "–") for m in cells.methods])


def reasons(cells: Cells) -> list[str]:
    """Return reasons for missing scores, one line per reason, and a note on excluded times."""
    found: dict[str, list[str]] = {}
    for (s, m), rows in cells.rows.items():
        for reason in dict.fromkeys(r["refused"] for r in rows if "refused" in r):
            found.setdefault(f"{m}: {reason}", []).append(s)
    out = [f"- {reason} ({', '.join(sets)})" for reason, sets in found.items()]
    if any(r.get("loaded") for rows in cells.rows.values() for r in rows):
        out.append("- times of runs during which something else was running are left out")
    return ["\n", *out] if out else []


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--methods", default=DEFAULT, help=f"of {', '.join(METHODS)}")
    parser.add_argument("--rows", type=Path, default=RESULTS / "archive.jsonl")
    parser.add_argument("--folder", type=Path, help="where the .ts files are, instead of SOFTECM_DATA/timeseries")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds a fit may take")
    asked = parser.parse_args()
    wanted = [m.strip() for m in asked.methods.split(",")]
    if unknown := [m for m in wanted if m not in METHODS]:
        raise SystemExit(f"--methods must be of {', '.join(METHODS)}; got {', '.join(unknown)}.")
    names = asked.sets or names_in(asked.folder)
    run(asked.rows, names, wanted, asked.seeds, asked.limit, asked.folder)
    rows = [r for r in read(asked.rows) if r["set"] in names and r["method"] in wanted and r["seed"] < asked.seeds]
    cells = Cells(rows, wanted)
    text = table(cells)
    command = " ".join(["python benchmarks/archive.py", *asked.sets])
    asked.rows.with_suffix(".md").write_text(f"`{command}`\n\n{text}", encoding="utf-8")
    facts = {"sets": names, "methods": wanted, "seeds": asked.seeds, "limit": asked.limit, **surroundings()}
    asked.rows.with_suffix(".json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    print(text)
    sets, methods, scores = cells.scores()
    if len(sets) > 2 and len(methods) > 2:
        draw(ranked(methods, scores), asked.rows.with_suffix(".svg"), what="adjusted Rand index")


if __name__ == "__main__":
    main()
