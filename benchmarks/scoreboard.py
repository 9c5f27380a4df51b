"""All aims of the default answer in one table, with the last recorded values. Fixed seeds; a few minutes on two cores.

    python benchmarks/scoreboard.py                    # everything; exit code 1 where something got worse
    python benchmarks/scoreboard.py answers            # all sections about the answer, without times
    python benchmarks/scoreboard.py planted speed cold # some sections
    python benchmarks/scoreboard.py --record           # append the values to benchmarks/results/scoreboard.jsonl, and to
                                                       # docs/measured/scoreboard.md; then run docs/fill_in.py
    python benchmarks/scoreboard.py speed --record --busy    # times of a busy machine: shown, never compared

Sections: planted (``planted.py``), tables (``planted_tables.py``), labelled (``labelled.py``), series (eight archive
sets and ``made_series.py``), number (how often the number of groups is right, and "no groups" recognized), calibration,
speed (beside KMeans(n_init=10) and KASBA, alternating), cold (a first fit in a new process over ``import torch,
sklearn.cluster``). Labelled sets and archive sets are read from the folder ``SOFTECM_DATA``; without it they are
skipped. A value is compared with the last recorded one, and is worse if it differs by more than its noise in this file.
Ctrl-C keeps the finished sections. Each section runs in this process except the first fits.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from rows import environment, update

ROWS = Path(__file__).parent / "results" / "scoreboard.jsonl"
PAGE = Path(__file__).resolve().parent.parent / "docs" / "measured" / "scoreboard.md"
DRAW = 3001  # seed of the planted problems and tables
ARCHIVE = (
    "AtrialFibrillation",
    "BasicMotions",
    "CBF",
    "ERing",
    "Epilepsy",
    "GunPoint",
    "ItalyPowerDemand",
    "Libras",
)  # the sets whose means are quoted elsewhere
ITEM_FALL = 0.05  # fall of one labelled set to be listed, even with an equal mean
Items = dict[str, float]


@dataclass(frozen=True)
class Aim:
    """A value of the table: its direction, and the size of insignificant changes."""

    value: float
    noise: float
    higher: bool = True
    relative: bool = False  # the noise is a share of the recorded value
    items: Items = field(default_factory=dict)  # the values behind a mean, by name

    def is_worse(self, before: float) -> bool:
        """Whether it is worse than a recorded value by more than its noise."""
        return self._gain(before) < -1

    def is_better(self, before: float) -> bool:
        """Whether it is better than a recorded value by more than its noise."""
        return self._gain(before) > 1

    def _gain(self, before: float) -> float:
        """Gain in units of the noise."""
        scale = self.noise * (abs(before) if self.relative else 1.0)
        gain = (self.value - before) / scale
        return gain if self.higher else -gain


Aims = dict[str, Aim]


class NotAvailable(Exception):
    """A section that can't run here, and why."""


def progress(items: Sequence[Any], what: str) -> Iterator[Any]:
    """Yield the items, with a progress line on stderr."""
    begin, is_terminal = time.monotonic(), sys.stderr.isatty()
    for done, item in enumerate(items):
        if is_terminal:
            print(
                f"\r{what}: {done}/{len(items)}, {time.monotonic() - begin:.0f} s ", end="", file=sys.stderr, flush=True
            )
        yield item
    end = "\r" if is_terminal else ""
    print(f"{end}{what}: {len(items)} in {time.monotonic() - begin:.0f} s    ", file=sys.stderr, flush=True)


def mean(values: Iterable[float]) -> float:
    """Return the mean without NaN."""
    return float(np.nanmean(np.array(list(values), float)))


def default(c: int) -> Any:
    """Return the default estimator."""
    from softecm import SoftECM

    return SoftECM(c, random_state=0)


def needs_data(what: str) -> None:
    if "SOFTECM_DATA" not in os.environ:
        raise NotAvailable(f"{what} are skipped: SOFTECM_DATA does not name the folder of the data sets.")


# ---------------------------------------------------------------------- the answer
def planted_problems() -> Aims:
    """Score numbers with planted groups: the suite, and groups of other shapes."""
    import planted

    aims: Aims = {}
    for name, problems in (("suite", planted.suite), ("shapes", planted.shapes)):
        drawn = list(problems(DRAW))
        rows = [planted.judge(p, default(p.shape.c).fit(p.X)) for p in progress(drawn, f"planted, {name}")]
        aims[f"{name}: ARI"] = Aim(mean(r["rand"] for r in rows), 0.003)
        aims[f"{name}: balanced recall"] = Aim(mean(r["score"] for r in rows), 0.003)
        aims[f"{name}: clear called between"] = Aim(mean(r["called between"] for r in rows), 0.002, higher=False)
    return aims


