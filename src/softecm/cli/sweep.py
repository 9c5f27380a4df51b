"""``softecm sweep``: a grid of parameters on a file, what every rule chooses from it, a folder that can be gone on with."""

from __future__ import annotations

import math
import shlex
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from rich.console import Console
from rich.table import Table
from rich.text import Text

from softecm._checks import check_choice, is_number
from softecm._text import listed, number_of
from softecm._version import __version__
from softecm.cli.commands import SweepOptions
from softecm.cli.metric import check_symmetric, far_value_remarks, metric_for, rows_of
from softecm.cli.options import INVOCATION, FitSettings
from softecm.cli.problems import Problem, disk, mendable
from softecm.cli.result_folder import write_json
from softecm.cli.screen import consoles, print_json, remarks, say_notes
from softecm.cli.search import REASONS, whole_range
from softecm.files import check_file, check_folder, check_free, check_replaced, to_folder, write_text
from softecm.files.places import SIGNED
from softecm.readers import read

if TYPE_CHECKING:
    from softecm.selection import Sweep

Grid: TypeAlias = Mapping[str, list[object]]
JOURNAL = "journal.jsonl"
NAMES = ("sweep.csv", "best.json", "heatmap.png")
SHOWN = {"n_clusters": "clusters", "alpha": "alpha", "beta": "beta", "lam": "lam"}


class RuleChoice(NamedTuple):
    """What a rule chooses, as plain values; nothing but a problem where no run is sound."""

    params: Mapping[str, object] = {}
    value: float | None = None
    sound_runs: int = 0
    runs: int = 0
    random_state: int = 0
    mind: Sequence[str] = ()
    scores: Mapping[str, float] = {}
    problem: str = ""

    @property
    def facts(self) -> dict[str, object] | str:
        """The same for best.json."""
        values = {name: value for name, value in self._asdict().items() if name not in ("scores", "problem")}
        return self.problem or {**values, **self.scores}


def run(options: SweepOptions) -> None:
    """Read, check the grid, run what the journal does not have yet, write and say what was chosen."""
    from softecm import SoftECM
    from softecm.selection import RULES, sweep

    (out, err), file = consoles(), options.file
    params = options.settings.params()
    values = {name: _values(name, getattr(options, option)) for name, option in SHOWN.items()}
    with mendable(ValueError):
        rule = check_choice("rule", options.rule, ("auto", *RULES))
    if rule == "stability" and not options.resamples:
        raise Problem("--rule stability needs refits on resamples: add --resamples 10.")
    folder = options.output or Path(f"{file.stem}-sweep")
    journal = options.journal or folder / JOURNAL
    _check_places(folder, journal, file, force=options.force)
    with err.status(f"reading {file}"):
        rows = rows_of(options.settings.metric)
        loaded = read(file, options.reading.options(label_column=options.label_column, **rows))
    if loaded.labels is not None and any(label is None for label in loaded.labels):
        raise Problem(
            "--label-column must have no missing values in a sweep: leave it out, or the rows whose class is unknown."
        )
    numbers = values["n_clusters"]
    metric = metric_for(options.settings, loaded, int(numbers[0]) if len(numbers) == 1 else None)
    if metric.name == "precomputed":
        check_symmetric(loaded)
    out.print(Text(f"{file}: {number_of(len(loaded), loaded.noun)}, metric {metric.name} ({metric.reason})"))
    say_notes(out, (*loaded.notes, *far_value_remarks(metric, loaded)))
    if options.force and journal.exists():
        write_text(journal, "")  # afresh
    with mendable(ValueError, TypeError), disk(f"writing {journal}"):
        result = sweep(
            loaded.data,
            values,
            estimator=SoftECM(**params, metric=metric.metric),
            y=None if loaded.labels is None else [str(label) for label in loaded.labels],
            seeds=options.seeds,
            resamples=options.resamples,
            journal=journal,
            progress=err.is_terminal and not err.quiet,
        )
    rule = result.usual_rule if rule == "auto" else rule
    choices = {name: _choice(result, name) for name, known in RULES.items() if known.column in result.columns}
    summary: dict[str, object] = {
        "softecm": __version__,
        "file": str(file.absolute()),
        "metric": metric.name,
        "metric_reason": metric.reason,
        "grid": values,
        "runs": len(result),
        "merged_runs": int(result["collapsed"].astype(bool).sum()),
        "rule": rule,
        "best": None if choices[rule].problem else choices[rule].facts,
        "rules": {name: choice.facts for name, choice in choices.items()},
        "sentence": sentence(values, rule, choices),
        "command": "" if choices[rule].problem else _command(options, choices[rule]),
    }
    to_folder(folder, lambda work: _write(work, result, values, choices[rule], rule, summary), force=True)
    _say(out, folder, result, values, choices, summary)
    print_json({**summary, "folder": str(folder)})


