"""Whatever changes a fitted estimator changes all of it or nothing, wherever it is interrupted; refits: tests/contracts."""

import inspect
import signal
import sys

import numpy as np
import pytest

import softecm
from contracts.test_estimators import DATA, KINDS, NAMES, Interrupt, quick, seen
from problems import DEEP

POINTS = 40 if DEEP else 3
pytestmark = pytest.mark.filterwarnings("ignore")


def rows(X, first, last):
    return X[first:last, first:last] if X.shape[0] == X.shape[1] else X[first:last]


def partly_labelled(X):
    return np.where(np.arange(len(X)) < 20, 0, np.where(np.arange(len(X)) == 40, 1, -1))


#: What else changes an estimator, and the argument or method that it needs.
CHANGES = {
    "rename": ("rename", {}, lambda model, X, folder: model.rename({0: "first"})),
    "partial_fit": ("partial_fit", {}, lambda model, X, folder: model.partial_fit(rows(X, 20, 50))),
    "links": ("must_link", {}, lambda model, X, folder: model.fit(X, must_link=[(0, 1)], cannot_link=[(0, 40)])),
    "labels": ("prior", {}, lambda model, X, folder: model.fit(X, partly_labelled(X))),
    "prior": ("prior", {}, lambda model, X, folder: model.fit(rows(X, 20, 50), prior=model)),
    "warm start": ("warm_start", {"warm_start": True}, lambda model, X, folder: model.fit(rows(X, 0, 60)[::-1])),
    "checkpoint": ("checkpoint", {}, lambda model, X, folder: with_checkpoint(model, rows(X, 20, 50), folder)),
}


def with_checkpoint(model, X, folder):
    (folder / "checkpoint").unlink(missing_ok=True)
    model.fit(X, checkpoint=folder / "checkpoint", checkpoint_every=1)


def has(kind, needed):
    known = {*inspect.signature(kind.fit).parameters, *kind().get_params(), *dir(kind)}
    return needed in known and not (needed == "warm_start" and KINDS[kind.__name__] == "dissimilarities")


CASES = [
    (name, change) for name in NAMES for change, (needed, *_) in CHANGES.items() if has(getattr(softecm, name), needed)
]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(("name", "change"), CASES if DEEP else CASES[::4])
def test_an_interrupted_change_changes_nothing(name, change, tmp_path, hostile_case):
    _, parameters, act = CHANGES[change]
    X, interrupt = DATA[KINDS[name]], Interrupt()

    def profile(frame, event, argument):
        if event == "call" and frame.f_globals.get("__name__", "").startswith("softecm"):
            interrupt()

    def changed(model, at):
        interrupt.next(at)
        sys.setprofile(profile)
        try:
            act(model, X, tmp_path)
        finally:
            sys.setprofile(None)

    model = quick(name, n_clusters=2, max_iter=6, **parameters).fit(X)
    changed(model, 0)
    calls = interrupt.calls
    assert calls
    before = seen(model.fit(X), X, tmp_path)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for at in np.unique(np.linspace(1, calls - 1, POINTS).astype(int)):  # a second time may take fewer calls
            hostile_case()
            try:
                changed(model, int(at))
            except KeyboardInterrupt:
                assert seen(model, X, tmp_path) == before, f"{name}, {change}, call {at} of {calls}"
            else:  # it was over before
                assert interrupt.calls < at
                before = seen(model.fit(X), X, tmp_path)
    finally:
        signal.signal(signal.SIGINT, handler)