def planted_tables() -> Aims:
    """Score mixed tables with and without irrelevant columns."""
    from planted_tables import judge_table, planted_table

    aims: Aims = {}
    for irrelevant in (0, 2, 5):
        drawn = [planted_table(seed, c, irrelevant) for seed, c in product(range(DRAW, DRAW + 6), (2, 3, 4, 5))]
        rows = [judge_table(t, default(t.c).fit(t.X)) for t in progress(drawn, f"tables, {irrelevant} irrelevant")]
        for key in rows[0]:
            higher = "false" not in key
            noise = 0.005 if key == "ARI" or not higher else 0.03
            aims[f"{irrelevant} irrelevant: {key}"] = Aim(mean(r[key] for r in rows), noise, higher)
    return aims


def labelled_sets() -> Aims:
    """Score data with classes: numbers and tables, and how well doubt finds the errors."""
    needs_data("labelled sets")
    import labelled
    from defaults import detects, doubt_of, errors
    from sklearn.metrics import adjusted_rand_score

    aims: Aims = {}
    for kind in ("numbers", "unscaled_numbers", "tables"):
        rand: Items = {}
        doubt: Items = {}
        for data in progress(list(getattr(labelled, kind)()), f"labelled, {kind}"):
            model = default(data.c).fit(data.X)
            rand[data.name] = float(adjusted_rand_score(data.y, model.labels_))
            doubt[data.name] = detects(errors(data, model.labels_), doubt_of(model.partition_))
        aims[f"{kind}: mean ARI"] = Aim(mean(rand.values()), 0.005, items=rand)
        aims[f"{kind}: AUROC of doubt for errors"] = Aim(mean(doubt.values()), 0.01)
    return aims


def series_sets() -> Aims:
    """Score default fits of series: generated ones, and the training parts of eight archive sets, z-normalized."""
    from made_series import KINDS, made_series
    from sklearn.metrics import adjusted_rand_score

    drawn = [made_series(kind, seed) for seed, kind in product((DRAW, DRAW + 1), KINDS)]
    rand: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for data in progress(drawn, "series, made up"):
        rand[data.kind].append(adjusted_rand_score(data.y, default(data.c).fit(data.X).labels_))
    items = {kind: mean(values) for kind, values in rand.items()}
    aims = {"made up: mean ARI": Aim(mean(items.values()), 0.01, items=items)}
    try:
        needs_data("archive sets")
    except NotAvailable as reason:
        print(reason, file=sys.stderr)
        return aims
    items = {}
    for name in progress(ARCHIVE, "series, archive"):
        X, y = archive_set(name)
        items[name] = float(adjusted_rand_score(y, default(len(np.unique(y))).fit(X).labels_))
    return aims | {"archive: mean ARI": Aim(mean(items.values()), 0.01, items=items)}


def archive_set(name: str) -> tuple[list[Any], Any]:
    """Return series and classes of the archive's training file."""
    import archive

    return archive.load(name, Path(os.environ["SOFTECM_DATA"]) / "timeseries")


def number_of_groups() -> Aims:
    """Measure how often choose_n_clusters finds the planted number, and 1 without groups."""
    cases: dict[str, list[tuple[Any, int]]] = {
        "numbers": list(_numbers()),
        "tables": list(_tables()),
        "series": list(_series()),
        "no groups": list(_no_groups()),
    }
    aims: Aims = {}
    for kind, problems in cases.items():
        right = [float(_chosen_number(X) == c) for X, c in progress(problems, f"number, {kind}")]
        aims[f"{kind}: right"] = Aim(mean(right), 1.5 / len(right))  # one more wrong is noise
    return aims


def _chosen_number(X: Any) -> int:
    from softecm import SoftECM
    from softecm.selection import choose_n_clusters

    return choose_n_clusters(X, estimator=SoftECM(random_state=0)).n_clusters


def _numbers() -> Iterator[tuple[Any, int]]:
    import number_of_clusters
    import planted

    for shape in list(number_of_clusters.shapes())[::25]:
        yield planted.gaussian(shape, DRAW).X, shape.c


