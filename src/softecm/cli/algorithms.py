"""``--algorithm``: every estimator on the command line, with what it takes in a line."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Collection, Mapping

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from softecm._text import meant
from softecm.cli.fitting import FittedFile, Measure, heartbeat, user_messages, watched
from softecm.cli.options import Params
from softecm.cli.problems import Problem, mendable, option_of
from softecm.cli.screen import consoles, print_json
from softecm.readers import Loaded

DEFAULT = "SoftECM"

#: Every estimator and what it is for.
ALGORITHMS = {
    "SoftECM": "anything: numbers, tables with gaps and categories, series (the default)",
    "ECM": "numbers; round groups",
    "FCM": "numbers; degrees of membership, without sets and outliers",
    "ECMPlus": "numbers; elongated groups, each in its own direction",
    "CCM": "numbers; puts little mass on sets of distant groups",
    "BCM": "numbers; puts objects far from neighbouring groups between them",
    "CECM": "numbers, and links between objects (--links)",
    "WMVEC": "numbers; several weighted views (in Python)",
    "TECM": "numbers; reuses the centres of an earlier clustering (in Python)",
    "BPEC": "numbers; finds the number of groups by density peaks",
    "EKNNClus": "numbers or dissimilarities; finds the number of groups, which may have any shape",
    "EGMM": "numbers; a Gaussian mixture that selects the number of groups",
    "NNEVCLUS": "numbers; a neural network trained on the distances",
    "RECM": "dissimilarities that are close to Euclidean distances",
    "ECMdd": "dissimilarities of any kind; prototypes are objects",
    "MECMdd": "several dissimilarity matrices of the same objects (--matrix), with weights",
    "EVCLUS": "dissimilarities; groups without centres",
    "CEVCLUS": "dissimilarities, and links between objects (--links); groups without centres",
    "CatECM": "categories",
}
OF_SEVERAL = "MECMdd"  # matrices of dissimilarities
#: Estimators that find the number of groups themselves, and how that is said to them.
FINDS: Mapping[str, Params] = {"EKNNClus": {}, "BPEC": {"n_clusters": None}, "EGMM": {"n_clusters": "auto"}}


def chosen(name: str) -> str:
    """The estimator that was meant, however it is written."""
    for known in ALGORITHMS:
        if known.lower() == name.lower():
            return known
    raise Problem(
        f"--algorithm must be one of {', '.join(ALGORITHMS)}; got {name}. softecm algorithms describes each of them."
        f"{meant(name, ALGORITHMS)}"
    )


def of_dissimilarities(name: str) -> bool:
    """Whether an estimator's objects are rows of dissimilarities (scikit-learn's tag)."""
    import softecm

    return bool(getattr(softecm, name)().__sklearn_tags__().input_tags.pairwise)


def takes(name: str, argument: str) -> bool:
    """Whether an estimator's ``fit`` has such an argument."""
    import softecm

    return argument in inspect.signature(getattr(softecm, name).fit).parameters


def parameters(name: str, clusters: str | None, values: Params, specified: Collection[str]) -> dict[str, object]:
    """What the estimator is told: the number of groups, the seed, and the options that were really given."""
    import softecm

    known = getattr(softecm, name)().get_params()
    foreign = sorted(option for option in specified if option not in known)
    if foreign:
        own = ", ".join(sorted(option_of(option) for option in values if option in known)) or "no options"
        wrong = ", ".join(map(option_of, foreign))
        raise Problem(f"{wrong} does not apply to {name}: leave it out. {name} takes {own}.")
    params = {option: values[option] for option in specified}
    if "random_state" in known:
        params["random_state"] = values["random_state"]
    if name in FINDS and clusters in (None, "auto"):
        return {**params, **FINDS[name]}
    if "n_clusters" not in known:
        raise Problem(f"{name} finds the number of groups itself: leave -c {clusters} out.")
    if clusters is None or not clusters.isdecimal() or int(clusters) < 1:
        raise Problem(f"--clusters must be a whole number of at least 1 for {name}; got {clusters}. For example: -c 3.")
    return {**params, "n_clusters": int(clusters)}


def measure(name: str, loaded: Loaded) -> Measure:
    """What is said of how the objects are compared; refused where the estimator can't take such a file."""
    if loaded.shape == "series":
        raise Problem(
            f"--algorithm {name} is for tables, and the file holds series: use SoftECM, which compares series."
        )
    if isinstance(loaded.data, Mapping) and name != OF_SEVERAL:
        raise Problem(
            f"--algorithm {name} takes one file: leave --series, --embedding and --matrix out, or use SoftECM for views and "
            f"{OF_SEVERAL} for matrices."
        )
    return Measure(name, f"--algorithm {name}: columns are taken as they are", None)


def objects(name: str, data: object) -> object:
    """The file's objects as the estimator takes them: rows of numbers, but for categories."""
    if name == "CatECM" or isinstance(data, Mapping):
        return data
    try:
        rows = np.asarray(data, dtype=np.float64)
    except (TypeError, ValueError):
        raise Problem(
            f"--algorithm {name} only takes numbers, and some columns hold text: --drop them, or use SoftECM."
        ) from None
    return rows if of_dissimilarities(name) else data


def fit(name: str, data: object, params: Params, err: Console, **options: object) -> FittedFile:
    """One fit; ``options`` are those of its ``fit``. Ctrl-C keeps the best so far, where there are rounds to stop after."""
    import softecm

    with mendable(ValueError, TypeError):
        model = getattr(softecm, name)(**params)
    if "callback" in model.get_params(deep=False):
        return watched(model, objects(name, data), err, f"fitting {name}", **options)
    began = time.perf_counter()
    with err.status(f"fitting {name}"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with heartbeat(err, lambda: f"fitting {name}"), mendable(ValueError, TypeError):
            model.fit(objects(name, data))
    return FittedFile(model, user_messages(caught), False, time.perf_counter() - began)


def show() -> None:
    """The list, on the screen or as JSON."""
    out, _ = consoles()
    print_json({"algorithms": ALGORITHMS})
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for name, line in ALGORITHMS.items():
        table.add_row(Text(name, style="bold"), line)
    out.print(table)
    out.print(Text("Use one with: softecm cluster FILE -c 3 --algorithm NAME", style="dim"))
