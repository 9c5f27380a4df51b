"""``softecm demo``: the paper's twelve points in one screen, or a file to try ``softecm cluster`` on."""

from __future__ import annotations

import json
import shlex
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from rich.text import Text

from softecm._checks import make_frame
from softecm._version import __version__
from softecm.belief import CredalPartition
from softecm.cli.commands import DemoOptions, application
from softecm.cli.demo_files import EXAMPLES
from softecm.cli.options import INVOCATION
from softecm.cli.problems import Problem
from softecm.cli.screen import consoles, legend, lines, mass_bar, print_json, set_style
from softecm.files import check_folder, check_free, check_replaced, to_folder
from softecm.files.places import SIGNED
from softecm.report.words import in_words, three_sentences

if TYPE_CHECKING:
    from softecm import ECM, SoftECM

IDS = tuple(str(i) for i in range(1, 13))
ALPHA, BETA, DELTA = 1 / 6, 2.0, 11.0  # the paper's
NAMES = ("report.html", "diamond.png", "demo.json")
EXAMPLE = "command.txt"  # beside the file of an example
BARS = (
    "A bar shows how the evidence about a point is divided among the groups, both and none; the longest part decides."
)
ECM_TOO = (
    "ECM, the older method, also puts object 7 between, because it fixes that prototype halfway; Soft-ECM learns it."
)
SETTINGS = "These are the paper's settings, which leave much undecided; the defaults give more definite answers."
STARTS = ((-3.34, 0.0), (3.34, 0.0))  # the middles of the two diamonds


def run(options: DemoOptions) -> None:
    """The paper's points; or the file of an example and the command that clusters it."""
    if options.data == "points":
        return run_points(options.output or Path("softecm-demo"), force=options.force)
    words = write_example(options.data, options.output or Path(f"softecm-demo-{options.data}"), force=options.force)
    called = INVOCATION.get()
    flags = [*(["--quiet"] if called.quiet else []), *(["--json"] if called.machine else [])]
    application()([*words, "--force", *flags], standalone_mode=False)  # an earlier demo is replaced


def run_points(folder: Path, *, force: bool) -> None:
    """Fit, show, write."""
    out, _ = consoles()
    out.print(
        Text.assemble(("softecm demo", "bold"), "  twelve points: two diamonds, point 6 midway, point 12 far away")
    )
    check_folder(folder)
    force = force or _is_ours(folder)
    check_free(folder, force=force)
    check_replaced(folder / name for name in NAMES)
    from softecm.datasets import load_diamond

    data = load_diamond().data
    table = make_frame({"x": data[:, 0], "y": data[:, 1]})
    ecm, soft = _fit(table)
    sentences = three_sentences(soft.partition_, [f"object {i}" for i in IDS])
    _show(out, data, ecm.partition_, soft.partition_, sentences)

    def fill(work: Path) -> None:
        _report(work, table, soft)
        _write(work, data, ecm, soft, sentences)

    to_folder(folder, fill, force=force)
    out.print()
    out.print(Text.assemble("Open ", (str(folder / "report.html"), "bold"), f"  (also in {folder}: diamond.png)"))
    out.print(Text("Your own file:  softecm cluster FILE -c 3"))
    for name, one in EXAMPLES.items():
        out.print(Text(f"softecm demo {name:<10} {one.about}", style="dim"))
    print_json({"folder": str(folder), "sentences": sentences, "sets": soft.partition_.sets().tolist()})