def _tables() -> Iterator[tuple[Any, int]]:
    from planted_tables import planted_table

    for c, irrelevant in product((2, 3, 5), (0, 2, 5)):
        yield planted_table(DRAW, c, irrelevant, n=250).X, c


def _series() -> Iterator[tuple[Any, int]]:
    from made_series import made_series

    for kind, c in (("plain", 2), ("warp", 3), ("unequal", 4)):
        yield made_series(kind, DRAW, length=40, c=c).X, c


def _no_groups() -> Iterator[tuple[Any, int]]:
    from made_series import made_series
    from planted_tables import planted_table

    rng = np.random.default_rng(DRAW)
    for columns in (2, 5, 10):
        yield rng.normal(size=(300, columns)), 1
        yield rng.uniform(size=(300, columns)), 1
    for irrelevant in (0, 2, 5):
        yield planted_table(DRAW, 1, irrelevant, n=250).X, 1
    yield made_series("warp", DRAW, length=40, c=1).X, 1


def calibration_coverage() -> Aims:
    """Measure the coverage of ``calibrate``'s intervals (90 %), on few sets."""
    import calibration
    from softecm import SoftECM

    rows = [calibration.row(SoftECM, seed, "gaussian") for seed in progress(range(DRAW, DRAW + 8), "calibration")]
    inside, masses = np.nanmean(rows, 0)[:2]
    return {
        "interval of 90 %: coverage": Aim(float(inside), 0.02),
        "belief to plausibility: coverage": Aim(float(masses), 0.02),
    }


# ---------------------------------------------------------------------- time
def speed() -> Aims:
    """Return times of whole default fits over the peer's, alternating, minimum of three; below 1 is faster."""
    aims = {f"{name}, over KMeans": _ratio(ours, theirs) for name, ours, theirs in progress(_kmeans_jobs(), "speed")}
    if importlib.util.find_spec("aeon") is None:
        print("KASBA is skipped: aeon is not installed.", file=sys.stderr)
        return aims
    for metric in ("auto", "softdtw"):
        ratios = {name: _kasba_ratio(X, c, metric) for name, X, c in progress(_kasba_sets(), f"speed, {metric}")}
        middle = math.exp(mean(map(math.log, ratios.values())))
        aims[f"series, {metric}: over KASBA"] = Aim(middle, 0.15, higher=False, relative=True, items=ratios)
    return aims


def seconds(work: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _ratio(ours: Callable[[], Any], theirs: Callable[[], Any]) -> Aim:
    ours()  # compiles, fills caches
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(3)]
    mine, other = (min(column) for column in zip(*pairs, strict=True))
    return Aim(mine / other, 0.15, higher=False, relative=True)


def _kmeans_jobs() -> list[tuple[str, Callable[[], Any], Callable[[], Any]]]:
    from planted_tables import planted_table
    from sklearn.cluster import KMeans
    from sklearn.datasets import load_iris, make_blobs

    table = planted_table(DRAW, 4, 2, n=5000).X
    sets: list[tuple[str, Any, Any, int]] = [("150 x 4", load_iris().data, None, 3), ("table 5000 x 7", table, None, 4)]
    for n, c, spread in ((5000, 5, 2.0), (100_000, 8, 2.0), (100_000, 8, 3.5)):
        X = make_blobs(n, 10, centers=c, cluster_std=spread, center_box=(-6, 6), random_state=1)[0]
        sets.append((f"{n} x 10, spread {spread:g}", X, None, c))
    jobs = []
    for name, X, _, c in sets:
        plain = X if isinstance(X, np.ndarray) else _one_hot(X)
        jobs.append((name, lambda X=X, c=c: default(c).fit(X), lambda X=plain, c=c: KMeans(c, n_init=10).fit(X)))
    return jobs


def _one_hot(table: Any) -> Any:
    import pandas as pd

    coded = pd.get_dummies(table).to_numpy(float)
    return (coded - coded.mean(0)) / coded.std(0)


def _kasba_sets() -> list[tuple[str, Any, int]]:
    from softecm.datasets import make_cbf

    sets: list[tuple[str, Any, int]] = [("made CBF", list(make_cbf(20, random_state=0).data), 3)]
    if "SOFTECM_DATA" in os.environ:
        for name in ("ItalyPowerDemand", "GunPoint", "ERing", "Libras"):
            X, y = archive_set(name)
            sets.append((name, X, len(np.unique(y))))
    return sets


