"""``softecm sweep``: a grid of parameters on a file, what every rule chooses from it, a folder that can be gone on with."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from rich.console import Console
from rich.table import Table
from rich.text import Text

from softecm._text import meant
from softecm._version import __version__
from softecm.cli.commands import SweepOptions
from softecm.cli.fitting import metric_for
from softecm.cli.options import Params
from softecm.cli.problems import Problem, disk, mendable
from softecm.cli.results import write_json
from softecm.cli.screen import consoles, counted, print_json, remarks
from softecm.cli.search import whole_range
from softecm.files import check_file, check_folder, check_free, check_replaced, to_folder, write_text
from softecm.files.places import SIGNED
from softecm.readers import Loaded, read

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
    from softecm.selection import RULES

    (out, err), file = consoles(), options.file
    params, rule = options.settings.params(), options.rule
    values = {name: _values(name, getattr(options, option)) for name, option in SHOWN.items()}
    _check_rule(rule, options.resamples)
    folder = options.output or Path(f"{file.stem}-sweep")
    book = options.journal or folder / JOURNAL
    _check_places(folder, book, file, force=options.force)
    with err.status(f"reading {file}"):
        loaded = read(file, options.reading.options(label_column=options.label_column))
    numbers = values["n_clusters"]
    count = int(numbers[0]) if len(numbers) == 1 else None
    measure = metric_for(options.settings.metric, loaded, options.settings.scale, options.settings.weights, count)
    out.print(Text(f"{file}: {counted(len(loaded), loaded)}, metric {measure.name} ({measure.why})"))
    for note in (*loaded.notes, *measure.mind):
        out.print(Text(f"  note: {note}", style="yellow"))
    if options.force and book.exists():
        write_text(book, "")  # afresh
    refits = {"seeds": options.seeds, "resamples": options.resamples}
    result = _sweep(loaded, values, {**params, "metric": measure.metric}, refits, book, err)
    rule = result.usual_rule if rule == "auto" else rule
    choices = {name: _choice(result, name) for name, known in RULES.items() if known.column in result.columns}
    summary = _summary(file, (measure.name, measure.why), result, values, rule, choices)
    to_folder(folder, lambda work: _write(work, result, values, choices[rule], rule, summary), force=True)
    _say(out, folder, result, values, rule, choices)
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
    whole, numbers = name == "n_clusters", list[object]()
    for part in (part.strip() for part in text.split(",") if part.strip()):
        several = whole_range(part) if whole else None
        if several is not None:
            numbers += several
        elif name == "lam" and part == "auto":
            numbers.append(part)
        else:
            numbers.append(_number(name, part, text, whole=whole))
    if not numbers:
        raise Problem(f"--{SHOWN[name]} must hold at least one number; got {text!r}.")
    return list(dict.fromkeys(numbers))


def _number(name: str, part: str, text: str, *, whole: bool) -> float:
    try:
        return int(part) if whole else float(part)
    except ValueError:
        example = "2,3,4 or 2-6" if whole else "1.1,1.2,1.5"
        raise Problem(f"--{SHOWN[name]} must hold numbers, such as {example}; got {text}.") from None


def _shown(value: object) -> str:
    """A parameter's value for reading."""
    return value if isinstance(value, str) else f"{value:g}"


def _check_rule(rule: str, resamples: int) -> None:
    from softecm.selection import RULES

    rules = ("auto", *RULES)
    if rule not in rules:
        raise Problem(f"--rule must be {', '.join(rules)}; got {rule}.{meant(rule, rules)}")
    if rule == "stability" and not resamples:
        raise Problem("--rule stability needs refits on resamples: add --resamples 10.")


def _sweep(
    loaded: Loaded,
    values: Grid,
    params: Params,
    refits: Mapping[str, int],
    journal: Path,
    err: Console,
) -> Sweep:
    from softecm import SoftECM
    from softecm.selection import sweep

    if loaded.labels is not None and any(label is None for label in loaded.labels):
        raise Problem(
            "--label-column must have no missing values in a sweep: leave it out, or the rows whose class is unknown."
        )
    labels = None if loaded.labels is None else [str(label) for label in loaded.labels]
    options: dict[str, Any] = {**refits, "progress": err.is_terminal and not err.quiet}
    with mendable(ValueError, TypeError), disk(f"writing {journal}"):
        return sweep(loaded.data, values, estimator=SoftECM(**params), y=labels, journal=journal, **options)


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
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _summary(
    file: Path, metric: tuple[str, str], result: Sweep, values: Grid, rule: str, choices: Mapping[str, RuleChoice]
) -> dict[str, object]:
    chosen = choices[rule]
    return {
        "softecm": __version__,
        "file": str(file.absolute()),
        "metric": metric[0],
        "metric_reason": metric[1],
        "grid": dict(values),
        "runs": len(result),
        "merged_runs": int(result["collapsed"].astype(bool).sum()),
        "rule": rule,
        "best": None if chosen.problem else chosen.facts,
        "rules": {name: choice.facts for name, choice in choices.items()},
    }


# ------------------------------------------------------------------ what is written and said


def _write(
    folder: Path, result: Sweep, values: Grid, choice: RuleChoice, rule: str, summary: Mapping[str, object]
) -> None:
    result.to_frame("pandas").to_csv(folder / NAMES[0], index=False)
    write_json(summary, folder / NAMES[1])
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 5), layout="constrained")
    _draw(result, values, rule, choice, figure.add_subplot())
    figure.savefig(folder / NAMES[2], dpi=120, metadata=SIGNED)


def _draw(result: Sweep, values: Grid, rule: str, best: RuleChoice, ax: Axes) -> None:
    """The two parameters with most values; the others as the rule chose them."""
    from softecm.selection import RULES

    order = sorted(values, key=lambda name: -len(values[name]))
    x, y = sorted(order[:2], key=list(values).index)
    others = {name: best.params.get(name, values[name][0]) for name in order[2:]}
    result.where(**others).heatmap(x, y, RULES[rule].column, ax=ax)
    ax.set_title(", ".join(f"{name} {_shown(value)}" for name, value in others.items()))


def _say(out: Console, folder: Path, result: Sweep, values: Grid, rule: str, choices: Mapping[str, RuleChoice]) -> None:
    merged = int(result["collapsed"].astype(bool).sum())
    out.print(Text(f"{len(result)} runs, {merged} with merged clusters"))
    judged = "rand_index" in result.columns
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in (
        "rule",
        *(SHOWN[name] for name in values),
        "value",
        "sound",
        *(("Rand", "adjusted") if judged else ()),
    ):
        table.add_column(name, justify="left" if name == "rule" else "right")
    for name, choice in choices.items():
        if choice.problem:
            table.add_row(name, Text("no sound run", style="dim"))
            continue
        cells = [_shown(choice.params[p]) for p in values]
        cells += [
            "-" if choice.value is None else f"{choice.value:.4g}",
            f"{choice.sound_runs}/{choice.runs}",
        ]
        cells += [f"{choice.scores[score]:.3f}" for score in ("rand_index", "adjusted_rand_index")] if judged else []
        table.add_row(name, *cells, style="bold" if name == rule else "")
    out.print(table)
    chosen = choices[rule]
    remarks(out, [chosen.problem] if chosen.problem else chosen.mind)
    out.print(Text.assemble("All runs: ", (str(folder / NAMES[0]), "bold"), f", figure: {folder / NAMES[2]}"))
