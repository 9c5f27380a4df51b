"""``softecm cluster``: from a file to a folder with the partition, the model and the report."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from softecm._memory import shown
from softecm.belief.assignments import CLEAR, checked_clear
from softecm.cli import algorithms, links, outcome
from softecm.cli.fitting import Fitted, Measure, Params, fit, fit_kept, metric_for
from softecm.cli.memory import limit, must_stream
from softecm.cli.problems import Problem, mendable
from softecm.cli.results import Counted
from softecm.cli.screen import consoles, print_json, say_understood
from softecm.cli.search import Search, fit_auto, whole_range
from softecm.cli.source import Source, Whole, whole
from softecm.constraints import Constraints
from softecm.files import check_file, check_free, check_replaced, to_folder
from softecm.files.places import RESULTS
from softecm.readers import Beside, ReadOptions

NO_VIEWS = Beside()
N_SETS = 40  # with a mass, where nobody has said how many groups there are


@dataclass(frozen=True)
class Request:
    """What was asked for."""

    file: Path
    clusters: str
    folder: Path
    options: ReadOptions
    given: Params
    scale: str = "auto"
    beside: tuple[str, ...] = ()  # columns of the file to write with the masses
    names: tuple[str, ...] | None = None  # of the groups
    parquet: bool = False
    force: bool = False
    memory: str | None = None
    checkpoint: Path | None = None
    resume: Path | None = None
    clear: float = CLEAR
    algorithm: str = algorithms.DEFAULT
    said: frozenset[str] = frozenset()  # settings that were given on the command line
    values: bool = True  # whether cells, names and prototypes may be in the report and the summary
    views: Beside = NO_VIEWS  # files with other views of the objects
    links: Path | None = None  # file of pairs known to be together or apart
    link_weight: float | None = None

    @property
    def count(self) -> int | None:
        """How many groups; None where that is looked for."""
        if self.clusters == "auto" or self.candidates is not None:
            return None
        if not self.clusters.isdecimal() or int(self.clusters) < 1:
            raise Problem(
                f"--clusters must be a whole number of at least 1, a range such as 2-12, or auto; got {self.clusters}."
            )
        return int(self.clusters)

    @property
    def candidates(self) -> range | None:
        """The range that was asked for, if it was one."""
        found = whole_range(self.clusters)
        if found is not None and found[0] < 2:
            raise Problem(f"--clusters must be a range from 2 or more, such as 2-12; got {self.clusters}.")
        return found

    @property
    def safety(self) -> dict[str, Path]:
        """Where checkpoints go and come from."""
        both = (("checkpoint", self.checkpoint), ("resume", self.resume))
        return {name: path for name, path in both if path is not None}


def run(asked: Request, *, quiet: bool, machine: bool) -> None:
    """Read, show what was understood, fit, write, say what was found."""
    out, err = consoles(quiet=quiet, machine=machine)
    with mendable(ValueError):
        checked_clear(asked.clear)
    _check_names(asked)
    if asked.beside and not asked.values:
        raise Problem("--with-columns writes cells of the file and --no-values keeps them back: leave out one of them.")
    source = _source(asked, err)
    pairs = None if asked.links is None else links.read_links(asked.links, source.loaded.names)
    if not asked.values:
        source = replace(source, loaded=replace(source.loaded, ids=None))  # objects go by their row
    measure = _measure(asked, source)
    _check_size(source, asked)
    say_understood(out, source.file, source.loaded, measure, source.n_objects)
    with links.said_once():
        fitted, chosen = _fit(asked, source, measure, err, pairs)
    if isinstance(source, Whole):
        fitted = replace(fitted, warnings=(*fitted.warnings, *measure.mind))
    if asked.links is not None and pairs is not None:
        fitted = links.with_kept(fitted, asked.links, pairs)
    if asked.algorithm == algorithms.DEFAULT:
        fitted.model.metric_reason_ = measure.why
    if asked.names is not None:
        with mendable(ValueError):
            fitted.model.rename(asked.names)

    def fill(work: Path) -> tuple[Counted, dict[str, Any]]:
        fitted.model.save(work / "model.safetensors")  # first: from it the rest can be made again
        with err.status("writing the masses"):
            counted = source.write_masses(fitted.model, work, asked.clear)
        summary = outcome.summary(source, asked.options, fitted, counted, chosen, values=asked.values)
        with err.status("writing the report"):
            return counted, outcome.write(work, asked.folder, source, fitted, summary)

    counted, summary = to_folder(asked.folder, fill, force=asked.force, instead_of=RESULTS)
    summary["folder"] = str(asked.folder)
    outcome.say(out, asked.folder, fitted.model, counted, summary)
    if machine:
        print_json(summary)


def _measure(asked: Request, source: Source) -> Measure:
    if asked.algorithm != algorithms.DEFAULT:
        return algorithms.measure(asked.algorithm, source.loaded)
    return metric_for(str(asked.given["metric"]), source.loaded, asked.scale, asked.count)


def show_reading(
    file: Path,
    options: ReadOptions,
    metric: str,
    scale: str,
    memory: str | None,
    *,
    quiet: bool,
    machine: bool,
    views: Beside = NO_VIEWS,
) -> None:
    """What would be clustered, and how it would be compared; nothing is fitted or written."""
    out, err = consoles(quiet=quiet, machine=machine)
    if not views and must_stream(file, memory, N_SETS):
        source = _blocks(file, options, memory, err)
    else:
        with err.status(f"reading {file}"):
            source = whole(file, options, parquet=False, beside=(), views=views)
    measure = metric_for(metric, source.loaded, scale)
    loaded = replace(source.loaded, notes=(*source.loaded.notes, *measure.mind))
    say_understood(out, file, loaded, measure, source.n_objects)
    if machine:
        understood = {**loaded.how, "columns": [asdict(c) for c in loaded.columns], "notes": list(loaded.notes)}
        facts = {"file": str(file), "n_objects": source.n_objects, "understood": understood}
        print_json({**facts, "metric": measure.name, "metric_reason": measure.why})


def _check_names(asked: Request) -> None:
    """Refuse names for another number of groups than was asked for, before anything is computed."""
    if asked.names is None or asked.count is None:
        return
    from softecm.belief import FocalSets

    with mendable(ValueError):
        try:
            FocalSets.up_to(asked.count, 1).renamed(asked.names)
        except ValueError as error:
            raise ValueError(f"--names-of-clusters: {error}") from None


def _source(asked: Request, err: Console) -> Source:
    """The file's objects, after everything that can be refused without reading them."""
    file, count = asked.file, asked.count
    streamed = not asked.views and must_stream(file, asked.memory, _n_sets(count, asked.given))
    if streamed:
        _check_streamed(asked)
    elif asked.safety and not algorithms.takes(asked.algorithm, "checkpoint"):
        raise Problem(
            f"--checkpoint and --resume are not for --algorithm {asked.algorithm}, which can't go on from one: leave them "
            "out."
        )
    elif asked.safety and count is None:
        raise Problem("--checkpoint and --resume need a number of clusters: give -c a number.")
    if asked.links is not None or asked.link_weight is not None:
        links.check_taken(asked.algorithm, many=count is None)
    if asked.links is None and asked.link_weight is not None:
        raise Problem("--link-weight says how much --links count, and there are none: give --links, or leave it out.")
    _check_settings(asked)
    _check_places(asked)
    if streamed:
        return _blocks(file, asked.options, asked.memory, err)
    with err.status(f"reading {file}"):
        return whole(file, asked.options, parquet=asked.parquet, beside=asked.beside, views=asked.views)