def _kasba_ratio(X: Any, c: int, metric: str) -> float:
    from aeon.clustering import KASBA
    from archive import same_threads

    def kasba(rows: Any, k: int) -> None:
        with same_threads():
            KASBA(n_clusters=k, random_state=0).fit(rows)

    channels_first = np.stack(X).transpose(0, 2, 1)
    fit = default(c).set_params(metric=metric)
    kasba(channels_first[: 4 * c], 2)  # compiles
    return _ratio(lambda: fit.fit(X), lambda: kasba(channels_first, c)).value


REFERENCE = "import torch, sklearn.cluster"
FIRST_FITS = {
    "numbers": "import numpy as np; X = np.random.default_rng(0).normal(size=(150, 4))",
    "table": (
        "import numpy as np, pandas as pd; r = np.random.default_rng(0)\n"
        "X = pd.DataFrame({'a': r.normal(size=150), 'b': r.choice(list('xyz'), 150)})"
    ),
    "series": "import numpy as np; X = np.random.default_rng(0).normal(size=(30, 40, 1))",
}
FIT = "import warnings; warnings.simplefilter('ignore'); from softecm import SoftECM; SoftECM(3, random_state=0).fit(X)"


def first_fits() -> Aims:
    """Time a process that imports and fits once, over one that imports torch and scikit-learn; caches full, and empty."""
    aims: Aims = {}
    for name in progress(list(FIRST_FITS), "cold"):
        code = f"{FIRST_FITS[name]}\n{FIT}"
        run_fresh(code)
        pairs = [(run_fresh(REFERENCE), run_fresh(code)) for _ in range(3)]
        base, warm = (min(column) for column in zip(*pairs, strict=True))
        with tempfile.TemporaryDirectory() as folder:
            empty = {"SOFTECM_CACHE": folder}
            first = run_fresh(code, **empty)
        aims[f"{name}: fresh process"] = Aim(warm / base, 0.15, higher=False, relative=True)
        aims[f"{name}: fresh installation"] = Aim(first / base, 0.25, higher=False, relative=True)
    return aims


def run_fresh(code: str, **environ: str) -> float:
    """Return the seconds of a new Python process that runs the code."""
    work = [sys.executable, "-c", code]
    return seconds(lambda: subprocess.run(work, check=True, env={**os.environ, **environ}))


# ---------------------------------------------------------------------- the command
ANSWERS: dict[str, Callable[[], Aims]] = {
    "planted": planted_problems,
    "tables": planted_tables,
    "labelled": labelled_sets,
    "series": series_sets,
    "number": number_of_groups,
    "calibration": calibration_coverage,
}
TIMES: dict[str, Callable[[], Aims]] = {"speed": speed, "cold": first_fits}
SECTIONS = {**ANSWERS, **TIMES}


def run(names: Sequence[str]) -> tuple[Aims, list[str]]:
    """Return values of the sections that ran, and the sections that failed or were not reached."""
    aims: Aims = {}
    missing: list[str] = []
    for i, name in enumerate(names):
        try:
            aims |= {f"{name}, {aim}": value for aim, value in SECTIONS[name]().items()}
        except NotAvailable as reason:
            print(reason, file=sys.stderr)
        except KeyboardInterrupt:
            print(f"\nInterrupted in {name}: showing the sections that are finished.", file=sys.stderr)
            return aims, [*missing, *names[i:]]
        except Exception as error:
            print(f"\n{name} failed: {type(error).__name__}: {error}", file=sys.stderr)
            missing.append(name)
    return aims, missing


def commit() -> str:
    """Return the commit of the imported softecm, with a star if its files have changed."""
    import softecm

    place = Path(softecm.__file__).parent

    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", str(place), *words], capture_output=True, text=True).stdout.strip()

    return git("rev-parse", "--short", "HEAD") + ("*" if git("status", "--porcelain", ".") else "")


def recorded(path: Path) -> dict[str, dict[str, Any]]:
    """Return the last recorded value of every aim with its row's date and commit."""
    last: dict[str, dict[str, Any]] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        row = json.loads(line)
        for name, value in row["values"].items():
            items = row.get("items", {}).get(name, {})
            is_busy = row.get("busy", False) and is_time(name)
            last[name] = {"value": value, "items": items, "busy": is_busy, **{k: row[k] for k in ("date", "commit")}}
    return last


def is_time(name: str) -> bool:
    """Whether an aim is a ratio of times, which a busy machine distorts."""
    return name.split(",")[0] in TIMES


