"""``softecm cluster``: from a file to a folder with the partition, the model and the report."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from softecm._text import number_of, shown_size
from softecm.belief.assignments import checked_clear
from softecm.belief.totals import PartitionTotals
from softecm.cli import algorithms, links, outcome
from softecm.cli.commands import ClusterOptions
from softecm.cli.fitting import FittedFile, fit, fit_with_checkpoints
from softecm.cli.metric import (
    check_symmetric,
    far_value_remarks,
    groups_of_codes,
    metric_for,
    rows_of,
    with_names,
)
from softecm.cli.options import INVOCATION, Params, several
from softecm.cli.problems import Problem, mendable
from softecm.cli.screen import consoles, print_json, say_understood
from softecm.cli.search import fit_auto, whole_range
from softecm.cli.source import ObjectSource, in_blocks, limit, must_stream, whole
from softecm.constraints import Constraints
from softecm.files import check_file, check_free, check_replaced, to_folder
from softecm.files.places import RESULTS
from softecm.readers import Loaded
from softecm.report.fit import hidden_warnings
from softecm.report.sections.columns import without_details

if TYPE_CHECKING:
    from softecm.distances.auto import MetricChoice

N_SETS = 40  # with a mass, where nobody has said how many groups there are


class Request:
    """The options of ``softecm cluster``, as the steps below take them."""

    def __init__(self, options: ClusterOptions) -> None:
        self.options, self.file = options, options.file
        self.clusters = "auto" if options.clusters is None else options.clusters
        self.params = options.settings.params()  # of the estimator
        self.specified = INVOCATION.get().specified & ({*self.params, "scale", "weights"} - {"random_state"})
        self.algorithm = algorithms.chosen(options.algorithm)
        self.is_default = self.algorithm == algorithms.DEFAULT
        rows = rows_of(options.settings.metric)
        self.reading = options.reading.options(label_column=options.label_column, known=options.known, **rows)
        self.views = options.other_files.views()
        self.with_columns = several(options.with_columns)
        named = options.names_of_clusters
        self.names = None if named is None else several([named])  # of the groups
        self.folder = options.output or Path(f"{self.file.stem}-softecm")
        both = (("checkpoint", options.checkpoint), ("resume", options.resume))
        self.checkpoints = {name: path for name, path in both if path is not None}

    @cached_property
    def count(self) -> int | None:
        """How many groups; None where the number is to be chosen."""
        if self.clusters == "auto" or self.candidates is not None:
            return None
        if not self.clusters.isdecimal() or int(self.clusters) < 1:
            raise Problem(
                f"--clusters must be a whole number of at least 1, a range such as 2-12, or auto; got {self.clusters}."
            )
        return int(self.clusters)

    @cached_property
    def candidates(self) -> range | None:
        """The range, if one was given."""
        numbers = whole_range(self.clusters)
        if numbers is not None and numbers[0] < 1:
            raise Problem(f"--clusters must be a range from 1 or more, such as 1-12; got {self.clusters}.")
        return numbers


def run(options: ClusterOptions) -> None:
    """Read, show what was understood, fit, write, say what was found."""
    out, err = consoles()
    request = Request(options)
    if options.dry_run:
        show_reading(request)
        return
    if options.clusters is None and request.is_default:
        raise Problem(
            "give the number of groups: -c 3, -c 2-12 or -c auto (--dry-run only shows how the file is read)."
        )
    with mendable(ValueError):
        checked_clear(options.clear)
    _check_names(request)
    values = not options.no_values
    if request.with_columns and not values:
        raise Problem("--with-columns writes cells of the file and --no-values hides them: leave out one of them.")
    source = _source(request, err)
    known, pairs = _known(request, source.loaded)
    if not values:
        source = replace(source, loaded=replace(source.loaded, ids=None))  # objects go by their row
    if request.is_default:
        choice = metric_for(options.settings, source.loaded, request.count)
    else:
        choice = algorithms.metric_for(request.algorithm, source.loaded)
    _check_size(source, request)
    say_understood(out, source.file, _showable(request, source.loaded), choice, source.n_objects)
    if choice.name == "precomputed" or algorithms.takes_matrices(request.algorithm):
        check_symmetric(source.loaded)
    with links.muted_link_log():
        fitted = _fit(request, source, choice, err, None if pairs is None else pairs.pairs)
    if source.is_whole:
        of_data = _remarks_on_data(request, choice, source.loaded, fitted)
        no_groups = request.count is None and fitted.model.partition_.n_clusters == 1  # to be said first
        remarks = (*fitted.warnings, *of_data) if no_groups else (*of_data, *fitted.warnings)
        fitted = replace(fitted, warnings=remarks)
    if pairs is not None:
        fitted = links.with_satisfied_count(fitted, pairs, source.loaded.names)
    if known is not None:
        fitted = links.with_known_count(fitted, known, source.loaded.names)
    if request.is_default:
        _say_metric(out, fitted, choice)
    if request.names is not None:
        with mendable(ValueError):
            fitted.model.rename(request.names)
    elif known is not None and values:
        group = links.group_of_each_label(fitted, known)
        with suppress(ValueError):  # a label that is no name of a group, such as Ω
            fitted.model.rename({k: known.names[label] for label, k in group.items()})
    if fitted.model.focal_sets_.names:
        names = fitted.model.focal_sets_.names
        fitted = replace(fitted, warnings=tuple(with_names(text, names) for text in fitted.warnings))

    def fill(work: Path) -> tuple[PartitionTotals, dict[str, object]]:
        fitted.model.save(work / "model.safetensors")  # first: from it the rest can be made again
        with err.status("writing the masses"):
            totals = source.write_masses(fitted.model, work, options.clear)
        summary = outcome.summary(source, request.reading, fitted, totals, values=values)
        with err.status("writing the report"):
            return totals, outcome.write(work, request.folder, source, fitted, summary)

    totals, summary = to_folder(request.folder, fill, force=options.force, instead_of=RESULTS)
    summary["folder"] = str(request.folder)
    outcome.say(out, request.folder, fitted.model, totals, summary)
    print_json(summary)


def _known(request: Request, loaded: Loaded) -> tuple[links.KnownGroups | None, links.LinkFile | None]:
    """The known groups of some objects, and the links."""
    column, file, count = request.options.known, request.options.links, request.count
    known = None if column is None or count is None else links.known_groups(loaded, column, count)
    return known, None if file is None else links.read_links(file, loaded, known)


def _remarks_on_data(request: Request, choice: MetricChoice, loaded: Loaded, fitted: FittedFile) -> tuple[str, ...]:
    """What makes the metric a poor choice, and groups made of codes for missing cells."""
    codes = groups_of_codes(choice, loaded, fitted.model)
    if not request.is_default:
        return codes
    learned = fitted.model.model_.metric  # it knows which columns are compared by logarithms
    choice = replace(choice, metric=learned) if learned.name == choice.name else choice
    return (*far_value_remarks(choice, loaded), *codes)


def _showable(request: Request, loaded: Loaded) -> Loaded:
    """How a file was read, without anything that may quote a cell where --no-values was given."""
    if not request.options.no_values:
        return loaded
    columns = tuple(without_details(loaded.columns))
    return replace(loaded, how={}, columns=columns, notes=tuple(hidden_warnings(len(loaded.notes))))


def show_reading(request: Request) -> None:
    """What would be clustered, and how it would be compared; nothing is fitted or written."""
    (out, err), file = consoles(), request.file
    if not request.views and must_stream(file, request.options.memory, N_SETS):
        source = _blocks(request, err)
    else:
        with err.status(f"reading {file}"):
            source = whole(file, request.reading, parquet=False, beside=(), views=request.views)
    choice = metric_for(request.options.settings, source.loaded)
    notes = (*source.loaded.notes, *far_value_remarks(choice, source.loaded))
    loaded = _showable(request, replace(source.loaded, notes=notes))
    say_understood(out, file, loaded, choice, source.n_objects)
    understood = {**loaded.how, "columns": [asdict(c) for c in loaded.columns], "notes": list(loaded.notes)}
    facts = {"file": str(file), "n_objects": source.n_objects, "understood": understood}
    print_json({**facts, "metric": choice.name, "metric_reason": choice.reason})


def _check_names(request: Request) -> None:
    """Refuse names for another number of groups than there will be, before anything is computed."""
    if request.names is None or request.count is None:
        return
    from softecm.belief import FocalSets

    with mendable(ValueError):
        try:
            FocalSets.up_to(request.count, 1).renamed(request.names)
        except ValueError as error:
            raise ValueError(f"--names-of-clusters: {error}") from None


def _source(request: Request, err: Console) -> ObjectSource:
    """The file's objects, after everything that can be refused without reading them."""
    file, count, options = request.file, request.count, request.options
    streamed = not request.views and must_stream(file, options.memory, _n_sets(count, request.params))
    if streamed:
        _check_streamed(request)
    elif request.checkpoints and not algorithms.takes(request.algorithm, "checkpoint"):
        raise Problem(f"--checkpoint and --resume don't work with --algorithm {request.algorithm}: leave them out.")
    elif request.checkpoints and count is None:
        raise Problem("--checkpoint and --resume need a number of clusters: give -c a number.")
    has_known, has_weight = options.known is not None, options.link_weight is not None
    has_links = options.links is not None or (has_weight and not has_known)
    links.check_taken(request.algorithm, links=has_links, known=has_known, many=count is None)
    if has_weight and options.links is None and not has_known:
        raise Problem("--link-weight needs --links or --known: add one of them, or leave it out.")
    _check_settings(request)
    _check_places(request)
    if streamed:
        return _blocks(request, err)
    with err.status(f"reading {file}"):
        return whole(file, request.reading, parquet=options.parquet, beside=request.with_columns, views=request.views)