def write_example(name: str, folder: Path, *, force: bool) -> list[str]:
    """Write the file of an example into a folder; the words of the command that clusters it."""
    if name not in EXAMPLES:
        raise Problem(f"there is no demo {name}: choose from points, {', '.join(EXAMPLES)}.")
    out, _ = consoles()
    example = EXAMPLES[name]
    check_folder(folder)
    check_free(folder, force=force or (folder / EXAMPLE).is_file())

    def fill(work: Path) -> None:
        example.write(work)
        (work / EXAMPLE).write_text(" ".join(["softecm", *map(shlex.quote, words)]) + "\n", encoding="utf-8")

    words = ["cluster", str(folder / example.file), *example.options, "-o", str(folder / "result")]
    to_folder(folder, fill, force=True)
    out.print(
        Text.assemble(
            ("softecm demo", "bold"), f"  {example.about}, in {folder}. Replace the file by your own and run:"
        )
    )
    out.print(Text(f"  {shlex.join(['softecm', *words])}", style="bold"))
    out.print()
    return words


def _fit(table: object) -> tuple[ECM, SoftECM]:
    from softecm import ECM, SoftECM

    with warnings.catch_warnings(action="ignore"):
        ecm = ECM(2, alpha=ALPHA, beta=BETA, delta=DELTA, init=STARTS).fit(table)
        soft = SoftECM(2, alpha=ALPHA, beta=BETA, delta=DELTA, lam=1.5, init=STARTS).fit(table)
    return ecm, soft


def _show(
    out: Console,
    data: NDArray[np.float64],
    ecm: CredalPartition,
    soft: CredalPartition,
    sentences: tuple[str, str, str],
) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("object", "x", "y"):
        table.add_column(name, justify="right")
    for name in ("ECM says", "", "Soft-ECM says", ""):
        table.add_column(name)
    for i, (x, y) in enumerate(data.tolist()):
        table.add_row(IDS[i], f"{x:g}", f"{y:g}", *_decision(ecm, i), *_decision(soft, i))
    out.print(table)
    out.print(legend(soft))
    lines(out, (BARS, "", *sentences, ECM_TOO, SETTINGS))


def _decision(partition: CredalPartition, i: int) -> tuple[Text, Text]:
    from softecm.plots import set_colors

    row = partition.masses[i]
    column = int(row.argmax())
    return Text(in_words(partition.focal_sets, column), style=set_style(partition, column)), mass_bar(
        row.tolist(), set_colors(partition.focal_sets), 14
    )


def _is_ours(folder: Path) -> bool:
    """Whether the folder holds nothing but an earlier demo."""
    return folder.is_dir() and (folder / "demo.json").is_file() and {p.name for p in folder.iterdir()} <= set(NAMES)


def _write(work: Path, data: NDArray[np.float64], ecm: ECM, soft: SoftECM, sentences: tuple[str, str, str]) -> None:
    (work / "demo.json").write_text(
        json.dumps({"softecm": __version__, "command": "demo", "sentences": sentences}, ensure_ascii=False, indent=1)
    )
    from matplotlib.figure import Figure

    from softecm import plots

    figure = Figure(figsize=(13, 4), layout="constrained")
    axes = figure.subplots(1, 3)
    plots.hulls(soft.partition_, data, ax=axes[0], axis_names=("x", "y")).set_title("the objects (Soft-ECM)")
    plots.mass_profile(ecm.partition_, ax=axes[1]).set_title("ECM")
    plots.mass_profile(soft.partition_, ax=axes[2]).set_title("Soft-ECM, λ = 1.5")
    figure.savefig(work / "diamond.png", dpi=120, metadata=SIGNED)


def _report(work: Path, table: object, soft: SoftECM) -> None:
    params = {k: v for k, v in soft.get_params(deep=False).items() if k in ("alpha", "beta", "delta", "lam")}
    code = (
        "from softecm import SoftECM\nfrom softecm.datasets import load_diamond\n\n"
        f"X = load_diamond().data\nmodel = SoftECM(2, {', '.join(f'{k}={v!r}' for k, v in params.items())}, "
        f"init={STARTS!r}).fit(X)\nmodel.partition_.to_frame()"
    )
    named = {"names": [f"object {i}" for i in IDS], "feature_names": ["x", "y"]}
    soft.report(table, work / "report.html", **named, title="The Diamond: twelve points", warnings=(), code=code)
