"""``-c auto`` and ``-c 2-12``: one number of clusters after the other, every value shown and kept."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Column, Table

from softecm._precision import criterion
from softecm._text import capitalized, listed
from softecm.cli.fitting import FittedFile, fit, user_messages
from softecm.cli.options import Params
from softecm.cli.problems import Problem

if TYPE_CHECKING:
    from softecm import SoftECM
    from softecm.selection import Choice

RANGE = re.compile(r"(\d+)(?:-|\.\.)(\d+)")
REASONS = {
    "mixture": "fit the columns best",
    "valleys": "are separated most clearly",
    "nonspecificity": "leave the least ambiguity",
}


def whole_range(text: str) -> range | None:
    """A range such as 2-12 or 2..12, both ends included; None for anything else.

    Examples
    --------
    >>> whole_range("2-4"), whole_range("2..12"), whole_range("4-2"), whole_range("3")
    (range(2, 5), range(2, 13), None, None)
    """
    match = RANGE.fullmatch(text.strip())
    low, high = (0, -1) if match is None else map(int, match.groups())
    return range(low, high + 1) if low <= high else None


def fit_auto(data: object, params: Params, err: Console, candidates: Sequence[int] | None) -> FittedFile:
    """The fit with the best number of clusters; one that Ctrl-C cut short only counts where it is the first."""
    from softecm import NumberOfGroupsWarning, SoftECM
    from softecm.selection import NoGroupsWarning, TwinsWarning, choose_n_clusters

    base, tried = SoftECM(**params), dict[int, FittedFile]()

    def one(model: SoftECM, data: object) -> SoftECM | None:
        fitted = fit(model, data, err, f"trying {model.n_clusters} groups")
        is_last = model.n_clusters == 1 or model.n_clusters in tried
        cut_short = fitted.interrupted and bool(tried) and not is_last
        doubt = capitalized(getattr(fitted.model, "_doubt_of_number", None) or "")  # the search answers it
        others = tuple(text for text in fitted.warnings if text != doubt)
        tried[model.n_clusters] = replace(fitted, model=base, warnings=others)  # the search keeps the best model alone
        return None if cut_short else fitted.model

    try:
        with warnings.catch_warnings(record=True, action="always") as caught:
            choice = choose_n_clusters(
                data,
                estimator=base,
                candidates=candidates,
                fit=one,
                callback=lambda count, model, value: tried[count].interrupted,
            )
    except Problem:
        raise
    except ValueError as error:
        if "stand apart" not in str(error):
            raise Problem(str(error)) from error
        raise Problem(
            f"no number of clusters from {min(tried)} to {max(tried)} gave separate groups: try --relaxation gap "
            "or -c with a number."
        ) from None
    fitted = replace(tried[choice.n_clusters], model=choice.model)
    cut_short = [c for c, one in tried.items() if one.interrupted and c not in choice.values]
    remarks = _remarks(choice, cut_short, candidates)
    kinds = (NoGroupsWarning, NumberOfGroupsWarning, TwinsWarning)
    mind = user_messages([one for one in caught if issubclass(one.category, kinds)])
    return replace(fitted, warnings=(*remarks, *mind, *fitted.warnings), search=facts(choice))


def facts(choice: Choice[SoftECM]) -> dict[str, object]:
    """How the number was chosen, for the summary."""
    values = {c: float(v) if math.isfinite(v) else None for c, v in choice.values.items()}
    tried = f"Tried {min(values)} to {max(values)} groups"
    text = f"{tried}: none stand apart"
    if choice.n_clusters > 1:
        others = "".join(f"; the rule {name} prefers {c}" for name, c in choice.others.items())
        text = f"{tried}: {_verdict(choice)}{others}"
        if choice.tied:
            text += (
                f". To decide, run again with -c {choice.tied[0]} and compare the maps and what is said of the groups"
            )
    return {
        "clusters_chosen": text,
        "rule": choice.rule,
        "candidates": {str(c): v for c, v in values.items()},
        "tied": list(choice.tied),
    }


def _verdict(choice: Choice[SoftECM]) -> str:
    """Which number is best, or which are too close to call, and by what values."""
    close = choice.close
    values = listed([criterion(choice.values[c]) for c in close], "and")
    if not choice.tied:
        return f"{choice.n_clusters} {REASONS.get(choice.rule, 'are best')} (rule {choice.rule}: {values})"
    numbers = listed([str(c) for c in close], "and")
    return f"{numbers} are too close to call (rule {choice.rule}: {values}), {choice.n_clusters} are shown"


def _remarks(choice: Choice[SoftECM], cut_short: Sequence[int], candidates: Sequence[int] | None) -> list[str]:
    """What to mind about a search."""
    from softecm.selection.n_clusters import MOST_CLUSTERS, edge_remark

    if cut_short:
        return [f"Ctrl-C stopped the search at {cut_short[0]} groups: neither these nor more were compared."]
    if not choice.edge:
        return []
    stopped = ""
    if candidates is None and choice.edge == "largest":
        most = f"at most {max(choice.values)} for this many objects (their square root, up to {MOST_CLUSTERS})"
        stopped = f" -c auto tries {most}."
    return [f"{edge_remark(choice)}{stopped} For example -c 2-{2 * choice.n_clusters}."]


def candidates_table(values: Mapping[str, float | None], chosen: int, rule: str) -> Table:
    """Every number that was tried with its value, the chosen one bold."""
    from softecm.selection.rules import RULES

    heads = ("groups", f"value ({'lowest' if RULES[rule].smaller else 'highest'} is best)")
    table = Table(*(Column(head, justify="right") for head in heads), box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for c, value in values.items():
        mark = "bold" if int(c) == chosen else "dim"
        table.add_row(c, "merged or empty" if value is None else criterion(value), style=mark)
    return table