def _check_settings(request: Request) -> None:
    """Refuse settings that the estimator would."""
    from softecm import SoftECM

    if not request.is_default:
        algorithms.parameters(request.algorithm, request.clusters, request.params, request.specified)
        return
    with mendable(ValueError, TypeError):
        SoftECM(**{**request.params, "n_clusters": request.count or 2})._settings()


def _blocks(request: Request, err: Console) -> ObjectSource:
    """A file that does not fit in memory."""
    allowed = limit(request.options.memory)
    err.print(Text(f"Reading {request.file} block by block: it would not fit in {shown_size(allowed)}.", style="dim"))
    with err.status("scanning the file"):
        return in_blocks(request.file, request.reading, allowed)


def _check_places(request: Request) -> None:
    """Refuse what would keep the results from being written, before they are computed."""
    options = request.options
    check_free(request.folder, force=options.force)
    check_replaced([request.folder / name for name in RESULTS], inputs=[request.file])
    checkpoint = options.checkpoint or options.resume
    if checkpoint is None:
        return
    check_file(checkpoint)
    if checkpoint.exists() and options.resume is None and not options.force:
        raise Problem(
            f"{checkpoint} already exists: continue from it with --resume {checkpoint}, replace it with --force, or give "
            "another name."
        )
    check_replaced([checkpoint], kind="checkpoint", inputs=[request.file])
    if checkpoint.absolute().parent.resolve() == request.folder.resolve():
        raise Problem(
            f"--checkpoint {checkpoint} must not lie in the result folder {request.folder}: put it elsewhere."
        )