# ------------------------------------------------------------------ what was asked


def _check_places(folder: Path, book: Path, file: Path, *, force: bool) -> None:
    """Refuse what would keep the runs from being written, before they are computed."""
    check_folder(folder)
    check_free(folder, force=force or (folder / JOURNAL).is_file())  # with a journal, it is ours to go on with
    check_folder(book.parent)
    if book.parent.is_dir():
        check_file(book)
    check_replaced([book], kind="journal", inputs=[file])
    check_replaced([folder / name for name in NAMES], inputs=[file])


def _values(name: str, text: str) -> list[Any]:
    """Numbers with commas between; whole ones also as a range, 2-6 or 2..6; lambda also "auto"."""
    from softecm.selection.grid import MOST_CELLS

    whole, numbers = name == "n_clusters", list[object]()
    for part in (part.strip() for part in text.split(",") if part.strip()):
        several = whole_range(part) if whole else None
        if several is not None:
            if len(several) > MOST_CELLS:
                raise Problem(
                    f"--{SHOWN[name]} must hold at most {MOST_CELLS} numbers; got the {len(several)} of {part}."
                )
            numbers += several
        elif name == "lam" and part == "auto":
            numbers.append(part)
        else:
            try:
                numbers.append(int(part) if whole else float(part))
            except ValueError:
                example = "2,3,4 or 2-6" if whole else "1.1,1.2,1.5"
                raise Problem(f"--{SHOWN[name]} must hold numbers, such as {example}; got {text}.") from None
    if not numbers:
        raise Problem(f"--{SHOWN[name]} must hold at least one number; got {text!r}.")
    return list(dict.fromkeys(numbers))


def _shown(value: object) -> str:
    """A parameter's value for reading."""
    return "auto" if value == "auto" else f"{value:g}"


# ------------------------------------------------------------------ what was chosen


def _choice(result: Sweep, rule: str) -> RuleChoice:
    from softecm.selection.rules import is_sound

    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            best = result.best(rule)
        except ValueError as error:
            return RuleChoice(problem=str(error))
    scores = [name for name in ("rand_index", "adjusted_rand_index", "accuracy") if name in result.columns]
    return RuleChoice(
        {name: _plain(value) for name, value in best.params.items()},
        float(best.value) if math.isfinite(best.value) else None,
        int(is_sound(result.columns)[best.rows].sum()),
        len(best.rows),
        int(result["random_state"][best.row]),
        [str(one.message) for one in caught],
        {name: float(result[name][best.rows].astype(float).mean()) for name in scores},
    )


def _plain(value: object) -> object:
    value = value.item() if hasattr(value, "item") else value
    return None if is_number(value) and not math.isfinite(value) else value


# ------------------------------------------------------------------ what is written and said


def _write(
    folder: Path, result: Sweep, values: Grid, choice: RuleChoice, rule: str, summary: Mapping[str, object]
) -> None:
    from matplotlib.figure import Figure

    from softecm.selection import RULES

    result.to_frame("pandas").to_csv(folder / NAMES[0], index=False)
    write_json(summary, folder / NAMES[1])
    # The two parameters with most values; the others as the rule chose them.
    order = sorted(values, key=lambda name: -len(values[name]))
    x, y = sorted(order[:2], key=list(values).index)
    others = {name: choice.params.get(name, values[name][0]) for name in order[2:]}
    figure = Figure(figsize=(7, 5), layout="constrained")
    ax = figure.add_subplot()
    result.where(**others).heatmap(x, y, RULES[rule].column, ax=ax)
    ax.set_title(", ".join(f"{name} {_shown(value)}" for name, value in others.items()))
    figure.savefig(folder / NAMES[2], dpi=120, metadata=SIGNED)