def _check_settings(asked: Request) -> None:
    """Refuse settings that the estimator would."""
    from softecm import SoftECM

    if asked.algorithm != algorithms.DEFAULT:
        algorithms.parameters(asked.algorithm, asked.clusters, asked.given, asked.said)
        return
    with mendable(ValueError, TypeError):
        SoftECM(**{**asked.given, "n_clusters": asked.count or 2})._settings()


def _blocks(file: Path, options: ReadOptions, memory: str | None, err: Console) -> Source:
    """A file that does not fit in memory."""
    from softecm.cli.stream import in_blocks

    allowed = limit(memory)
    err.print(Text(f"{file} is read block by block: it would not fit in {shown(allowed)}.", style="dim"))
    with err.status("looking through the file"):
        return in_blocks(file, options, allowed)


def _check_places(asked: Request) -> None:
    """Refuse what would keep the results from being written, before they are computed."""
    if asked.parquet and find_spec("pyarrow") is None:
        raise Problem("--parquet needs pyarrow: pip install pyarrow.")
    check_free(asked.folder, force=asked.force)
    check_replaced([asked.folder / name for name in RESULTS], inputs=[asked.file])
    kept = asked.checkpoint or asked.resume
    if kept is None:
        return
    check_file(kept)
    if kept.exists() and asked.resume is None and not asked.force:
        raise Problem(
            f"{kept} is there already. Go on from it with --resume {kept}, replace it with --force, or give another name."
        )
    check_replaced([kept], kind="checkpoint", inputs=[asked.file])
    if kept.absolute().parent.resolve() == asked.folder.resolve():
        raise Problem(f"{kept} lies in {asked.folder}, which is for the results alone: keep the checkpoint elsewhere.")