def _n_sets(count: int | None, params: Params) -> int:
    """How many sets have a mass; enough of them where the number of clusters is not known."""
    from softecm.belief import FocalSets

    c, largest, sets = count or N_SETS // 4, params["max_cardinality"], params["focal_sets"]
    if sets == "auto" and largest is None:  # each cluster, and at most three pairs of neighbours for each
        return 4 * c
    with mendable(ValueError, TypeError):
        return len(FocalSets.make(c, largest, sets))


def _check_streamed(request: Request) -> None:
    """What needs all objects at once is refused for a file that does not fit in memory."""
    if not request.is_default:
        raise Problem(
            f"{request.file} does not fit in memory, and --algorithm {request.algorithm} needs it all: leave it out, or "
            "allow more with --memory."
        )
    if request.count is None:
        raise Problem(
            f"{request.file} does not fit in memory, so the number of clusters can't be chosen: give -c a number."
        )
    if request.options.links is not None:
        raise Problem(f"{request.file} does not fit in memory, and --links need all of it: allow more with --memory.")
    options = request.reading
    named = options.dates or options.names or options.drop_rows or options.ordinal
    if options.long or options.classes or options.missing or options.symmetrize or named or request.with_columns:
        raise Problem(
            f"{request.file} does not fit in memory, and --id, --time, --label-column, --known, --missing, --symmetrize, "
            "--dates, --names, --drop-rows, --ordinal and --with-columns need all of it: leave them out, or allow more with "
            "--memory."
        )


