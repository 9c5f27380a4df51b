"""Fit with progress, an end on Ctrl-C that keeps the best so far, and warnings collected."""

from __future__ import annotations

import math
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from softecm._text import meant
from softecm._warnings import CheckpointWarning, ReadingWarning
from softecm.cli.options import Params
from softecm.cli.problems import Problem, Stopped, mendable
from softecm.readers import Loaded
from softecm.readers.base import ATTRIBUTES

if TYPE_CHECKING:
    from softecm import SoftECM
    from softecm.distances.series_auto import Tried
    from softecm.fit.loop import Progress as Update

ALL_OF_IT = 0.9  # of a group: the code makes it
EVERY = 15.0  # seconds between two lines about a long fit

STARTING = "initializing"

#: How ``--scale`` may have columns of numbers, and what is said of it.
SCALES = {
    "auto": "",
    "standard": "numbers are scaled to unit standard deviation (--scale standard)",
    "robust": "numbers are scaled by their quartiles (--scale robust)",
    "none": "numbers are not scaled (--scale none)",
}


WEIGHTS = ("auto", "equal")  # what ``--weights`` may say


@dataclass(frozen=True)
class FittedFile:
    """A fitted estimator and what happened on the way."""

    model: SoftECM
    warnings: tuple[str, ...]
    interrupted: bool
    seconds: float
    seconds_per_iteration: float | None = None  # the median; None for fewer than two rounds
    checkpoints_saved: bool = True  # whether every checkpoint could be written
    links: str = ""  # that all links are satisfied, where they are


class Measure(NamedTuple):
    """The metric of a fit: what it is called, why it was taken, and what the estimator is given."""

    name: str
    why: str
    metric: object
    tried: tuple[Tried, ...] = ()  # where several were compared, best first
    mind: tuple[str, ...] = ()  # what makes it a poor choice
    finds_shape: bool = False  # the estimator may find that another shape of groups suits numbers better


def metric_for(
    metric_name: str, loaded: Loaded, scale: str = "auto", weights: str = "auto", n_clusters: int | None = None
) -> Measure:
    """The metric that was asked for, or that suits the data, and why; refused where nobody knows it."""
    if weights not in WEIGHTS:
        raise Problem(f"--weights must be {' or '.join(WEIGHTS)}; got {weights}.{meant(weights, WEIGHTS)}")
    measure = _measure_for(metric_name, loaded, scale, n_clusters)
    measure = _alike(measure, loaded) if weights == "equal" else measure
    return measure._replace(mind=_far_values(measure.metric, loaded))


def _far_values(metric: object, loaded: Loaded) -> tuple[str, ...]:
    """What looks like a code for missing cells, and the columns that one far value stretches."""
    from softecm.distances.auto import far_values

    called, names = "row" if loaded.ids is None else "object", loaded.names
    with mendable(ValueError, TypeError):
        sentences = far_values(metric, loaded.data, lambda row: f"{called} {names[row]}")
    return tuple(_sentence(mind) for mind in sentences)


def groups_of_codes(metric: object, loaded: Loaded, model: SoftECM) -> tuple[str, ...]:
    """Which groups are made of the rows that hold what looks like a code for missing cells."""
    from softecm.distances.auto import rows_of_codes

    if loaded.has_views:
        return ()
    with mendable(ValueError, TypeError):
        codes = rows_of_codes(metric, loaded.data)
    decisions = model.partition_.decisions()
    names = decisions.focal_sets.labels()
    sentences = []
    for code, rows in codes:
        for column in np.unique(decisions.columns[rows]):
            own = decisions.columns == column
            both = int((own & rows).sum())
            if both < ALL_OF_IT * int(own.sum()):
                continue
            what, held = "The set of outliers" if column == 0 else names[column], int(rows.sum())
            exactly = f" is exactly the {held} rows with {code.value:.0f}."
            most = f": {both} of its {int(own.sum())} objects are among the {held} rows with {code.value:.0f}."
            sentences.append(f"{what}{exactly if (own == rows).all() else most}")
    return tuple(sentences)


