"""Ctrl-C ends a fit, wherever it comes.

Python turns Ctrl-C into a ``KeyboardInterrupt`` between two of its own instructions. Raised in the clean-up of another
library's objects, it is printed and forgotten, and the fit would go on. So a fit also writes down that it was asked to end,
and looks at that after every round.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_asked = False


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C inside ends in ``KeyboardInterrupt``; where somebody else looks after it, it stays theirs."""
    global _asked
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _noted)
    try:
        yield
        look()
    except Exception as error:  # what an interrupted compiler leaves behind
        if _asked:
            raise KeyboardInterrupt from error
        raise
    finally:
        _asked = False
        signal.signal(signal.SIGINT, signal.default_int_handler)


def look() -> None:
    """Raise the ``KeyboardInterrupt`` that was asked for and got lost."""
    if _asked and threading.current_thread() is threading.main_thread():
        raise KeyboardInterrupt


def _noted(signum: int, frame: FrameType | None) -> None:
    global _asked
    _asked = True
    raise KeyboardInterrupt
