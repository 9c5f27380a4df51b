"""``--algorithm``: every estimator on the command line, with what it takes in a line."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np
from rich.table import Table
from rich.text import Text

import softecm
from softecm._text import meant
from softecm.cli.commands import AlgorithmsOptions
from softecm.cli.options import Params
from softecm.cli.problems import Problem, option_of
from softecm.cli.screen import consoles, print_json
from softecm.readers import Loaded

if TYPE_CHECKING:
    from sklearn.utils import InputTags

    from softecm.algorithms.base import EvidentialClusterer
    from softecm.distances.auto import MetricChoice

DEFAULT = "SoftECM"

#: Every estimator.
NAMES = tuple(name for name, module in softecm._WHERE.items() if module.startswith("softecm.algorithms."))


def kind_of(name: str) -> type[EvidentialClusterer]:
    """The class of an estimator."""
    cls: type[EvidentialClusterer] = getattr(softecm, name)
    return cls


def chosen(name: str) -> str:
    """The estimator that was meant, however it is written."""
    for known in NAMES:
        if known.lower() == name.lower():
            return known
    raise Problem(
        f"--algorithm must be one of {', '.join(NAMES)}; got {name}. softecm algorithms describes each of them."
        f"{meant(name, NAMES)}"
    )


def input_tags(name: str) -> InputTags:
    """What an estimator's objects are, as scikit-learn asks: ``pairwise`` for rows of dissimilarities, for example."""
    return kind_of(name)().__sklearn_tags__().input_tags


def takes_matrices(name: str) -> bool:
    """Whether an estimator's objects are rows of dissimilarities, or of several matrices of them."""
    tags = input_tags(name)
    return bool(tags.pairwise or tags.three_d_array)


def takes(name: str, argument: str) -> bool:
    """Whether an estimator's ``fit`` has such an argument."""
    return argument in inspect.signature(kind_of(name).fit).parameters


def link_weight(name: str) -> str | None:
    """What an estimator, or its ``fit``, calls the weight of links; None where it takes no links."""
    of_fit = inspect.signature(kind_of(name).fit).parameters
    known = (*kind_of(name)().get_params(), *of_fit) if "must_link" in of_fit else ()
    return next((own for own in known if option_of(own) == option_of("link_weight")), None)


def takes_labels(name: str) -> bool:
    """Whether the known groups of some objects guide an estimator's fit."""
    from softecm.algorithms.family import LinkableFamily

    return issubclass(kind_of(name), LinkableFamily)


def parameters(name: str, clusters: str | None, values: Params, specified: Collection[str]) -> dict[str, object]:
    """What the estimator is told: the number of groups, the seed, and the options that were really given."""
    cls = kind_of(name)
    known = cls().get_params()
    foreign = sorted(option for option in specified if option not in known)
    if foreign:
        own = ", ".join(sorted(option_of(option) for option in values if option in known)) or "no options"
        wrong = ", ".join(map(option_of, foreign))
        raise Problem(f"{wrong} does not apply to {name}: leave it out. {name} takes {own}.")
    params = {option: values[option] for option in specified}
    if "random_state" in known:
        params["random_state"] = values["random_state"]
    if cls.finds_clusters is not None and clusters in (None, "auto"):
        return {**params, **cls.finds_clusters}
    if "n_clusters" not in known:
        raise Problem(f"{name} finds the number of groups itself: leave -c {clusters} out.")
    if clusters is None or not clusters.isdecimal() or int(clusters) < 1:
        raise Problem(f"--clusters must be a whole number of at least 1 for {name}; got {clusters}. For example: -c 3.")
    return {**params, "n_clusters": int(clusters)}


def metric_for(name: str, loaded: Loaded) -> MetricChoice:
    """What is said of how the objects are compared; refused where the estimator can't take such a file."""
    from softecm.distances.auto import MetricChoice

    if loaded.shape == "series":
        raise Problem(
            f"--algorithm {name} is for tables, and the file holds series: use SoftECM, which compares series."
        )
    if loaded.has_views and not input_tags(name).three_d_array:
        several = " or ".join(one for one in NAMES if input_tags(one).three_d_array)
        raise Problem(
            f"--algorithm {name} takes one file: leave --series, --embedding and --matrix out, or use SoftECM for views and "
            f"{several} for matrices."
        )
    return MetricChoice(name, f"--algorithm {name}: columns are used as they are")


def objects(name: str, data: object) -> object:
    """The file's objects as the estimator takes them: rows of numbers, but for categories."""
    tags = input_tags(name)
    if tags.categorical or tags.three_d_array:
        return data
    try:
        rows = np.asarray(data, dtype=np.float64)
    except (TypeError, ValueError):
        raise Problem(
            f"--algorithm {name} only takes numbers, and some columns hold text: --drop them, or use SoftECM."
        ) from None
    return rows if tags.pairwise else data


def show(options: AlgorithmsOptions) -> None:
    """The list, on the screen or as JSON."""
    out, _ = consoles()
    lines = {name: kind_of(name).suits for name in NAMES}
    print_json({"algorithms": lines})
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for name, line in lines.items():
        table.add_row(Text(name, style="bold"), line)
    out.print(table)
    out.print(Text("Use one with: softecm cluster FILE -c 3 --algorithm NAME", style="dim"))