def verdict(name: str, aim: Aim, before: dict[str, Any] | None, busy: bool) -> str:
    """Return one word about the change since the recorded value."""
    if before is None:
        return "new"
    if before["busy"] or (busy and is_time(name)):
        return "busy machine"
    return "WORSE" if aim.is_worse(before["value"]) else "better" if aim.is_better(before["value"]) else ""


def table(aims: Aims, last: dict[str, dict[str, Any]], busy: bool) -> tuple[list[str], list[str]]:
    """Return lines of a Markdown table, and the names of the aims that got worse."""
    lines = ["| aim | now | recorded | when | change |", "|---|---|---|---|---|"]
    worse: list[str] = []
    for name, aim in aims.items():
        before = last.get(name)
        word = verdict(name, aim, before, busy)
        worse += [name] if word == "WORSE" else []
        shown, when = (f"{before['value']:.3f}", f"{before['date']} {before['commit']}") if before else ("", "")
        arrow = "" if aim.higher else " ↓"
        lines.append(f"| {name}{arrow} | {aim.value:.3f} | {shown} | {when} | {word} |")
        lines += falls(aim, before) if word != "busy machine" else []
    return [*lines, "", "↓: less is better."], worse


def falls(aim: Aim, before: dict[str, Any] | None) -> list[str]:
    """Return rows for single sets that are clearly worse than recorded."""
    if before is None or not aim.higher:
        return []
    fallen = {k: v for k, v in aim.items.items() if before["items"].get(k, v) - v > ITEM_FALL}
    return [f"| – {k} | {v:.3f} | {before['items'][k]:.3f} | | fell |" for k, v in fallen.items()]


def record(path: Path, aims: Aims, busy: bool) -> None:
    """Append a row."""
    row = {"commit": commit(), **environment(), "threads": os.environ.get("OMP_NUM_THREADS", "default")}
    row |= {"busy": True} if busy else {}
    row["values"] = {name: round(aim.value, 4) for name, aim in aims.items()}
    row["items"] = {n: {k: round(v, 3) for k, v in aim.items.items()} for n, aim in aims.items() if aim.items}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")


def page(rows: Path) -> str:
    """Return the recorded values for the docs: the last of each aim, a row per problem; times only of an idle machine."""
    last = {name: one for name, one in recorded(rows).items() if not one["busy"]}
    newest = max(one["date"] for one in last.values())
    measured: dict[str, list[str]] = {}
    for name, one in last.items():
        if one["date"] == newest:
            problem, _, measure = name.partition(": " if ": " in name else ", ")
            measured.setdefault(problem, []).append(f"{measure} {one['value']:.3f}")
    lines = [f"| {problem} | {'; '.join(values)} |" for problem, values in measured.items()]
    made = f"Made by `python benchmarks/scoreboard.py --record`, {newest}."
    return "\n".join(["| problems | values |", "|---|---|", *lines, "", made, ""])


def sections(words: Sequence[str]) -> list[str]:
    """Return the sections named on the command line."""
    named = [*(name for word in words for name in (ANSWERS if word == "answers" else [word]))] or list(SECTIONS)
    return list(dict.fromkeys(named))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", help=f"answers (all but times), or of {', '.join(SECTIONS)}")
    parser.add_argument("--record", action="store_true", help="append the values to the recorded rows")
    parser.add_argument("--busy", action="store_true", help="something else is running: times are not compared")
    parser.add_argument("--rows", type=Path, default=ROWS, help="file of the recorded rows")
    options = parser.parse_args()
    names = sections(options.sections)
    if unknown := set(names) - set(SECTIONS):
        parser.error(f"sections must be of answers, {', '.join(SECTIONS)}; got {', '.join(sorted(unknown))}.")
    warnings.simplefilter("ignore")
    last = recorded(options.rows)
    aims, missing = run(names)
    lines, worse = table(aims, last, options.busy)
    print("\n".join(lines))
    if options.record and aims:
        record(options.rows, aims, options.busy)
        if options.rows == ROWS:
            PAGE.write_text(page(ROWS), encoding="utf-8")
            update(PAGE, here=True)
    if missing:
        print(f"Not finished: {', '.join(missing)}.")
    if worse:
        print(f"Worse than recorded: {', '.join(worse)}.")
    return int(bool(worse or missing))


if __name__ == "__main__":
    sys.exit(main())
