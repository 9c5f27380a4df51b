"""Devices, dtypes, threads, memory, and Ctrl-C.

Python raises ``KeyboardInterrupt`` for Ctrl-C between two of its instructions. If that is in the clean-up of another
library's objects, it is printed and ignored, and the fit would continue. So a fit also records the request, and checks
it after every iteration.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial, wraps
from pathlib import Path
from types import FrameType
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np
import torch

from softecm._checks import is_whole
from softecm._text import shown_size
from softecm._wording import literal, option
from softecm.native.library import get_threads, set_threads

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")
SMALL_THREADS = 4  # of torch, if operations take microseconds: waking and waiting for 16 threads takes a third of a fit
MOST_THREADS = 64  # upper limit if there are fewer cores
LARGE_WORK = 2e8  # multiplications per iteration; below, starting a GPU takes longer than it saves


def choose_device(device: str | torch.device, work: float, cpu_only: str = "") -> torch.device:
    """Return the requested device; "auto" uses a GPU if there is one and the work is large enough.

    ``cpu_only`` names what can't run on a GPU: requesting one raises an error instead of a silent fallback.
    """
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() and work >= LARGE_WORK and not cpu_only else "cpu")
    try:
        chosen = torch.device(device)
    except (RuntimeError, TypeError, ValueError) as error:
        raise ValueError(
            f"{option('device')} must be {literal('auto')}, {literal('cpu')} or a torch device such as {literal('cuda:0')}; "
            f"got {literal(device)}. Use {literal('auto')}."
        ) from error
    if chosen.type != "cpu" and cpu_only:
        instead = " On a GPU use metric SoftDTW with a small gamma." if cpu_only.startswith("metric") else ""
        raise ValueError(
            f"{option('device')} must be {literal('cpu')} or {literal('auto')} with {cpu_only}, which has no GPU code for "
            f"fits; got {literal(device)}.{instead}"
        )
    if chosen.type not in ("cpu", "cuda"):
        raise ValueError(
            f"{option('device')} must be {literal('cpu')} or {literal('cuda')}; got {literal(device)}, on which fits don't "
            f"run. Use {literal('auto')}."
        )
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            f"{option('device')} must be one that is there; got {literal(device)}, and torch finds no GPU. Use "
            f"{option('device', 'cpu')}, or install a torch build with CUDA and a driver for the card."
        )
    return chosen


@contextmanager
def threads(n_jobs: int | None, *, small: bool = False) -> Iterator[None]:
    """Use this number of threads inside; None keeps the libraries' defaults, -1 uses all.

    ``small``: torch's operations are small, so None gives torch few threads, and our own kernels as many as torch had.
    """
    if n_jobs is None and not small:
        yield
        return
    if n_jobs is None:
        with threads(min(torch.get_num_threads(), get_threads())):
            torch.set_num_threads(min(SMALL_THREADS, torch.get_num_threads()))
            yield
        return
    if not is_whole(n_jobs) or n_jobs == 0:
        raise ValueError(
            f"{option('n_jobs')} must be {literal(None)} or a whole number other than 0; got {literal(n_jobs)}. -1 uses all "
            "cores."
        )
    available = os.cpu_count() or 1
    wanted = min(n_jobs, max(available, MOST_THREADS)) if n_jobs > 0 else max(1, available + 1 + n_jobs)
    before = torch.get_num_threads(), set_threads(wanted)
    torch.set_num_threads(1 if _forked else wanted)
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        set_threads(before[1])


def _after_fork() -> None:
    """Leave torch one thread in a forked child: its first large operation would wait for the parent's OpenMP pool.

    Our kernels have their own threads there.
    """
    global _forked
    _forked = True
    torch.set_num_threads(1)


_forked = False
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def in_threads(
    run: Callable[..., Result], starts: Iterable[object], ask: Callable[[list[Result]], object] | None = None
) -> list[Result]:
    """Run ``run(start, stop=...)`` for each start on threads, so that this thread can handle Ctrl-C and stop them.

    ``ask`` is called with the results so far after every run, in order; a true answer skips the others.
    """
    stop = np.zeros(1, dtype=np.bool_)
    with ThreadPoolExecutor(get_threads()) as pool:
        try:
            results: list[Result] = []
            for one in pool.map(partial(run, stop=stop), starts):
                results.append(one)
                if ask is not None and ask(results):
                    stop[0] = True
                    break
            return results
        except BaseException:
            stop[0] = True
            raise


def free_memory() -> float:
    """Return the bytes of free memory, or of all if that is unknown."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 4e9


def check_memory(size: float, what: str, instead: str) -> None:
    """Raise an error if this doesn't fit in free memory, with both sizes and a remedy."""
    free = free_memory()
    if size > free:
        raise ValueError(f"{what} would take about {shown_size(size)}, and {shown_size(free)} are free. {instead}")


_interrupted = False


def all_or_nothing(
    fit: Callable[Concatenate[Result, Arguments], Result],
) -> Callable[Concatenate[Result, Arguments], Result]:
    """Make a fitting method atomic: it works on a copy, whose attributes the object takes over at the end.

    Any exception on the way, including an interrupt, leaves the object unchanged. Attributes must be replaced, not
    mutated.
    """

    @wraps(fit)
    def fit_and_commit(self: Result, /, *args: Arguments.args, **named: Arguments.kwargs) -> Result:
        trial: Result = object.__new__(type(self))
        vars(trial).update(vars(self))
        with interruptible():
            fit(trial, *args, **named)
        self.__dict__ = vars(trial)
        return self

    return fit_and_commit


@contextmanager
def interruptible() -> Iterator[None]:
    """End in ``KeyboardInterrupt`` after Ctrl-C inside; leave another handler of the signal in place."""
    global _interrupted
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _note_interrupt)
    try:
        yield
        raise_if_interrupted()
    except Exception as error:  # leftovers of an interrupted compiler
        if _interrupted:
            raise KeyboardInterrupt from error
        raise
    finally:
        _interrupted = False
        signal.signal(signal.SIGINT, signal.default_int_handler)


def raise_if_interrupted() -> None:
    """Raise a requested ``KeyboardInterrupt`` that got lost."""
    if _interrupted and threading.current_thread() is threading.main_thread():
        raise KeyboardInterrupt


def _note_interrupt(signum: int, frame: FrameType | None) -> None:
    global _interrupted
    _interrupted = True
    raise KeyboardInterrupt