def _measure_for(metric_name: str, loaded: Loaded, scale: str, n_clusters: int | None) -> Measure:
    from scipy.sparse import issparse

    from softecm.distances import SEMI_METRICS
    from softecm.distances.auto import ALIKE, ASKED, SERIES_AUTO, SPARSE, UNITS, Look
    from softecm.spaces import RealVectors

    if scale not in SCALES:
        raise Problem(f"--scale must be {', '.join(SCALES)}; got {scale}.{meant(scale, SCALES)}")
    if loaded.has_views:
        return _views(metric_name, loaded, scale)
    if metric_name not in ("auto", SERIES_AUTO, *SEMI_METRICS):
        known = ("auto", SERIES_AUTO, *SEMI_METRICS)
        raise Problem(f"--metric {metric_name} is unknown: use {', '.join(known)}.{meant(metric_name, known)}")
    if metric_name == SERIES_AUTO or (metric_name == "auto" and _of_numbers(loaded)):
        return _tried(loaded, scale, n_clusters)
    if metric_name != "auto":
        _check_kind(metric_name, loaded)
    if scale != "auto":
        return _scaled(metric_name, loaded, scale)
    if metric_name != "auto":
        if loaded.gaps and SEMI_METRICS[metric_name].space is RealVectors:
            raise Problem(_no_gaps(metric_name, loaded))
        return Measure(metric_name, ASKED, metric_name)
    if issparse(loaded.data):
        return Measure("sqeuclidean", SPARSE, "sqeuclidean")
    with mendable(ValueError):
        look = Look.of(loaded.data)  # which columns to take, the reader has said
    # Of a file read block by block only a sample is here, but its gaps were counted.
    choice = replace(look, gaps=look.gaps or bool(loaded.gaps)).choice()
    return Measure(choice.name, choice.reason, choice.metric, finds_shape=choice.reason in (ALIKE, UNITS))


def _views(metric_name: str, loaded: Loaded, scale: str) -> Measure:
    """What suits each view, all counting alike; the table's numbers are scaled as asked."""
    from softecm.distances.auto import MetricChoice, choose_views

    if all(getattr(part, "ndim", 0) == 2 and part.shape[0] == part.shape[1] for part in loaded.data.values()):
        raise Problem("--matrix needs --algorithm MECMdd, which combines several dissimilarity matrices: add it.")
    if metric_name != "auto":
        raise Problem(
            "--metric is for one file: with --series or --embedding each view gets its own metric. Leave it out."
        )
    name, table = next(iter(loaded.data.items()))
    own = _measure_for("auto", replace(loaded, data=table), scale, None)
    with mendable(ValueError):
        choice = choose_views(loaded.data, {name: MetricChoice(own.metric, own.why)})
    return Measure(choice.name, choice.reason, choice.metric)


def _of_numbers(loaded: Loaded) -> bool:
    """Whether the file holds series, of numbers rather than of states."""
    from softecm.distances.auto import kind_of

    with mendable(ValueError):
        return loaded.shape == "series" and kind_of(loaded.data) == "series"


def _tried(loaded: Loaded, scale: str, n_clusters: int | None) -> Measure:
    """How the views of series count."""
    from softecm.distances.auto import SERIES_AUTO, series_choice

    if loaded.shape != "series":
        raise Problem(f"--metric {SERIES_AUTO} is for series, and this file is a table: use --metric auto.")
    if scale != "auto":
        raise Problem(f"--scale {scale} is for tables, and the file holds series: leave it out.")
    with mendable(ValueError):
        choice = series_choice(loaded.data, n_clusters)
    return Measure(choice.name, choice.reason, choice.metric, choice.tried)


def _check_kind(metric_name: str, loaded: Loaded) -> None:
    """Refuse a metric of series for a table, and of tables for series."""
    from softecm.distances import SEMI_METRICS
    from softecm.spaces import States

    if SEMI_METRICS[metric_name].space is States:
        if loaded.shape != "series" or loaded.table is not None or not isinstance(loaded.data, list):
            raise Problem(
                f"--metric {metric_name} compares sequences of states: give a table with one sequence per row, or with one "
                "step per row and --id, --time and --value."
            )
        return
    of_series = SEMI_METRICS[metric_name].space.of_series
    if of_series and loaded.shape == "table":
        raise Problem(
            f"--metric {metric_name} compares time series, and the file was read as a table with one object per row: use "
            "--metric auto. If it holds series with one time step per row, add --id, --time and --value; series of equal "
            "length can be an .npy file of shape (series, steps, channels)."
        )
    if not of_series and loaded.shape == "series":
        raise Problem(
            f"--metric {metric_name} compares rows of a table, and the file holds series: use auto, softdtw or dtw."
        )