def sentence(values: Grid, rule: str, choices: Mapping[str, RuleChoice]) -> str:
    """What the rule chose, how sound that is, and whether the other rules choose the same."""
    best = choices[rule]
    if best.problem:
        return f"Rule {rule} trusts none of these fits."
    others = [f"{SHOWN[name]} {_shown(best.params[name])}" for name in values if len(values[name]) > 1]
    others = [one for one in others if not one.startswith("clusters")]
    groups = number_of(int(str(best.params["n_clusters"])), "group")
    chosen = f"{groups} with {listed(others, 'and')}" if others else groups
    sound = f"{best.sound_runs} of {number_of(best.runs, 'run')} converged to separate groups"
    different = [name for name, one in choices.items() if not one.problem and one.params != best.params]
    agree = ""
    if different:
        verb = "prefers" if len(different) == 1 else "prefer"
        agree = f" {listed(different, 'and').capitalize()} {verb} other values."
    elif any(len(each) > 1 for each in values.values()):
        agree = " All rules agree."
    return f"{chosen} {REASONS.get(rule, 'are best')} (rule {rule}; {sound}).{agree}"


def _command(options: SweepOptions, best: RuleChoice) -> str:
    """The command that fits what was chosen, and makes its report."""
    varied = {"alpha", "beta", "lam"}
    left_out = {*varied, "output", "seeds", "rule", "resamples", "journal", "force", "quiet", "machine"}
    typed, clusters = INVOCATION.get(), f"{best.params['n_clusters']}"
    line = typed.line(left_out, command="cluster", clusters=clusters)
    usual = FitSettings()
    chosen = {name: best.params[name] for name in SHOWN if name in varied} | {"seed": best.random_state}
    if "max_iter" not in typed.specified:
        chosen["max_iter"] = options.settings.max_iter
    more = [
        f"--{name.replace('_', '-')} {_shown(value)}" for name, value in chosen.items() if value != getattr(usual, name)
    ]
    return " ".join([line, *more, "-o", shlex.quote(f"{options.file.stem}-best")])


def _say(
    out: Console,
    folder: Path,
    result: Sweep,
    values: Grid,
    choices: Mapping[str, RuleChoice],
    summary: Mapping[str, object],
) -> None:
    rule, merged = str(summary["rule"]), summary["merged_runs"]
    out.print(Text(f"{number_of(len(result), 'run')}, {merged} with merged clusters"))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    scores = {"rand_index": "Rand", "adjusted_rand_index": "adjusted"} if "rand_index" in result.columns else {}
    table.add_column("rule")
    for name in (*(SHOWN[name] for name in values), "value", "sound", *scores.values()):
        table.add_column(name, justify="right")
    for name, choice in choices.items():
        if choice.problem:
            table.add_row(name, Text("no valid run", style="dim"))
            continue
        cells = [*(_shown(choice.params[p]) for p in values), "-" if choice.value is None else f"{choice.value:.4g}"]
        cells += [f"{choice.sound_runs}/{choice.runs}", *(f"{choice.scores[score]:.3f}" for score in scores)]
        table.add_row(name, *cells, style="bold" if name == rule else "")
    out.print(table)
    chosen = choices[rule]
    remarks(out, [chosen.problem] if chosen.problem else chosen.mind)
    out.print()
    out.print(Text(str(summary["sentence"])))
    table_of_runs, best, figure = NAMES
    out.print(Text.assemble("All runs: ", (str(folder / table_of_runs), "bold"), f"; {best} and {figure} beside it"))
    if command := str(summary["command"]):
        out.print(Text.assemble("Next: ", (command, "bold")), soft_wrap=True)  # to be copied
