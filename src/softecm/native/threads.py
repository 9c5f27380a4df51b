"""How many threads kernels use, and the one pool they come from.

A kernel that is shared out takes tasks from a counter until there are none: it gives the same result on any number of
threads, also when helpers come late because other calls keep them busy. The thread that calls works too.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any

_own = threading.local()  # what `set_threads` has chosen, for the thread that called it
_pool: ThreadPoolExecutor | None = None
_lock = threading.Lock()
MOST = 256  # threads the pool may have


def available() -> int:
    """Cores this process may use, fewer where ``OMP_NUM_THREADS`` says so, as pools of processes do for their workers."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(cores, int(limit))) if limit.isdigit() else cores


def get_threads() -> int:
    """How many threads a kernel that is called from this thread may use."""
    chosen: int | None = getattr(_own, "count", None)
    return available() if chosen is None else chosen


def set_threads(count: int | None) -> int | None:
    """Choose that number, None for all that are available; returns the choice before."""
    before: int | None = getattr(_own, "count", None)
    _own.count = None if count is None else max(1, min(count, MOST))
    return before


def share_out(kernel: Callable[..., Any], large: bool, *arguments: Any, threads: int | None = None) -> None:
    """Call a kernel whose first parameter is the counter of tasks, on several threads (or so many) if ``large``."""
    counter = ctypes.c_int64(0)
    helpers = (threads or get_threads()) - 1 if large else 0
    if helpers < 1:
        kernel(counter, *arguments)
        return
    futures = []
    with suppress(RuntimeError):  # the interpreter is shutting down: this thread does all
        futures = [_threads().submit(kernel, counter, *arguments) for _ in range(helpers)]
    try:
        kernel(counter, *arguments)
    finally:
        started = [future for future in futures if not future.cancel()]  # what has not begun has nothing left to do
        wait(started)
    for future in started:
        future.result()


def _threads() -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(MOST, thread_name_prefix="softecm")
        return _pool


def _forget() -> None:
    """After a fork: the child has the pool's object but none of its threads, and perhaps a lock that is taken."""
    global _pool, _lock
    _pool, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