def _scaled(metric_name: str, loaded: Loaded, scale: str) -> Measure:
    """The metric with columns scaled as asked."""
    from softecm.distances import Mixed

    if loaded.shape == "series":
        raise Problem(f"--scale {scale} is for tables, and the file holds series: leave it out.")
    if metric_name not in ("auto", "mixed"):
        raise Problem(
            f"--scale {scale} goes with --metric auto or mixed, which scale columns; got --metric {metric_name}."
        )
    why = SCALES[scale]
    plain = not loaded.gaps and all(c.kind == "number" for c in loaded.columns if c.kind in ATTRIBUTES)
    if scale == "none" and metric_name == "auto" and plain:
        return Measure("sqeuclidean", why, "sqeuclidean")
    return Measure("mixed", why, Mixed(scaling={"standard": "std"}.get(scale, scale), weights=None))


def _alike(measure: Measure, loaded: Loaded) -> Measure:
    """The same with all columns counting alike."""
    from softecm.distances import Mixed
    from softecm.distances.auto import ASKED

    if loaded.shape == "series" or loaded.has_views:
        raise Problem("--weights equal is for columns of a table, and the file holds series or views: leave it out.")
    if measure.name != Mixed.name:
        if measure.why == ASKED:
            raise Problem(f"--weights equal goes with --metric auto or mixed, which weigh columns; got {measure.name}.")
        return measure
    metric = measure.metric if isinstance(measure.metric, Mixed) else Mixed()
    return measure._replace(
        metric=replace(metric, weights=None), why=f"{measure.why}; all columns have equal weights (--weights equal)"
    )


def _no_gaps(metric_name: str, loaded: Loaded) -> str:
    cells = "1 cell is" if loaded.gaps == 1 else f"{loaded.gaps} cells are"
    first = next(c.name for c in loaded.columns if c.gaps and c.kind in ATTRIBUTES)
    return (
        f"--metric {metric_name} takes no missing values, and {cells} missing (column {first}): use --metric mixed, which "
        "skips them, fill them in, or leave out columns with --drop."
    )


def fit(data: object, params: Params, err: Console, title: str = "fitting", **options: object) -> FittedFile:
    """One SoftECM fit; ``options`` are those of its ``fit``."""
    from softecm import SoftECM

    return watched(SoftECM(**params), data, err, title, **options)


def watched(model: SoftECM, data: object, err: Console, title: str, **options: Any) -> FittedFile:
    """Fit a model with a bar, an ear for Ctrl-C, and its warnings kept."""
    began = time.perf_counter()
    with (
        _progress(err) as bar,
        _interrupts(err) as stopped,
        warnings.catch_warnings(record=True, action="always") as caught,
    ):
        watch = _Watch(bar, title, float(getattr(model, "tol", 0.0)), stopped)
        model.callback = watch
        with heartbeat(err, watch.line), mendable(ValueError, TypeError, FileNotFoundError):
            model.fit(data, **options)
    model.callback = None
    interrupted = stopped()
    messages = user_messages(
        [w for w in caught if not issubclass(w.category, ReadingWarning)]
    )  # said with names: `Measure.mind`
    if interrupted:
        messages = tuple(text for text in messages if "has not converged" not in text)
        messages = ("Ctrl-C stopped the fit: this is the best result so far.", *messages)
    is_saved = not any(issubclass(w.category, CheckpointWarning) for w in caught)
    return FittedFile(
        model, messages, interrupted, time.perf_counter() - began, watch.seconds_per_iteration(), is_saved
    )


def fit_with_checkpoints(fit: Callable[..., FittedFile], safety: Mapping[str, Path]) -> FittedFile:
    """One fit that may write checkpoints: where they are written, Ctrl-C ends the program and says how to go on."""
    checkpoint = safety.get("checkpoint") or safety.get("resume")
    try:
        fitted = fit(**safety)
    except KeyboardInterrupt:
        if checkpoint is None or not Path(checkpoint).exists():
            raise
        raise Stopped(
            f"stopped. The last complete iteration is in {checkpoint}: continue with --resume {checkpoint}."
        ) from None
    if fitted.interrupted and fitted.checkpoints_saved and checkpoint is not None:
        raise Stopped(
            f"stopped after iteration {fitted.model.n_iter_}, saved in {checkpoint}: continue with --resume {checkpoint}."
        )
    return fitted