def _check_size(source: ObjectSource, request: Request) -> None:
    count, candidates, n = request.count, request.candidates, source.n_objects
    least = count or (3 if candidates is None else candidates[-1])
    if n < least:
        wanted = f"--clusters {request.clusters}" if count is None else f"{count} clusters"
        raise Problem(
            f"{source.file} has {number_of(n, 'object')}, too few for {wanted}: give more rows or ask for fewer clusters."
        )


def _say_metric(out: Console, fitted: FittedFile, choice: MetricChoice) -> None:
    """Why the metric was taken; where the fit has found another shape of groups, on the screen, too."""
    from softecm.distances.auto import AUTO

    model = fitted.model
    if model.metric != AUTO:
        model.metric_reason_ = "; ".join(filter(None, (choice.reason, model.model_.metric.finding)))
    elif model.metric_reason_ != choice.reason:
        out.print(Text(f"  metric after the fit: {model.metric_.name} ({model.metric_reason_})", style="dim"))


def _fit(
    request: Request, source: ObjectSource, choice: MetricChoice, err: Console, pairs: Constraints | None
) -> FittedFile:
    """The fit, with a given number of clusters or the best one."""
    from softecm import SoftECM
    from softecm.distances.auto import ALIKE, UNITS

    name, data, params = request.algorithm, source.data(choice.name), request.params
    weight: dict[str, object] = {}
    if request.options.link_weight is not None:
        weight = {str(algorithms.link_weight(name)): request.options.link_weight}
    of_fit = {k: v for k, v in weight.items() if algorithms.takes(name, k)}
    known = {} if source.loaded.known is None else {"y": source.loaded.known}
    options = {**({} if pairs is None else pairs._asdict()), **known, **of_fit}
    if not request.is_default:
        params = algorithms.parameters(name, request.clusters, params, request.specified)
        params |= {k: v for k, v in weight.items() if k not in of_fit}
        with mendable(ValueError, TypeError):
            model = algorithms.kind_of(name)(**params)
        one = partial(fit, model, algorithms.objects(name, data), err, f"fitting {name}", **options)
        return fit_with_checkpoints(one, request.checkpoints)
    # The estimator may find that another shape of groups suits numbers better.
    params = {**params, "metric": "auto" if choice.reason in (ALIKE, UNITS) else choice.metric}
    if request.count is None:
        return fit_auto(data, params, err, request.candidates)
    one = partial(fit, SoftECM(**{**params, "n_clusters": request.count}), data, err, **options)
    return fit_with_checkpoints(one, request.checkpoints)
