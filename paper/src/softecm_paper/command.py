"""The command ``softecm reproduce``; the work is imported when it runs, so that ``softecm --help`` is fast."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from softecm.cli.options import several


def reproduce(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="diamond, cbf, mixture, table, lambda, rules, or all of them.")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder to write; out/reproduce/NAME by default.")
    ] = None,
    rows: Annotated[
        list[str] | None,
        typer.Option(help="Rows of the table: numerical, categorical, series, or names; comma-separated."),
    ] = None,
    grid: Annotated[
        str, typer.Option(help="full (1000 runs per row), small, or auto: small for Soft-DTW only.")
    ] = "auto",
    seeds: Annotated[int, typer.Option(help="Runs of each combination; 5 at most for Soft-DTW unless full.")] = 10,
    protocol: Annotated[
        str,
        typer.Option(
            help="Protocol of the table: as-coded, as-written, recommended, or all; diamond and cbf also take as-coded."
        ),
    ] = "all",
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    journals: Annotated[
        Path | None, typer.Option(help="Folder of finished runs, shared by experiments; beside the output by default.")
    ] = None,
) -> None:
    """Recompute the paper's tables and figures and show them beside its numbers.

    Writes NAME.md, NAME.html and the figures. Finished runs are kept in journals: after an interruption,
    run the same command again. The data sets are downloaded, or read from the folder that SOFTECM_DATA names.
    """
    from softecm_paper.reproduce import Choices, run

    choices = Choices(several(rows), grid, seeds, device, protocol)
    run(name, output, choices, journals)
