"""Threads around a kernel that works without the interpreter lock, and the memory they work in."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import DTypeLike

from softecm.kernels.types import Bytes, Reals

Result = TypeVar("Result")

_spare: list[Bytes] = []  # working memory of past calls: fresh pages cost as much as a small problem
_spare_lock = threading.Lock()


def _borrow(size: int) -> Bytes:
    with _spare_lock:
        for i, memory in enumerate(_spare):
            if memory.nbytes >= size:
                return _spare.pop(i)
    return np.empty(size, np.uint8)


def _give_back(memory: Bytes) -> None:
    if memory.nbytes <= 32 * 2**20:
        with _spare_lock:
            _spare.append(memory)
            del _spare[:-16]


def in_order(
    solve: Callable[[int, Reals], Result],
    collect: Callable[[Result], None],
    count: int,
    n_threads: int,
    size: int,
    dtype: DTypeLike,
) -> None:
    """Call solve(i, memory) for i < count on several threads, and collect(result) one at a time in the order of i."""
    todo = iter(range(count))
    done: dict[int, Result] = {}
    turn = itertools.count()
    waiting = [next(turn)]
    lock = threading.Lock()
    failed: list[BaseException] = []

    def work() -> None:
        memory = _borrow(size + 64)
        start = -memory.ctypes.data % 64
        ws = memory[start : start + size].view(dtype)
        try:
            for i in todo:
                if failed:
                    break
                result = solve(i, ws)
                with lock:
                    done[i] = result
                    while waiting[0] in done:
                        collect(done.pop(waiting[0]))
                        waiting[0] = next(turn)
        except BaseException as error:
            failed.append(error)
        _give_back(memory)

    helpers = [threading.Thread(target=work, daemon=True) for _ in range(n_threads - 1)]
    try:
        for helper in helpers:
            helper.start()
        work()
    except BaseException as error:  # Ctrl-C between two blocks
        failed.append(error)
    for helper in helpers:
        helper.join()
    if failed:
        raise failed[0]