def _n_sets(count: int | None, given: Params) -> int:
    """How many sets have a mass; enough of them where the number of clusters is not known."""
    from softecm.belief import FocalSets

    c, largest, sets = count or N_SETS // 4, given["max_cardinality"], given["focal_sets"]
    if sets == "auto" and largest is None:  # each cluster, and at most three pairs of neighbours for each
        return 4 * c
    with mendable(ValueError, TypeError):
        return len(FocalSets.make(c, largest, sets))


def _check_streamed(asked: Request) -> None:
    """What needs all objects at once is refused for a file that does not fit in memory."""
    if asked.algorithm != algorithms.DEFAULT:
        raise Problem(
            f"{asked.file} does not fit in memory, and --algorithm {asked.algorithm} needs it all: leave it out, or allow "
            "more with --memory."
        )
    if asked.count is None:
        raise Problem(
            f"{asked.file} does not fit in memory, so --clusters {asked.clusters} can't try one number after the other: "
            "give -c a number."
        )
    if asked.links is not None:
        raise Problem(f"{asked.file} does not fit in memory, and --links need all of it: allow more with --memory.")
    options = asked.options
    named = options.dates or options.names or options.drop_rows or options.ordinal
    if options.long or options.label_column or options.missing or named or asked.beside:
        raise Problem(
            f"{asked.file} does not fit in memory, and --id, --time, --label-column, --missing, --dates, --names, "
            "--drop-rows, --ordinal and --with-columns need all of it: leave them out, or allow more with --memory."
        )


def _check_size(source: Source, asked: Request) -> None:
    count, candidates, n = asked.count, asked.candidates, source.n_objects
    least = count or (3 if candidates is None else candidates[-1])
    if n < least:
        objects = "1 object" if n == 1 else f"{n} objects"
        wanted = f"--clusters {asked.clusters}" if count is None else f"{count} clusters"
        raise Problem(f"{source.file} has {objects}, too few for {wanted}: give more rows or ask for fewer clusters.")


def _fit(
    asked: Request, source: Source, measure: Measure, err: Console, pairs: Constraints | None
) -> tuple[Fitted, Search]:
    """The fit, and how its number of clusters was chosen."""
    name, data = asked.algorithm, source.data(measure.name)
    known: dict[str, Any] = {} if pairs is None else pairs._asdict()
    weight = {} if asked.link_weight is None else {links.WEIGHTS[name]: asked.link_weight}
    if name != algorithms.DEFAULT:
        told = algorithms.parameters(name, asked.clusters, asked.given, asked.said) | weight
        return fit_kept(partial(algorithms.fit, name, data, told, err, **known), asked.safety), Search()
    params = {**asked.given, "metric": measure.metric}
    if asked.count is None:
        return fit_auto(data, params, err, asked.candidates)
    one = partial(fit, data, {**params, "n_clusters": asked.count}, err, "fitting", **known, **weight)
    return fit_kept(one, asked.safety), Search()
