"""Fit with progress, an end on Ctrl-C that keeps the best so far, and warnings collected."""

from __future__ import annotations

import math
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from softecm._text import capitalized
from softecm._warnings import CheckpointWarning, ReadingWarning
from softecm.cli.problems import Stopped, mendable

if TYPE_CHECKING:
    from softecm import SoftECM
    from softecm.fit.loop import Progress as Update

EVERY = 15.0  # seconds between two lines about a long fit

STARTING = "initializing"
#: How the number of clusters was chosen, where it was given.
NO_SEARCH: Mapping[str, object] = {"clusters_chosen": None, "rule": None, "candidates": {}, "tied": []}


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
    search: Mapping[str, object] = field(default_factory=lambda: NO_SEARCH)  # for the summary


def fit(model: SoftECM, data: object, err: Console, title: str = "fitting", **options: Any) -> FittedFile:
    """Fit a model with a progress bar and its warnings collected; Ctrl-C ends it with the best result so far.

    ``options`` are those of its ``fit``. Models that take no callback are fitted to the end.
    """
    began, takes_callback = time.perf_counter(), "callback" in model.get_params(deep=False)
    with (
        _progress(err) as bar,
        _interrupts(err) if takes_callback else nullcontext(lambda: False) as stopped,
        warnings.catch_warnings(record=True, action="always") as caught,
    ):
        watch = _Watch(bar, title, float(getattr(model, "tol", 0.0)), stopped)
        if takes_callback:
            model.callback = watch
        with heartbeat(err, watch.line), mendable(ValueError, TypeError, FileNotFoundError):
            model.fit(data, **options)
    if takes_callback:
        model.callback = None
    interrupted = stopped()
    messages = user_messages([w for w in caught if not issubclass(w.category, ReadingWarning)])  # the reader's own
    if interrupted:
        messages = tuple(text for text in messages if "has not converged" not in text)
        messages = ("Ctrl-C stopped the fit: this is the best result so far.", *messages)
    is_saved = not any(issubclass(w.category, CheckpointWarning) for w in caught)
    return FittedFile(
        model, messages, interrupted, time.perf_counter() - began, watch.seconds_per_iteration(), is_saved
    )


def fit_with_checkpoints(fit: Callable[..., FittedFile], checkpoints: Mapping[str, Path]) -> FittedFile:
    """One fit that may write checkpoints: where they are written, Ctrl-C ends the program and says how to go on."""
    checkpoint = checkpoints.get("checkpoint") or checkpoints.get("resume")
    try:
        fitted = fit(**checkpoints)
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


def _progress(err: Console) -> Progress:
    left = TextColumn("{task.fields[left]}")
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), left, TimeElapsedColumn())
    return Progress(*columns, console=err, transient=True, disable=not err.is_terminal)


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
    return tuple(dict.fromkeys(map(capitalized, texts)))