class _Watch:
    """The estimator's callback: moves the bar, guesses the time left, asks whether to stop."""

    def __init__(self, bar: Progress, title: str, tol: float, stopped: Callable[[], bool]) -> None:
        self.bar, self.tol, self.stopped = bar, max(tol, 1e-12), stopped
        self.title, self.stands = title, STARTING
        self.task = bar.add_task(title, total=1.0, left=self.stands)
        self.began = 0.0
        self.changes: list[float] = []
        self.times: list[float] = []

    def seconds_per_iteration(self) -> float | None:
        """The median time between two rounds."""
        return float(np.median(np.diff(self.times))) if len(self.times) > 1 else None

    def __call__(self, progress: Update) -> bool:
        self.times.append(time.perf_counter())
        if not self.changes:  # the first round also waits for compilers and seeding
            self.began = time.perf_counter()
        self.changes.append(max(float(progress.change), 1e-300))
        rounds = self._iterations_left(progress.iteration, progress.max_iter)
        left = rounds * (time.perf_counter() - self.began) / max(len(self.changes) - 1, 1)
        part = progress.iteration / (progress.iteration + rounds)
        text = f"iteration {progress.iteration}, {progress.n_active} of {len(progress.objective)} runs"
        text += f", {_duration(left)}" if len(self.changes) > 2 else ""
        self.stands = text
        self.bar.update(self.task, completed=part, left=text)
        return self.stopped()

    def line(self) -> str:
        """Where the fit stands."""
        return f"{self.title}: {self.stands}"

    def _iterations_left(self, iteration: int, most: int) -> float:
        """Masses settle geometrically: carry the last rounds' pace on to the tolerance."""
        recent = self.changes[-10:]
        pace = (math.log(recent[0]) - math.log(recent[-1])) / max(len(recent) - 1, 1)
        if len(recent) < 3 or pace <= 1e-3:
            return float(min(most - iteration, 60))
        return min(max((math.log(recent[-1]) - math.log(self.tol)) / pace, 0.0), float(most - iteration))


def _duration(seconds: float) -> str:
    if seconds < 1:
        return "nearly done"
    return f"about {seconds:.0f} s left" if seconds < 90 else f"about {seconds / 60:.0f} min left"


@contextmanager
def _progress(err: Console) -> Iterator[Progress]:
    left = TextColumn("{task.fields[left]}")
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), left, TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        yield bar


@contextmanager
def heartbeat(err: Console, line: Callable[[], str]) -> Iterator[None]:
    """Where there is no terminal for a bar, a line every now and then, once each: a long fit must not look dead."""
    if err.is_terminal or err.quiet:
        yield
        return
    done = Event()

    def speak() -> None:
        last = ""
        while not done.wait(EVERY):
            if line() != last:
                last = line()
                err.print(Text(last, style="dim"))

    speaker = Thread(target=speak, daemon=True)
    speaker.start()
    try:
        yield
    finally:
        done.set()
        speaker.join()


@contextmanager
def _interrupts(err: Console) -> Iterator[Callable[[], bool]]:
    """The first Ctrl-C asks the fit to stop, the second one ends the program."""
    requested = False

    def ask(signum: int, frame: object) -> None:
        nonlocal requested
        if requested:
            raise KeyboardInterrupt
        requested = True
        err.print("Stopping after this iteration; press Ctrl-C again to quit now.")

    try:
        before = signal.signal(signal.SIGINT, ask)
    except ValueError:  # not the main thread: somebody else looks after signals
        yield lambda: False
        return
    try:
        yield lambda: requested
    finally:
        signal.signal(signal.SIGINT, before)


def user_messages(caught: Sequence[warnings.WarningMessage]) -> tuple[str, ...]:
    """The warnings meant for users, once each, as sentences."""
    texts = (" ".join(str(one.message).split()) for one in caught if issubclass(one.category, UserWarning))
    return tuple(dict.fromkeys(map(_sentence, texts)))


def _sentence(text: str) -> str:
    """What the library warns of, for the command line."""
    return text[:1].upper() + text[1:] if text[:1].isascii() else text  # ω1 stays ω1
