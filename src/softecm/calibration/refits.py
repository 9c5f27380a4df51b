"""The same clusterer fitted again and again to resamples of the objects: batch by batch, resumable, here or on a cluster."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softecm._engine import interruptible
from softecm._fingerprint import warn_unseen
from softecm._progress import bar
from softecm._version import __version__
from softecm.calibration.refitting import Refitting
from softecm.files.journal import Journal
from softecm.selection.grid import describe, digest

FloatArray = NDArray[np.float64]
WITHOUT_EFFECT = ("callback", "device", "n_jobs", "verbose")


class Refits(NamedTuple):
    """What refits say."""

    memberships: FloatArray  # (n_boot, n, c), clusters numbered as the model's
    masses: FloatArray  # (n_boot, concerned, f + 1), of the objects that may lie between clusters or nowhere


Batch = tuple[Sequence[int], Refits]  # numbers of refits, and what they say


class CalibrationInterrupted(KeyboardInterrupt):
    """Refits were stopped by Ctrl-C; the text says how many were done and how to go on."""


def refits(
    refitting: Refitting,
    n_boot: int,
    *,
    journal: str | os.PathLike[str] | None = None,
    progress: bool = False,
    client: object = None,
) -> Refits:
    """Refits of all numbers."""
    if journal is None:
        return _all(refitting, n_boot, None, progress, client)
    model = refitting.model
    warn_unseen(getattr(model, "metric", None), f"journal {journal}")
    work = {
        "data": digest(refitting.X),
        "model": hashlib.sha256(repr((type(model).__name__, _described(model), refitting.way)).encode()).hexdigest()[
            :16
        ],
        "version of softecm": __version__,
    }
    with Journal(journal, work, lambda _, row: _read(row, refitting) is not None, "calibration") as book:
        return _all(refitting, n_boot, book, progress, client)


def _described(model: Any) -> list[tuple[str, str]]:
    own = sorted(
        (name, describe(value)) for name, value in model.get_params(False).items() if name not in WITHOUT_EFFECT
    )
    return [*own, ("masses", describe(np.asarray(model.partition_.masses)))]


def _all(refitting: Refitting, n_boot: int, book: Journal | None, progress: bool, client: object) -> Refits:
    """What the journal does not have yet is done, batch by batch."""
    refits = Refits(np.empty((n_boot, *refitting.shape)), np.empty((n_boot, *refitting.set_shape)))
    done = np.zeros(n_boot, dtype=bool)
    for item, row in {} if book is None else book.done.items():
        known = _read(row, refitting)
        if known is not None and item.isdecimal() and int(item) < n_boot:
            _put(refits, [int(item)], Refits(*(part[None] for part in known)))
            done[int(item)] = True
    with _counted(progress, n_boot, int(done.sum())) as advance:
        try:
            for numbers, batch in _run(refitting, np.flatnonzero(~done).tolist(), client):
                _put(refits, numbers, batch)
                done[list(numbers)] = True
                if book is not None:
                    rows = [_row(Refits(*one)) for one in zip(*batch, strict=True)]
                    book.write([str(b) for b in numbers], rows)
                advance(len(numbers))
        except KeyboardInterrupt as error:
            go_on = (
                "give journal= a name to be able to go on"
                if book is None
                else f"with journal {book.path} the same call goes on"
            )
            raise CalibrationInterrupted(
                f"interrupted with {int(done.sum())} of {n_boot} refits done; {go_on}."
            ) from error
    return refits


def _put(refits: Refits, numbers: Sequence[int], batch: Refits) -> None:
    for whole, part in zip(refits, batch, strict=True):
        whole[list(numbers)] = part


def _run(refitting: Refitting, todo: Sequence[int], client: Any) -> Iterator[Batch]:
    """Batches as they are finished: here, or on a cluster."""
    step = refitting.at_once
    batches = [todo[a : a + step] for a in range(0, len(todo), step)]
    if client is None:
        for numbers in batches:
            with interruptible():
                done = run_batch(refitting, numbers)
            yield done
        return
    from softecm.distributed.waiting import as_done

    scattered = client.scatter(refitting, broadcast=True)
    futures = [client.submit(run_batch, scattered, numbers, pure=False) for numbers in batches]
    try:
        yield from as_done(client, futures)
    finally:
        client.cancel(futures)


def run_batch(refitting: Refitting, numbers: Sequence[int]) -> Batch:
    """Some refits; a plain function, so that other processes can run it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a refit that has not quite converged says what it says
        return numbers, Refits(*refitting.refitted(numbers))


def _row(one: Refits) -> Mapping[str, str]:
    return {
        name: base64.b64encode(np.ascontiguousarray(part).tobytes()).decode("ascii")
        for name, part in one._asdict().items()
    }


def _read(row: Mapping[str, Any], refitting: Refitting) -> Refits | None:
    """What a journal's row holds; None where it is something else."""
    shapes = {"memberships": refitting.shape, "masses": refitting.set_shape}
    try:
        parts = {
            name: np.frombuffer(base64.b64decode(row[name], validate=True), dtype=np.float64).reshape(shape)
            for name, shape in shapes.items()
        }
    except (KeyError, TypeError, ValueError, binascii.Error):
        return None
    return Refits(**parts)


@contextmanager
def _counted(shown: bool, total: int, done: int) -> Iterator[Callable[[int], None]]:
    if not shown:
        yield lambda _: None
        return
    with bar() as shown_bar:
        number = shown_bar.add_task("refits", total=total, completed=done)
        yield lambda more: shown_bar.advance(number, more)
